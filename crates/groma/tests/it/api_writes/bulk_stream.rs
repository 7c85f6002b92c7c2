//! `POST /bulk?atomic=false` whose results are lines: sent while the operations are executed.

use super::{post, send, start};
use crate::on_both_engines;
use groma_testkit::{API, Engine, Response, TestServer, http::Request};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

on_both_engines! {
    results_are_sent_while_operations_are_executed
    operations_end_when_the_client_is_gone
    operations_are_changes_of_their_own
    repeated_request_with_a_key_gets_the_same_lines
    error_before_the_first_result_has_a_status
}

const NDJSON: &str = "application/x-ndjson";

fn create(reference: &str) -> Value {
    json!({ "op": "create", "kind": "folder", "data": { "name": reference, "reference": reference } })
}

fn request(token: &str, operations: &[Value]) -> Request {
    let lines: Vec<String> = operations.iter().map(Value::to_string).collect();
    Request::new("POST", &format!("{API}/bulk?atomic=false"))
        .token(token)
        .header("Content-Type", NDJSON)
        .header("Accept", NDJSON)
        .body(lines.join("\n"))
}

fn lines(response: &Response) -> Vec<Value> {
    assert_eq!((response.status, response.header("content-type")), (200, Some(NDJSON)));
    response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Creates the folders FIRST and LAST. Between them are operations whose errors, some 30 MB, do not fit into the
/// buffers between server and client. Returns the response as far as it was read: up to the first result.
fn begin(server: &TestServer, token: &str) -> BufReader<TcpStream> {
    let fields = json!({ "name": "x", "f".repeat(16_000): 1 });
    let failing = json!({ "op": "create", "kind": "folder", "data": fields });
    let mut operations = vec![failing; 950];
    operations.insert(0, create("FIRST"));
    operations.push(create("LAST"));
    let request = request(token, &operations).header("Connection", "close");
    let mut stream = server.main().connect();
    stream.write_all(request.head().as_bytes()).unwrap();
    stream.write_all(&request.body_bytes()).unwrap();
    let mut response = BufReader::new(stream);
    let mut line = String::new();
    while !line.contains("\"index\":0") {
        line.clear();
        assert_ne!(response.read_line(&mut line).unwrap(), 0, "the response ends");
    }
    assert!(line.contains("\"created\""), "{line}");
    response
}

fn results_are_sent_while_operations_are_executed(engine: Engine) {
    let (server, token) = start(engine);
    let mut response = begin(&server, &token);
    server.get("/folders/FIRST", &token).ok();
    server.get("/folders/LAST", &token).error(404);
    let mut rest = String::new();
    response.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"index\":951") && rest.ends_with("\r\n0\r\n\r\n"), "the rest arrives");
    server.get("/folders/LAST", &token).ok();
}

fn operations_end_when_the_client_is_gone(engine: Engine) {
    let (mut server, token) = start(engine);
    drop(begin(&server, &token));
    // A request that is being handled would be completed.
    server.stop();
    server.serve();
    server.get("/folders/FIRST", &token).ok();
    server.get("/folders/LAST", &token).error(404);
}

fn operations_are_changes_of_their_own(engine: Engine) {
    let (server, token) = start(engine);
    let rename = |name: &str| json!({ "op": "update", "kind": "folder", "key": "A", "data": { "name": name } });
    let operations = [create("A"), rename("B"), rename(""), json!(1), rename("C"), rename("C")];
    let results = lines(&send(&server, &request(&token, &operations)));
    let column = |name: &str| results.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    let statuses = ["created", "updated", "failed", "failed", "updated", "unchanged"];
    assert_eq!(column("status"), statuses);
    assert_eq!(column("index"), [0, 1, 2, 3, 4, 5]);
    let none = Value::Null;
    let versions = [json!(1), json!(2), none.clone(), none, json!(3), json!(3)];
    assert_eq!(column("version"), versions);
    assert_eq!(results[2]["error"]["details"][0]["pointer"], "/2/data/name");
    assert_eq!(results[3]["error"]["details"][0]["pointer"], "/3");
    let changes = server.get("/changes", &token).ok();
    let events = changes["content"].as_array().unwrap().iter().map(|change| &change["event"]);
    assert!(events.eq(["folder.created", "folder.updated", "folder.updated"]), "{changes}");
    // Nor does it depend on the form of the results.
    let mut rename = [rename("D"), rename("E")];
    rename[1]["ifVersion"] = json!(4);
    let results = post(&server, &token, "/bulk?atomic=false", &json!(rename)).ok();
    assert_eq!((&results["applied"], &results["results"][1]["version"]), (&json!(2), &json!(5)));
}

fn repeated_request_with_a_key_gets_the_same_lines(engine: Engine) {
    let (server, token) = start(engine);
    let request = request(&token, &[create("A"), create("A")]).header("Idempotency-Key", "\"k1\"");
    let first = send(&server, &request);
    assert_eq!(lines(&first).len(), 2);
    let second = send(&server, &request);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(lines(&first), lines(&second));
}

fn error_before_the_first_result_has_a_status(engine: Engine) {
    let (server, token) = start(engine);
    let too_many = vec![create("A"); 1_001];
    assert_eq!(send(&server, &request(&token, &too_many)).error_pointers(), [""]);
    assert_eq!(lines(&send(&server, &request(&token, &[]))), Vec::<Value>::new());
    post(&server, &token, "/bulk?atomic=0", &json!([])).error(400);
}
