use super::*;
use groma_geo::{Geometry, Position, Shape};
use serde_json::{Value as Json, json, value::to_raw_value};

struct Feature {
    properties: Json,
    geometry: Option<Shape>,
    shapes: Vec<Shape>,
}

impl Item for Feature {
    fn value(&self, name: &str) -> Value<'_> {
        match &self.properties[name] {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Boolean(*value),
            Json::Number(number) => Value::Number(number.as_f64().unwrap()),
            Json::String(text) => Value::Text(text.as_str().into()),
            _ => Value::Other,
        }
    }

    fn has_no_geometry(&self) -> bool {
        self.geometry.is_none()
    }

    fn relation(&self, relation: Relation, shape: usize) -> Option<bool> {
        Some(self.shapes[shape].prepare().is_related(self.geometry.as_ref()?, relation))
    }

    fn relation_to_itself(&self, relation: Relation) -> Option<bool> {
        let geometry = self.geometry.as_ref()?;
        Some(geometry.prepare().is_related(geometry, relation))
    }
}

fn properties() -> Vec<Property> {
    let kinds = [
        ("use", PropertyKind::Text),
        ("owner", PropertyKind::Text),
        ("area", PropertyKind::Number),
        ("floors", PropertyKind::Number),
        ("listed", PropertyKind::Boolean),
        ("surveyed", PropertyKind::Instant),
        ("other", PropertyKind::Any),
        ("größe (m²)", PropertyKind::Number),
        ("geometry", PropertyKind::Geometry),
    ];
    kinds.map(|(name, kind)| Property { name: name.to_owned(), kind }).to_vec()
}

fn context(properties: &[Property]) -> Context<'_> {
    Context { properties, is_northing_first: false, is_in_degrees: true }
}

fn parse(text: &str) -> Result<Filter, ParseError> {
    Filter::parse_text(text, context(&properties()))
}

fn parse_json(json: &Json) -> Result<Filter, ParseError> {
    Filter::parse_json(&json.to_string(), context(&properties()))
}

fn feature(filter: &Filter) -> Feature {
    let at = Position { x: 2.0, y: 48.0, z: None };
    Feature {
        properties: json!({ "use": "Wood", "area": 12.5, "floors": 2, "listed": true,
            "surveyed": "2026-02-28", "owner": "Zoë", "other": "2026-02-28T12:00:00Z", "größe (m²)": -3 }),
        geometry: Some(Shape::from(&Geometry::Point(at))),
        shapes: filter.shapes().cloned().collect(),
    }
}

#[track_caller]
fn holds(filter: &Result<Filter, ParseError>) -> bool {
    let filter = filter.as_ref().unwrap();
    filter.matches(&feature(filter))
}

#[test]
fn text_filters_are_evaluated() {
    for (text, expected) in [
        ("use = 'Wood'", true),
        ("use='wood'", false),
        ("CASEI(use) = casei('wOOD')", true),
        ("ACCENTI(owner) = 'Zoe'", true),
        ("CASEI(ACCENTI(owner)) LIKE 'zo_'", true),
        ("use LIKE 'W%' AND NOT use LIKE '%x%'", true),
        ("use NOT LIKE 'W%'", false),
        ("area > 12 AND area < 13.0e0", true),
        ("12.5 = area", true),
        ("area BETWEEN 12.5 AND 20", true),
        ("area NOT BETWEEN -1 AND 12.4", true),
        ("\"größe (m²)\" = -3", true),
        ("use IN ('Meadow', 'Wood')", true),
        ("use NOT IN ('Meadow', 'Wood')", false),
        ("floors < area", true),
        ("listed = TRUE", true),
        ("TRUE = listed and true", true),
        ("geometry IS NULL", false),
        ("area IS NOT NULL AND geometry IS NOT NULL", true),
        ("surveyed = DATE('2026-02-28')", true),
        ("surveyed = '2026-02-28'", true),
        ("surveyed < '2026-03-01'", true),
        ("other > TIMESTAMP('2026-02-28T11:00:00Z')", true),
        ("other = DATE('2026-02-28')", true),
        ("T_AFTER(surveyed, DATE('2026-02-27'))", true),
        ("T_AFTER(surveyed, DATE('2026-02-28'))", false),
        ("T_BEFORE(surveyed, TIMESTAMP('2026-02-28T00:00:00Z'))", false),
        ("T_DURING(other, INTERVAL('2026-02-01', '..'))", true),
        ("T_INTERSECTS(surveyed, INTERVAL('..', '2026-02-28'))", true),
        ("T_EQUALS(surveyed, DATE('2026-02-28'))", true),
        ("T_MEETS(INTERVAL('2026-01-01', surveyed), INTERVAL('2026-02-28', '2026-03-01'))", true),
        ("S_INTERSECTS(geometry, BBOX(1, 47, 3, 49))", true),
        ("S_INTERSECTS(geometry,POINT(2 48))", true),
        ("S_WITHIN(geometry, POLYGON((1 47, 3 47, 3 49, 1 49, 1 47)))", true),
        ("S_CONTAINS(POLYGON((1 47, 3 47, 3 49, 1 49, 1 47)), geometry)", true),
        ("S_DISJOINT(geometry, LINESTRING Z (0 0 1, 1 1 2))", true),
        ("S_EQUALS(geometry, geometry)", true),
        ("S_INTERSECTS(geometry, GEOMETRYCOLLECTION(POINT(2 48), LINESTRING(0 0, 1 1)))", true),
        ("S_INTERSECTS(geometry, MULTIPOINT((0 0), (2 48)))", true),
        ("S_INTERSECTS(geometry, BBOX(170, 0, -170, 50))", false),
        ("(use = 'a' OR area > 3) AND NOT (floors = 3)", true),
    ] {
        assert_eq!(holds(&parse(text)), expected, "{text}");
    }
}

