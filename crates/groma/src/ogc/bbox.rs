//! The parameter `bbox`.

use super::{crs::ItemCrs, parameters::invalid};
use crate::http::HttpError;
use groma_geo::Bbox;

/// A box that items must meet.
#[derive(Clone)]
pub(super) struct BoxFilter {
    pub(super) crs: ItemCrs,
    /// Easting first. West is greater than east if the box crosses the antimeridian.
    pub(super) bbox: Bbox,
}

impl BoxFilter {
    /// Parses four numbers, or six, whose heights are ignored.
    pub(super) fn parse(text: &str, crs: ItemCrs) -> Result<Self, HttpError> {
        let numbers: Result<Vec<f64>, _> =
            text.split(',').map(|part| part.trim().parse()).collect();
        let numbers =
            numbers.ok().filter(|numbers| numbers.iter().all(|number| number.is_finite()));
        let corners = match numbers.as_deref() {
            Some([a, b, c, d] | [a, b, _, c, d, _]) => [*a, *b, *c, *d],
            _ => return Err(invalid("bbox", "must be four or six numbers, separated by commas")),
        };
        let bbox = crs.easting_first(corners);
        let Bbox([west, south, east, north]) = bbox;
        let (can_wrap, is_valid) = match crs.system.is_wgs84() {
            true => (
                true,
                west.abs() <= 180.0
                    && east.abs() <= 180.0
                    && south.abs() <= 90.0
                    && north.abs() <= 90.0,
            ),
            false => (false, true),
        };
        if !is_valid {
            let message = format!("must be in degrees, in the axis order of {}", crs.uri());
            return Err(invalid("bbox", message));
        }
        if south > north || (west > east && !can_wrap) {
            return Err(invalid("bbox", "must have the lower corner first"));
        }
        Ok(Self { crs, bbox })
    }

    /// A box in WGS 84 that contains this one; `None` if there is no useful one.
    pub(super) fn wgs84_bounds(&self) -> Option<Bbox> {
        match self.crs.system.is_wgs84() {
            true => Some(self.bbox),
            false => self.crs.system.wgs84_bounds(self.bbox),
        }
    }
}
