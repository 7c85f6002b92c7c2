//! Tests of reading GeoJSON through the public functions.

mod accepted;
mod crs;
mod errors;
mod fuzz;
mod rejected;
mod sequences;

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

fn single_feature(text: impl AsRef<[u8]>) -> Feature {
    let mut features = features(text);
    assert_eq!(features.len(), 1);
    features.remove(0)
}

fn geometry(text: &str) -> Geometry {
    single_feature(text).geometry.unwrap()
}

fn errors(input: impl io::Read) -> Vec<DocumentError> {
    match read(input, &Options::default(), |_| Ok::<_, Infallible>(())) {
        Err(ReadError::Invalid(errors)) => errors,
        other => panic!("not rejected: {other:?}"),
    }
}

/// The pointer of the only error in this text.
fn error_pointer(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{} {errors:?}", String::from_utf8_lossy(text));
    assert!(!errors[0].message.to_string().is_empty());
    errors[0].pointer.clone()
}

/// A FeatureCollection of a valid feature and this one, which is at `/features/1`.
fn as_second_feature(feature: &str) -> String {
    let first = r#"{"type":"Feature","geometry":null,"properties":null}"#;
    format!(r#"{{"type":"FeatureCollection","features":[{first},{feature}]}}"#)
}

/// A FeatureCollection whose second feature has a geometry of this type with these coordinates.
fn with_geometry(r#type: &str, coordinates: &str) -> String {
    as_second_feature(&format!(
        r#"{{"type":"Feature","properties":{{}},"geometry":{{"type":"{type}","coordinates":{coordinates}}}}}"#
    ))
}

fn with_properties(properties: &str) -> String {
    format!(r#"{{"type":"Feature","geometry":null,"properties":{properties}}}"#)
}

fn with_id(id: &str) -> String {
    format!(r#"{{"type":"Feature","id":{id},"geometry":null,"properties":null}}"#)
}

fn position(x: f64, y: f64) -> Position {
    Position { x, y, z: None }
}

fn to_json(geometry: &Geometry) -> String {
    let mut text = Vec::new();
    write_geometry(geometry, &mut text);
    String::from_utf8(text).unwrap()
}

/// Replaces `*` in the text by `item`, repeated `count` times with commas between. The text is
/// generated while it is read and never held in memory as a whole.
fn repeated(text: &str, item: &str, count: usize) -> impl io::Read + use<> {
    let (before, after) = text.split_once('*').unwrap();
    let (before, after) = (before.to_owned(), after.to_owned());
    let item = iter::once(item.to_owned()).chain(iter::repeat_n(format!(",{item}"), count - 1));
    Chunks {
        chunks: iter::once(before).chain(item).chain(iter::once(after)),
        current: io::Cursor::default(),
    }
}

struct Chunks<I> {
    chunks: I,
    current: io::Cursor<Vec<u8>>,
}

impl<I: Iterator<Item = String>> io::Read for Chunks<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.current.read(buffer)? {
                0 => match self.chunks.next() {
                    Some(chunk) => self.current = io::Cursor::new(chunk.into_bytes()),
                    None => return Ok(0),
                },
                read => return Ok(read),
            }
        }
    }
}
