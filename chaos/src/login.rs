//! Logins to the web application.

use crate::{Result, ensure};
use groma_testkit::{
    Response,
    http::{Request, percent_encode},
};
use std::{collections::BTreeMap, net::SocketAddr};

/// A login form that can be submitted, also more than once.
#[derive(Clone)]
pub(crate) struct LoginForm {
    token: String,
    cookies: BTreeMap<String, String>,
}

impl LoginForm {
    pub(crate) async fn open(main: SocketAddr) -> Result<Self> {
        let page = Request::new("GET", "/login").send(main).await?;
        let token = form_token(&page.text())?;
        let mut form = Self { token, cookies: BTreeMap::new() };
        form.keep_cookies(&page);
        Ok(form)
    }

    /// The request that submits the form.
    pub(crate) fn submit(&self, email: &str, password: &str) -> Request {
        let fields = [("_csrf", self.token.as_str()), ("email", email), ("password", password)];
        let body =
            fields.map(|(name, value)| format!("{name}={}", percent_encode(value))).join("&");
        Request::new("POST", "/login")
            .header("Cookie", self.cookies())
            .header("Origin", "http://test")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body)
    }

    pub(crate) fn cookies(&self) -> String {
        let pairs = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    fn keep_cookies(&mut self, response: &Response) {
        let pairs = response.headers.get_all("set-cookie").iter();
        let pairs = pairs.filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        self.cookies.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

/// The token that the forms of a page send back.
pub(crate) fn form_token(page: &str) -> Result<String> {
    let token = page.split("name=\"csrf\" content=\"").nth(1).and_then(|t| t.split('"').next());
    Ok(token.ok_or("no form")?.to_owned())
}

/// Logs a user in with the browser of an earlier login, whose cookies these are.
pub(crate) async fn log_in_again(
    main: SocketAddr,
    cookies: &str,
    (email, password): (&str, &str),
) -> Result {
    let mut form = LoginForm::open(main).await?;
    let device = cookies.split("; ").filter_map(|pair| pair.split_once('='));
    let device = device.filter(|(name, _)| *name == "groma-device");
    form.cookies.extend(device.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let response = form.submit(email, password).send(main).await?;
    ensure(response.status == 303, || format!("login of a known browser: {}", response.status))
}

/// Logs a user in and returns the cookies.
pub(crate) async fn log_in(main: SocketAddr, email: &str, password: &str) -> Result<String> {
    let mut form = LoginForm::open(main).await?;
    let response = form.submit(email, password).send(main).await?;
    ensure(response.status == 303, || format!("login: {}", response.text()))?;
    form.keep_cookies(&response);
    Ok(form.cookies())
}
