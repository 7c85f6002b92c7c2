//! Features whose parts come from another format than GeoJSON. They get the same checks, limits and repairs.

use super::{
    DocumentError, Feature, MAX_COLLECTION_DEPTH, MAX_KEYS, MAX_PARTS, MAX_RINGS, MAX_VERTICES,
    coordinates::{MAX_COORDINATE, check_line, check_rings},
    finished_geometry::FinishedGeometry,
    id::{check_id, repeated_id},
    limits,
    parse_error::{ErrorPath, ParseError, ParseResult, Place},
    properties::too_many_keys,
};
use crate::{Crs, Geometry, Message, message};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
use twox_hash::XxHash3_128;

/// Builds the features of a file, one after the other.
pub struct FeatureBuilder {
    crs: Crs,
    /// Hashes of all ids so far.
    ids: FxHashSet<u128>,
}

impl FeatureBuilder {
    /// Builds features whose coordinates are in this reference system.
    #[must_use]
    pub fn new(crs: Crs) -> Self {
        Self { crs, ids: FxHashSet::default() }
    }

    /// Builds a feature. `line` says where it is in the file.
    pub fn build(
        &mut self,
        line: u64,
        id: Option<String>,
        geometry: Option<Geometry>,
        properties: Map<String, Value>,
    ) -> Result<Feature, DocumentError> {
        self.feature(Place { line }, id, geometry, properties).map_err(|error| match *error {
            ParseError::Invalid(detail) | ParseError::Syntax(detail) => detail.into(),
            ParseError::TooManyErrors | ParseError::Stopped | ParseError::Input(_) => {
                DocumentError::at(line, message!("cannot be read"))
            }
        })
    }

    fn feature(
        &mut self,
        place: Place,
        id: Option<String>,
        geometry: Option<Geometry>,
        properties: Map<String, Value>,
    ) -> ParseResult<Feature> {
        if let Some(id) = &id {
            check_id(id).map_err(|message| place.invalid(message)).at_member("id")?;
            if !self.ids.insert(XxHash3_128::oneshot(id.as_bytes())) {
                return Err(place.invalid(repeated_id(id))).at_member("id");
            }
        }
        // In a table, a null can stand for a property that the feature lacks.
        let count = properties.values().filter(|value| !value.is_null()).count();
        if count > MAX_KEYS {
            return Err(place.invalid(too_many_keys(MAX_KEYS))).at_member("properties");
        }
        let mut feature = Feature { line: place.line, ..Feature::new(id, None, properties) };
        if let Some(mut geometry) = geometry {
            let mut limits = Limits { place, vertices: 0, rings: 0, parts: 0 };
            limits.check(&mut geometry, 0).at_member("geometry")?;
            let finished =
                FinishedGeometry::new(geometry, &self.crs, false, place).at_member("geometry")?;
            finished.add_to(&mut feature, "/geometry");
        }
        Ok(feature)
    }
}

impl DocumentError {
    /// An error in the feature at this line.
    #[must_use]
    pub fn at(line: u64, message: Message) -> Self {
        let pointer = String::new();
        Self { pointer, line, message, is_fatal: false, suggests_other_crs: false }
    }
}

/// What a feature has so far.
struct Limits {
    place: Place,
    vertices: usize,
    rings: usize,
    parts: usize,
}

impl Limits {
    fn check(&mut self, geometry: &mut Geometry, depth: usize) -> ParseResult<()> {
        let place = self.place;
        match geometry {
            Geometry::Point(_) | Geometry::MultiPoint(_) => {}
            Geometry::LineString(line) => check_line(line, place)?,
            Geometry::MultiLineString(lines) => {
                lines.iter().try_for_each(|line| check_line(line, place))?;
            }
            Geometry::Polygon(rings) => {
                if rings.is_empty() {
                    return Err(place.invalid(message!("a polygon needs an outer ring")));
                }
                self.polygon(rings)?;
            }
            Geometry::MultiPolygon(polygons) => {
                polygons.iter_mut().try_for_each(|rings| self.polygon(rings))?;
            }
            Geometry::Collection(parts) => {
                self.parts += parts.len();
                if self.parts > MAX_PARTS {
                    return Err(place.invalid(limits::too_many_parts()));
                }
                if depth == MAX_COLLECTION_DEPTH {
                    return Err(place.invalid(limits::too_deep()));
                }
                return parts.iter_mut().try_for_each(|part| self.check(part, depth + 1));
            }
        }
        self.positions(geometry)
    }

    fn polygon(&mut self, rings: &mut crate::Rings) -> ParseResult<()> {
        self.rings += rings.len();
        if self.rings > MAX_RINGS {
            return Err(self.place.invalid(limits::too_many_rings()));
        }
        check_rings(rings, self.place)
    }

    fn positions(&mut self, geometry: &Geometry) -> ParseResult<()> {
        let mut is_too_large = false;
        geometry.each_position(&mut |at| {
            self.vertices += 1;
            let numbers = [at.x, at.y, at.z.unwrap_or_default()];
            // Also true for numbers that are not finite.
            is_too_large |= !numbers.iter().all(|number| number.abs() <= MAX_COORDINATE);
        });
        if self.vertices > MAX_VERTICES {
            return Err(self.place.invalid(limits::too_many_vertices()));
        }
        if is_too_large {
            return Err(self
                .place
                .invalid(message!("has a coordinate that is not finite or too large")));
        }
        Ok(())
    }
}
