//! Every message that the code, the templates or the scripts use exists, and every message is used.

use super::*;
use groma_geo::{Crs, message};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn english() -> Localizer {
    Localizer::for_language("en")
}

/// The files under a folder with one of these endings.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, endings));
        } else if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            found.push(path);
        }
    }
    found
}

/// The ids in `msg("…")`, `html("…")` and `id("…")`.
fn used_ids(text: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for call in ["msg(", "html(", "id("] {
        for (at, _) in text.match_indices(call) {
            let is_word =
                text[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
            let rest = text[at + call.len()..].trim_start();
            let literal = rest.strip_prefix('"').and_then(|rest| rest.split('"').next());
            if let (Some(literal), false) = (literal, is_word) {
                ids.insert(literal.to_owned());
            }
        }
    }
    ids
}

fn resource(text: &str) -> FluentResource {
    FluentResource::try_new(text.to_owned()).map_err(|(_, errors)| errors).expect("valid Fluent")
}

fn ids_in(resource: &FluentResource) -> Vec<String> {
    let id = |entry: &ast::Entry<&str>| match entry {
        ast::Entry::Message(message) => Some(message.id.name.to_owned()),
        _ => None,
    };
    resource.entries().filter_map(id).collect()
}

/// The messages that other messages refer to.
fn referenced_ids(text: &str) -> BTreeSet<String> {
    let inside = text.split('{').skip(1).filter_map(|part| part.split('}').next());
    inside.map(|part| part.trim().to_owned()).collect()
}

#[test]
fn messages_in_use_and_messages_in_the_file_are_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let english = FILES.iter().find(|(tag, _)| *tag == "en").unwrap().1;
    let defined: BTreeSet<String> = ids_in(&resource(english)).into_iter().collect();
    let mut used = BTreeSet::new();
    let mut sources = files(&root.join("src/web"), &["rs"]);
    sources.push(root.join("src/web.rs"));
    sources.retain(|path| !path.ends_with("i18n/tests.rs") && !path.ends_with("web/i18n.rs"));
    sources.extend(files(&root.join("templates"), &["html"]));
    for path in sources {
        for id in used_ids(&fs::read_to_string(&path).unwrap()) {
            assert!(defined.contains(&id), "{} uses `{id}`, which en.ftl lacks", path.display());
            used.insert(id);
        }
    }
    used.extend(referenced_ids(english));
    let own = ["number-group-separator", "number-decimal-separator", "language-name"];
    used.extend(own.map(str::to_owned));
    let scripts: Vec<_> = files(&root.join("../../web/src"), &["ts"])
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for id in defined {
        let is_used = if id.starts_with("script-") {
            scripts.iter().any(|text| text.contains(&format!("\"{id}\"")))
        } else {
            // Another test compares those of other crates.
            id.starts_with(REASON_PREFIX) || used.contains(&id)
        };
        assert!(is_used, "nothing uses the message `{id}`");
    }
}

/// The templates in `message!("…")`, except for those of tests.
fn templates(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.flat_map(|line| [line, "\n"]).collect();
    let literal = |rest: &str| {
        let mut letters = rest.trim_start().strip_prefix('"')?.chars();
        let mut text = String::new();
        loop {
            match letters.next()? {
                '"' => return Some(text),
                '\\' => match letters.next()? {
                    '\n' => {
                        let rest = letters.as_str().trim_start();
                        letters = rest.chars();
                    }
                    letter @ ('"' | '\\') => text.push(letter),
                    other => panic!("an unknown escape in a template: \\{other}"),
                },
                letter => text.push(letter),
            }
        }
    };
    code.split("message!(").skip(1).filter_map(literal).collect()
}

/// The names of the arguments of a message.
fn arguments(pattern: &ast::Pattern<&str>) -> BTreeSet<String> {
    let variable = |element: &ast::PatternElement<&str>| match element {
        ast::PatternElement::Placeable {
            expression: ast::Expression::Inline(ast::InlineExpression::VariableReference { id }),
        } => Some(id.name.to_owned()),
        _ => None,
    };
    pattern.elements.iter().filter_map(variable).collect()
}