#[test]
fn json_filters_are_evaluated() {
    let property = |name: &str| json!({ "property": name });
    let op = |name: &str, args: Json| json!({ "op": name, "args": args });
    let inside = json!({ "type": "Polygon", "coordinates": [[[1, 47], [3, 47], [3, 49], [1, 49], [1, 47]]] });
    for (filter, expected) in [
        (op("=", json!([property("use"), "Wood"])), true),
        (op("and", json!([op(">", json!([property("area"), 12])), true])), true),
        (op("or", json!([false, op("isNull", json!([property("area")]))])), false),
        (op("not", json!([op("like", json!([property("use"), "W%"]))])), false),
        (op("between", json!([property("area"), 1, 20])), true),
        (op("in", json!([property("use"), ["a", "Wood"]])), true),
        (
            op("=", json!([op("casei", json!([property("use")])), op("casei", json!(["WOOD"]))])),
            true,
        ),
        (op("=", json!([property("surveyed"), { "date": "2026-02-28" }])), true),
        (op("t_during", json!([property("other"), { "interval": ["2026-02-01", ".."] }])), true),
        (op("s_within", json!([property("geometry"), inside])), true),
        (op("s_intersects", json!([property("geometry"), { "bbox": [1, 47, 3, 49] }])), true),
    ] {
        assert_eq!(holds(&parse_json(&filter)), expected, "{filter}");
    }
}

#[test]
fn nulls_are_unknown() {
    let mut properties = properties();
    properties.push(Property { name: "missing".to_owned(), kind: PropertyKind::Number });
    for (text, expected) in [
        ("missing = 1", false),
        ("NOT missing = 1", false),
        ("missing <> 1", false),
        ("missing IS NULL", true),
        ("missing = 1 OR area > 1", true),
        ("NOT (missing = 1 AND area < 1)", true),
        ("NOT (missing IN (1, 2))", false),
        ("missing BETWEEN 1 AND 2 OR TRUE", true),
        ("listed", true),
        ("NOT listed OR missing IS NOT NULL", false),
    ] {
        let filter = Filter::parse_text(text, context(&properties)).unwrap();
        assert_eq!(filter.matches(&feature(&filter)), expected, "{text}");
    }
}

#[test]
fn errors_name_the_position() {
    for (text, position, message) in [
        ("", 1, "expected a property"),
        ("use = ", 7, "expected a property"),
        ("use = 'Wood' area", 14, "expected AND"),
        ("usé = 1", 1, "the property `usé`"),
        ("area = 'a'", 1, "a number cannot be compared"),
        ("listed = 1", 1, "a boolean cannot be compared"),
        ("surveyed = 'yesterday'", 1, "`yesterday`"),
        ("surveyed = DATE('2026-02-30')", 12, "`2026-02-30`"),
        ("use = 'Wood", 7, "the closing quote"),
        ("é & 2", 3, "unexpected `&`"),
        ("foo(area) = 1", 1, "the function `foo`"),
        ("S_INTERSECTS(use, POINT(1 1))", 14, "the property `use` is not a geometry"),
        ("geometry = 1", 1, "the property `geometry` is a geometry"),
        ("S_INTERSECTS(geometry, POINT(1 91))", 24, "a coordinate is not in degrees"),
        ("S_INTERSECTS(geometry, POLYGON((0 0, 1 1, 1 0)))", 24, "a ring has"),
        (
            "S_INTERSECTS(geometry, POLYGON((0 0, 1 1, 1 0, 0 1, 0 0)))",
            24,
            "the geometry is invalid",
        ),
        ("S_INTERSECTS(geometry, BBOX(0, 1, 1, 0))", 24, "a box has"),
        ("T_DURING(area, DATE('2026-01-01'))", 10, "must be a date"),
        ("T_DURING(surveyed, INTERVAL('2026-02-01', '2026-01-01'))", 20, "the interval ends"),
        ("area = 1e999", 8, "is not a number"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.position, Place::Character(position), "{text}: {error}");
        assert!(error.message.starts_with(message), "{text}: {error}");
    }
    let error = parse_json(
        &json!({ "op": "and", "args": [true, { "op": "=", "args": [{ "property": "x" }, 1] }] }),
    );
    assert_eq!(error.unwrap_err().position, Place::Pointer("/args/1/args/0".to_owned()));
}

