//! `term`: a substring search that ignores case and accents, equal on both engines.

use crate::{
    Fixture,
    fixture::{TestWorkspace, new},
    on_both_engines,
};
use groma_domain::{Kind, text::fold};
use serde_json::{Value, json};

on_both_engines! {
    case_and_accents_are_ignored
    one_and_two_character_terms_match
    special_characters_match_literally
    only_the_searched_fields_match
    term_does_not_match_across_fields
    changed_record_matches_its_new_text_only
    search_results_have_pages_and_a_total
    short_term_matches_many_different_trigrams
    search_matches_a_simple_model
    control_characters_match_nothing
}

async fn search(workspace: &TestWorkspace, kind: Kind, term: &str) -> Vec<String> {
    let (content, total) = workspace.list(kind, &[("term", term), ("limit", "100")]).await;
    assert_eq!(content.len() as u64, total.min(100));
    content.iter().map(|record| record["reference"].as_str().unwrap().to_owned()).collect()
}

/// Creates folders with these names and references that no term matches.
async fn create_folders(workspace: &TestWorkspace, names: &[&str]) {
    let folder = |(number, name): (usize, &&str)| {
        new(Kind::Folder, json!({ "reference": format!("#{number}"), "name": name }))
    };
    workspace.apply(names.iter().enumerate().map(folder).collect()).await.unwrap();
}

/// Asserts which names a term matches, by index.
async fn assert_matches(workspace: &TestWorkspace, names: &[&str], term: &str, expected: &[usize]) {
    let expected: Vec<_> = expected.iter().map(|number| format!("#{number}")).collect();
    assert_eq!(search(workspace, Kind::Folder, term).await, expected, "{term:?} in {names:?}");
}

async fn case_and_accents_are_ignored(fixture: Fixture) {
    let names = ["Chêne", "CHENE", "che\u{302}nes", "Straße", "STRASSE", "İstanbul", "ﬁeld №①"];
    create_folders(&fixture, &names).await;
    for term in ["chene", "CHÊNE", "hên", "he\u{302}N"] {
        assert_matches(&fixture, &names, term, &[0, 1, 2]).await;
    }
    for term in ["strasse", "straße", "ẞe", "SSE"] {
        assert_matches(&fixture, &names, term, &[3, 4]).await;
    }
    assert_matches(&fixture, &names, "istanbul", &[5]).await;
    assert_matches(&fixture, &names, "İST", &[5]).await;
    assert_matches(&fixture, &names, "field no1", &[6]).await;
    assert_matches(&fixture, &names, "ﬁ", &[6]).await;
    assert_matches(&fixture, &names, "chenes", &[2]).await;
}

async fn one_and_two_character_terms_match(fixture: Fixture) {
    let names = ["a", "ab", "xab", "ba", "b", "é", "日", "日本", "本日", "😀", "x😀", "ﬁ"];
    create_folders(&fixture, &names).await;
    assert_matches(&fixture, &names, "a", &[0, 1, 2, 3]).await;
    assert_matches(&fixture, &names, "AB", &[1, 2]).await;
    assert_matches(&fixture, &names, "b", &[1, 2, 3, 4]).await;
    assert_matches(&fixture, &names, "E", &[5]).await;
    assert_matches(&fixture, &names, "日", &[6, 7, 8]).await;
    assert_matches(&fixture, &names, "日本", &[7]).await;
    assert_matches(&fixture, &names, "😀", &[9, 10]).await;
    assert_matches(&fixture, &names, "x😀", &[10]).await;
    assert_matches(&fixture, &names, "i", &[11]).await;
    assert_matches(&fixture, &names, "zz", &[]).await;
}

async fn special_characters_match_literally(fixture: Fixture) {
    let names = [
        "100%",
        "100 percent",
        "a_b",
        "axb",
        r#"say "oak" twice"#,
        "back\\slash",
        "it's",
        "star* OR stars",
        "a AND b",
        "NOT (x)",
        "^caret",
        "col:umn",
        "one  two",
        "one two",
        "{braces} + -minus",
        "semi;colon--",
        "tab\u{a0}space",
        "\u{10FFFF}",
        "q\u{10FFFF}",
    ];
    create_folders(&fixture, &names).await;
    for (term, expected) in [
        ("%", &[0][..]),
        ("00%", &[0]),
        ("100%", &[0]),
        ("_", &[2]),
        ("a_", &[2]),
        ("a_b", &[2]),
        ("\"", &[4]),
        ("\"oak\"", &[4]),
        ("y \"", &[4]),
        ("\\", &[5]),
        ("k\\s", &[5]),
        ("\\\\", &[]),
        ("'", &[6]),
        ("t's", &[6]),
        ("''", &[]),
        ("*", &[7]),
        ("star*", &[7]),
        ("OR", &[7]),
        (" or ", &[7]),
        ("a and b", &[8]),
        ("not (", &[9]),
        ("(x)", &[9]),
        ("^", &[10]),
        ("^ca", &[10]),
        ("col:", &[11]),
        ("one  two", &[12]),
        ("one two", &[13]),
        ("  ", &[12]),
        ("e t", &[13]),
        ("} + -", &[14]),
        ("n--", &[15]),
        ("; ", &[]),
        // A no-break space is normalized to a space.
        ("b s", &[16]),
        ("\u{10FFFF}", &[17, 18]),
        ("q", &[18]),
        ("q\u{10FFFF}", &[18]),
    ] {
        assert_matches(&fixture, &names, term, expected).await;
    }
}

