//! Layers: named sets of geometries, drawn as vector tiles.

use crate::{
    LayerId, Problem, Refusal, Timestamp,
    status::is_color,
    text::{fold, line},
};
use groma_geo::Bbox;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The layer that takes geometries which name none. It is made when first needed.
pub const SUBMISSIONS: &str = "submissions";
/// The zooms of a new layer.
pub const ZOOMS: (u8, u8) = (0, 18);

/// Colours of new layers, in turn.
const COLORS: [&str; 8] =
    ["#2b6cb0", "#2f855a", "#c05621", "#6b46c1", "#b7791f", "#2c7a7b", "#b83280", "#4a5568"];

/// The short name of a layer in addresses: lowercase letters, digits and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slug(String);

impl Slug {
    /// The slug that a name gives: folded, everything but letters and digits made a hyphen.
    pub fn of_name(name: &str) -> Result<Self, Refusal> {
        let folded = fold(name);
        let words = folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
        let mut slug = words.collect::<Vec<_>>().join("-");
        slug.truncate(64);
        let slug = slug.trim_end_matches('-').to_owned();
        let is_id = uuid::Uuid::try_parse(&slug).is_ok();
        if slug.is_empty() || is_id {
            let message = "must hold a letter or a digit, and not have the shape of a UUID";
            return Err(Refusal::invalid("name", message));
        }
        Ok(Self(slug))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a layer is named in a request or a command: by id or by slug.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LayerKey {
    /// By id.
    Id(LayerId),
    /// By slug.
    Slug(String),
}

impl LayerKey {
    /// Reads a key. Anything that is no id may be a slug.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match uuid::Uuid::try_parse(text) {
            Ok(id) => Self::Id(LayerId(id)),
            Err(_) => Self::Slug(text.to_owned()),
        }
    }
}

/// A layer with all that is counted for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    /// Identifier.
    pub id: LayerId,
    /// Short name.
    pub slug: Slug,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Lowest zoom with tiles.
    pub min_zoom: u8,
    /// Highest zoom with tiles; there everything is drawn.
    pub max_zoom: u8,
    /// Colour on the map.
    pub color: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it, or anything in it, last changed.
    pub updated_at: Timestamp,
    /// Counts its changes.
    pub revision: u64,
    /// The box around everything.
    pub bounds: Option<Bbox>,
    /// How many features of each sort there are.
    pub counts: Counts,
    /// The properties that its features have, or had: the place in this list is the field's number.
    pub fields: Vec<FieldCounts>,
    /// The number of the newest feature.
    pub last_seq: u64,
    /// The largest size class on each shelf: how far its features may reach from their centres.
    pub reach: BTreeMap<u8, u8>,
    /// Whether what is small is gathered on one shelf for the tiles near the ground. Layers that were
    /// filled before that was done go without.
    #[serde(default)]
    pub gathers: bool,
}

/// How many features of each sort a layer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Points and multi-points.
    pub points: u64,
    /// Lines and multi-lines.
    pub lines: u64,
    /// Polygons and multi-polygons.
    pub polygons: u64,
    /// Collections.
    pub mixed: u64,
    /// Features without a geometry.
    pub none: u64,
}

/// How often a property has a value of each type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldCounts {
    /// Its name.
    pub name: String,
    /// Strings, and what is drawn as one.
    pub strings: u64,
    /// Numbers.
    pub numbers: u64,
    /// Booleans.
    pub booleans: u64,
}

impl Layer {
    /// A new layer, the `nth` of its workspace.
    pub fn new(id: LayerId, name: &str, nth: usize, now: Timestamp) -> Result<Self, Refusal> {
        let name =
            line(name, 200).map_err(|wrong| Refusal::Invalid(vec![Problem::new("name", wrong)]))?;
        Ok(Self {
            id,
            slug: Slug::of_name(&name)?,
            name,
            description: None,
            min_zoom: ZOOMS.0,
            max_zoom: ZOOMS.1,
            color: COLORS[nth % COLORS.len()].to_owned(),
            created_at: now,
            updated_at: now,
            revision: 1,
            bounds: None,
            counts: Counts::default(),
            fields: Vec::new(),
            last_seq: 0,
            reach: BTreeMap::new(),
            gathers: false,
        })
    }

