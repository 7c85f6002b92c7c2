//! A strict decoder of MVT 2.1: it panics on everything that the specification forbids, and on invalid
//! polygons.

use super::ogc;
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

/// Rings are in the order of the tile. Holes have a negative area.
#[derive(Debug, PartialEq)]
pub(super) enum Geometry {
    Points(Path),
    Lines(Vec<Path>),
    Polygons(Vec<Path>),
}

/// The layer of a tile; `None` if the tile is empty.
pub(super) fn tile(bytes: &[u8]) -> Option<Layer> {
    let mut layers = fields(bytes).into_iter().map(|field| match field {
        (3, Field::Bytes(layer)) => layer_of(layer),
        other => panic!("unexpected field of a tile: {other:?}"),
    });
    let layer = layers.next();
    assert!(layers.next().is_none(), "more than one layer");
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
        let header = varint::take(&mut bytes).unwrap();
        let field = match header & 7 {
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
        fields.push((header >> 3, field));
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
            other => panic!("unexpected field of a layer: {other:?}"),
        }
    }
    assert_eq!((extent, version), (Some(4096), Some(2)));
    assert!(!features.is_empty());
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(key), "duplicate key {key}");
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "duplicate value");
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
        ref other => panic!("unexpected value: {other:?}"),
    }
}

fn feature_of(bytes: &[u8], keys: &[String], values: &[Value]) -> Feature {
    let (mut id, mut tags, mut geom_type, mut geometry) = (None, Vec::new(), None, Vec::new());
    for field in fields(bytes) {
        match field {
            (1, Field::Number(number)) => id = Some(number),
            (2, Field::Bytes(packed)) => tags = numbers(packed),
            (3, Field::Number(number)) => geom_type = Some(number),
            (4, Field::Bytes(packed)) => geometry = numbers(packed),
            other => panic!("unexpected field of a feature: {other:?}"),
        }
    }
    assert_eq!(tags.len() % 2, 0);
    let property = |tag: &[u64]| (keys[tag[0] as usize].clone(), values[tag[1] as usize].clone());
    Feature {
        id: id.unwrap(),
        properties: tags.chunks_exact(2).map(property).collect(),
        geometry: geometry_of(geom_type.unwrap(), &geometry),
    }
}

fn numbers(mut packed: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while !packed.is_empty() {
        numbers.push(varint::take(&mut packed).unwrap());
    }
    numbers
}

fn geometry_of(geom_type: u64, numbers: &[u64]) -> Geometry {
    let mut commands = Commands { numbers, at: (0, 0) };
    match geom_type {
        1 => {
            let points = commands.points(1);
            assert!(commands.numbers.is_empty(), "more than one command for points");
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
                assert_eq!(commands.command(), (7, 1), "ring is not closed");
                assert_ne!(ring.first(), ring.last(), "ring repeats its first point");
                rings.push(ring);
            }
            ogc::assert_valid(&rings);
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

    /// The points of one command with this id.
    fn points(&mut self, expected: u64) -> Path {
        let (command, count) = self.command();
        assert_eq!(command, expected);
        assert!(count > 0);
        let point = |_| {
            self.at.0 += varint::unzigzag(self.number());
            self.at.1 += varint::unzigzag(self.number());
            let clip_box = -64..=4160;
            assert!(
                clip_box.contains(&self.at.0) && clip_box.contains(&self.at.1),
                "{:?}",
                self.at
            );
            self.at
        };
        (0..count).map(point).collect()
    }

    /// A `MoveTo` and a `LineTo`.
    fn path(&mut self) -> Path {
        let mut path = self.points(1);
        assert_eq!(path.len(), 1);
        path.extend(self.points(2));
        assert!(path.windows(2).all(|pair| pair[0] != pair[1]), "repeated point: {path:?}");
        path
    }
}
