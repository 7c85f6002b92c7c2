//! `groma import`: formats, counts, rejected rows, and the rows that are stored.

use crate::{
    on_both_engines, sample_records, sample_records::FOLDER, sample_records::KINDS,
    sample_records::text, workbook::workbook,
};
use groma_testkit::{Engine, TestServer, server::NO_RATE_LIMIT, server::WORKSPACE};
use serde_json::{Value, json};
use std::process::Stdio;

fn counts(report: &Value) -> [u64; 3] {
    ["created", "updated", "unchanged"].map(|name| report[name].as_u64().unwrap())
}

/// Every record of the server as text.
fn all_records(server: &TestServer, token: &str) -> String {
    let paths = ["/folders", "/assignments", "/expenses", "/budgets", "/statuses"];
    paths.iter().map(|path| server.get(path, token).text()).collect()
}

fn start_with_samples(engine: Engine) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    (server, token)
}

on_both_engines! {
    importing_a_file_twice_changes_nothing
    every_kind_can_be_imported_in_every_format
    generated_reference_skips_references_in_the_file
    generated_reference_skips_references_much_later_in_the_file
    format_option_overrides_the_extension
    byte_order_mark_is_ignored
    csv_cells_can_contain_quotes_commas_and_line_breaks
    csv_can_use_semicolons_as_separators
    csv_can_use_tabs_as_separators
    csv_can_be_in_windows_1252
    yes_and_no_are_read_in_any_case
    dash_imports_from_standard_input
    missing_column_keeps_its_value_and_an_empty_one_becomes_null
    required_field_cannot_become_empty
    read_only_column_is_ignored
    unknown_column_is_reported_once_per_file
    one_invalid_row_rejects_the_whole_file
    every_rejected_row_is_reported_with_its_line
    rejected_row_is_reported_with_its_first_line
    invalid_json_line_is_reported_with_its_column
    blank_csv_lines_count_as_lines_but_not_as_rows
    repeated_reference_is_rejected_in_every_spelling
    keep_good_stores_the_valid_rows
    keep_good_distinguishes_rows_on_one_line
    no_part_of_an_import_becomes_visible
    dry_run_reports_and_stores_nothing
    unreadable_file_is_a_one_line_error
    rows_without_end_and_too_many_columns_are_rejected
    check_stops_after_many_rejected_rows
    sheet_of_a_workbook_is_chosen
    empty_file_has_no_rows
    summary_is_one_line
    records_are_created_in_the_order_of_their_rows
}

fn importing_a_file_twice_changes_nothing(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let with_reference = |rows: Vec<Value>| -> Vec<Value> {
        rows.into_iter().filter(|row| row.get("reference").is_some()).collect()
    };
    let before = all_records(&server, &token);
    for (kind, rows) in sample_records::records() {
        let report = server.import(kind, &with_reference(rows));
        assert_eq!(
            report,
            json!({ "created": 0, "updated": 0, "unchanged": 1, "rejected": [] }),
            "{kind}"
        );
    }
    assert_eq!(all_records(&server, &token), before, "no version has changed");
}

