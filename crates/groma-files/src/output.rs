//! What the writers of formats get: a layer, and its features in a temporary file.

use crate::{FileError, error::Result, schema::Schema};
use groma_geo::{Crs, Geometry, Message, wkb};
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::{BufReader, Read},
};

/// A layer whose features are collected.
pub(crate) struct OutputLayer {
    pub(crate) name: String,
    /// The columns that link features to rows of other tables.
    pub(crate) links: Vec<Link>,
    pub(crate) crs: Crs,
    pub(crate) schema: Schema,
}

/// A column of a layer whose values are the ids of rows of a table.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The name of the column.
    pub column: &'static str,
    /// The table.
    pub table: &'static str,
}

/// Features that were collected.
pub(crate) struct Spool(BufReader<File>);

/// Properties from JSON.
pub(crate) fn parse(properties: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(properties)
        .map_err(|error| FileError::invalid(Message::untranslated(error)))
}

impl Spool {
    /// The features in a file, which is at its start.
    pub(crate) fn new(file: File) -> Self {
        Self(BufReader::with_capacity(1 << 18, file))
    }

    /// Passes on every feature, with its id.
    pub(crate) fn each(
        self,
        count: u64,
        mut on_feature: impl FnMut(&str, Option<Geometry>, Map<String, Value>) -> Result<()>,
    ) -> Result<()> {
        self.each_linked(count, 0, |id, geometry, properties, _| {
            on_feature(id, geometry, properties)
        })
    }

    /// Passes on every feature, with its id and the values of its links.
    pub(crate) fn each_linked(
        mut self,
        count: u64,
        links: usize,
        mut on_feature: impl FnMut(
            &str,
            Option<Geometry>,
            Map<String, Value>,
            Vec<Option<String>>,
        ) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..count {
            let id = String::from_utf8_lossy(&self.part()?).into_owned();
            let geometry = match self.part()? {
                bytes if bytes.is_empty() => None,
                bytes => Some(
                    wkb::from_wkb(&bytes).map_err(|error| FileError::invalid(error.message()))?,
                ),
            };
            let properties = parse(&String::from_utf8_lossy(&self.part()?))?;
            let link = |bytes: Vec<u8>| String::from_utf8(bytes).ok().filter(|id| !id.is_empty());
            let links: Result<Vec<_>> = (0..links).map(|_| self.part().map(link)).collect();
            on_feature(&id, geometry, properties, links?)?;
        }
        Ok(())
    }

    fn part(&mut self) -> Result<Vec<u8>> {
        let mut length = [0; 8];
        self.0.read_exact(&mut length)?;
        let mut part = vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX)];
        self.0.read_exact(&mut part)?;
        Ok(part)
    }
}
