//! The features that a crew surveys at the site of a folder: points, lines and parcels.

use super::{
    DemoLayer, feature,
    location::LocalPoint,
    village::{Rect, Street, Village},
};
use crate::{calendar::Day, rng::Rng};
use groma_geo::{Geometry, geojson::Feature};
use serde_json::{Value, json};
use std::{f64::consts::TAU, ops::Range};

/// The survey of a folder's site.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fieldwork {
    /// The number of the folder, which seeds the random numbers.
    pub(crate) folder_number: i64,
    pub(crate) commune: &'static str,
    pub(crate) day: Day,
    pub(crate) site: Site,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Site {
    /// A number of parcels of a section.
    Parcels { section: String, count: usize },
    /// A street and the networks under it.
    Street,
    /// The lots between four streets of the village.
    Village,
    /// Fields outside the village.
    Fields,
}

/// Generates the features of a survey.
pub(super) struct SurveyFeatures<'a> {
    village: &'a Village,
    fieldwork: &'a Fieldwork,
    /// The prefix of the feature ids.
    reference: &'a str,
    rng: Rng,
    points: Vec<Feature>,
}

impl<'a> SurveyFeatures<'a> {
    pub(super) fn new(village: &'a Village, fieldwork: &'a Fieldwork, reference: &'a str) -> Self {
        let rng = Rng::new(fieldwork.folder_number.unsigned_abs().wrapping_mul(7_919));
        Self { village, fieldwork, reference, rng, points: Vec::new() }
    }

    /// All features by layer; `parcels` are the indexes of the parcels to survey.
    pub(super) fn generate(mut self, parcels: Range<usize>) -> Vec<(DemoLayer, Vec<Feature>)> {
        let mut layers = Vec::new();
        let site = match self.fieldwork.site {
            Site::Parcels { .. } => {
                let surveyed = parcels.clone().filter_map(|index| self.village.parcels.get(index));
                let day = Some(self.fieldwork.day);
                layers.push((
                    DemoLayer::Parcels,
                    surveyed
                        .map(|parcel| super::parcel_feature(self.village, parcel, day))
                        .collect(),
                ));
                self.boundary_points(parcels)
            }
            Site::Street => {
                let street = self.rng.pick(&self.village.streets);
                let street = self.stretch_of(street);
                layers.push((DemoLayer::Utilities, self.utilities(street)));
                self.utility_points(street)
            }
            Site::Village => {
                let area = self.rng.pick(&self.village.lot_groups);
                self.detail_points(area)
            }
            Site::Fields => {
                let area = self.fields();
                self.detail_points(area)
            }
        };
        self.control_points(site);
        if self.fieldwork.folder_number % 25 == 8 {
            layers.push((DemoLayer::Submissions, self.remarks(site)));
        }
        layers.push((DemoLayer::Points, self.points));
        layers
    }

    /// Adds each corner of the parcels once, and returns the first.
    fn boundary_points(&mut self, parcels: Range<usize>) -> LocalPoint {
        let mut corners: Vec<LocalPoint> = Vec::new();
        for parcel in parcels.filter_map(|index| self.village.parcels.get(index)) {
            for corner in &parcel.corners {
                if !corners.contains(corner) {
                    corners.push(*corner);
                }
            }
        }
        for corner in &corners {
            let marker =
                self.rng.pick_weighted(&[(30, "stone"), (35, "bolt"), (25, "peg"), (10, "pipe")]);
            let accuracy = self.rng.int(5, 16);
            self.add_point(*corner, "boundary", "total station", accuracy, Some(marker));
        }
        corners.first().copied().unwrap_or(LocalPoint::new(0.0, 0.0))
    }

    /// Adds points all over an area and its streets, and returns its centre.
    fn detail_points(&mut self, area: Rect) -> LocalPoint {
        for _ in 0..self.rng.int(28, 84) {
            let x = self.rng.float(area.west - 6.0, area.east + 6.0);
            let y = self.rng.float(area.south - 6.0, area.north + 6.0);
            let ground = self.village.to_ground(LocalPoint::new(x, y));
            let method = self.rng.pick_weighted(&[(70, "total station"), (30, "GNSS RTK")]);
            let accuracy = self.rng.int(8, 31);
            self.add_point(ground, "detail", method, accuracy, None);
        }
        self.village.to_ground(area.centre())
    }

