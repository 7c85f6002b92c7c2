//! The plan of a commune: blocks of lots with streets between them.
//!
//! It is drawn with a ruler and then bent: streets that are straight on the plan sway on the ground,
//! and what does not overlap on the plan does not overlap there. Neighbours share their corners.

use super::location::{Metres, Origin};
use crate::{office::Place, rng::Chance};
use groma_domain::layer::Slug;
use groma_geo::{Geometry, Position};
use std::f64::consts::{PI, TAU};

/// What a lot takes of a village, with its share of the streets.
const SQUARE_METRES: f64 = 800.0;

pub(super) struct Village {
    pub(super) place: Place,
    /// Its name in ids.
    pub(super) slug: String,
    pub(super) parcels: Vec<Parcel>,
    pub(super) blocks: Vec<Block>,
    pub(super) streets: Vec<Street>,
    /// How far it reaches, about.
    pub(super) radius: f64,
    origin: Origin,
    bend: Bend,
}

/// A parcel of the cadastre.
pub(super) struct Parcel {
    pub(super) section: String,
    pub(super) number: usize,
    pub(super) land_use: &'static str,
    /// Its corners on the ground, counter-clockwise.
    pub(super) corners: Vec<Metres>,
}

/// What lies between four streets, on the plan.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) west: f64,
    pub(super) east: f64,
    pub(super) south: f64,
    pub(super) north: f64,
}

/// The middle of a street, straight on the plan.
#[derive(Clone, Copy)]
pub(super) struct Street {
    pub(super) from: Metres,
    pub(super) to: Metres,
}

impl Village {
    /// A village of about this many lots, in these sections.
    pub(super) fn plan(place: Place, lots: usize, sections: &[String], mut chance: Chance) -> Self {
        let side = (lots as f64 * SQUARE_METRES).sqrt();
        let radius = side / PI.sqrt();
        let bend = Bend::draw(&mut chance);
        let columns = strips(&mut chance, side * 1.7, (95.0, 150.0));
        let rows = strips(&mut chance, side * 1.7, (50.0, 72.0));
        let mut built = Vec::new();
        let mut count = 0;
        for (reach, block) in from_the_middle(&columns, &rows, radius, &mut chance) {
            let lots_of_block = bend.divide(block, reach, &mut chance);
            count += lots_of_block.len();
            built.push((block, lots_of_block));
            if count >= lots {
                break;
            }
        }
        let blocks: Vec<Block> = built.iter().map(|(block, _)| *block).collect();
        // Sections are slices of the village, seen from its middle.
        let angle = |block: &Block| block.middle().y.atan2(block.middle().x);
        built.sort_by(|(one, _), (other, _)| angle(one).total_cmp(&angle(other)));
        let lots_in_order = built.into_iter().flat_map(|(_, lots)| lots);
        let in_section = count.div_ceil(sections.len().max(1)).max(1);
        let parcel = |(index, lot): (usize, Lot)| Parcel {
            section: sections.get(index / in_section).cloned().unwrap_or_default(),
            number: index % in_section + 1,
            land_use: lot.land_use,
            corners: lot.corners,
        };
        Self {
            place,
            slug: Slug::of_name(place.name)
                .map_or_else(|_| "commune".to_owned(), |slug| slug.as_str().to_owned()),
            parcels: lots_in_order.enumerate().map(parcel).collect(),
            streets: streets(&blocks),
            blocks,
            radius,
            origin: Origin::of(place),
            bend,
        }
    }

    /// A point of the plan on the ground.
    pub(super) fn ground(&self, plan: Metres) -> Metres {
        self.bend.ground(plan)
    }

    /// A point of the ground on the earth.
    pub(super) fn position(&self, ground: Metres) -> Position {
        self.origin.position(ground, None)
    }

    /// A point of the ground on the earth, with its height.
    pub(super) fn measured(&self, ground: Metres) -> Position {
        self.origin.position(ground, Some(self.origin.height(ground)))
    }

