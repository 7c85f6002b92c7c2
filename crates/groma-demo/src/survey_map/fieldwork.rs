//! What a crew brings back: points, lines and parcels of the site of a folder.

use super::{
    Sheet, feature,
    location::Metres,
    village::{Block, Street, Village},
};
use crate::{calendar::Day, rng::Chance};
use groma_geo::{Geometry, geojson::Feature};
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// Work that was done outside for a folder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fieldwork {
    /// The number of the folder, on which all chance hangs.
    pub(crate) number: i64,
    /// The commune.
    pub(crate) place: &'static str,
    pub(crate) day: Day,
    pub(crate) site: Site,
}

/// Where the work was done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Site {
    /// So many parcels of a section.
    Parcels { section: String, count: usize },
    /// A street with what lies under it.
    Street,
    /// A block of the village.
    Block,
    /// Fields outside of it.
    Fields,
}

/// What work brings in, one lot of features for each layer.
pub(super) struct Haul<'a> {
    village: &'a Village,
    work: &'a Fieldwork,
    /// What the ids of its features begin with.
    reference: &'a str,
    chance: Chance,
    points: Vec<Feature>,
}

impl<'a> Haul<'a> {
    pub(super) fn new(village: &'a Village, work: &'a Fieldwork, reference: &'a str) -> Self {
        let chance = Chance::new(work.number.unsigned_abs().wrapping_mul(7_919));
        Self { village, work, reference, chance, points: Vec::new() }
    }

    /// Everything; `parcels` are those that the work is about.
    pub(super) fn bring_in(
        mut self,
        parcels: std::ops::Range<usize>,
    ) -> Vec<(Sheet, Vec<Feature>)> {
        let mut haul = Vec::new();
        let site = match self.work.site {
            Site::Parcels { .. } => {
                let surveyed = parcels.clone().filter_map(|index| self.village.parcels.get(index));
                let day = Some(self.work.day);
                haul.push((
                    Sheet::Parcels,
                    surveyed.map(|parcel| super::parcel(self.village, parcel, day)).collect(),
                ));
                self.corners(parcels)
            }
            Site::Street => {
                let street = self.chance.pick(&self.village.streets);
                let street = self.stretch(street);
                haul.push((Sheet::Utilities, self.networks(street)));
                self.covers(street)
            }
            Site::Block => {
                let block = self.chance.pick(&self.village.blocks);
                self.details(block)
            }
            Site::Fields => {
                let block = self.fields();
                self.details(block)
            }
        };
        self.control(site);
        if self.work.number % 25 == 8 {
            haul.push((Sheet::Submissions, self.remarks(site)));
        }
        haul.push((Sheet::Points, self.points));
        haul
    }

    /// The corners of the parcels, each once; tells where they are.
    fn corners(&mut self, parcels: std::ops::Range<usize>) -> Metres {
        let mut corners: Vec<Metres> = Vec::new();
        for parcel in parcels.filter_map(|index| self.village.parcels.get(index)) {
            for corner in &parcel.corners {
                if !corners.contains(corner) {
                    corners.push(*corner);
                }
            }
        }
        for corner in &corners {
            let marker =
                self.chance.weigh(&[(30, "stone"), (35, "bolt"), (25, "peg"), (10, "pipe")]);
            let accuracy = self.chance.between(5, 16);
            self.point(*corner, "boundary", "total station", accuracy, Some(marker));
        }
        corners.first().copied().unwrap_or(Metres::new(0.0, 0.0))
    }

    /// Points all over a block and its streets; tells where it is.
    fn details(&mut self, block: Block) -> Metres {
        for _ in 0..self.chance.between(28, 84) {
            let x = self.chance.real(block.west - 6.0, block.east + 6.0);
            let y = self.chance.real(block.south - 6.0, block.north + 6.0);
            let ground = self.village.ground(Metres::new(x, y));
            let method = self.chance.weigh(&[(70, "total station"), (30, "GNSS RTK")]);
            let accuracy = self.chance.between(8, 31);
            self.point(ground, "detail", method, accuracy, None);
        }
        self.village.ground(block.middle())
    }

