//! Properties that hold for any geometry and any bytes.

use super::*;

fn position() -> impl Strategy<Value = Position> {
    let z = prop_oneof![Just(None), (-1e4..1e4).prop_map(Some)];
    (-180.0..=180.0, -90.0..=90.0, z).prop_map(|(x, y, z)| Position { x, y, z })
}

fn ring() -> impl Strategy<Value = Line> {
    prop::collection::vec(position(), 3..9).prop_map(|mut ring| {
        ring.push(ring[0]);
        ring
    })
}

fn any_geometry() -> impl Strategy<Value = Geometry> {
    use prop::collection::vec;
    let shape = prop_oneof![
        position().prop_map(Geometry::Point),
        vec(position(), 0..5).prop_map(Geometry::MultiPoint),
        vec(position(), 2..9).prop_map(Geometry::LineString),
        vec(vec(position(), 2..5), 0..4).prop_map(Geometry::MultiLineString),
        vec(ring(), 1..4).prop_map(Geometry::Polygon),
        vec(vec(ring(), 1..3), 0..3).prop_map(Geometry::MultiPolygon),
    ];
    shape.prop_recursive(3, 12, 3, |part| vec(part, 0..4).prop_map(Geometry::Collection))
}

/// The structure and the positions of a geometry. If some positions have a height, the others get 0.
fn with_uniform_heights(geometry: &Geometry) -> (String, Vec<Position>) {
    let mut positions = Vec::new();
    geometry.each_position(&mut |at| positions.push(at));
    let has_z = positions.iter().any(|at| at.z.is_some());
    if has_z {
        positions.iter_mut().for_each(|at| at.z = at.z.or(Some(0.0)));
    }
    let brackets =
        to_json(geometry).replace(|c: char| !"[]{}".contains(c) && !c.is_alphabetic(), "");
    (brackets, positions)
}

fn document() -> impl Strategy<Value = Vec<u8>> {
    const TEMPLATE: &str = r#"{"type":"FeatureCollection","note":{"a":[null,true,"é\u00e9"]},"bbox":[0,0,1,1],"features":[{"type":"Feature","id":7,"properties":{"a\n":-1.5e3,"b":{"c":["😀",false]}},"geometry":*},{"type":"Feature","geometry":null,"properties":null}]}"#;
    any_geometry().prop_map(|geometry| TEMPLATE.replace('*', &to_json(&geometry)).into_bytes())
}

/// Returns one byte per read.
struct OneByteReader<'a>(&'a [u8]);

impl io::Read for OneByteReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        io::Read::read(&mut self.0, &mut buffer[..length])
    }
}

/// Everything that reading an input returns.
fn read_result(input: impl io::Read, as_sequence: bool) -> String {
    let mut features = Vec::new();
    let mut take = |feature| {
        features.push(feature);
        Ok::<_, Infallible>(())
    };
    let outcome = match as_sequence {
        false => read(input, &Options::default(), &mut take),
        true => read_sequence(input, &Options::default(), &mut take),
    };
    format!("{outcome:?} {features:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn geometry_round_trips_through_geojson_and_wkb(geometry in any_geometry()) {
        let geometry = repair::repair_geometry(geometry);
        let read = self::geometry(&to_json(&geometry));
        prop_assert_eq!(&read, &geometry);
        let stored = wkb::from_wkb(&wkb::to_wkb(&read)).unwrap();
        prop_assert_eq!(&wkb::from_wkb(&wkb::to_ewkb(&read)).unwrap(), &stored);
        prop_assert_eq!(with_uniform_heights(&stored), with_uniform_heights(&geometry));
    }

    #[test]
    fn reading_byte_by_byte_gives_the_same_result(document in document(), cut in any::<prop::sample::Index>()) {
        for text in [&document[..], &document[..cut.index(document.len())]] {
            for as_sequence in [false, true] {
                prop_assert_eq!(read_result(OneByteReader(text), as_sequence), read_result(text, as_sequence));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_result(&bytes[..], false);
        read_result(&bytes[..], true);
    }

    #[test]
    fn json_like_text_does_not_panic(text in r#"([\[\]{},:" \n]|"type"|"Point"|"coordinates"|"features"|"geometry"|null|-?[0-9.e]{1,6}|\\u[d0][0-9a-f]{3}){0,60}"#) {
        read_result(text.as_bytes(), false);
        read_result(text.as_bytes(), true);
    }

    #[test]
    fn changed_documents_do_not_panic(
        mut document in document(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>(),
            prop::sample::select(br#"[]{},:"0-9e.\nu"#.to_vec()),
        ]), 1..6),
    ) {
        for (index, byte) in changes {
            let index = index.index(document.len());
            document[index] = byte;
        }
        prop_assert_eq!(read_result(OneByteReader(&document), false), read_result(&document[..], false));
        read_result(&document[..], true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn truncated_document_is_rejected(document in document()) {
        prop_assert!(read_result(&document[..], false).starts_with("Ok(2)"));
        for cut in 0..document.len() {
            let errors = errors(&document[..cut]);
            prop_assert_eq!(errors.len(), 1);
        }
    }
}
