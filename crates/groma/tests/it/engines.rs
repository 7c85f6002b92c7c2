//! Both engines give equal answers: the same imports, then the same requests, compared with ids in
//! the order of their first appearance.

use crate::{
    client::encode,
    database::Engine,
    office::{NO_LIMIT, Office},
    sample::{self, ASSIGNMENT, BUDGET, FOLDER, Names},
};
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

fn office(engine: Engine) -> Office {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    sample::fill(&office);
    let named = NAMES.map(|name| json!({ "name": name, "description": name }));
    office.import("folders", &named);
    office.import("folders", &sample::many_folders(130));
    office.import("expenses", &[
        json!({ "folder": FOLDER, "budget": BUDGET, "unitAmount": "0.05", "quantity": "2.5", "incurredOn": "2026-05-05" }),
        json!({ "folder": FOLDER, "assignment": ASSIGNMENT, "unitAmount": "1e3", "incurredOn": "2026-05-06", "vendor": "Léman" }),
    ]);
    office.groma(&["archive", "folder", "F-000003"]).succeeds();
    office.groma(&["delete", "folder", "F-000064"]).succeeds();
    office.groma(&["delete", "folder", "F-000009"]).succeeds();
    office
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
        requests.push(format!("/folders?term={}", encode(&term)));
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
fn the_same_requests_have_equal_answers() {
    let offices = [office(Engine::Sqlite), office(Engine::Postgres)];
    let tokens = [offices[0].master_token(), offices[1].master_token()];
    let mut names = [Names::default(), Names::default()];
    for request in requests() {
        let mut answers = Vec::new();
        for index in [0, 1] {
            let answer = offices[index].get(&request, &tokens[index]);
            let content_type = answer.header("content-type").map(str::to_owned);
            answers.push((answer.status, content_type, names[index].shorten(&answer.text())));
        }
        assert_eq!(answers[0], answers[1], "{request}");
    }
}

#[test]
fn the_same_commands_say_the_same() {
    let offices = [Office::start(Engine::Sqlite), Office::start(Engine::Postgres)];
    offices.iter().for_each(sample::fill);
    let mut names = [Names::default(), Names::default()];
    for office in &offices {
        office.file(
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
        let mut told = Vec::new();
        for index in [0, 1] {
            let done = offices[index].groma(command);
            told.push((
                done.code,
                names[index].shorten(&done.stdout),
                names[index].shorten(&done.stderr),
            ));
        }
        assert_eq!(told[0], told[1], "{command:?}");
    }
}
