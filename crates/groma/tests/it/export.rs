//! `groma export`: what it writes, `groma import` reads back, here and in another workspace.

use crate::{
    database::Engine,
    office::{NO_LIMIT, Office, SCOPES, WORKSPACE},
    on_both_engines, sample,
};
use serde_json::{Value, json};

const KINDS: [&str; 4] = ["folders", "assignments", "budgets", "expenses"];

/// An office with the sample and a few records that are hard to write down.
fn filled(engine: Engine) -> Office {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    sample::fill(&office);
    office.import("folders", &[
        json!({
            "reference": "HARD,1", "name": "=SUM(A1)", "description": "line\nbreak \"quotes\", comma; semi",
            "tags": ["a,b", "c;d", "[e]", "\"f\""],
            "customFields": { "a.b": "x,y", "empty": "", "null": null, "number": -0.5, "big": 12345678901234567u64, "yes": true, "text": "{\"no\":\"object\"}" },
            "owner": "o'neil@example.test", "status": null, "archivedAt": "2026-01-02T03:04:05.678Z",
        }),
        json!({ "reference": "éà 🦀/%", "name": "x", "currency": "KWD", "externalId": "0012" }),
    ]);
    office.import(
        "assignments",
        &[json!({ "reference": "NO-STATUS", "folder": "HARD,1", "title": "x", "status": null })],
    );
    office
}

fn export(office: &Office, workspace: &str, kind: &str, format: &str) -> String {
    let file = format!("{kind}.{format}");
    office.groma(&["export", kind, &file, "--workspace", workspace]).succeeds();
    file
}

/// The records of a workspace without what is its own: ids, times, versions.
fn essence(office: &Office, token: &str, kind: &str) -> Vec<Value> {
    let statuses = office.get("/statuses", token).content();
    let mut references = std::collections::HashMap::new();
    for kind in KINDS {
        for record in office.get(&format!("/{kind}"), token).content() {
            references.insert(record["id"].clone().to_string(), record["reference"].clone());
        }
    }
    let mut records = office.get(&format!("/{kind}"), token).content();
    for record in &mut records {
        let fields = record.as_object_mut().unwrap();
        for own in ["id", "workspaceKey", "createdAt", "updatedAt", "version"] {
            fields.shift_remove(own);
        }
        if let Some(completed) = fields.get_mut("completedAt") {
            *completed = json!(!completed.is_null());
        }
        let status = statuses.iter().find(|status| status["id"] == fields["statusId"]);
        fields.insert("statusId".to_owned(), status.map_or(Value::Null, |s| s["name"].clone()));
        for link in ["folderId", "assignmentId", "budgetId"] {
            if let Some(id) = fields.get(link).filter(|id| !id.is_null()) {
                let reference = references[&id.to_string()].clone();
                fields.insert(link.to_owned(), reference);
            }
        }
        let people = fields
            .iter_mut()
            .filter(|(name, _)| ["owner", "submittedBy", "assignees"].contains(&name.as_str()));
        for (_, value) in people {
            let persons = match value {
                Value::Array(persons) => persons.iter_mut().collect(),
                Value::Object(_) => vec![value],
                _ => Vec::new(),
            };
            for person in persons {
                person.as_object_mut().unwrap().shift_remove("id");
            }
        }
    }
    records
}