    /// Ground outside of the village.
    fn fields(&mut self) -> Block {
        let away = self.village.radius * self.chance.real(1.35, 1.9) + 60.0;
        let (east, north) = self.chance.real(0.0, TAU).sin_cos();
        let (x, y) = (east * away, north * away);
        let (wide, deep) = (self.chance.real(60.0, 190.0), self.chance.real(50.0, 150.0));
        Block { west: x - wide, east: x + wide, south: y - deep, north: y + deep }
    }

    /// Points that the others hang on, and a benchmark now and then, around here.
    fn control(&mut self, around: Metres) {
        for _ in 0..self.chance.between(3, 8) {
            let (x, y) = (self.chance.real(-120.0, 120.0), self.chance.real(-120.0, 120.0));
            let ground = Metres::new(around.x + x, around.y + y);
            if self.chance.happens(22) {
                let accuracy = self.chance.between(1, 3);
                self.point(ground, "benchmark", "levelling", accuracy, Some("bolt"));
            } else {
                let accuracy = self.chance.between(2, 7);
                self.point(ground, "control", "static GNSS", accuracy, Some("nail"));
            }
        }
    }

    fn point(
        &mut self,
        ground: Metres,
        class: &str,
        method: &str,
        accuracy: i64,
        marker: Option<&str>,
    ) {
        let id = format!("{}-{}", self.reference, self.points.len() + 1);
        let position = self.village.measured(ground);
        let properties = json!({
            "class": class,
            "method": method,
            "marker": marker,
            "accuracy_mm": accuracy,
            "height_m": position.z,
            "measured_on": self.work.day.text(),
        });
        self.points.push(feature(Some(id), Geometry::Point(position), properties));
    }

    /// A part of a street.
    fn stretch(&mut self, Street { from, to }: Street) -> Street {
        let (east, north) = (to.x - from.x, to.y - from.y);
        let length = east.hypot(north).max(1.0);
        let wanted = self.chance.real(90.0, 260.0).min(length);
        let start = self.chance.real(0.0, length - wanted);
        let at = |metres: f64| {
            Metres::new(from.x + east * metres / length, from.y + north * metres / length)
        };
        Street { from: at(start), to: at(start + wanted) }
    }

    /// What was located under a street: mains along it, and pipes to the houses.
    fn networks(&mut self, street: Street) -> Vec<Feature> {
        let mut lines = Vec::new();
        for network in NETWORKS {
            if self.chance.happens(network.percent) {
                let line = network.along(self.village, street);
                lines.push(self.located(lines.len(), network, "main", line));
            }
        }
        let (east, north) = (street.to.x - street.from.x, street.to.y - street.from.y);
        let length = east.hypot(north).max(1.0);
        for _ in 0..self.chance.between(6, 18) {
            let network = self.chance.pick(&NETWORKS);
            let at = self.chance.real(0.0, 1.0);
            let from = Metres::new(street.from.x + east * at, street.from.y + north * at);
            // Over the kerb and a little into the garden, on either side.
            let reach = self.chance.pick(&[-1.0, 1.0]) * self.chance.real(6.0, 9.0);
            let to = Metres::new(from.x - north / length * reach, from.y + east / length * reach);
            let line = self.village.line(from, to);
            lines.push(self.located(lines.len(), network, "connection", line));
        }
        lines
    }

    fn located(&mut self, index: usize, network: Network, kind: &str, line: Geometry) -> Feature {
        let depth = self.chance.between(network.depth.0, network.depth.1);
        let properties = json!({
            "network": network.name,
            "kind": kind,
            "material": self.chance.pick(network.materials),
            "depth_m": hundredths(depth),
            "accuracy_class": self.chance.weigh(&[(70, "A"), (25, "B"), (5, "C")]),
            "located_on": self.work.day.text(),
        });
        feature(Some(format!("{}-L{}", self.reference, index + 1)), line, properties)
    }