    /// Gives it another name, description or colour. Its slug stays: addresses and tiles use it.
    pub fn rename(
        &mut self,
        name: &str,
        description: Option<&str>,
        color: &str,
    ) -> Result<(), Refusal> {
        let mut problems = Vec::new();
        let name = line(name, 200).map_err(|wrong| problems.push(Problem::new("name", wrong))).ok();
        let description = description.map(str::trim).filter(|text| !text.is_empty());
        if description.is_some_and(|text| text.chars().count() > 2_000) {
            problems.push(Problem::new("description", "must have at most 2000 characters"));
        }
        let color = color.trim().to_lowercase();
        if !is_color(&color) {
            problems.push(Problem::new("color", "must be a colour such as #2b6cb0"));
        }
        let Some(name) = name.filter(|_| problems.is_empty()) else {
            return Err(Refusal::Invalid(problems));
        };
        (self.name, self.color) = (name, color);
        self.description = description.map(str::to_owned);
        Ok(())
    }

    /// Whether `term` finds it.
    #[must_use]
    pub fn matches(&self, folded_term: &str) -> bool {
        fold(&self.name).contains(folded_term)
    }

    /// The layer as clients see it. `geo_url` is the address of the Geo API.
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
            fields: self.shown_fields(),
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

    /// The fields that features have now, by name.
    #[must_use]
    pub fn shown_fields(&self) -> BTreeMap<String, FieldType> {
        let types = self.fields.iter().map(|field| (field.name.clone(), field.shown_type()));
        types.filter_map(|(name, shown)| Some((name, shown?))).collect()
    }
}

impl Counts {
    /// All features.
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
    /// A field nobody has yet.
    #[must_use]
    pub fn new(name: String) -> Self {
        Self { name, strings: 0, numbers: 0, booleans: 0 }
    }

    /// One type if all values have it, else a string; `None` when nobody has a value.
    fn shown_type(&self) -> Option<FieldType> {
        match (self.strings > 0, self.numbers > 0, self.booleans > 0) {
            (false, false, false) => None,
            (false, true, false) => Some(FieldType::Number),
            (false, false, true) => Some(FieldType::Boolean),
            _ => Some(FieldType::String),
        }
    }
}

/// What a layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub enum GeometryType {
    /// Points.
    Point,
    /// Lines.
    LineString,
    /// Polygons.
    Polygon,
    /// More than one of these.
    Mixed,
}

/// The type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Text, or values of several types.
    String,
    /// Number.
    Number,
    /// True or false.
    Boolean,
}

/// A layer as clients see it.
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
    /// What it holds; null while it is empty.
    #[schema(inline)]
    pub geometry_type: Option<GeometryType>,
    /// The name of the layer inside its tiles.
    pub source_layer: String,
    /// Lowest zoom with tiles.
    #[schema(maximum = 24)]
    pub min_zoom: u8,
    /// Highest zoom with tiles.
    #[schema(maximum = 24)]
    pub max_zoom: u8,
    /// The box around everything.
    pub bounds: Option<Bbox>,
    /// How many features it has.
    #[schema(minimum = 0)]
    pub feature_count: u64,
    /// The properties of its features, each with its type.
    pub fields: BTreeMap<String, FieldType>,
    /// Colour on the map.
    #[schema(pattern = "^#[0-9a-f]{6}$", example = "#2b6cb0")]
    pub color: String,
    /// Template for the address of a tile.
    pub tile_url: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it, or anything in it, last changed.
    pub updated_at: Timestamp,
    /// Counts its changes.
    #[schema(minimum = 1)]
    pub revision: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_the_folded_hyphenated_name() {
        let slug = |name| Slug::of_name(name).map(|slug| slug.0).ok();
        assert_eq!(
            slug("Parcelles – Chêne, 2e tranche").as_deref(),
            Some("parcelles-chene-2e-tranche")
        );
        assert_eq!(slug("  !! "), None);
        assert_eq!(slug("0190e5a0-0000-7000-8000-000000000000"), None);
    }
}