fn every_kind_can_be_imported_in_every_format(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_full_token();
    let files = [
        ("folders", "reference,name\n@-f,A\n", json!({ "reference": "@-f", "name": "A" })),
        (
            "assignments",
            "reference,folder,title\n@-a,@-f,T\n",
            json!({ "reference": "@-a", "folder": "@-f", "title": "T" }),
        ),
        (
            "budgets",
            "reference,folder,name,amount\n@-b,@-f,B,10\n",
            json!({ "reference": "@-b", "folder": "@-f", "name": "B", "amount": "10" }),
        ),
        (
            "expenses",
            "reference,folder,unitAmount,incurredOn\n@-e,@-f,3.5,2026-01-01\n",
            json!({ "reference": "@-e", "folder": "@-f", "unitAmount": 3.5, "incurredOn": "2026-01-01" }),
        ),
        (
            "statuses",
            "name,appliesTo,group\n@-s,folder,done\n",
            json!({ "name": "@-s", "appliesTo": "folder", "group": "done" }),
        ),
    ];
    for (kind, csv, row) in files {
        let forms = [
            ("csv", csv.to_owned()),
            ("json", format!("[\n  {row}\n]\n")),
            ("ndjson", format!("{row}\n")),
            ("jsonl", format!("\n{row}\r\n\n")),
            ("CsV", csv.replace('@', "crlf-@").replace('\n', "\r\n")),
        ];
        for (format, contents) in forms {
            let contents = contents.replace('@', format);
            let name = format!("rows.{format}");
            let report = server.import_file(kind, &name, &contents, &[]).json();
            assert_eq!(counts(&report), [1, 0, 0], "{kind} {format}");
            let report = server.import_file(kind, &name, &contents, &[]).json();
            assert_eq!(counts(&report), [0, 0, 1], "{kind} {format} again");
        }
    }
    for (path, _, _) in KINDS {
        assert_eq!(server.get(path, &token).ok()["total"], 5, "{path}");
    }
    assert_eq!(server.get("/statuses", &token).ok()["total"], 18 + 5);
}

fn generated_reference_skips_references_in_the_file(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    let both = |path: &str, name: &str| {
        let content = server.get(path, &token).content();
        content
            .iter()
            .map(|r| format!("{} {}", text(&r["reference"]), text(&r[name])))
            .collect::<Vec<_>>()
    };
    let csv = "reference,name\n,made\nF-000001,named\n";
    assert_eq!(counts(&server.import_file("folders", "f.csv", csv, &[]).json()), [2, 0, 0]);
    assert_eq!(both("/folders", "name"), ["F-000002 made", "F-000001 named"]);
    let csv = "reference,folder,title\n,F-000001,made\nA-000001,F-000001,named\n";
    assert_eq!(counts(&server.import_file("assignments", "a.csv", csv, &[]).json()), [2, 0, 0]);
    assert_eq!(both("/assignments", "title"), ["A-000002 made", "A-000001 named"]);
    let json = r#"[{"folder":"F-000001","unitAmount":1,"incurredOn":"2026-01-01","vendor":"made"},
        {"reference":"E-000001","folder":"F-000001","unitAmount":1,"incurredOn":"2026-01-01","vendor":"named"}]"#;
    assert_eq!(counts(&server.import_file("expenses", "e.json", json, &[]).json()), [2, 0, 0]);
    assert_eq!(both("/expenses", "vendor"), ["E-000002 made", "E-000001 named"]);
}

fn generated_reference_skips_references_much_later_in_the_file(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let unnamed = "\"\",made\n".repeat(1200);
    let csv = format!("reference,name\n{unnamed}F-000001,named\nF-000700,named\n");
    assert_eq!(counts(&server.import_file("folders", "rows.csv", csv, &[]).json()), [1202, 0, 0]);
    assert_eq!(server.get("/folders?term=made", &token).ok()["total"], 1200);
    assert_eq!(
        server.get("/folders?term=named", &token).column("reference"),
        ["F-000001", "F-000700"]
    );
}

fn format_option_overrides_the_extension(engine: Engine) {
    let server = TestServer::start(engine);
    let output = server.import_file("folders", "rows.txt", "name\nx\n", &[]);
    output.expect_error("rows.txt: unknown format; set --format to csv, xlsx, json or ndjson");
    let report =
        server.import_file("folders", "rows.txt", "name\nx\n", &["--format", "csv"]).json();
    assert_eq!(counts(&report), [1, 0, 0]);
    let report = server
        .import_file("folders", "rows.csv", "{\"name\":\"y\"}\n", &["--format", "ndjson"])
        .json();
    assert_eq!(counts(&report), [1, 0, 0]);
}

