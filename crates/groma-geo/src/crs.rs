//! Coordinate reference systems by EPSG code, and the transformation from them to WGS 84 and back.
//!
//! `scripts/crs-table` takes the operations that PROJ uses for each system and verifies that the result
//! is the same to within 1 cm in the area of use. Other systems are rejected with the reason. Heights are
//! not transformed.

mod bounds;
mod formulas;
mod ntv2;
mod operation;
mod projection;
mod table;
#[cfg(test)]
mod tests;

pub use ntv2::GridFiles;

use crate::{Geometry, Message, MessageValue, message, repair::wrap_longitude};
use operation::Operation;
use projection::Projection;
use rustc_hash::FxHashMap;
use std::{
    error::Error,
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

/// A coordinate reference system. Coordinates are always in the order x, y (east before north,
/// longitude before latitude), as is usual in GeoJSON, even where the EPSG register says otherwise:
/// see [`CrsInfo::is_northing_first`].
#[derive(Clone)]
pub struct Crs(Option<Arc<System>>);

/// Why a reference system cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrsError {
    /// Not the name of a reference system.
    InvalidName(String),
    /// The EPSG code is unknown, or the transformation would not be correct.
    Unsupported {
        /// The EPSG code.
        code: u32,
        /// The name of the system, if the code is known.
        name: Option<&'static str>,
        /// Why it is not supported.
        reason: Message,
    },
}

impl CrsError {
    /// Why the system cannot be used.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Self::InvalidName(name) => message!(
                "`{name}` is not a reference system; use an EPSG code, for example EPSG:2154",
                name = name.as_str()
            ),
            Self::Unsupported { code, reason, .. } => message!(
                "EPSG:{code} is not supported: {reason}",
                code = code.to_string(),
                reason = reason.clone()
            ),
        }
    }
}

impl fmt::Display for CrsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl Error for CrsError {}

/// What is known about a reference system.
#[derive(Clone, Debug, PartialEq)]
pub struct CrsInfo {
    /// The name in the EPSG register.
    pub name: &'static str,
    /// West, south, east and north in degrees. West is greater than east if the area crosses the
    /// antimeridian.
    pub area_of_use: [f64; 4],
    /// Whether the EPSG register puts northing before easting, or latitude before longitude.
    pub is_northing_first: bool,
    /// The operations to WGS 84. The most accurate one whose area contains a point, and whose grids
    /// are available, is used.
    pub operations: Vec<OperationInfo>,
}

/// What is known about an operation to WGS 84.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationInfo {
    /// The EPSG codes of its transformations; empty if none is needed.
    pub codes: Vec<u32>,
    /// The names of its transformations.
    pub name: &'static str,
    /// The accuracy in metres, if it is published.
    pub accuracy: Option<f64>,
    /// West, south, east and north in degrees.
    pub area_of_use: [f64; 4],
    /// The names of the grid files that it needs.
    pub grids: Vec<&'static str>,
    /// Whether the grid files are available.
    pub is_available: bool,
}

/// A reference system other than WGS 84.
struct System {
    code: u32,
    projection: Projection,
    candidates: Vec<Candidate>,
    info: CrsInfo,
}

/// An operation of a system.
struct Candidate {
    operation: Operation,
    accuracy: Option<f64>,
    /// Steradians, to compare areas of use.
    area_size: f64,
    is_offshore: bool,
    needs_grid: bool,
    /// The smallest and the largest x and y for which it is used; `None` if everywhere.
    bounds: Option<[f64; 4]>,
}

/// The grids that [`Crs::parse`] uses.
static GRID_FILES: OnceLock<GridFiles> = OnceLock::new();
static NO_GRID_FILES: LazyLock<GridFiles> = LazyLock::new(GridFiles::default);

/// Transformed degrees are rounded to a thousandth of a millimetre. Further digits are rounding noise
/// and would make every stored number two digits longer.
const STEPS_PER_DEGREE: f64 = 1e11;

/// Sets the grids that [`Crs::parse`] uses. Only the first call has an effect.
pub fn set_grid_files(grids: GridFiles) {
    _ = GRID_FILES.set(grids);
}

impl Crs {
    /// Longitude and latitude in WGS 84.
    pub const WGS84: Self = Self(None);

    /// Parses a name such as `EPSG:2154`, or one of its longer forms (URN, URL) as used in legacy
    /// GeoJSON.
    pub fn parse(name: &str) -> Result<Self, CrsError> {
        Self::parse_with_grid_files(name, GRID_FILES.get().unwrap_or(&NO_GRID_FILES))
    }

