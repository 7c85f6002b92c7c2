//! Monitoring: readiness, metrics with their documentation and dashboard, logs.

use crate::{
    on_both_engines, web::Browser, web::password, webhooks::LOCAL_RECEIVERS,
    webhooks::create_endpoint, webhooks::save_folder,
};
use groma_testkit::{
    API, Engine, Receiver, Response, TestServer, postgres, server::ADMIN_LISTENER,
    server::NO_RATE_LIMIT, server::OWNER, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
};

/// The contents of a file in the repository.
pub(crate) fn read_repository_file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The status and body of `/readyz`.
fn readiness(server: &TestServer) -> (u16, String) {
    let response = server.admin().request("GET", "/readyz").send();
    (response.status, response.text())
}

#[track_caller]
fn wait_for_readiness(server: &TestServer, status: u16, text: &str) {
    wait_until(PATIENCE, || {
        let now = readiness(server);
        if now.0 == status && now.1.contains(text) { Ok(()) } else { Err(format!("{now:?}")) }
    });
}

on_both_engines! {
    draining_server_is_not_ready
    health_command_checks_the_running_server
    documented_metrics_are_exactly_the_exported_ones
    metrics_count_requests_and_events
}

fn draining_server_is_not_ready(engine: Engine) {
    let mut server = TestServer::start_with(engine, &[ADMIN_LISTENER]);
    let token = server.create_token(&[]);
    assert_eq!(readiness(&server), (200, "ready\n".to_owned()));
    let body = json!({ "type": "Point", "coordinates": [2.35, 48.85] }).to_string();
    let mut running = server.geo().connect();
    write!(
        running,
        "POST {API}/geometries/geojson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        body.len(),
        &body[..5]
    )
    .unwrap();
    let in_progress = || server.admin().request("GET", "/metrics").send().text();
    wait_until(PATIENCE, || {
        let metrics = in_progress();
        if metrics.contains("groma_requests_in_progress 1\n") { Ok(()) } else { Err(metrics) }
    });
    server.process().signal("TERM");
    wait_for_readiness(&server, 503, "stopping");
    assert_eq!(
        server.admin().request("GET", "/healthz").send().status,
        200,
        "a draining server is still healthy"
    );
    wait_until(PATIENCE, || {
        if server.main().is_reachable() { Err("it still accepts".to_owned()) } else { Ok(()) }
    });
    running.write_all(&body.as_bytes()[5..]).unwrap();
    let response = Response::read(&mut std::io::BufReader::new(running));
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(server.take_process().wait_for_exit(), Some(0));
}

fn health_command_checks_the_running_server(engine: Engine) {
    let mut server = TestServer::start_with(engine, &[ADMIN_LISTENER]);
    server.run(&["health"]).expect_failure();
    let at = server.admin().authority();
    server.set_env("GROMA_SERVER__ADMIN_LISTEN", &at);
    assert_eq!(server.run(&["health"]).expect_success(), "ready");
    let everywhere = at.replace("127.0.0.1", "0.0.0.0");
    server.set_env("GROMA_SERVER__ADMIN_LISTEN", &everywhere);
    assert_eq!(server.run(&["health"]).expect_success(), "ready");
    assert_eq!(server.stop(), Some(0));
    let message = server.run(&["health"]).expect_failure();
    assert!(message.contains(&everywhere), "{message}");
    server.set_env("GROMA_SERVER__ADMIN_LISTEN", "");
    server.run(&["health"]).expect_error(
        "server.admin_listen is not set; set it to an address such as 127.0.0.1:9464",
    );
}

fn documented_metrics_are_exactly_the_exported_ones(engine: Engine) {
    let server = start_with_activity(engine);
    let metrics = server.admin().request("GET", "/metrics").send().text();
    let exported: BTreeMap<_, _> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
        .collect();
    let name = if engine == Engine::Sqlite { "SQLite" } else { "PostgreSQL" };
    let listed: BTreeMap<_, _> = documented_metrics()
        .into_iter()
        .filter(|metric| metric.only.is_empty() || metric.only == name)
        .map(|metric| (metric.name, metric.kind))
        .collect();
    assert_eq!(exported, listed);
    // The same holds for labels.
    for metric in documented_metrics().iter().filter(|metric| listed.contains_key(&metric.name)) {
        let labels = labels_of(&metrics, &metric.name);
        assert_eq!(labels, metric.labels, "{}", metric.name);
    }
}