fn byte_order_mark_is_ignored(engine: Engine) {
    let server = TestServer::start(engine);
    for (name, contents) in [
        ("a.csv", "\u{feff}reference,name\nbom-1,x\n"),
        ("b.json", "\u{feff}[{\"reference\":\"bom-2\",\"name\":\"x\"}]"),
        ("c.ndjson", "\u{feff}{\"reference\":\"bom-3\",\"name\":\"x\"}\n"),
    ] {
        assert_eq!(
            counts(&server.import_file("folders", name, contents, &[]).json()),
            [1, 0, 0],
            "{name}"
        );
    }
}

fn csv_cells_can_contain_quotes_commas_and_line_breaks(engine: Engine) {
    let server = TestServer::start(engine);
    let csv = "name,description,tags,customFields.parcel,customFields\n\
               \"Say \"\"hi\"\", twice\",\"one\ntwo, three\",\"a; b,c\",AB 12,\"{\"\"n\"\":1}\"\n";
    server.import_file("folders", "rows.csv", csv, &[]).json();
    let folder = &server.get("/folders", &server.create_token(&["READ_FOLDER"])).content()[0];
    assert_eq!(folder["name"], "Say \"hi\", twice");
    assert_eq!(folder["description"], "one\ntwo, three");
    assert_eq!(folder["tags"], json!(["a", "b", "c"]));
    assert_eq!(folder["customFields"], json!({ "n": 1, "parcel": "AB 12" }));
}

fn csv_can_use_semicolons_as_separators(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let csv = "\u{feff}reference;name;\"customFields.a,b\";tags\r\nS1;\"Nord; Süd\";x,y;a,b\r\n";
    assert_eq!(counts(&server.import_file("folders", "rows.csv", csv, &[]).json()), [1, 0, 0]);
    let folder = server.get("/folders/S1", &token).ok();
    assert_eq!(folder["name"], "Nord; Süd");
    assert_eq!(folder["customFields"], json!({ "a,b": "x,y" }));
    assert_eq!(folder["tags"], json!(["a", "b"]));
}

fn csv_can_use_tabs_as_separators(engine: Engine) {
    let server = TestServer::start(engine);
    let csv = "reference\tname\tclientName\nT1\tNord, Süd\tA;B\n";
    assert_eq!(counts(&server.import_file("folders", "rows.tsv", csv, &[]).json()), [1, 0, 0]);
    let folder = server.get("/folders/T1", &server.create_token(&["READ_FOLDER"])).ok();
    assert_eq!([&folder["name"], &folder["clientName"]], ["Nord, Süd", "A;B"]);
}

fn csv_can_be_in_windows_1252(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let csv = b"reference;name;customFields.propri\xE9taire\nW1;Ch\xEAne;5 \x80\nW2;Orme;\n";
    assert_eq!(counts(&server.import_file("folders", "rows.csv", csv, &[]).json()), [2, 0, 0]);
    let folder = server.get("/folders/W1", &token).ok();
    assert_eq!(folder["name"], "Chêne");
    assert_eq!(folder["customFields"], json!({ "propriétaire": "5 €" }));
    // The encoding can also show in the header alone.
    let csv = b"reference;name;customFields.propri\xE9taire\nW2;Orme;x\n";
    assert_eq!(counts(&server.import_file("folders", "rows.csv", csv, &[]).json()), [0, 1, 0]);
    let mixed = b"reference;name\nW3;Ch\xC3\xAAne\nW4;Ch\xEAne\n";
    let reason = "is not UTF-8, as other rows are: the file mixes encodings";
    let rejected = server.import_file("folders", "rows.csv", mixed, &[]).rejected_rows();
    assert_eq!(rejected, [(3, reason.to_owned())]);
    let marked = b"\xEF\xBB\xBFreference;name\nW3;Ch\xEAne\n";
    let rejected = server.import_file("folders", "rows.csv", marked, &[]).rejected_rows();
    assert_eq!(rejected, [(2, reason.to_owned())]);
    let utf_16 = "\u{feff}reference;name\nW3;Chêne\n".encode_utf16();
    let utf_16: Vec<u8> = utf_16.flat_map(u16::to_le_bytes).collect();
    server
        .import_file("folders", "rows.csv", utf_16, &[])
        .expect_error("rows.csv: the file is UTF-16; save it as CSV UTF-8");
    assert_eq!(server.get("/folders", &token).ok()["total"], 2);
}

