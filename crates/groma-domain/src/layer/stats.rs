//! What a layer knows about its features: their number by geometry type, and the values of their properties.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The most distinct values of a property that are counted, and the longest that is.
const MAX_VALUES: usize = 50;
const MAX_VALUE_BYTES: usize = 100;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldCounts {
    /// Name of the property.
    pub name: String,
    /// Strings, and values that tiles carry as strings.
    pub strings: u64,
    /// Numbers.
    pub numbers: u64,
    /// Booleans.
    pub booleans: u64,
    /// The smallest and largest number since the layer was last empty.
    pub range: Option<(f64, f64)>,
    /// How often each string occurs; `None` if there are too many different ones.
    pub values: Option<BTreeMap<String, u64>>,
}

impl GeometryCounts {
    /// The number of all features.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.points + self.lines + self.polygons + self.mixed + self.none
    }

    /// The type of all geometries; `None` if there are none.
    #[must_use]
    pub fn geometry_type(&self) -> Option<GeometryType> {
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
        Self {
            name,
            strings: 0,
            numbers: 0,
            booleans: 0,
            range: None,
            values: Some(BTreeMap::new()),
        }
    }

    /// Counts a number.
    pub fn add_number(&mut self, number: f64) {
        self.numbers += 1;
        let (min, max) = self.range.unwrap_or((number, number));
        self.range = Some((min.min(number), max.max(number)));
    }

    /// Counts a string.
    pub fn add_string(&mut self, text: &str) {
        self.strings += 1;
        let Some(values) = &mut self.values else { return };
        if let Some(count) = values.get_mut(text) {
            *count += 1;
        } else if values.len() < MAX_VALUES && text.len() <= MAX_VALUE_BYTES {
            values.insert(text.to_owned(), 1);
        } else {
            self.values = None;
        }
    }

    /// Stops counting a string.
    pub fn remove_string(&mut self, text: &str) {
        self.strings = self.strings.saturating_sub(1);
        let Some(values) = &mut self.values else { return };
        if let Some(count) = values.get_mut(text) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                values.remove(text);
            }
        }
    }

    /// Forgets the range and the values, when no feature is left.
    pub fn reset(&mut self) {
        *self = Self::new(std::mem::take(&mut self.name));
    }

    /// The common type of all values, or string if they differ; `None` if there are no values.
    #[must_use]
    pub fn field_type(&self) -> Option<FieldType> {
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
