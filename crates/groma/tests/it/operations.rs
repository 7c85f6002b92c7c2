//! What an operator sees: readiness, metrics with their list and dashboard, logs.

use crate::{
    client::API,
    database::{self, Engine},
    office::{ADMIN, NO_LIMIT, Office, wait_until},
    on_both_engines,
    web::{Browser, password},
    webhooks::{
        LOCAL, change, create,
        receiver::{PATIENCE, Receiver},
    },
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
};

/// A file of the repository.
pub(crate) fn committed(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What `/readyz` says, and with which status.
fn readiness(office: &Office) -> (u16, String) {
    let answer = office.admin().ask("GET", "/readyz").send();
    (answer.status, answer.text())
}

#[track_caller]
fn wait_for_readiness(office: &Office, status: u16, text: &str) {
    wait_until(PATIENCE, || {
        let now = readiness(office);
        if now.0 == status && now.1.contains(text) { Ok(()) } else { Err(format!("{now:?}")) }
    });
}

on_both_engines! {
    fn while_it_finishes_what_runs_it_is_not_ready(engine: Engine) {
        let mut office = Office::start_with(engine, &[ADMIN]);
        let token = office.token(&[]);
        assert_eq!(readiness(&office), (200, "ready\n".to_owned()));
        let body = json!({ "type": "Point", "coordinates": [2.35, 48.85] }).to_string();
        let mut running = office.geo().connect();
        write!(
            running,
            "POST {API}/geometries/geojson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            body.len(),
            &body[..5]
        )
        .unwrap();
        let in_progress = || office.admin().ask("GET", "/metrics").send().text();
        wait_until(PATIENCE, || {
            let shown = in_progress();
            if shown.contains("groma_requests_in_progress 1\n") { Ok(()) } else { Err(shown) }
        });
        office.program().signal("TERM");
        wait_for_readiness(&office, 503, "stopping");
        assert_eq!(office.admin().ask("GET", "/healthz").send().status, 200, "it still runs");
        wait_until(PATIENCE, || {
            if office.main().is_reachable() { Err("it still accepts".to_owned()) } else { Ok(()) }
        });
        running.write_all(&body.as_bytes()[5..]).unwrap();
        let answer = crate::client::Answer::read(&mut std::io::BufReader::new(running));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(office.take_program().ended(), Some(0));
    }

    fn health_is_asked_by_the_program_itself(engine: Engine) {
        let mut office = Office::start_with(engine, &[ADMIN]);
        office.groma(&["health"]).fails();
        let at = office.admin().authority();
        office.set("GROMA_SERVER__ADMIN_LISTEN", &at);
        assert_eq!(office.groma(&["health"]).succeeds(), "ready");
        let everywhere = at.replace("127.0.0.1", "0.0.0.0");
        office.set("GROMA_SERVER__ADMIN_LISTEN", &everywhere);
        assert_eq!(office.groma(&["health"]).succeeds(), "ready");
        assert_eq!(office.close(), Some(0));
        let message = office.groma(&["health"]).fails();
        assert!(message.starts_with(&everywhere), "{message}");
        office.set("GROMA_SERVER__ADMIN_LISTEN", "");
        office.groma(&["health"]).fails_with("server.admin_listen is not set; set it to an address such as 127.0.0.1:9464");
    }

    fn the_list_of_metrics_is_what_is_told(engine: Engine) {
        let office = busy(engine);
        let shown = office.admin().ask("GET", "/metrics").send().text();
        let told: BTreeMap<_, _> = shown
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "))
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
            .collect();
        let name = if engine == Engine::Sqlite { "SQLite" } else { "PostgreSQL" };
        let listed: BTreeMap<_, _> = listed()
            .into_iter()
            .filter(|metric| metric.only.is_empty() || metric.only == name)
            .map(|metric| (metric.name, metric.kind))
            .collect();
        assert_eq!(told, listed);
        // And every label that is told is listed, and the other way round.
        for metric in super::listed().iter().filter(|metric| listed.contains_key(&metric.name)) {
            let labels = labels_of(&shown, &metric.name);
            assert_eq!(labels, metric.labels, "{}", metric.name);
        }
    }

    fn what_happened_is_counted(engine: Engine) {
        let office = busy(engine);
        let shown = office.admin().ask("GET", "/metrics").send().text();
        for line in [
            "groma_requests_total{class=\"records\",status=\"200\"} 2",
            "groma_requests_total{class=\"records\",status=\"401\"} 1",
            "groma_requests_total{class=\"records\",status=\"429\"} 1",
            "groma_requests_total{class=\"tiles\",status=\"200\"} 2",
            "groma_requests_total{class=\"unknown\",status=\"404\"} 1",
            "groma_request_seconds_count{class=\"records\"} 4",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"+Inf\"} 2",
            "groma_rate_refusals_total 1",
            "groma_logins_total{outcome=\"succeeded\"} 1",
            "groma_logins_total{outcome=\"failed\"} 1",
            "groma_logins_total{outcome=\"refused\"} 0",
            "groma_sessions 1",
            "groma_tiles_total{from=\"cache\"} 1",
            "groma_tiles_total{from=\"drawn\"} 1",
            "groma_database_up 1",
            "groma_webhook_attempts_total{outcome=\"delivered\"} 1",
        ] {
            assert!(shown.lines().any(|known| known == line), "{line} is not in {shown}");
        }
    }
}

/// An office in which something of everything has happened.
fn busy(engine: Engine) -> Office {
    let limit = ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "2");
    let local = [LOCAL[0], LOCAL[1]];
    let office = Office::start_with(engine, &[&local[..], &[ADMIN, limit]].concat());
    let receiver = Receiver::start();
    create(&office, &receiver.url("/"), &[]);
    change(&office, "F", "x");
    receiver.wait_for(1);
    let token = office.token(&["READ_FOLDER"]);
    office.get("/folders", &token).ok();
    office.get("/folders/F", &token).ok();
    office.get("/folders", &token).error(429);
    office.get("/folders", "nobody").error(401);
    office.get("/nowhere", &token).error(404);
    let layer = office.groma(&["layer", "create", "Parcels"]).succeeds();
    let token = office.token(&[]);
    for _ in 0..2 {
        let tile = format!("{API}/layers/{layer}/mvt/0/0/0");
        assert_eq!(office.geo().ask("GET", &tile).token(&token).send().status, 200);
    }
    let browser = Browser::new(office.main());
    assert_eq!(browser.log_in(crate::office::OWNER, "wrong").answer.status, 400);
    assert_eq!(browser.log_in(crate::office::OWNER, password()).answer.status, 303);
    wait_until(PATIENCE, || {
        let shown = office.admin().ask("GET", "/metrics").send().text();
        if shown.contains("groma_webhook_attempts_total") { Ok(()) } else { Err(shown) }
    });
    office
}