#[test]
fn deep_nesting_is_rejected() {
    let nested = |levels: usize| format!("{}area = 1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert!(parse(&nested(MAX_DEPTH + 1)).unwrap_err().message.contains("nested deeper"));
    assert!(parse(&"NOT ".repeat(100_000)).is_err());
    assert!(parse(&"CASEI(".repeat(100_000)).is_err());
    assert!(parse(&"(".repeat(100_000)).is_err());
    let geometry = format!("S_INTERSECTS(geometry, {}", "GEOMETRYCOLLECTION(".repeat(100_000));
    assert!(parse(&geometry).is_err());
    let mut filter = json!(true);
    for _ in 0..MAX_DEPTH {
        filter = json!({ "op": "not", "args": [filter] });
    }
    assert!(parse_json(&filter).is_err() || MAX_DEPTH < 64);
    // A flat list is not nested.
    assert!(parse(&vec!["area = 1"; 5_000].join(" OR ")).is_ok());
}

#[test]
fn axis_order_of_the_reference_system_is_respected() {
    let properties = properties();
    let context = Context { is_northing_first: true, ..context(&properties) };
    for text in ["S_INTERSECTS(geometry, POINT(48 2))", "S_WITHIN(geometry, BBOX(47, 1, 49, 3))"] {
        let filter = Filter::parse_text(text, context).unwrap();
        assert!(filter.matches(&feature(&filter)), "{text}");
    }
    assert!(Filter::parse_text("S_INTERSECTS(geometry, POINT(2 148))", context).is_ok());
    assert!(Filter::parse_text("S_INTERSECTS(geometry, POINT(148 2))", context).is_err());
}

#[test]
fn keys_sort_like_values() {
    let values = [
        json!(-1e300),
        json!(-2),
        json!(-1.5),
        json!(0),
        json!(1e-300),
        json!(1),
        json!(2.5),
        json!(1e300),
        json!(""),
        json!("Z"),
        json!("a"),
        json!("ab"),
        json!("é"),
        json!(false),
        json!(true),
    ];
    let raw: Vec<_> = values.iter().map(|value| to_raw_value(value).unwrap()).collect();
    let keys: Vec<_> = raw.iter().map(|raw| value_key(&Value::read(raw)).unwrap()).collect();
    assert!(keys.is_sorted_by(|one, two| one < two), "{keys:?}");
    assert_eq!(value_key(&Value::Number(-0.0)), value_key(&Value::Number(0.0)));
    for is_descending in [false, true] {
        let key = |value: &Json| {
            let mut key = Vec::new();
            sort_key(&Value::read(&to_raw_value(value).unwrap()), is_descending, &mut key);
            key
        };
        let order = [json!(-1), json!(3), json!("a"), json!("Ab"), json!("b"), json!(true)];
        let mut sorted: Vec<_> = order.iter().map(&key).collect();
        if is_descending {
            sorted.reverse();
        }
        sorted.push(key(&Json::Null));
        assert!(sorted.is_sorted_by(|one, two| one < two), "{sorted:?}");
    }
}

#[test]
fn candidates_contain_every_match() {
    let is_indexed = |name: &str| name != "floors";
    for text in [
        "use = 'Wood'",
        "use >= 'W' AND use < 'X'",
        "use LIKE 'Wo%'",
        "use LIKE 'Wood'",
        "use IN ('x', 'Wood')",
        "area BETWEEN 12 AND 13",
        "area > 12 OR use = 'x'",
        "13 > area",
        "listed = true",
        "surveyed = DATE('2026-02-28')",
        "T_DURING(other, INTERVAL('2026-02-01', '..'))",
        "T_BEFORE(surveyed, DATE('2026-03-01'))",
        "T_AFTER(other, TIMESTAMP('2026-02-28T00:00:00Z'))",
        "floors = 2 AND area = 12.5",
    ] {
        let filter = parse(text).unwrap();
        let item = feature(&filter);
        assert!(filter.matches(&item), "{text}");
        let candidates = filter.candidates(is_indexed);
        assert!(!candidates.ranges.is_empty(), "{text}");
        for ranges in candidates.ranges {
            let contains = |range: &ValueRange| {
                let key = value_key(&item.value(&range.property));
                key.is_some_and(|key| range.first <= key && key <= range.last)
            };
            assert!(ranges.iter().any(contains), "{text}");
        }
    }
    for text in
        ["use <> 'x'", "NOT use = 'x'", "floors = 2", "area = 1 OR floors = 2", "use LIKE '%x'"]
    {
        assert!(parse(text).unwrap().candidates(is_indexed).ranges.is_empty(), "{text}");
    }
    let filter = parse("S_WITHIN(geometry, BBOX(1, 2, 3, 4)) AND S_DISJOINT(geometry, POINT(1 1))");
    assert_eq!(filter.unwrap().candidates(is_indexed).boxes, [Bbox([1.0, 2.0, 3.0, 4.0])]);
}