    /// Like [`Self::parse`], with other grids than those of [`set_grid_files`].
    pub fn parse_with_grid_files(name: &str, grids: &GridFiles) -> Result<Self, CrsError> {
        const MAX_QUOTED_CHARACTERS: usize = 100;
        match parse_name(name.trim()) {
            Some(Name::Wgs84) => Ok(Self::WGS84),
            Some(Name::Epsg(code)) => System::by_code(code, grids).map(|it| Self(Some(it.into()))),
            None => Err(CrsError::InvalidName(
                name.chars().filter(|c| !c.is_control()).take(MAX_QUOTED_CHARACTERS).collect(),
            )),
        }
    }

    /// The EPSG code; `None` for longitude and latitude in WGS 84.
    #[must_use]
    pub fn code(&self) -> Option<u32> {
        self.0.as_ref().map(|system| system.code)
    }

    /// Whether coordinates need no transformation.
    #[must_use]
    pub fn is_wgs84(&self) -> bool {
        self.0.is_none()
    }

    /// What is known about this system.
    #[must_use]
    pub fn info(&self) -> CrsInfo {
        match &self.0 {
            Some(system) => system.info.clone(),
            None => CrsInfo {
                name: "WGS 84",
                area_of_use: [-180.0, -90.0, 180.0, 90.0],
                is_northing_first: true,
                operations: Vec::new(),
            },
        }
    }

    /// Every system of the EPSG register that can be used.
    pub fn all() -> impl Iterator<Item = Self> {
        table::codes().filter_map(|code| Self::parse(&format!("EPSG:{code}")).ok())
    }

    /// Whether a point in WGS 84 lies in the area of use of this system.
    #[must_use]
    pub fn is_in_area_of_use(&self, longitude: f64, latitude: f64) -> bool {
        let Some(system) = &self.0 else { return true };
        let [west, south, east, north] = system.info.area_of_use;
        let is_between = match west <= east {
            true => west <= longitude && longitude <= east,
            false => west <= longitude || longitude <= east,
        };
        is_between && south <= latitude && latitude <= north
    }

    /// Longitude and latitude of a point in WGS 84; `None` if it lies outside the area in which this
    /// system can be used.
    #[must_use]
    pub fn to_wgs84(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let Some(system) = &self.0 else { return Some((x, y)) };
        let (longitude_before, latitude) = system.projection.unproject(x, y)?;
        let mut excluded = Vec::new();
        let (longitude, latitude) = loop {
            let index = system.operation_at(x, y, &excluded)?;
            match system.candidates[index].operation.forward(longitude_before, latitude) {
                Some(point) => break point,
                // The point is outside the grid.
                None => excluded.push(index),
            }
        };
        // A datum shift moves a point by metres, but can wrap it to the other side of ±180.
        let turns = ((longitude_before - longitude) / std::f64::consts::TAU).round();
        let round = |degrees: f64| (degrees * STEPS_PER_DEGREE).round() / STEPS_PER_DEGREE;
        let longitude = round(longitude.to_degrees() + turns * 360.0);
        let latitude = round(latitude.to_degrees());
        (longitude.is_finite() && latitude.is_finite()).then_some((longitude, latitude))
    }

    /// The coordinates of a point in WGS 84: the reverse of [`Self::to_wgs84`].
    #[must_use]
    pub fn from_wgs84(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let Some(system) = &self.0 else { return Some((longitude, latitude)) };
        let [longitude, latitude] = [longitude, latitude].map(f64::to_radians);
        let mut fallback = None;
        for (index, candidate) in system.candidates.iter().enumerate() {
            let Some(before) = candidate.operation.inverse(longitude, latitude) else {
                continue;
            };
            let turns = ((longitude - before.0) / std::f64::consts::TAU).round();
            let before = (before.0 + turns * std::f64::consts::TAU, before.1);
            let Some((x, y)) = system.projection.project(before.0, before.1) else {
                continue;
            };
            // The way back must use the same operation.
            if system.operation_at(x, y, &[]) == Some(index) {
                return Some((x, y));
            }
            fallback = fallback.or(Some((x, y)));
        }
        fallback
    }
}

