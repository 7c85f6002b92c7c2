//! Endpoints and their deliveries through the API: list, read, change, rotate, test, send again.

use super::{LOCAL_RECEIVERS, save_folder, start};
use crate::on_both_engines;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use groma_testkit::{
    API, Engine, Receiver, Response, TestServer,
    http::Request,
    receiver::{ReceivedRequest, Reply},
    server::WORKSPACE,
    wait::PATIENCE,
    wait_until,
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

const URL: &str = "https://hooks.example.test/groma";

on_both_engines! {
    endpoints_are_listed_in_pages_and_searched
    endpoint_is_read_and_changed_by_merge_patch
    invalid_patch_is_reported_with_pointers_and_changes_nothing
    patch_with_an_outdated_etag_is_a_412
    disabled_endpoint_is_enabled_unless_its_url_is_not_allowed
    rotation_returns_the_new_secret_and_both_secrets_sign
    test_event_is_delivered_and_listed_with_its_attempt
    deliveries_are_filtered_by_status_and_event_in_pages
    one_delivery_is_sent_again
    deliveries_since_a_time_are_sent_again
    repeated_requests_return_the_first_response
    filter_is_set_shown_changed_and_cleared
    filtered_endpoint_receives_events_of_its_area_and_folder
    every_route_needs_the_scope_and_the_admin_role
    endpoints_and_deliveries_of_other_workspaces_are_not_found
}

/// A client of the endpoints.
struct Hooks<'s> {
    server: &'s TestServer,
    token: String,
}

impl<'s> Hooks<'s> {
    fn new(server: &'s TestServer) -> Self {
        Self { server, token: server.create_token(&["MANAGE_WEBHOOK"]) }
    }

    fn get(&self, path: &str) -> Response {
        self.server.get(&format!("/webhooks/endpoints{path}"), &self.token)
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, body, None)
    }

    fn patch(&self, path: &str, body: &Value) -> Response {
        self.send("PATCH", path, body, None)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        header: Option<(&str, &str)>,
    ) -> Response {
        let path = format!("{API}/webhooks/endpoints{path}");
        let request = self.server.main().request(method, &path).token(&self.token);
        let request = request.header("Content-Type", "application/json");
        let request = match header {
            Some((name, value)) => request.header(name, value),
            None => request,
        };
        request.body(body.to_string()).send()
    }

    /// Creates an endpoint and returns its path and its document.
    fn create(&self, body: &Value) -> (String, Value) {
        let endpoint = self.post("", body).ok();
        (format!("/{}", endpoint["id"].as_str().unwrap()), endpoint)
    }

    /// Waits until the newest delivery of an endpoint has a status.
    fn newest(&self, path: &str, status: &str, attempts: u64) -> Value {
        wait_until(PATIENCE, || {
            let list = self.get(&format!("{path}/deliveries")).content();
            let newest = list.first().cloned().unwrap_or_default();
            match newest["status"] == status && newest["attempts"] == attempts {
                true => Ok(newest),
                false => Err(newest.to_string()),
            }
        })
    }
}

fn without_secret(mut endpoint: Value) -> Value {
    endpoint.as_object_mut().unwrap().remove("secret");
    endpoint
}

fn endpoints_are_listed_in_pages_and_searched(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let (_, one) = hooks.create(&json!({ "url": "https://one.test", "description": "Été" }));
    let (_, two) = hooks.create(&json!({ "url": "https://two.test" }));
    let page = hooks.get("").ok();
    assert_eq!(page["content"], json!([without_secret(one.clone()), without_secret(two)]));
    let numbers = json!([page["total"], page["page"], page["size"], page["pages"]]);
    assert_eq!(numbers, json!([2, 1, 50, 1]));
    assert_eq!(hooks.get("?page=2&limit=1").column("url"), ["https://two.test"]);
    assert_eq!(hooks.get("?term=ete").column("id"), [one["id"].as_str().unwrap()]);
    assert_eq!(hooks.get("?term=two").column("url"), ["https://two.test"]);
    hooks.get("?limit=101").error(400);
}

