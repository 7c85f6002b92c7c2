//! A decoder of vector tiles that knows nothing of the program and panics on everything that MVT 2.1
//! forbids.

use serde_json::{Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The smallest and largest coordinates of a tile with its buffer.
const MIN_COORDINATE: i64 = -64;
const MAX_COORDINATE: i64 = 4096 + 64;

/// The only layer of a tile.
#[derive(Debug, PartialEq)]
pub struct Layer {
    /// The layer's name.
    pub name: String,
    /// The features in the order of the tile.
    pub features: Vec<Feature>,
}

/// A feature of a tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// The feature's id. Only aggregates have none.
    pub id: Option<u64>,
    /// The geometry type.
    pub kind: Kind,
    /// The points as one path, the lines, or the rings without their closing position.
    pub paths: Vec<Path>,
    /// The properties by name.
    pub properties: BTreeMap<String, Value>,
}

/// A geometry type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One or more points.
    Points,
    /// One or more lines.
    Lines,
    /// One or more polygons.
    Polygons,
}

/// The positions of a path in tile coordinates.
pub type Path = Vec<(i64, i64)>;

/// Decodes a tile; `None` for an empty one.
pub fn decode(tile: &[u8]) -> Option<Layer> {
    let mut layers = fields(tile).map(|(number, field)| {
        assert_eq!(number, 3, "a tile contains only layers");
        decode_layer(field.bytes())
    });
    let layer = layers.next();
    assert!(layers.next().is_none(), "the tile has more than one layer");
    layer
}

/// Twice the signed area of a ring, which is positive for an outer ring.
pub fn area(ring: &[(i64, i64)]) -> i64 {
    let next = ring.iter().cycle().skip(1);
    ring.iter().zip(next).map(|(from, to)| from.0 * to.1 - to.0 * from.1).sum()
}

fn decode_layer(bytes: &[u8]) -> Layer {
    let (mut name, mut features) = (None, Vec::new());
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let (mut extent, mut version) = (None, None);
    for (number, field) in fields(bytes) {
        match number {
            1 => assert!(name.replace(text(field.bytes())).is_none()),
            2 => features.push(field.bytes()),
            3 => keys.push(text(field.bytes())),
            4 => values.push(decode_value(field.bytes())),
            5 => extent = Some(field.number()),
            15 => version = Some(field.number()),
            _ => panic!("unknown field {number} of a layer"),
        }
    }
    assert_eq!((extent, version), (Some(4096), Some(2)));
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "a key is repeated");
    let distinct: BTreeSet<String> = values.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), values.len(), "a value is repeated");
    assert!(!features.is_empty(), "the layer has no features");
    let features: Vec<_> = features.iter().map(|one| decode_feature(one, &keys, &values)).collect();
    let ids: Vec<u64> = features.iter().filter_map(|feature| feature.id).collect();
    let distinct: BTreeSet<&u64> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "an id is repeated");
    assert!(ids.iter().all(|id| *id < 1 << 53), "an id is too large for JavaScript");
    Layer { name: name.expect("a name"), features }
}

fn decode_feature(bytes: &[u8], keys: &[String], values: &[Value]) -> Feature {
    let (mut id, mut kind, mut tags, mut geometry) = (None, None, Vec::new(), Vec::new());
    for (number, field) in fields(bytes) {
        match number {
            1 => id = Some(field.number()),
            2 => tags = packed(field.bytes()),
            3 => kind = Some(field.number()),
            4 => geometry = packed(field.bytes()),
            _ => panic!("unknown field {number} of a feature"),
        }
    }
    let kind = match kind {
        Some(1) => Kind::Points,
        Some(2) => Kind::Lines,
        Some(3) => Kind::Polygons,
        other => panic!("unknown geometry type {other:?}"),
    };
    let mut properties = BTreeMap::new();
    assert_eq!(tags.len() % 2, 0, "the tags are not pairs");
    for pair in tags.chunks(2) {
        let at = |index: u64| usize::try_from(index).unwrap();
        let (key, value) = (&keys[at(pair[0])], &values[at(pair[1])]);
        assert_eq!(
            properties.insert(key.clone(), value.clone()),
            None,
            "the property {key} is repeated"
        );
    }
    let paths = decode_paths(kind, &geometry);
    if kind == Kind::Polygons {
        assert!(area(&paths[0]) > 0, "the first ring is not an outer ring");
    }
    if id.is_none() {
        let names: Vec<&String> = properties.keys().collect();
        assert_eq!(names, ["groma_count"], "a feature without an id is not an aggregate");
    }
    Feature { id, kind, paths, properties }
}

