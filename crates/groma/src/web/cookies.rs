//! The cookies of the web application. Over https they are bound to this host and never sent in plain
//! text.

use axum::http::{HeaderMap, HeaderValue, header};
use std::fmt::Write;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// A cookie that the server sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// The secret of the session.
    Session,
    /// The secret of a browser that has been used to log in.
    Device,
    /// The secret of a login that waits for its next step.
    PendingLogin,
    /// The secret of a request for a passkey.
    PasskeyRequest,
    /// The secret of a link that sets a new password.
    Reset,
    /// The message for the next page.
    Flash,
    /// The columns of lists that the user chose.
    Columns,
}

impl Cookie {
    fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Self::Session, true) => "__Host-groma",
            (Self::Session, false) => "groma",
            (Self::Device, true) => "__Host-groma-device",
            (Self::Device, false) => "groma-device",
            (Self::PendingLogin, true) => "__Host-groma-login",
            (Self::PendingLogin, false) => "groma-login",
            (Self::PasskeyRequest, true) => "__Host-groma-passkey",
            (Self::PasskeyRequest, false) => "groma-passkey",
            (Self::Reset, true) => "__Host-groma-reset",
            (Self::Reset, false) => "groma-reset",
            (Self::Flash, true) => "__Host-groma-flash",
            (Self::Flash, false) => "groma-flash",
            (Self::Columns, true) => "__Host-groma-columns",
            (Self::Columns, false) => "groma-columns",
        }
    }

    fn max_age(self) -> u64 {
        match self {
            Self::Session => 90 * DAY_SECONDS,
            Self::Device | Self::Columns => 400 * DAY_SECONDS,
            Self::PendingLogin | Self::PasskeyRequest => 10 * 60,
            Self::Reset => 60 * 60,
            Self::Flash => 60,
        }
    }

    /// Its value in a request. A cookie that is sent twice is ignored.
    pub(crate) fn read(self, headers: &HeaderMap, is_secure: bool) -> Option<&str> {
        let mut found = named(headers, self.name(is_secure));
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    /// The header that sets it.
    pub(crate) fn set(self, value: &str, is_secure: bool) -> HeaderValue {
        self.header(value, self.max_age(), is_secure)
    }

    /// The header that deletes it.
    pub(crate) fn clear(self, is_secure: bool) -> HeaderValue {
        self.header("", 0, is_secure)
    }

    fn header(self, value: &str, max_age: u64, is_secure: bool) -> HeaderValue {
        let mut text = format!("{}={value}; Path=/; Max-Age={max_age}", self.name(is_secure));
        let _ = write!(text, "; HttpOnly; SameSite=Lax{}", if is_secure { "; Secure" } else { "" });
        // Values are hexadecimal or percent-encoded.
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
    }
}

/// The time zone of the browser, from a cookie that the script of the pages sets.
pub(crate) fn zone(headers: &HeaderMap) -> jiff::tz::TimeZone {
    let name = named(headers, "tz").next().filter(|name| name.len() <= 64);
    name.and_then(|name| jiff::tz::TimeZone::get(name).ok()).unwrap_or(jiff::tz::TimeZone::UTC)
}

fn named<'a>(headers: &'a HeaderMap, wanted: &'static str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(move |pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.trim())
    })
}