fn yes_and_no_are_read_in_any_case(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let billable = || {
        server.get(&format!("/expenses/{}", sample_records::EXPENSE), &token).ok()["billable"]
            .clone()
    };
    for (word, meaning) in
        [("TRUE", true), ("False", false), ("Yes", true), ("NO", false), ("1", true), ("0", false)]
    {
        let csv = format!("reference,billable\n{},{word}\n", sample_records::EXPENSE);
        server.import_file("expenses", "rows.csv", csv, &[]).json();
        assert_eq!(billable(), meaning, "{word}");
    }
}

fn dash_imports_from_standard_input(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let import = ["import", "folders", "-", "--workspace", WORKSPACE, "--json"];
    let output = server.run_with_input("name\nx\n", &import);
    output.expect_error("-: unknown format; set --format to csv, xlsx, json or ndjson");
    for (format, input) in
        [("csv", "name\nx\n"), ("json", "[{\"name\":\"x\"}]"), ("ndjson", "{\"name\":\"x\"}\n")]
    {
        let output = server.run_with_input(input, &[&import[..], &["--format", format]].concat());
        assert_eq!(counts(&output.json()), [1, 0, 0], "{format}");
    }
    assert_eq!(server.get("/folders", &token).ok()["total"], 3);
    let output =
        server.run_with_input("name\n\"\"\n", &[&import[..], &["--format", "csv"]].concat());
    assert_eq!(output.rejected_rows(), [(2, "name must not be empty".to_owned())]);
}

