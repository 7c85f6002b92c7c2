//! GeoJSON (RFC 7946), read as a stream and written.
//!
//! Reading takes memory for the largest feature, never for their number: each is handed on as soon
//! as it is complete, in WGS 84, put right where that needs no guess ([`crate::repair`]). What is
//! refused is named by its place. All or nothing is for the one who takes the features: what was
//! handed on before a fault was found has to be undone there.

mod coordinates;
mod fault;
mod id;
mod number;
mod object;
mod properties;
mod scan;
mod write;

#[cfg(test)]
mod tests;

pub use write::write_geometry;

use crate::{Crs, Geometry};
use fault::{Fault, Mark};
use object::Reader;
use serde_json::{Map, Value};
use std::io;
use thiserror::Error;

/// The most positions of one feature.
pub const MAX_VERTICES: usize = 1_000_000;
/// The most rings of one feature.
pub const MAX_RINGS: usize = 100_000;
/// The most geometries in the collections of one feature.
pub const MAX_PARTS: usize = 100_000;
/// The most keys in the `properties` of one feature, and members of any other object.
pub const MAX_KEYS: usize = 1_000;
/// The most memory that the `properties` of one feature may take, in bytes.
pub const MAX_PROPERTIES: usize = 16 << 20;
/// How deep GeometryCollections may nest.
pub const MAX_COLLECTIONS: usize = 4;
/// The most faults that are told at once.
pub const MAX_SPOTS: usize = 20;

/// How to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The reference system of coordinates that name no other.
    pub crs: Crs,
    /// After how many faults to stop.
    pub max_spots: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { crs: Crs::WGS84, max_spots: MAX_SPOTS }
    }
}

/// A Feature, or a bare geometry taken for one.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// Its own `id`, as text.
    pub external_id: Option<String>,
    /// Where it is; `None` where it says `null`.
    pub geometry: Option<Geometry>,
    /// What is known of it, with numbers as they were written.
    pub properties: Map<String, Value>,
    /// Its place among the `features` of its FeatureCollection; `None` when it stands alone.
    pub index: Option<usize>,
    /// The line it begins in, from 1.
    pub line: u64,
}

impl Feature {
    /// Where it is in its document, as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        self.index.map_or_else(String::new, |index| format!("/features/{index}"))
    }
}

/// A place in a document and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The place as a JSON pointer (RFC 6901): `/features/3/geometry/coordinates/0/2`.
    pub pointer: String,
    /// The line that was being read, from 1.
    pub line: u64,
    /// What is wrong, without the place.
    pub message: String,
    /// Whether reading ended there: nothing behind it was looked at.
    pub is_last: bool,
    /// Whether another reference system would explain it, such as one that is named only behind
    /// the features ([`named_crs`]).
    pub strays: bool,
}

impl From<Mark> for Spot {
    fn from(mark: Mark) -> Self {
        let (pointer, message) = (mark.pointer(), mark.message.into_owned());
        Self { pointer, line: mark.line, message, is_last: false, strays: mark.strays }
    }
}

/// Why a document was not read to its end, or not all of it was taken.
#[derive(Debug, Error)]
pub enum ReadError<E> {
    /// It is not what it should be. There is at least one spot, in the order of the document.
    #[error("{} at `{}`", .0.first().map_or("", |spot| &spot.message), .0.first().map_or("", |spot| &spot.pointer))]
    Refused(Vec<Spot>),
    /// The input failed.
    #[error(transparent)]
    Input(io::Error),
    /// The one who takes the features stopped the reading.
    #[error("stopped")]
    Stopped(E),
}

/// Reads one GeoJSON object of any type and hands its features to `take`, which may stop it. The
/// answer is how many there were.
///
/// A fault in one feature does not hold back the next ones, so that several can be told at once:
/// features are handed on after it too.
pub fn read<E>(
    input: impl io::Read,
    options: &Options,
    take: impl FnMut(Feature) -> Result<(), E>,
) -> Result<u64, ReadError<E>> {
    drive(input, options, take, Texts::One)
}

/// The legacy `crs` of a GeoJSON object, wherever among its members it stands. [`read`] can go by it
/// only where it comes before the features, so who meets one that [strays](Spot::strays) looks for it, and
/// reads again with that in its [`Options`].
pub fn named_crs(mut input: impl io::Read) -> Option<Crs> {
    let options = Options::default();
    Reader::new(&mut input, &options, &mut |_| false).root_crs().ok().flatten()
}

/// Reads a sequence of GeoJSON objects, one a line (NDJSON) or each behind a record separator
/// (RFC 8142). Here even text that is no JSON does not hold back the next line. Pointers lead from
/// the root of the line's own object.
pub fn read_seq<E>(
    input: impl io::Read,
    options: &Options,
    take: impl FnMut(Feature) -> Result<(), E>,
) -> Result<u64, ReadError<E>> {
    drive(input, options, take, Texts::Many)
}

/// How many JSON texts an input is.
#[derive(Clone, Copy)]
enum Texts {
    One,
    Many,
}

fn drive<E>(
    mut input: impl io::Read,
    options: &Options,
    mut take: impl FnMut(Feature) -> Result<(), E>,
    texts: Texts,
) -> Result<u64, ReadError<E>> {
    let mut stopped = None;
    let mut take = |feature| match take(feature) {
        Ok(()) => true,
        Err(error) => {
            stopped = Some(error);
            false
        }
    };
    let mut reader = Reader::new(&mut input, options, &mut take);
    let outcome = match texts {
        Texts::One => reader.document(),
        Texts::Many => reader.sequence(),
    };
    let (count, mut spots) = reader.into_result();
    if let Err(fault) = outcome {
        match *fault {
            Fault::Input(error) => return Err(ReadError::Input(error)),
            Fault::Broken(mark) | Fault::Wrong(mark) => {
                spots.push(Spot { is_last: true, ..mark.into() });
            }
            Fault::Enough | Fault::Stopped => {}
        }
    }
    match stopped {
        Some(error) => Err(ReadError::Stopped(error)),
        None if spots.is_empty() => Ok(count),
        None => Err(ReadError::Refused(spots)),
    }
}
