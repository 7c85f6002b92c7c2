//! Finds problems of the features of a layer: those of single geometries, duplicates, and overlaps and gaps
//! between polygons.
//!
//! Features are added one by one. The check keeps about 60 bytes of each feature and 6 bytes of each vertex of
//! a polygon, so a million parcels take about 100 MB. Polygons are compared on a grid of 0.1 mm, in the
//! reference system of the layer, where lines that are straight for the surveyor are straight.

mod fingerprint;
mod gaps;
mod grid;
mod neighborhoods;
mod overlaps;
mod polygons;
mod region;
mod repair;
mod swapped_axes;
#[cfg(test)]
mod tests;

use crate::{
    Crs, Geometry, Position, ProblemKind,
    geometry_check::{SpikeLimit, find_flaws},
};
use grid::{Coarse, Grid};
use polygons::Polygons;
use region::ComparedLayer;
use rustc_hash::FxHashSet;
use serde::Serialize;

/// Gaps that are longer than this in one direction are not reported: they are streets, or land that is not part
/// of the layer. In meters.
pub const MAX_GAP_LENGTH: f64 = 250.0;

/// How a layer is checked.
#[derive(Clone, Debug)]
pub struct LayerCheckOptions {
    /// The reference system of the geometries.
    pub crs: Crs,
    /// The largest width of overlaps, gaps and spikes that do not count as overlaps and gaps, but as spikes. In
    /// meters.
    pub tolerance: f64,
    /// The most problems of each kind that are listed. All are counted.
    pub max_listed: usize,
}

impl LayerCheckOptions {
    /// The default tolerance: 5 cm.
    pub const DEFAULT_TOLERANCE: f64 = 0.05;

    /// The tolerances that make sense: from 1 mm to 100 m.
    pub const TOLERANCES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

    /// Options with the default tolerance.
    #[must_use]
    pub fn new(crs: Crs) -> Self {
        Self { crs, tolerance: Self::DEFAULT_TOLERANCE, max_listed: 1_000 }
    }

    /// The smallest overlap or gap that is reported, in square meters: a strip that is as wide as the tolerance
    /// and 2 m long.
    #[must_use]
    pub fn min_area(&self) -> f64 {
        self.tolerance * 2.0
    }
}

/// A problem of one or more features.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// What is wrong.
    pub kind: ProblemKind,
    /// The numbers with which the features were added. A gap names up to eight polygons around it.
    pub features: Vec<u64>,
    /// Longitude and latitude in WGS 84; `None` if they cannot be computed.
    pub position: Option<[f64; 2]>,
    /// The area of an overlap or a gap in square meters.
    pub area: Option<f64>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct LayerReport {
    /// The number of features.
    pub features: u64,
    /// The number of problems of each kind that occurs. A feature counts once for each kind, two polygons once
    /// for all their overlaps.
    pub counts: Vec<(ProblemKind, u64)>,
    /// The first problems of each kind.
    pub problems: Vec<Problem>,
    /// Whether overlaps and gaps were looked for everywhere. Not where so many polygons lie upon each other, or
    /// cross themselves or others so often, that they cannot be parcels.
    pub is_complete: bool,
}

/// A check of the features of a layer.
pub struct LayerCheck {
    options: LayerCheckOptions,
    grid: Grid,
    findings: Findings,
    features: Vec<Feature>,
    polygons: Polygons,
    /// The features that lie outside the area of use. Their axes are already checked.
    outside: FxHashSet<u32>,
    /// Whether all polygons can be compared.
    is_complete: bool,
}

/// What is kept of each feature.
struct Feature {
    number: u64,
    /// A hash of its geometry; equal for geometries that differ only in the order of their parts.
    fingerprint: [u64; 2],
    /// One of its positions.
    anchor: Coarse,
}

impl LayerCheck {
    /// Starts a check.
    #[must_use]
    pub fn new(options: LayerCheckOptions) -> Self {
        Self {
            grid: Grid::new(options.crs.clone()),
            findings: Findings::new(options.max_listed),
            options,
            features: Vec::new(),
            polygons: Polygons::default(),
            outside: FxHashSet::default(),
            is_complete: true,
        }
    }

    /// Adds a feature by a number of the caller, with its geometry in the reference system of the options.
    pub fn add(&mut self, number: u64, geometry: &Geometry) {
        let Some(anchor) = first_position(geometry) else { return };
        let Ok(index) = u32::try_from(self.features.len()) else { return };
        self.features.push(Feature {
            number,
            fingerprint: fingerprint::of(geometry),
            anchor: self.grid.coarse(anchor),
        });
        self.check_area(index, number, geometry);
        let flaws = find_flaws(geometry, Some(self.spike_limit(anchor)));
        let mut kinds = Vec::new();
        for flaw in &flaws {
            if !kinds.contains(&flaw.kind) {
                kinds.push(flaw.kind);
                let position = self.grid.lon_lat(flaw.position);
                self.findings.add(flaw.kind, || (vec![number], position, None));
            }
        }
        let is_invalid =
            |kind| matches!(kind, &ProblemKind::SelfIntersection | &ProblemKind::HoleOutside);
        if kinds.iter().any(is_invalid) {
            let mut flat = geometry.clone();
            flat.each_position_mut(&mut |at| at.z = None);
            match repair::resolve_intersections(&self.grid, &flat) {
                Some(valid) => self.polygons.add(index, &self.grid, &valid),
                None => self.is_complete = false,
            }
        } else {
            self.polygons.add(index, &self.grid, geometry);
        }
    }

