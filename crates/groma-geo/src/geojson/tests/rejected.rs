//! Documents that are rejected, and the pointers of their errors.

use super::*;

#[test]
fn invalid_coordinates_are_rejected() {
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
        ("Point", "[0,0,0,1e308]", "/3"),
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
        // Arrays that are nested too deeply or not deeply enough.
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
        let text = with_geometry(r#type, coordinates);
        assert_eq!(error_pointer(&text), format!("{AT}{below}"), "{type} {coordinates}");
        // The same if `type` comes last, although the pointer may be less precise.
        let text = as_second_feature(&format!(
            r#"{{"geometry":{{"coordinates":{coordinates},"type":"{type}"}},"properties":{{}},"type":"Feature"}}"#
        ));
        assert!(error_pointer(&text).starts_with(AT), "{type} {coordinates}");
    }
}

#[test]
fn invalid_objects_are_rejected() {
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
        // Missing and null members
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
        // Members of other types
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
        // Duplicate members
        (r#"{"type":"Point","type":"Point","coordinates":[0,0]}"#, "/type"),
        (r#"{"type":"Point","coordinates":[0,0],"coordinates":[1,1]}"#, "/coordinates"),
        (r#"{"type":"Point","coordinates":[0,0],"note":1,"n\u006fte":2}"#, "/note"),
        (r#"{"type":"FeatureCollection","features":[],"features":[]}"#, "/features"),
        // Bounding boxes
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[0,0,0]}"#, "/bbox"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[]}"#, "/bbox"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[0,0,0,0,0]}"#, "/bbox"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":[0,0,0,"0"]}"#, "/bbox/3"),
        (r#"{"type":"Point","coordinates":[0,0],"bbox":"world"}"#, "/bbox"),
    ] {
        assert_eq!(error_pointer(text), pointer, "{text}");
    }
}

#[test]
fn feature_collection_contains_only_features() {
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
        assert_eq!(error_pointer(as_second_feature(feature)), pointer, "{feature}");
    }
}

#[test]
fn duplicate_keys_are_rejected_at_any_depth_of_properties() {
    assert_eq!(error_pointer(with_properties(r#"{"a":1,"b":2,"a":3}"#)), "/properties/a");
    assert_eq!(
        error_pointer(with_properties(r#"{"a":{"b":[{"c":1,"\u0063":2}]}}"#)),
        "/properties/a/b/0/c"
    );
    assert_eq!(
        error_pointer(with_properties(r#"{"a/b~c":{"d":1,"d":1}}"#)),
        "/properties/a~1b~0c/d"
    );
    assert_eq!(error_pointer(with_properties(r#"{"":0,"":0}"#)), "/properties/");
}

#[test]
fn id_is_a_number_or_a_short_string_without_control_characters() {
    for id in ["null", "{}", "[1]", "true", r#""""#, r#""a\nb""#, r#""\u0085""#, "1e400", "1e300"] {
        assert_eq!(error_pointer(with_id(id)), "/id", "{id}");
    }
    assert_eq!(error_pointer(with_id(&format!("\"{}\"", "é".repeat(256)))), "/id");
    assert_eq!(error_pointer(with_id(&format!("\"{}\"", "x".repeat(10_000)))), "/id");
    for (id, text) in [("1", "1"), ("1.0", "1"), (r#""1""#, "1"), (r#""1.0""#, "1.0"), ("-7", "-7")]
    {
        assert_eq!(single_feature(with_id(id)).external_id.as_deref(), Some(text));
    }
    let longest = "é".repeat(255);
    assert_eq!(single_feature(with_id(&format!("\"{longest}\""))).external_id, Some(longest));
}

#[test]
fn duplicate_id_is_rejected_at_the_second_feature() {
    for (first, second) in [("1", "1"), ("1", r#""1""#), ("1.0", "1"), (r#""a""#, r#""\u0061""#)] {
        let text = format!(
            r#"{{"type":"FeatureCollection","features":[{},{},{}]}}"#,
            with_id(first),
            with_id("99"),
            with_id(second)
        );
        assert_eq!(error_pointer(text), "/features/2/id");
    }
}

#[test]
fn invalid_json_is_rejected_at_the_syntax_error() {
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
        // Invalid UTF-8: a stray byte, an overlong form, a surrogate, a truncated character.
        (b"{\"type\":\"Point\",\"note\":\"\xff\"}", "/note"),
        (b"{\"type\":\"Point\",\"note\":\"\xc0\x80\"}", "/note"),
        (b"{\"type\":\"Point\",\"note\":\"\xed\xa0\x80\"}", "/note"),
        (b"{\"type\":\"Point\",\"note\":\"\\n\xe2\x82\"}", "/note"),
        (b"{\"type\":\"Point\",\"\xff\":1}", ""),
        (b"{\"type\":\"Feature\",\"geometry\":null,\"properties\":{\"a\":\"\xff\"}}", "/properties/a"),
        (b"\xff\xfe{\0}\0", ""),
    ] {
        assert_eq!(error_pointer(text), pointer, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn skipped_values_must_be_valid_too() {
    let unknown_member =
        |value: &str| format!(r#"{{"type":"Point","coordinates":[1,2],"x":{value}}}"#);
    for invalid in [
        r#""\ud800""#,
        r#""a\u0000b""#,
        "1e400",
        "[0,-1e400]",
        r#"{"y":1,"y":2}"#,
        r#"[{"a":{"y":1,"z":[],"y":2}}]"#,
        r#"{"\ud800":1}"#,
    ] {
        assert_eq!(error_pointer(unknown_member(invalid)), "/x", "{invalid}");
    }
    for good in
        [r#"{"y":{"y":1},"z":[{"y":1},{"y":2}]}"#, r#"["\ud83d\ude00",1e300,{}]"#, "[[],[{}]]"]
    {
        assert_eq!(geometry(&unknown_member(good)), Geometry::Point(position(1.0, 2.0)), "{good}");
    }
    let long = unknown_member(&format!("\"{}\"", "é".repeat(100_000)));
    assert_eq!(geometry(&long), Geometry::Point(position(1.0, 2.0)));
}

#[test]
fn unpaired_surrogates_and_nul_are_rejected() {
    for text in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud83dx", r"\u0000", r"a\u0000b"] {
        assert_eq!(
            error_pointer(with_properties(&format!(r#"{{"a":"{text}"}}"#))),
            "/properties/a"
        );
        assert_eq!(error_pointer(with_properties(&format!(r#"{{"{text}":1}}"#))), "/properties");
        assert_eq!(error_pointer(with_id(&format!("\"{text}\""))), "/id");
    }
    let decoded = single_feature(with_properties(r#"{"a":"\ud83d\ude00 \u00e9\/\"\\\b\f\n\r\t"}"#));
    assert_eq!(decoded.properties["a"], "😀 é/\"\\\u{8}\u{c}\n\r\t");
}

#[test]
fn nesting_depth_is_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    // The feature and its properties count as two levels.
    single_feature(with_properties(&format!(r#"{{"a":{}}}"#, nested(30))));
    let pointer = error_pointer(with_properties(&format!(r#"{{"a":{}}}"#, nested(31))));
    assert_eq!(pointer, format!("/properties/a{}", "/0".repeat(30)));
    assert!(error_pointer(format!(r#"{{"note":{}"#, "[".repeat(1_000_000))).starts_with("/note"));
    assert!(
        error_pointer(format!(r#"{{"coordinates":{}"#, "[".repeat(1_000_000)))
            .starts_with("/coord")
    );
}

#[test]
fn collections_can_be_nested_four_levels_deep() {
    let nested = |depth: usize| {
        iter::repeat_n((), depth)
            .fold(r#"{"type":"Point","coordinates":[1,2]}"#.to_owned(), |inner, ()| {
                format!(r#"{{"type":"GeometryCollection","geometries":[{inner}]}}"#)
            })
    };
    geometry(&nested(4));
    assert_eq!(error_pointer(nested(5)), format!("{}/geometries", "/geometries/0".repeat(4)));
}

#[test]
fn number_length_and_range_are_limited() {
    let digits = "9".repeat(1_000_000);
    assert_eq!(
        error_pointer(with_geometry("Point", &format!("[{digits},0]"))),
        "/features/1/geometry/coordinates/0"
    );
    assert_eq!(error_pointer(with_properties(&format!(r#"{{"a":0.{digits}}}"#))), "/properties/a");
    assert_eq!(error_pointer(with_properties(r#"{"a":1e400}"#)), "/properties/a");
    assert_eq!(error_pointer(with_properties(r#"{"a":1e-99999}"#)), "/properties/a");
    assert_eq!(error_pointer(with_id(&digits)), "/id");
}

#[test]
fn size_of_a_feature_is_limited() {
    const POINTS: &str = r#"{"type":"MultiPoint","coordinates":[*]}"#;
    let largest = repeated(POINTS, "[1,2]", MAX_VERTICES);
    assert!(read(largest, &Options::default(), |_| Ok::<_, ()>(())).is_ok());
    let errors_over = errors(repeated(POINTS, "[1,2]", MAX_VERTICES + 1));
    assert_eq!(errors_over[0].pointer, "/coordinates/1000000");

    const RINGS: &str = r#"{"type":"Polygon","coordinates":[*]}"#;
    let ring = "[[0,0],[1,0],[1,1],[0,0]]";
    let errors_over = errors(repeated(RINGS, ring, MAX_RINGS + 1));
    assert_eq!(errors_over[0].pointer, "/coordinates/100000");
    assert!(errors_over[0].message.to_string().contains("rings"), "{}", errors_over[0].message);

    const PARTS: &str = r#"{"type":"GeometryCollection","geometries":[*]}"#;
    let empty = r#"{"type":"MultiPoint","coordinates":[]}"#;
    let errors_over = errors(repeated(PARTS, empty, MAX_PARTS + 1));
    assert_eq!(errors_over[0].pointer, "/geometries/100000");
}

#[test]
fn size_of_properties_is_limited() {
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|key| format!("\"{key}\":null")).collect();
        with_properties(&format!("{{{}}}", keys.join(",")))
    };
    assert_eq!(single_feature(keys(1_000)).properties.len(), 1_000);
    assert_eq!(error_pointer(keys(1_001)), "/properties");
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_PROPERTIES_BYTES));
    assert_eq!(error_pointer(with_properties(&large)), "/properties/a");
    let many = repeated(r#"{"type":"Feature","properties":{"a":[*]}}"#, "0", 1_000_000);
    assert!(errors(many)[0].pointer.starts_with("/properties/a/"));
    let members: String = (0..1_001).map(|member| format!("\"{member}\":0,")).collect();
    assert_eq!(
        error_pointer(format!(r#"{{{members}"type":"Point","coordinates":[0,0]}}"#)),
        "/1000"
    );
}
