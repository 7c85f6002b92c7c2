//! Any shape, any bytes.

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

/// The type and the positions, where a height that is missing among others is 0.
fn levelled(geometry: &Geometry) -> (String, Vec<Position>) {
    let mut positions = Vec::new();
    geometry.each_position(&mut |at| positions.push(at));
    let has_z = positions.iter().any(|at| at.z.is_some());
    if has_z {
        positions.iter_mut().for_each(|at| at.z = at.z.or(Some(0.0)));
    }
    let brackets =
        written(geometry).replace(|c: char| !"[]{}".contains(c) && !c.is_alphabetic(), "");
    (brackets, positions)
}

fn document() -> impl Strategy<Value = Vec<u8>> {
    const TEMPLATE: &str = r#"{"type":"FeatureCollection","note":{"a":[null,true,"é\u00e9"]},"bbox":[0,0,1,1],"features":[{"type":"Feature","id":7,"properties":{"a\n":-1.5e3,"b":{"c":["😀",false]}},"geometry":*},{"type":"Feature","geometry":null,"properties":null}]}"#;
    any_geometry().prop_map(|geometry| TEMPLATE.replace('*', &written(&geometry)).into_bytes())
}

/// Gives a byte at a time.
struct Drip<'a>(&'a [u8]);

impl io::Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        io::Read::read(&mut self.0, &mut buffer[..length])
    }
}

/// Everything there is to see of a reading.
fn seen(input: impl io::Read, as_sequence: bool) -> String {
    let mut features = Vec::new();
    let mut take = |feature| {
        features.push(feature);
        Ok::<_, Infallible>(())
    };
    let outcome = match as_sequence {
        false => read(input, &Options::default(), &mut take),
        true => read_seq(input, &Options::default(), &mut take),
    };
    format!("{outcome:?} {features:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_geometry_is_the_same_after_geojson_and_wkb(geometry in any_geometry()) {
        let geometry = repair::put_right(geometry);
        let read = self::geometry(&written(&geometry));
        prop_assert_eq!(&read, &geometry);
        let kept = wkb::from_wkb(&wkb::to_wkb(&read)).unwrap();
        prop_assert_eq!(&wkb::from_wkb(&wkb::to_ewkb(&read)).unwrap(), &kept);
        prop_assert_eq!(levelled(&kept), levelled(&geometry));
    }

    #[test]
    fn a_byte_at_a_time_reads_the_same(document in document(), cut in any::<prop::sample::Index>()) {
        for text in [&document[..], &document[..cut.index(document.len())]] {
            for as_sequence in [false, true] {
                prop_assert_eq!(seen(Drip(text), as_sequence), seen(text, as_sequence));
            }
        }
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        seen(&bytes[..], false);
        seen(&bytes[..], true);
    }

    #[test]
    fn no_json_like_text_does_harm(text in r#"([\[\]{},:" \n]|"type"|"Point"|"coordinates"|"features"|"geometry"|null|-?[0-9.e]{1,6}|\\u[d0][0-9a-f]{3}){0,60}"#) {
        seen(text.as_bytes(), false);
        seen(text.as_bytes(), true);
    }

    #[test]
    fn no_change_to_a_document_does_harm(
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
        prop_assert_eq!(seen(Drip(&document), false), seen(&document[..], false));
        seen(&document[..], true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn a_document_cut_off_anywhere_is_refused(document in document()) {
        prop_assert!(seen(&document[..], false).starts_with("Ok(2)"));
        for cut in 0..document.len() {
            let spots = spots(&document[..cut]);
            prop_assert_eq!(spots.len(), 1);
        }
    }
}