fn missing_column_keeps_its_value_and_an_empty_one_becomes_null(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let path = format!("/folders/{FOLDER}");
    let before = server.get(&path, &token).ok();
    let csv =
        format!("reference,description,owner,tags,dueDate,externalId,status\n{FOLDER},,,,,,\n");
    let report = server.import_file("folders", "rows.csv", csv, &[]).json();
    assert_eq!(counts(&report), [0, 1, 0]);
    let after = server.get(&path, &token).ok();
    for name in ["description", "owner", "dueDate", "externalId", "statusId"] {
        assert!(!before[name].is_null() && after[name].is_null(), "{name}: {}", after[name]);
    }
    assert_eq!(after["tags"], json!([]));
    for name in ["id", "name", "clientName", "startDate", "currency", "customFields", "createdAt"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let nulls =
        json!({ "reference": FOLDER, "clientName": null, "customFields": null, "currency": null });
    server.import("folders", &[nulls]);
    let after = server.get(&path, &token).ok();
    assert_eq!((&after["clientName"], &after["customFields"]), (&Value::Null, &json!({})));
    assert_eq!(after["currency"], "EUR", "a field that cannot be null gets its default");
}

fn required_field_cannot_become_empty(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let before = all_records(&server, &token);
    for (kind, row, field) in [
        ("folders", json!({ "reference": FOLDER, "name": null }), "name"),
        ("folders", json!({ "reference": FOLDER, "name": " " }), "name"),
        ("assignments", json!({ "reference": sample_records::ASSIGNMENT, "title": "" }), "title"),
        (
            "assignments",
            json!({ "reference": sample_records::ASSIGNMENT, "folder": null }),
            "folder",
        ),
        (
            "expenses",
            json!({ "reference": sample_records::EXPENSE, "unitAmount": null }),
            "unitAmount",
        ),
        (
            "expenses",
            json!({ "reference": sample_records::EXPENSE, "incurredOn": "" }),
            "incurredOn",
        ),
        ("budgets", json!({ "reference": sample_records::BUDGET, "amount": null }), "amount"),
    ] {
        let rejected = server.try_import(kind, &[row]).rejected_rows();
        assert_eq!(rejected, [(1, format!("{field} must not be empty"))], "{kind}");
    }
    for (kind, needed) in [
        ("folders", "name is required"),
        ("assignments", "title is required; folder is required"),
        ("expenses", "folder is required; unitAmount is required; incurredOn is required"),
        ("budgets", "name is required; folder is required; amount is required"),
    ] {
        let rejected = server.try_import(kind, &[json!({ "reference": "new" })]).rejected_rows();
        assert_eq!(rejected, [(1, needed.to_owned())], "{kind}");
    }
    assert_eq!(all_records(&server, &token), before);
}

fn read_only_column_is_ignored(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let before = all_records(&server, &token);
    let id = "019a8b7c-0000-7000-8000-000000000000";
    let mut row = json!({
        "id": id, "workspaceKey": id, "createdAt": "2000-01-01T00:00:00Z",
        "updatedAt": "nonsense", "version": 99,
    });
    for (kind, reference, more) in [
        ("folders", FOLDER, json!({ "bbox": [1, 2, 3, 4] })),
        ("assignments", sample_records::ASSIGNMENT, json!({ "completedAt": null })),
        ("expenses", sample_records::EXPENSE, json!({ "amount": "9999" })),
        (
            "budgets",
            sample_records::BUDGET,
            json!({ "spent": "1", "remaining": "2", "percentUsed": "3" }),
        ),
    ] {
        row["reference"] = json!(reference);
        let mut whole = row.clone();
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(counts(&server.import(kind, &[whole])), [0, 0, 1], "{kind}");
    }
    let status = json!({ "id": id, "name": "Quoted", "appliesTo": "folder", "createdAt": "x" });
    assert_eq!(counts(&server.import("statuses", &[status])), [0, 0, 1]);
    assert_eq!(all_records(&server, &token), before);
}

fn unknown_column_is_reported_once_per_file(engine: Engine) {
    let server = TestServer::start(engine);
    let output =
        server.import_file("folders", "rows.csv", "name,colour\nx,red\ny,\n", &["--keep-good"]);
    output.expect_error("rows.csv: unknown column `colour`; nothing was imported");
    let output = server.import_file("statuses", "rows.csv", "name,color,a,customFields.x\n", &[]);
    output.expect_error("rows.csv: unknown columns `a`, `customFields.x`; nothing was imported");
    assert_eq!(server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok()["total"], 0);
    // In JSON each object has its own fields.
    let output = server.import_file("folders", "rows.json", r#"[{"name":"x"},{"colour":1}]"#, &[]);
    assert_eq!(output.rejected_rows(), [(1, "colour is not a known field".to_owned())]);
    let output = server.import_file("folders", "rows.csv", "name,name\nx,y\n", &[]);
    output.expect_error("rows.csv: column `name` appears twice");
}

fn one_invalid_row_rejects_the_whole_file(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let mut rows: Vec<_> = (0..1200).map(|n| json!({ "name": format!("Row {n}") })).collect();
    rows[1100] = json!({ "name": "bad", "startDate": "yesterday" });
    let output = server.try_import("folders", &rows);
    assert_eq!(output.code, Some(1));
    assert_eq!(
        output.rejected_rows(),
        [(1101, "startDate must be a date, for example 2026-11-15".to_owned())]
    );
    assert!(
        output.stderr.ends_with("groma: 1 row was rejected; nothing was imported\n"),
        "{}",
        output.stderr
    );
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(counts(&report), [0, 0, 0]);
    assert_eq!(server.get("/folders", &token).ok()["total"], 0);
}

fn every_rejected_row_is_reported_with_its_line(engine: Engine) {
    let server = TestServer::start(engine);
    let csv = "reference,name,description,startDate,dueDate,status\n\
               ok,fine,,,,\n\
               r1,x,\"two\nlines\",,,Nonsense\n\
               r2,,,,,\n\
               r3,x,,2026-02-30,,\n\
               r4,x,,2026-02-02,2026-02-01,\n\
               ok,again,,,,\n\
               short,row\n\
               019a8b7c-0000-7000-8000-000000000000,x,,,,\n";
    let output = server.import_file("folders", "rows.csv", csv, &[]);
    assert_eq!(
        output.rejected_rows(),
        [
            (3, "status `Nonsense` is not a status for folders".to_owned()),
            (5, "name must not be empty".to_owned()),
            (6, "startDate must be a date, for example 2026-11-15".to_owned()),
            (7, "dueDate must not be before startDate".to_owned()),
            (8, "`ok` is already on line 2".to_owned()),
            (9, "has 2 cells, but the header has 6".to_owned()),
            (10, "reference must not look like a UUID".to_owned()),
        ]
    );
    assert!(output.stderr.ends_with("groma: 7 rows were rejected; nothing was imported\n"));
    let ndjson =
        "{\"name\":\"fine\"}\n\nnot json\n[1]\n{\"name\":1}\n{\"name\":\"x\",\"tags\":7}\n";
    let lines: Vec<_> = server.import_file("folders", "rows.ndjson", ndjson, &[]).rejected_rows();
    let lines: Vec<_> = lines.into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [3, 4, 6]);
}

fn rejected_row_is_reported_with_its_first_line(engine: Engine) {
    let server = TestServer::start(engine);
    let lines = |name: &str, contents: &str| -> Vec<u64> {
        let rejected = server.import_file("folders", name, contents, &[]).rejected_rows();
        rejected.into_iter().map(|(line, _)| line).collect()
    };
    let csv = "name,description,status\nfine,,\n\nbad,\"one\n\ntwo\",Nonsense\n,,\nbad,\"never closed\n,,\n\n";
    assert_eq!(lines("lf.csv", csv), [4, 7, 8]);
    assert_eq!(lines("crlf.csv", &csv.replace('\n', "\r\n")), [4, 7, 8]);
    assert_eq!(lines("cr.csv", &csv.replace('\n', "\r")), [4, 7, 8]);
    let json =
        "[\n{\"name\":\"fine\"},\n\n {\n \"name\":\n\"\"\n},{\"name\":\"\"}, 7\n, true ,\n[]]";
    assert_eq!(lines("rows.json", json), [4, 7, 7, 8, 9]);
}

fn invalid_json_line_is_reported_with_its_column(engine: Engine) {
    let server = TestServer::start(engine);
    let output = server.import_file(
        "folders",
        "rows.ndjson",
        "{\"name\":\"x\"}\n  {\"name\": oops}\n{\n",
        &[],
    );
    assert_eq!(
        output.rejected_rows(),
        [
            (2, "is not a JSON object: expected value at column 12".to_owned()),
            (3, "is not a JSON object: EOF while parsing an object at column 1".to_owned()),
        ]
    );
}

fn blank_csv_lines_count_as_lines_but_not_as_rows(engine: Engine) {
    let server = TestServer::start(engine);
    for (name, contents) in
        [("a.csv", "name\n\nfine\n\n\n\"\"\n"), ("b.csv", "name\r\n\r\nfine\r\n\r\n\r\n\"\"\r\n")]
    {
        let output = server.import_file("folders", name, contents, &[]);
        assert_eq!(output.rejected_rows(), [(6, "name must not be empty".to_owned())], "{name}");
    }
}

fn repeated_reference_is_rejected_in_every_spelling(engine: Engine) {
    let server = TestServer::start(engine);
    let twice = |first: Value, second: Value| {
        let rows = [
            json!({ "reference": first, "name": "x" }),
            json!({ "reference": second, "name": "y" }),
        ];
        let lines: Vec<_> = server.try_import("folders", &rows).rejected_rows();
        lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>()
    };
    assert_eq!(twice(json!("A"), json!(" A ")), [2]);
    assert_eq!(twice(json!(5), json!("5")), [2], "a number equals its text");
    assert_eq!(
        twice(json!("\u{c9}"), json!("E\u{301}")),
        [2],
        "references are compared in composed form"
    );
}

fn keep_good_stores_the_valid_rows(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let csv = "reference,name\na,A\nb,\nc,C\n";
    let output = server.import_file("folders", "rows.csv", csv, &["--keep-good"]);
    assert_eq!(output.code, Some(0));
    assert_eq!(output.rejected_rows(), [(3, "name must not be empty".to_owned())]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(counts(&report), [2, 0, 0]);
    assert_eq!(server.get("/folders", &token).column("reference"), ["a", "c"]);
}

fn keep_good_distinguishes_rows_on_one_line(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let json = r#"[{"reference":"a","name":"A"},{"reference":"b","name":""},{"reference":"c","name":"C"}]"#;
    let output = server.import_file("folders", "rows.json", json, &["--keep-good"]);
    assert_eq!(output.code, Some(0));
    assert_eq!(output.rejected_rows(), [(1, "name must not be empty".to_owned())]);
    assert_eq!(server.get("/folders", &token).column("reference"), ["a", "c"]);
}

fn no_part_of_an_import_becomes_visible(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&["READ_FOLDER"]);
    server.write_file("rows.csv", format!("name\n{}", "Without reference\n".repeat(5_000)));
    let import = ["import", "folders", "rows.csv", "--workspace", WORKSPACE];
    let mut command = server.program().command(&import);
    let mut import = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let total = || server.get("/folders", &token).ok()["total"].as_u64().unwrap();
    while total() == 0 && import.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    // Killed as soon as something is visible: that is all of it.
    let _ = import.kill();
    import.wait().unwrap();
    assert_eq!(total(), 5_000);
}

fn dry_run_reports_and_stores_nothing(engine: Engine) {
    let (server, token) = start_with_samples(engine);
    let before = all_records(&server, &token);
    let csv = format!("reference,name\n,A\n,B\n{FOLDER},Renamed\nF-000001,Bare\n");
    let report = server.import_file("folders", "rows.csv", &csv, &["--dry-run"]).json();
    assert_eq!(counts(&report), [2, 1, 1]);
    let output =
        server.import_file("folders", "rows.csv", "name\nA\n\"\"\n", &["--dry-run", "--keep-good"]);
    assert_eq!((output.code, output.rejected_rows().len()), (Some(1), 1));
    let output =
        server.run(&["import", "folders", "rows.csv", "--dry-run", "--workspace", WORKSPACE]);
    assert_eq!(
        output.stdout,
        "2 rows checked, 1 rejected. The import would create 1 and update 0; 0 are unchanged.\n"
    );
    assert_eq!(all_records(&server, &token), before);
}

fn unreadable_file_is_a_one_line_error(engine: Engine) {
    let server = TestServer::start(engine);
    let missing = server
        .run(&["import", "folders", "missing.csv", "--workspace", WORKSPACE])
        .expect_failure();
    assert!(missing.starts_with("missing.csv: "), "{missing}");
    for (name, contents) in [
        ("a.json", "{\"name\":\"x\"}"),
        ("b.json", "[{\"name\":\"x\"}"),
        ("c.json", ""),
        ("d.json", "[] []"),
        ("e.json", "[{\"name\":\"x\"},]"),
    ] {
        let message = server.import_file("folders", name, contents, &[]).expect_failure();
        assert!(message.starts_with(&format!("{name}: ")), "{message}");
    }
    assert_eq!(server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok()["total"], 0);
}

fn rows_without_end_and_too_many_columns_are_rejected(engine: Engine) {
    let server = TestServer::start(engine);
    let long = "x".repeat(3 << 20);
    let columns = ",".repeat(10_000_000);
    for (name, contents, message) in [
        ("a.csv", format!("name\nfine\n{long}"), "line 3: a row has more than 1 MiB"),
        ("b.csv", format!("name\nfine\n\"{long}\n"), "line 3: a row has more than 1 MiB"),
        ("c.csv", format!("{columns}name\nfine\n"), "line 1: a row has more than 1950 cells"),
        ("d.csv", "name,name\nfine,x\n".to_owned(), "column `name` appears twice"),
        ("e.ndjson", format!("{{\"name\":\"fine\"}}\n{long}"), "line 2: a row has more than 1 MiB"),
        ("f.json", format!("[{{\"name\":\"{long}\"}}]"), "line 1: a row has more than 1 MiB"),
    ] {
        let printed = server.import_file("folders", name, contents, &[]).expect_failure();
        assert_eq!(printed.trim_end(), format!("{name}: {message}"));
    }
    assert_eq!(server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok()["total"], 0);
}

fn sheet_of_a_workbook_is_chosen(engine: Engine) {
    let server = TestServer::start(engine);
    let file = workbook(&[
        ("North", &[&["reference", "name"], &["F-1", "One"]]),
        ("South &amp; east", &[&["reference", "name"], &["F-2", "Two"], &["F-3", "Three"]]),
    ]);
    let import = |more: &[&str]| server.import_file("folders", "rows.xlsx", &file, more);
    assert_eq!(counts(&import(&["--sheet", "South & east"]).json()), [2, 0, 0]);
    assert_eq!(counts(&import(&[]).json()), [1, 0, 0]);
    assert_eq!(counts(&import(&["--sheet", "North"]).json()), [0, 0, 1]);
    import(&["--sheet", "West"])
        .expect_error("rows.xlsx: sheet `West` is not in the workbook; it has North, South & east");
    server
        .import_file("folders", "rows.csv", "name\nOne\n", &["--sheet", "North"])
        .expect_error("--sheet can only be used with an Excel workbook (XLSX)");
}

fn check_stops_after_many_rejected_rows(engine: Engine) {
    let server = TestServer::start(engine);
    let rows = format!("reference,name\nF-1,One\n{}", "F-2,\n".repeat(150_000));
    let output = server.import_file("folders", "a.csv", rows, &["--keep-good"]);
    assert_eq!(output.code, Some(1));
    let message = "the check stopped after 100499 rejected rows; nothing was imported";
    assert!(output.stderr.contains(message), "{}", output.stderr);
    assert_eq!(server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok()["total"], 0);
}

fn empty_file_has_no_rows(engine: Engine) {
    let server = TestServer::start(engine);
    for (name, contents) in [
        ("a.csv", ""),
        ("b.csv", "name\n"),
        ("c.json", "[]"),
        ("d.ndjson", ""),
        ("e.ndjson", "\n\n"),
    ] {
        let report = server.import_file("folders", name, contents, &[]).json();
        assert_eq!(
            report,
            json!({ "created": 0, "updated": 0, "unchanged": 0, "rejected": [] }),
            "{name}"
        );
    }
}

fn summary_is_one_line(engine: Engine) {
    let (server, _) = start_with_samples(engine);
    server.write_file(
        "rows.csv",
        format!("reference,name\n{FOLDER},Renamed\nNEW,x\nF-000001,Bare\n"),
    );
    let output =
        server.run(&["import", "folders", "rows.csv", "--workspace", WORKSPACE]).expect_success();
    assert_eq!(output, "1 created, 1 updated, 1 unchanged, 0 rejected");
}

fn records_are_created_in_the_order_of_their_rows(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let csv: String = (1..=1203).map(|n| format!("R{n},Row {n}\n")).collect();
    let report =
        server.import_file("folders", "rows.csv", format!("reference,name\n{csv}"), &[]).json();
    assert_eq!(counts(&report), [1203, 0, 0]);
    let last = server.get("/folders?limit=100&page=13", &token);
    assert_eq!(last.column("reference"), ["R1201", "R1202", "R1203"]);
    assert_eq!(last.ok()["total"], 1203);
    let id = text(&last.content()[0]["id"]).to_owned();
    server.get(&format!("/folders/{id}"), &token).ok();
}
