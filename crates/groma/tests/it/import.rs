//! `groma import`: formats, counts, rejected rows and what is kept of a file.

use crate::{
    database::Engine,
    office::{NO_LIMIT, Office, WORKSPACE},
    on_both_engines,
    sample::{self, FOLDER, KINDS, text},
};
use serde_json::{Value, json};

fn counts(report: &Value) -> [u64; 3] {
    ["created", "updated", "unchanged"].map(|name| report[name].as_u64().unwrap())
}

/// Every record of the office, as one text.
fn everything(office: &Office, token: &str) -> String {
    let paths = ["/folders", "/assignments", "/expenses", "/budgets", "/statuses"];
    paths.iter().map(|path| office.get(path, token).text()).collect()
}

fn filled(engine: Engine) -> (Office, String) {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    sample::fill(&office);
    let token = office.master_token();
    (office, token)
}

on_both_engines! {
    fn importing_a_file_twice_changes_nothing(engine: Engine) {
        let (office, token) = filled(engine);
        let with_reference = |rows: Vec<Value>| -> Vec<Value> {
            rows.into_iter().filter(|row| row.get("reference").is_some()).collect()
        };
        let before = everything(&office, &token);
        for (kind, rows) in sample::records() {
            let report = office.import(kind, &with_reference(rows));
            assert_eq!(report, json!({ "created": 0, "updated": 0, "unchanged": 1, "rejected": [] }), "{kind}");
        }
        assert_eq!(everything(&office, &token), before, "no version moved");
    }

    fn every_kind_comes_in_every_format(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        let token = office.master_token();
        let files = [
            ("folders", "reference,name\n@-f,A\n", json!({ "reference": "@-f", "name": "A" })),
            ("assignments", "reference,folder,title\n@-a,@-f,T\n", json!({ "reference": "@-a", "folder": "@-f", "title": "T" })),
            ("budgets", "reference,folder,name,amount\n@-b,@-f,B,10\n", json!({ "reference": "@-b", "folder": "@-f", "name": "B", "amount": "10" })),
            ("expenses", "reference,folder,unitAmount,incurredOn\n@-e,@-f,3.5,2026-01-01\n", json!({ "reference": "@-e", "folder": "@-f", "unitAmount": 3.5, "incurredOn": "2026-01-01" })),
            ("statuses", "name,appliesTo,group\n@-s,folder,done\n", json!({ "name": "@-s", "appliesTo": "folder", "group": "done" })),
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
                let report = office.import_file(kind, &name, &contents, &[]).json();
                assert_eq!(counts(&report), [1, 0, 0], "{kind} {format}");
                let report = office.import_file(kind, &name, &contents, &[]).json();
                assert_eq!(counts(&report), [0, 0, 1], "{kind} {format} again");
            }
        }
        for (path, _, _) in KINDS {
            assert_eq!(office.get(path, &token).ok()["total"], 5, "{path}");
        }
        assert_eq!(office.get("/statuses", &token).ok()["total"], 18 + 5);
    }

    fn a_row_without_a_reference_never_takes_one_that_another_row_names(engine: Engine) {
        let office = Office::start(engine);
        let token = office.master_token();
        let both = |path: &str, name: &str| {
            let content = office.get(path, &token).content();
            content.iter().map(|r| format!("{} {}", text(&r["reference"]), text(&r[name]))).collect::<Vec<_>>()
        };
        let csv = "reference,name\n,made\nF-000001,named\n";
        assert_eq!(counts(&office.import_file("folders", "f.csv", csv, &[]).json()), [2, 0, 0]);
        assert_eq!(both("/folders", "name"), ["F-000002 made", "F-000001 named"]);
        let csv = "reference,folder,title\n,F-000001,made\nA-000001,F-000001,named\n";
        assert_eq!(counts(&office.import_file("assignments", "a.csv", csv, &[]).json()), [2, 0, 0]);
        assert_eq!(both("/assignments", "title"), ["A-000002 made", "A-000001 named"]);
        let json = r#"[{"folder":"F-000001","unitAmount":1,"incurredOn":"2026-01-01","vendor":"made"},
            {"reference":"E-000001","folder":"F-000001","unitAmount":1,"incurredOn":"2026-01-01","vendor":"named"}]"#;
        assert_eq!(counts(&office.import_file("expenses", "e.json", json, &[]).json()), [2, 0, 0]);
        assert_eq!(both("/expenses", "vendor"), ["E-000002 made", "E-000001 named"]);
    }

    fn a_row_without_a_reference_never_takes_one_that_is_named_far_below(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let unnamed = "\"\",made\n".repeat(1200);
        let csv = format!("reference,name\n{unnamed}F-000001,named\nF-000700,named\n");
        assert_eq!(counts(&office.import_file("folders", "rows.csv", csv, &[]).json()), [1202, 0, 0]);
        assert_eq!(office.get("/folders?term=made", &token).ok()["total"], 1200);
        assert_eq!(office.get("/folders?term=named", &token).column("reference"), ["F-000001", "F-000700"]);
    }

    fn the_format_may_be_named(engine: Engine) {
        let office = Office::start(engine);
        let done = office.import_file("folders", "rows.txt", "name\nx\n", &[]);
        done.fails_with("rows.txt: unknown format; set --format to csv, json or ndjson");
        let report = office.import_file("folders", "rows.txt", "name\nx\n", &["--format", "csv"]).json();
        assert_eq!(counts(&report), [1, 0, 0]);
        let report = office.import_file("folders", "rows.csv", "{\"name\":\"y\"}\n", &["--format", "ndjson"]).json();
        assert_eq!(counts(&report), [1, 0, 0]);
    }

    fn a_byte_order_mark_is_no_part_of_the_file(engine: Engine) {
        let office = Office::start(engine);
        for (name, contents) in [
            ("a.csv", "\u{feff}reference,name\nbom-1,x\n"),
            ("b.json", "\u{feff}[{\"reference\":\"bom-2\",\"name\":\"x\"}]"),
            ("c.ndjson", "\u{feff}{\"reference\":\"bom-3\",\"name\":\"x\"}\n"),
        ] {
            assert_eq!(counts(&office.import_file("folders", name, contents, &[]).json()), [1, 0, 0], "{name}");
        }
    }

    fn a_csv_may_have_quotes_commas_and_line_breaks_in_its_cells(engine: Engine) {
        let office = Office::start(engine);
        let csv = "name,description,tags,customFields.parcel,customFields\n\
                   \"Say \"\"hi\"\", twice\",\"one\ntwo, three\",\"a; b,c\",AB 12,\"{\"\"n\"\":1}\"\n";
        office.import_file("folders", "rows.csv", csv, &[]).json();
        let folder = &office.get("/folders", &office.token(&["READ_FOLDER"])).content()[0];
        assert_eq!(folder["name"], "Say \"hi\", twice");
        assert_eq!(folder["description"], "one\ntwo, three");
        assert_eq!(folder["tags"], json!(["a", "b", "c"]));
        assert_eq!(folder["customFields"], json!({ "n": 1, "parcel": "AB 12" }));
    }

    fn cells_may_have_semicolons_between_them(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let csv = "\u{feff}reference;name;\"customFields.a,b\";tags\r\nS1;\"Nord; Süd\";x,y;a,b\r\n";
        assert_eq!(counts(&office.import_file("folders", "rows.csv", csv, &[]).json()), [1, 0, 0]);
        let folder = office.get("/folders/S1", &token).ok();
        assert_eq!(folder["name"], "Nord; Süd");
        assert_eq!(folder["customFields"], json!({ "a,b": "x,y" }));
        assert_eq!(folder["tags"], json!(["a", "b"]));
    }

    fn yes_and_no_are_understood_in_any_case(engine: Engine) {
        let (office, token) = filled(engine);
        let billable = || office.get(&format!("/expenses/{}", sample::EXPENSE), &token).ok()["billable"].clone();
        for (word, meaning) in [("TRUE", true), ("False", false), ("Yes", true), ("NO", false), ("1", true), ("0", false)] {
            let csv = format!("reference,billable\n{},{word}\n", sample::EXPENSE);
            office.import_file("expenses", "rows.csv", csv, &[]).json();
            assert_eq!(billable(), meaning, "{word}");
        }
    }

    fn a_dash_is_standard_input(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let import = ["import", "folders", "-", "--workspace", WORKSPACE, "--json"];
        let done = office.groma_with("name\nx\n", &import);
        done.fails_with("-: unknown format; set --format to csv, json or ndjson");
        for (format, input) in [("csv", "name\nx\n"), ("json", "[{\"name\":\"x\"}]"), ("ndjson", "{\"name\":\"x\"}\n")] {
            let done = office.groma_with(input, &[&import[..], &["--format", format]].concat());
            assert_eq!(counts(&done.json()), [1, 0, 0], "{format}");
        }
        assert_eq!(office.get("/folders", &token).ok()["total"], 3);
        let done = office.groma_with("name\n\"\"\n", &[&import[..], &["--format", "csv"]].concat());
        assert_eq!(done.rejected(), [(2, "name must not be empty".to_owned())]);
    }

    fn a_column_left_out_stays_and_an_empty_one_becomes_null(engine: Engine) {
        let (office, token) = filled(engine);
        let path = format!("/folders/{FOLDER}");
        let before = office.get(&path, &token).ok();
        let csv = format!("reference,description,owner,tags,dueDate,externalId,status\n{FOLDER},,,,,,\n");
        let report = office.import_file("folders", "rows.csv", csv, &[]).json();
        assert_eq!(counts(&report), [0, 1, 0]);
        let after = office.get(&path, &token).ok();
        for name in ["description", "owner", "dueDate", "externalId", "statusId"] {
            assert!(!before[name].is_null() && after[name].is_null(), "{name}: {}", after[name]);
        }
        assert_eq!(after["tags"], json!([]));
        for name in ["id", "name", "clientName", "startDate", "currency", "customFields", "createdAt"] {
            assert_eq!(after[name], before[name], "{name}");
        }
        let nulls = json!({ "reference": FOLDER, "clientName": null, "customFields": null, "currency": null });
        office.import("folders", &[nulls]);
        let after = office.get(&path, &token).ok();
        assert_eq!((&after["clientName"], &after["customFields"]), (&Value::Null, &json!({})));
        assert_eq!(after["currency"], "EUR", "what cannot be null has its default");
    }

    fn what_is_needed_cannot_become_empty(engine: Engine) {
        let (office, token) = filled(engine);
        let before = everything(&office, &token);
        for (kind, row, field) in [
            ("folders", json!({ "reference": FOLDER, "name": null }), "name"),
            ("folders", json!({ "reference": FOLDER, "name": " " }), "name"),
            ("assignments", json!({ "reference": sample::ASSIGNMENT, "title": "" }), "title"),
            ("assignments", json!({ "reference": sample::ASSIGNMENT, "folder": null }), "folder"),
            ("expenses", json!({ "reference": sample::EXPENSE, "unitAmount": null }), "unitAmount"),
            ("expenses", json!({ "reference": sample::EXPENSE, "incurredOn": "" }), "incurredOn"),
            ("budgets", json!({ "reference": sample::BUDGET, "amount": null }), "amount"),
        ] {
            let rejected = office.try_import(kind, &[row]).rejected();
            assert_eq!(rejected, [(1, format!("{field} must not be empty"))], "{kind}");
        }
        for (kind, needed) in [
            ("folders", "name is needed"),
            ("assignments", "title is needed; folder is needed"),
            ("expenses", "folder is needed; unitAmount is needed; incurredOn is needed"),
            ("budgets", "name is needed; folder is needed; amount is needed"),
        ] {
            let rejected = office.try_import(kind, &[json!({ "reference": "new" })]).rejected();
            assert_eq!(rejected, [(1, needed.to_owned())], "{kind}");
        }
        assert_eq!(everything(&office, &token), before);
    }

    fn a_read_only_column_is_ignored(engine: Engine) {
        let (office, token) = filled(engine);
        let before = everything(&office, &token);
        let id = "019a8b7c-0000-7000-8000-000000000000";
        let mut row = json!({
            "id": id, "workspaceKey": id, "createdAt": "2000-01-01T00:00:00Z",
            "updatedAt": "nonsense", "version": 99,
        });
        for (kind, reference, more) in [
            ("folders", FOLDER, json!({ "bbox": [1, 2, 3, 4] })),
            ("assignments", sample::ASSIGNMENT, json!({ "completedAt": null })),
            ("expenses", sample::EXPENSE, json!({ "amount": "9999" })),
            ("budgets", sample::BUDGET, json!({ "spent": "1", "remaining": "2", "percentUsed": "3" })),
        ] {
            row["reference"] = json!(reference);
            let mut whole = row.clone();
            whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(counts(&office.import(kind, &[whole])), [0, 0, 1], "{kind}");
        }
        let status = json!({ "id": id, "name": "Quoted", "appliesTo": "folder", "createdAt": "x" });
        assert_eq!(counts(&office.import("statuses", &[status])), [0, 0, 1]);
        assert_eq!(everything(&office, &token), before);
    }

    fn an_unknown_column_is_told_once_for_the_file(engine: Engine) {
        let office = Office::start(engine);
        let done = office.import_file("folders", "rows.csv", "name,colour\nx,red\ny,\n", &["--keep-good"]);
        done.fails_with("rows.csv: unknown column `colour`; nothing was imported");
        let done = office.import_file("statuses", "rows.csv", "name,color,a,customFields.x\n", &[]);
        done.fails_with("rows.csv: unknown columns `a`, `customFields.x`; nothing was imported");
        assert_eq!(office.get("/folders", &office.token(&["READ_FOLDER"])).ok()["total"], 0);
        // Objects name their fields each for itself.
        let done = office.import_file("folders", "rows.json", r#"[{"name":"x"},{"colour":1}]"#, &[]);
        assert_eq!(done.rejected(), [(1, "colour is not a field of this kind".to_owned())]);
        let done = office.import_file("folders", "rows.csv", "name,name\nx,y\n", &[]);
        done.fails_with("rows.csv: column `name` appears twice");
    }

    fn one_bad_row_and_nothing_is_kept(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let mut rows: Vec<_> = (0..1200).map(|n| json!({ "name": format!("Row {n}") })).collect();
        rows[1100] = json!({ "name": "bad", "startDate": "yesterday" });
        let done = office.try_import("folders", &rows);
        assert_eq!(done.code, Some(1));
        assert_eq!(done.rejected(), [(1101, "startDate must be a date, YYYY-MM-DD".to_owned())]);
        assert!(done.stderr.ends_with("groma: 1 row was rejected; nothing was imported\n"), "{}", done.stderr);
        let report: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(counts(&report), [0, 0, 0]);
        assert_eq!(office.get("/folders", &token).ok()["total"], 0);
    }

    fn every_rejected_row_is_reported_with_its_line(engine: Engine) {
        let office = Office::start(engine);
        let csv = "reference,name,description,startDate,dueDate,status\n\
                   ok,fine,,,,\n\
                   r1,x,\"two\nlines\",,,Nonsense\n\
                   r2,,,,,\n\
                   r3,x,,2026-02-30,,\n\
                   r4,x,,2026-02-02,2026-02-01,\n\
                   ok,again,,,,\n\
                   short,row\n\
                   019a8b7c-0000-7000-8000-000000000000,x,,,,\n";
        let done = office.import_file("folders", "rows.csv", csv, &[]);
        assert_eq!(done.rejected(), [
            (3, "status names no status of a folder: `Nonsense`".to_owned()),
            (5, "name must not be empty".to_owned()),
            (6, "startDate must be a date, YYYY-MM-DD".to_owned()),
            (7, "dueDate must not be before startDate".to_owned()),
            (8, "`ok` is already on line 2".to_owned()),
            (9, "has 2 cells, but the header has 6".to_owned()),
            (10, "reference must not have the shape of a UUID".to_owned()),
        ]);
        assert!(done.stderr.ends_with("groma: 7 rows were rejected; nothing was imported\n"));
        let ndjson = "{\"name\":\"fine\"}\n\nnot json\n[1]\n{\"name\":1}\n{\"name\":\"x\",\"tags\":7}\n";
        let lines: Vec<_> = office.import_file("folders", "rows.ndjson", ndjson, &[]).rejected();
        let lines: Vec<_> = lines.into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [3, 4, 6]);
    }

    fn a_rejected_row_is_reported_with_the_line_where_it_begins(engine: Engine) {
        let office = Office::start(engine);
        let lines = |name: &str, contents: &str| -> Vec<u64> {
            let rejected = office.import_file("folders", name, contents, &[]).rejected();
            rejected.into_iter().map(|(line, _)| line).collect()
        };
        let csv = "name,description,status\nfine,,\n\nbad,\"one\n\ntwo\",Nonsense\n,,\nbad,\"never closed\n,,\n\n";
        assert_eq!(lines("lf.csv", csv), [4, 7, 8]);
        assert_eq!(lines("crlf.csv", &csv.replace('\n', "\r\n")), [4, 7, 8]);
        assert_eq!(lines("cr.csv", &csv.replace('\n', "\r")), [4, 7, 8]);
        let json = "[\n{\"name\":\"fine\"},\n\n {\n \"name\":\n\"\"\n},{\"name\":\"\"}, 7\n, true ,\n[]]";
        assert_eq!(lines("rows.json", json), [4, 7, 7, 8, 9]);
    }

    fn a_line_that_is_no_json_is_told_its_column_alone(engine: Engine) {
        let office = Office::start(engine);
        let done = office.import_file("folders", "rows.ndjson", "{\"name\":\"x\"}\n  {\"name\": oops}\n{\n", &[]);
        assert_eq!(done.rejected(), [
            (2, "is not a JSON object: expected value at column 12".to_owned()),
            (3, "is not a JSON object: EOF while parsing an object at column 1".to_owned()),
        ]);
    }

    fn blank_lines_of_a_csv_are_counted_but_are_no_rows(engine: Engine) {
        let office = Office::start(engine);
        for (name, contents) in
            [("a.csv", "name\n\nfine\n\n\n\"\"\n"), ("b.csv", "name\r\n\r\nfine\r\n\r\n\r\n\"\"\r\n")]
        {
            let done = office.import_file("folders", name, contents, &[]);
            assert_eq!(done.rejected(), [(6, "name must not be empty".to_owned())], "{name}");
        }
    }

    fn a_row_that_names_a_reference_again_is_rejected_however_it_is_written(engine: Engine) {
        let office = Office::start(engine);
        let twice = |first: Value, second: Value| {
            let rows = [json!({ "reference": first, "name": "x" }), json!({ "reference": second, "name": "y" })];
            let lines: Vec<_> = office.try_import("folders", &rows).rejected();
            lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>()
        };
        assert_eq!(twice(json!("A"), json!(" A ")), [2]);
        assert_eq!(twice(json!(5), json!("5")), [2], "a number is its text");
        assert_eq!(twice(json!("\u{c9}"), json!("E\u{301}")), [2], "the composed form is what counts");
    }

    fn keep_good_keeps_the_good_rows(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let csv = "reference,name\na,A\nb,\nc,C\n";
        let done = office.import_file("folders", "rows.csv", csv, &["--keep-good"]);
        assert_eq!(done.code, Some(0));
        assert_eq!(done.rejected(), [(3, "name must not be empty".to_owned())]);
        let report: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(counts(&report), [2, 0, 0]);
        assert_eq!(office.get("/folders", &token).column("reference"), ["a", "c"]);
    }

    fn keep_good_tells_rows_on_one_line_apart(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let json = r#"[{"reference":"a","name":"A"},{"reference":"b","name":""},{"reference":"c","name":"C"}]"#;
        let done = office.import_file("folders", "rows.json", json, &["--keep-good"]);
        assert_eq!(done.code, Some(0));
        assert_eq!(done.rejected(), [(1, "name must not be empty".to_owned())]);
        assert_eq!(office.get("/folders", &token).column("reference"), ["a", "c"]);
    }

    fn a_dry_run_tells_and_keeps_nothing(engine: Engine) {
        let (office, token) = filled(engine);
        let before = everything(&office, &token);
        let csv = format!("reference,name\n,A\n,B\n{FOLDER},Renamed\nF-000001,Bare\n");
        let report = office.import_file("folders", "rows.csv", &csv, &["--dry-run"]).json();
        assert_eq!(counts(&report), [2, 1, 1]);
        let done = office.import_file("folders", "rows.csv", "name\nA\n\"\"\n", &["--dry-run", "--keep-good"]);
        assert_eq!((done.code, done.rejected().len()), (Some(1), 1));
        let told = office.groma(&["import", "folders", "rows.csv", "--dry-run", "--workspace", WORKSPACE]);
        assert_eq!(told.stdout, "2 rows checked, 1 rejected. The import would create 1 and update 0; 0 are unchanged.\n");
        assert_eq!(everything(&office, &token), before);
    }

    fn a_file_that_cannot_be_read_is_one_line(engine: Engine) {
        let office = Office::start(engine);
        let missing = office.groma(&["import", "folders", "missing.csv", "--workspace", WORKSPACE]).fails();
        assert!(missing.starts_with("missing.csv: "), "{missing}");
        for (name, contents) in [("a.json", "{\"name\":\"x\"}"), ("b.json", "[{\"name\":\"x\"}"), ("c.json", ""), ("d.json", "[] []"), ("e.json", "[{\"name\":\"x\"},]")] {
            let message = office.import_file("folders", name, contents, &[]).fails();
            assert!(message.starts_with(&format!("{name}: ")), "{message}");
        }
        let bytes = office.import_file("folders", "f.csv", b"name\nfine\nna\xFFme\n", &[]);
        assert_eq!(bytes.rejected(), [(3, "is not UTF-8".to_owned())]);
        assert_eq!(office.get("/folders", &office.token(&["READ_FOLDER"])).ok()["total"], 0);
    }

    fn an_empty_file_is_no_rows(engine: Engine) {
        let office = Office::start(engine);
        for (name, contents) in [("a.csv", ""), ("b.csv", "name\n"), ("c.json", "[]"), ("d.ndjson", ""), ("e.ndjson", "\n\n")] {
            let report = office.import_file("folders", name, contents, &[]).json();
            assert_eq!(report, json!({ "created": 0, "updated": 0, "unchanged": 0, "rejected": [] }), "{name}");
        }
    }

    fn the_summary_is_one_line(engine: Engine) {
        let (office, _) = filled(engine);
        office.file("rows.csv", format!("reference,name\n{FOLDER},Renamed\nNEW,x\nF-000001,Bare\n"));
        let told = office.groma(&["import", "folders", "rows.csv", "--workspace", WORKSPACE]).succeeds();
        assert_eq!(told, "1 created, 1 updated, 1 unchanged, 0 rejected");
    }

    fn a_thousand_rows_keep_their_order(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let csv: String = (1..=1203).map(|n| format!("R{n},Row {n}\n")).collect();
        let report = office.import_file("folders", "rows.csv", format!("reference,name\n{csv}"), &[]).json();
        assert_eq!(counts(&report), [1203, 0, 0]);
        let last = office.get("/folders?limit=100&page=13", &token);
        assert_eq!(last.column("reference"), ["R1201", "R1202", "R1203"]);
        assert_eq!(last.ok()["total"], 1203);
        let id = text(&last.content()[0]["id"]).to_owned();
        office.get(&format!("/folders/{id}"), &token).ok();
    }
}
