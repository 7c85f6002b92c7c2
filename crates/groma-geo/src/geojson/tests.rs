//! The promises of the contract (§ 7) and of «What Groma holds out against», line by line.

mod accepted;
mod anything;
mod refused;
mod sequences;
mod systems;
mod told;

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

fn written(geometry: &Geometry) -> String {
    let mut text = Vec::new();
    write_geometry(geometry, &mut text);
    String::from_utf8(text).unwrap()
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