fn metrics_count_requests_and_events(engine: Engine) {
    let server = start_with_activity(engine);
    let metrics = server.admin().request("GET", "/metrics").send().text();
    for line in [
        "groma_requests_total{class=\"records\",status=\"200\"} 2",
        "groma_requests_total{class=\"records\",status=\"401\"} 1",
        "groma_requests_total{class=\"records\",status=\"429\"} 1",
        "groma_requests_total{class=\"tiles\",status=\"200\"} 2",
        "groma_requests_total{class=\"unknown\",status=\"404\"} 1",
        "groma_request_seconds_count{class=\"records\"} 4",
        "groma_request_seconds_bucket{class=\"tiles\",le=\"+Inf\"} 2",
        "groma_rate_limited_total 1",
        "groma_logins_total{outcome=\"succeeded\"} 1",
        "groma_logins_total{outcome=\"failed\"} 1",
        "groma_logins_total{outcome=\"rejected\"} 0",
        "groma_sessions 1",
        "groma_tiles_total{from=\"cache\"} 1",
        "groma_tiles_total{from=\"rendered\"} 1",
        "groma_database_up 1",
        "groma_webhook_attempts_total{outcome=\"delivered\"} 1",
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in {metrics}");
    }
}

/// A server on which every kind of event has happened.
fn start_with_activity(engine: Engine) -> TestServer {
    let limit = ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "2");
    let local = [LOCAL_RECEIVERS[0], LOCAL_RECEIVERS[1]];
    let server = TestServer::start_with(engine, &[&local[..], &[ADMIN_LISTENER, limit]].concat());
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    receiver.wait_for(1);
    let token = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    server.get("/folders/F", &token).ok();
    server.get("/folders", &token).error(429);
    server.get("/folders", "nobody").error(401);
    server.get("/nowhere", &token).error(404);
    let layer = server.run(&["layer", "create", "Parcels"]).expect_success();
    let token = server.create_token(&[]);
    for _ in 0..2 {
        let tile = format!("{API}/layers/{layer}/mvt/0/0/0");
        assert_eq!(server.geo().request("GET", &tile).token(&token).send().status, 200);
    }
    let browser = Browser::new(server.main());
    assert_eq!(browser.log_in(OWNER, "wrong").response.status, 400);
    assert_eq!(browser.log_in(OWNER, password()).response.status, 303);
    wait_until(PATIENCE, || {
        let metrics = server.admin().request("GET", "/metrics").send().text();
        if metrics.contains("groma_webhook_attempts_total") { Ok(()) } else { Err(metrics) }
    });
    server
}

struct DocumentedMetric {
    name: String,
    kind: String,
    labels: BTreeSet<String>,
    only: String,
}

/// The metrics that the documentation lists.
fn documented_metrics() -> Vec<DocumentedMetric> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    let text = read_repository_file("docs/metrics.md");
    let rows = text.lines().filter(|line| line.starts_with("| `")).map(cells);
    let listed: Vec<_> = rows
        .map(|cells| DocumentedMetric {
            name: cells[0].clone(),
            kind: cells[1].clone(),
            labels: cells[2]
                .split(", ")
                .filter(|label| !label.is_empty())
                .map(str::to_owned)
                .collect(),
            only: cells[3].clone(),
        })
        .collect();
    assert!(listed.len() > 20);
    listed
}

/// The labels of a metric, except for the bounds of histogram buckets.
fn labels_of(metrics: &str, name: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let Some((found, rest)) = line.split_once('{') else { continue };
        let suffixes = ["", "_bucket", "_sum", "_count"];
        if suffixes.iter().any(|suffix| found == format!("{name}{suffix}")) {
            let inside = rest.split('}').next().unwrap();
            labels.extend(inside.split(',').map(|pair| pair.split('=').next().unwrap().to_owned()));
        }
    }
    labels.remove("le");
    labels
}

