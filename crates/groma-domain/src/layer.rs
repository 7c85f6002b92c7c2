//! Layers: named collections of geometries, served as vector tiles.

use crate::{
    DomainError, FieldErrors, LayerId, Timestamp, Violation,
    status::is_color,
    text::{fold, parse_line},
};
use groma_geo::Bbox;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The layer for geometries uploaded without a layer. It is created on first use.
pub const DEFAULT_LAYER_SLUG: &str = "submissions";
/// The minimum and maximum zoom of a new layer.
pub const DEFAULT_ZOOM_RANGE: (u8, u8) = (0, 18);

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 2_000;

/// Colours that new layers are given in turn.
const COLORS: [&str; 8] =
    ["#2b6cb0", "#2f855a", "#c05621", "#6b46c1", "#b7791f", "#2c7a7b", "#b83280", "#4a5568"];

/// A layer's short name in URLs: lowercase letters, digits and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayerSlug(String);

impl LayerSlug {
    /// Derives the slug from a name: folded, with hyphens in place of everything except letters and
    /// digits.
    pub fn from_name(name: &str) -> Result<Self, DomainError> {
        let folded = fold(name);
        let words = folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
        let mut slug = words.collect::<Vec<_>>().join("-");
        slug.truncate(64);
        let slug = slug.trim_end_matches('-').to_owned();
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
}

/// Number of features by geometry type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeometryCounts {
    /// Points and multipoints.
    pub points: u64,
    /// Lines and multilines.
    pub lines: u64,
    /// Polygons and multipolygons.
    pub polygons: u64,
    /// Geometry collections.
    pub mixed: u64,
    /// Features without a geometry.
    pub none: u64,
}

/// Number of values of a property by type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldCounts {
    /// Name of the property.
    pub name: String,
    /// Strings, and values that tiles carry as strings.
    pub strings: u64,
    /// Numbers.
    pub numbers: u64,
    /// Booleans.
    pub booleans: u64,
}

impl Layer {
    /// Creates the `nth` layer of a workspace.
    pub fn new(id: LayerId, name: &str, nth: usize, now: Timestamp) -> Result<Self, DomainError> {
        let name =
            parse_line(name, 200).map_err(|violation| DomainError::invalid("name", violation))?;
        Ok(Self {
            id,
            slug: LayerSlug::from_name(&name)?,
            name,
            description: None,
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
        })
    }

    /// Changes name, description and colour. The slug stays, because URLs and tiles contain it.
    pub fn edit(
        &mut self,
        name: &str,
        description: Option<&str>,
        color: &str,
    ) -> Result<(), DomainError> {
        let mut errors = FieldErrors::default();
        let name = errors.check("name", parse_line(name, 200));
        let description = description.map(str::trim).filter(|text| !text.is_empty());
        if description.is_some_and(|text| text.chars().count() > MAX_DESCRIPTION) {
            errors.add("description", Violation::TooLong { max: MAX_DESCRIPTION });
        }
        let color = color.trim().to_lowercase();
        if !is_color(&color) {
            errors.add("color", Violation::NotColor);
        }
        (self.name, self.color) = (errors.finish(name)?, color);
        self.description = description.map(str::to_owned);
        Ok(())
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

impl GeometryCounts {
    /// The number of all features.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.points + self.lines + self.polygons + self.mixed + self.none
    }

    fn geometry_type(&self) -> Option<GeometryType> {
        match (self.points > 0, self.lines > 0, self.polygons > 0, self.mixed > 0) {
            (false, false, false, false) => None,
            (true, false, false, false) => Some(GeometryType::Point),
            (false, true, false, false) => Some(GeometryType::LineString),
            (false, false, true, false) => Some(GeometryType::Polygon),
            _ => Some(GeometryType::Mixed),
        }
    }
}

impl FieldCounts {
    /// A property without values.
    #[must_use]
    pub fn new(name: String) -> Self {
        Self { name, strings: 0, numbers: 0, booleans: 0 }
    }

    /// The common type of all values, or string if they differ; `None` if there are no values.
    fn field_type(&self) -> Option<FieldType> {
        match (self.strings > 0, self.numbers > 0, self.booleans > 0) {
            (false, false, false) => None,
            (false, true, false) => Some(FieldType::Number),
            (false, false, true) => Some(FieldType::Boolean),
            _ => Some(FieldType::String),
        }
    }
}

/// Geometry type of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub enum GeometryType {
    /// Points.
    Point,
    /// Lines.
    LineString,
    /// Polygons.
    Polygon,
    /// Several types.
    Mixed,
}

/// Type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Strings, or values of several types.
    String,
    /// Numbers.
    Number,
    /// Booleans.
    Boolean,
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
        assert_eq!(slug("  !! "), None);
        assert_eq!(slug("0190e5a0-0000-7000-8000-000000000000"), None);
    }
}
