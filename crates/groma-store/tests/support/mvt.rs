//! A reader of vector tiles that knows nothing of the program and lets nothing pass that MVT 2.1
//! forbids. The tests of the store and of the program share it.

use serde_json::{Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The margin of a tile, and its side with the margin behind it.
const NEAREST: i64 = -64;
const FARTHEST: i64 = 4096 + 64;

/// The one layer of a tile.
#[derive(Debug, PartialEq)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) features: Vec<Feature>,
}

/// A feature of a tile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Feature {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    /// Its points as one path; its lines; its rings, without the last position.
    pub(crate) paths: Vec<Path>,
    pub(crate) properties: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Points,
    Lines,
    Polygons,
}

pub(crate) type Path = Vec<(i64, i64)>;

/// The layer of a tile; `None` for an empty one.
pub(crate) fn read(tile: &[u8]) -> Option<Layer> {
    let mut layers = fields(tile).map(|(number, field)| {
        assert_eq!(number, 3, "a tile has layers and nothing else");
        read_layer(field.bytes())
    });
    let layer = layers.next();
    assert!(layers.next().is_none(), "one layer is promised");
    layer
}

/// Twice the area of a ring; positive when it runs as an outer ring must.
pub(crate) fn area(ring: &[(i64, i64)]) -> i64 {
    let next = ring.iter().cycle().skip(1);
    ring.iter().zip(next).map(|(from, to)| from.0 * to.1 - to.0 * from.1).sum()
}

fn read_layer(bytes: &[u8]) -> Layer {
    let (mut name, mut features) = (None, Vec::new());
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let (mut extent, mut version) = (None, None);
    for (number, field) in fields(bytes) {
        match number {
            1 => assert!(name.replace(text(field.bytes())).is_none()),
            2 => features.push(field.bytes()),
            3 => keys.push(text(field.bytes())),
            4 => values.push(read_value(field.bytes())),
            5 => extent = Some(field.number()),
            15 => version = Some(field.number()),
            _ => panic!("field {number} in a layer"),
        }
    }
    assert_eq!((extent, version), (Some(4096), Some(2)));
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "a key comes twice");
    let shown: BTreeSet<String> = values.iter().map(Value::to_string).collect();
    assert_eq!(shown.len(), values.len(), "a value comes twice");
    assert!(!features.is_empty(), "a layer without features is left out");
    let features: Vec<_> = features.iter().map(|one| read_feature(one, &keys, &values)).collect();
    let ids: BTreeSet<u64> = features.iter().map(|feature| feature.id).collect();
    assert_eq!(ids.len(), features.len(), "an id comes twice");
    assert!(ids.last().is_some_and(|id| *id < 1 << 53), "an id that JavaScript cannot hold");
    Layer { name: name.expect("a name"), features }
}

fn read_feature(bytes: &[u8], keys: &[String], values: &[Value]) -> Feature {
    let (mut id, mut kind, mut tags, mut geometry) = (None, None, Vec::new(), Vec::new());
    for (number, field) in fields(bytes) {
        match number {
            1 => id = Some(field.number()),
            2 => tags = packed(field.bytes()),
            3 => kind = Some(field.number()),
            4 => geometry = packed(field.bytes()),
            _ => panic!("field {number} in a feature"),
        }
    }
    let kind = match kind {
        Some(1) => Kind::Points,
        Some(2) => Kind::Lines,
        Some(3) => Kind::Polygons,
        other => panic!("{other:?} is no type"),
    };
    let mut properties = BTreeMap::new();
    assert_eq!(tags.len() % 2, 0, "a key without a value");
    for pair in tags.chunks(2) {
        let at = |index: u64| usize::try_from(index).unwrap();
        let (key, value) = (&keys[at(pair[0])], &values[at(pair[1])]);
        assert_eq!(properties.insert(key.clone(), value.clone()), None, "{key} comes twice");
    }
    let paths = read_paths(kind, &geometry);
    if kind == Kind::Polygons {
        assert!(area(&paths[0]) > 0, "the first ring is no outer ring");
    }
    Feature { id: id.expect("an id"), kind, paths, properties }
}

fn read_paths(kind: Kind, commands: &[u64]) -> Vec<Path> {
    let mut commands = commands.iter().copied();
    let mut at = (0, 0);
    let mut paths: Vec<Path> = Vec::new();
    let mut go = |commands: &mut dyn Iterator<Item = u64>| {
        let mut step = || unzigzag(commands.next().expect("a parameter"));
        let (across, down) = (step(), step());
        at = (at.0 + across, at.1 + down);
        let inside = NEAREST..=FARTHEST;
        assert!(inside.contains(&at.0) && inside.contains(&at.1), "{at:?} is out of the tile");
        at
    };
    while let Some(command) = commands.next() {
        let (count, command) = (command >> 3, command & 7);
        assert!(count > 0, "a command of nothing");
        assert_eq!(command, 1, "a path begins with MoveTo");
        let path: Path = (0..count).map(|_| go(&mut commands)).collect();
        if kind == Kind::Points {
            assert!(paths.is_empty(), "points are one path");
            paths.push(path);
            continue;
        }
        assert_eq!(count, 1, "one MoveTo a path");
        let mut path = path;
        let command = commands.next().expect("LineTo");
        assert_eq!(command & 7, 2, "LineTo follows MoveTo");
        for _ in 0..command >> 3 {
            let to = go(&mut commands);
            assert_ne!(path.last(), Some(&to), "a step of no length");
            path.push(to);
        }
        if kind == Kind::Polygons {
            assert_eq!(commands.next(), Some(1 << 3 | 7), "ClosePath ends a ring");
            assert!(path.len() >= 3 && path.first() != path.last(), "{path:?} is no ring");
            assert_ne!(area(&path), 0, "{path:?} has no area");
        }
        assert!(path.len() >= 2, "{path:?} is no line");
        paths.push(path);
    }
    assert!(!paths.is_empty(), "a feature without a geometry");
    paths
}

fn read_value(bytes: &[u8]) -> Value {
    let mut found = fields(bytes);
    let (number, field) = found.next().expect("a value");
    assert!(found.next().is_none(), "two values in one");
    let float = |value: f64| Value::Number(Number::from_f64(value).expect("a finite number"));
    match (number, field) {
        (1, Field::Bytes(bytes)) => Value::String(text(bytes)),
        (3, Field::Eight(bytes)) => float(f64::from_le_bytes(bytes)),
        (4 | 5, Field::Number(number)) => Value::from(number),
        (6, Field::Number(number)) => Value::from(unzigzag(number)),
        (7, Field::Number(number @ (0 | 1))) => Value::Bool(number == 1),
        (number, _) => panic!("{number} is no field of a value, or has the wrong form"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// A field of a message.
#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
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

/// The fields of a message, each with its number.
fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let head = varint(&mut bytes);
        let field = match head & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (eight, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                Field::Eight(*eight)
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (field, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(field)
            }
            other => panic!("wire type {other}"),
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
    panic!("a varint of more than ten bytes")
}
