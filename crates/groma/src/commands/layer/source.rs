//! Where features come from: a file in one of the formats, read as a stream. A further format is a
//! further arm of [`Source::read`].

use crate::{
    cli::LayerFormat,
    commands::{Failure, files::rereadable},
};
use groma_geo::{
    Crs,
    geojson::{self, Feature, Options, ReadError},
};
use indicatif::ProgressBar;
use std::{
    fs::File,
    io::{self, Seek},
    path::Path,
};

/// How many faults are told before reading stops: someone has to read them.
pub(super) const MAX_FAULTS: usize = 100_000;

/// A file of features, which can be read more than once.
pub(super) struct Source {
    file: File,
    format: LayerFormat,
    crs: Crs,
}

impl Source {
    /// Opens a file, or standard input when it is `-`.
    pub(super) fn open(path: &Path, format: LayerFormat, crs: Crs) -> Result<Self, Failure> {
        let named = |error: io::Error| Failure::new(format!("{}: {error}", path.display()));
        Ok(Self { file: rereadable(path).map_err(named)?, format, crs })
    }

    /// Its size in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// The same in the reference system that the file names, if that is another: the `crs` of a GeoJSON file
    /// may stand behind its features.
    pub(super) fn elsewhere(&self) -> io::Result<Option<Self>> {
        let mut file = &self.file;
        file.rewind()?;
        let named = match self.format {
            LayerFormat::GeoJson => geojson::named_crs(file),
            LayerFormat::GeoJsonSeq => None,
        };
        let Some(crs) = named.filter(|crs| *crs != self.crs) else { return Ok(None) };
        Ok(Some(Self { file: self.file.try_clone()?, format: self.format, crs }))
    }

    /// Reads every feature from the beginning and hands it to `take`, which may stop it.
    pub(super) fn read<E>(
        &self,
        bar: &ProgressBar,
        take: impl FnMut(Feature) -> Result<(), E>,
    ) -> Result<u64, ReadError<E>> {
        let mut file = &self.file;
        file.rewind().map_err(ReadError::Input)?;
        let input = bar.wrap_read(file);
        let options = Options { crs: self.crs.clone(), max_spots: MAX_FAULTS };
        match self.format {
            LayerFormat::GeoJson => geojson::read(input, &options, take),
            LayerFormat::GeoJsonSeq => geojson::read_seq(input, &options, take),
        }
    }
}
