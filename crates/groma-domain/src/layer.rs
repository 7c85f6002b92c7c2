//! Layers: named collections of geometries, served as vector tiles.

mod fields;
mod stats;
mod style;

pub use fields::{DeclaredField, DeclaredType, check_properties, fill_defaults, parse_fields};
pub use stats::{FieldCounts, FieldType, GeometryCounts, GeometryType};
pub use style::{Category, ColorBy, ColorClasses, LayerStyle, RangeClass, STYLE_ZOOMS};

use crate::{
    DomainError, FieldErrors, Kind, LayerId, Timestamp, Violation,
    status::is_color,
    text::{fold, parse_line},
};
use groma_geo::{Bbox, Crs, CrsError};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};
use utoipa::ToSchema;

/// The layer for geometries uploaded without a layer. It is created on first use.
pub const DEFAULT_LAYER_SLUG: &str = "submissions";
/// The minimum and maximum zoom of a new layer.
pub const DEFAULT_ZOOM_RANGE: (u8, u8) = (0, 18);

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// The maximum length of an attribution, in characters.
const MAX_ATTRIBUTION: usize = 200;
/// Colours that new layers are given in turn.
const COLORS: [&str; 8] =
    ["#2b6cb0", "#2f855a", "#c05621", "#6b46c1", "#b7791f", "#2c7a7b", "#b83280", "#4a5568"];

/// A layer's short name in URLs: lowercase letters, digits and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayerSlug(String);

impl LayerSlug {
    /// Derives the slug from a name: folded, with hyphens in place of everything except letters and
    /// digits. The names of the kinds of records are reserved.
    pub fn from_name(name: &str) -> Result<Self, DomainError> {
        let folded = fold(name);
        let words = folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
        let mut slug = words.collect::<Vec<_>>().join("-");
        slug.truncate(64);
        let mut slug = slug.trim_end_matches('-').to_owned();
        if Kind::ALL.iter().any(|kind| kind.plural() == slug) {
            // The OGC API has collections of records with these names beside the layers.
            slug.push_str("-layer");
        }
        let is_id = uuid::Uuid::try_parse(&slug).is_ok();
        if slug.is_empty() || is_id {
            return Err(DomainError::invalid("name", Violation::NotSlug));
        }
        Ok(Self(slug))
    }

    /// The slug as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Identifies a layer in a request or a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LayerKey {
    /// By ID.
    Id(LayerId),
    /// By slug.
    Slug(String),
}

impl LayerKey {
    /// Parses a key. Any text that is not a UUID is taken as a slug.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match uuid::Uuid::try_parse(text) {
            Ok(id) => Self::Id(LayerId(id)),
            Err(_) => Self::Slug(text.to_owned()),
        }
    }
}

/// The reference system of a layer's own coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayerCrs(Option<u32>);

impl LayerCrs {
    /// Longitude and latitude in WGS 84.
    pub const CRS84: Self = Self(None);

    /// Parses the name of a supported system. An empty name is CRS84.
    pub fn parse(name: &str) -> Result<Self, DomainError> {
        let invalid = |error: CrsError| DomainError::invalid("crs", error.message());
        match name.trim() {
            "" => Ok(Self::CRS84),
            name => Ok(Crs::parse(name).map_err(invalid)?.into()),
        }
    }

    /// The system of an EPSG code, which need not be supported.
    pub(crate) fn of_code(code: u32) -> Self {
        Self(Some(code))
    }

    /// The EPSG code; `None` for CRS84.
    #[must_use]
    pub fn code(self) -> Option<u32> {
        self.0
    }

    /// The system. Fails if a grid file that it needs has been removed.
    pub fn system(self) -> Result<Crs, CrsError> {
        match self.0 {
            Some(_) => Crs::parse(&self.to_string()),
            None => Ok(Crs::WGS84),
        }
    }
}

impl From<Crs> for LayerCrs {
    fn from(crs: Crs) -> Self {
        Self(crs.code())
    }
}

impl fmt::Display for LayerCrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(code) => write!(f, "EPSG:{code}"),
            None => f.write_str("OGC:CRS84"),
        }
    }
}