fn endpoint_is_read_and_changed_by_merge_patch(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let (path, created) = hooks.create(&json!({ "url": URL, "description": "Ledger" }));
    let read = hooks.get(&path);
    assert_eq!(read.ok(), without_secret(created));
    let changed = hooks.patch(&path, &json!({ "events": ["folder.*"], "description": null })).ok();
    assert_eq!(changed["events"], json!(["folder.*"]));
    assert_eq!((&changed["description"], &changed["url"]), (&Value::Null, &json!(URL)));
    assert_eq!(hooks.get(&path).ok(), changed);
    // What was read can be sent back, and changes nothing.
    assert_eq!(hooks.patch(&path, &changed).ok(), changed);
    let disabled = hooks.patch(&path, &json!({ "enabled": false })).ok();
    assert_eq!(disabled["disabledReason"], "Disabled through the API");
    let reset = hooks.patch(&path, &json!({ "enabled": true, "events": null })).ok();
    assert_eq!((&reset["disabledReason"], &reset["events"]), (&Value::Null, &json!(["*"])));
    let all_new = ["geometry.*", "layer.updated", "geometry.deleted"];
    assert_eq!(hooks.patch(&path, &json!({ "events": all_new })).ok()["events"], json!(all_new));
}

fn invalid_patch_is_reported_with_pointers_and_changes_nothing(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let (path, created) = hooks.create(&json!({ "url": URL }));
    let missing = "0190b3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    for (body, pointers) in [
        (json!({ "url": null }), vec!["/url"]),
        (json!({ "url": "ftp://x", "enabled": 1 }), vec!["/url", "/enabled"]),
        (json!({ "events": [] }), vec!["/events"]),
        (json!({ "uri": URL }), vec!["/uri"]),
        (json!({ "secret": "0123456789abcdef" }), vec!["/secret"]),
        (
            json!({ "filter": { "bbox": [1, 2, 3], "folder": 1 } }),
            vec!["/filter/folder", "/filter/bbox"],
        ),
        (json!({ "filter": { "folderIds": [missing] } }), vec!["/filter/folderIds/0"]),
        (json!({ "filter": { "layerIds": ["x"] } }), vec!["/filter/layerIds/0"]),
        (json!([]), vec![""]),
    ] {
        assert_eq!(hooks.patch(&path, &body).error_pointers(), pointers, "{body}");
    }
    assert_eq!(hooks.get(&path).ok(), without_secret(created));
    hooks.patch("/x", &json!({})).error(404);
}

fn patch_with_an_outdated_etag_is_a_412(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let (path, _) = hooks.create(&json!({ "url": URL }));
    let etag = hooks.get(&path).header("etag").unwrap().to_owned();
    let body = json!({ "description": "x" });
    let full = format!("{API}/webhooks/endpoints{path}");
    let again = server.main().request("GET", &full).token(&hooks.token);
    assert_eq!(again.header("If-None-Match", &etag).send().status, 304);
    let changed = hooks.send("PATCH", &path, &body, Some(("If-Match", &etag)));
    let new = changed.header("etag").unwrap().to_owned();
    assert_eq!(hooks.get(&path).header("etag"), Some(&*new));
    hooks.send("PATCH", &path, &body, Some(("If-Match", &etag))).error(412);
    hooks.send("PATCH", &path, &body, Some(("If-Match", &new))).ok();
}

fn disabled_endpoint_is_enabled_unless_its_url_is_not_allowed(engine: Engine) {
    let mut server = start(engine);
    let receiver = Receiver::start();
    let (path, token) = {
        let hooks = Hooks::new(&server);
        let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
        hooks.patch(&path, &json!({ "enabled": false })).ok();
        let message = hooks.post(&format!("{path}/test"), &json!({})).error(409);
        assert_eq!(message, "webhook endpoint is disabled; enable it first");
        (path, hooks.token)
    };
    server.stop();
    server.set_env("GROMA_WEBHOOKS__ALLOW_HTTP", "false");
    server.serve();
    let hooks = Hooks { server: &server, token };
    let refused = hooks.patch(&path, &json!({ "enabled": true }));
    assert_eq!(refused.error_pointers_with(409), ["/enabled"]);
    assert!(refused.error_message(409).contains("does not allow http URLs"), "{refused:?}");
    hooks.patch(&path, &json!({ "enabled": true, "url": URL })).ok();
}

