//! Sequences of documents: NDJSON and RFC 8142.

use super::*;

/// The lines and ids of the features in a sequence, and the lines and pointers of its errors.
fn read_text(text: &[u8]) -> (Vec<LineAndId>, Vec<(u64, String)>) {
    let mut features = Vec::new();
    let result = read_sequence(text, &Options::default(), |feature| {
        features.push((feature.line, feature.external_id));
        Ok::<_, Infallible>(())
    });
    let errors = match result {
        Ok(_) => Vec::new(),
        Err(ReadError::Invalid(errors)) => errors,
        Err(other) => panic!("{other}"),
    };
    (features, errors.into_iter().map(|error| (error.line, error.pointer)).collect())
}

type LineAndId = (u64, Option<String>);

fn id_at(line: u64, id: &str) -> LineAndId {
    (line, Some(id.to_owned()))
}

#[test]
fn sequence_is_read_line_by_line() {
    let text = format!("\u{feff}{}\r\n\n  {}\n{}", with_id("1"), with_id("2"), with_id("3"));
    let (features, errors) = read_text(text.as_bytes());
    assert_eq!(features, [id_at(1, "1"), id_at(3, "2"), id_at(4, "3")]);
    assert_eq!(errors, []);
    assert_eq!(read_text(b""), (vec![], vec![]));
    assert_eq!(read_text(b"\n \n"), (vec![], vec![]));
}

#[test]
fn record_separated_texts_can_contain_line_breaks() {
    let pretty = with_id("1").replace(',', ",\n");
    let text = format!("\x1e{pretty}\n\x1e{}\n\x1e{}", with_id("2"), with_id("3"));
    let (features, errors) = read_text(text.as_bytes());
    assert_eq!(features, [id_at(1, "1"), id_at(5, "2"), id_at(6, "3")]);
    assert_eq!(errors, []);
}

#[test]
fn invalid_line_does_not_affect_the_next() {
    for (invalid, pointer) in [
        (r#"{"type":"Feature","#, ""),
        (
            r#"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,[["#,
            "/geometry/coordinates/1",
        ),
        (r#"{"type":"Feature","properties":{"a":"unclosed}"#, "/properties/a"),
        (r#"{"type":"Point","coordinates":[0,91]}"#, "/coordinates/1"),
        ("nonsense", ""),
        (r#"{"type":"Point","coordinates":[0,0]} {}"#, ""),
        (r#"{"type":"Feature","id":1,"geometry":null,"properties":null}"#, "/id"),
    ] {
        for text in [
            format!("{}\n{invalid}\n{}\n", with_id("1"), with_id("2")),
            format!("\x1e{}\n\x1e{invalid}\n\x1e{}\n", with_id("1"), with_id("2")),
        ] {
            let (features, errors) = read_text(text.as_bytes());
            assert!(
                features.contains(&id_at(1, "1")) && features.contains(&id_at(3, "2")),
                "{invalid}"
            );
            assert_eq!(errors.len(), 1, "{invalid}");
            assert_eq!(errors[0].1, pointer, "{invalid}");
        }
    }
    assert_eq!(read_text(&b"0\n".repeat(100)).1.len(), MAX_ERRORS);
}