/// A layer with its statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    /// Identifier.
    pub id: LayerId,
    /// Short name.
    pub slug: LayerSlug,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// The source to credit on maps; the workspace if not set.
    pub attribution: Option<String>,
    /// Reference system in which coordinates are kept as they were sent.
    pub crs: LayerCrs,
    /// Lowest zoom with tiles.
    pub min_zoom: u8,
    /// Highest zoom with tiles. Tiles at this zoom contain every feature.
    pub max_zoom: u8,
    /// Colour on the map.
    pub color: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the layer or one of its features last changed.
    pub updated_at: Timestamp,
    /// Number of changes.
    pub revision: u64,
    /// Bounding box of all features.
    pub bounds: Option<Bbox>,
    /// Number of features by geometry type.
    pub counts: GeometryCounts,
    /// Properties that features have or had. The index in this list is the field's number in storage.
    pub fields: Vec<FieldCounts>,
    /// Sequence number of the newest feature.
    pub last_seq: u64,
    /// The largest size class in each zoom tier, which bounds how far features extend from their
    /// centres.
    pub max_size_class: BTreeMap<u8, u8>,
    /// Whether small features are also stored in a tier of their own, for tiles at high zooms.
    pub has_small_feature_tier: bool,
    /// The properties that features must fit when they are written.
    #[serde(default)]
    pub declared_fields: Vec<DeclaredField>,
    /// How maps draw the features.
    #[serde(default)]
    pub style: LayerStyle,
    /// Maps draw layers with a smaller order above others; layers of the same order in the order of
    /// creation.
    #[serde(default)]
    pub order: u32,
    /// Whether features cannot be written or deleted.
    #[serde(default)]
    pub is_locked: bool,
}

impl Layer {
    /// Creates the `nth` layer of a workspace.
    pub fn new(
        id: LayerId,
        name: &str,
        crs: LayerCrs,
        nth: usize,
        now: Timestamp,
    ) -> Result<Self, DomainError> {
        let name =
            parse_line(name, 200).map_err(|violation| DomainError::invalid("name", violation))?;
        Ok(Self {
            id,
            slug: LayerSlug::from_name(&name)?,
            name,
            description: None,
            attribution: None,
            crs,
            min_zoom: DEFAULT_ZOOM_RANGE.0,
            max_zoom: DEFAULT_ZOOM_RANGE.1,
            color: COLORS[nth % COLORS.len()].to_owned(),
            created_at: now,
            updated_at: now,
            revision: 1,
            bounds: None,
            counts: GeometryCounts::default(),
            fields: Vec::new(),
            last_seq: 0,
            max_size_class: BTreeMap::new(),
            has_small_feature_tier: false,
            declared_fields: Vec::new(),
            style: LayerStyle::default(),
            order: 0,
            is_locked: false,
        })
    }

    /// Changes the layer. The slug stays, because URLs and tiles contain it.
    pub fn edit(&mut self, edit: &LayerEdit) -> Result<(), DomainError> {
        let mut errors = FieldErrors::default();
        let name = errors.check("name", parse_line(&edit.name, 200));
        let mut text = |field: &'static str, text: &Option<String>, max: usize| {
            let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            if text.is_some_and(|text| text.chars().count() > max) {
                errors.add(field, Violation::TooLong { max });
            }
            text.map(str::to_owned)
        };
        let description = text("description", &edit.description, MAX_DESCRIPTION);
        let attribution = text("attribution", &edit.attribution, MAX_ATTRIBUTION);
        let color = edit.color.trim().to_lowercase();
        if !is_color(&color) {
            errors.add("color", Violation::NotColor);
        }
        if edit.crs != self.crs && self.counts.total() > 0 {
            errors.add("crs", Violation::CrsFixed);
        }
        (self.name, self.color) = (errors.finish(name)?, color);
        (self.description, self.attribution, self.crs) = (description, attribution, edit.crs);
        Ok(())
    }

    /// Changes the fields, the style or the lock: only those that are given.
    pub fn set_up(&mut self, setup: LayerSetup) -> Result<(), DomainError> {
        let LayerSetup { declared_fields, style, color, is_locked } = setup;
        if let Some(color) = color {
            let color = color.trim().to_lowercase();
            if !is_color(&color) {
                return Err(DomainError::invalid("color", Violation::NotColor));
            }
            self.color = color;
        }
        self.declared_fields = declared_fields.unwrap_or_else(|| self.declared_fields.clone());
        self.style = style.unwrap_or_else(|| self.style.clone());
        self.is_locked = is_locked.unwrap_or(self.is_locked);
        Ok(())
    }

    /// Returns an error if the layer is locked.
    pub fn require_unlocked(&self) -> Result<(), DomainError> {
        match self.is_locked {
            true => Err(DomainError::Locked { layer: self.slug.0.clone() }),
            false => Ok(()),
        }
    }

    /// Whether a search for the term finds the layer.
    #[must_use]
    pub fn matches(&self, folded_term: &str) -> bool {
        fold(&self.name).contains(folded_term)
    }

    /// The JSON document of the API. `geo_url` is the base URL of the Geo API.
    #[must_use]
    pub fn document(&self, geo_url: &str) -> LayerDocument {
        LayerDocument {
            id: self.id,
            slug: self.slug.0.clone(),
            name: self.name.clone(),
            description: self.description.clone(),
            geometry_type: self.counts.geometry_type(),
            source_layer: self.slug.0.clone(),
            min_zoom: self.min_zoom,
            max_zoom: self.max_zoom,
            crs: self.crs.to_string(),
            bounds: self.bounds,
            feature_count: self.counts.total(),
            fields: self.field_types(),
            color: self.color.clone(),
            tile_url: format!(
                "{}/api/public/v1/layers/{}/mvt/{{z}}/{{x}}/{{y}}",
                geo_url.trim_end_matches('/'),
                self.id
            ),
            created_at: self.created_at,
            updated_at: self.updated_at,
            revision: self.revision,
        }
    }

    /// The current properties of the features, with their types.
    #[must_use]
    pub fn field_types(&self) -> BTreeMap<String, FieldType> {
        let typed = |field: &FieldCounts| Some((field.name.clone(), field.field_type()?));
        self.fields.iter().filter_map(typed).collect()
    }
}

