//! Coordinate operations: move a point from its own datum to WGS 84, and back.
//!
//! An operation is a list of steps as PROJ executes them, in a part of PROJ's syntax. Points are longitude
//! and latitude in radians from Greenwich.

use super::ntv2::{GridFiles, ShiftGrid};
use std::sync::Arc;

/// An operation that is ready to use.
pub(super) struct Operation(Vec<Step>);

/// A grid file that an operation needs is not in the folder, or cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unavailable;

enum Step {
    /// From longitude, latitude and height to geocentric coordinates.
    Geocentric(Ellipsoid),
    /// From geocentric coordinates to longitude, latitude and height.
    Geographic(Ellipsoid),
    Helmert(Helmert),
    InverseHelmert(Helmert),
    GridShift(Arc<ShiftGrid>),
    InverseGridShift(Arc<ShiftGrid>),
    /// Adds to longitude and latitude.
    Offset([f64; 2]),
    /// Stores the height, because a two-dimensional operation must not change it.
    PushHeight,
    /// Restores the height.
    PopHeight,
}

impl Operation {
    /// Parses steps such as `cart a=6377397.155 rf=299.1528128|helmert x=589 y=76 z=480|inv cart …`.
    pub(super) fn parse(steps: &str, grids: &GridFiles) -> Result<Self, Unavailable> {
        let steps = steps.split('|').filter(|step| !step.is_empty());
        steps.map(|step| Step::parse(step, grids)).collect::<Result<_, _>>().map(Self)
    }

    /// From the datum of the operation to WGS 84. `None` outside the area of a grid.
    pub(super) fn forward(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        Self::apply(self.0.iter().map(|step| (step, false)), longitude, latitude)
    }

    /// From WGS 84 to the datum of the operation. `None` outside the area of a grid.
    pub(super) fn inverse(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        Self::apply(self.0.iter().rev().map(|step| (step, true)), longitude, latitude)
    }

    fn apply<'a>(
        steps: impl Iterator<Item = (&'a Step, bool)>,
        longitude: f64,
        latitude: f64,
    ) -> Option<(f64, f64)> {
        let mut point = [longitude, latitude, 0.0];
        let mut height = 0.0;
        for (step, is_inverse) in steps {
            point = match (step, is_inverse) {
                (Step::Geocentric(ellipsoid), false) | (Step::Geographic(ellipsoid), true) => {
                    ellipsoid.to_geocentric(point)
                }
                (Step::Geographic(ellipsoid), false) | (Step::Geocentric(ellipsoid), true) => {
                    ellipsoid.to_geographic(point)
                }
                (Step::Helmert(helmert), false) | (Step::InverseHelmert(helmert), true) => {
                    helmert.forward(point)
                }
                (Step::InverseHelmert(helmert), false) | (Step::Helmert(helmert), true) => {
                    helmert.inverse(point)
                }
                (Step::GridShift(grid), false) | (Step::InverseGridShift(grid), true) => {
                    let (longitude, latitude) = grid.forward(point[0], point[1])?;
                    [longitude, latitude, point[2]]
                }
                (Step::InverseGridShift(grid), false) | (Step::GridShift(grid), true) => {
                    let (longitude, latitude) = grid.inverse(point[0], point[1])?;
                    [longitude, latitude, point[2]]
                }
                (Step::Offset([east, north]), _) => {
                    let sign = if is_inverse { -1.0 } else { 1.0 };
                    [point[0] + sign * east, point[1] + sign * north, point[2]]
                }
                (Step::PushHeight, false) | (Step::PopHeight, true) => {
                    height = point[2];
                    point
                }
                (Step::PopHeight, false) | (Step::PushHeight, true) => [point[0], point[1], height],
            };
        }
        Some((point[0], point[1]))
    }
}

impl Step {
    fn parse(text: &str, grids: &GridFiles) -> Result<Self, Unavailable> {
        let (is_inverse, text) = match text.strip_prefix("inv ") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let parameters = Parameters(text);
        let step = match (parameters.kind(), is_inverse) {
            ("cart", false) => Self::Geocentric(Ellipsoid::parse(parameters)),
            ("cart", true) => Self::Geographic(Ellipsoid::parse(parameters)),
            ("helmert" | "molobadekas", false) => Self::Helmert(Helmert::parse(parameters)),
            ("helmert" | "molobadekas", true) => Self::InverseHelmert(Helmert::parse(parameters)),
            ("geogoffset", false) => {
                let radians = |name| (parameters.number(name).unwrap_or(0.0) / 3600.0).to_radians();
                Self::Offset([radians("dlon"), radians("dlat")])
            }
            ("push", false) => Self::PushHeight,
            ("pop", false) => Self::PopHeight,
            ("hgridshift", _) => {
                let name = parameters.text("grids").ok_or(Unavailable)?;
                let grid = grids.get(name).ok_or(Unavailable)?;
                if is_inverse { Self::InverseGridShift(grid) } else { Self::GridShift(grid) }
            }
            _ => return Err(Unavailable),
        };
        Ok(step)
    }
}

