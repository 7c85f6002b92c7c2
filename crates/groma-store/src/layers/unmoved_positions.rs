//! Finds the positions that a file in another reference system leaves as they were exported. Exported coordinates are
//! rounded, so that they would otherwise move.

use super::{StoredFeature, feature_spool::PreparedGeometry};
use crate::{Error, Result};
use groma_domain::layer::LayerCrs;
use groma_geo::{Crs, Geometry, wkb};

/// The reference system of the last geometry, because those of a file are the same. `None` if it cannot be used.
#[derive(Default)]
pub(super) struct UnmovedPositions(Option<(u32, Option<Crs>)>);

impl UnmovedPositions {
    /// Returns the positions of a geometry that were not moved to where they are stored.
    pub(super) fn restore(
        &mut self,
        sent: PreparedGeometry,
        old: &StoredFeature,
        layer_crs: LayerCrs,
    ) -> Result<PreparedGeometry> {
        let (Some((code, _)), Some(stored)) = (&sent.original, &old.geometry) else {
            return Ok(sent);
        };
        if *stored == sent.wkb {
            return Ok(sent);
        }
        let Some(crs) = self.system(*code) else { return Ok(sent) };
        let mut geometry = read(&sent.wkb)?;
        let stored = read(stored)?;
        let exported = match &old.original {
            Some(original) if layer_crs.code() == Some(*code) => Some(read(original)?),
            _ => crs.geometry_from_wgs84(&stored, None),
        };
        match exported {
            Some(exported) if crs.restore_positions(&mut geometry, &exported, &stored) => {
                Ok(sent.with_positions(&geometry))
            }
            _ => Ok(sent),
        }
    }

    fn system(&mut self, code: u32) -> Option<&Crs> {
        if !matches!(&self.0, Some((last, _)) if *last == code) {
            self.0 = Some((code, Crs::parse(&format!("EPSG:{code}")).ok()));
        }
        self.0.as_ref()?.1.as_ref()
    }
}

fn read(geometry: &[u8]) -> Result<Geometry> {
    wkb::from_wkb(geometry).map_err(|error| Error::Damaged(error.to_string()))
}
