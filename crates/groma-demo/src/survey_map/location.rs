//! Where the communes lie: on no map, but on the earth, at the distances that the office drives.

use crate::office::{PLACES, Place};
use groma_geo::Position;

/// Longitude and latitude of the office.
const OFFICE: (f64, f64) = (6.05, 47.15);
const METRES_PER_DEGREE: f64 = 111_195.0;
/// Degrees are written to the millimetre.
const STEPS_PER_DEGREE: f64 = 1e8;

/// So many metres east and north of somewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metres {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Metres {
    pub(super) fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    pub(super) fn distance(self) -> f64 {
        self.x.hypot(self.y)
    }
}

/// The middle of a commune, from which its metres count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    longitude: f64,
    latitude: f64,
}

impl Origin {
    pub(super) fn of(place: Place) -> Self {
        // Roads are longer than the flight of a crow.
        let away = place.away as f64 * 800.0;
        let index = PLACES.iter().position(|other| other.name == place.name).unwrap_or_default();
        // A step that leaves no two of them close to each other.
        let share = (index as f64 * 0.765_034).fract();
        let bearing = match (place.is_abroad, place.is_north) {
            (true, _) => 84.0 + 24.0 * share,
            (false, true) => -85.0 + 160.0 * share,
            (false, false) => 115.0 + 150.0 * share,
        };
        let (east, north) = f64::to_radians(bearing).sin_cos();
        let office = Self { longitude: OFFICE.0, latitude: OFFICE.1 };
        let at = office.position(Metres::new(away * east, away * north), None);
        Self { longitude: at.x, latitude: at.y }
    }

    pub(super) fn position(self, at: Metres, height: Option<f64>) -> Position {
        let round = |degrees: f64| (degrees * STEPS_PER_DEGREE).round() / STEPS_PER_DEGREE;
        let narrowing = self.latitude.to_radians().cos();
        Position {
            x: round(self.longitude + at.x / (METRES_PER_DEGREE * narrowing)),
            y: round(self.latitude + at.y / METRES_PER_DEGREE),
            z: height,
        }
    }

    /// The height of the ground in metres, to the millimetre.
    pub(super) fn height(self, at: Metres) -> f64 {
        let region = 310.0 + 120.0 * (self.longitude * 9.0).sin() * (self.latitude * 13.0).cos();
        let hill = 7.0 * (at.x / 260.0).sin() + 5.0 * (at.y / 190.0).cos();
        ((region + hill) * 1000.0).round() / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_commune_lies_upon_another() {
        for (index, one) in PLACES.iter().enumerate() {
            for other in &PLACES[..index] {
                let (here, there) = (Origin::of(*one), Origin::of(*other));
                let north = (here.latitude - there.latitude) * METRES_PER_DEGREE;
                let east = (here.longitude - there.longitude) * METRES_PER_DEGREE * 0.68;
                let apart = north.hypot(east);
                assert!(apart > 3_000.0, "{} and {}: {apart} m", one.name, other.name);
            }
        }
    }
}
