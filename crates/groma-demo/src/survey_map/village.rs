//! The layout of a commune: groups of lots with streets between them.
//!
//! The layout is generated as a rectangular plan and then distorted, so that streets curve on the
//! ground. Lots that do not overlap on the plan do not overlap on the ground. Neighbouring lots
//! share their corners.

use super::location::{LocalPoint, Origin};
use crate::{office::Commune, rng::Rng};
use groma_domain::layer::LayerSlug;
use groma_geo::{Geometry, Position};
use std::f64::consts::{PI, TAU};

/// The average area of a lot, including its share of the streets.
const M2_PER_LOT: f64 = 800.0;

pub(super) struct Village {
    pub(super) commune: Commune,
    /// The prefix of feature ids.
    pub(super) slug: String,
    pub(super) parcels: Vec<Parcel>,
    /// The rectangles of lots between streets, on the plan.
    pub(super) lot_groups: Vec<Rect>,
    pub(super) streets: Vec<Street>,
    /// The approximate radius in metres.
    pub(super) radius: f64,
    origin: Origin,
    transform: GroundTransform,
}

pub(super) struct Parcel {
    pub(super) section: String,
    pub(super) number: usize,
    pub(super) land_use: &'static str,
    /// The corners on the ground, counter-clockwise.
    pub(super) corners: Vec<LocalPoint>,
}

/// A rectangle on the plan, in metres.
#[derive(Clone, Copy)]
pub(super) struct Rect {
    pub(super) west: f64,
    pub(super) east: f64,
    pub(super) south: f64,
    pub(super) north: f64,
}

/// The centre line of a street, straight on the plan.
#[derive(Clone, Copy)]
pub(super) struct Street {
    pub(super) from: LocalPoint,
    pub(super) to: LocalPoint,
}

impl Village {
    /// A village with about this many lots, divided into these sections.
    pub(super) fn generate(
        commune: Commune,
        lot_count: usize,
        sections: &[String],
        mut rng: Rng,
    ) -> Self {
        let side = (lot_count as f64 * M2_PER_LOT).sqrt();
        let radius = side / PI.sqrt();
        let transform = GroundTransform::generate(&mut rng);
        let columns = strips(&mut rng, side * 1.7, (95.0, 150.0));
        let rows = strips(&mut rng, side * 1.7, (50.0, 72.0));
        let mut groups = Vec::new();
        let mut count = 0;
        for (remoteness, rect) in rects_from_centre(&columns, &rows, radius, &mut rng) {
            let lots = transform.divide(rect, remoteness, &mut rng);
            count += lots.len();
            groups.push((rect, lots));
            if count >= lot_count {
                break;
            }
        }
        let lot_groups: Vec<Rect> = groups.iter().map(|(rect, _)| *rect).collect();
        // Sections are slices of the village around its centre.
        let angle = |rect: &Rect| rect.centre().y.atan2(rect.centre().x);
        groups.sort_by(|(one, _), (other, _)| angle(one).total_cmp(&angle(other)));
        let lots = groups.into_iter().flat_map(|(_, lots)| lots);
        let section_size = count.div_ceil(sections.len().max(1)).max(1);
        let parcel = |(index, lot): (usize, Lot)| Parcel {
            section: sections.get(index / section_size).cloned().unwrap_or_default(),
            number: index % section_size + 1,
            land_use: lot.land_use,
            corners: lot.corners,
        };
        Self {
            commune,
            slug: LayerSlug::from_name(commune.name)
                .map_or_else(|_| "commune".to_owned(), |slug| slug.as_str().to_owned()),
            parcels: lots.enumerate().map(parcel).collect(),
            streets: streets(&lot_groups),
            lot_groups,
            radius,
            origin: Origin::of(commune),
            transform,
        }
    }

    pub(super) fn to_ground(&self, plan: LocalPoint) -> LocalPoint {
        self.transform.to_ground(plan)
    }

    /// The longitude and latitude of a point on the ground.
    pub(super) fn position(&self, ground: LocalPoint) -> Position {
        self.origin.position(ground, None)
    }

    pub(super) fn position_with_height(&self, ground: LocalPoint) -> Position {
        self.origin.position(ground, Some(self.origin.height(ground)))
    }

    /// A line that is straight on the plan.
    pub(super) fn line(&self, from: LocalPoint, to: LocalPoint) -> Geometry {
        let (east, north) = (to.x - from.x, to.y - from.y);
        let steps = (east.hypot(north) / 40.0).ceil().max(1.0);
        let at = |step: f64| {
            LocalPoint::new(from.x + east * step / steps, from.y + north * step / steps)
        };
        let points = (0..=steps as u32).map(|step| self.position(self.to_ground(at(step.into()))));
        Geometry::LineString(points.collect())
    }

