//! The integer grid on which polygons are compared, and how long its steps are on the ground.

use crate::{Crs, Position};

/// A point of the grid.
pub(super) type Point = i_overlay::i_float::int::point::IntPoint<i64>;

/// A step is a tenth of a millimeter, or a bit less where a unit is a foot.
const STEPS_PER_LENGTH: f64 = 1e4;
/// A step is about a tenth of a millimeter.
const STEPS_PER_DEGREE: f64 = 1e9;
/// Coordinates are clamped to this, so that differences do not overflow.
const MAX_COORDINATE: f64 = 1e15;
/// A coarse step has 2^`COARSE_BITS` steps: about 1 cm.
const COARSE_BITS: u32 = 7;

/// A point in steps of about a centimeter, as they are kept for every feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coarse {
    pub(super) x: i32,
    pub(super) y: i32,
}

/// A reference system with its grid.
pub(super) struct Grid {
    crs: Crs,
    steps_per_unit: f64,
}

impl Grid {
    pub(super) fn new(crs: Crs) -> Self {
        let steps_per_unit = if crs.is_projected() { STEPS_PER_LENGTH } else { STEPS_PER_DEGREE };
        Self { crs, steps_per_unit }
    }

    pub(super) fn point(&self, at: Position) -> Point {
        let step = |value: f64| {
            (value * self.steps_per_unit).round().clamp(-MAX_COORDINATE, MAX_COORDINATE) as i64
        };
        Point::new(step(at.x), step(at.y))
    }

    /// The position of a point, without a height.
    pub(super) fn position(&self, at: Point) -> Position {
        let value = |steps: i64| steps as f64 / self.steps_per_unit;
        Position { x: value(at.x), y: value(at.y), z: None }
    }

    pub(super) fn coarse(&self, at: Position) -> Coarse {
        coarse(self.point(at))
    }

    /// Longitude and latitude in WGS 84.
    pub(super) fn lon_lat(&self, at: Position) -> Option<[f64; 2]> {
        self.crs.to_wgs84(at.x, at.y).map(|(longitude, latitude)| [longitude, latitude])
    }

    pub(super) fn lon_lat_of_coarse(&self, at: Coarse) -> Option<[f64; 2]> {
        let middle = |value: i32| (i64::from(value) << COARSE_BITS) + (1 << (COARSE_BITS - 1));
        self.lon_lat(self.position(Point::new(middle(at.x), middle(at.y))))
    }

    /// Meters per unit of x and of y around a position.
    pub(super) fn meters_per_unit(&self, at: Position) -> [f64; 2] {
        const METERS_PER_DEGREE: f64 = 111_195.0;
        // About a meter.
        let delta = if self.crs.is_projected() { 1.0 } else { 1e-5 };
        let measure = |x: f64, y: f64| {
            let [longitude, latitude] = self.lon_lat(at)?;
            let (to_longitude, to_latitude) = self.crs.to_wgs84(at.x + x, at.y + y)?;
            let east = (to_longitude - longitude) * latitude.to_radians().cos();
            let meters = east.hypot(to_latitude - latitude) * METERS_PER_DEGREE / delta;
            (meters.is_finite() && meters > 0.0).then_some(meters)
        };
        let fallback = if self.crs.is_projected() { 1.0 } else { METERS_PER_DEGREE };
        [measure(delta, 0.0), measure(0.0, delta)].map(|meters| meters.unwrap_or(fallback))
    }

    /// Meters per step of x and of y around a point.
    pub(super) fn meters_per_step(&self, at: Point) -> [f64; 2] {
        self.meters_per_unit(self.position(at)).map(|meters| meters / self.steps_per_unit)
    }

    /// Meters per coarse step of x and of y around a point.
    pub(super) fn meters_per_coarse_step(&self, at: Coarse) -> [f64; 2] {
        let fine = |value: i32| i64::from(value) << COARSE_BITS;
        let scale = f64::from(1_u32 << COARSE_BITS);
        self.meters_per_step(Point::new(fine(at.x), fine(at.y))).map(|meters| meters * scale)
    }
}

pub(super) fn coarse(at: Point) -> Coarse {
    let coarse = |value: i64| {
        let value = value >> COARSE_BITS;
        i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX })
    };
    Coarse { x: coarse(at.x), y: coarse(at.y) }
}

/// The size of a ring on the ground.
pub(super) struct RingSize {
    /// Square meters.
    pub(super) area: f64,
    /// The length of its box along x and y, in meters.
    pub(super) extent: [f64; 2],
    perimeter: f64,
}

impl RingSize {
    /// Measures a ring whose last point is not repeated.
    pub(super) fn of(ring: &[Point], meters_per_step: [f64; 2]) -> Self {
        let Some(origin) = ring.first().copied() else {
            return Self { area: 0.0, extent: [0.0; 2], perimeter: 0.0 };
        };
        let meters = |at: Point| {
            [
                (at.x - origin.x) as f64 * meters_per_step[0],
                (at.y - origin.y) as f64 * meters_per_step[1],
            ]
        };
        let (mut doubled, mut perimeter) = (0.0, 0.0);
        let (mut min, mut max) = ([0.0_f64; 2], [0.0_f64; 2]);
        for (index, at) in ring.iter().enumerate() {
            let (a, b) = (meters(*at), meters(ring[(index + 1) % ring.len()]));
            doubled += a[0] * b[1] - b[0] * a[1];
            perimeter += (b[0] - a[0]).hypot(b[1] - a[1]);
            for axis in 0..2 {
                min[axis] = min[axis].min(a[axis]);
                max[axis] = max[axis].max(a[axis]);
            }
        }
        let extent = [max[0] - min[0], max[1] - min[1]];
        Self { area: f64::abs(doubled) / 2.0, extent, perimeter }
    }

    /// The width of a rectangle with this area and perimeter, in meters.
    pub(super) fn width(&self) -> f64 {
        let half = self.perimeter / 2.0;
        let root = half * half - 4.0 * self.area;
        if root > 0.0 { (half - root.sqrt()) / 2.0 } else { self.area.sqrt() }
    }
}
