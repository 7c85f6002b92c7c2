//! `term`: a substring search that ignores case and accents in the fields of contract § 3.

use crate::{on_both_engines, sample_records, sample_records::FOLDER};
use groma_testkit::{Engine, TestServer, http::percent_encode, server::NO_RATE_LIMIT};
use serde_json::json;

/// A server with one folder for each name.
fn start_with_folders(engine: Engine, names: &[&str]) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let rows: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    server.import("folders", &rows);
    let token = server.create_full_token();
    (server, token)
}

/// The names of the folders that match a term.
fn search(server: &TestServer, token: &str, term: &str) -> Vec<String> {
    server.get(&format!("/folders?term={}", percent_encode(term)), token).column("name")
}

on_both_engines! {
    case_and_accents_do_not_matter
    one_and_two_letter_terms_match
    special_characters_match_literally
    term_that_normalizes_to_nothing_is_ignored
    spaces_are_significant_and_plus_is_a_space
    term_must_match_within_one_field
    each_kind_is_searched_in_its_own_fields_only
    search_results_are_paged
    changed_record_matches_its_new_text_only
}

fn case_and_accents_do_not_matter(engine: Engine) {
    let names =
        ["Chêne", "CHENE vieux", "Straße", "Łódź", "İstanbul", "Ελλάς", "Ångström №5", "ﬁeld"];
    let (server, token) = start_with_folders(engine, &names);
    for (term, expected) in [
        ("chene", &names[..2]),
        ("CHÊNE", &names[..2]),
        ("che\u{302}ne", &names[..2]),
        ("hÈn", &names[..2]),
        ("strasse", &names[2..3]),
        ("STRAẞE", &names[2..3]),
        ("lodz", &[]),
        ("łodz", &names[3..4]),
        ("istanbul", &names[4..5]),
        ("ελλασ", &names[5..6]),
        ("ΕΛΛΆΣ", &names[5..6]),
        ("angstrom", &names[6..7]),
        ("no5", &names[6..7]),
        ("field", &names[7..8]),
        ("ＦＩＥＬＤ", &names[7..8]),
    ] {
        assert_eq!(search(&server, &token, term), expected, "{term}");
    }
}

fn one_and_two_letter_terms_match(engine: Engine) {
    let names = ["a", "ab", "abc", "xyz", "é", "漢字"];
    let (server, token) = start_with_folders(engine, &names);
    for (term, expected) in [
        ("a", &names[..3]),
        ("b", &names[1..3]),
        ("ab", &names[1..3]),
        ("bc", &names[2..3]),
        ("abc", &names[2..3]),
        ("abcd", &[]),
        ("É", &names[4..5]),
        ("漢", &names[5..6]),
        ("漢字", &names[5..6]),
    ] {
        assert_eq!(search(&server, &token, term), expected, "{term}");
    }
}

fn special_characters_match_literally(engine: Engine) {
    let names = [
        "100 % done",
        "a_b",
        "it's",
        "say \"hi\"",
        "back\\slash",
        "semi;colon -- x",
        "plus+sign",
        "star*",
        "(paren) OR NEAR",
        "crab 🦀 pot",
        "caret^ ~tilde",
        "a-b:c",
        "tab",
    ];
    let (server, token) = start_with_folders(engine, &names);
    for (term, index) in [
        ("%", 0),
        ("0 %", 0),
        (" % d", 0),
        ("_", 1),
        ("a_b", 1),
        ("'", 2),
        ("t's", 2),
        ("\"", 3),
        ("\"hi\"", 3),
        ("\\", 4),
        ("k\\s", 4),
        (";", 5),
        (" -- ", 5),
        ("n -- x", 5),
        ("+", 6),
        ("s+s", 6),
        ("*", 7),
        ("ar*", 7),
        ("(", 8),
        (") OR N", 8),
        ("🦀", 9),
        ("b 🦀 p", 9),
        ("^", 10),
        ("t^ ~", 10),
        (":", 11),
        ("a-b:c", 11),
    ] {
        assert_eq!(search(&server, &token, term), [names[index]], "{term}");
    }
    for nothing in
        ["a%b", "a?b", "ab*", "\0", "a\0b", "tab\0", "\u{1}", "\u{7}", "\u{feff}x", "🦞", "')--"]
    {
        assert_eq!(search(&server, &token, nothing), [""; 0], "{nothing:?}");
    }
}

fn term_that_normalizes_to_nothing_is_ignored(engine: Engine) {
    let names = ["one", "two"];
    let (server, token) = start_with_folders(engine, &names);
    for empty in ["", "\u{302}", "\u{301}\u{300}"] {
        assert_eq!(search(&server, &token, empty), names, "{empty:?}");
    }
}