impl Crs {
    /// A geometry in this system, from WGS 84; `None` if it has a position outside the area in which this
    /// system can be used. Positions that also occur in `before`, a geometry in this system, keep their exact
    /// coordinates; others are rounded to a tenth of a millimetre.
    #[must_use]
    pub fn geometry_from_wgs84(
        &self,
        geometry: &Geometry,
        before: Option<&Geometry>,
    ) -> Option<Geometry> {
        if self.is_wgs84() {
            return Some(geometry.clone());
        }
        let key = |x: f64, y: f64| (wrap_longitude(x).to_bits(), y.to_bits());
        let mut known = FxHashMap::default();
        if let Some(before) = before {
            before.each_position(&mut |at| {
                if let Some((longitude, latitude)) = self.to_wgs84(at.x, at.y) {
                    known.insert(key(longitude, latitude), (at.x, at.y));
                }
            });
        }
        let mut result = geometry.clone();
        let mut is_complete = true;
        result.each_position_mut(&mut |at| {
            let exact = known.get(&key(at.x, at.y)).copied();
            match exact.or_else(|| self.rounded_from_wgs84(at.x, at.y)) {
                Some((x, y)) => (at.x, at.y) = (x, y),
                None => is_complete = false,
            }
        });
        is_complete.then_some(result)
    }

    /// Returns the positions that a file left as they were exported to where they are stored, because exported
    /// coordinates are rounded. `geometry` is that of the file and `stored` the stored one, both in WGS 84;
    /// `exported` is the stored one in this system. Positions are compared in their order, so geometries with
    /// different numbers of them have none in common. Returns whether a position was changed.
    pub fn restore_positions(
        &self,
        geometry: &mut Geometry,
        exported: &Geometry,
        stored: &Geometry,
    ) -> bool {
        let positions = |geometry: &Geometry| {
            let mut all = Vec::new();
            geometry.each_position(&mut |at| all.push((at.x, at.y)));
            all
        };
        let (exported, stored) = (positions(exported), positions(stored));
        let mut count = 0;
        geometry.each_position(&mut |_| count += 1);
        if count != stored.len() || count != exported.len() {
            return false;
        }
        let mut pairs = exported.into_iter().zip(stored);
        let mut is_changed = false;
        geometry.each_position_mut(&mut |at| {
            let Some((exported, stored)) = pairs.next() else { return };
            let sent = self.to_wgs84(exported.0, exported.1);
            let sent = sent.map(|(longitude, latitude)| (wrap_longitude(longitude), latitude));
            if sent == Some((at.x, at.y)) {
                (at.x, at.y) = stored;
                is_changed = true;
            }
        });
        is_changed
    }

    /// Whether its coordinates are lengths, not angles.
    pub(crate) fn is_projected(&self) -> bool {
        self.0.as_ref().is_some_and(|system| system.projection.is_projected())
    }

    fn rounded_from_wgs84(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        const STEPS_PER_METRE: f64 = 1e4;
        const STEPS_PER_DEGREE: f64 = 1e9;
        let steps = if self.is_projected() { STEPS_PER_METRE } else { STEPS_PER_DEGREE };
        let (x, y) = self.from_wgs84(longitude, latitude)?;
        Some(((x * steps).round() / steps, (y * steps).round() / steps))
    }
}

impl System {
    fn by_code(code: u32, grids: &GridFiles) -> Result<Self, CrsError> {
        let unsupported = |name, reason: Message| CrsError::Unsupported { code, name, reason };
        let Some(row) = table::system(code) else {
            return Err(match table::unsupported(code) {
                Some(row) => unsupported(Some(row.name), reason(row.reason, row.detail)),
                None => unsupported(None, reason("unknown", "")),
            });
        };
        let mut candidates = Vec::new();
        let mut operations = Vec::new();
        for candidate in row.candidates {
            let row = candidate.operation;
            if row.is_substitute && !candidates.is_empty() {
                break;
            }
            let operation = Operation::parse(row.steps, grids);
            let needs_grid = !row.grids.is_empty();
            operations.push(OperationInfo {
                codes: row.codes,
                name: row.name,
                accuracy: row.accuracy,
                area_of_use: row.area,
                grids: row.grids,
                is_available: operation.is_ok(),
            });
            if let Ok(operation) = operation {
                candidates.push(Candidate {
                    operation,
                    accuracy: row.accuracy,
                    area_size: area_size(row.area),
                    is_offshore: row.is_offshore,
                    needs_grid,
                    bounds: candidate.bounds,
                });
            }
        }
        if candidates.is_empty() {
            return Err(unsupported(Some(row.name), missing_grids(&operations)));
        }
        let projection = Projection::parse(row.projection)
            .ok_or_else(|| unsupported(Some(row.name), reason("projection", row.projection)))?;
        let info = CrsInfo {
            name: row.name,
            area_of_use: row.area,
            is_northing_first: row.is_northing_first,
            operations,
        };
        Ok(Self { code, projection, candidates, info })
    }