on_both_engines! {
    fn an_export_imported_again_changes_nothing(engine: Engine) {
        let office = filled(engine);
        for format in ["csv", "json", "ndjson"] {
            for kind in KINDS.into_iter().chain(["statuses"]) {
                let file = export(&office, WORKSPACE, kind, format);
                let report = office.groma(&["import", kind, &file, "--json"]).json();
                assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(0)), "{file}");
                assert!(report["unchanged"].as_u64().unwrap() > 0, "{file}");
            }
        }
    }

    fn an_export_makes_the_same_records_in_another_workspace(engine: Engine) {
        let office = filled(engine);
        let ours = office.master_token();
        for format in ["csv", "json", "ndjson"] {
            office.create_workspace(format);
            let theirs = office.token_in(format, &SCOPES);
            for kind in ["statuses"].into_iter().chain(KINDS) {
                let file = export(&office, WORKSPACE, kind, format);
                let import = ["import", kind, &file, "--workspace", format, "--json"];
                let report = office.groma(&import).json();
                assert_eq!(report["rejected"], json!([]));
            }
            for kind in KINDS {
                assert_eq!(essence(&office, &theirs, kind), essence(&office, &ours, kind), "{kind} by {format}");
            }
        }
    }

    fn line_breaks_come_back_as_they_were(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let text = "windows\r\nunix\nold\rmac";
        office.import("folders", &[json!({ "reference": "F", "name": "x", "description": text, "customFields": { "a": text } })]);
        for format in ["csv", "json", "ndjson"] {
            let file = export(&office, WORKSPACE, "folders", format);
            let report = office.groma(&["import", "folders", &file, "--json"]).json();
            assert_eq!(report["unchanged"], 1, "{format}");
        }
        assert_eq!(office.get("/folders/F", &token).ok()["description"], text);
    }

    fn exported_statuses_make_the_same_statuses_in_another_workspace(engine: Engine) {
        let office = Office::start(engine);
        office.import("statuses", &[
            json!({ "name": "On hold", "appliesTo": "folder", "group": "inProgress", "color": "#123456", "isDefault": true }),
            json!({ "name": "Drawing", "appliesTo": "folder", "position": 40 }),
        ]);
        office.create_workspace("Other");
        let file = export(&office, WORKSPACE, "statuses", "csv");
        office.groma(&["import", "statuses", &file, "--workspace", "Other", "--json"]).json();
        let statuses = |token: &str| {
            let own = |mut status: Value| {
                for own in ["id", "createdAt", "updatedAt"] {
                    status.as_object_mut().unwrap().shift_remove(own);
                }
                status
            };
            office.get("/statuses", token).content().into_iter().map(own).collect::<Vec<_>>()
        };
        assert_eq!(statuses(&office.token_in("Other", &[])), statuses(&office.token(&[])));
    }

    fn the_exported_fields_are_those_of_the_api(engine: Engine) {
        let office = filled(engine);
        let token = office.master_token();
        for kind in KINDS {
            let file = export(&office, WORKSPACE, kind, "json");
            let text = std::fs::read_to_string(office.folder().join(file)).unwrap();
            let exported: Vec<Value> = serde_json::from_str(&text).unwrap();
            let shown = office.get(&format!("/{kind}"), &token).content();
            assert_eq!(exported.len(), shown.len());
            for (exported, shown) in exported.iter().zip(shown) {
                for (name, value) in shown.as_object().unwrap() {
                    assert_eq!(&exported[name], value, "{kind} {name}");
                }
            }
        }
    }

    fn a_dash_is_standard_output(engine: Engine) {
        let office = filled(engine);
        let lines = office.groma(&["export", "folders", "-"]).succeeds();
        assert_eq!(lines.lines().count(), 4);
        assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|row| row.is_object())));
        let csv = office.groma(&["export", "statuses", "-", "--format", "csv"]).succeeds();
        assert_eq!(csv.lines().next(), Some("id,name,appliesTo,group,color,position,isDefault,createdAt,updatedAt"));
        assert_eq!(csv.lines().count(), 19);
    }

    fn an_export_of_nothing_is_an_empty_file_of_its_format(engine: Engine) {
        let office = Office::start(engine);
        for format in ["csv", "json", "ndjson"] {
            let file = export(&office, WORKSPACE, "expenses", format);
            let report = office.groma(&["import", "expenses", &file, "--json"]).json();
            assert_eq!(report["rejected"], json!([]), "{format}");
        }
    }

    fn a_file_that_cannot_be_written_is_one_line(engine: Engine) {
        let office = Office::start(engine);
        let message = office.groma(&["export", "folders", "/nowhere/x.csv"]).fails();
        assert!(message.starts_with("/nowhere/x.csv: "), "{message}");
        office.groma(&["export", "folders", "x.txt"]).fails_with("x.txt: unknown format; set --format to csv, json or ndjson");
    }
}
