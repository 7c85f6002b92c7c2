//! What every geometry that was read goes through: the check for what looks wrong, the transformation to
//! WGS 84, and repair.

use super::{
    Feature, OriginalGeometry,
    parse_error::{ParseResult, Place},
    to_wgs84::ToWgs84,
};
use crate::{Crs, Geometry, Notice, check_geometry, repair};

/// A geometry in WGS 84 and where it comes from.
pub(super) struct FinishedGeometry {
    geometry: Geometry,
    original: Option<OriginalGeometry>,
    /// Relative to the geometry.
    notices: Vec<Notice>,
}

impl FinishedGeometry {
    /// Checks a geometry with easting first, transforms it to WGS 84 and repairs it. `is_northing_first` tells
    /// how it was sent, for messages.
    pub(super) fn new(
        mut geometry: Geometry,
        crs: &Crs,
        is_northing_first: bool,
        place: Place,
    ) -> ParseResult<Self> {
        let mut notices = check_geometry(&geometry);
        let original = (!crs.is_wgs84())
            .then(|| OriginalGeometry { crs: crs.clone(), geometry: geometry.clone() });
        notices.extend(ToWgs84::new(crs, is_northing_first, place).transform(&mut geometry)?);
        Ok(Self { geometry: repair::repair_geometry(geometry), original, notices })
    }

    /// Adds the geometry to its feature, in which it is at `pointer`.
    pub(super) fn add_to(self, feature: &mut Feature, pointer: &str) {
        let pointer = feature.pointer() + pointer;
        feature.notices.extend(
            self.notices
                .into_iter()
                .map(|notice| Notice { pointer: format!("{pointer}{}", notice.pointer), ..notice }),
        );
        feature.geometry = Some(self.geometry);
        feature.original = self.original;
    }
}