    /// A line that is straight on the plan, on the earth.
    pub(super) fn line(&self, from: Metres, to: Metres) -> Geometry {
        let (east, north) = (to.x - from.x, to.y - from.y);
        let steps = (east.hypot(north) / 40.0).ceil().max(1.0);
        let at =
            |step: f64| Metres::new(from.x + east * step / steps, from.y + north * step / steps);
        let points = (0..=steps as u32).map(|step| self.position(self.ground(at(step.into()))));
        Geometry::LineString(points.collect())
    }

    /// A ring of corners, on the earth.
    pub(super) fn area(&self, corners: &[Metres]) -> Geometry {
        let ring = corners.iter().chain(corners.first()).map(|corner| self.position(*corner));
        Geometry::Polygon(vec![ring.collect()])
    }
}

impl Parcel {
    pub(super) fn square_metres(&self) -> i64 {
        let next = self.corners.iter().cycle().skip(1);
        let twice: f64 =
            self.corners.iter().zip(next).map(|(one, next)| one.x * next.y - next.x * one.y).sum();
        (twice / 2.0).round() as i64
    }
}

impl Block {
    pub(super) fn middle(&self) -> Metres {
        Metres::new((self.west + self.east) / 2.0, (self.south + self.north) / 2.0)
    }
}

/// How the plan lies on the ground: it sways both ways, too little to fold, and is turned.
struct Bend {
    sine: f64,
    cosine: f64,
    sway: [(f64, f64, f64); 2],
}

impl Bend {
    fn draw(chance: &mut Chance) -> Self {
        let (sine, cosine) = chance.real(-0.75, 0.75).sin_cos();
        let mut sway =
            || (chance.real(12.0, 26.0), chance.real(150.0, 260.0), chance.real(0.0, TAU));
        Self { sine, cosine, sway: [sway(), sway()] }
    }

    fn ground(&self, Metres { x, y }: Metres) -> Metres {
        let [(wide, long, from), (high, deep, to)] = self.sway;
        let (x, y) = (x + wide * (y / long + from).sin(), y + high * (x / deep + to).sin());
        Metres::new(x * self.cosine - y * self.sine, x * self.sine + y * self.cosine)
    }

    /// A point of the plan on the ground, where nobody measured to the centimetre.
    fn near(&self, x: f64, y: f64, chance: &mut Chance) -> Metres {
        self.ground(Metres::new(x + chance.real(-0.7, 0.7), y + chance.real(-0.7, 0.7)))
    }

    /// The lots of a block that lies at `reach` between the middle (0) and the edge (1).
    fn divide(&self, block: Block, reach: f64, chance: &mut Chance) -> Vec<Lot> {
        let Block { west, east, south, north } = block;
        let whole = match reach {
            ..0.15 => chance.happens(30).then_some("public"),
            ..0.75 => chance.happens(4).then_some("public"),
            _ => chance.happens(9).then_some("agricultural"),
        };
        if let Some(land_use) = whole {
            let around = [(west, south), (east, south), (east, north), (west, north)];
            let corners = around.map(|(x, y)| self.near(x, y, chance)).to_vec();
            return vec![Lot { land_use, corners }];
        }
        let front = match reach {
            ..0.35 => chance.real(18.5, 21.0),
            ..0.7 => chance.real(21.0, 28.0),
            _ => chance.real(28.0, 44.0),
        };
        let below = splits(chance, (west, east), front);
        let mut above = splits(chance, (west, east), front);
        // Two corners that nearly meet on the line behind the gardens are one.
        for x in &mut above {
            if let Some(near) = below.iter().find(|other| (*x - **other).abs() < 4.0) {
                *x = *near;
            }
        }
        let behind = (south + north) / 2.0 + chance.real(-3.0, 3.0);
        let mut line: Vec<f64> = below.iter().chain(&above).copied().collect();
        line.sort_by(f64::total_cmp);
        line.dedup();
        let line: Vec<_> = line.into_iter().map(|x| (x, self.near(x, behind, chance))).collect();
        let mut fronts = |splits: &[f64], y: f64| -> Vec<Metres> {
            splits.iter().map(|x| self.near(*x, y, chance)).collect()
        };
        let (south_front, north_front) = (fronts(&below, south), fronts(&above, north));
        let mut lots = Vec::new();
        for (ends, front) in below.windows(2).zip(south_front.windows(2)) {
            let backs = line.iter().rev().filter(|(x, _)| (ends[0]..=ends[1]).contains(x));
            let corners = front.iter().copied().chain(backs.map(|(_, corner)| *corner));
            lots.push(Lot { land_use: land_use(chance, reach), corners: corners.collect() });
        }
        for (ends, front) in above.windows(2).zip(north_front.windows(2)) {
            let backs = line.iter().filter(|(x, _)| (ends[0]..=ends[1]).contains(x));
            let corners = backs.map(|(_, corner)| *corner).chain(front.iter().rev().copied());
            lots.push(Lot { land_use: land_use(chance, reach), corners: corners.collect() });
        }
        lots
    }
}

