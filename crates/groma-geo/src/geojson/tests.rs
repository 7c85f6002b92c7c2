//! The promises of the contract (§ 7) and of «What Groma holds out against», line by line.

use super::*;
use crate::{Line, Position, repair, wkb};
use proptest::prelude::*;
use serde_json::json;
use std::{convert::Infallible, iter};

fn features_with(options: &Options, text: &[u8]) -> Result<Vec<Feature>, ReadError<Infallible>> {
    let mut features = Vec::new();
    let count = read(text, options, |feature| {
        features.push(feature);
        Ok(())
    })?;
    assert_eq!(count, features.len() as u64);
    Ok(features)
}

fn features(text: impl AsRef<[u8]>) -> Vec<Feature> {
    features_with(&Options::default(), text.as_ref()).unwrap()
}

fn one(text: impl AsRef<[u8]>) -> Feature {
    let mut features = features(text);
    assert_eq!(features.len(), 1);
    features.remove(0)
}

fn geometry(text: &str) -> Geometry {
    one(text).geometry.unwrap()
}

fn spots(input: impl io::Read) -> Vec<Spot> {
    match read(input, &Options::default(), |_| Ok::<_, Infallible>(())) {
        Err(ReadError::Refused(spots)) => spots,
        other => panic!("not refused: {other:?}"),
    }
}

/// The pointer of the one spot that this text is refused for.
fn spot(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let spots = spots(text);
    assert_eq!(spots.len(), 1, "{} {spots:?}", String::from_utf8_lossy(text));
    assert!(!spots[0].message.is_empty());
    spots[0].pointer.clone()
}

