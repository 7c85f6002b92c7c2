//! Changes as server-sent events.

use super::{api, create_folder, events, now, read_all, rename_folder, start, text};
use crate::on_both_engines;
use groma_testkit::{Client, Engine, http::Request, wait::PATIENCE};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

on_both_engines! {
    changes_arrive_as_they_are_committed
    last_event_id_continues_a_stream
    changes_of_commands_arrive
    eleventh_stream_of_a_token_is_rejected
    stream_ends_with_the_token
    stream_ends_when_the_server_stops
}

/// An open stream.
struct EventStream {
    reader: BufReader<TcpStream>,
}

impl EventStream {
    #[track_caller]
    fn open(client: &Client, token: &str, query: &str, last_event_id: &str) -> Self {
        let mut request =
            Request::new("GET", &api(&format!("/changes/stream?{query}"))).token(token);
        if !last_event_id.is_empty() {
            request = request.header("Last-Event-ID", last_event_id);
        }
        let mut stream = client.connect();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.head().as_bytes()).unwrap();
        let mut stream = Self { reader: BufReader::new(stream) };
        let head: Vec<String> =
            std::iter::from_fn(|| stream.line().filter(|line| !line.is_empty())).collect();
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        for header in ["content-type: text/event-stream", "cache-control: no-store"] {
            assert!(head.iter().any(|line| line.eq_ignore_ascii_case(header)), "{head:?}");
        }
        stream
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.reader.read_line(&mut line).unwrap_or(0);
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// The next change, with its id; `None` at the end. Sizes of chunks and comments are passed over.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut id = None;
        loop {
            let line = self.line()?;
            if let Some(value) = line.strip_prefix("id: ") {
                id = Some(value.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id.unwrap(), serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The names of folders in the next changes.
    fn names(&mut self, count: usize) -> Vec<String> {
        let changes: Vec<Value> = (0..count).map(|_| self.next().unwrap().1).collect();
        events(&changes, "name")
    }
}

fn changes_arrive_as_they_are_committed(engine: Engine) {
    let (server, token) = start(engine);
    let folder = create_folder(&server, &token, "A");
    let mut from_start = EventStream::open(server.main(), &token, "", "");
    let mut from_now = EventStream::open(server.main(), &token, "after=now&kinds=folder", "");
    assert_eq!(from_start.names(1), ["folder.created \"A\""]);
    rename_folder(&server, &token, &folder, "B");
    for stream in [&mut from_start, &mut from_now] {
        let (id, change) = stream.next().unwrap();
        assert_eq!(change, read_all(&server, &token, "folder", "", 10)[1]);
        assert_eq!(id, text(&change["cursor"]));
    }
}

fn last_event_id_continues_a_stream(engine: Engine) {
    let (server, token) = start(engine);
    for name in ["A", "B", "C"] {
        create_folder(&server, &token, name);
    }
    let mut stream = EventStream::open(server.main(), &token, "", "");
    let (id, _) = stream.next().unwrap();
    drop(stream);
    let mut continued = EventStream::open(server.main(), &token, "", &id);
    assert_eq!(continued.names(2), ["folder.created \"B\"", "folder.created \"C\""]);
    // It also wins over the cursor with which the stream was opened first.
    let query = format!("after={}", now(&server, &token));
    let mut continued = EventStream::open(server.main(), &token, &query, &id);
    assert_eq!(continued.names(1), ["folder.created \"B\""]);
}

fn changes_of_commands_arrive(engine: Engine) {
    let (server, token) = start(engine);
    let mut stream = EventStream::open(server.main(), &token, "after=now", "");
    let rows: Vec<Value> = (0..3).map(|n| serde_json::json!({ "name": format!("{n}") })).collect();
    server.import("folders", &rows);
    let expected = ["folder.created \"0\"", "folder.created \"1\"", "folder.created \"2\""];
    assert_eq!(stream.names(3), expected);
}

fn eleventh_stream_of_a_token_is_rejected(engine: Engine) {
    let (server, token) = start(engine);
    let mut streams: Vec<EventStream> =
        (0..10).map(|_| EventStream::open(server.main(), &token, "", "")).collect();
    let rejected = server.get("/changes/stream", &token);
    let message = "Too many change streams of this token; close one of them";
    rejected.assert_error(429, message);
    assert_eq!(rejected.header("retry-after"), Some("1"));
    EventStream::open(server.main(), &server.create_full_token(), "", "");
    streams.pop();
    // The server notices the closed connection with the next event.
    create_folder(&server, &token, "A");
    groma_testkit::wait_until(PATIENCE, || {
        let mut stream = server.main().connect();
        let request = Request::new("GET", &api("/changes/stream")).token(&token);
        stream.write_all(request.head().as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        if line.contains("200") { Ok(()) } else { Err(line) }
    });
}

fn stream_ends_with_the_token(engine: Engine) {
    let (server, token) = start(engine);
    let other = server.create_full_token();
    let mut stream = EventStream::open(server.main(), &token, "after=now", "");
    create_folder(&server, &other, "A");
    assert_eq!(stream.names(1), ["folder.created \"A\""]);
    let me = server.get("/me", &token).ok();
    server.run(&["token", "revoke", text(&me["token"]["id"])]).expect_success();
    groma_testkit::wait_until(PATIENCE, || match server.get("/me", &token).status {
        401 => Ok(()),
        status => Err(format!("status {status}")),
    });
    create_folder(&server, &other, "secret");
    assert!(stream.next().is_none());
}

fn stream_ends_when_the_server_stops(engine: Engine) {
    let (mut server, token) = start(engine);
    let mut stream = EventStream::open(server.main(), &token, "after=now", "");
    assert_eq!(server.stop(), Some(0));
    assert!(stream.next().is_none());
}
