//! Sequences: a feature a line.

use super::*;

/// The lines and ids of the features of a sequence, and the lines and pointers of its faults.
fn sequence(text: &[u8]) -> (Vec<Found>, Vec<(u64, String)>) {
    let mut features = Vec::new();
    let outcome = read_seq(text, &Options::default(), |feature| {
        features.push((feature.line, feature.external_id));
        Ok::<_, Infallible>(())
    });
    let spots = match outcome {
        Ok(_) => Vec::new(),
        Err(ReadError::Refused(spots)) => spots,
        Err(other) => panic!("{other}"),
    };
    (features, spots.into_iter().map(|spot| (spot.line, spot.pointer)).collect())
}

type Found = (u64, Option<String>);

fn id_at(line: u64, id: &str) -> Found {
    (line, Some(id.to_owned()))
}

#[test]
fn a_sequence_is_read_line_by_line() {
    let text = format!("\u{feff}{}\r\n\n  {}\n{}", with_id("1"), with_id("2"), with_id("3"));
    let (features, spots) = sequence(text.as_bytes());
    assert_eq!(features, [id_at(1, "1"), id_at(3, "2"), id_at(4, "3")]);
    assert_eq!(spots, []);
    assert_eq!(sequence(b""), (vec![], vec![]));
    assert_eq!(sequence(b"\n \n"), (vec![], vec![]));
}

#[test]
fn a_sequence_with_record_separators_may_break_its_lines() {
    let pretty = with_id("1").replace(',', ",\n");
    let text = format!("\x1e{pretty}\n\x1e{}\n\x1e{}", with_id("2"), with_id("3"));
    let (features, spots) = sequence(text.as_bytes());
    assert_eq!(features, [id_at(1, "1"), id_at(5, "2"), id_at(6, "3")]);
    assert_eq!(spots, []);
}

#[test]
fn a_bad_line_does_not_hold_back_the_next() {
    for (bad, pointer) in [
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
            format!("{}\n{bad}\n{}\n", with_id("1"), with_id("2")),
            format!("\x1e{}\n\x1e{bad}\n\x1e{}\n", with_id("1"), with_id("2")),
        ] {
            let (features, spots) = sequence(text.as_bytes());
            assert!(
                features.contains(&id_at(1, "1")) && features.contains(&id_at(3, "2")),
                "{bad}"
            );
            assert_eq!(spots.len(), 1, "{bad}");
            assert_eq!(spots[0].1, pointer, "{bad}");
        }
    }
    assert_eq!(sequence(&b"0\n".repeat(100)).1.len(), MAX_SPOTS);
}