/// The signature by Standard Webhooks with a secret.
fn standard_signature(request: &ReceivedRequest, secret: &str) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    let header = |name| request.header(name).unwrap().to_owned();
    mac.update(format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes());
    mac.update(&request.body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn rotation_returns_the_new_secret_and_both_secrets_sign(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::start();
    let (path, created) = hooks.create(&json!({ "url": receiver.url("/") }));
    let rotate = format!("{path}/rotate");
    for (body, pointers) in [
        (json!({}), vec!["/overlapHours"]),
        (json!({ "overlapHours": 169 }), vec!["/overlapHours"]),
        (json!({ "overlapHours": "1", "x": 1 }), vec!["/x", "/overlapHours"]),
    ] {
        assert_eq!(hooks.post(&rotate, &body).error_pointers(), pointers, "{body}");
    }
    let rotated = hooks.post(&rotate, &json!({ "overlapHours": 24 }));
    assert_eq!(rotated.header("cache-control"), Some("no-store"));
    let rotated = rotated.ok();
    let [old, new] = [&created, &rotated].map(|endpoint| endpoint["secret"].as_str().unwrap());
    assert_ne!(old, new);
    assert_eq!(hooks.get(&path).ok(), without_secret(rotated.clone()));
    hooks.post(&format!("{path}/test"), &json!({})).ok();
    let request = receiver.wait_for(1).remove(0);
    let signatures = request.header("webhook-signature").unwrap();
    let expected = [new, old].map(|secret| standard_signature(&request, secret));
    assert_eq!(signatures.split(' ').collect::<Vec<_>>(), expected);
    // Without an overlap only the new secret signs.
    let last = hooks.post(&rotate, &json!({ "overlapHours": 0 })).ok();
    hooks.post(&format!("{path}/test"), &json!({})).ok();
    let request = receiver.wait_for(2).remove(1);
    let expected = standard_signature(&request, last["secret"].as_str().unwrap());
    assert_eq!(request.header("webhook-signature"), Some(&*expected));
}

fn test_event_is_delivered_and_listed_with_its_attempt(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::with_handler(|_| Reply::with_body(202, "thanks"));
    let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
    let queued = hooks.post(&format!("{path}/test"), &json!({})).ok();
    let names: Vec<_> = queued.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "id",
        "event",
        "recordId",
        "status",
        "attempts",
        "nextAttemptAt",
        "createdAt",
        "deliveredAt",
    ];
    assert_eq!(names, expected);
    assert_eq!((&queued["status"], &queued["attempts"]), (&json!("waiting"), &json!(0)));
    let request = receiver.wait_for(1).remove(0);
    assert_eq!(queued["id"], request.id());
    let delivered = hooks.newest(&path, "delivered", 1);
    assert_eq!(delivered["recordId"], Value::Null);
    assert!(delivered["deliveredAt"].is_string() && delivered["nextAttemptAt"].is_null());
    let alone = hooks.get(&format!("{path}/deliveries/{}", request.id())).ok();
    assert_eq!(alone["body"], request.json());
    let attempt = &alone["attemptLog"][0];
    let names: Vec<_> = attempt.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["at", "status", "durationMs", "error", "response"]);
    assert_eq!((&attempt["status"], &attempt["response"]), (&json!(202), &json!("thanks")));
    // Otherwise it has the same fields as in the list.
    let mut rest = alone.clone();
    for name in ["attemptLog", "body"] {
        rest.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(rest, delivered);
}