    /// A polygon with these corners on the ground.
    pub(super) fn polygon(&self, corners: &[LocalPoint]) -> Geometry {
        let ring = corners.iter().chain(corners.first()).map(|corner| self.position(*corner));
        Geometry::Polygon(vec![ring.collect()])
    }
}

impl Parcel {
    pub(super) fn area_m2(&self) -> i64 {
        let next = self.corners.iter().cycle().skip(1);
        let doubled: f64 =
            self.corners.iter().zip(next).map(|(one, next)| one.x * next.y - next.x * one.y).sum();
        (doubled / 2.0).round() as i64
    }
}

impl Rect {
    pub(super) fn centre(&self) -> LocalPoint {
        LocalPoint::new((self.west + self.east) / 2.0, (self.south + self.north) / 2.0)
    }
}

/// Maps the plan to the ground: a rotation, and waves too flat to fold the plan.
struct GroundTransform {
    sine: f64,
    cosine: f64,
    waves: [Wave; 2],
}

struct Wave {
    amplitude: f64,
    length: f64,
    phase: f64,
}

impl Wave {
    fn generate(rng: &mut Rng) -> Self {
        Self {
            amplitude: rng.float(12.0, 26.0),
            length: rng.float(150.0, 260.0),
            phase: rng.float(0.0, TAU),
        }
    }

    fn at(&self, position: f64) -> f64 {
        self.amplitude * (position / self.length + self.phase).sin()
    }
}

impl GroundTransform {
    fn generate(rng: &mut Rng) -> Self {
        let (sine, cosine) = rng.float(-0.75, 0.75).sin_cos();
        Self { sine, cosine, waves: [Wave::generate(rng), Wave::generate(rng)] }
    }

    fn to_ground(&self, LocalPoint { x, y }: LocalPoint) -> LocalPoint {
        let (x, y) = (x + self.waves[0].at(y), y + self.waves[1].at(x));
        LocalPoint::new(x * self.cosine - y * self.sine, x * self.sine + y * self.cosine)
    }

    /// A corner on the ground, moved at random by less than a metre.
    fn corner(&self, x: f64, y: f64, rng: &mut Rng) -> LocalPoint {
        self.to_ground(LocalPoint::new(x + rng.float(-0.7, 0.7), y + rng.float(-0.7, 0.7)))
    }

    /// Divides a rectangle into lots. `remoteness` is 0 at the centre and 1 at the edge.
    fn divide(&self, rect: Rect, remoteness: f64, rng: &mut Rng) -> Vec<Lot> {
        let Rect { west, east, south, north } = rect;
        let single_use = match remoteness {
            ..0.15 => rng.chance(30).then_some("public"),
            ..0.75 => rng.chance(4).then_some("public"),
            _ => rng.chance(9).then_some("agricultural"),
        };
        if let Some(land_use) = single_use {
            let corners = [(west, south), (east, south), (east, north), (west, north)];
            let corners = corners.map(|(x, y)| self.corner(x, y, rng)).to_vec();
            return vec![Lot { land_use, corners }];
        }
        let frontage = match remoteness {
            ..0.35 => rng.float(18.5, 21.0),
            ..0.7 => rng.float(21.0, 28.0),
            _ => rng.float(28.0, 44.0),
        };
        let south_splits = splits(rng, (west, east), frontage);
        let mut north_splits = splits(rng, (west, east), frontage);
        // Merge corners that nearly meet on the line between the two rows of lots.
        for x in &mut north_splits {
            if let Some(near) = south_splits.iter().find(|other| (*x - **other).abs() < 4.0) {
                *x = *near;
            }
        }
        let back = (south + north) / 2.0 + rng.float(-3.0, 3.0);
        let mut back_splits: Vec<f64> = south_splits.iter().chain(&north_splits).copied().collect();
        back_splits.sort_by(f64::total_cmp);
        back_splits.dedup();
        let back_corners: Vec<_> =
            back_splits.into_iter().map(|x| (x, self.corner(x, back, rng))).collect();
        let mut front_corners = |splits: &[f64], y: f64| -> Vec<LocalPoint> {
            splits.iter().map(|x| self.corner(*x, y, rng)).collect()
        };
        let south_corners = front_corners(&south_splits, south);
        let north_corners = front_corners(&north_splits, north);
        let mut lots = Vec::new();
        for (ends, front) in south_splits.windows(2).zip(south_corners.windows(2)) {
            let backs = back_corners.iter().rev().filter(|(x, _)| (ends[0]..=ends[1]).contains(x));
            let corners = front.iter().copied().chain(backs.map(|(_, corner)| *corner));
            lots.push(Lot { land_use: land_use(rng, remoteness), corners: corners.collect() });
        }
        for (ends, front) in north_splits.windows(2).zip(north_corners.windows(2)) {
            let backs = back_corners.iter().filter(|(x, _)| (ends[0]..=ends[1]).contains(x));
            let corners = backs.map(|(_, corner)| *corner).chain(front.iter().rev().copied());
            lots.push(Lot { land_use: land_use(rng, remoteness), corners: corners.collect() });
        }
        lots
    }
}

