//! `groma export`: `groma import` reads its files back, in the same and in another workspace.

use crate::{on_both_engines, sample_records};
use groma_testkit::{Engine, TestServer, server::NO_RATE_LIMIT, server::SCOPES, server::WORKSPACE};
use serde_json::{Value, json};
use std::{fs::Permissions, os::unix::fs::PermissionsExt};

const KINDS: [&str; 4] = ["folders", "assignments", "budgets", "expenses"];

/// A server with the sample records and some with special characters.
fn start_with_samples(engine: Engine) -> TestServer {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    server.import("folders", &[
        json!({
            "reference": "HARD,1", "name": "=SUM(A1)", "description": "line\nbreak \"quotes\", comma; semi",
            "tags": ["a,b", "c;d", "[e]", "\"f\""],
            "customFields": { "a.b": "x,y", "empty": "", "null": null, "number": -0.5, "big": 12345678901234567u64, "yes": true, "text": "{\"no\":\"object\"}" },
            "owner": "o'neil@example.test", "status": null, "archivedAt": "2026-01-02T03:04:05.678Z",
        }),
        json!({ "reference": "éà 🦀/%", "name": "x", "currency": "KWD", "externalId": "0012" }),
    ]);
    server.import(
        "assignments",
        &[json!({ "reference": "NO-STATUS", "folder": "HARD,1", "title": "x", "status": null })],
    );
    server
}

fn export(server: &TestServer, workspace: &str, kind: &str, format: &str) -> String {
    let file = format!("{kind}.{format}");
    server.run(&["export", kind, &file, "--workspace", workspace]).expect_success();
    file
}

/// The records of a workspace without ids, times and versions.
fn comparable_records(server: &TestServer, token: &str, kind: &str) -> Vec<Value> {
    let statuses = server.get("/statuses", token).content();
    let mut references = std::collections::HashMap::new();
    for kind in KINDS {
        for record in server.get(&format!("/{kind}"), token).content() {
            references.insert(record["id"].clone().to_string(), record["reference"].clone());
        }
    }
    let mut records = server.get(&format!("/{kind}"), token).content();
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
    importing_an_export_changes_nothing
    export_creates_equal_records_in_another_workspace
    line_breaks_survive_export_and_import
    exported_statuses_create_equal_statuses_in_another_workspace
    exported_fields_are_the_fields_of_the_api
    dash_exports_to_standard_output
    empty_export_is_a_valid_file
    formulas_are_escaped_in_csv_and_read_back
    exported_file_is_private
    unwritable_file_is_a_one_line_error
    workspace_is_exported_with_its_relations
    workspace_file_has_no_secrets_and_appears_whole
    workspace_has_layers_named_like_tables_and_layers_with_many_properties
}

fn importing_an_export_changes_nothing(engine: Engine) {
    let server = start_with_samples(engine);
    for format in ["csv", "xlsx", "json", "ndjson"] {
        for kind in KINDS.into_iter().chain(["statuses"]) {
            let file = export(&server, WORKSPACE, kind, format);
            let report = server.run(&["import", kind, &file, "--json"]).json();
            assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(0)), "{file}");
            assert!(report["unchanged"].as_u64().unwrap() > 0, "{file}");
        }
    }
}

fn export_creates_equal_records_in_another_workspace(engine: Engine) {
    let server = start_with_samples(engine);
    let ours = server.create_full_token();
    for format in ["csv", "xlsx", "json", "ndjson"] {
        server.create_workspace(format);
        let theirs = server.create_token_in(format, &SCOPES);
        for kind in ["statuses"].into_iter().chain(KINDS) {
            let file = export(&server, WORKSPACE, kind, format);
            let import = ["import", kind, &file, "--workspace", format, "--json"];
            let report = server.run(&import).json();
            assert_eq!(report["rejected"], json!([]));
        }
        for kind in KINDS {
            assert_eq!(
                comparable_records(&server, &theirs, kind),
                comparable_records(&server, &ours, kind),
                "{kind} by {format}"
            );
        }
    }
}