fn deliveries_are_filtered_by_status_and_event_in_pages(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::with_handler(|request| {
        Reply::status(if request.json()["event"] == "folder.updated" { 500 } else { 200 })
    });
    let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
    save_folder(&server, "F", "x");
    save_folder(&server, "F", "y");
    save_folder(&server, "G", "x");
    receiver.wait_for(3);
    let list = |query: &str| hooks.get(&format!("{path}/deliveries{query}"));
    wait_until(PATIENCE, || match list("?status=delivered").ok()["total"] == 2 {
        true => Ok(()),
        false => Err(list("").text()),
    });
    let all = list("").ok();
    assert_eq!(all["total"], 3);
    let events = list("").column("event");
    assert_eq!(events, ["folder.created", "folder.updated", "folder.created"]);
    let token = server.create_token(&["READ_FOLDER"]);
    let folder = server.get("/folders/G", &token).ok();
    assert_eq!(all["content"][0]["recordId"], folder["id"]);
    assert_eq!(list("?status=waiting").column("event"), ["folder.updated"]);
    assert_eq!(list("?status=failed").ok()["total"], 0);
    assert_eq!(list("?event=folder.created&status=delivered").ok()["total"], 2);
    let second = list("?event=folder.created&limit=1&page=2").ok();
    assert_eq!((&second["total"], &second["pages"]), (&json!(2), &json!(2)));
    assert_eq!(second["content"][0]["id"], all["content"][2]["id"]);
    assert_eq!(
        list("?status=sending").error(400),
        "status must be one of waiting, delivered, failed, cancelled"
    );
    list("?event=folder.moved").error(400);
    let ids: Vec<_> = all["content"].as_array().unwrap().iter().map(|d| d["id"].clone()).collect();
    let follow = |relation: &str| {
        let (mut found, mut query) = (Vec::new(), "?limit=2&cursor=".to_owned());
        if relation == "prev" {
            query = link(&list(&query), "last").unwrap();
        }
        loop {
            let page = list(&query);
            found.push(page.column("id"));
            match link(&page, relation) {
                Some(next) => query = next,
                None => return found,
            }
        }
    };
    let [first, second, third] = &ids[..] else { panic!("{ids:?}") };
    assert_eq!(follow("next"), [[first, second].to_vec(), vec![third]].map(texts));
    assert_eq!(follow("prev"), [[second, third].to_vec(), vec![first]].map(texts));
    list("?cursor=x").error(400);
    list("?event=folder.created&event=folder.created").error(400);
}

fn texts(values: Vec<&Value>) -> Vec<String> {
    values.into_iter().map(|value| value.as_str().unwrap().to_owned()).collect()
}

/// The query of the link with a relation.
fn link(page: &Response, relation: &str) -> Option<String> {
    let links = page.header("link").unwrap();
    let found = links.split(", ").find(|link| link.ends_with(&format!("rel=\"{relation}\"")))?;
    let url = found.split(['<', '>']).nth(1).unwrap();
    Some(url[url.find('?').unwrap()..].to_owned())
}

fn one_delivery_is_sent_again(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::start();
    let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
    save_folder(&server, "F", "x");
    let delivered = hooks.newest(&path, "delivered", 1);
    let delivery = format!("{path}/deliveries/{}", delivered["id"].as_str().unwrap());
    let again = hooks.post(&format!("{delivery}/redeliver"), &json!({})).ok();
    assert_eq!((&again["status"], &again["id"]), (&json!("waiting"), &delivered["id"]));
    assert!(again["deliveredAt"].is_null() && again["nextAttemptAt"].is_string());
    let requests = receiver.wait_for(2);
    assert_eq!(requests[0].body, requests[1].body);
    hooks.newest(&path, "delivered", 2);
    assert_eq!(hooks.get(&delivery).ok()["attemptLog"].as_array().unwrap().len(), 2);
}

fn deliveries_since_a_time_are_sent_again(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::start();
    let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
    let rows: Vec<_> = (0..3).map(|n| json!({ "name": format!("Folder {n}") })).collect();
    server.import("folders", &rows);
    let total = |status: &str| -> Value {
        hooks.get(&format!("{path}/deliveries?status={status}")).ok()["total"].clone()
    };
    let wait_for_all = || {
        wait_until(PATIENCE, || match total("delivered") == 3 {
            true => Ok(()),
            false => Err(total("delivered").to_string()),
        });
    };
    wait_for_all();
    let redeliver = |body: &Value| hooks.post(&format!("{path}/redeliver"), body);
    let since = "2020-01-01T00:00:00Z";
    assert_eq!(redeliver(&json!({ "since": since })).ok(), json!({ "redelivered": 0 }));
    let future = json!({ "since": "2099-01-01T00:00:00Z", "status": "delivered" });
    assert_eq!(redeliver(&future).ok(), json!({ "redelivered": 0 }));
    let delivered = json!({ "since": since, "status": "delivered" });
    assert_eq!(redeliver(&delivered).ok(), json!({ "redelivered": 3 }));
    receiver.wait_for(6);
    wait_for_all();
    for (body, pointers) in [
        (json!({}), vec!["/since"]),
        (json!({ "since": "yesterday" }), vec!["/since"]),
        (json!({ "since": since, "status": "cancelled" }), vec!["/status"]),
        (json!({ "since": since, "until": since }), vec!["/until"]),
    ] {
        assert_eq!(redeliver(&body).error_pointers(), pointers, "{body}");
    }
    receiver.set_status(500);
    save_folder(&server, "F", "x");
    hooks.newest(&path, "waiting", 1);
    receiver.set_status(200);
    let waiting = json!({ "since": since, "status": "waiting" });
    redeliver(&waiting).ok();
    hooks.newest(&path, "delivered", 2);
}

