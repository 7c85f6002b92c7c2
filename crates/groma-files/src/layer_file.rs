//! A file of features in any of the formats. Its features come out checked, transformed to WGS 84 and repaired,
//! as those of a GeoJSON document do.

use crate::{
    FileError, GeometryColumns, LayerFormat, SourceCrs, SourceLayer,
    error::Result,
    formats,
    id_field::{IdField, unknown_field},
    source::{ID_COLUMN, ID_PROPERTY, Source, SourceFeature},
    value,
};
use groma_geo::message;
use groma_geo::{
    Bbox, Crs, Message, Notice,
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
    /// The columns of a CSV file that have the geometry; `None` for those that are recognized.
    pub geometry: Option<GeometryColumns>,
    /// The field whose value identifies a feature.
    pub id_field: Option<String>,
    /// The property of each field that becomes one of another name; `None` leaves the field out.
    pub fields: Vec<(String, Option<String>)>,
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
    /// The columns of a CSV file; none for other formats.
    pub fn columns(path: &Path, format: LayerFormat) -> Result<Vec<String>> {
        match format {
            LayerFormat::Csv => formats::csv::columns(path),
            _ => Ok(Vec::new()),
        }
    }

    /// The layers of a file, without choosing one.
    pub fn list_layers(
        path: &Path,
        format: LayerFormat,
        geometry: Option<&GeometryColumns>,
    ) -> Result<Vec<SourceLayer>> {
        match format {
            LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => Ok(Vec::new()),
            _ => Ok(formats::open(path, format, geometry)?.layers().to_vec()),
        }
    }

    /// Where the features of a layer of a file are, in the coordinates of the file. Reading ends when `is_cancelled`
    /// says so.
    pub fn extent(
        path: &Path,
        format: LayerFormat,
        layer: &str,
        geometry: Option<&GeometryColumns>,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<Option<Bbox>> {
        let source = formats::open(path, format, geometry)?;
        let layer = choose_layer(source.layers(), Some(layer))?;
        let mut extent: Option<Bbox> = None;
        source.read(layer, &mut |_, row| {
            if let Some(bbox) = row.ok().and_then(|row| row.geometry).and_then(|one| one.bbox()) {
                extent = Some(extent.map_or(bbox, |all| all.union(bbox)));
            }
            !is_cancelled()
        })?;
        Ok(extent)
    }

    /// Opens a file.
    pub fn open(path: &Path, format: LayerFormat, options: OpenOptions) -> Result<Self> {
        let content = match format {
            LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => {
                if options.layer.is_some() {
                    return Err(FileError::invalid(message!("a GeoJSON file has only one layer")));
                }
                if options.geometry.is_some() {
                    return Err(formats::no_columns());
                }
                File::open(path)?;
                Content::GeoJson { path: path.to_owned() }
            }
            _ => {
                let source = formats::open(path, format, options.geometry.as_ref())?;
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

    /// The size of the file in bytes, if it is one file.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match &self.content {
            Content::GeoJson { path } => path.metadata().ok().map(|metadata| metadata.len()),
            Content::Source { .. } => None,
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
        let max_errors = self.options.max_errors;
        let options = Options { crs, max_errors, ..Options::default() };
        let (mut ids, mut repeated) = (FxHashSet::default(), Vec::new());
        let mut id_field = IdField::new(self.options.id_field.as_deref(), max_errors);
        // Fails with `None` if too many features have no id or repeat one.
        let pass_on = |mut feature: Feature| {
            if let Some(field) = &self.options.id_field {
                let value = feature.properties.get(field);
                feature.external_id = value.and_then(value::text).filter(|id| !id.is_empty());
                let (id, line) = (feature.external_id.as_deref(), feature.line);
                if !id_field.check(line, id, value.is_some(), &feature.properties) {
                    return if id_field.has_room(repeated.len()) { Ok(()) } else { Err(None) };
                }
                if let Some(id) = &feature.external_id
                    && !ids.insert(id.clone())
                {
                    let message = message!(
                        "`{id}` is already the {field} of an earlier feature",
                        id = format!("{id:.100}"),
                        field = field.as_str()
                    );
                    repeated.push(DocumentError::at(feature.line, message));
                    return if id_field.has_room(repeated.len()) { Ok(()) } else { Err(None) };
                }
            }
            rename(&mut feature.properties, &self.options.fields);
            on_feature(feature).map_err(Some)
        };
        let result = match self.format {
            LayerFormat::GeoJson => geojson::read(input, &options, pass_on),
            _ => geojson::read_sequence(input, &options, pass_on),
        };
        match result {
            Ok(count) => id_field.finish(count, repeated),
            Err(ReadError::Stopped(None)) => id_field.finish(0, repeated),
            Err(ReadError::Invalid(mut errors)) => {
                errors.extend(repeated);
                id_field.finish(0, errors)
            }
            Err(ReadError::Input(error)) => Err(ReadError::Input(error)),
            Err(ReadError::Stopped(Some(error))) => Err(ReadError::Stopped(error)),
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
        let (mut count, mut last, mut errors, mut stopped) = (0, 0, Vec::new(), None);
        let mut file_notices = Vec::new();
        let source_layer = &source.layers()[layer];
        let key = source_layer.key.as_deref();
        let mut id_field = IdField::new(self.options.id_field.as_deref(), self.options.max_errors);
        if !source_layer.fields.is_empty() {
            // It was found when the file was opened.
            id_field.set_found();
        }
        let result = source.read(layer, &mut |number, row| {
            last = number;
            let built = match row {
                Ok(mut row) => {
                    file_notices.append(&mut row.file_notices);
                    self.build(&mut builder, number, row, key, &mut id_field)
                }
                Err(message) => Err(DocumentError::at(number, message)),
            };
            match built {
                Ok(None) => id_field.has_room(errors.len()),
                Ok(Some(mut feature)) => {
                    count += 1;
                    feature.notices.extend(file_notices.drain(..).map(notice_of_feature));
                    stopped = on_feature(feature).err();
                    stopped.is_none()
                }
                Err(error) => {
                    errors.push(error);
                    id_field.has_room(errors.len())
                }
            }
        });
        match (stopped, result) {
            (Some(error), _) => Err(ReadError::Stopped(error)),
            (None, Err(FileError::Io(error))) if error.raw_os_error().is_some() => {
                Err(ReadError::Input(error))
            }
            (None, Err(error)) => {
                let fatal = DocumentError::at(last + 1, error.message());
                errors.push(DocumentError { is_fatal: true, ..fatal });
                id_field.finish(count, errors)
            }
            (None, Ok(())) => id_field.finish(count, errors),
        }
    }

    /// Builds a feature; `None` if it has no value for the field that identifies it.
    fn build(
        &self,
        builder: &mut FeatureBuilder,
        number: u64,
        row: SourceFeature,
        key: Option<&str>,
        id_field: &mut IdField<'_>,
    ) -> std::result::Result<Option<Feature>, DocumentError> {
        let SourceFeature {
            key: key_value,
            geometry,
            mut properties,
            has_measures,
            has_binary,
            file_notices: _,
        } = row;
        let has_field = self.options.id_field.as_ref().is_some_and(|field| {
            properties.contains_key(field)
                || key == Some(field.as_str())
                || (field == ID_COLUMN && properties.contains_key(ID_PROPERTY))
        });
        let id = take_id(&mut properties, self.options.id_field.as_deref(), key, key_value);
        if !id_field.check(number, id.as_deref(), has_field, &properties) {
            return Ok(None);
        }
        rename(&mut properties, &self.options.fields);
        let mut feature = builder.build(number, id, geometry, properties)?;
        let mut notice = |message| feature.notices.push(notice_of_feature(message));
        if has_measures {
            notice(message!("M values were dropped"));
        }
        if has_binary {
            notice(message!("binary values were dropped"));
        }
        Ok(Some(feature))
    }
}

fn notice_of_feature(message: Message) -> Notice {
    Notice { pointer: String::new(), message }
}

/// Gives properties other names, and drops those without one. The order stays.
fn rename(properties: &mut Map<String, Value>, names: &[(String, Option<String>)]) {
    if names.is_empty() {
        return;
    }
    let named = std::mem::take(properties).into_iter().filter_map(|(name, value)| {
        match names.iter().find(|(other, _)| *other == name) {
            Some((_, new_name)) => Some((new_name.clone()?, value)),
            None => Some((name, value)),
        }
    });
    *properties = named.collect();
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
        (_, []) => Err(FileError::invalid(message!("the file contains no layer"))),
        (None, [_]) => Ok(0),
        (None, _) => Err(FileError::invalid(message!(
            "the file contains several layers; choose one with --source-layer: {names}",
            names = names()
        ))),
        (Some(name), _) => layers.iter().position(|layer| layer.name == name).ok_or_else(|| {
            FileError::invalid(message!(
                "layer `{name}` is not in the file; it has {names}",
                name = name,
                names = names()
            ))
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
    Err(FileError::invalid(unknown_field(field, &names.join(", "))))
}

fn declared_crs(layer: &SourceLayer) -> Result<Crs> {
    let problem = match &layer.crs {
        SourceCrs::Known(crs) => return Ok(crs.clone()),
        SourceCrs::Missing => message!("the file does not name its reference system"),
        SourceCrs::Unsupported(reason) => reason.clone(),
    };
    let hint = message!("name the reference system with --crs, for example --crs EPSG:2154");
    Err(FileError::invalid(message!("{problem}; {hint}", problem = problem, hint = hint)))
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
