//! A reader of tiles that trusts nothing: it panics on what MVT 2.1 forbids.

use crate::varint;

pub(super) type Path = Vec<(i64, i64)>;

#[derive(Debug, PartialEq)]
pub(super) struct Layer {
    pub name: String,
    pub features: Vec<Feature>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Feature {
    pub id: u64,
    pub properties: Vec<(String, Value)>,
    pub geometry: Geometry,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Double(f64),
    Unsigned(u64),
    Signed(i64),
    Boolean(bool),
}

/// Rings are in the order of the tile; a hole has a negative area.
#[derive(Debug, PartialEq)]
pub(super) enum Geometry {
    Points(Path),
    Lines(Vec<Path>),
    Polygons(Vec<Path>),
}

/// The layer of a tile; `None` when the tile is empty.
pub(super) fn tile(bytes: &[u8]) -> Option<Layer> {
    let mut layers = fields(bytes).into_iter().map(|field| match field {
        (3, Field::Bytes(layer)) => layer_of(layer),
        other => panic!("a tile has layers only, not {other:?}"),
    });
    let layer = layers.next();
    assert!(layers.next().is_none(), "one layer");
    layer
}

pub(super) fn doubled_area(ring: &[(i64, i64)]) -> i64 {
    let closed = ring.iter().zip(ring.iter().cycle().skip(1));
    closed.map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum()
}

#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Fixed([u8; 8]),
    Bytes(&'a [u8]),
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let head = varint::take(&mut bytes).unwrap();
        let field = match head & 7 {
            0 => Field::Number(varint::take(&mut bytes).unwrap()),
            1 => {
                let (fixed, rest) = bytes.split_first_chunk().unwrap();
                bytes = rest;
                Field::Fixed(*fixed)
            }
            2 => {
                let length = varint::take(&mut bytes).unwrap() as usize;
                let (field, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(field)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((head >> 3, field));
    }
    fields
}

fn layer_of(bytes: &[u8]) -> Layer {
    let (mut name, mut extent, mut version) = (None, None, None);
    let (mut features, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for field in fields(bytes) {
        match field {
            (1, Field::Bytes(text)) => name = Some(String::from_utf8(text.to_vec()).unwrap()),
            (2, Field::Bytes(feature)) => features.push(feature),
            (3, Field::Bytes(key)) => keys.push(String::from_utf8(key.to_vec()).unwrap()),
            (4, Field::Bytes(value)) => values.push(value),
            (5, Field::Number(number)) => extent = Some(number),
            (15, Field::Number(number)) => version = Some(number),
            other => panic!("a layer has no {other:?}"),
        }
    }
    assert_eq!((extent, version), (Some(4096), Some(2)));
    assert!(!features.is_empty());
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(key), "{key} twice");
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "a value twice");
    let values: Vec<Value> = values.into_iter().map(value_of).collect();
    let features = features.into_iter().map(|feature| feature_of(feature, &keys, &values));
    Layer { name: name.unwrap(), features: features.collect() }
}

fn value_of(bytes: &[u8]) -> Value {
    match fields(bytes)[..] {
        [(1, Field::Bytes(text))] => Value::Text(String::from_utf8_lossy(text).into_owned()),
        [(3, Field::Fixed(double))] => Value::Double(f64::from_le_bytes(double)),
        [(5, Field::Number(number))] => Value::Unsigned(number),
        [(6, Field::Number(number))] => Value::Signed(varint::unzigzag(number)),
        [(7, Field::Number(number))] => Value::Boolean(number != 0),
        ref other => panic!("a value is no {other:?}"),
    }
}

fn feature_of(bytes: &[u8], keys: &[String], values: &[Value]) -> Feature {
    let (mut id, mut tags, mut kind, mut geometry) = (None, Vec::new(), None, Vec::new());
    for field in fields(bytes) {
        match field {
            (1, Field::Number(number)) => id = Some(number),
            (2, Field::Bytes(packed)) => tags = numbers(packed),
            (3, Field::Number(number)) => kind = Some(number),
            (4, Field::Bytes(packed)) => geometry = numbers(packed),
            other => panic!("a feature has no {other:?}"),
        }
    }
    assert_eq!(tags.len() % 2, 0);
    let property = |tag: &[u64]| (keys[tag[0] as usize].clone(), values[tag[1] as usize].clone());
    Feature {
        id: id.unwrap(),
        properties: tags.chunks_exact(2).map(property).collect(),
        geometry: geometry_of(kind.unwrap(), &geometry),
    }
}

fn numbers(mut packed: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while !packed.is_empty() {
        numbers.push(varint::take(&mut packed).unwrap());
    }
    numbers
}

fn geometry_of(kind: u64, numbers: &[u64]) -> Geometry {
    let mut commands = Commands { numbers, at: (0, 0) };
    match kind {
        1 => {
            let points = commands.steps(1);
            assert!(commands.numbers.is_empty(), "points are one command");
            Geometry::Points(points)
        }
        2 => {
            let mut lines = Vec::new();
            while !commands.numbers.is_empty() {
                lines.push(commands.path());
            }
            assert!(!lines.is_empty());
            Geometry::Lines(lines)
        }
        3 => {
            let mut rings: Vec<Path> = Vec::new();
            while !commands.numbers.is_empty() {
                let ring = commands.path();
                assert_eq!(commands.command(), (7, 1), "a ring is closed");
                assert!(ring.len() >= 3, "{ring:?}");
                assert_ne!(ring.first(), ring.last(), "a ring does not repeat its first point");
                assert_ne!(doubled_area(&ring), 0, "a ring has an area: {ring:?}");
                rings.push(ring);
            }
            assert!(doubled_area(&rings[0]) > 0, "an outer ring is first");
            Geometry::Polygons(rings)
        }
        other => panic!("geometry type {other}"),
    }
}

struct Commands<'a> {
    numbers: &'a [u64],
    at: (i64, i64),
}

impl Commands<'_> {
    fn number(&mut self) -> u64 {
        let (first, rest) = self.numbers.split_first().unwrap();
        self.numbers = rest;
        *first
    }

    fn command(&mut self) -> (u64, u64) {
        let number = self.number();
        (number & 7, number >> 3)
    }

    /// The points of one command of this kind.
    fn steps(&mut self, expected: u64) -> Path {
        let (command, count) = self.command();
        assert_eq!(command, expected);
        assert!(count > 0);
        let step = |_| {
            self.at.0 += varint::unzigzag(self.number());
            self.at.1 += varint::unzigzag(self.number());
            let frame = -64..=4160;
            assert!(frame.contains(&self.at.0) && frame.contains(&self.at.1), "{:?}", self.at);
            self.at
        };
        (0..count).map(step).collect()
    }

    /// A `MoveTo` and a `LineTo`.
    fn path(&mut self) -> Path {
        let mut path = self.steps(1);
        assert_eq!(path.len(), 1);
        path.extend(self.steps(2));
        assert!(path.windows(2).all(|pair| pair[0] != pair[1]), "a point twice: {path:?}");
        path
    }
}
