//! What is looked at in the features of a file beyond whether they are valid: where they are, and the problems that
//! the check of a layer finds.

use super::progress::JobProgress;
use crate::import::Progress;
use groma_geo::{
    Bbox, Crs, Geometry,
    geojson::Feature,
    layer_check::{LayerCheck, LayerCheckOptions, LayerReport},
};
use parking_lot::Mutex;
use std::sync::Arc;

/// The most features whose quality is checked. A larger layer can be checked once it is imported.
const MAX_CHECKED: u64 = 100_000;
/// The most problems of each kind that the preview lists.
const MAX_LISTED: usize = 5;

/// Shared by the passes over a file.
#[derive(Clone, Default)]
pub(super) struct Inspection(Arc<Mutex<Inspected>>);

#[derive(Default)]
struct Inspected {
    bounds: Option<Bbox>,
    features: u64,
    check: Option<LayerCheck>,
}

impl Inspection {
    /// Begins a pass over the file: what an earlier one saw is forgotten.
    pub(super) fn begin(&self) -> impl FnMut(&Feature) + Send + 'static {
        *self.0.lock() = Inspected::default();
        let inspected = self.0.clone();
        move |feature| inspected.lock().add(feature)
    }

    /// Where the features are, in WGS 84.
    pub(super) fn bounds(&self) -> Option<[f64; 4]> {
        self.0.lock().bounds.map(|Bbox(bounds)| bounds)
    }

    /// The problems of the features; `None` if there are too many features. This can take long, but stops soon after
    /// the import is cancelled.
    pub(super) fn report(&self, progress: &JobProgress) -> Option<LayerReport> {
        let check = self.0.lock().check.take();
        check.map(|check| check.finish(&|| progress.is_cancelled()))
    }
}

impl Inspected {
    fn add(&mut self, feature: &Feature) {
        let Some(geometry) = &feature.geometry else { return };
        if let Some(bbox) = geometry.bbox() {
            self.bounds = Some(self.bounds.map_or(bbox, |all| all.union(bbox)));
        }
        // Compared in the system of the file, in which lines that are straight for the surveyor are straight.
        let (crs, geometry): (&Crs, &Geometry) = match &feature.original {
            Some(original) => (&original.crs, &original.geometry),
            None => (&Crs::WGS84, geometry),
        };
        self.features += 1;
        if self.features == 1 {
            let options = LayerCheckOptions::new(crs.clone());
            self.check =
                Some(LayerCheck::new(LayerCheckOptions { max_listed: MAX_LISTED, ..options }));
        } else if self.features > MAX_CHECKED {
            self.check = None;
        }
        if let Some(check) = &mut self.check {
            // The lines of a GeoJSON document say little: it can be one line.
            let number = feature.index.map_or(feature.line, |index| index as u64 + 1);
            check.add(number, geometry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_geo::Position;

    #[test]
    fn cancelled_import_stops_comparing_shapes() {
        let square = |x: f64| {
            let at = |dx: f64, dy: f64| Position { x: x + dx, y: dy, z: None };
            let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)];
            Geometry::Polygon(vec![corners.map(|(dx, dy)| at(dx, dy)).to_vec()])
        };
        for is_cancelled in [false, true] {
            let inspection = Inspection::default();
            let mut inspect = inspection.begin();
            for line in 0..10 {
                inspect(&Feature {
                    external_id: None,
                    geometry: Some(square(line as f64 / 2.0)),
                    original: None,
                    properties: serde_json::Map::new(),
                    index: None,
                    line,
                    notices: Vec::new(),
                });
            }
            let progress = JobProgress::new();
            if is_cancelled {
                progress.cancel();
            }
            let report = inspection.report(&progress).unwrap();
            assert_eq!(report.is_complete, !is_cancelled);
            assert_eq!(report.problems.is_empty(), is_cancelled);
        }
    }
}