fn spaces_are_significant_and_plus_is_a_space(engine: Engine) {
    let names = ["two words", "twowords"];
    let (server, token) = start_with_folders(engine, &names);
    assert_eq!(server.get("/folders?term=two+words", &token).column("name"), names[..1]);
    assert_eq!(search(&server, &token, " "), names[..1]);
    assert_eq!(search(&server, &token, "o w"), names[..1]);
}

fn term_must_match_within_one_field(engine: Engine) {
    let server = TestServer::start(engine);
    server.import(
        "folders",
        &[json!({ "reference": "REF-1", "name": "alpha", "description": "omega\nnext line" })],
    );
    let token = server.create_token(&["READ_FOLDER"]);
    for (term, count) in [
        ("ref-1", 1),
        ("alph", 1),
        ("mega", 1),
        ("next", 1),
        ("a\nn", 1),
        ("1alpha", 0),
        ("alphaomega", 0),
        ("alpha omega", 0),
        ("1\u{1}alpha", 0),
    ] {
        assert_eq!(search(&server, &token, term).len(), count, "{term:?}");
    }
}

fn each_kind_is_searched_in_its_own_fields_only(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let count = |path: &str, term: &str| {
        server.get(&format!("{path}?term={}", percent_encode(term)), &token).ok()["total"]
            .as_u64()
            .unwrap()
    };
    for (path, term) in [
        ("/folders", "chene-1"),
        ("/folders", "boundary"),
        ("/folders", "two parcels"),
        ("/assignments", "stake-1"),
        ("/assignments", "north line"),
        ("/assignments", "total station"),
        ("/expenses", "fuel-1"),
        ("/expenses", "diesel"),
        ("/expenses", "leman"),
        ("/expenses", "fuel"),
        ("/budgets", "field-2026"),
        ("/budgets", "work 2026"),
        ("/budgets", "travel and"),
    ] {
        assert_eq!(count(path, term), 1, "{path} {term}");
    }
    for (path, term) in [
        ("/folders", "mairie"),
        ("/folders", "cadastre"),
        ("/folders", "survey.lead"),
        ("/folders", "erp-77"),
        ("/folders", "AB 12"),
        ("/folders", "Field work"),
        ("/folders", "EUR"),
        ("/assignments", "urgent"),
        ("/assignments", "field crew"),
        ("/assignments", "boundary"),
        ("/expenses", "receipt"),
        ("/expenses", "reimbursed"),
        ("/expenses", "76.08"),
        ("/budgets", "4711"),
        ("/budgets", "1250"),
        ("/budgets", "approved"),
    ] {
        assert_eq!(count(path, term), 0, "{path} {term}");
    }
}

fn search_results_are_paged(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let names: Vec<_> = (0..150)
        .map(|n| json!({ "name": format!("{} {n}", if n % 3 == 0 { "Chêne" } else { "Pin" }) }))
        .collect();
    server.import("folders", &names);
    let token = server.create_token(&["READ_FOLDER"]);
    for term in ["chene", "ch"] {
        let names: Vec<_> = (1..=6)
            .flat_map(|page| {
                let response =
                    server.get(&format!("/folders?term={term}&limit=9&page={page}"), &token);
                let envelope = response.ok();
                assert_eq!(
                    (&envelope["total"], &envelope["pages"], &envelope["page"]),
                    (&json!(50), &json!(6), &json!(page))
                );
                response.column("name")
            })
            .collect();
        let expected: Vec<_> = (0..150).step_by(3).map(|n| format!("Chêne {n}")).collect();
        assert_eq!(names, expected);
        let past = server.get(&format!("/folders?term={term}&limit=9&page=7"), &token).ok();
        assert_eq!(past, json!({ "content": [], "total": 50, "page": 7, "size": 9, "pages": 6 }));
    }
}

fn changed_record_matches_its_new_text_only(engine: Engine) {
    let (server, token) = start_with_folders(engine, &[]);
    sample_records::fill(&server);
    server.import("folders", &[json!({ "reference": FOLDER, "name": "Sapin" })]);
    assert_eq!(search(&server, &token, "boundary"), [""; 0]);
    assert_eq!(search(&server, &token, "sapin"), ["Sapin"]);
    server.run(&["delete", "folder", FOLDER]).expect_success();
    assert_eq!(search(&server, &token, "sapin"), [""; 0]);
    let expenses = server.get("/expenses?term=diesel", &token).ok();
    assert_eq!(expenses["total"], 0, "the folder's contents were deleted with it");
}