fn decode_paths(kind: Kind, commands: &[u64]) -> Vec<Path> {
    let mut commands = commands.iter().copied();
    let mut at = (0, 0);
    let mut paths: Vec<Path> = Vec::new();
    let mut step = |commands: &mut dyn Iterator<Item = u64>| {
        let mut parameter = || unzigzag(commands.next().expect("a parameter"));
        let (dx, dy) = (parameter(), parameter());
        at = (at.0 + dx, at.1 + dy);
        let inside = MIN_COORDINATE..=MAX_COORDINATE;
        assert!(inside.contains(&at.0) && inside.contains(&at.1), "{at:?} is outside the tile");
        at
    };
    while let Some(command) = commands.next() {
        let (count, command) = (command >> 3, command & 7);
        assert!(count > 0, "a command has the count 0");
        assert_eq!(command, 1, "a path does not begin with MoveTo");
        let path: Path = (0..count).map(|_| step(&mut commands)).collect();
        if kind == Kind::Points {
            assert!(paths.is_empty(), "points have more than one path");
            paths.push(path);
            continue;
        }
        assert_eq!(count, 1, "a path has more than one MoveTo");
        let mut path = path;
        let command = commands.next().expect("LineTo");
        assert_eq!(command & 7, 2, "MoveTo is not followed by LineTo");
        for _ in 0..command >> 3 {
            let to = step(&mut commands);
            assert_ne!(path.last(), Some(&to), "a position is repeated");
            path.push(to);
        }
        if kind == Kind::Polygons {
            assert_eq!(commands.next(), Some(1 << 3 | 7), "a ring does not end with ClosePath");
            assert!(path.len() >= 3 && path.first() != path.last(), "{path:?} is not a ring");
            assert_ne!(area(&path), 0, "{path:?} has no area");
        }
        assert!(path.len() >= 2, "{path:?} is not a line");
        paths.push(path);
    }
    assert!(!paths.is_empty(), "a feature has no geometry");
    paths
}

fn decode_value(bytes: &[u8]) -> Value {
    let mut found = fields(bytes);
    let (number, field) = found.next().expect("a value");
    assert!(found.next().is_none(), "a value has two fields");
    let float = |value: f64| Value::Number(Number::from_f64(value).expect("a finite number"));
    match (number, field) {
        (1, Field::Bytes(bytes)) => Value::String(text(bytes)),
        (3, Field::Fixed64(bytes)) => float(f64::from_le_bytes(bytes)),
        (4 | 5, Field::Varint(number)) => Value::from(number),
        (6, Field::Varint(number)) => Value::from(unzigzag(number)),
        (7, Field::Varint(number @ (0 | 1))) => Value::Bool(number == 1),
        (number, _) => panic!("field {number} of a value is unknown or has the wrong wire type"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// A field of a protobuf message.
#[derive(Clone, Copy)]
enum Field<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> u64 {
        match self {
            Self::Varint(number) => number,
            _ => panic!("not a number"),
        }
    }

    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => panic!("not bytes"),
        }
    }
}

/// The fields of a protobuf message with their numbers.
fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let head = varint(&mut bytes);
        let field = match head & 7 {
            0 => Field::Varint(varint(&mut bytes)),
            1 => {
                let (bytes8, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                Field::Fixed64(*bytes8)
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (field, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(field)
            }
            other => panic!("unknown wire type {other}"),
        };
        Some((head >> 3, field))
    })
}

fn packed(mut bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        numbers.push(varint(&mut bytes));
    }
    numbers
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a varint");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a varint has more than ten bytes")
}
