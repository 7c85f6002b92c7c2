//! `:key`: an id or a reference, percent-encoding honoured, within the workspace only.

use crate::{
    client::{API, encode},
    database::Engine,
    office::{NO_LIMIT, Office},
    on_both_engines,
    sample::{self, FOLDER, KINDS, text},
};
use serde_json::json;

fn with_references(engine: Engine, references: &[&str]) -> (Office, String) {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    let row = |reference: &&str| json!({ "reference": reference, "name": "x" });
    office.import("folders", &references.iter().map(row).collect::<Vec<_>>());
    let token = office.token(&["READ_FOLDER"]);
    (office, token)
}

on_both_engines! {
    fn a_record_is_found_by_id_and_by_reference(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        for (path, _, reference) in KINDS {
            let by_reference = office.get(&format!("{path}/{reference}"), &token);
            let record = by_reference.ok();
            assert_eq!(record["reference"], reference);
            let id = text(&record["id"]);
            let upper = id.to_uppercase();
            for id in [id, &upper] {
                assert_eq!(office.get(&format!("{path}/{id}"), &token).body, by_reference.body);
            }
        }
    }

    fn percent_encoding_is_honoured(engine: Engine) {
        let references = [
            "a/b", "with space", "Chêne 🦀", "100%", "%2F", "a?b#c", "plus+", "dot.", "..", "'q\"", "a%00b",
            "tilde~_-", "\\back", "{key}", "back`tick",
        ];
        let (office, token) = with_references(engine, &references);
        for reference in references {
            let answer = office.get(&format!("/folders/{}", encode(reference)), &token);
            assert_eq!(answer.ok()["reference"], reference);
        }
        for (path, reference) in [("plus+", "plus+"), ("tilde~_%2d", "tilde~_-"), ("%61%2fb", "a/b")] {
            let answer = office.main().get_raw(format!("{API}/folders/{path}").as_bytes(), &token);
            assert_eq!(answer.ok()["reference"], reference);
        }
        office.get("/folders/a/b", &token).is_error(404, "No such route");
    }

    fn a_reference_is_compared_in_its_composed_form_and_by_case(engine: Engine) {
        let (office, token) = with_references(engine, &["CHE\u{302}NE", "F-1"]);
        for sent in ["CHÊNE", "CHE\u{302}NE"] {
            let answer = office.get(&format!("/folders/{}", encode(sent)), &token);
            assert_eq!(answer.ok()["reference"], "CHÊNE");
        }
        office.get("/folders/f-1", &token).is_error(404, "folder `f-1` not found");
        office.get("/folders/CHENE", &token).error(404);
    }

    fn a_key_that_names_nothing_is_a_404_of_one_form(engine: Engine) {
        let (office, token) = with_references(engine, &["F-1"]);
        let missing = "019a8b7c-0000-7000-8000-000000000000";
        let long = "x".repeat(65);
        for key in ["missing", missing, "00000000-0000-0000-0000-000000000000", "%20", "%00", "F-1%00", "nul%00byte", &long, "%2F", "%E2%80%AE", "F-1%20", "%20F-1", "F-1%09", "F-1%C2%A0"] {
            let answer = office.get(&format!("/folders/{key}"), &token);
            let message = answer.error(404);
            assert!(message.starts_with("folder `") && message.ends_with("` not found"), "{message}");
            assert!(!message.chars().any(char::is_control), "{message:?}");
            assert!(answer.header("x-ratelimit-remaining").is_none(), "no limit is set");
        }
        office.get(&format!("/folders/{missing}"), &token).is_error(404, &format!("folder `{missing}` not found"));
    }

    fn a_key_that_is_no_text_is_a_400(engine: Engine) {
        let (office, token) = with_references(engine, &[]);
        for key in ["%FF", "%C3%28", "a%80", "%ED%A0%80"] {
            office.get(&format!("/folders/{key}"), &token).is_error(400, "key must be valid UTF-8");
        }
    }

    fn a_kind_does_not_find_the_records_of_another(engine: Engine) {
        let office = Office::start(engine);
        sample::fill(&office);
        let token = office.master_token();
        let id = office.get(&format!("/folders/{FOLDER}"), &token).ok()["id"].clone();
        for path in ["/assignments", "/expenses", "/budgets"] {
            office.get(&format!("{path}/{}", text(&id)), &token).error(404);
            office.get(&format!("{path}/{FOLDER}"), &token).error(404);
        }
    }

    fn another_workspaces_record_is_a_404_like_any_other(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        office.create_workspace("Other");
        let ours = office.master_token();
        let theirs = office.token_in("Other", &crate::office::SCOPES);
        for (path, _, reference) in KINDS {
            let record = office.get(&format!("{path}/{reference}"), &ours).ok();
            let kind = &path[1..path.len() - 1];
            for key in [text(&record["id"]), reference] {
                office.get(&format!("{path}/{key}"), &theirs).is_error(404, &format!("{kind} `{key}` not found"));
            }
            let empty = office.get(path, &theirs).ok();
            assert_eq!(empty["total"], 0);
            assert_eq!(office.get(&format!("{path}?term={reference}"), &theirs).ok()["total"], 0);
        }
        // The same reference in both is two records.
        office.import_into("Other", "folders", &[json!({ "reference": FOLDER, "name": "Theirs" })]);
        let name = |token: &str| office.get(&format!("/folders/{FOLDER}"), token).ok()["name"].clone();
        assert_eq!((name(&ours), name(&theirs)), (json!("Chêne, boundary survey"), json!("Theirs")));
        let statuses = |token: &str| office.get("/statuses", token).column("id");
        assert!(statuses(&ours).iter().all(|id| !statuses(&theirs).contains(id)));
    }
}
