//! A file of features in any of the formats. Its features come out checked, transformed to WGS 84 and repaired,
//! as those of a GeoJSON document do.

use crate::{
    FileError, LayerFormat, SourceCrs, SourceLayer,
    error::Result,
    formats,
    source::{ID_COLUMN, ID_PROPERTY, Source, SourceFeature},
    value,
};
use groma_geo::{
    Crs, Notice,
    geojson::{self, DocumentError, Feature, FeatureBuilder, Options, ReadError},
};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// How to open a file.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The reference system of the coordinates, instead of the one that the file names.
    pub crs: Option<Crs>,
    /// The name of the layer in the file; needed if it has several.
    pub layer: Option<String>,
    /// The field whose value identifies a feature.
    pub id_field: Option<String>,
    /// Reading stops after this many errors.
    pub max_errors: usize,
}

/// An open file of features. It can be read more than once.
pub struct LayerFile {
    format: LayerFormat,
    content: Content,
    options: OpenOptions,
}

enum Content {
    /// GeoJSON names its reference system within the document.
    GeoJson {
        path: PathBuf,
    },
    Source {
        source: Box<dyn Source>,
        layer: usize,
        crs: Crs,
    },
}

impl LayerFile {
    /// The layers of a file, without choosing one.
    pub fn list_layers(path: &Path, format: LayerFormat) -> Result<Vec<SourceLayer>> {
        match format {
            LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => Ok(Vec::new()),
            _ => Ok(formats::open(path, format)?.layers().to_vec()),
        }
    }

    /// Opens a file.
    pub fn open(path: &Path, format: LayerFormat, options: OpenOptions) -> Result<Self> {
        let content = match format {
            LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => {
                if options.layer.is_some() {
                    return Err(FileError::invalid("a GeoJSON file has only one layer"));
                }
                File::open(path)?;
                Content::GeoJson { path: path.to_owned() }
            }
            _ => {
                let source = formats::open(path, format)?;
                let layer = choose_layer(source.layers(), options.layer.as_deref())?;
                let found = &source.layers()[layer];
                check_id_field(found, options.id_field.as_deref())?;
                let crs = match &options.crs {
                    Some(crs) => crs.clone(),
                    None => declared_crs(found)?,
                };
                Content::Source { source, layer, crs }
            }
        };
        Ok(Self { format, content, options })
    }

    /// The format of the file.
    #[must_use]
    pub fn format(&self) -> LayerFormat {
        self.format
    }

    /// The layer that is read; `None` for GeoJSON, which says nothing about it beforehand.
    #[must_use]
    pub fn layer(&self) -> Option<&SourceLayer> {
        match &self.content {
            Content::GeoJson { .. } => None,
            Content::Source { source, layer, .. } => source.layers().get(*layer),
        }
    }

    /// The same file in the reference system that it declares, if that differs: the `crs` of a GeoJSON file can
    /// follow its features.
    pub fn with_declared_crs(&self) -> Result<Option<Self>> {
        let (LayerFormat::GeoJson, Content::GeoJson { path }) = (self.format, &self.content) else {
            return Ok(None);
        };
        let declared = geojson::find_crs(File::open(path)?);
        let current = self.options.crs.clone().unwrap_or(Crs::WGS84);
        let Some(crs) = declared.filter(|crs| *crs != current) else { return Ok(None) };
        let options = OpenOptions { crs: Some(crs), ..self.options.clone() };
        let content = Content::GeoJson { path: path.clone() };
        Ok(Some(Self { format: self.format, content, options }))
    }