    /// An area outside the village.
    fn fields(&mut self) -> Rect {
        let distance = self.village.radius * self.rng.float(1.35, 1.9) + 60.0;
        let (east, north) = self.rng.float(0.0, TAU).sin_cos();
        let (x, y) = (east * distance, north * distance);
        let half_width = self.rng.float(60.0, 190.0);
        let half_height = self.rng.float(50.0, 150.0);
        Rect {
            west: x - half_width,
            east: x + half_width,
            south: y - half_height,
            north: y + half_height,
        }
    }

    /// Adds control points and occasional benchmarks around a point.
    fn control_points(&mut self, centre: LocalPoint) {
        for _ in 0..self.rng.int(3, 8) {
            let (x, y) = (self.rng.float(-120.0, 120.0), self.rng.float(-120.0, 120.0));
            let ground = LocalPoint::new(centre.x + x, centre.y + y);
            if self.rng.chance(22) {
                let accuracy = self.rng.int(1, 3);
                self.add_point(ground, "benchmark", "levelling", accuracy, Some("bolt"));
            } else {
                let accuracy = self.rng.int(2, 7);
                self.add_point(ground, "control", "static GNSS", accuracy, Some("nail"));
            }
        }
    }

    fn add_point(
        &mut self,
        ground: LocalPoint,
        class: &str,
        method: &str,
        accuracy: i64,
        marker: Option<&str>,
    ) {
        let id = format!("{}-{}", self.reference, self.points.len() + 1);
        let position = self.village.position_with_height(ground);
        let properties = json!({
            "class": class,
            "method": method,
            "marker": marker,
            "accuracy_mm": accuracy,
            "height_m": position.z,
            "measured_on": self.fieldwork.day.text(),
        });
        self.points.push(feature(Some(id), Geometry::Point(position), properties));
    }

    /// A random stretch of a street.
    fn stretch_of(&mut self, Street { from, to }: Street) -> Street {
        let (east, north) = (to.x - from.x, to.y - from.y);
        let length = east.hypot(north).max(1.0);
        let stretch = self.rng.float(90.0, 260.0).min(length);
        let start = self.rng.float(0.0, length - stretch);
        let at = |metres: f64| {
            LocalPoint::new(from.x + east * metres / length, from.y + north * metres / length)
        };
        Street { from: at(start), to: at(start + stretch) }
    }

    /// The networks located under a street: mains and house connections.
    fn utilities(&mut self, street: Street) -> Vec<Feature> {
        let mut lines = Vec::new();
        for network in NETWORKS {
            if self.rng.chance(network.percent) {
                let line = network.main(self.village, street);
                lines.push(self.utility_line(lines.len(), network, "main", line));
            }
        }
        let (east, north) = (street.to.x - street.from.x, street.to.y - street.from.y);
        let length = east.hypot(north).max(1.0);
        for _ in 0..self.rng.int(6, 18) {
            let network = self.rng.pick(&NETWORKS);
            let at = self.rng.float(0.0, 1.0);
            let from = LocalPoint::new(street.from.x + east * at, street.from.y + north * at);
            // Across the kerb and into the garden, on either side.
            let reach = self.rng.pick(&[-1.0, 1.0]) * self.rng.float(6.0, 9.0);
            let to =
                LocalPoint::new(from.x - north / length * reach, from.y + east / length * reach);
            let line = self.village.line(from, to);
            lines.push(self.utility_line(lines.len(), network, "connection", line));
        }
        lines
    }

    fn utility_line(
        &mut self,
        index: usize,
        network: Network,
        kind: &str,
        line: Geometry,
    ) -> Feature {
        let depth = self.rng.int(network.depth_cm.0, network.depth_cm.1);
        let properties = json!({
            "network": network.name,
            "kind": kind,
            "material": self.rng.pick(network.materials),
            "depth_m": hundredths(depth),
            "accuracy_class": self.rng.pick_weighted(&[(70, "A"), (25, "B"), (5, "C")]),
            "located_on": self.fieldwork.day.text(),
        });
        feature(Some(format!("{}-L{}", self.reference, index + 1)), line, properties)
    }