/// A parcel without a number.
struct Lot {
    land_use: &'static str,
    corners: Vec<LocalPoint>,
}

fn land_use(rng: &mut Rng, remoteness: f64) -> &'static str {
    rng.pick_weighted(match remoteness {
        ..0.35 => &[(45, "residential"), (38, "mixed"), (13, "commercial"), (4, "vacant")],
        ..0.7 => &[(80, "residential"), (8, "garden"), (5, "commercial"), (7, "vacant")],
        _ => &[(50, "residential"), (26, "agricultural"), (14, "garden"), (10, "vacant")],
    })
}

/// Strips of these widths with streets between them, centred on 0.
fn strips(rng: &mut Rng, total: f64, (min, max): (f64, f64)) -> Vec<(f64, f64)> {
    let mut strips = Vec::new();
    let mut at = -total / 2.0;
    while at < total / 2.0 {
        let width = rng.float(min, max);
        strips.push((at, at + width));
        at += width + rng.float(8.0, 11.0);
    }
    strips
}

/// The intersections of the strips with their remoteness, starting at the centre. The village is
/// not a circle: it extends further on some sides.
fn rects_from_centre(
    columns: &[(f64, f64)],
    rows: &[(f64, f64)],
    radius: f64,
    rng: &mut Rng,
) -> Vec<(f64, Rect)> {
    let (lobes, phase) = (rng.int(2, 4) as f64, rng.float(0.0, TAU));
    let mut rects = Vec::new();
    for &(west, east) in columns {
        for &(south, north) in rows {
            let rect = Rect { west, east, south, north };
            let centre = rect.centre();
            let lobe = 1.0 + 0.22 * (lobes * centre.y.atan2(centre.x) + phase).sin();
            rects.push((centre.distance() / radius * lobe * rng.float(0.92, 1.08), rect));
        }
    }
    rects.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    rects
}

/// Where lot boundaries meet a street: from end to end, about `frontage` apart.
fn splits(rng: &mut Rng, (from, to): (f64, f64), frontage: f64) -> Vec<f64> {
    let count = ((to - from) / frontage).round().max(1.0) as usize;
    let widths: Vec<f64> = (0..count).map(|_| rng.float(0.85, 1.2)).collect();
    let unit = (to - from) / widths.iter().sum::<f64>();
    let mut splits = vec![from];
    let mut at = from;
    for width in &widths[1..] {
        at += width * unit;
        splits.push(at);
    }
    splits.push(to);
    splits
}

/// The streets south and west of each group of lots, joined where they continue each other.
fn streets(lot_groups: &[Rect]) -> Vec<Street> {
    const HALF_WIDTH: f64 = 4.5;
    let mut horizontal: Vec<(f64, f64, f64)> = Vec::new();
    let mut vertical: Vec<(f64, f64, f64)> = Vec::new();
    let extend = |streets: &mut Vec<(f64, f64, f64)>, at: f64, from: f64, to: f64| match streets
        .iter_mut()
        .find(|(other, ..)| (*other - at).abs() < 1.0)
    {
        Some((_, min, max)) => (*min, *max) = (min.min(from), max.max(to)),
        None => streets.push((at, from, to)),
    };
    for Rect { west, east, south, north } in lot_groups {
        extend(&mut horizontal, south - HALF_WIDTH, west - HALF_WIDTH, east + HALF_WIDTH);
        extend(&mut vertical, west - HALF_WIDTH, south - HALF_WIDTH, north + HALF_WIDTH);
    }
    let horizontal = horizontal
        .into_iter()
        .map(|(y, from, to)| Street { from: LocalPoint::new(from, y), to: LocalPoint::new(to, y) });
    let vertical = vertical
        .into_iter()
        .map(|(x, from, to)| Street { from: LocalPoint::new(x, from), to: LocalPoint::new(x, to) });
    horizontal.chain(vertical).collect()
}
