//! `GET /me` and `GET /members`.

use super::start;
use crate::{on_both_engines, sample_records};
use groma_testkit::{
    Engine, TestServer,
    server::{OWNER, RATE_LIMIT, SCOPES, WORKSPACE},
};
use serde_json::{Value, json};

on_both_engines! {
    me_describes_the_token
    members_are_listed_without_other_people
}

fn me_describes_the_token(engine: Engine) {
    let server = TestServer::start_with(engine, &[(RATE_LIMIT, "10")]);
    let token = server.create_token(&["READ_MEMBER", "WRITE_FOLDER"]);
    let response = server.get("/me", &token);
    let me = response.ok();
    assert_eq!(me["token"]["scopes"], json!(["READ_MEMBER", "WRITE_FOLDER"]));
    assert_eq!(
        (&me["token"]["readOnly"], &me["token"]["expiresAt"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!((&me["user"]["email"], &me["user"]["role"]), (&json!(OWNER), &json!("owner")));
    let workspace = &me["workspace"];
    assert_eq!((&workspace["name"], &workspace["currency"]), (&json!(WORKSPACE), &json!("EUR")));
    assert_eq!((&me["rate"]["limit"], &me["rate"]["remaining"]), (&json!(10), &json!(9)));
    let reset = response.header("x-ratelimit-reset").unwrap().parse::<u64>().unwrap();
    assert!(me["rate"]["reset"].as_u64().unwrap().abs_diff(reset) <= 1);
    let (server, token) = start(engine);
    assert_eq!(server.get("/me", &token).ok()["rate"], Value::Null);
    let bare = server.create_token(&[]);
    assert_eq!(server.get("/me", &bare).ok()["token"]["scopes"], json!([]));
}

fn members_are_listed_without_other_people(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let add = ["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"];
    server.run(&add).expect_success();
    let members = server.get("/members", &token);
    assert_eq!(members.column("email"), [OWNER, "viewer@example.test"]);
    assert_eq!(members.column("role"), ["owner", "viewer"]);
    let fields: Vec<_> = members.content()[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["id", "name", "email", "role"]);
    let found = server.get("/members?term=VIEWER&limit=1", &token);
    assert_eq!(
        (found.ok()["total"].clone(), found.column("role")),
        (json!(1), vec!["viewer".to_owned()])
    );
    assert_eq!(server.get("/members?page=2&limit=1", &token).column("role"), ["viewer"]);
    let others: Vec<_> = SCOPES.into_iter().filter(|scope| *scope != "READ_MEMBER").collect();
    let others = server.create_token(&others);
    let message = "Token missing required scope: READ_MEMBER";
    server.get("/members", &others).assert_error(403, message);
}