    /// Adds covers, valves and hydrants along a street, and returns its start.
    fn utility_points(&mut self, Street { from, to }: Street) -> LocalPoint {
        for _ in 0..self.rng.int(14, 40) {
            let at = self.rng.float(0.0, 1.0);
            let offset = self.rng.float(-3.2, 3.2);
            let point = LocalPoint::new(
                from.x + (to.x - from.x) * at + offset,
                from.y + (to.y - from.y) * at + offset,
            );
            let ground = self.village.to_ground(point);
            let marker = self.rng.pick_weighted(&[(60, "cover"), (25, "valve"), (15, "hydrant")]);
            let accuracy = self.rng.int(8, 25);
            self.add_point(ground, "detail", "GNSS RTK", accuracy, Some(marker));
        }
        self.village.to_ground(from)
    }

    /// Remarks that a crew sends from the site without naming a layer.
    fn remarks(&mut self, site: LocalPoint) -> Vec<Feature> {
        let note = self.rng.pick(&REMARKS);
        let x = site.x + self.rng.float(-40.0, 40.0);
        let y = site.y + self.rng.float(-40.0, 40.0);
        let location = LocalPoint::new(x, y);
        let properties = json!({ "note": note, "photos": self.rng.int(0, 4) });
        let point = feature(None, Geometry::Point(self.village.position(location)), properties);
        let (width, depth) = (self.rng.float(8.0, 30.0), self.rng.float(8.0, 30.0));
        let corners = [(-width, -depth), (width, -depth), (width, depth), (-width, depth)];
        let corners = corners.map(|(x, y)| LocalPoint::new(location.x + x, location.y + y));
        let resurvey = json!({ "note": "Survey this area again", "photos": 0 });
        vec![point, feature(None, self.village.polygon(&corners), resurvey)]
    }
}

/// A utility network under the streets.
#[derive(Clone, Copy)]
pub(super) struct Network {
    pub(super) name: &'static str,
    /// The percentage of streets that have it.
    pub(super) percent: i64,
    /// The distance from the middle of the street in metres.
    offset: f64,
    /// The range of its depth in centimetres.
    pub(super) depth_cm: (i64, i64),
    pub(super) materials: &'static [&'static str],
}

impl Network {
    /// The main along a street.
    pub(super) fn main(&self, village: &Village, Street { from, to }: Street) -> Geometry {
        // On the plan, streets are parallel to an axis.
        let (x, y) = if from.y == to.y { (0.0, self.offset) } else { (self.offset, 0.0) };
        village.line(LocalPoint::new(from.x + x, from.y + y), LocalPoint::new(to.x + x, to.y + y))
    }
}

pub(super) const NETWORKS: [Network; 5] = [
    Network {
        name: "water",
        percent: 88,
        offset: 1.4,
        depth_cm: (90, 140),
        materials: &["ductile iron", "PE", "PVC"],
    },
    Network {
        name: "sewer",
        percent: 74,
        offset: 0.0,
        depth_cm: (140, 320),
        materials: &["concrete", "PVC", "stoneware"],
    },
    Network {
        name: "gas",
        percent: 38,
        offset: -1.4,
        depth_cm: (70, 110),
        materials: &["PE", "steel"],
    },
    Network {
        name: "power",
        percent: 66,
        offset: 2.8,
        depth_cm: (60, 90),
        materials: &["aluminium cable", "copper cable"],
    },
    Network {
        name: "telecom",
        percent: 58,
        offset: -2.8,
        depth_cm: (45, 80),
        materials: &["fibre", "copper"],
    },
];

const REMARKS: [&str; 8] = [
    "Marker missing",
    "Fence does not follow the boundary",
    "Gate locked, no access",
    "Cover under tarmac",
    "Wall rebuilt since the last plan",
    "Tree in the line of sight",
    "Benchmark damaged",
    "New building, not on the plan",
];

/// 135 becomes 1.35.
pub(super) fn hundredths(number: i64) -> Value {
    json!(number as f64 / 100.0)
}
