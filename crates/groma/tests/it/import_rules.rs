//! The rules for values and links, tested through imports. The web application applies the same ones.

use crate::{
    on_both_engines, sample_records, sample_records::ASSIGNMENT, sample_records::BUDGET,
    sample_records::FOLDER, sample_records::text,
};
use groma_testkit::{Engine, TestServer, server::NO_RATE_LIMIT, server::OWNER, server::SCOPES};
use serde_json::{Value, json};

fn start_with_samples(engine: Engine) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    (server, token)
}

/// Asserts that a row is rejected with this message.
#[track_caller]
fn assert_rejected(server: &TestServer, kind: &str, row: Value, message: &str) {
    let done = server.try_import(kind, &[row]);
    assert_eq!(done.rejected_rows(), [(1, message.to_owned())]);
    assert_eq!(done.code, Some(1));
}

on_both_engines! {
    people_are_identified_by_their_email_address
    assignees_can_be_a_list_in_every_format
    status_is_given_by_name_or_id_within_its_kind
    links_are_given_by_reference_or_id_within_the_workspace
    expense_must_match_its_folder_and_its_budgets_currency
    currency_defaults_to_the_folder_and_then_to_the_workspace
    invalid_value_is_rejected_with_its_field
    number_is_exact_in_every_notation
    json_number_keeps_all_its_digits
    generated_reference_skips_existing_references
    generated_reference_of_a_deleted_record_is_not_reused
    statuses_are_identified_by_kind_and_name
    file_can_have_only_one_default_status_per_kind
    changing_a_status_to_done_completes_its_assignments
}

fn people_are_identified_by_their_email_address(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let owner_of = |reference: &str| {
        server.get(&format!("/folders/{reference}"), &token).ok()["owner"].clone()
    };
    let known = owner_of(FOLDER);
    server.import("folders", &[
        json!({ "reference": "P1", "name": "x", "owner": "SURVEY.LEAD@EXAMPLE.TEST" }),
        json!({ "reference": "P2", "name": "x", "owner": { "email": "survey.lead@example.test" } }),
        json!({ "reference": "P3", "name": "x", "owner": known["id"] }),
        json!({ "reference": "P4", "name": "x", "owner": known }),
        json!({ "reference": "P5", "name": "x", "owner": "new_one@example.test" }),
        json!({ "reference": "P6", "name": "x", "owner": OWNER }),
    ]);
    for reference in ["P1", "P2", "P3", "P4"] {
        assert_eq!(owner_of(reference), known, "{reference}");
    }
    assert_eq!(owner_of("P5")["name"], "New one");
    assert_eq!(owner_of("P6")["email"], OWNER);
    let none = "019a8b7c-0000-7000-8000-000000000000";
    for wrong in [json!("nobody"), json!(none), json!(7), json!({ "name": "x" })] {
        assert_eq!(
            server
                .try_import("folders", &[json!({ "name": "x", "owner": wrong })])
                .rejected_rows()
                .len(),
            1,
            "{wrong}"
        );
    }
}

fn assignees_can_be_a_list_in_every_format(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    for form in [
        json!("a@example.test, b@example.test"),
        json!("a@example.test;b@example.test"),
        json!(["a@example.test", "b@example.test", "A@example.test"]),
        json!("[\"a@example.test\", \"b@example.test\"]"),
    ] {
        server.import("assignments", &[json!({ "reference": ASSIGNMENT, "assignees": form })]);
        let assignment = server.get(&format!("/assignments/{ASSIGNMENT}"), &token).ok();
        let emails: Vec<_> = assignment["assignees"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| text(&p["email"]).to_owned())
            .collect();
        assert_eq!(emails, ["a@example.test", "b@example.test"], "{form}");
    }
    server.import("assignments", &[json!({ "reference": ASSIGNMENT, "assignees": [] })]);
    let assignment = server.get(&format!("/assignments/{ASSIGNMENT}"), &token).ok();
    assert_eq!(assignment["assignees"], json!([]));
}