/// The words of a query, some of which are names of metrics and labels.
fn words(query: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    query.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

#[test]
fn dashboard_queries_use_existing_metrics() {
    let listed = documented_metrics();
    let known: BTreeSet<_> = listed.iter().map(|metric| metric.name.as_str()).collect();
    let base = |word: &str| {
        let histogram = |suffix| word.strip_suffix(suffix).filter(|base| known.contains(base));
        let found = ["_bucket", "_sum", "_count"].iter().find_map(histogram);
        found.or_else(|| known.get(word).copied()).map(str::to_owned)
    };
    let dashboard: Value =
        serde_json::from_str(&read_repository_file("deploy/grafana/groma.json")).unwrap();
    let mut queries = Vec::new();
    collect_queries(&dashboard, &mut queries);
    let alerts = read_repository_file("docs/metrics.md");
    let alerts = alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    queries.extend(alerts.map(str::to_owned));
    assert!(queries.len() > 20, "{queries:?}");
    let mut used = BTreeSet::new();
    for query in &queries {
        let named: Vec<_> = words(query)
            .filter(|word| word.starts_with("groma_") || word.starts_with("process_"))
            .collect();
        assert!(!named.is_empty(), "{query}");
        for word in named {
            used.insert(base(word).unwrap_or_else(|| panic!("{word} is not a metric: {query}")));
        }
        for inside in query.split("by (").skip(1) {
            for label in inside.split(')').next().unwrap().split(", ") {
                let ours = listed.iter().any(|metric| metric.labels.contains(label));
                assert!(
                    ours || ["le", "instance"].contains(&label),
                    "{label} is no label: {query}"
                );
            }
        }
    }
    let all: BTreeSet<_> = known.into_iter().map(str::to_owned).collect();
    assert_eq!(used, all, "the dashboard shows every metric");
}

/// Collects the queries of a dashboard.
fn collect_queries(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_queries(item, queries)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str() {
                    Some(text) if ["expr", "definition"].contains(&name.as_str()) => {
                        queries.push(text.to_owned());
                    }
                    _ => collect_queries(field, queries),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn server_is_not_ready_while_its_database_is_unreachable() {
    let server = TestServer::start_with(Engine::Postgres, &[ADMIN_LISTENER, NO_RATE_LIMIT]);
    server.without_database(|| {
        wait_for_readiness(&server, 503, "the database does not respond");
        let metrics = server.admin().request("GET", "/metrics").send().text();
        assert!(metrics.contains("groma_database_up 0\n"), "{metrics}");
    });
    wait_for_readiness(&server, 200, "ready");
}

#[test]
fn server_is_not_ready_after_its_database_file_was_moved() {
    let server = TestServer::start_with(Engine::Sqlite, &[ADMIN_LISTENER]);
    let path = server.database_url().strip_prefix("sqlite:").unwrap().to_owned();
    let aside = format!("{path}.aside");
    std::fs::rename(&path, &aside).unwrap();
    wait_for_readiness(&server, 503, "the database does not respond");
    std::fs::copy(&aside, &path).unwrap();
    wait_for_readiness(&server, 503, "the database does not respond");
    std::fs::rename(&aside, &path).unwrap();
    wait_for_readiness(&server, 200, "ready");
}

#[test]
fn server_is_not_ready_without_all_migrations() {
    let server = TestServer::start_with(Engine::Postgres, &[ADMIN_LISTENER]);
    let forget = "DELETE FROM refinery_schema_history WHERE version = 1 RETURNING version::bigint";
    assert_eq!(postgres::query_number(server.database_url(), forget).unwrap(), 1);
    wait_for_readiness(&server, 503, "the database lacks migrations: V1__schema");
}

#[test]
fn log_format_follows_the_setting() {
    let mut server = TestServer::stopped(Engine::Postgres, &[("RUST_LOG", "trace")]);
    for (format, is_json) in [("json", true), ("auto", true), ("text", false)] {
        server.set_env("GROMA_LOG__FORMAT", format);
        let done = server.run(&["workspace", "list"]);
        assert_eq!(done.code, Some(0));
        let first = done.stderr.lines().next().expect("a log line");
        let entry: Option<Value> = serde_json::from_str(first).ok();
        assert_eq!(entry.is_some(), is_json, "{format}: {first}");
        assert!(entry.is_none_or(|entry| entry["message"].is_string()), "{first}");
        assert!(!first.contains('\u{1b}'), "only terminals get colours: {first}");
    }
}
