//! An HTTP client that takes every answer as it is: no redirect followed, no status an error.

use serde_json::{Value, json};
use std::{
    io::{BufRead, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Request};

/// What every public path begins with.
pub(crate) const API: &str = "/api/public/v1";

/// Longer than any answer takes; what takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    address: SocketAddr,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .build();
        Self { agent: config.into(), address }
    }

    /// Its host and port.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    /// A request to be sent; `path` begins with a slash.
    pub(crate) fn ask<'a>(&'a self, method: &'a str, path: &'a str) -> Ask<'a> {
        Ask { client: self, method, path, headers: Vec::new(), body: None }
    }

    /// Sends these bytes as they are, reads until the server closes.
    pub(crate) fn send_raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&bytes)
    }

    /// Whether anybody listens there.
    pub(crate) fn is_reachable(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }

    /// A connection to write and read as one likes.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A GET whose path no client library would send.
    pub(crate) fn get_raw(&self, path: &[u8], token: &str) -> Answer {
        let mut request = b"GET ".to_vec();
        request.extend_from_slice(path);
        let rest = format!(
            " HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
            self.address
        );
        request.extend_from_slice(rest.as_bytes());
        self.send_raw(&request)
    }
}

pub(crate) struct Ask<'a> {
    client: &'a Client,
    method: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, String)>,
    body: Option<Vec<u8>>,
}

impl<'a> Ask<'a> {
    pub(crate) fn header(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn send(self) -> Answer {
        let uri = format!("http://{}{}", self.client.address, self.path);
        let mut request = Request::builder().method(self.method).uri(uri);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let answer = match self.body {
            Some(body) => self.client.agent.run(request.body(body).unwrap()),
            None => self.client.agent.run(request.body(()).unwrap()),
        };
        let answer = answer.unwrap();
        let (parts, mut body) = answer.into_parts();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.read_to_vec().unwrap(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads one answer, which tells its length, and no further.
    pub(crate) fn read(connection: &mut impl BufRead) -> Self {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            assert_ne!(connection.read_until(b'\n', &mut bytes).unwrap(), 0, "it was closed");
        }
        let mut answer = Self::parse(&bytes);
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body.resize(length, 0);
        connection.read_exact(&mut answer.body).unwrap();
        answer
    }

    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an HTTP answer");
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

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body of whatever answer.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in a {}: {}", self.status, self.text()))
    }

    /// The body of a success.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }

    /// The items of a page.
    #[track_caller]
    pub(crate) fn content(&self) -> Vec<Value> {
        self.ok()["content"].as_array().expect("an envelope").clone()
    }

    /// One field of every item of a page, as text.
    #[track_caller]
    pub(crate) fn column(&self, field: &str) -> Vec<String> {
        let text = |item: &Value| item[field].as_str().unwrap_or_default().to_owned();
        self.content().iter().map(text).collect()
    }

    /// Checks that this is an error of exactly the promised form; gives its message.
    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let message = body["message"].as_str().expect("a message").to_owned();
        let reason = match status {
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            _ => panic!("{status} is no status of the contract"),
        };
        assert_eq!(body, json!({ "statusCode": status, "message": message, "error": reason }));
        assert!(!message.is_empty());
        message
    }

    /// Checks that this is a 400 that tells where in the body something is wrong; gives the spots.
    #[track_caller]
    pub(crate) fn spots(&self) -> Vec<String> {
        assert_eq!(self.status, 400, "{}", self.text());
        let mut plain = self.clone();
        let mut body = self.json();
        let details = body["details"].take();
        body.as_object_mut().unwrap().remove("details");
        plain.body = body.to_string().into_bytes();
        plain.error(400);
        let details = details.as_array().expect("details").clone();
        let spot = |detail: &Value| {
            let [pointer, message] = ["pointer", "message"].map(|name| detail[name].as_str());
            assert!(message.is_some_and(|message| !message.is_empty()), "{detail}");
            assert_eq!(detail.as_object().map(serde_json::Map::len), Some(2), "{detail}");
            pointer.expect("a pointer").to_owned()
        };
        let spots: Vec<_> = details.iter().map(spot).collect();
        assert!((1..=20).contains(&spots.len()), "{spots:?}");
        spots
    }

    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, message: &str) {
        assert_eq!(self.error(status), message);
    }
}

/// Percent-encodes all but letters and digits, for a path segment or a query value.
pub(crate) fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