fn status_is_given_by_name_or_id_within_its_kind(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let statuses = server.get("/statuses", &token).content();
    let id_of = |kind: &str, name: &str| {
        statuses.iter().find(|s| s["appliesTo"] == kind && s["name"] == name).unwrap()["id"].clone()
    };
    let status = || server.get(&format!("/folders/{FOLDER}"), &token).ok()["statusId"].clone();
    let review = id_of("folder", "Review");
    for (column, named) in [
        ("status", json!("Review")),
        ("status", json!("REVIEW")),
        ("status", json!("Réview")),
        ("status", review.clone()),
        ("statusId", review.clone()),
    ] {
        server.import("folders", &[json!({ "reference": FOLDER, "status": "Drawing" })]);
        server.import("folders", &[json!({ "reference": FOLDER, column: named })]);
        assert_eq!(status(), review, "{column} {named}");
    }
    assert_rejected(
        &server,
        "folders",
        json!({ "reference": FOLDER, "status": "Submitted" }),
        "status `Submitted` is not a status for folders",
    );
    let other = id_of("expense", "Submitted");
    assert_rejected(
        &server,
        "folders",
        json!({ "reference": FOLDER, "status": other }),
        &format!("status `{}` is not a status for folders", text(&other)),
    );
}

fn links_are_given_by_reference_or_id_within_the_workspace(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    server.create_workspace("Other");
    server.import_into("Other", "folders", &[json!({ "reference": "THEIRS", "name": "x" })]);
    let theirs = server
        .get("/folders/THEIRS", &server.create_token_in("Other", &["READ_FOLDER"]))
        .ok()["id"]
        .clone();
    let folder = server.get(&format!("/folders/{FOLDER}"), &token).ok()["id"].clone();
    server.import(
        "assignments",
        &[
            json!({ "reference": "L1", "title": "x", "folder": FOLDER }),
            json!({ "reference": "L2", "title": "x", "folder": folder }),
            json!({ "reference": "L3", "title": "x", "folderId": folder }),
        ],
    );
    for reference in ["L1", "L2", "L3"] {
        let assignment = server.get(&format!("/assignments/{reference}"), &token).ok();
        assert_eq!(assignment["folderId"], folder);
    }
    assert_rejected(
        &server,
        "assignments",
        json!({ "title": "x", "folder": "THEIRS" }),
        "folder `THEIRS` does not exist",
    );
    assert_rejected(
        &server,
        "assignments",
        json!({ "title": "x", "folder": theirs }),
        &format!("folder `{}` does not exist", text(&theirs)),
    );
}

fn expense_must_match_its_folder_and_its_budgets_currency(engine: Engine) {
    let (server, _) = start_with_samples(engine);
    server.import("folders", &[json!({ "reference": "YEN", "name": "x", "currency": "JPY" })]);
    let expense =
        |folder: &str| json!({ "folder": folder, "unitAmount": "5", "incurredOn": "2026-01-01" });
    let mut row = expense("YEN");
    row["assignment"] = json!(ASSIGNMENT);
    assert_rejected(&server, "expenses", row, "assignment belongs to another folder");
    let mut row = expense("YEN");
    row["budget"] = json!(BUDGET);
    row["currency"] = json!("EUR");
    assert_rejected(&server, "expenses", row, "budget belongs to another folder");
    let mut row = expense(FOLDER);
    row["budget"] = json!(BUDGET);
    row["currency"] = json!("CHF");
    assert_rejected(&server, "expenses", row, "currency must be EUR, the currency of the budget");
    let mut row = expense(FOLDER);
    row["budget"] = json!("missing");
    assert_rejected(&server, "expenses", row, "budget `missing` does not exist");
    assert_rejected(
        &server,
        "budgets",
        json!({ "reference": BUDGET, "currency": "CHF" }),
        "currency cannot be changed while expenses use this budget",
    );
    assert_rejected(
        &server,
        "budgets",
        json!({ "reference": BUDGET, "folder": "YEN" }),
        "folder cannot be changed while expenses use this budget",
    );
    assert_rejected(
        &server,
        "assignments",
        json!({ "reference": ASSIGNMENT, "folder": "YEN" }),
        "folder cannot be changed while expenses use this assignment",
    );
}

fn currency_defaults_to_the_folder_and_then_to_the_workspace(engine: Engine) {
    let server = TestServer::start(engine);
    server
        .run(&["workspace", "create", "Swiss", "--owner", OWNER, "--currency", "CHF"])
        .expect_success();
    let token = server.create_token_in("Swiss", &SCOPES);
    server.import_into(
        "Swiss",
        "folders",
        &[
            json!({ "reference": "A", "name": "x" }),
            json!({ "reference": "B", "name": "x", "currency": "JPY" }),
        ],
    );
    server.import_into(
        "Swiss",
        "budgets",
        &[
            json!({ "reference": "A", "folder": "A", "name": "x", "amount": 5 }),
            json!({ "reference": "B", "folder": "B", "name": "x", "amount": 5 }),
        ],
    );
    assert_eq!(server.get("/folders", &token).column("currency"), ["CHF", "JPY"]);
    assert_eq!(server.get("/budgets", &token).column("currency"), ["CHF", "JPY"]);
    assert_eq!(server.get("/budgets", &token).column("amount"), ["5.00", "5"]);
    for wrong in ["eur", "XXX", "EURO", "€"] {
        let done = server.try_import_into(
            "Swiss",
            "folders",
            &[json!({ "name": "x", "currency": wrong })],
        );
        assert_eq!(done.rejected_rows().len(), 1, "{wrong}");
    }
}