/// New values of a layer.
#[derive(Clone, Debug)]
pub struct LayerEdit {
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// The source to credit on maps.
    pub attribution: Option<String>,
    /// Reference system. It can be changed only while the layer is empty.
    pub crs: LayerCrs,
    /// Colour.
    pub color: String,
}

/// New fields, style or lock of a layer; `None` keeps what the layer has.
#[derive(Clone, Debug, Default)]
pub struct LayerSetup {
    /// The declared fields, in their order.
    pub declared_fields: Option<Vec<DeclaredField>>,
    /// The style.
    pub style: Option<LayerStyle>,
    /// The colour of features that the style gives no other one.
    pub color: Option<String>,
    /// Whether features cannot be written or deleted.
    pub is_locked: Option<bool>,
}

/// Sorts layers as maps show them, the topmost first. The layers must be in the order of creation.
pub fn sort_for_map(layers: &mut [Layer]) {
    layers.sort_by_key(|layer| layer.order);
}

/// A layer in the API.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Layer)]
pub struct LayerDocument {
    /// Identifier.
    pub id: LayerId,
    /// Short name, unique in the workspace.
    #[schema(example = "parcels")]
    pub slug: String,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Geometry type; null while the layer is empty.
    #[schema(inline)]
    pub geometry_type: Option<GeometryType>,
    /// Name of the layer inside the tiles.
    pub source_layer: String,
    /// Lowest zoom with tiles.
    #[schema(maximum = 24)]
    pub min_zoom: u8,
    /// Highest zoom with tiles.
    #[schema(maximum = 24)]
    pub max_zoom: u8,
    /// Reference system in which coordinates are kept as they were sent.
    #[schema(example = "EPSG:2154")]
    pub crs: String,
    /// Bounding box of all features.
    pub bounds: Option<Bbox>,
    /// Number of features.
    #[schema(minimum = 0)]
    pub feature_count: u64,
    /// Properties of the features, with their types.
    pub fields: BTreeMap<String, FieldType>,
    /// Colour on the map.
    #[schema(pattern = "^#[0-9a-f]{6}$", example = "#2b6cb0")]
    pub color: String,
    /// URL template of the tiles.
    pub tile_url: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the layer or one of its features last changed.
    pub updated_at: Timestamp,
    /// Number of changes.
    #[schema(minimum = 1)]
    pub revision: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slug_is_the_folded_hyphenated_name() {
        let slug = |name| LayerSlug::from_name(name).map(|slug| slug.0).ok();
        assert_eq!(
            slug("Parcelles – Chêne, 2e tranche").as_deref(),
            Some("parcelles-chene-2e-tranche")
        );
        assert_eq!(slug("Budgets").as_deref(), Some("budgets-layer"));
        assert_eq!(slug("  !! "), None);
        assert_eq!(slug("0190e5a0-0000-7000-8000-000000000000"), None);
    }
}