    /// Covers and valves along a street; tells where it begins.
    fn covers(&mut self, Street { from, to }: Street) -> Metres {
        for _ in 0..self.chance.between(14, 40) {
            let at = self.chance.real(0.0, 1.0);
            let aside = self.chance.real(-3.2, 3.2);
            let plan = Metres::new(
                from.x + (to.x - from.x) * at + aside,
                from.y + (to.y - from.y) * at + aside,
            );
            let ground = self.village.ground(plan);
            let marker = self.chance.weigh(&[(60, "cover"), (25, "valve"), (15, "hydrant")]);
            let accuracy = self.chance.between(8, 25);
            self.point(ground, "detail", "GNSS RTK", accuracy, Some(marker));
        }
        self.village.ground(from)
    }

    /// What a crew sends from the site, without a layer of its own.
    fn remarks(&mut self, site: Metres) -> Vec<Feature> {
        let note = self.chance.pick(&REMARKS);
        let near = |chance: &mut Chance| {
            Metres::new(site.x + chance.real(-40.0, 40.0), site.y + chance.real(-40.0, 40.0))
        };
        let spot = near(&mut self.chance);
        let properties = json!({ "note": note, "photos": self.chance.between(0, 4) });
        let point = feature(None, Geometry::Point(self.village.position(spot)), properties);
        let (wide, deep) = (self.chance.real(8.0, 30.0), self.chance.real(8.0, 30.0));
        let corners = [(-wide, -deep), (wide, -deep), (wide, deep), (-wide, deep)];
        let corners = corners.map(|(x, y)| Metres::new(spot.x + x, spot.y + y));
        let again = json!({ "note": "Measure again here", "photos": 0 });
        vec![point, feature(None, self.village.area(&corners), again)]
    }
}

/// A network under the streets.
#[derive(Clone, Copy)]
pub(super) struct Network {
    pub(super) name: &'static str,
    /// In how many of a hundred streets it lies.
    pub(super) percent: i64,
    /// How far from the middle of the street, in metres.
    aside: f64,
    /// How deep, from and to, in centimetres.
    pub(super) depth: (i64, i64),
    pub(super) materials: &'static [&'static str],
}

impl Network {
    /// Its main along a street.
    pub(super) fn along(&self, village: &Village, Street { from, to }: Street) -> Geometry {
        // Streets run along one axis of the plan or the other.
        let (x, y) = if from.y == to.y { (0.0, self.aside) } else { (self.aside, 0.0) };
        village.line(Metres::new(from.x + x, from.y + y), Metres::new(to.x + x, to.y + y))
    }
}

pub(super) const NETWORKS: [Network; 5] = [
    Network {
        name: "water",
        percent: 88,
        aside: 1.4,
        depth: (90, 140),
        materials: &["ductile iron", "PE", "PVC"],
    },
    Network {
        name: "sewer",
        percent: 74,
        aside: 0.0,
        depth: (140, 320),
        materials: &["concrete", "PVC", "stoneware"],
    },
    Network {
        name: "gas",
        percent: 38,
        aside: -1.4,
        depth: (70, 110),
        materials: &["PE", "steel"],
    },
    Network {
        name: "power",
        percent: 66,
        aside: 2.8,
        depth: (60, 90),
        materials: &["aluminium cable", "copper cable"],
    },
    Network {
        name: "telecom",
        percent: 58,
        aside: -2.8,
        depth: (45, 80),
        materials: &["fibre", "copper"],
    },
];

const REMARKS: [&str; 8] = [
    "Marker missing",
    "Fence does not follow the line",
    "Gate locked, no access",
    "Cover under tarmac",
    "Wall rebuilt since the last plan",
    "Tree in the line of sight",
    "Benchmark damaged",
    "New building, not on the sheet",
];

/// Hundredths as a number: 135 is 1.35.
pub(super) fn hundredths(number: i64) -> Value {
    json!(number as f64 / 100.0)
}