    /// Compares the features with one another, and returns everything that was found. Stops soon after
    /// `is_cancelled` returns true; the report is then not complete.
    #[must_use]
    pub fn finish(mut self, is_cancelled: &dyn Fn() -> bool) -> LayerReport {
        self.find_duplicates();
        let swapped = swapped_axes::find(&self.features, &self.outside, &self.grid);
        for index in swapped {
            let feature = &self.features[index];
            let position = self.grid.lon_lat_of_coarse(feature.anchor);
            let found = || (vec![feature.number], position, None);
            self.findings.add(ProblemKind::SwappedAxes, found);
        }
        let Self { options, grid, mut findings, features, polygons, mut is_complete, .. } = self;
        let search = ComparedLayer {
            options: &options,
            grid: &grid,
            features: &features,
            polygons: &polygons,
        };
        is_complete &= search.find_problems(&mut findings, is_cancelled);
        findings.into_report(features.len(), is_complete)
    }

    /// Reports a feature that leaves the area of use, or that would lie in it if its axes were swapped.
    fn check_area(&mut self, index: u32, number: u64, geometry: &Geometry) {
        let crs = &self.options.crs;
        if crs.is_wgs84() {
            return;
        }
        let is_inside = |x: f64, y: f64| {
            crs.to_wgs84(x, y).is_some_and(|(lon, lat)| crs.is_in_area_of_use(lon, lat))
        };
        let Some(crate::Bbox([west, south, east, north])) = geometry.bbox() else { return };
        let corners = [(west, south), (east, north), (west, north), (east, south)];
        let corners = if (west, south) == (east, north) { &corners[..1] } else { &corners };
        if corners.iter().all(|(x, y)| is_inside(*x, *y)) {
            return;
        }
        let (mut outside, mut is_swapped) = (None, true);
        geometry.each_position(&mut |at| {
            if !is_inside(at.x, at.y) {
                outside.get_or_insert(at);
            }
            is_swapped = is_swapped && is_inside(at.y, at.x);
        });
        let Some(outside) = outside else { return };
        self.outside.insert(index);
        let kind = if is_swapped { ProblemKind::SwappedAxes } else { ProblemKind::OutsideArea };
        let position = self.grid.lon_lat(outside);
        self.findings.add(kind, || (vec![number], position, None));
    }

    /// Reports each group of features with the same geometry.
    fn find_duplicates(&mut self) {
        let Self { features, grid, findings, .. } = self;
        let mut order: Vec<u32> =
            (0..features.len()).filter_map(|index| index.try_into().ok()).collect();
        order.sort_unstable_by_key(|index| (features[*index as usize].fingerprint, *index));
        let is_same = |a: &u32, b: &u32| {
            features[*a as usize].fingerprint == features[*b as usize].fingerprint
        };
        for group in order.chunk_by(is_same).filter(|group| group.len() > 1) {
            let position = grid.lon_lat_of_coarse(features[group[0] as usize].anchor);
            for pair in group.windows(2) {
                let number = |index: u32| features[index as usize].number;
                let found = || (vec![number(group[0]), number(pair[1])], position, None);
                findings.add(ProblemKind::Duplicate, found);
            }
        }
    }

    fn spike_limit(&self, at: Position) -> SpikeLimit {
        self.options.spike_limit(&self.grid, at)
    }
}

impl LayerCheckOptions {
    fn spike_limit(&self, grid: &Grid, at: Position) -> SpikeLimit {
        SpikeLimit { width: self.tolerance, scale: grid.meters_per_unit(at) }
    }
}

/// The problems that were found.
struct Findings {
    counts: [u64; ProblemKind::ALL.len()],
    problems: Vec<Problem>,
    max_listed: usize,
}

/// The features, the position and the area of a problem.
type Found = (Vec<u64>, Option<[f64; 2]>, Option<f64>);

impl Findings {
    fn new(max_listed: usize) -> Self {
        Self { counts: [0; ProblemKind::ALL.len()], problems: Vec::new(), max_listed }
    }

    /// Counts a problem, and lists it unless there are many.
    fn add(&mut self, kind: ProblemKind, found: impl FnOnce() -> Found) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count <= self.max_listed as u64 {
            let (features, position, area) = found();
            self.problems.push(Problem { kind, features, position, area });
        }
    }

    fn into_report(mut self, features: usize, is_complete: bool) -> LayerReport {
        self.problems.sort_by(|a, b| (a.kind, &a.features).cmp(&(b.kind, &b.features)));
        let counts = ProblemKind::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        LayerReport {
            features: features as u64,
            counts: counts.collect(),
            problems: self.problems,
            is_complete,
        }
    }
}

/// A hash of a geometry and of what belongs to it. It does not depend on how the geometry is written: on the
/// order of its parts, the direction of its lines and rings, and where a ring begins.
#[must_use]
pub fn fingerprint(geometry: &Geometry, properties: &[&str]) -> [u64; 2] {
    fingerprint::with_properties(geometry, properties)
}

/// The most crossings of edges that are computed for polygons with so many vertices: more than drawn shapes have, and
/// so few that splitting the edges there takes little memory.
fn max_crossings(vertices: usize) -> usize {
    (vertices * 4).clamp(100, 500_000)
}

fn first_position(geometry: &Geometry) -> Option<Position> {
    match geometry {
        Geometry::Point(at) => Some(*at),
        Geometry::MultiPoint(positions) | Geometry::LineString(positions) => {
            positions.first().copied()
        }
        Geometry::MultiLineString(lines) | Geometry::Polygon(lines) => {
            lines.iter().flatten().next().copied()
        }
        Geometry::MultiPolygon(polygons) => polygons.iter().flatten().flatten().next().copied(),
        Geometry::Collection(parts) => parts.iter().find_map(first_position),
    }
}
