//! Rights that end while a request is being sent: it is rejected when it is complete, and nothing is
//! written.

use crate::{on_both_engines, web::Browser};
use groma_testkit::{
    API, Client, Engine, Response, TestServer, http::Request, http::percent_encode,
    server::ADMIN_LISTENER, server::OWNER, server::SCOPES, server::ServerProcess,
    server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::json;
use std::{
    io::{BufReader, Write},
    net::TcpStream,
};

on_both_engines! {
    post_of_a_token_revoked_meanwhile_is_rejected
    webhook_of_a_token_revoked_meanwhile_is_rejected
    webhook_of_a_member_demoted_meanwhile_is_rejected
    form_of_a_session_ended_meanwhile_is_rejected
    form_of_a_member_removed_meanwhile_is_rejected
}

const POINT: &str = r#"{"type":"Point","coordinates":[2.35,48.85]}"#;
const GEOJSON: &str = "/api/public/v1/geometries/geojson";

/// A request of which the head and half of the body are sent.
struct HalfSent {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl HalfSent {
    fn start(client: &Client, request: &Request, body: &str) -> Self {
        let mut stream = client.connect();
        let (sent, rest) = body.as_bytes().split_at(body.len() / 2);
        let head = request.clone().body(body).head();
        stream.write_all(&[head.as_bytes(), sent].concat()).unwrap();
        Self { stream, rest: rest.to_vec() }
    }

    fn finish(mut self) -> Response {
        self.stream.write_all(&self.rest).unwrap();
        Response::read(&mut BufReader::new(self.stream))
    }
}

fn json_request(path: &str, token: &str) -> Request {
    Request::new("POST", path).token(token).header("Content-Type", "application/json")
}

/// Starts a request with a token, and waits until the server has authenticated it.
fn start_with_token(
    server: &TestServer,
    client: &Client,
    request: &Request,
    body: &str,
    token: &str,
) -> HalfSent {
    let started = HalfSent::start(client, request, body);
    let mut own = 0;
    wait_until(PATIENCE, || {
        own += 1;
        let response = server.get("/statuses", token);
        let remaining: i32 = response.header("x-ratelimit-remaining").unwrap().parse().unwrap();
        if 100 - remaining == own + 1 { Ok(()) } else { Err(format!("{remaining} remain")) }
    });
    started
}

/// Revokes the newest token.
fn revoke(server: &TestServer) {
    let tokens = server.run(&["token", "list", "--json"]).json();
    let id = tokens.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    server.run(&["token", "revoke", &id]).expect_success();
}

fn start(engine: Engine) -> TestServer {
    TestServer::start_with(engine, &[ADMIN_LISTENER])
}

fn post_of_a_token_revoked_meanwhile_is_rejected(engine: Engine) {
    let server = start(engine);
    let token = server.create_full_token();
    let post = json_request(GEOJSON, &token);
    let started = start_with_token(&server, server.geo(), &post, POINT, &token);
    revoke(&server);
    started.finish().assert_error(401, "Unknown or revoked token");
    let other = server.create_full_token();
    let layers = server.geo().request("GET", &format!("{API}/layers")).token(&other).send();
    assert_eq!(layers.content().len(), 0);
}

fn webhook_of_a_token_revoked_meanwhile_is_rejected(engine: Engine) {
    let server = start(engine);
    let token = server.create_full_token();
    let started = start_webhook(&server, server.main(), &token);
    revoke(&server);
    started.finish().assert_error(401, "Unknown or revoked token");
    assert_no_webhook(&server);
}

fn start_webhook(server: &TestServer, client: &Client, token: &str) -> HalfSent {
    let body = json!({ "url": "https://hooks.example/groma", "events": ["*"] }).to_string();
    let create = json_request(&format!("{API}/webhooks/endpoints"), token);
    start_with_token(server, client, &create, &body, token)
}

fn assert_no_webhook(server: &TestServer) {
    let endpoints = server.run(&["webhook", "list", "--workspace", WORKSPACE, "--json"]).json();
    assert_eq!(endpoints, json!([]));
}

fn webhook_of_a_member_demoted_meanwhile_is_rejected(engine: Engine) {
    let server = start(engine);
    let admin = "admin@office.test";
    let set_role = |role: &str| {
        let add = ["user", "add", admin, "--workspace", WORKSPACE, "--role", role];
        server.run_with_input("plumb line of the admin 71\n", &add).expect_success();
    };
    set_role("admin");
    let token = server.create_token_for(WORKSPACE, admin, &SCOPES);
    let started = start_webhook(&server, server.main(), &token);
    set_role("editor");
    assert_eq!(started.finish().status, 403);
    assert_no_webhook(&server);
}

/// Starts to send a form that creates a folder, and waits until the server reads it.
fn start_form(server: &TestServer, browser: &Browser) -> HalfSent {
    let token = browser.get("/folders/new").token();
    let body = format!("_csrf={}&name=Secret+folder", percent_encode(&token));
    let cookie = browser.cookie("groma").unwrap();
    let request = Request::new("POST", "/folders/new")
        .header("Cookie", format!("groma={cookie}"))
        .header("Origin", "http://test")
        .header("Content-Type", "application/x-www-form-urlencoded");
    let started = HalfSent::start(server.main(), &request, &body);
    wait_until(PATIENCE, || {
        let metrics = server.admin().request("GET", "/metrics").send().text();
        if metrics.contains("groma_requests_in_progress 1\n") { Ok(()) } else { Err(metrics) }
    });
    // The session was found before a later page was.
    browser.page("/folders");
    started
}

fn assert_no_folder(server: &TestServer) {
    let token = server.create_full_token();
    assert_eq!(server.get("/folders", &token).content().len(), 0);
}

fn form_of_a_session_ended_meanwhile_is_rejected(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let started = start_form(&server, &browser);
    browser.submit("/folders", "/logout", &[]);
    let response = started.finish();
    assert_eq!(response.status, 401, "{}", response.text());
    assert!(response.text().contains("Your session has ended"), "{}", response.text());
    assert_no_folder(&server);
}

fn form_of_a_member_removed_meanwhile_is_rejected(engine: Engine) {
    let server = start(engine);
    let email = "editor@office.test";
    let add = ["user", "add", email, "--workspace", WORKSPACE, "--role", "editor"];
    server.run_with_input("plumb line of the editor 71\n", &add).expect_success();
    let browser = Browser::logged_in(&server, email, "plumb line of the editor 71");
    let started = start_form(&server, &browser);
    let owner = Browser::of_owner(&server);
    let members = owner.page("/settings/members");
    let row = members.text.split("<tr").find(|row| row.contains(email)).unwrap();
    let person = row.split("/settings/members/").nth(1).unwrap().split(['/', '"']).next().unwrap();
    owner.submit("/settings/members", &format!("/settings/members/{person}/remove"), &[]);
    let response = started.finish();
    assert_eq!(response.status, 403, "{}", response.text());
    assert_no_folder(&server);
}

/// A token revoked at one replica ends a request at another.
#[test]
fn revocation_at_another_replica_ends_a_request() {
    let server = start(Engine::Postgres);
    let replica: ServerProcess = server.start_replica();
    let token = server.create_full_token();
    let owner = Browser::of_owner(&server);
    let list = owner.page("/settings/tokens");
    let id = list.text.split("/settings/tokens/").find_map(|rest| {
        let (id, rest) = rest.split_once('/')?;
        rest.starts_with("revoke").then(|| id.to_owned())
    });
    let post = json_request(GEOJSON, &token);
    let started = start_with_token(&server, replica.geo(), &post, POINT, &token);
    let action = format!("/settings/tokens/{}/revoke", id.unwrap());
    owner.submit("/settings/tokens", &action, &[]);
    started.finish().assert_error(401, "Unknown or revoked token");
    let other = server.create_token_for(WORKSPACE, OWNER, &SCOPES);
    let layers = server.geo().request("GET", &format!("{API}/layers")).token(&other).send();
    assert_eq!(layers.content().len(), 0);
}