fn line_breaks_survive_export_and_import(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let text = "windows\r\nunix\nold\rmac";
    server.import("folders", &[json!({ "reference": "F", "name": "x", "description": text, "customFields": { "a": text } })]);
    for format in ["csv", "xlsx", "json", "ndjson"] {
        let file = export(&server, WORKSPACE, "folders", format);
        let report = server.run(&["import", "folders", &file, "--json"]).json();
        assert_eq!(report["unchanged"], 1, "{format}");
    }
    assert_eq!(server.get("/folders/F", &token).ok()["description"], text);
}

fn exported_statuses_create_equal_statuses_in_another_workspace(engine: Engine) {
    let server = TestServer::start(engine);
    server.import("statuses", &[
        json!({ "name": "On hold", "appliesTo": "folder", "group": "inProgress", "color": "#123456", "isDefault": true }),
        json!({ "name": "Drawing", "appliesTo": "folder", "position": 40 }),
    ]);
    server.create_workspace("Other");
    let file = export(&server, WORKSPACE, "statuses", "csv");
    server.run(&["import", "statuses", &file, "--workspace", "Other", "--json"]).json();
    let statuses = |token: &str| {
        let own = |mut status: Value| {
            for own in ["id", "createdAt", "updatedAt"] {
                status.as_object_mut().unwrap().shift_remove(own);
            }
            status
        };
        server.get("/statuses", token).content().into_iter().map(own).collect::<Vec<_>>()
    };
    assert_eq!(
        statuses(&server.create_token_in("Other", &[])),
        statuses(&server.create_token(&[]))
    );
}

fn exported_fields_are_the_fields_of_the_api(engine: Engine) {
    let server = start_with_samples(engine);
    let token = server.create_full_token();
    for kind in KINDS {
        let file = export(&server, WORKSPACE, kind, "json");
        let text = std::fs::read_to_string(server.directory().join(file)).unwrap();
        let exported: Vec<Value> = serde_json::from_str(&text).unwrap();
        let records = server.get(&format!("/{kind}"), &token).content();
        assert_eq!(exported.len(), records.len());
        for (exported, records) in exported.iter().zip(records) {
            for (name, value) in records.as_object().unwrap() {
                assert_eq!(&exported[name], value, "{kind} {name}");
            }
        }
    }
}

fn dash_exports_to_standard_output(engine: Engine) {
    let server = start_with_samples(engine);
    let lines = server.run(&["export", "folders", "-"]).expect_success();
    assert_eq!(lines.lines().count(), 4);
    assert!(
        lines
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok_and(|row| row.is_object()))
    );
    let csv = server.run(&["export", "statuses", "-", "--format", "csv"]).expect_success();
    assert_eq!(
        csv.lines().next(),
        Some("id,name,appliesTo,group,color,position,isDefault,createdAt,updatedAt")
    );
    assert_eq!(csv.lines().count(), 19);
}

fn formulas_are_escaped_in_csv_and_read_back(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_full_token();
    let names = ["=cmd|' /C calc'!A0", "+33 1", "-1+1", "-20", "@SUM(A1)", "'=1", "'plain'"];
    let rows: Vec<_> = (0..)
        .zip(names)
        .map(|(at, name)| json!({ "reference": format!("F{at}"), "name": name, "description": name }))
        .collect();
    server.import("folders", &rows);
    server.import("expenses", &[
        json!({ "reference": "E", "folder": "F0", "unitAmount": "-20.00", "incurredOn": "2024-03-09" }),
    ]);
    let before = [server.get("/folders", &token).ok(), server.get("/expenses", &token).ok()];
    let folders = export(&server, WORKSPACE, "folders", "csv");
    let text = std::fs::read_to_string(server.directory().join(&folders)).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let column = reader.headers().unwrap().iter().position(|name| name == "name").unwrap();
    let cells: Vec<_> = reader.records().map(|row| row.unwrap()[column].to_owned()).collect();
    let expected =
        ["'=cmd|' /C calc'!A0", "'+33 1", "'-1+1", "-20", "'@SUM(A1)", "''=1", "'plain'"];
    assert_eq!(cells, expected);
    let expenses = export(&server, WORKSPACE, "expenses", "csv");
    let text = std::fs::read_to_string(server.directory().join(&expenses)).unwrap();
    assert!(text.contains(",-20.00,"), "{text}");
    for (kind, file) in [("folders", &folders), ("expenses", &expenses)] {
        let import = ["import", kind, file, "--workspace", WORKSPACE, "--json"];
        let report = server.run(&import).json();
        assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(0)), "{report}");
    }
    assert_eq!([server.get("/folders", &token).ok(), server.get("/expenses", &token).ok()], before);
}