fn invalid_value_is_rejected_with_its_field(engine: Engine) {
    let (server, _) = start_with_samples(engine);
    let good = |kind: &str| match kind {
        "folders" => json!({ "name": "x" }),
        "assignments" => json!({ "folder": FOLDER, "title": "x" }),
        "expenses" => json!({ "folder": FOLDER, "unitAmount": 1, "incurredOn": "2026-01-01" }),
        _ => json!({ "folder": FOLDER, "name": "x", "amount": 1, "startDate": "2026-01-01" }),
    };
    for (kind, wrongs) in [
        (
            "folders",
            &[
                ("startDate", json!("2026-1-2")),
                ("startDate", json!("02.01.2026")),
                ("name", json!("a\u{7}b")),
                ("name", json!("x".repeat(301))),
                ("name", json!(["x"])),
                ("tags", json!(["", "x"])),
                ("tags", json!({ "a": 1 })),
                ("customFields", json!({ "a": [1] })),
                ("customFields", json!({ "a": { "b": 1 } })),
                ("customFields", json!("text")),
                ("archivedAt", json!("yesterday")),
                ("owner", json!("no address")),
                ("reference", json!("x".repeat(65))),
                ("reference", json!("a\u{0}b")),
                ("currency", json!("eur")),
            ][..],
        ),
        (
            "assignments",
            &[
                ("priority", json!("highest")),
                ("estimatedHours", json!("-1")),
                ("estimatedHours", json!("a")),
                ("spentHours", json!("1000000")),
            ],
        ),
        (
            "expenses",
            &[
                ("unitAmount", json!("1,50")),
                ("unitAmount", json!("NaN")),
                ("unitAmount", json!("1e400")),
                ("quantity", json!("0.0000001")),
                ("billable", json!("maybe")),
                ("incurredOn", json!("2026-13-01")),
            ],
        ),
        (
            "budgets",
            &[
                ("amount", json!("-1")),
                ("amount", json!("0.001")),
                ("amount", json!("1000000000000000")),
                ("endDate", json!("2025-12-31")),
            ],
        ),
    ] {
        let row = |(field, wrong): &(&str, Value)| {
            let mut row = good(kind);
            row[*field] = wrong.clone();
            row
        };
        let rows: Vec<_> = wrongs.iter().map(row).collect();
        let rejected = server.try_import(kind, &rows).rejected_rows();
        let lines: Vec<_> = rejected.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, (1..=wrongs.len() as u64).collect::<Vec<_>>(), "{kind}");
        for ((field, wrong), (_, message)) in wrongs.iter().zip(rejected) {
            assert!(message.starts_with(&format!("{field} ")), "{wrong}: {message}");
        }
    }
}

fn number_is_exact_in_every_notation(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    server.import("folders", &[json!({ "reference": "F", "name": "x" })]);
    let lines = "{\"folder\":\"F\",\"unitAmount\":0.1,\"quantity\":3,\"incurredOn\":\"2026-01-01\"}\n\
                 {\"folder\":\"F\",\"unitAmount\":\"1e2\",\"incurredOn\":\"2026-01-01\"}\n\
                 {\"folder\":\"F\",\"unitAmount\":1250.5,\"incurredOn\":\"2026-01-01\"}\n\
                 {\"folder\":\"F\",\"unitAmount\":\"123456789012345.67\",\"incurredOn\":\"2026-01-01\"}\n";
    server.import_file("expenses", "rows.ndjson", lines, &[]).json();
    let amounts = server.get("/expenses", &token).column("amount");
    assert_eq!(amounts, ["0.30", "100.00", "1250.50", "123456789012345.67"]);
}

fn json_number_keeps_all_its_digits(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    server.import("folders", &[json!({ "reference": "F", "name": "x" })]);
    let line =
        "{\"folder\":\"F\",\"unitAmount\":999999999999999.99,\"incurredOn\":\"2026-01-01\"}\n";
    server.import_file("expenses", "rows.ndjson", line, &[]).json();
    assert_eq!(server.get("/expenses", &token).column("amount"), ["999999999999999.99"]);
}