#[test]
fn every_message_of_other_crates_has_a_translation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut in_code = BTreeSet::new();
    for name in ["groma-geo", "groma-domain", "groma-files", "groma-store", "groma"] {
        let mut sources = files(&root.join("..").join(name).join("src"), &["rs"]);
        sources.retain(|path| !path.ends_with("tests.rs") && !path.iter().any(|it| it == "tests"));
        for path in sources {
            in_code.extend(templates(&fs::read_to_string(path).unwrap()));
        }
    }
    assert!(in_code.len() > 200, "{} templates", in_code.len());
    let translated: BTreeSet<String> = REASONS.keys().cloned().collect();
    let missing: Vec<_> = in_code.difference(&translated).collect();
    let unused: Vec<_> = translated.difference(&in_code).collect();
    assert!(missing.is_empty(), "en.ftl lacks {missing:#?}");
    assert!(unused.is_empty(), "no code has the template {unused:#?}");
    let reasons = ids_in(&resource(FILES.iter().find(|(tag, _)| *tag == "en").unwrap().1));
    let reasons = reasons.iter().filter(|id| id.starts_with(REASON_PREFIX)).count();
    assert_eq!(reasons, REASONS.len(), "two messages in en.ftl have the same text");
}

#[test]
fn translations_of_other_crates_have_the_same_arguments() {
    let arguments_in = |text: &'static str| -> HashMap<String, BTreeSet<String>> {
        let reason = |entry: &ast::Entry<&str>| match entry {
            ast::Entry::Message(message) if message.id.name.starts_with(REASON_PREFIX) => {
                Some((message.id.name.to_owned(), arguments(message.value.as_ref()?)))
            }
            _ => None,
        };
        resource(text).entries().filter_map(reason).collect()
    };
    let english = arguments_in(FILES.iter().find(|(tag, _)| *tag == "en").unwrap().1);
    for (tag, text) in FILES {
        assert_eq!(arguments_in(text), english, "{tag}");
    }
}

#[test]
fn message_of_another_crate_is_translated_with_its_values() {
    let french = Localizer::for_language("fr");
    let limit = message!("exceeds the limit of {limit} rings per feature", limit = 100_000);
    assert_eq!(french.translate(&limit), "dépasse la limite de 100\u{202f}000 anneaux par objet");
    assert_eq!(english().translate(&limit), "exceeds the limit of 100,000 rings per feature");
    let error = Crs::parse("EPSG:2042").unwrap_err().message();
    assert_eq!(english().translate(&error), error.to_string());
    let expected =
        "EPSG:2042 n’est pas pris en charge : aucune transformation vers WGS 84 n’est publiée";
    assert_eq!(french.translate(&error), expected);
}

#[test]
fn every_language_has_the_same_messages_once() {
    let sorted = |text: &str| {
        let mut ids = ids_in(&resource(text));
        ids.sort();
        ids
    };
    let english = sorted(FILES.iter().find(|(tag, _)| *tag == "en").unwrap().1);
    assert!(english.windows(2).all(|pair| pair[0] != pair[1]), "a message is defined twice");
    for (tag, text) in FILES {
        assert_eq!(sorted(text), english, "{tag}");
    }
}

#[test]
fn script_messages_fit_into_a_data_block() {
    for locale in LOCALES.iter() {
        assert!(!locale.script_with_map.contains('<'), "{}", locale.language);
        resource(&locale.script_with_map);
    }
}

#[test]
fn number_selects_the_plural_form_and_has_separators() {
    let records = |count: u64| {
        english().msg("record-count").arg("kind", "folder").arg("count", count).to_string()
    };
    assert_eq!(records(1), "1 folder");
    assert_eq!(records(1_204), "1,204 folders");
}

#[test]
fn arguments_of_html_messages_are_escaped() {
    let text = english().html("search-nothing-found").arg("term", "<b>").to_string();
    assert!(text.contains("<em>&#60;b&#62;</em>"), "{text}");
}

#[test]
fn unknown_language_falls_back_to_english() {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT_LANGUAGE, "tlh, xx;q=0.5".parse().unwrap());
    assert_eq!(Localizer::for_request(&headers).lang(), "en");
    assert_eq!(Localizer::for_request(&HeaderMap::new()).lang(), "en");
}