struct Listed {
    name: String,
    kind: String,
    labels: BTreeSet<String>,
    only: String,
}

/// The list in the documentation.
fn listed() -> Vec<Listed> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    let text = committed("docs/metrics.md");
    let rows = text.lines().filter(|line| line.starts_with("| `")).map(cells);
    let listed: Vec<_> = rows
        .map(|cells| Listed {
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

/// The labels that the figures of a name have, but for the bounds of buckets.
fn labels_of(shown: &str, name: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for line in shown.lines().filter(|line| !line.starts_with('#')) {
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

/// Every word of a query that is a metric's, and every label that it names.
fn words(query: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    query.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

#[test]
fn every_query_of_the_dashboard_names_metrics_that_there_are() {
    let listed = listed();
    let known: BTreeSet<_> = listed.iter().map(|metric| metric.name.as_str()).collect();
    let base = |word: &str| {
        let histogram = |suffix| word.strip_suffix(suffix).filter(|base| known.contains(base));
        let found = ["_bucket", "_sum", "_count"].iter().find_map(histogram);
        found.or_else(|| known.get(word).copied()).map(str::to_owned)
    };
    let dashboard: Value = serde_json::from_str(&committed("deploy/grafana/groma.json")).unwrap();
    let mut queries = Vec::new();
    collect(&dashboard, &mut queries);
    let alerts = committed("docs/metrics.md");
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
            used.insert(base(word).unwrap_or_else(|| panic!("{word} is no metric: {query}")));
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
    assert_eq!(used, all, "the dashboard shows all there is");
}

/// The queries in a dashboard.
fn collect(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, queries)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str() {
                    Some(text) if ["expr", "definition"].contains(&name.as_str()) => {
                        queries.push(text.to_owned());
                    }
                    _ => collect(field, queries),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn without_its_database_it_is_not_ready_and_then_again() {
    let office = Office::start_with(Engine::Postgres, &[ADMIN, NO_LIMIT]);
    office.without_database(|| {
        wait_for_readiness(&office, 503, "the database does not respond");
        let metrics = office.admin().ask("GET", "/metrics").send().text();
        assert!(metrics.contains("groma_database_up 0\n"), "{metrics}");
    });
    wait_for_readiness(&office, 200, "ready");
}

#[test]
fn a_file_that_was_moved_away_is_not_its_database_any_more() {
    let office = Office::start_with(Engine::Sqlite, &[ADMIN]);
    let path = office.database().strip_prefix("sqlite:").unwrap().to_owned();
    let aside = format!("{path}.aside");
    std::fs::rename(&path, &aside).unwrap();
    wait_for_readiness(&office, 503, "the database does not respond");
    std::fs::copy(&aside, &path).unwrap();
    wait_for_readiness(&office, 503, "the database does not respond");
    std::fs::rename(&aside, &path).unwrap();
    wait_for_readiness(&office, 200, "ready");
}

#[test]
fn a_database_that_lacks_migrations_is_not_ready() {
    let office = Office::start_with(Engine::Postgres, &[ADMIN]);
    let forget = "DELETE FROM refinery_schema_history WHERE version = 5 RETURNING version::bigint";
    assert_eq!(database::number(office.database(), forget), 5);
    wait_for_readiness(&office, 503, "the database lacks migrations: V5__web");
}

#[test]
fn logs_look_as_the_setting_says() {
    let mut office = Office::closed(Engine::Postgres, &[("RUST_LOG", "trace")]);
    for (format, is_json) in [("json", true), ("auto", true), ("text", false)] {
        office.set("GROMA_LOG__FORMAT", format);
        let done = office.groma(&["workspace", "list"]);
        assert_eq!(done.code, Some(0));
        let first = done.stderr.lines().next().expect("something to tell");
        let entry: Option<Value> = serde_json::from_str(first).ok();
        assert_eq!(entry.is_some(), is_json, "{format}: {first}");
        assert!(entry.is_none_or(|entry| entry["message"].is_string()), "{first}");
        assert!(!first.contains('\u{1b}'), "colours are for terminals: {first}");
    }
}