    /// Passes every feature to `on_feature` until it fails, and the number of bytes read so far, as far as the
    /// format tells, to `on_bytes`. Returns the number of features.
    pub fn read<E>(
        &self,
        mut on_bytes: impl FnMut(u64),
        on_feature: impl FnMut(Feature) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, ReadError<E>> {
        match &self.content {
            Content::GeoJson { path } => {
                let file = File::open(path).map_err(ReadError::Input)?;
                self.read_geojson(Counted { file, on_bytes: &mut on_bytes }, on_feature)
            }
            Content::Source { source, layer, crs } => {
                self.read_source(source.as_ref(), *layer, crs, on_feature)
            }
        }
    }

    fn read_geojson<E>(
        &self,
        input: Counted<'_>,
        mut on_feature: impl FnMut(Feature) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, ReadError<E>> {
        let crs = self.options.crs.clone().unwrap_or(Crs::WGS84);
        let options = Options { crs, max_errors: self.options.max_errors, ..Options::default() };
        let (mut ids, mut repeated) = (FxHashSet::default(), Vec::new());
        let pass_on = |mut feature: Feature| {
            if let Some(field) = &self.options.id_field {
                feature.external_id = feature.properties.get(field).and_then(value::text);
                if let Some(id) = &feature.external_id
                    && !ids.insert(id.clone())
                {
                    let message =
                        format!("`{id:.100}` is already the {field} of an earlier feature");
                    repeated.push(DocumentError::at(feature.line, message));
                    return Ok(());
                }
            }
            on_feature(feature)
        };
        let result = match self.format {
            LayerFormat::GeoJson => geojson::read(input, &options, pass_on),
            _ => geojson::read_sequence(input, &options, pass_on),
        };
        match result {
            _ if repeated.is_empty() => result,
            Ok(_) => Err(ReadError::Invalid(repeated)),
            Err(ReadError::Invalid(mut errors)) => {
                errors.extend(repeated);
                Err(ReadError::Invalid(errors))
            }
            stopped => stopped,
        }
    }

    fn read_source<E>(
        &self,
        source: &dyn Source,
        layer: usize,
        crs: &Crs,
        mut on_feature: impl FnMut(Feature) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, ReadError<E>> {
        let mut builder = FeatureBuilder::new(crs.clone());
        let (mut count, mut errors, mut stopped) = (0, Vec::new(), None);
        let (id_field, key) =
            (self.options.id_field.as_deref(), source.layers()[layer].key.as_deref());
        let result = source.read(layer, &mut |number, row| {
            let built = match row {
                Ok(row) => build(&mut builder, number, row, id_field, key),
                Err(message) => Err(DocumentError::at(number, message)),
            };
            match built {
                Ok(feature) => {
                    count += 1;
                    stopped = on_feature(feature).err();
                    stopped.is_none()
                }
                Err(error) => {
                    errors.push(error);
                    errors.len() < self.options.max_errors
                }
            }
        });
        match (stopped, result) {
            (Some(error), _) => Err(ReadError::Stopped(error)),
            (None, Err(FileError::Io(error))) if error.raw_os_error().is_some() => {
                Err(ReadError::Input(error))
            }
            (None, Err(error)) => {
                let fatal = DocumentError::at(count + errors.len() as u64 + 1, error.to_string());
                errors.push(DocumentError { is_fatal: true, ..fatal });
                Err(ReadError::Invalid(errors))
            }
            (None, Ok(())) if errors.is_empty() => Ok(count),
            (None, Ok(())) => Err(ReadError::Invalid(errors)),
        }
    }
}

fn build(
    builder: &mut FeatureBuilder,
    number: u64,
    row: SourceFeature,
    id_field: Option<&str>,
    key: Option<&str>,
) -> std::result::Result<Feature, DocumentError> {
    let SourceFeature { key: key_value, geometry, mut properties, has_measures, has_binary } = row;
    let id = take_id(&mut properties, id_field, key, key_value);
    let mut feature = builder.build(number, id, geometry, properties)?;
    for (is_dropped, message) in
        [(has_measures, "M values were dropped"), (has_binary, "binary values were dropped")]
    {
        if is_dropped {
            feature.notices.push(Notice { pointer: String::new(), message: message.to_owned() });
        }
    }
    Ok(feature)
}

fn take_id(
    properties: &mut Map<String, Value>,
    id_field: Option<&str>,
    key: Option<&str>,
    key_value: Option<String>,
) -> Option<String> {
    let exported = match properties.contains_key(ID_PROPERTY) {
        true => properties.shift_remove(ID_PROPERTY),
        false => properties.shift_remove(ID_COLUMN),
    };
    let id = match id_field {
        None | Some(ID_COLUMN) => exported.as_ref().and_then(value::text),
        Some(field) if Some(field) == key => key_value,
        Some(field) => properties.get(field).and_then(value::text),
    };
    id.filter(|id| !id.is_empty())
}

fn choose_layer(layers: &[SourceLayer], name: Option<&str>) -> Result<usize> {
    let names = || layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, layers) {
        (_, []) => Err(FileError::invalid("the file contains no layer")),
        (None, [_]) => Ok(0),
        (None, _) => Err(FileError::invalid(format!(
            "the file contains several layers; choose one with --source-layer: {}",
            names()
        ))),
        (Some(name), _) => layers.iter().position(|layer| layer.name == name).ok_or_else(|| {
            FileError::invalid(format!("layer `{name}` is not in the file; it has {}", names()))
        }),
    }
}

fn check_id_field(layer: &SourceLayer, field: Option<&str>) -> Result<()> {
    let Some(field) = field else { return Ok(()) };
    let is_field = layer.fields.iter().any(|one| one.name == field);
    // The fields of some formats are only known once the file was read.
    if is_field || layer.key.as_deref() == Some(field) || layer.fields.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = layer.fields.iter().map(|one| one.name.as_str()).collect();
    Err(FileError::invalid(format!(
        "there is no field `{field}`; the fields are {}",
        names.join(", ")
    )))
}

fn declared_crs(layer: &SourceLayer) -> Result<Crs> {
    let hint = "name the reference system with --crs, for example --crs EPSG:2154";
    match &layer.crs {
        SourceCrs::Known(crs) => Ok(crs.clone()),
        SourceCrs::Missing => {
            Err(FileError::invalid(format!("the file does not name its reference system; {hint}")))
        }
        SourceCrs::Unsupported(reason) => Err(FileError::invalid(format!("{reason}; {hint}"))),
    }
}

struct Counted<'a> {
    file: File,
    on_bytes: &'a mut dyn FnMut(u64),
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        (self.on_bytes)(count as u64);
        Ok(count)
    }
}