fn generated_reference_skips_existing_references(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    server.import(
        "folders",
        &[
            json!({ "name": "a" }),
            json!({ "reference": "F-000002", "name": "b" }),
            json!({ "name": "c" }),
            json!({ "reference": "F-000005", "name": "d" }),
        ],
    );
    server.import("folders", &[json!({ "name": "e" }), json!({ "name": "f" })]);
    assert_eq!(
        server.get("/folders", &token).column("reference"),
        ["F-000001", "F-000002", "F-000003", "F-000005", "F-000004", "F-000006",]
    );
}

fn generated_reference_of_a_deleted_record_is_not_reused(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    server.import("folders", &sample_records::many_folders(2));
    server.run(&["delete", "folder", "F-000002"]).expect_success();
    server.import("folders", &sample_records::many_folders(1));
    assert_eq!(server.get("/folders", &token).column("reference"), ["F-000001", "F-000003"]);
}

fn statuses_are_identified_by_kind_and_name(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&[]);
    let report = server.import("statuses", &[
        json!({ "name": "quoted", "appliesTo": "folder", "color": "#ABCDEF" }),
        json!({ "name": "Quoted", "appliesTo": "budget", "group": "todo" }),
        json!({ "name": "On hold", "appliesTo": "folder", "group": "inProgress", "isDefault": true }),
    ]);
    assert_eq!((&report["created"], &report["updated"]), (&json!(2), &json!(1)));
    let statuses = server.get("/statuses", &token).content();
    let find = |kind: &str, name: &str| {
        statuses.iter().find(|s| s["appliesTo"] == kind && s["name"] == name)
    };
    let quoted = find("folder", "quoted").expect("the status with the new spelling");
    assert_eq!((&quoted["color"], &quoted["isDefault"]), (&json!("#abcdef"), &json!(false)));
    assert_eq!(find("folder", "On hold").unwrap()["isDefault"], true);
    assert!(find("budget", "Quoted").is_some());
    for (row, message) in [
        (json!({ "name": "x" }), "appliesTo is required"),
        (json!({ "appliesTo": "folder" }), "name is required"),
        (
            json!({ "name": "x", "appliesTo": "layer" }),
            "appliesTo must be one of folder, assignment, expense, budget",
        ),
        (
            json!({ "name": "x", "appliesTo": "folder", "group": "doing" }),
            "group must be one of todo, inProgress, done, cancelled",
        ),
        (
            json!({ "name": "x", "appliesTo": "folder", "color": "red" }),
            "color must be a hexadecimal colour, for example #2b6cb0",
        ),
        (
            json!({ "name": "x", "appliesTo": "folder", "version": 1 }),
            "version is not a known field",
        ),
        (
            json!({ "name": "On hold", "appliesTo": "folder", "isDefault": false }),
            "isDefault is required: no status of a folder would be the default",
        ),
    ] {
        assert_rejected(&server, "statuses", row, message);
    }
    let folder = json!({ "reference": "F", "name": "x" });
    server.import("folders", &[folder]);
    let token = server.create_token(&["READ_FOLDER"]);
    let status = server.get("/folders/F", &token).ok()["statusId"].clone();
    assert_eq!(
        status,
        find("folder", "On hold").unwrap()["id"],
        "new records start with the new default"
    );
}

fn file_can_have_only_one_default_status_per_kind(engine: Engine) {
    let server = TestServer::start(engine);
    let status =
        |name: &str, kind: &str| json!({ "name": name, "appliesTo": kind, "isDefault": true });
    let rows =
        [status("Drawing", "folder"), status("Review", "assignment"), status("Review", "folder")];
    let done = server.try_import("statuses", &rows);
    assert_eq!(
        done.rejected_rows(),
        [(3, "line 1 already sets isDefault for the kind folder".to_owned())]
    );
    server.import("statuses", &rows[..2]);
    let again = server.import("statuses", &rows[..2]);
    assert_eq!((&again["updated"], &again["unchanged"]), (&json!(0), &json!(2)));
}

fn changing_a_status_to_done_completes_its_assignments(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let completed =
        || server.get(&format!("/assignments/{ASSIGNMENT}"), &token).ok()["completedAt"].clone();
    server.import("assignments", &[json!({ "reference": ASSIGNMENT, "status": "Review" })]);
    assert_eq!(completed(), Value::Null);
    server.import(
        "statuses",
        &[json!({ "name": "Review", "appliesTo": "assignment", "group": "done" })],
    );
    assert!(sample_records::is_time(&completed()));
    server.import(
        "statuses",
        &[json!({ "name": "Review", "appliesTo": "assignment", "group": "inProgress" })],
    );
    assert_eq!(completed(), Value::Null);
}
