//! A box on a small map of the world.

use crate::web::i18n::Localizer;

pub(super) struct ExtentSketch {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) text: String,
}

impl ExtentSketch {
    /// The map is 360 wide and 180 high.
    pub(super) fn new(t: Localizer, [west, south, east, north]: [f64; 4]) -> Self {
        let (longitude, latitude) = (f64::midpoint(west, east), f64::midpoint(south, north));
        Self {
            x: format!("{:.1}", longitude + 180.0),
            y: format!("{:.1}", 90.0 - latitude),
            text: t
                .msg("import-extent")
                .arg("west", format!("{west:.4}"))
                .arg("south", format!("{south:.4}"))
                .arg("east", format!("{east:.4}"))
                .arg("north", format!("{north:.4}"))
                .into(),
        }
    }
}