async fn only_the_searched_fields_match(fixture: Fixture) {
    fixture.seed_folder().await;
    let text = |word: &str| format!("the {word} one");
    let folder = json!({
        "reference": "ref-oak", "name": text("name"), "description": text("described"),
        "clientName": text("client"), "externalId": "external", "tags": ["tagged"],
        "customFields": { "custom": "customised" }, "owner": "owner@owner.test",
    });
    fixture.create(Kind::Folder, folder).await;
    let assignment = json!({
        "reference": "ref-oak", "folder": "in", "title": text("title"),
        "description": text("described"), "externalId": "external",
        "customFields": { "custom": "customised" }, "assignees": ["owner@owner.test"],
    });
    fixture.create(Kind::Assignment, assignment).await;
    let expense = json!({
        "reference": "ref-oak", "folder": "in", "description": text("described"),
        "category": text("category"), "vendor": text("vendor"), "unitAmount": "12345",
        "incurredOn": "2026-03-01", "externalId": "external", "submittedBy": "owner@owner.test",
        "customFields": { "custom": "customised" },
    });
    fixture.create(Kind::Expense, expense).await;
    let budget = json!({
        "reference": "ref-oak", "folder": "in", "name": text("name"),
        "description": text("described"), "category": text("category"), "amount": "12345",
        "externalId": "external", "customFields": { "custom": "customised" },
    });
    fixture.create(Kind::Budget, budget).await;
    for (kind, searched, not_searched) in [
        (Kind::Folder, &["f-oa", "name", "described"][..], &["client", "tagged"][..]),
        (Kind::Assignment, &["f-oa", "title", "described"], &[]),
        (Kind::Expense, &["f-oa", "described", "category", "vendor"], &["12345"]),
        (Kind::Budget, &["f-oa", "name", "described"], &["category", "12345"]),
    ] {
        for term in searched {
            assert_eq!(search(&fixture, kind, term).await, ["ref-oak"], "{kind} {term}");
        }
        for term in ["external", "custom", "owner", "EUR"].iter().chain(not_searched) {
            assert_eq!(search(&fixture, kind, term).await, [""; 0], "{kind} {term}");
        }
    }
}

async fn term_does_not_match_across_fields(fixture: Fixture) {
    let folder = json!({ "reference": "alpha", "name": "beta", "description": "gamma" });
    fixture.create(Kind::Folder, folder).await;
    for term in ["alphabeta", "abe", "ab", "ag", "tag", "alpha beta", "gammaalpha"] {
        assert_eq!(search(&fixture, Kind::Folder, term).await, [""; 0], "{term}");
    }
    for term in ["alpha", "pha", "ha", "a", "beta", "ta", "gamma", "ma"] {
        assert_eq!(search(&fixture, Kind::Folder, term).await, ["alpha"], "{term}");
    }
}

async fn changed_record_matches_its_new_text_only(fixture: Fixture) {
    fixture.seed_folder().await;
    let was = json!({ "name": "Larch", "description": "old words" });
    fixture.update(Kind::Folder, "in", was).await;
    let is = json!({ "name": "Spruce", "reference": "renamed" });
    fixture.update(Kind::Folder, "in", is).await;
    for term in ["larch", "la", "boundary"] {
        assert_eq!(search(&fixture, Kind::Folder, term).await, [""; 0], "{term}");
    }
    for term in ["spruce", "sp", "old words", "renamed"] {
        assert_eq!(search(&fixture, Kind::Folder, term).await, ["renamed"], "{term}");
    }
    fixture.update(Kind::Folder, "renamed", json!({ "description": null })).await;
    assert_eq!(search(&fixture, Kind::Folder, "old").await, [""; 0]);
    // After a change of another field it still matches, and only once.
    fixture.update(Kind::Folder, "renamed", json!({ "tags": ["x"] })).await;
    assert_eq!(search(&fixture, Kind::Folder, "spruce").await, ["renamed"]);
}