/// A collection of one good feature and this one, which is at `/features/1`.
fn second(feature: &str) -> String {
    let first = r#"{"type":"Feature","geometry":null,"properties":null}"#;
    format!(r#"{{"type":"FeatureCollection","features":[{first},{feature}]}}"#)
}

/// A Feature of this type with these coordinates.
fn shaped(r#type: &str, coordinates: &str) -> String {
    second(&format!(
        r#"{{"type":"Feature","properties":{{}},"geometry":{{"type":"{type}","coordinates":{coordinates}}}}}"#
    ))
}

fn with_properties(properties: &str) -> String {
    format!(r#"{{"type":"Feature","geometry":null,"properties":{properties}}}"#)
}

fn with_id(id: &str) -> String {
    format!(r#"{{"type":"Feature","id":{id},"geometry":null,"properties":null}}"#)
}

fn at(x: f64, y: f64) -> Position {
    Position { x, y, z: None }
}

// Refused

#[test]
fn coordinates_that_are_no_coordinates_are_refused_where_they_are() {
    const AT: &str = "/features/1/geometry/coordinates";
    for (r#type, coordinates, below) in [
        ("Point", "[NaN,0]", "/0"),
        ("Point", "[0,Infinity]", "/1"),
        ("Point", "[0,-Infinity]", "/1"),
        ("Point", "[1e400,0]", "/0"),
        ("Point", "[0,0,-1e400]", "/2"),
        ("Point", "[0,0,0,1e400]", "/3"),
        ("Point", "[1e308,0]", "/0"),
        ("Point", "[0,0,1e308]", "/2"),
        ("Point", r#"["1",0]"#, "/0"),
        ("Point", "[0,null]", "/1"),
        ("Point", "[0,0,null]", "/2"),
        ("Point", r#"[0,0,0,"m"]"#, "/3"),
        ("Point", "[1]", ""),
        ("Point", "[]", ""),
        ("Point", "null", ""),
        ("Point", r#""0,0""#, ""),
        ("Point", "{}", ""),
        ("MultiPoint", "[[1,2],[1]]", "/1"),
        ("MultiPoint", "[[]]", "/0"),
        ("LineString", "[[0,0]]", ""),
        ("LineString", "[]", ""),
        ("LineString", "[[]]", "/0"),
        ("LineString", "[[0,0],null]", "/1"),
        ("MultiLineString", "[[]]", "/0"),
        ("MultiLineString", "[[[0,0],[1,1]],[[0,0]]]", "/1"),
        ("Polygon", "[]", ""),
        ("Polygon", "[[]]", "/0"),
        ("Polygon", "[[[0,0],[1,0],[1,1],[0,1]]]", "/0"),
        ("Polygon", "[[[0,0],[1,0],[0,0]]]", "/0"),
        ("Polygon", "[[[0,0],[9,0],[9,9],[0,0]],[[1,1],[2,1],[1,1]]]", "/1"),
        ("MultiPolygon", "[[]]", "/0"),
        ("MultiPolygon", "[[[]]]", "/0/0"),
        ("MultiPolygon", "[[[[0,0],[9,0],[9,9],[0,0]]],[[[0,0],[9,0],[9,9],[1,1]]]]", "/1/0"),
        ("Point", "[0,90.1]", "/1"),
        ("Point", "[0,-91]", "/1"),
        ("LineString", "[[0,0],[0,90.0000001]]", "/1/1"),
        ("Polygon", "[[[0,0],[9,0],[9,99],[0,0]]]", "/0/2/1"),
        ("MultiPolygon", "[[[[0,0],[9,0],[9,99],[0,0]]]]", "/0/0/2/1"),
        ("Point", "[541,0]", "/0"),
        ("Point", "[-540.1,0]", "/0"),
        // Arrays that go too deep or not deep enough.
        ("Point", "[[1,2]]", "/0"),
        ("Point", "[[[1,2]]]", "/0"),
        ("LineString", "[1,2]", "/0"),
        ("LineString", "[[[0,0],[1,1]]]", "/0/0"),
        ("MultiPoint", "[[0,0],[[1,1]]]", "/1/0"),
        ("Polygon", "[[0,0],[1,0],[1,1],[0,0]]", "/0/0"),
        ("Polygon", "[[[[0,0],[1,0],[1,1],[0,0]]]]", "/0/0/0"),
        ("MultiPolygon", "[[[0,0],[1,0],[1,1],[0,0]]]", "/0/0/0"),
        ("MultiPolygon", "[[[[[0,0]]]]]", "/0/0/0/0"),
    ] {
        let text = shaped(r#type, coordinates);
        assert_eq!(spot(&text), format!("{AT}{below}"), "{type} {coordinates}");
        // The same when `type` comes last, although the place may be told less closely.
        let text = second(&format!(
            r#"{{"geometry":{{"coordinates":{coordinates},"type":"{type}"}},"properties":{{}},"type":"Feature"}}"#
        ));
        assert!(spot(&text).starts_with(AT), "{type} {coordinates}");
    }
}

#[test]
fn objects_that_are_no_geojson_are_refused_where_they_are() {
    for (text, pointer) in [
        // Types
        (r#"{}"#, ""),
        (r#"{"coordinates":[0,0]}"#, ""),
        (r#"{"type":null}"#, "/type"),
        (r#"{"type":"Circle","coordinates":[0,0]}"#, "/type"),
        (r#"{"type":"point","coordinates":[0,0]}"#, "/type"),
        (r#"{"type":"featurecollection","features":[]}"#, "/type"),
        (r#"[]"#, ""),
        (r#"null"#, ""),
        (r#""Feature""#, ""),
        // Members that are missing or null
        (r#"{"type":"FeatureCollection"}"#, ""),
        (r#"{"type":"FeatureCollection","features":null}"#, "/features"),
        (r#"{"type":"FeatureCollection","features":{}}"#, "/features"),
        (r#"{"type":"FeatureCollection","features":[null]}"#, "/features/0"),
        (r#"{"type":"Point"}"#, ""),
        (r#"{"type":"Point","coordinates":null}"#, "/coordinates"),
        (r#"{"type":"GeometryCollection"}"#, ""),
        (r#"{"type":"GeometryCollection","geometries":null}"#, "/geometries"),
        (r#"{"type":"GeometryCollection","geometries":[null]}"#, "/geometries/0"),
        (r#"{"type":"Feature","properties":{}}"#, ""),
        (r#"{"type":"Feature","geometry":null}"#, ""),
        (r#"{"type":"Feature","geometry":[],"properties":{}}"#, "/geometry"),
        (r#"{"type":"Feature","geometry":null,"properties":[]}"#, "/properties"),
        (r#"{"type":"Feature","geometry":null,"properties":"a"}"#, "/properties"),
        (r#"{"type":"Feature","geometry":{"type":"Point"},"properties":{}}"#, "/geometry"),
        // Members that make it something else
        (
            r#"{"type":"Feature","geometry":null,"properties":{},"coordinates":[0,0]}"#,
            "/coordinates",
        ),
        (r#"{"type":"Feature","geometry":null,"properties":{},"features":[]}"#, "/features"),
        (r#"{"coordinates":[0,0],"type":"Feature","geometry":null,"properties":{}}"#, "/type"),
        (r#"{"type":"Point","coordinates":[0,0],"properties":{}}"#, "/properties"),
        (r#"{"type":"Point","geometries":[]}"#, "/geometries"),
        (r#"{"type":"FeatureCollection","features":[],"geometry":null}"#, "/geometry"),
        (r#"{"features":[],"type":"Feature","geometry":null,"properties":{}}"#, "/type"),
        (
            r#"{"type":"Feature","geometry":{"type":"Feature","geometry":null},"properties":{}}"#,
            "/geometry/type",
        ),
        (
            r#"{"type":"GeometryCollection","geometries":[{"type":"Feature"}]}"#,
            "/geometries/0/type",
        ),
        // Keys that come twice
        (r#"{"type":"Point","type":"Point","coordinates":[0,0]}"#, "/type"),
        (r#"{"type":"Point","coordinates":[0,0],"coordinates":[1,1]}"#, "/coordinates"),
        (r#"{"type":"Point","coordinates":[0,0],"note":1,"n\u006fte":2}"#, "/note"),
        (r#"{"type":"FeatureCollection","features":[],"features":[]}"#, "/features"),
        // Boxes
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[0,0,0]}"#, "/bbox"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[]}"#, "/bbox"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[0,0,0,0,0]}"#, "/bbox"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[0,0,0,"0"]}"#, "/bbox/3"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":"world"}"#, "/bbox"),
    ] {
        assert_eq!(spot(text), pointer, "{text}");
    }
}

#[test]
fn members_of_a_collection_are_features_and_nothing_else() {
    for (feature, pointer) in [
        (r#"{"type":"Point","coordinates":[0,0]}"#, "/features/1/type"),
        (r#"{"coordinates":[0,0],"type":"Point"}"#, "/features/1/coordinates"),
        (r#"{"type":"FeatureCollection","features":[]}"#, "/features/1/type"),
        (r#"{"features":[],"type":"FeatureCollection"}"#, "/features/1/features"),
        (r#"{"geometry":null,"properties":{}}"#, "/features/1"),
        (r#"7"#, "/features/1"),
        (r#"{"type":"Feature","geometry":null}"#, "/features/1"),
        (r#"{"type":"Feature","properties":null}"#, "/features/1"),
        (r#"{"type":"Feature","type":"Feature"}"#, "/features/1/type"),
    ] {
        assert_eq!(spot(second(feature)), pointer, "{feature}");
    }
}

#[test]
fn keys_that_come_twice_are_refused_at_any_depth_of_properties() {
    assert_eq!(spot(with_properties(r#"{"a":1,"b":2,"a":3}"#)), "/properties/a");
    assert_eq!(spot(with_properties(r#"{"a":{"b":[{"c":1,"\u0063":2}]}}"#)), "/properties/a/b/0/c");
    assert_eq!(spot(with_properties(r#"{"a/b~c":{"d":1,"d":1}}"#)), "/properties/a~1b~0c/d");
    assert_eq!(spot(with_properties(r#"{"":0,"":0}"#)), "/properties/");
}

#[test]
fn an_id_is_a_short_line_or_a_number() {
    for id in ["null", "{}", "[1]", "true", r#""""#, r#""a\nb""#, r#""\u0085""#, "1e400", "1e300"] {
        assert_eq!(spot(with_id(id)), "/id", "{id}");
    }
    assert_eq!(spot(with_id(&format!("\"{}\"", "é".repeat(256)))), "/id");
    assert_eq!(spot(with_id(&format!("\"{}\"", "x".repeat(10_000)))), "/id");
    for (id, text) in [("1", "1"), ("1.0", "1"), (r#""1""#, "1"), (r#""1.0""#, "1.0"), ("-7", "-7")]
    {
        assert_eq!(one(with_id(id)).external_id.as_deref(), Some(text));
    }
    let longest = "é".repeat(255);
    assert_eq!(one(with_id(&format!("\"{longest}\""))).external_id, Some(longest));
}

#[test]
fn the_same_id_twice_is_refused_at_the_second() {
    for (first, second) in [("1", "1"), ("1", r#""1""#), ("1.0", "1"), (r#""a""#, r#""\u0061""#)] {
        let text = format!(
            r#"{{"type":"FeatureCollection","features":[{},{},{}]}}"#,
            with_id(first),
            with_id("99"),
            with_id(second)
        );
        assert_eq!(spot(text), "/features/2/id");
    }
}

#[test]
fn text_that_is_no_json_is_refused_where_it_breaks() {
    for (text, pointer) in [
        (&br#""#[..], ""),
        (b"  \n", ""),
        (br#"{"type":"Point","coordinates":[0,0]} x"#, ""),
        (br#"{"type":"Point","coordinates":[0,0]},"#, ""),
        (b"{\"type\":\"Point\",\"coordinates\":[0,0]}\n{\"type\":\"Point\",\"coordinates\":[0,0]}", ""),
        (b"{\"type\":\"Point\",\"coordinates\":[0,0]}\0", ""),
        (b"\x1e{\"type\":\"Point\",\"coordinates\":[0,0]}", ""),
        (br#"{"type":"Point","coordinates":[0,0"#, "/coordinates"),
        (br#"{"type":"Point","coordinates":[0,"#, "/coordinates/1"),
        (br#"{"type":"Point","coordinates":[0,0]"#, ""),
        (br#"{"type":"Poi"#, "/type"),
        (br#"{"type":"FeatureCollection","features":[{"type":"Feat"#, "/features/0/type"),
        (br#"{"type":"Point","coordinates":[0,]}"#, "/coordinates/1"),
        (br#"{"type":"Point","coordinates":[0,0],}"#, ""),
        (br#"{"type":"Point","coordinates":[00,0]}"#, "/coordinates/0"),
        (br#"{"type":"Point","coordinates":[+1,0]}"#, "/coordinates/0"),
        (br#"{"type":"Point","coordinates":[.5,0]}"#, "/coordinates/0"),
        (br#"{"type":"Point","coordinates":[1.,0]}"#, "/coordinates/0"),
        (br#"{"type":"Point","coordinates":[0x10,0]}"#, "/coordinates"),
        (br#"{'type':'Point'}"#, ""),
        (br#"{"type":"Point","note":tru}"#, "/note"),
        (br#"{"type":"Point","note":"\x"}"#, "/note"),
        (b"{\"type\":\"Point\",\"note\":\"a\nb\"}", "/note"),
        // Not UTF-8: a stray byte, an overlong form, a surrogate, a character cut short.
        (b"{\"type\":\"Point\",\"note\":\"\xff\"}", "/note"),
        (b"{\"type\":\"Point\",\"note\":\"\xc0\x80\"}", "/note"),
        (b"{\"type\":\"Point\",\"note\":\"\xed\xa0\x80\"}", "/note"),
        (b"{\"type\":\"Point\",\"note\":\"\\n\xe2\x82\"}", "/note"),
        (b"{\"type\":\"Point\",\"\xff\":1}", ""),
        (b"{\"type\":\"Feature\",\"geometry\":null,\"properties\":{\"a\":\"\xff\"}}", "/properties/a"),
        (b"\xff\xfe{\0}\0", ""),
    ] {
        assert_eq!(spot(text), pointer, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn lone_surrogates_and_nul_are_refused_where_they_would_be_kept() {
    for text in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud83dx", r"\u0000", r"a\u0000b"] {
        assert_eq!(spot(with_properties(&format!(r#"{{"a":"{text}"}}"#))), "/properties/a");
        assert_eq!(spot(with_properties(&format!(r#"{{"{text}":1}}"#))), "/properties");
        assert_eq!(spot(with_id(&format!("\"{text}\""))), "/id");
    }
    let kept = one(with_properties(r#"{"a":"\ud83d\ude00 \u00e9\/\"\\\b\f\n\r\t"}"#));
    assert_eq!(kept.properties["a"], "😀 é/\"\\\u{8}\u{c}\n\r\t");
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    // Two are open around it: the feature and its properties.
    one(with_properties(&format!(r#"{{"a":{}}}"#, nested(30))));
    let pointer = spot(with_properties(&format!(r#"{{"a":{}}}"#, nested(31))));
    assert_eq!(pointer, format!("/properties/a{}", "/0".repeat(30)));
    assert!(spot(format!(r#"{{"note":{}"#, "[".repeat(1_000_000))).starts_with("/note"));
    assert!(spot(format!(r#"{{"coordinates":{}"#, "[".repeat(1_000_000))).starts_with("/coord"));
}

#[test]
fn collections_nest_four_deep() {
    let nested = |depth: usize| {
        iter::repeat_n((), depth)
            .fold(r#"{"type":"Point","coordinates":[1,2]}"#.to_owned(), |inner, ()| {
                format!(r#"{{"type":"GeometryCollection","geometries":[{inner}]}}"#)
            })
    };
    geometry(&nested(4));
    assert_eq!(spot(nested(5)), format!("{}/geometries", "/geometries/0".repeat(4)));
}

#[test]
fn a_number_has_an_end() {
    let digits = "9".repeat(1_000_000);
    assert_eq!(
        spot(shaped("Point", &format!("[{digits},0]"))),
        "/features/1/geometry/coordinates/0"
    );
    assert_eq!(spot(with_properties(&format!(r#"{{"a":0.{digits}}}"#))), "/properties/a");
    assert_eq!(spot(with_properties(r#"{"a":1e400}"#)), "/properties/a");
    assert_eq!(spot(with_properties(r#"{"a":1e-99999}"#)), "/properties/a");
    assert_eq!(spot(with_id(&digits)), "/id");
}

#[test]
fn a_feature_has_an_end() {
    const POINTS: &str = r#"{"type":"MultiPoint","coordinates":[*]}"#;
    let most = repeated(POINTS, "[1,2]", MAX_VERTICES);
    assert!(read(most, &Options::default(), |_| Ok::<_, ()>(())).is_ok());
    let over = spots(repeated(POINTS, "[1,2]", MAX_VERTICES + 1));
    assert_eq!(over[0].pointer, "/coordinates/1000000");

    const RINGS: &str = r#"{"type":"Polygon","coordinates":[*]}"#;
    let ring = "[[0,0],[1,0],[1,1],[0,0]]";
    let over = spots(repeated(RINGS, ring, MAX_RINGS + 1));
    assert_eq!((over[0].pointer.as_str(), over[0].message.contains("rings")), ("", true));

    const PARTS: &str = r#"{"type":"GeometryCollection","geometries":[*]}"#;
    let empty = r#"{"type":"MultiPoint","coordinates":[]}"#;
    let over = spots(repeated(PARTS, empty, MAX_PARTS + 1));
    assert_eq!(over[0].pointer, "/geometries/100000");
}

#[test]
fn properties_have_an_end() {
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|key| format!("\"{key}\":null")).collect();
        with_properties(&format!("{{{}}}", keys.join(",")))
    };
    assert_eq!(one(keys(1_000)).properties.len(), 1_000);
    assert_eq!(spot(keys(1_001)), "/properties");
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_PROPERTIES));
    assert_eq!(spot(with_properties(&large)), "/properties/a");
    let many = repeated(r#"{"type":"Feature","properties":{"a":[*]}}"#, "0", 1_000_000);
    assert!(spots(many)[0].pointer.starts_with("/properties/a/"));
    let members: String = (0..1_001).map(|member| format!("\"{member}\":0,")).collect();
    assert_eq!(spot(format!(r#"{{{members}"type":"Point","coordinates":[0,0]}}"#)), "/1000");
}

/// The text with `item` `count` times in place of `*`, commas between, never held as a whole.
fn repeated(text: &str, item: &str, count: usize) -> impl io::Read + use<> {
    let (before, after) = text.split_once('*').unwrap();
    let (before, after) = (before.to_owned(), after.to_owned());
    let item = iter::once(item.to_owned()).chain(iter::repeat_n(format!(",{item}"), count - 1));
    Pieces {
        pieces: iter::once(before).chain(item).chain(iter::once(after)),
        rest: io::Cursor::default(),
    }
}

struct Pieces<I> {
    pieces: I,
    rest: io::Cursor<Vec<u8>>,
}

impl<I: Iterator<Item = String>> io::Read for Pieces<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.rest.read(buffer)? {
                0 => match self.pieces.next() {
                    Some(piece) => self.rest = io::Cursor::new(piece.into_bytes()),
                    None => return Ok(0),
                },
                read => return Ok(read),
            }
        }
    }
}

// Told

#[test]
fn a_bad_feature_does_not_hold_back_the_next() {
    let good = |id: &str| with_id(id);
    let bad = r#"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,"x",{"y":[1]}]},"properties":{}}"#;
    let text = format!(
        r#"{{"features":[{},{bad},{},3,{}],"type":"FeatureCollection"}}"#,
        good("1"),
        good("2"),
        good("3"),
    );
    let mut ids = Vec::new();
    let outcome = read(text.as_bytes(), &Options::default(), |feature| {
        ids.push((feature.external_id.clone().unwrap(), feature.pointer()));
        Ok::<_, Infallible>(())
    });
    assert_eq!(
        ids,
        [("1", 0), ("2", 2), ("3", 4)]
            .map(|(id, index)| { (id.to_owned(), format!("/features/{index}")) })
    );
    let Err(ReadError::Refused(spots)) = outcome else { panic!("{outcome:?}") };
    let pointers: Vec<&str> = spots.iter().map(|spot| spot.pointer.as_str()).collect();
    assert_eq!(pointers, ["/features/1/geometry/coordinates/1", "/features/3"]);
}

#[test]
fn twenty_faults_are_enough() {
    let text =
        format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, vec!["0"; 50].join(","));
    let spots = spots(text.as_bytes());
    assert_eq!(spots.len(), MAX_SPOTS);
    assert_eq!(spots[19].pointer, "/features/19");
}

#[test]
fn broken_text_is_told_after_the_faults_before_it() {
    let spots = spots(&br#"{"type":"FeatureCollection","features":[0,{"type":"Feature","#[..]);
    let pointers: Vec<&str> = spots.iter().map(|spot| spot.pointer.as_str()).collect();
    assert_eq!(pointers, ["/features/0", "/features/1"]);
}

#[test]
fn what_is_repeated_to_the_sender_is_short() {
    let long = "x".repeat(15_000);
    let r#type = format!(r#"{{"type":"{long}"}}"#);
    let crs = format!(r#"{{"crs":{{"type":"name","properties":{{"name":"{long}"}}}}}}"#);
    let key = with_properties(&format!(r#"{{"{long}":{{"a":1,"a":1}}}}"#));
    let id = format!(
        r#"{{"features":[{},{}],"type":"FeatureCollection"}}"#,
        with_id(&format!("\"{}\"", "x".repeat(255))),
        with_id(&format!("\"{}\"", "x".repeat(255))),
    );
    for text in [r#type, crs, key, id] {
        let spot = spots(text.as_bytes()).remove(0);
        assert!(spot.pointer.len() < 200 && spot.message.len() < 200, "{spot:?}");
    }
}

#[test]
fn failing_input_is_no_fault_of_the_document() {
    struct Fails;
    impl io::Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB"))
        }
    }
    let text = io::Read::chain(&br#"{"type":"FeatureCollection","features":[0,"#[..], Fails);
    match read(text, &Options::default(), |_| Ok::<_, Infallible>(())) {
        Err(ReadError::Input(error)) => assert_eq!(error.kind(), io::ErrorKind::FileTooLarge),
        other => panic!("{other:?}"),
    }
}

#[test]
fn features_are_handed_on_while_the_rest_is_still_to_come() {
    let endless = repeated(
        r#"{"type":"FeatureCollection","features":[*"#,
        &with_properties("null"),
        usize::MAX,
    );
    let mut count = 0;
    let outcome = read(endless, &Options::default(), |_| {
        count += 1;
        if count == 10_000 { Err("enough") } else { Ok(()) }
    });
    assert!(matches!(outcome, Err(ReadError::Stopped("enough"))), "{outcome:?}");
}

// Accepted

#[test]
fn any_object_of_geojson_is_read() {
    let point = Geometry::Point(at(1.0, 2.0));
    for (text, geometry) in [
        (r#"{"type":"Point","coordinates":[1,2]}"#, point.clone()),
        (
            r#"{"type":"MultiPoint","coordinates":[[1,2]]}"#,
            Geometry::MultiPoint(vec![at(1.0, 2.0)]),
        ),
        (
            r#"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#,
            Geometry::LineString(vec![at(1.0, 2.0), at(3.0, 4.0)]),
        ),
        (
            r#"{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}"#,
            Geometry::MultiLineString(vec![vec![at(1.0, 2.0), at(3.0, 4.0)]]),
        ),
        (
            r#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]}"#,
            Geometry::Collection(vec![point.clone()]),
        ),
        (r#"{"type":"GeometryCollection","geometries":[]}"#, Geometry::Collection(Vec::new())),
        (r#"{"type":"MultiPolygon","coordinates":[]}"#, Geometry::MultiPolygon(Vec::new())),
    ] {
        let feature = one(text);
        assert_eq!(feature.geometry, Some(geometry), "{text}");
        assert_eq!((feature.external_id, feature.properties.len(), feature.index), (None, 0, None));
    }
    let feature = one(
        r#"{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"b":[1]}}"#,
    );
    assert_eq!(feature.geometry, Some(point));
    assert_eq!(feature.external_id.as_deref(), Some("a"));
    assert_eq!(Value::Object(feature.properties), json!({"b": [1]}));
    assert_eq!(features(r#"{"type":"FeatureCollection","features":[]}"#), []);
}

#[test]
fn members_come_in_any_order() {
    let ring = "[[[0,0],[9,0],[9,9],[0,0]]]";
    let expected = geometry(&format!(r#"{{"type":"Polygon","coordinates":{ring}}}"#));
    for text in [
        format!(r#"{{"coordinates":{ring},"type":"Polygon"}}"#),
        format!(
            r#"{{"properties":{{}},"geometry":{{"coordinates":{ring},"type":"Polygon"}},"type":"Feature"}}"#
        ),
        format!(
            r#"{{"features":[{{"properties":{{}},"geometry":{{"coordinates":{ring},"type":"Polygon"}},"type":"Feature"}}],"type":"FeatureCollection"}}"#
        ),
    ] {
        assert_eq!(geometry(&text), expected, "{text}");
    }
}

#[test]
fn a_byte_order_mark_white_space_and_foreign_members_are_let_pass() {
    let text = "\u{feff}\r\n\t {\"name\" : \"é\", \"type\"\n:\n\"Point\" , \"more\":{\"a\":[1,{\"a\":null}],\"a\":true},\"coordinates\" : [ 1 , 2 ] }\n\n";
    assert_eq!(geometry(text), Geometry::Point(at(1.0, 2.0)));
    // ArcGIS says so of a page that is not the last.
    let arcgis =
        r#"{"type":"FeatureCollection","properties":{"exceededTransferLimit":true},"features":[]}"#;
    assert_eq!(features(arcgis), []);
    one(r#"{"type":"Point","id":null,"coordinates":[0,0],"bbox":[0,0,0,0,0,0]}"#);
}

#[test]
fn null_geometry_is_kept_with_its_properties() {
    let feature = one(with_properties(r#"{"a":1}"#));
    assert_eq!((feature.geometry, feature.properties.len()), (None, 1));
    assert!(one(with_properties("null")).properties.is_empty());
}

#[test]
fn ordinates_after_the_third_are_dropped_and_heights_may_be_mixed() {
    let text = r#"{"type":"LineString","coordinates":[[1,2,3,4,1e300],[5,6]]}"#;
    let first = Position { x: 1.0, y: 2.0, z: Some(3.0) };
    assert_eq!(geometry(text), Geometry::LineString(vec![first, at(5.0, 6.0)]));
}

#[test]
fn rings_that_turn_the_wrong_way_are_turned() {
    let text =
        r#"{"type":"Polygon","coordinates":[[[0,0],[0,9],[9,9],[0,0]],[[1,2],[3,4],[1,4],[1,2]]]}"#;
    let turned =
        r#"{"type":"Polygon","coordinates":[[[0,0],[9,9],[0,9],[0,0]],[[1,2],[1,4],[3,4],[1,2]]]}"#;
    assert_eq!(written(&geometry(text)), turned);
    assert_eq!(written(&geometry(turned)), turned);
}

#[test]
fn a_polygon_that_crosses_itself_is_kept() {
    let bow_tie = r#"{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}"#;
    assert_eq!(written(&geometry(bow_tie)), bow_tie);
}

#[test]
fn longitudes_up_to_540_are_brought_back_and_shapes_across_the_antimeridian_cut() {
    for (text, expected) in [
        (r#"{"type":"Point","coordinates":[190,5]}"#, r#"{"type":"Point","coordinates":[-170,5]}"#),
        (
            r#"{"type":"Point","coordinates":[-540,5]}"#,
            r#"{"type":"Point","coordinates":[-180,5]}"#,
        ),
        (
            r#"{"type":"LineString","coordinates":[[170,0],[190,10]]}"#,
            r#"{"type":"MultiLineString","coordinates":[[[170,0],[180,5]],[[-180,5],[-170,10]]]}"#,
        ),
        (
            r#"{"type":"Polygon","coordinates":[[[170,0],[190,0],[190,10],[170,10],[170,0]]]}"#,
            r#"{"type":"MultiPolygon","coordinates":[[[[180,10],[170,10],[170,0],[180,0],[180,10]]],[[[-180,0],[-170,0],[-170,10],[-180,10],[-180,0]]]]}"#,
        ),
    ] {
        assert_eq!(written(&geometry(text)), expected);
    }
}

#[test]
fn numbers_in_properties_keep_their_digits() {
    let text = r#"{"a":1.10,"b":12345678901234567890123,"c":-0.0,"d":0.1000000000000000055511151231257827}"#;
    let feature = one(with_properties(text));
    assert_eq!(serde_json::to_string(&feature.properties).unwrap(), text);
}

// Reference systems

const LAMBERT: &str = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::2154"}}"#;

#[test]
fn a_legacy_crs_is_honoured_wherever_it_stands() {
    let point = r#""type":"Point","coordinates":[700000,6600000,12]"#;
    let feature = |members: &str| format!(r#"{{"type":"Feature","properties":{{}},{members}}}"#);
    for text in [
        format!("{{{LAMBERT},{point}}}"),
        format!("{{{point},{LAMBERT}}}"),
        // As PostGIS writes it.
        feature(&format!(r#""geometry":{{{point},{LAMBERT}}}"#)),
        feature(&format!(r#""geometry":{{{point}}},{LAMBERT}"#)),
        format!(
            r#"{{"type":"FeatureCollection",{LAMBERT},"features":[{}]}}"#,
            feature(&format!(r#""geometry":{{{point}}}"#))
        ),
    ] {
        let expected = Position { x: 3.0, y: 46.5, z: Some(12.0) };
        assert_eq!(geometry(&text), Geometry::Point(expected), "{text}");
    }
}

#[test]
fn a_crs_that_nobody_knows_is_refused() {
    for (crs, pointer) in [
        (r#"{"type":"name","properties":{"name":"EPSG:99999"}}"#, "/crs/properties/name"),
        (r#"{"type":"name","properties":{}}"#, "/crs/properties/name"),
        (r#"{"type":"link","properties":{"href":"http://example.org/"}}"#, "/crs/type"),
        (r#""EPSG:2154""#, "/crs/type"),
    ] {
        assert_eq!(spot(format!(r#"{{"crs":{crs},"type":"Point","coordinates":[0,0]}}"#)), pointer);
    }
    for crs in [
        "null",
        r#"{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#,
        r#"{"type":"name","properties":{"name":"EPSG:4326"}}"#,
    ] {
        let text = format!(r#"{{"crs":{crs},"type":"Point","coordinates":[1,2]}}"#);
        assert_eq!(geometry(&text), Geometry::Point(at(1.0, 2.0)));
    }
}

#[test]
fn a_crs_after_the_features_must_be_the_one_they_were_read_in() {
    let features = r#""type":"FeatureCollection","features":[]"#;
    assert_eq!(spot(format!("{{{features},{LAMBERT}}}")), "/crs");
    let wgs84 = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#;
    assert_eq!(self::features(format!("{{{features},{wgs84}}}")), []);
    let lambert = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    assert!(features_with(&lambert, format!("{{{features},{LAMBERT}}}").as_bytes()).is_ok());
    // Who sends metres without saying so first hears of it.
    let metres = spots(shaped("Point", "[700000,6600000]").as_bytes()).remove(0);
    assert!(metres.message.contains("`crs`"), "{}", metres.message);
    let part = format!(
        r#"{{"type":"GeometryCollection","geometries":[{{"type":"Point",{LAMBERT},"coordinates":[0,0]}}]}}"#
    );
    assert_eq!(spot(part), "/geometries/0/crs");
}

#[test]
fn the_reference_system_of_the_caller_holds_unless_the_document_names_one() {
    let lambert = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    let read = |text: &str| features_with(&lambert, text.as_bytes()).unwrap()[0].geometry.clone();
    let point = Some(Geometry::Point(at(3.0, 46.5)));
    assert_eq!(read(r#"{"type":"Point","coordinates":[700000,6600000]}"#), point);
    assert_eq!(read(r#"{"type":"Point","crs":null,"coordinates":[700000,6600000]}"#), point);
    let named = r#"{"crs":{"type":"name","properties":{"name":"EPSG:4326"}},"type":"Point","coordinates":[3,46.5]}"#;
    assert_eq!(read(named), point);
}

#[test]
fn latitudes_are_checked_after_reprojection() {
    let crs = r#""crs":{"type":"name","properties":{"name":"EPSG:4258"}}"#;
    assert_eq!(spot(format!(r#"{{{crs},"type":"Point","coordinates":[0,91]}}"#)), "/coordinates/1");
    let lambert =
        format!(r#"{{{LAMBERT},"type":"LineString","coordinates":[[7e5,66e5],[1e12,1e12]]}}"#);
    assert!(spot(lambert).starts_with("/coordinates/1"));
}

// Sequences

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

// Any shape, any bytes

fn written(geometry: &Geometry) -> String {
    let mut text = Vec::new();
    write_geometry(geometry, &mut text);
    String::from_utf8(text).unwrap()
}

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