fn repeated_requests_return_the_first_response(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::start();
    let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
    save_folder(&server, "F", "x");
    let delivered = hooks.newest(&path, "delivered", 1);
    let delivery = format!("{path}/deliveries/{}", delivered["id"].as_str().unwrap());
    let since =
        |year: u32| json!({ "since": format!("{year}-01-01T00:00:00Z"), "status": "delivered" });
    let hours = |hours: u32| json!({ "overlapHours": hours });
    for (route, body, other) in [
        (format!("{path}/rotate"), hours(1), hours(2)),
        (format!("{path}/test"), json!({}), json!("")),
        (format!("{delivery}/redeliver"), json!({}), json!("")),
        (format!("{path}/redeliver"), since(2020), since(2021)),
    ] {
        let send = |body: &Value| hooks.send("POST", &route, body, Some(("Idempotency-Key", "k")));
        let first = send(&body);
        assert_eq!(first.header("idempotent-replayed"), None, "{route}");
        let again = send(&body);
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{route}");
        assert_eq!(first.ok(), again.ok(), "{route}");
        if other == json!("") {
            // There is nothing to send.
            assert_eq!(send(&other).error_pointers(), [""], "{route}");
            assert_eq!(send(&json!({ "x": 1 })).error_pointers(), ["/x"], "{route}");
        } else {
            let message = send(&other).error(400);
            assert!(message.starts_with("Idempotency-Key "), "{route}: {message}");
        }
    }
}

fn filter_is_set_shown_changed_and_cleared(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    save_folder(&server, "F", "x");
    let token = server.create_token(&["READ_FOLDER"]);
    let folder = server.get("/folders/F", &token).ok()["id"].clone();
    let filter = json!({ "folderIds": [folder], "bbox": [170, -20, -170, 20] });
    let (path, created) = hooks.create(&json!({ "url": URL, "filter": filter }));
    let expected =
        json!({ "folderIds": [folder], "layerIds": null, "bbox": [170.0, -20.0, -170.0, 20.0] });
    assert_eq!(created["filter"], expected);
    assert_eq!(hooks.get(&path).ok()["filter"], expected);
    let listed = server.run(&["webhook", "list", "--workspace", WORKSPACE, "--json"]).json();
    assert_eq!(listed[0]["filter"], expected);
    // The form of the web application keeps it.
    let browser = crate::web::Browser::of_owner(&server);
    let page = format!("/settings/webhooks{path}");
    browser.page(&page).shows("1 folder");
    let edit = format!("{page}/edit");
    browser.page(&edit).shows("Saving this form keeps this filter");
    let form = [("url", URL), ("event", "folder.*"), ("description", "Ledger")];
    browser.send_form(&edit, &edit, &form);
    let saved = hooks.get(&path).ok();
    assert_eq!((&saved["filter"], &saved["description"]), (&expected, &json!("Ledger")));
    // A merge patch changes single conditions.
    let changed = hooks.patch(&path, &json!({ "filter": { "bbox": null } })).ok();
    let folders_only = json!({ "folderIds": [folder], "layerIds": null, "bbox": null });
    assert_eq!(changed["filter"], folders_only);
    assert_eq!(hooks.patch(&path, &json!({ "filter": null })).ok()["filter"], Value::Null);
    let (_, unfiltered) = hooks.create(&json!({ "url": URL, "filter": {} }));
    assert_eq!(unfiltered["filter"], Value::Null);
    let invalid = json!({ "url": URL, "filter": { "folderIds": [], "x": 1 } });
    assert_eq!(hooks.post("", &invalid).error_pointers(), ["/filter/x", "/filter/folderIds"]);
}