/// The words of a step or a projection: its kind, and parameters such as `x=589`.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a>(pub(super) &'a str);

impl<'a> Parameters<'a> {
    fn kind(self) -> &'a str {
        self.0.split(' ').next().unwrap_or_default()
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        let mut words = self.0.split(' ').filter_map(|word| word.split_once('='));
        words.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(super) fn number(self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }
}

/// An ellipsoid of revolution.
struct Ellipsoid {
    /// Semi-major axis in metres.
    a: f64,
    /// Semi-minor axis in metres.
    b: f64,
    /// Squared eccentricity.
    es: f64,
}

impl Ellipsoid {
    fn parse(parameters: Parameters<'_>) -> Self {
        let a = parameters.number("a").unwrap_or(f64::NAN);
        let flattening = parameters.number("rf").map(f64::recip);
        let b = match flattening {
            Some(flattening) => a * (1.0 - flattening),
            None => parameters.number("b").unwrap_or(a),
        };
        Self { a, b, es: 1.0 - (b / a) * (b / a) }
    }

    fn to_geocentric(&self, [longitude, latitude, height]: [f64; 3]) -> [f64; 3] {
        let (sin, cos) = latitude.sin_cos();
        let normal = self.a / (1.0 - self.es * sin * sin).sqrt();
        let axis_distance = (normal + height) * cos;
        [
            axis_distance * longitude.cos(),
            axis_distance * longitude.sin(),
            (normal * (1.0 - self.es) + height) * sin,
        ]
    }

    /// Bowring's formula, applied twice: exact to a fraction of a micrometre near the surface.
    fn to_geographic(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let axis_distance = x.hypot(y);
        let second_es = self.es / (1.0 - self.es);
        let mut reduced = (z * self.a).atan2(axis_distance * self.b);
        let mut latitude = 0.0;
        for _ in 0..2 {
            let (sin, cos) = reduced.sin_cos();
            latitude = (z + second_es * self.b * sin.powi(3))
                .atan2(axis_distance - self.es * self.a * cos.powi(3));
            reduced = (self.b * latitude.sin()).atan2(self.a * latitude.cos());
        }
        let (sin, cos) = latitude.sin_cos();
        let normal = self.a / (1.0 - self.es * sin * sin).sqrt();
        // Near the poles, the distance from the axis is too small to divide by its cosine.
        let height = match cos.abs() > 1e-3 {
            true => axis_distance / cos - normal,
            false => z / sin - normal * (1.0 - self.es),
        };
        [y.atan2(x), latitude, height]
    }
}

/// Seven parameters, and for Molodensky-Badekas the point that the rotation leaves in place.
struct Helmert {
    translation: [f64; 3],
    /// In radians, in the position vector convention.
    rotation: [f64; 3],
    scale: f64,
    centre: [f64; 3],
}

impl Helmert {
    fn parse(parameters: Parameters<'_>) -> Self {
        let numbers = |names: [&str; 3]| names.map(|name| parameters.number(name).unwrap_or(0.0));
        let sign = match parameters.text("convention") {
            Some("coordinate_frame") => -1.0,
            _ => 1.0,
        };
        Self {
            translation: numbers(["x", "y", "z"]),
            rotation: numbers(["rx", "ry", "rz"])
                .map(|seconds| sign * (seconds / 3600.0).to_radians()),
            scale: 1.0 + parameters.number("s").unwrap_or(0.0) * 1e-6,
            centre: numbers(["px", "py", "pz"]),
        }
    }

    fn forward(&self, point: [f64; 3]) -> [f64; 3] {
        let rotated = rotate(self.rotation, each(point, self.centre, |a, b| a - b));
        let moved = each(rotated, self.translation, |a, b| self.scale * a + b);
        each(moved, self.centre, |a, b| a + b)
    }

    fn inverse(&self, point: [f64; 3]) -> [f64; 3] {
        let moved = each(point, self.centre, |a, b| a - b);
        let moved = each(moved, self.translation, |a, b| (a - b) / self.scale);
        each(rotate(self.rotation.map(|angle| -angle), moved), self.centre, |a, b| a + b)
    }
}

/// Rotates by small angles.
fn rotate([rx, ry, rz]: [f64; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    [x - rz * y + ry * z, rz * x + y - rx * z, -ry * x + rx * y + z]
}

fn each(a: [f64; 3], b: [f64; 3], combine: impl Fn(f64, f64) -> f64) -> [f64; 3] {
    [combine(a[0], b[0]), combine(a[1], b[1]), combine(a[2], b[2])]
}
