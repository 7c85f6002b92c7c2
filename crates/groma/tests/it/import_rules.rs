//! The rules about values and links, met through an import: one place has them for every way in.

use crate::{
    database::Engine,
    office::{NO_LIMIT, OWNER, Office},
    on_both_engines,
    sample::{self, ASSIGNMENT, BUDGET, FOLDER, text},
};
use serde_json::{Value, json};

fn filled(engine: Engine) -> (Office, String) {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    sample::fill(&office);
    let token = office.master_token();
    (office, token)
}

/// Checks that a row is rejected with this message.
#[track_caller]
fn refused(office: &Office, kind: &str, row: Value, message: &str) {
    let done = office.try_import(kind, &[row]);
    assert_eq!(done.rejected(), [(1, message.to_owned())]);
    assert_eq!(done.code, Some(1));
}

on_both_engines! {
    fn people_are_named_by_address_and_known_again(engine: Engine) {
        let (office, token) = filled(engine);
        let owner_of = |reference: &str| office.get(&format!("/folders/{reference}"), &token).ok()["owner"].clone();
        let known = owner_of(FOLDER);
        office.import("folders", &[
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
            assert_eq!(office.try_import("folders", &[json!({ "name": "x", "owner": wrong })]).rejected().len(), 1, "{wrong}");
        }
    }

    fn assignees_are_a_list_in_every_form(engine: Engine) {
        let (office, token) = filled(engine);
        for form in [
            json!("a@example.test, b@example.test"), json!("a@example.test;b@example.test"),
            json!(["a@example.test", "b@example.test", "A@example.test"]),
            json!("[\"a@example.test\", \"b@example.test\"]"),
        ] {
            office.import("assignments", &[json!({ "reference": ASSIGNMENT, "assignees": form })]);
            let assignment = office.get(&format!("/assignments/{ASSIGNMENT}"), &token).ok();
            let emails: Vec<_> = assignment["assignees"].as_array().unwrap().iter().map(|p| text(&p["email"]).to_owned()).collect();
            assert_eq!(emails, ["a@example.test", "b@example.test"], "{form}");
        }
        office.import("assignments", &[json!({ "reference": ASSIGNMENT, "assignees": [] })]);
        let assignment = office.get(&format!("/assignments/{ASSIGNMENT}"), &token).ok();
        assert_eq!(assignment["assignees"], json!([]));
    }

    fn a_status_is_named_by_name_or_id_within_its_kind(engine: Engine) {
        let (office, token) = filled(engine);
        let statuses = office.get("/statuses", &token).content();
        let id_of = |kind: &str, name: &str| {
            statuses.iter().find(|s| s["appliesTo"] == kind && s["name"] == name).unwrap()["id"].clone()
        };
        let status = || office.get(&format!("/folders/{FOLDER}"), &token).ok()["statusId"].clone();
        let review = id_of("folder", "Review");
        for (column, named) in [("status", json!("Review")), ("status", json!("REVIEW")), ("status", json!("Réview")), ("status", review.clone()), ("statusId", review.clone())] {
            office.import("folders", &[json!({ "reference": FOLDER, "status": "Drawing" })]);
            office.import("folders", &[json!({ "reference": FOLDER, column: named })]);
            assert_eq!(status(), review, "{column} {named}");
        }
        refused(&office, "folders", json!({ "reference": FOLDER, "status": "Submitted" }), "status names no status of a folder: `Submitted`");
        let other = id_of("expense", "Submitted");
        refused(&office, "folders", json!({ "reference": FOLDER, "status": other }), &format!("status names no status of a folder: `{}`", text(&other)));
    }

    fn links_are_given_by_reference_or_id_within_the_workspace(engine: Engine) {
        let (office, token) = filled(engine);
        office.create_workspace("Other");
        office.import_into("Other", "folders", &[json!({ "reference": "THEIRS", "name": "x" })]);
        let theirs = office.get("/folders/THEIRS", &office.token_in("Other", &["READ_FOLDER"])).ok()["id"].clone();
        let folder = office.get(&format!("/folders/{FOLDER}"), &token).ok()["id"].clone();
        office.import("assignments", &[
            json!({ "reference": "L1", "title": "x", "folder": FOLDER }),
            json!({ "reference": "L2", "title": "x", "folder": folder }),
            json!({ "reference": "L3", "title": "x", "folderId": folder }),
        ]);
        for reference in ["L1", "L2", "L3"] {
            let assignment = office.get(&format!("/assignments/{reference}"), &token).ok();
            assert_eq!(assignment["folderId"], folder);
        }
        refused(&office, "assignments", json!({ "title": "x", "folder": "THEIRS" }), "folder names no folder: `THEIRS`");
        refused(&office, "assignments", json!({ "title": "x", "folder": theirs }), &format!("folder names no folder: `{}`", text(&theirs)));
    }

    fn an_expense_stays_within_its_folder_and_its_budgets_currency(engine: Engine) {
        let (office, _) = filled(engine);
        office.import("folders", &[json!({ "reference": "YEN", "name": "x", "currency": "JPY" })]);
        let expense = |folder: &str| json!({ "folder": folder, "unitAmount": "5", "incurredOn": "2026-01-01" });
        let mut row = expense("YEN");
        row["assignment"] = json!(ASSIGNMENT);
        refused(&office, "expenses", row, "assignment belongs to another folder");
        let mut row = expense("YEN");
        row["budget"] = json!(BUDGET);
        row["currency"] = json!("EUR");
        refused(&office, "expenses", row, "budget belongs to another folder");
        let mut row = expense(FOLDER);
        row["budget"] = json!(BUDGET);
        row["currency"] = json!("CHF");
        refused(&office, "expenses", row, "currency must be EUR, that of the budget");
        let mut row = expense(FOLDER);
        row["budget"] = json!("missing");
        refused(&office, "expenses", row, "budget names no budget: `missing`");
        refused(&office, "budgets", json!({ "reference": BUDGET, "currency": "CHF" }), "currency cannot change while expenses name this budget");
        refused(&office, "budgets", json!({ "reference": BUDGET, "folder": "YEN" }), "folder cannot change while expenses name this budget");
        refused(&office, "assignments", json!({ "reference": ASSIGNMENT, "folder": "YEN" }), "folder cannot change while expenses name this assignment");
    }

    fn a_currency_comes_from_the_folder_and_its_from_the_workspace(engine: Engine) {
        let office = Office::start(engine);
        office.groma(&["workspace", "create", "Swiss", "--owner", OWNER, "--currency", "CHF"]).succeeds();
        let token = office.token_in("Swiss", &crate::office::SCOPES);
        office.import_into("Swiss", "folders", &[
            json!({ "reference": "A", "name": "x" }), json!({ "reference": "B", "name": "x", "currency": "JPY" }),
        ]);
        office.import_into("Swiss", "budgets", &[
            json!({ "reference": "A", "folder": "A", "name": "x", "amount": 5 }), json!({ "reference": "B", "folder": "B", "name": "x", "amount": 5 }),
        ]);
        assert_eq!(office.get("/folders", &token).column("currency"), ["CHF", "JPY"]);
        assert_eq!(office.get("/budgets", &token).column("currency"), ["CHF", "JPY"]);
        assert_eq!(office.get("/budgets", &token).column("amount"), ["5.00", "5"]);
        for wrong in ["eur", "XXX", "EURO", "€"] {
            let done = office.try_import_into("Swiss", "folders", &[json!({ "name": "x", "currency": wrong })]);
            assert_eq!(done.rejected().len(), 1, "{wrong}");
        }
    }

    fn values_out_of_form_are_rejected_by_their_field(engine: Engine) {
        let (office, _) = filled(engine);
        let good = |kind: &str| match kind {
            "folders" => json!({ "name": "x" }),
            "assignments" => json!({ "folder": FOLDER, "title": "x" }),
            "expenses" => json!({ "folder": FOLDER, "unitAmount": 1, "incurredOn": "2026-01-01" }),
            _ => json!({ "folder": FOLDER, "name": "x", "amount": 1, "startDate": "2026-01-01" }),
        };
        for (kind, wrongs) in [
            ("folders", &[
                ("startDate", json!("2026-1-2")), ("startDate", json!("02.01.2026")),
                ("name", json!("a\u{7}b")), ("name", json!("x".repeat(301))), ("name", json!(["x"])),
                ("tags", json!(["", "x"])), ("tags", json!({ "a": 1 })),
                ("customFields", json!({ "a": [1] })), ("customFields", json!({ "a": { "b": 1 } })),
                ("customFields", json!("text")), ("archivedAt", json!("yesterday")),
                ("owner", json!("no address")), ("reference", json!("x".repeat(65))),
                ("reference", json!("a\u{0}b")), ("currency", json!("eur")),
            ][..]),
            ("assignments", &[
                ("priority", json!("highest")), ("estimatedHours", json!("-1")),
                ("estimatedHours", json!("a")), ("spentHours", json!("1000000")),
            ]),
            ("expenses", &[
                ("unitAmount", json!("1,50")), ("unitAmount", json!("NaN")), ("unitAmount", json!("1e400")),
                ("quantity", json!("0.0000001")), ("billable", json!("maybe")), ("incurredOn", json!("2026-13-01")),
            ]),
            ("budgets", &[
                ("amount", json!("-1")), ("amount", json!("0.001")), ("amount", json!("1000000000000000")),
                ("endDate", json!("2025-12-31")),
            ]),
        ] {
            let row = |(field, wrong): &(&str, Value)| {
                let mut row = good(kind);
                row[*field] = wrong.clone();
                row
            };
            let rows: Vec<_> = wrongs.iter().map(row).collect();
            let rejected = office.try_import(kind, &rows).rejected();
            let lines: Vec<_> = rejected.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, (1..=wrongs.len() as u64).collect::<Vec<_>>(), "{kind}");
            for ((field, wrong), (_, message)) in wrongs.iter().zip(rejected) {
                assert!(message.starts_with(&format!("{field} ")), "{wrong}: {message}");
            }
        }
    }

    fn a_number_is_exact_however_it_is_written(engine: Engine) {
        let office = Office::start(engine);
        let token = office.master_token();
        office.import("folders", &[json!({ "reference": "F", "name": "x" })]);
        let lines = "{\"folder\":\"F\",\"unitAmount\":0.1,\"quantity\":3,\"incurredOn\":\"2026-01-01\"}\n\
                     {\"folder\":\"F\",\"unitAmount\":\"1e2\",\"incurredOn\":\"2026-01-01\"}\n\
                     {\"folder\":\"F\",\"unitAmount\":1250.5,\"incurredOn\":\"2026-01-01\"}\n\
                     {\"folder\":\"F\",\"unitAmount\":\"123456789012345.67\",\"incurredOn\":\"2026-01-01\"}\n";
        office.import_file("expenses", "rows.ndjson", lines, &[]).json();
        let amounts = office.get("/expenses", &token).column("amount");
        assert_eq!(amounts, ["0.30", "100.00", "1250.50", "123456789012345.67"]);
    }

    fn a_json_number_keeps_all_its_digits(engine: Engine) {
        let office = Office::start(engine);
        let token = office.master_token();
        office.import("folders", &[json!({ "reference": "F", "name": "x" })]);
        let line = "{\"folder\":\"F\",\"unitAmount\":999999999999999.99,\"incurredOn\":\"2026-01-01\"}\n";
        office.import_file("expenses", "rows.ndjson", line, &[]).json();
        assert_eq!(office.get("/expenses", &token).column("amount"), ["999999999999999.99"]);
    }

    fn made_references_pass_over_those_that_are_taken(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        office.import("folders", &[
            json!({ "name": "a" }), json!({ "reference": "F-000002", "name": "b" }), json!({ "name": "c" }),
            json!({ "reference": "F-000005", "name": "d" }),
        ]);
        office.import("folders", &[json!({ "name": "e" }), json!({ "name": "f" })]);
        assert_eq!(office.get("/folders", &token).column("reference"), [
            "F-000001", "F-000002", "F-000003", "F-000005", "F-000004", "F-000006",
        ]);
    }

    fn a_deleted_records_made_reference_is_not_given_again(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        office.import("folders", &sample::many_folders(2));
        office.groma(&["delete", "folder", "F-000002"]).succeeds();
        office.import("folders", &sample::many_folders(1));
        assert_eq!(office.get("/folders", &token).column("reference"), ["F-000001", "F-000003"]);
    }

    fn statuses_are_known_by_kind_and_name(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&[]);
        let report = office.import("statuses", &[
            json!({ "name": "quoted", "appliesTo": "folder", "color": "#ABCDEF" }),
            json!({ "name": "Quoted", "appliesTo": "budget", "group": "todo" }),
            json!({ "name": "On hold", "appliesTo": "folder", "group": "inProgress", "isDefault": true }),
        ]);
        assert_eq!((&report["created"], &report["updated"]), (&json!(2), &json!(1)));
        let statuses = office.get("/statuses", &token).content();
        let find = |kind: &str, name: &str| statuses.iter().find(|s| s["appliesTo"] == kind && s["name"] == name);
        let quoted = find("folder", "quoted").expect("renamed in its case");
        assert_eq!((&quoted["color"], &quoted["isDefault"]), (&json!("#abcdef"), &json!(false)));
        assert_eq!(find("folder", "On hold").unwrap()["isDefault"], true);
        assert!(find("budget", "Quoted").is_some());
        for (row, message) in [
            (json!({ "name": "x" }), "appliesTo is needed"),
            (json!({ "appliesTo": "folder" }), "name is needed"),
            (json!({ "name": "x", "appliesTo": "layer" }), "appliesTo must be one of folder, assignment, expense, budget"),
            (json!({ "name": "x", "appliesTo": "folder", "group": "doing" }), "group must be one of todo, inProgress, done, cancelled"),
            (json!({ "name": "x", "appliesTo": "folder", "color": "red" }), "color must be a colour such as #2b6cb0"),
            (json!({ "name": "x", "appliesTo": "folder", "version": 1 }), "version is not a field of this kind"),
            (json!({ "name": "On hold", "appliesTo": "folder", "isDefault": false }), "isDefault is needed: no status of a folder would be the default"),
        ] {
            refused(&office, "statuses", row, message);
        }
        let folder = json!({ "reference": "F", "name": "x" });
        office.import("folders", &[folder]);
        let token = office.token(&["READ_FOLDER"]);
        let status = office.get("/folders/F", &token).ok()["statusId"].clone();
        assert_eq!(status, find("folder", "On hold").unwrap()["id"], "new records start with the new default");
    }

    fn a_kind_has_one_default_status_in_a_file(engine: Engine) {
        let office = Office::start(engine);
        let status = |name: &str, kind: &str| json!({ "name": name, "appliesTo": kind, "isDefault": true });
        let rows = [status("Drawing", "folder"), status("Review", "assignment"), status("Review", "folder")];
        let done = office.try_import("statuses", &rows);
        assert_eq!(done.rejected(), [(3, "line 1 already sets isDefault for the kind folder".to_owned())]);
        office.import("statuses", &rows[..2]);
        let again = office.import("statuses", &rows[..2]);
        assert_eq!((&again["updated"], &again["unchanged"]), (&json!(0), &json!(2)));
    }

    fn a_status_that_becomes_done_completes_its_assignments(engine: Engine) {
        let (office, token) = filled(engine);
        let completed = || office.get(&format!("/assignments/{ASSIGNMENT}"), &token).ok()["completedAt"].clone();
        office.import("assignments", &[json!({ "reference": ASSIGNMENT, "status": "Review" })]);
        assert_eq!(completed(), Value::Null);
        office.import("statuses", &[json!({ "name": "Review", "appliesTo": "assignment", "group": "done" })]);
        assert!(sample::is_time(&completed()));
        office.import("statuses", &[json!({ "name": "Review", "appliesTo": "assignment", "group": "inProgress" })]);
        assert_eq!(completed(), Value::Null);
    }
}
