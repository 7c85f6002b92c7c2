//! A file of features in one of the formats, read as a stream.

use crate::{
    cli::LayerFormat,
    commands::{CommandError, record_file::open_rereadable},
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

/// Reading stops after this many errors.
pub(super) const MAX_ERRORS: usize = 100_000;

/// A file of features that can be read more than once.
pub(super) struct FeatureFile {
    file: File,
    format: LayerFormat,
    crs: Crs,
}

impl FeatureFile {
    /// Opens a file, or standard input if the path is `-`.
    pub(super) fn open(path: &Path, format: LayerFormat, crs: Crs) -> Result<Self, CommandError> {
        let with_path =
            |error: io::Error| CommandError::new(format!("{}: {error}", path.display()));
        Ok(Self { file: open_rereadable(path).map_err(with_path)?, format, crs })
    }

    /// The size in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// The same file in the coordinate reference system that it declares, if that differs: the `crs`
    /// of a GeoJSON file can follow its features.
    pub(super) fn with_declared_crs(&self) -> io::Result<Option<Self>> {
        let mut file = &self.file;
        file.rewind()?;
        let declared = match self.format {
            LayerFormat::GeoJson => geojson::find_crs(file),
            LayerFormat::GeoJsonSeq => None,
        };
        let Some(crs) = declared.filter(|crs| *crs != self.crs) else { return Ok(None) };
        Ok(Some(Self { file: self.file.try_clone()?, format: self.format, crs }))
    }

    /// Passes every feature to `on_feature` until it fails.
    pub(super) fn read<E>(
        &self,
        bar: &ProgressBar,
        on_feature: impl FnMut(Feature) -> Result<(), E>,
    ) -> Result<u64, ReadError<E>> {
        let mut file = &self.file;
        file.rewind().map_err(ReadError::Input)?;
        let input = bar.wrap_read(file);
        let options =
            Options { crs: self.crs.clone(), max_errors: MAX_ERRORS, ..Options::default() };
        match self.format {
            LayerFormat::GeoJson => geojson::read(input, &options, on_feature),
            LayerFormat::GeoJsonSeq => geojson::read_sequence(input, &options, on_feature),
        }
    }
}