    /// The operation that PROJ would use for a point: the most accurate one whose bounds contain it. If
    /// there is none, the first one that needs no grid.
    fn operation_at(&self, x: f64, y: f64, excluded: &[usize]) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (index, candidate) in self.candidates.iter().enumerate() {
            let is_better =
                || best.is_none_or(|best| candidate.is_preferred(&self.candidates[best]));
            if !excluded.contains(&index) && candidate.contains(x, y) && is_better() {
                best = Some(index);
            }
        }
        best.or_else(|| {
            let mut candidates = self.candidates.iter().enumerate();
            let is_usable = |index| !excluded.contains(&index);
            let first = candidates.find(|(index, one)| !one.needs_grid && is_usable(*index));
            first.map(|(index, _)| index)
        })
    }
}

impl Candidate {
    fn contains(&self, x: f64, y: f64) -> bool {
        self.bounds.is_none_or(|[min_x, min_y, max_x, max_y]| {
            (min_x..=max_x).contains(&x) && (min_y..=max_y).contains(&y)
        })
    }

    /// Whether PROJ uses this operation instead of one that comes earlier in the list. It compares
    /// accuracy, then area, and never replaces an operation by one for an area offshore.
    fn is_preferred(&self, earlier: &Self) -> bool {
        let (Some(accuracy), false) = (self.accuracy, self.is_offshore) else { return false };
        earlier.accuracy.is_some_and(|other| {
            accuracy < other || (accuracy == other && self.area_size < earlier.area_size)
        })
    }
}

/// The size of an area on the unit sphere.
fn area_size([west, south, east, north]: [f64; 4]) -> f64 {
    let width = if west > east { east - west + 360.0 } else { east - west };
    width.to_radians() * (north.to_radians().sin() - south.to_radians().sin())
}

/// Why a system is not supported, from the words of the table.
fn reason(key: &str, detail: &str) -> Message {
    match key {
        "deprecated" if detail.is_empty() => message!("the code is deprecated"),
        "deprecated" => message!("the code is deprecated; use EPSG:{code}", code = detail),
        "3d" if detail.is_empty() => message!("it is three-dimensional"),
        "3d" => message!("it is three-dimensional; use EPSG:{code}", code = detail),
        "compound" => {
            message!("it includes heights; use its horizontal part, EPSG:{code}", code = detail)
        }
        "vertical" => message!("it describes only heights"),
        "geocentric" => message!("its coordinates are geocentric"),
        "derived" => message!("it is derived from another system by a method of its own"),
        "no-operation" => message!("no transformation to WGS 84 is published"),
        "other-grid" => {
            message!("its transformations to WGS 84 need grid files in a format other than NTv2")
        }
        "projection" => {
            message!("its projection ({projection}) is not implemented", projection = detail)
        }
        "method" => {
            message!("its transformation to WGS 84 ({method}) is not implemented", method = detail)
        }
        "inaccurate" => message!("the result would differ from PROJ by more than 1 cm"),
        _ => message!("the code is not in the EPSG register"),
    }
}

/// Why a system whose operations all need missing grid files is not supported.
fn missing_grids(operations: &[OperationInfo]) -> Message {
    let mut choices: Vec<_> = operations.iter().map(|one| &one.grids).collect();
    choices.dedup();
    let files = choices.into_iter().filter_map(|grids| {
        let files = grids.iter().map(|name| MessageValue::from(*name));
        files.reduce(|files, file| message!("{one} and {other}", one = files, other = file).into())
    });
    let files =
        files.reduce(|files, file| message!("{one} or {other}", one = files, other = file).into());
    let files = files.unwrap_or_else(|| "".into());
    message!("it needs the grid file {files} in the folder geo.grids", files = files)
}

enum Name {
    Wgs84,
    Epsg(u32),
}

fn parse_name(name: &str) -> Option<Name> {
    let name = name.to_ascii_lowercase();
    let steps: Vec<&str> = name.split([':', '/']).collect();
    let steps = match steps.as_slice() {
        ["urn", "ogc" | "x-ogc", "def", "crs", authority, _version, code]
        | ["http" | "https", "", "", "www.opengis.net", "def", "crs", authority, _version, code] => {
            [*authority, *code]
        }
        [authority, code] => [*authority, *code],
        ["crs84"] => ["ogc", "crs84"],
        _ => return None,
    };
    match steps {
        ["ogc", "crs84" | "crs84h"] | ["epsg", "4326" | "4979"] => Some(Name::Wgs84),
        ["epsg", code] if code.bytes().all(|byte| byte.is_ascii_digit()) => {
            code.parse().ok().map(Name::Epsg)
        }
        _ => None,
    }
}

impl PartialEq for Crs {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl Eq for Crs {}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("WGS 84"),
            Some(system) => write!(f, "EPSG:{}", system.code),
        }
    }
}

impl fmt::Debug for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
