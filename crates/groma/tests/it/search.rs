//! `term`: a substring without regard to case or accents, over the fields that contract § 3 names
//! and no others, the same on both engines.

use crate::{
    client::encode,
    database::Engine,
    office::{NO_LIMIT, Office},
    on_both_engines,
    sample::{self, FOLDER},
};
use serde_json::json;

/// An office with a folder for each of these names.
fn named(engine: Engine, names: &[&str]) -> (Office, String) {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    let rows: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    office.import("folders", &rows);
    let token = office.master_token();
    (office, token)
}

/// The names of the folders that a term finds.
fn found(office: &Office, token: &str, term: &str) -> Vec<String> {
    office.get(&format!("/folders?term={}", encode(term)), token).column("name")
}

on_both_engines! {
    fn case_and_accents_do_not_matter(engine: Engine) {
        let names = ["Chêne", "CHENE vieux", "Straße", "Łódź", "İstanbul", "Ελλάς", "Ångström №5", "ﬁeld"];
        let (office, token) = named(engine, &names);
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
            assert_eq!(found(&office, &token, term), expected, "{term}");
        }
    }

    fn one_and_two_letters_are_searched_too(engine: Engine) {
        let names = ["a", "ab", "abc", "xyz", "é", "漢字"];
        let (office, token) = named(engine, &names);
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
            assert_eq!(found(&office, &token, term), expected, "{term}");
        }
    }

    fn special_characters_mean_themselves(engine: Engine) {
        let names = [
            "100 % done", "a_b", "it's", "say \"hi\"", "back\\slash", "semi;colon -- x", "plus+sign",
            "star*", "(paren) OR NEAR", "crab 🦀 pot", "caret^ ~tilde", "a-b:c", "tab",
        ];
        let (office, token) = named(engine, &names);
        for (term, index) in [
            ("%", 0), ("0 %", 0), (" % d", 0), ("_", 1), ("a_b", 1), ("'", 2), ("t's", 2), ("\"", 3),
            ("\"hi\"", 3), ("\\", 4), ("k\\s", 4), (";", 5), (" -- ", 5), ("n -- x", 5), ("+", 6),
            ("s+s", 6), ("*", 7), ("ar*", 7), ("(", 8), (") OR N", 8), ("🦀", 9), ("b 🦀 p", 9),
            ("^", 10), ("t^ ~", 10), (":", 11), ("a-b:c", 11),
        ] {
            assert_eq!(found(&office, &token, term), [names[index]], "{term}");
        }
        for nothing in ["a%b", "a?b", "ab*", "\0", "a\0b", "tab\0", "\u{1}", "\u{7}", "\u{feff}x", "🦞", "')--"] {
            assert_eq!(found(&office, &token, nothing), [""; 0], "{nothing:?}");
        }
    }

    fn a_term_that_folds_to_nothing_is_no_term(engine: Engine) {
        let names = ["one", "two"];
        let (office, token) = named(engine, &names);
        for empty in ["", "\u{302}", "\u{301}\u{300}"] {
            assert_eq!(found(&office, &token, empty), names, "{empty:?}");
        }
    }

    fn spaces_count_and_a_plus_is_one(engine: Engine) {
        let names = ["two words", "twowords"];
        let (office, token) = named(engine, &names);
        assert_eq!(office.get("/folders?term=two+words", &token).column("name"), names[..1]);
        assert_eq!(found(&office, &token, " "), names[..1]);
        assert_eq!(found(&office, &token, "o w"), names[..1]);
    }

    fn a_term_is_a_substring_of_one_field(engine: Engine) {
        let office = Office::start(engine);
        office.import("folders", &[
            json!({ "reference": "REF-1", "name": "alpha", "description": "omega\nnext line" }),
        ]);
        let token = office.token(&["READ_FOLDER"]);
        for (term, count) in [
            ("ref-1", 1), ("alph", 1), ("mega", 1), ("next", 1), ("a\nn", 1), ("1alpha", 0),
            ("alphaomega", 0), ("alpha omega", 0), ("1\u{1}alpha", 0),
        ] {
            assert_eq!(found(&office, &token, term).len(), count, "{term:?}");
        }
    }

    fn each_kind_is_searched_in_its_own_fields_and_no_others(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        let count = |path: &str, term: &str| {
            office.get(&format!("{path}?term={}", encode(term)), &token).ok()["total"].as_u64().unwrap()
        };
        for (path, term) in [
            ("/folders", "chene-1"), ("/folders", "boundary"), ("/folders", "two parcels"),
            ("/assignments", "stake-1"), ("/assignments", "north line"), ("/assignments", "total station"),
            ("/expenses", "fuel-1"), ("/expenses", "diesel"), ("/expenses", "leman"), ("/expenses", "fuel"),
            ("/budgets", "field-2026"), ("/budgets", "work 2026"), ("/budgets", "travel and"),
        ] {
            assert_eq!(count(path, term), 1, "{path} {term}");
        }
        for (path, term) in [
            ("/folders", "mairie"), ("/folders", "cadastre"), ("/folders", "survey.lead"),
            ("/folders", "erp-77"), ("/folders", "AB 12"), ("/folders", "Field work"), ("/folders", "EUR"),
            ("/assignments", "urgent"), ("/assignments", "field crew"), ("/assignments", "boundary"),
            ("/expenses", "receipt"), ("/expenses", "reimbursed"), ("/expenses", "76.08"),
            ("/budgets", "4711"), ("/budgets", "1250"), ("/budgets", "approved"),
        ] {
            assert_eq!(count(path, term), 0, "{path} {term}");
        }
    }

    fn found_records_are_paged_like_all(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        let names: Vec<_> = (0..150).map(|n| json!({ "name": format!("{} {n}", if n % 3 == 0 { "Chêne" } else { "Pin" }) })).collect();
        office.import("folders", &names);
        let token = office.token(&["READ_FOLDER"]);
        for term in ["chene", "ch"] {
            let seen: Vec<_> = (1..=6)
                .flat_map(|page| {
                    let answer = office.get(&format!("/folders?term={term}&limit=9&page={page}"), &token);
                    let envelope = answer.ok();
                    assert_eq!((&envelope["total"], &envelope["pages"], &envelope["page"]), (&json!(50), &json!(6), &json!(page)));
                    answer.column("name")
                })
                .collect();
            let expected: Vec<_> = (0..150).step_by(3).map(|n| format!("Chêne {n}")).collect();
            assert_eq!(seen, expected);
            let past = office.get(&format!("/folders?term={term}&limit=9&page=7"), &token).ok();
            assert_eq!(past, json!({ "content": [], "total": 50, "page": 7, "size": 9, "pages": 6 }));
        }
    }

    fn a_change_is_found_by_its_new_words_only(engine: Engine) {
        let (office, token) = named(engine, &[]);
        sample::fill(&office);
        office.import("folders", &[json!({ "reference": FOLDER, "name": "Sapin" })]);
        assert_eq!(found(&office, &token, "boundary"), [""; 0]);
        assert_eq!(found(&office, &token, "sapin"), ["Sapin"]);
        office.groma(&["delete", "folder", FOLDER]).succeeds();
        assert_eq!(found(&office, &token, "sapin"), [""; 0]);
        let expenses = office.get("/expenses?term=diesel", &token).ok();
        assert_eq!(expenses["total"], 0, "what the folder held went with it");
    }
}
