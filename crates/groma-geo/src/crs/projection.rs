//! Projections: from the coordinates of a system to longitude and latitude on its own datum, and back.

use super::{
    formulas::{ColombiaUrban, ModifiedKrovak},
    operation::Parameters,
};
use proj4rs::{Proj, transform::transform};
use std::f64::consts::{PI, TAU};

/// How a system expresses longitude and latitude. Both are in radians from Greenwich.
pub(super) enum Projection {
    /// As angles.
    Geographic {
        radians_per_unit: f64,
        /// The longitude of the prime meridian.
        prime_meridian: f64,
    },
    /// In a plane.
    Projected(Box<Projected>),
    ColombiaUrban(ColombiaUrban),
    ModifiedKrovak {
        krovak: Box<Projected>,
        formula: ModifiedKrovak,
        /// Whether x is southing and y is westing, instead of easting and northing.
        is_south_west: bool,
    },
}

pub(super) struct Projected {
    projection: Proj,
    /// Longitude and latitude on the same ellipsoid.
    geographic: Proj,
}

/// How far a point may be from itself, in projected units, after the projection and back.
const MAX_ROUND_TRIP_ERROR: f64 = 0.1;

impl Projection {
    /// Whether coordinates are lengths, not angles.
    pub(super) fn is_projected(&self) -> bool {
        !matches!(self, Self::Geographic { .. })
    }

    /// Parses a projection such as `proj=utm zone=31 a=6378137 rf=298.257222101`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parameters = Parameters(text);
        match parameters.text("proj")? {
            "longlat" => Some(Self::Geographic {
                radians_per_unit: parameters.number("to_degree").unwrap_or(1.0).to_radians(),
                prime_meridian: parameters.number("pm").unwrap_or(0.0).to_radians(),
            }),
            "col_urban" => ColombiaUrban::parse(parameters).map(Self::ColombiaUrban),
            "mod_krovak" => {
                let [false_easting, false_northing] =
                    [parameters.number("x_0")?, parameters.number("y_0")?];
                let words = text.split(' ').filter(|word| {
                    !["proj=", "x_0=", "y_0=", "axis="].iter().any(|name| word.starts_with(name))
                });
                let krovak = ["proj=krovak"].into_iter().chain(words).collect::<Vec<_>>().join(" ");
                Some(Self::ModifiedKrovak {
                    krovak: Box::new(Projected::parse(&krovak)?),
                    formula: ModifiedKrovak { false_easting, false_northing },
                    is_south_west: parameters.text("axis") == Some("swu"),
                })
            }
            _ => Projected::parse(text).map(|projected| Self::Projected(Box::new(projected))),
        }
    }

    /// Longitude and latitude of a point. `None` if the point is too far from the area of use.
    pub(super) fn unproject(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        match self {
            Self::Geographic { radians_per_unit, prime_meridian } => {
                Some((x * radians_per_unit + prime_meridian, y * radians_per_unit))
            }
            Self::Projected(projected) => projected.unproject(x, y),
            Self::ColombiaUrban(formula) => Some(formula.unproject(x, y)),
            Self::ModifiedKrovak { krovak, formula, is_south_west } => {
                let (x, y) = if *is_south_west { (-y, -x) } else { (x, y) };
                let (x, y) = formula.inverse(x, y);
                krovak.unproject(x, y)
            }
        }
    }

    /// The coordinates of a point. `None` if the point is too far from the area of use.
    pub(super) fn project(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        match self {
            Self::Geographic { radians_per_unit, prime_meridian } => {
                let longitude = longitude - prime_meridian;
                Some((longitude / radians_per_unit, latitude / radians_per_unit))
            }
            Self::Projected(projected) => projected.project(longitude, latitude),
            Self::ColombiaUrban(formula) => Some(formula.project(longitude, latitude)),
            Self::ModifiedKrovak { krovak, formula, is_south_west } => {
                let (x, y) = krovak.project(longitude, latitude)?;
                let (x, y) = formula.forward(x, y);
                Some(if *is_south_west { (-y, -x) } else { (x, y) })
            }
        }
    }
}

impl Projected {
    fn parse(text: &str) -> Option<Self> {
        let parameters = Parameters(text);
        let ellipsoid = ["a", "b", "rf", "R"]
            .iter()
            .filter_map(|name| parameters.text(name).map(|value| format!(" +{name}={value}")));
        let geographic = format!("+proj=longlat{} +no_defs", ellipsoid.collect::<String>());
        // `+over` keeps longitudes beyond 180, so that a shape across the antimeridian stays in one
        // piece until it is split.
        let projection = format!("+{} +over +no_defs", text.replace(' ', " +"));
        Some(Self {
            projection: Proj::from_proj_string(&projection).ok()?,
            geographic: Proj::from_proj_string(&geographic).ok()?,
        })
    }

    fn unproject(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let mut point = (x, y, 0.0);
        transform(&self.projection, &self.geographic, &mut point).ok()?;
        // Far outside its area of use, a projection cannot be inverted.
        let mut back = point;
        transform(&self.geographic, &self.projection, &mut back).ok()?;
        let error = (back.0 - x).hypot(back.1 - y);
        (error <= MAX_ROUND_TRIP_ERROR).then_some((point.0, point.1))
    }

    fn project(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        // With `+over`, the longitude must be the one nearest to the central meridian.
        let centre = self.projection.longitude_of_origin() + self.projection.from_greenwich();
        let offset = longitude - centre;
        let turns = if offset.abs() > PI { (offset / TAU).round() } else { 0.0 };
        let mut point = (longitude - turns * TAU, latitude, 0.0);
        transform(&self.geographic, &self.projection, &mut point).ok()?;
        (point.0.is_finite() && point.1.is_finite()).then_some((point.0, point.1))
    }
}