fn exported_file_is_private(engine: Engine) {
    let server = start_with_samples(engine);
    // A file that was left behind with other rights does not matter.
    let part = server.write_file("folders.csv.part", "");
    std::fs::set_permissions(&part, Permissions::from_mode(0o644)).unwrap();
    let folders = export(&server, WORKSPACE, "folders", "csv");
    let layer = json!({ "type": "FeatureCollection", "features": [] }).to_string();
    server.write_file("lots.geojson", layer);
    let of = ["--layer", "lots", "--workspace", WORKSPACE];
    server.run(&[&["import", "layer", "lots.geojson"], &of[..]].concat()).expect_success();
    server.run(&[&["export", "layer", "exported.geojson"], &of[..]].concat()).expect_success();
    for file in [folders.as_str(), "exported.geojson"] {
        let mode = std::fs::metadata(server.directory().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

fn empty_export_is_a_valid_file(engine: Engine) {
    let server = TestServer::start(engine);
    for format in ["csv", "xlsx", "json", "ndjson"] {
        let file = export(&server, WORKSPACE, "expenses", format);
        let report = server.run(&["import", "expenses", &file, "--json"]).json();
        assert_eq!(report["rejected"], json!([]), "{format}");
    }
}

fn unwritable_file_is_a_one_line_error(engine: Engine) {
    let server = TestServer::start(engine);
    let message = server.run(&["export", "folders", "/nowhere/x.csv"]).expect_failure();
    assert!(message.starts_with("/nowhere/x.csv: "), "{message}");
    server
        .run(&["export", "folders", "x.txt"])
        .expect_error("x.txt: unknown format; set --format to csv, xlsx, json or ndjson");
}

/// The first column of all rows.
fn query(file: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut statement = file.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |row: &rusqlite::Row<'_>| {
        Ok(match row.get::<_, rusqlite::types::Value>(0)? {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Real(number) => number.to_string(),
            other => format!("{other:?}"),
        })
    };
    statement.query_map([], text).unwrap().map(Result::unwrap).collect()
}

fn export_workspace(server: &TestServer) -> rusqlite::Connection {
    let file = server.directory().join("office.gpkg");
    let path = file.to_str().unwrap();
    server.run(&["export", "workspace", path, "--workspace", WORKSPACE]).expect_success();
    rusqlite::Connection::open(file).unwrap()
}

fn workspace_is_exported_with_its_relations(engine: Engine) {
    let server = start_with_samples(engine);
    let point = |id: &str, x: f64| json!({ "type": "Feature", "id": id, "geometry": { "type": "Point", "coordinates": [x, 48.0] }, "properties": { "name": id, "folder_id": "mine" } });
    let features =
        json!({ "type": "FeatureCollection", "features": [point("a", 2.0), point("b", 3.0)] });
    for (name, more) in [
        ("marks.geojson", &["--folder", "CHENE-1", "--assignment", "STAKE-1"] as &[&str]),
        ("People.geojson", &[]),
    ] {
        server.import_file("layer", name, features.to_string(), more).expect_success();
    }
    server.create_workspace("Other");
    server.import_into("Other", "folders", &[json!({ "reference": "ELSEWHERE", "name": "x" })]);
    let token = server.create_full_token();
    let file = export_workspace(&server);
    assert_eq!(query(&file, "PRAGMA foreign_key_check"), Vec::<String>::new());
    assert_eq!(query(&file, "PRAGMA integrity_check"), ["ok"]);
    // All records, in the order of their creation, with all fields.
    for kind in KINDS {
        let records = server.get(&format!("/{kind}?limit=100"), &token).content();
        let references: Vec<_> =
            records.iter().map(|record| record["reference"].as_str().unwrap()).collect();
        assert_eq!(query(&file, &format!("SELECT reference FROM {kind} ORDER BY fid")), references);
        let columns = query(&file, &format!("SELECT name FROM pragma_table_info('{kind}')"));
        for field in records[0].as_object().unwrap().keys() {
            let snake: String = field
                .chars()
                .map(|c| if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.into() })
                .collect();
            let known = columns.contains(&snake) || columns.contains(&format!("{snake}_id"));
            assert!(known || ["workspaceKey", "assignees"].contains(&field.as_str()), "{field}");
        }
    }
    for (sql, expected) in [
        (
            "SELECT p.email FROM folders f JOIN people p ON p.id = f.owner_id WHERE f.reference = 'CHENE-1'",
            "survey.lead@example.test",
        ),
        (
            "SELECT s.name FROM folders f JOIN statuses s ON s.id = f.status_id WHERE f.reference = 'CHENE-1'",
            "Field work",
        ),
        ("SELECT start_date FROM folders WHERE reference = 'CHENE-1'", "2026-01-02"),
        ("SELECT tags FROM folders WHERE reference = 'CHENE-1'", "[\"cadastre\",\"north\"]"),
        ("SELECT custom_fields ->> 'area' FROM folders WHERE reference = 'CHENE-1'", "12.5"),
        (
            "SELECT f.reference FROM assignments a JOIN folders f ON f.id = a.folder_id WHERE a.reference = 'STAKE-1'",
            "CHENE-1",
        ),
        (
            "SELECT b.reference FROM expenses e JOIN budgets b ON b.id = e.budget_id WHERE e.reference = 'FUEL-1'",
            "FIELD-2026",
        ),
        ("SELECT typeof(amount) FROM expenses WHERE reference = 'FUEL-1'", "real"),
        (
            "SELECT f.reference FROM marks m JOIN folders f ON f.id = m.folder_id WHERE m.groma_id = 'a'",
            "CHENE-1",
        ),
        (
            "SELECT a.reference FROM marks m JOIN assignments a ON a.id = m.assignment_id WHERE m.groma_id = 'b'",
            "STAKE-1",
        ),
        ("SELECT folder_id_2 FROM marks WHERE groma_id = 'a'", "mine"),
        ("SELECT count(*) FROM people_layer WHERE folder_id IS NULL", "2"),
        ("SELECT identifier FROM gpkg_contents WHERE table_name = 'people_layer'", "People"),
        ("SELECT role FROM people WHERE email = 'owner@example.test'", "owner"),
    ] {
        assert_eq!(query(&file, sql), [expected], "{sql}");
    }
    let assignees = server.get("/assignments/STAKE-1", &token).ok()["assignees"].clone();
    let count = "SELECT count(*) FROM assignment_people p JOIN assignments a ON a.id = p.assignment_id WHERE a.reference = 'STAKE-1'";
    assert_eq!(query(&file, count), [assignees.as_array().unwrap().len().to_string()]);
    let targets = query(&file, "SELECT \"table\" FROM pragma_foreign_key_list('expenses')");
    for target in ["folders", "assignments", "budgets", "statuses", "people"] {
        assert!(targets.contains(&target.to_owned()), "{targets:?}");
    }
    let tables = query(&file, "SELECT table_name || ' ' || data_type FROM gpkg_contents");
    assert!(tables.contains(&"folders attributes".to_owned()), "{tables:?}");
    assert!(tables.contains(&"marks features".to_owned()), "{tables:?}");
    // A layer of it is read back.
    let file = std::fs::read(server.directory().join("office.gpkg")).unwrap();
    let more = ["--source-layer", "marks", "--layer", "again"];
    let report = server.import_file("layer", "again.gpkg", file, &more).json();
    assert_eq!(report["created"], 2);
}

fn workspace_file_has_no_secrets_and_appears_whole(engine: Engine) {
    let server = start_with_samples(engine);
    server.create_full_token();
    server.run(&["webhook", "create", "https://example.test/hook"]).expect_success();
    let file = export_workspace(&server);
    let schema =
        query(&file, "SELECT lower(sql) FROM sqlite_master WHERE sql IS NOT NULL").join("\n");
    for word in ["password", "token", "secret", "hash", "session", "endpoint", "audit"] {
        assert!(!schema.contains(word), "{word} in {schema}");
    }
    let path = server.directory().join("office.gpkg");
    let bytes = std::fs::read(&path).unwrap();
    for secret in ["argon2", "example.test/hook", "svc_", "whsec_"] {
        let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{secret}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!path.with_added_extension("part").exists());
    let log = server.run(&["security-log", "--json", "--limit", "1"]).json();
    assert_eq!(
        (&log["action"], &log["details"]),
        (&json!("export.created"), &json!({ "kind": "workspace" }))
    );
    // To standard output, and what cannot be.
    let output = server.program().command(&["export", "workspace", "-"]).output().unwrap();
    assert!(output.stdout.starts_with(b"SQLite format 3"), "{output:?}");
    server
        .run(&["export", "workspace", "office.zip"])
        .expect_error("a workspace is exported to a GeoPackage: name a file that ends with .gpkg");
    server.run(&["export", "workspace", "a.gpkg", "--layer", "b"]).expect_usage_error();
    server.run(&["export", "workspace", "a.gpkg", "--format", "csv"]).expect_usage_error();
    server.run(&["import", "workspace", "a.gpkg"]).expect_usage_error();
}

fn workspace_has_layers_named_like_tables_and_layers_with_many_properties(engine: Engine) {
    let server = TestServer::start(engine);
    let feature = |id: &str, properties: Value| json!({ "type": "Feature", "id": id, "geometry": { "type": "Point", "coordinates": [2.0, 48.0] }, "properties": properties });
    let collection =
        |features: Vec<Value>| json!({ "type": "FeatureCollection", "features": features });
    for name in ["people", "statuses", "folders", "assignment_people"] {
        let file = collection(vec![feature("a", json!({}))]).to_string();
        server.import_file("layer", "a.geojson", file, &["--layer", name]).expect_success();
    }
    let wide = |from: usize| {
        let names = (from..from + 1_000).map(|n| (format!("p{n}"), json!(n)));
        Value::Object(names.collect())
    };
    let features = vec![feature("a", wide(0)), feature("b", wide(1_000))];
    let file = collection(features).to_string();
    server.import_file("layer", "wide.geojson", file, &[]).expect_success();
    let file = export_workspace(&server);
    assert_eq!(query(&file, "PRAGMA integrity_check"), ["ok"]);
    for (sql, expected) in [
        ("SELECT table_name FROM gpkg_contents WHERE identifier = 'people_layer'", "people_layer"),
        ("SELECT table_name FROM gpkg_contents WHERE identifier = 'people'", "people"),
        ("SELECT data_type FROM gpkg_contents WHERE identifier = 'folders'", "attributes"),
        ("SELECT data_type FROM gpkg_contents WHERE identifier = 'folders-layer'", "features"),
        ("SELECT data_type FROM gpkg_contents WHERE identifier = 'assignment-people'", "features"),
        ("SELECT p1899 FROM wide WHERE groma_id = 'b'", "1899"),
        ("SELECT count(*) FROM wide WHERE more_properties IS NULL", "1"),
        ("SELECT count(*) FROM wide, json_each(more_properties) WHERE groma_id = 'b'", "100"),
        ("SELECT json_extract(more_properties, '$.p1999') FROM wide WHERE groma_id = 'b'", "1999"),
    ] {
        assert_eq!(query(&file, sql), [expected], "{sql}");
    }
}
