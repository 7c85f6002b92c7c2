//! The location of the fictitious communes, at their road distances from the office.

use crate::office::{COMMUNES, Commune};
use groma_geo::Position;

/// Longitude and latitude of the office.
const OFFICE: (f64, f64) = (6.05, 47.15);
const METRES_PER_DEGREE: f64 = 111_195.0;
/// Degrees are rounded to about a millimetre.
const STEPS_PER_DEGREE: f64 = 1e8;

/// A point in metres east (`x`) and north (`y`) of an origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LocalPoint {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl LocalPoint {
    pub(super) fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The distance from the origin.
    pub(super) fn distance(self) -> f64 {
        self.x.hypot(self.y)
    }
}

/// The centre of a commune, the origin of its local points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    longitude: f64,
    latitude: f64,
}

impl Origin {
    pub(super) fn of(commune: Commune) -> Self {
        // A road of one kilometre covers about 800 metres as the crow flies.
        let distance = commune.distance_km as f64 * 800.0;
        let index =
            COMMUNES.iter().position(|other| other.name == commune.name).unwrap_or_default();
        // This step keeps the communes apart.
        let fraction = (index as f64 * 0.765_034).fract();
        let bearing = match (commune.is_abroad, commune.is_north) {
            (true, _) => 84.0 + 24.0 * fraction,
            (false, true) => -85.0 + 160.0 * fraction,
            (false, false) => 115.0 + 150.0 * fraction,
        };
        let (east, north) = f64::to_radians(bearing).sin_cos();
        let office = Self { longitude: OFFICE.0, latitude: OFFICE.1 };
        let centre = office.position(LocalPoint::new(distance * east, distance * north), None);
        Self { longitude: centre.x, latitude: centre.y }
    }

    pub(super) fn position(self, point: LocalPoint, height: Option<f64>) -> Position {
        let round = |degrees: f64| (degrees * STEPS_PER_DEGREE).round() / STEPS_PER_DEGREE;
        let longitude_scale = self.latitude.to_radians().cos();
        Position {
            x: round(self.longitude + point.x / (METRES_PER_DEGREE * longitude_scale)),
            y: round(self.latitude + point.y / METRES_PER_DEGREE),
            z: height,
        }
    }

    /// The height of the ground in metres, rounded to a millimetre.
    pub(super) fn height(self, point: LocalPoint) -> f64 {
        let region = 310.0 + 120.0 * (self.longitude * 9.0).sin() * (self.latitude * 13.0).cos();
        let hill = 7.0 * (point.x / 260.0).sin() + 5.0 * (point.y / 190.0).cos();
        ((region + hill) * 1000.0).round() / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communes_are_at_least_three_kilometres_apart() {
        for (index, one) in COMMUNES.iter().enumerate() {
            for other in &COMMUNES[..index] {
                let (here, there) = (Origin::of(*one), Origin::of(*other));
                let north = (here.latitude - there.latitude) * METRES_PER_DEGREE;
                let east = (here.longitude - there.longitude) * METRES_PER_DEGREE * 0.68;
                let distance = north.hypot(east);
                assert!(distance > 3_000.0, "{} and {}: {distance} m", one.name, other.name);
            }
        }
    }
}
