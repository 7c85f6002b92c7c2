//! A response, and assertions about the forms that the API's contract fixes.

use serde_json::{Value, json};
use std::io::BufRead;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

/// A response with its whole body.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it was sent.
    pub body: Vec<u8>,
}

impl Response {
    /// Reads one response that has a `Content-Length`, and nothing after it.
    pub fn read(connection: &mut impl BufRead) -> Self {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            let count = connection.read_until(b'\n', &mut bytes).unwrap();
            assert_ne!(count, 0, "the server closed the connection");
        }
        let mut response = Self::parse(&bytes);
        let length = response.header("content-length").map_or(0, |length| length.parse().unwrap());
        response.body.resize(length, 0);
        connection.read_exact(&mut response.body).unwrap();
        response
    }

    pub(super) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an HTTP response");
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(':').unwrap();
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value.trim()).unwrap());
        }
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    /// All values of a header.
    #[must_use]
    pub fn header_values(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, whatever the status.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error} in a {} response: {}", self.status, self.text())
        })
    }

    /// Asserts status 200 and returns the JSON body.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }

    /// The records of a list.
    #[track_caller]
    pub fn content(&self) -> Vec<Value> {
        self.ok()["content"].as_array().expect("a list with `content`").clone()
    }

    /// One field of every record of a list, as text.
    #[track_caller]
    pub fn column(&self, field: &str) -> Vec<String> {
        let text = |record: &Value| record[field].as_str().unwrap_or_default().to_owned();
        self.content().iter().map(text).collect()
    }

    /// Asserts an error body of the form that the contract fixes, and returns its message.
    #[track_caller]
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let message = body["message"].as_str().expect("a message").to_owned();
        let reason = match status {
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            409 => "Conflict",
            412 => "Precondition Failed",
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            _ => panic!("the contract has no status {status}"),
        };
        assert_eq!(body, json!({ "statusCode": status, "message": message, "error": reason }));
        assert!(!message.is_empty());
        message
    }

    /// Asserts an error that may have `details`, and returns its message.
    #[track_caller]
    pub fn error_message(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()["message"].as_str().expect("a message").to_owned()
    }

    /// Asserts an error with this message.
    #[track_caller]
    pub fn assert_error(&self, status: u16, message: &str) {
        assert_eq!(self.error(status), message);
    }

    /// Asserts a 400 with `details`, and returns their JSON pointers.
    #[track_caller]
    pub fn error_pointers(&self) -> Vec<String> {
        self.error_pointers_with(400)
    }

    /// Asserts an error with `details`, and returns their JSON pointers.
    #[track_caller]
    pub fn error_pointers_with(&self, status: u16) -> Vec<String> {
        assert_eq!(self.status, status, "{}", self.text());
        let mut body = self.json();
        let details = body["details"].take();
        body.as_object_mut().unwrap().remove("details");
        Self { body: body.to_string().into_bytes(), ..self.clone() }.error(status);
        let details = details.as_array().expect("details").clone();
        let pointer = |detail: &Value| {
            let [pointer, message] = ["pointer", "message"].map(|name| detail[name].as_str());
            assert!(message.is_some_and(|message| !message.is_empty()), "{detail}");
            assert_eq!(detail.as_object().map(serde_json::Map::len), Some(2), "{detail}");
            pointer.expect("a pointer").to_owned()
        };
        let pointers: Vec<_> = details.iter().map(pointer).collect();
        assert!((1..=100).contains(&pointers.len()), "{pointers:?}");
        pointers
    }
}