async fn search_results_have_pages_and_a_total(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    for workspace in [&*fixture, &next] {
        let folder = |number: u32| {
            let name = if number.is_multiple_of(3) { "Oak wood" } else { "Elm" };
            new(Kind::Folder, json!({ "reference": format!("#{number}"), "name": name }))
        };
        workspace.apply((0..300).map(folder).collect()).await.unwrap();
    }
    let expected: Vec<_> = (0..300).step_by(3).map(|number| format!("#{number}")).collect();
    for term in ["oak", "oa", "o"] {
        let mut seen = Vec::new();
        for page in 1..=16 {
            let query = [("term", term), ("page", &*page.to_string()), ("limit", "7")];
            assert_eq!(fixture.list(Kind::Folder, &query).await.1, 100);
            seen.extend(fixture.references(Kind::Folder, &query).await);
        }
        assert_eq!(seen, expected, "{term}");
    }
}

async fn short_term_matches_many_different_trigrams(fixture: Fixture) {
    // Three thousand pairs of characters after the same first one.
    let characters: Vec<char> = ('\u{4e00}'..).take(3_000).collect();
    let names = characters.chunks(30).map(|chunk| {
        let words: Vec<_> = chunk.iter().map(|c| format!("木{c}林")).collect();
        words.join(" ")
    });
    let folders = names.map(|name| new(Kind::Folder, json!({ "name": name })));
    fixture.apply(folders.collect()).await.unwrap();
    assert_eq!(fixture.list(Kind::Folder, &[("term", "木")]).await.1, 100);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "林")]).await.1, 100);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "木\u{4e05}")]).await.1, 1);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "鱼")]).await.1, 0);
}

async fn search_matches_a_simple_model(fixture: Fixture) {
    const LETTERS: [&str; 22] = [
        "a", "b", "c", "A", "é", "E", "ß", "ﬁ", " ", "-", "%", "_", "\\", "\"", "'", "日", "😀",
        "İ", "ς", "Σ", "가", "*",
    ];
    let mut random = fastrand::Rng::with_seed(11);
    let mut word = |longest: usize| -> String {
        (0..random.usize(1..=longest)).map(|_| *random.choice(&LETTERS).unwrap()).collect()
    };
    let texts: Vec<[String; 2]> = (0..150).map(|_| [word(12), word(12)]).collect();
    let folders = texts.iter().enumerate().filter_map(|(number, [name, description])| {
        let values = json!({
            "reference": format!("#{number}"), "name": name, "description": description,
        });
        // A name of spaces is empty.
        (!name.trim().is_empty()).then(|| new(Kind::Folder, values))
    });
    fixture.apply(folders.collect()).await.unwrap();
    let (stored, mut model) =
        (fixture.store.export(fixture.workspace_id, Kind::Folder, 0, 1_000), vec![]);
    for record in stored.await.unwrap() {
        let record: Value = serde_json::from_slice(&record.document).unwrap();
        let field = |name: &str| fold(record[name].as_str().unwrap_or_default());
        let reference = record["reference"].as_str().unwrap().to_owned();
        model.push((reference, [field("reference"), field("name"), field("description")]));
    }
    for _ in 0..300 {
        let term = word(4);
        let folded = fold(&term);
        let expected =
            model.iter().filter(|(_, fields)| fields.iter().any(|f| f.contains(&folded)));
        let expected: Vec<_> = expected.map(|(reference, _)| reference.clone()).collect();
        let (content, total) =
            fixture.list(Kind::Folder, &[("term", &*term), ("limit", "100")]).await;
        assert_eq!(total, expected.len() as u64, "{term:?}");
        let seen: Vec<_> = content.iter().map(|r| r["reference"].as_str().unwrap()).collect();
        assert_eq!(seen, expected[..seen.len()], "{term:?}");
        assert_eq!(seen.len(), expected.len().min(100));
    }
}

async fn control_characters_match_nothing(fixture: Fixture) {
    let names = ["plain", "two"];
    create_folders(&fixture, &names).await;
    let long = json!({ "reference": "#2", "name": "x", "description": "line\nbreak\tand tab" });
    fixture.create(Kind::Folder, long).await;
    for term in ["\u{1}", "\0", "a\0b", "#0\u{1}plain", "\u{1}\u{1}", "\u{7f}", "\u{85}"] {
        assert_matches(&fixture, &names, term, &[]).await;
    }
    for term in ["\n", "e\nb", "k\ta", "line\nbreak"] {
        assert_matches(&fixture, &names, term, &[2]).await;
    }
    assert_eq!(search(&fixture, Kind::Folder, "#0").await, ["#0"]);
}
