//! Both engines give equal responses to the same imports and requests. Ids are compared by the order
//! of their first appearance.

use crate::{
    sample_records, sample_records::ASSIGNMENT, sample_records::BUDGET, sample_records::FOLDER,
    sample_records::Placeholders,
};
use groma_testkit::{Engine, TestServer, http::percent_encode, server::NO_RATE_LIMIT};
use serde_json::json;

const NAMES: [&str; 12] = [
    "Chêne",
    "CHENE",
    "Straße",
    "Łódź",
    "100 % a_b",
    "it's \"x\"",
    "back\\slash",
    "漢字 🦀",
    "Ελλάς",
    "aaa",
    "AAAA",
    "a\u{301}a",
];

fn start_with_samples(engine: Engine) -> TestServer {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let named = NAMES.map(|name| json!({ "name": name, "description": name }));
    server.import("folders", &named);
    server.import("folders", &sample_records::many_folders(130));
    server.import("expenses", &[
        json!({ "folder": FOLDER, "budget": BUDGET, "unitAmount": "0.05", "quantity": "2.5", "incurredOn": "2026-05-05" }),
        json!({ "folder": FOLDER, "assignment": ASSIGNMENT, "unitAmount": "1e3", "incurredOn": "2026-05-06", "vendor": "Léman" }),
    ]);
    server.run(&["archive", "folder", "F-000003"]).expect_success();
    server.run(&["delete", "folder", "F-000064"]).expect_success();
    server.run(&["delete", "folder", "F-000009"]).expect_success();
    server
}

fn requests() -> Vec<String> {
    let mut requests: Vec<String> = Vec::new();
    for list in ["/statuses", "/folders", "/assignments", "/expenses", "/budgets"] {
        for query in [
            "",
            "?limit=100",
            "?limit=100&page=2",
            "?limit=7&page=3",
            "?page=99",
            "?page=0",
            "?limit=101",
            "?term=a",
            "?term=aa",
            "?term=aaa",
            "?term=%00",
            "?term=fuel",
            "?term=F-00000",
            "?term=nothing%20here",
        ] {
            requests.push(format!("{list}{query}"));
        }
    }
    for term in NAMES.iter().flat_map(|name| {
        [
            (*name).to_owned(),
            name.to_uppercase(),
            name.to_lowercase(),
            name.chars().take(2).collect(),
        ]
    }) {
        requests.push(format!("/folders?term={}", percent_encode(&term)));
    }
    for key in [
        FOLDER,
        "F-000001",
        "F-000003",
        "F-000064",
        "missing",
        "%00",
        "%FF",
        "%2F",
        "f-000001",
        "019a8b7c-0000-7000-8000-000000000000",
    ] {
        requests.push(format!("/folders/{key}"));
    }
    for path in [
        "/assignments/STAKE-1",
        "/expenses/FUEL-1",
        "/expenses/E-000002",
        "/budgets/FIELD-2026",
        "/nowhere",
    ] {
        requests.push(path.to_owned());
    }
    requests
}

#[test]
fn both_engines_give_equal_responses() {
    let servers = [start_with_samples(Engine::Sqlite), start_with_samples(Engine::Postgres)];
    let tokens = [servers[0].create_full_token(), servers[1].create_full_token()];
    let mut names = [Placeholders::default(), Placeholders::default()];
    for request in requests() {
        let mut responses = Vec::new();
        for index in [0, 1] {
            let response = servers[index].get(&request, &tokens[index]);
            let content_type = response.header("content-type").map(str::to_owned);
            responses.push((
                response.status,
                content_type,
                names[index].replace_ids(&response.text()),
            ));
        }
        assert_eq!(responses[0], responses[1], "{request}");
    }
}

#[test]
fn both_engines_give_equal_command_output() {
    let servers = [TestServer::start(Engine::Sqlite), TestServer::start(Engine::Postgres)];
    servers.iter().for_each(sample_records::fill);
    let mut names = [Placeholders::default(), Placeholders::default()];
    for server in &servers {
        server.write_file(
            "bad.csv",
            "reference,name,owner,status\n,,x,y\nA,ok,,\nA,twice,,\nB,ok,a@b.test,Quoted\n",
        );
    }
    for command in [
        &["workspace", "list"][..],
        &["token", "list"],
        &["import", "folders", "bad.csv", "--json"],
        &["import", "folders", "bad.csv", "--keep-good"],
        &["import", "folders", "bad.csv", "--dry-run"],
        &["export", "folders", "-"],
        &["export", "expenses", "-", "--format", "csv"],
        &["export", "statuses", "-"],
        &["archive", "folder", "nowhere"],
        &["delete", "budget", BUDGET],
        &["delete", "budget", BUDGET],
        &["workspace", "create", "cadastre", "--owner", "owner@example.test"],
        &["user", "add", "owner@example.test", "--role", "viewer"],
        &["workspace", "delete", "Cadastre"],
        &["workspace", "list", "--json"],
    ] {
        let mut outputs = Vec::new();
        for index in [0, 1] {
            let output = servers[index].run(command);
            outputs.push((
                output.code,
                names[index].replace_ids(&output.stdout),
                names[index].replace_ids(&output.stderr),
            ));
        }
        assert_eq!(outputs[0], outputs[1], "{command:?}");
    }
}
