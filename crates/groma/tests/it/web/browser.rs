//! A browser that keeps cookies and submits forms with their token.

use groma_testkit::{
    Client, Response, TestServer, http::percent_encode, server::OWNER, wait::PATIENCE,
};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
};

pub(crate) struct Browser {
    client: Client,
    cookies: RefCell<BTreeMap<String, String>>,
}

/// A response.
pub(crate) struct Page {
    pub(crate) response: Response,
    pub(crate) text: String,
}

impl Browser {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), cookies: RefCell::default() }
    }

    /// A browser in which the owner is logged in.
    pub(crate) fn of_owner(server: &TestServer) -> Self {
        Self::logged_in(server, OWNER, super::password())
    }

    #[track_caller]
    pub(crate) fn logged_in(server: &TestServer, email: &str, password: &str) -> Self {
        let browser = Self::new(server.main());
        let page = browser.log_in(email, password);
        assert_eq!(page.response.status, 303, "{}", page.text);
        browser
    }

    pub(crate) fn log_in(&self, email: &str, password: &str) -> Page {
        self.send_form("/login", "/login", &[("email", email), ("password", password)])
    }

    /// The value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().get(name).cloned()
    }

    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn forget_cookie(&self, name: &str) {
        self.cookies.borrow_mut().remove(name);
    }

    pub(crate) fn get(&self, path: &str) -> Page {
        self.request("GET", path, &[], None)
    }

    /// Loads a page and expects status 200.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> Page {
        let page = self.get(path);
        assert_eq!(page.response.status, 200, "{path}: {}", page.text);
        page
    }

    /// Loads a page for its form token and submits a form.
    pub(crate) fn send_form(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.get(page).token();
        let mut all = vec![("_csrf", token.as_str())];
        all.extend(fields);
        self.post(action, &all)
    }

    /// Submits a form, expects a redirect, and returns its target.
    #[track_caller]
    pub(crate) fn submit(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> String {
        let page = self.send_form(page, action, fields);
        assert_eq!(page.response.status, 303, "{action}: {}", page.text);
        page.location()
    }

    /// Submits fields without adding a form token.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let body: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)))
            .collect();
        let origin = format!("http://{}", self.client.authority());
        let headers =
            [("Origin", origin), ("Content-Type", "application/x-www-form-urlencoded".to_owned())];
        self.request("POST", path, &headers, Some(body.join("&").into_bytes()))
    }

    /// Posts JSON like the script of the map.
    pub(crate) fn post_json(&self, path: &str, body: &serde_json::Value) -> Page {
        let token = self.get("/map").token();
        let origin = format!("http://{}", self.client.authority());
        let headers = [
            ("Origin", origin),
            ("Content-Type", "application/json".to_owned()),
            ("X-CSRF-Token", token),
        ];
        self.request("POST", path, &headers, Some(body.to_string().into_bytes()))
    }

    /// Opens a stream of events as a browser does that accepts compression, and reads until the first event.
    pub(crate) fn open_events(&self, path: &str) -> (String, impl BufRead + use<>) {
        let mut stream = self.client.connect();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, cookies) = (self.client.authority(), self.cookie_header());
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookies}\r\n");
        stream.write_all(format!("{head}Accept-Encoding: gzip\r\n\r\n").as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut lines = stream.by_ref().lines().map(Result::unwrap);
        let event = lines.find(|line| line.starts_with("data: "));
        (event.expect("an event"), stream)
    }

    fn cookie_header(&self) -> String {
        let cookies = self.cookies.borrow();
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    /// Sends files as a form does.
    pub(crate) fn upload(&self, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Page {
        let token = self.get("/account").token();
        self.upload_with_token(&token, fields, files)
    }

    pub(crate) fn upload_with_token(
        &self,
        token: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &[u8])],
    ) -> Page {
        let boundary = "----form-boundary";
        let mut body = Vec::new();
        for (name, value) in [("_csrf", token)].iter().chain(fields) {
            let head =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
        }
        for (name, content) in files {
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        self.send_multipart(boundary, body)
    }

    /// Sends the body of an upload.
    pub(crate) fn send_multipart(&self, boundary: &str, body: Vec<u8>) -> Page {
        let origin = format!("http://{}", self.client.authority());
        let kind = format!("multipart/form-data; boundary={boundary}");
        let headers = [("Origin", origin), ("Content-Type", kind)];
        self.request("POST", "/imports", &headers, Some(body))
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: Option<Vec<u8>>,
    ) -> Page {
        let cookies = self.cookie_header();
        let mut request = self.client.request(method, path).header("Accept", "text/html");
        if !cookies.is_empty() {
            request = request.header("Cookie", cookies);
        }
        for (name, value) in headers {
            request = request.header(name, value.clone());
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send();
        for line in response.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (name, rest) = line.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if line.contains("Max-Age=0") {
                self.forget_cookie(name);
            } else {
                self.set_cookie(name, value);
            }
        }
        Page { text: response.text(), response }
    }
}

impl Page {
    /// The form token.
    #[track_caller]
    pub(crate) fn token(&self) -> String {
        self.between("name=\"csrf\" content=\"", "\"")
            .expect("the page has no form token")
            .to_owned()
    }

    /// The first text between two others.
    pub(crate) fn between(&self, start: &str, end: &str) -> Option<&str> {
        let from = self.text.find(start)? + start.len();
        let length = self.text[from..].find(end)?;
        Some(&self.text[from..from + length])
    }

    #[track_caller]
    pub(crate) fn location(&self) -> String {
        self.response.header("location").expect("the response is no redirect").to_owned()
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        assert!(self.text.contains(text), "{text} is not in {}", self.text);
    }

    #[track_caller]
    pub(crate) fn hides(&self, text: &str) {
        assert!(!self.text.contains(text), "{text} is in {}", self.text);
    }

    /// The error beside a field.
    pub(crate) fn error_of(&self, field: &str) -> Option<&str> {
        self.between(&format!("id=\"e-{field}\">"), "</p>")
    }
}