fn filtered_endpoint_receives_events_of_its_area_and_folder(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::start();
    let bbox = json!({ "bbox": [0, 0, 10, 10] });
    let events = json!(["geometry.*", "folder.created"]);
    hooks.create(&json!({ "url": receiver.url("/"), "events": events, "filter": bbox }));
    let token = server.create_full_token();
    let post = |id: &str, x: f64| {
        let body = json!({ "type": "Feature", "id": id, "properties": {},
            "geometry": { "type": "Point", "coordinates": [x, 5] } });
        server.geo().send(&Request::post("/geometries/geojson", &token, &body)).unwrap().ok();
    };
    post("a", 5.0);
    post("b", 15.0);
    post("a", 20.0);
    post("a", 25.0);
    post("b", 8.0);
    save_folder(&server, "F", "x");
    let mut names = super::event_names(&receiver.wait_for(4));
    names.sort();
    let expected = ["folder.created", "geometry.created", "geometry.updated", "geometry.updated"];
    assert_eq!(names, expected);
}

fn every_route_needs_the_scope_and_the_admin_role(engine: Engine) {
    let server = TestServer::start_with(engine, &LOCAL_RECEIVERS);
    let id = "0190b3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    let routes = [
        ("GET", String::new()),
        ("GET", format!("/{id}")),
        ("PATCH", format!("/{id}")),
        ("POST", format!("/{id}/rotate")),
        ("POST", format!("/{id}/test")),
        ("GET", format!("/{id}/deliveries")),
        ("GET", format!("/{id}/deliveries/{id}")),
        ("POST", format!("/{id}/deliveries/{id}/redeliver")),
        ("POST", format!("/{id}/redeliver")),
    ];
    let admin = "admin@example.test";
    let role = |role: &str| {
        let add = ["user", "add", admin, "--workspace", WORKSPACE, "--role", role];
        server.run_with_input("\n", &add).expect_success();
    };
    role("admin");
    let token = server.create_token_for(WORKSPACE, admin, &["MANAGE_WEBHOOK"]);
    let reader = server.create_token(&["READ_FOLDER"]);
    role("editor");
    for (method, path) in routes {
        let send = |token: &str| {
            let hooks = Hooks { server: &server, token: token.to_owned() };
            match method {
                "GET" => hooks.get(&path),
                _ => hooks.send(method, &path, &json!({}), None),
            }
        };
        let message = send(&reader).error(403);
        assert_eq!(message, "Token missing required scope: MANAGE_WEBHOOK", "{method} {path}");
        wait_until(PATIENCE, || {
            let response = send(&token);
            if response.status == 403 { Ok(()) } else { Err(response.text()) }
        });
        let message = send(&token).error(403);
        assert!(message.contains("role admin"), "{method} {path}: {message}");
    }
}

fn endpoints_and_deliveries_of_other_workspaces_are_not_found(engine: Engine) {
    let server = start(engine);
    let hooks = Hooks::new(&server);
    let receiver = Receiver::start();
    let (path, _) = hooks.create(&json!({ "url": receiver.url("/") }));
    let (sibling, _) = hooks.create(&json!({ "url": URL, "events": ["budget.*"] }));
    save_folder(&server, "F", "x");
    let delivery = hooks.newest(&path, "delivered", 1)["id"].as_str().unwrap().to_owned();
    server.create_workspace("Other");
    let token = server.create_token_in("Other", &["MANAGE_WEBHOOK"]);
    let others = Hooks { server: &server, token };
    let since = json!({ "since": "2020-01-01T00:00:00Z" });
    others.get(&path).error(404);
    others.patch(&path, &json!({})).error(404);
    others.post(&format!("{path}/rotate"), &json!({ "overlapHours": 1 })).error(404);
    others.post(&format!("{path}/test"), &json!({})).error(404);
    others.post(&format!("{path}/redeliver"), &since).error(404);
    others.get(&format!("{path}/deliveries")).error(404);
    let (own, _) = others.create(&json!({ "url": URL }));
    for (hooks, endpoint) in [(&others, &path), (&others, &own), (&hooks, &sibling)] {
        let path = format!("{endpoint}/deliveries/{delivery}");
        hooks.get(&path).error(404);
        hooks.post(&format!("{path}/redeliver"), &json!({})).error(404);
    }
    hooks.get(&format!("{path}/deliveries/x")).error(404);
    assert_eq!(others.get("").ok()["total"], 1);
}