/// A parcel before it has a number.
struct Lot {
    land_use: &'static str,
    corners: Vec<Metres>,
}

fn land_use(chance: &mut Chance, reach: f64) -> &'static str {
    chance.weigh(match reach {
        ..0.35 => &[(45, "residential"), (38, "mixed"), (13, "commercial"), (4, "vacant")],
        ..0.7 => &[(80, "residential"), (8, "garden"), (5, "commercial"), (7, "vacant")],
        _ => &[(50, "residential"), (26, "agricultural"), (14, "garden"), (10, "vacant")],
    })
}

/// Strips of these widths with streets between them, around nought.
fn strips(chance: &mut Chance, whole: f64, (least, most): (f64, f64)) -> Vec<(f64, f64)> {
    let mut strips = Vec::new();
    let mut at = -whole / 2.0;
    while at < whole / 2.0 {
        let width = chance.real(least, most);
        strips.push((at, at + width));
        at += width + chance.real(8.0, 11.0);
    }
    strips
}

/// The blocks where strips cross, each with how far out it lies, from the middle on. A village is no
/// circle, so some sides reach further than others.
fn from_the_middle(
    columns: &[(f64, f64)],
    rows: &[(f64, f64)],
    radius: f64,
    chance: &mut Chance,
) -> Vec<(f64, Block)> {
    let (lobes, from) = (chance.between(2, 4) as f64, chance.real(0.0, TAU));
    let mut blocks = Vec::new();
    for &(west, east) in columns {
        for &(south, north) in rows {
            let block = Block { west, east, south, north };
            let middle = block.middle();
            let lobe = 1.0 + 0.22 * (lobes * middle.y.atan2(middle.x) + from).sin();
            blocks.push((middle.distance() / radius * lobe * chance.real(0.92, 1.08), block));
        }
    }
    blocks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    blocks
}

/// Where fences meet a street: from end to end, about `front` apart.
fn splits(chance: &mut Chance, (from, to): (f64, f64), front: f64) -> Vec<f64> {
    let count = ((to - from) / front).round().max(1.0) as usize;
    let widths: Vec<f64> = (0..count).map(|_| chance.real(0.85, 1.2)).collect();
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

/// The streets south and west of each block, in one piece where blocks stand in a row.
fn streets(blocks: &[Block]) -> Vec<Street> {
    /// Half the width of a street.
    const HALF: f64 = 4.5;
    let mut along: Vec<(f64, f64, f64)> = Vec::new();
    let mut across: Vec<(f64, f64, f64)> = Vec::new();
    let grow = |streets: &mut Vec<(f64, f64, f64)>, at: f64, from: f64, to: f64| match streets
        .iter_mut()
        .find(|(other, ..)| (*other - at).abs() < 1.0)
    {
        Some((_, least, most)) => (*least, *most) = (least.min(from), most.max(to)),
        None => streets.push((at, from, to)),
    };
    for block in blocks {
        grow(&mut along, block.south - HALF, block.west - HALF, block.east + HALF);
        grow(&mut across, block.west - HALF, block.south - HALF, block.north + HALF);
    }
    let along = along.into_iter().map(|(y, from, to)| (Metres::new(from, y), Metres::new(to, y)));
    let across = across.into_iter().map(|(x, from, to)| (Metres::new(x, from), Metres::new(x, to)));
    along.chain(across).map(|(from, to)| Street { from, to }).collect()
}
