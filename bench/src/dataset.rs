//! The features for tiles: a million parcels in 200 towns of very different sizes over the extent of
//! France, and a million points among them, with four attributes each. The data is always the same.

use crate::load::mix;
use groma_geo::{Geometry, Position, geojson::Feature};
use serde_json::{Map, Value, json};

/// West, south, east, north.
const FRANCE: [f64; 4] = [-4.5, 42.5, 8.0, 51.0];
const TOWNS: u64 = 200;
const USES: [&str; 8] =
    ["residential", "garden", "commercial", "meadow", "orchard", "public", "vacant", "road"];

/// A town with its position and its share of all features.
struct Town {
    x: f64,
    y: f64,
    share: f64,
}

/// All towns, the largest first; the share of a town is proportional to the inverse of its rank.
pub(crate) struct Dataset {
    towns: Vec<Town>,
}

/// A layer of the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    Parcels,
    Points,
}

impl Cover {
    pub(crate) const ALL: [Self; 2] = [Self::Parcels, Self::Points];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Parcels => "parcels",
            Self::Points => "points",
        }
    }
}

impl Dataset {
    pub(crate) fn new() -> Self {
        let [west, south, east, north] = FRANCE;
        let weight = |rank: u64| 1.0 / (rank as f64 + 3.0);
        let all: f64 = (0..TOWNS).map(weight).sum();
        let town = |rank: u64| Town {
            x: west + (east - west) * unit(rank * 2 + 1),
            y: south + (north - south) * unit(rank * 2 + 2),
            share: weight(rank) / all,
        };
        Self { towns: (0..TOWNS).map(town).collect() }
    }

    /// The `n`th of `count` features, town by town.
    pub(crate) fn feature(&self, cover: Cover, n: u64, count: u64) -> Feature {
        let (at, number) = self.place(cover, n, count);
        let seed = n * 8 + u64::from(cover == Cover::Points);
        let mut properties = Map::new();
        let geometry = match cover {
            Cover::Parcels => {
                let (ring, area) = parcel(at, seed);
                let section = format!("{}{}", letter(number / 9_999 / 26), letter(number / 9_999));
                properties.insert("section".into(), section.into());
                properties.insert("number".into(), (number % 9_999 + 1).into());
                properties.insert("use".into(), USES[(mix(seed + 5) % 8) as usize].into());
                properties.insert("area".into(), json!(area));
                Geometry::Polygon(vec![ring])
            }
            Cover::Points => {
                properties.insert("code".into(), format!("P{n:07}").into());
                properties.insert("class".into(), (mix(seed + 5) % 5).into());
                properties
                    .insert("height".into(), json!((unit(seed + 6) * 8000.0).round() / 100.0));
                properties.insert("checked".into(), Value::Bool(mix(seed + 7).is_multiple_of(3)));
                Geometry::Point(position(at.0, at.1))
            }
        };
        Feature::new(Some(n.to_string()), Some(geometry), properties)
    }

    /// The position of the `n`th of `count` features, and its number in its town.
    pub(crate) fn place(&self, cover: Cover, n: u64, count: u64) -> ((f64, f64), u64) {
        let mut before = 0.0;
        let mut town = &self.towns[0];
        for next in &self.towns {
            town = next;
            if (n as f64) < before + town.share * count as f64 {
                break;
            }
            before += town.share * count as f64;
        }
        let number = n - before.ceil() as u64;
        let metre = 1.0 / 111_320.0;
        let stretch = 1.0 / town.y.to_radians().cos();
        let (east, north) = match cover {
            // Along a spiral, each on about 90 by 90 metres, denser towards the centre.
            Cover::Parcels => {
                let turn = number as f64 * 2.399_963_229_728_653;
                let reach = 46.0 * (number as f64).powf(0.515);
                (reach * turn.cos(), reach * turn.sin())
            }
            Cover::Points => {
                let turn = unit(n * 3) * std::f64::consts::TAU;
                let reach = 60.0 * (town.share * count as f64).sqrt() * unit(n * 3 + 1).sqrt();
                (reach * turn.cos(), reach * turn.sin())
            }
        };
        ((town.x + east * metre * stretch, town.y + north * metre), number)
    }
}

/// A ring of 5 to 12 corners with a diameter of 30 to 80 metres, and its area.
fn parcel((x, y): (f64, f64), seed: u64) -> (Vec<Position>, f64) {
    let metre = 1.0 / 111_320.0;
    let stretch = 1.0 / y.to_radians().cos();
    let corners = 5 + mix(seed + 1) % 8;
    let radius = 15.0 + unit(seed + 2) * 25.0;
    let corner = |k: u64| {
        let turn = (k as f64 + 0.6 * unit(seed * 16 + k)) / corners as f64 * std::f64::consts::TAU;
        let reach = radius * (0.8 + 0.2 * unit(seed * 16 + k + 7));
        let (east, north) = (reach * turn.cos(), reach * turn.sin());
        position(x + east * metre * stretch, y + north * metre)
    };
    let mut ring: Vec<Position> = (0..corners).map(corner).collect();
    ring.push(ring[0]);
    (ring, (radius * radius * 2.6).round())
}

fn position(x: f64, y: f64) -> Position {
    // The precision of a cadastre: a centimetre.
    let rounded = |value: f64| (value * 1e7).round() / 1e7;
    Position { x: rounded(x), y: rounded(y), z: None }
}

fn letter(n: u64) -> char {
    char::from(b'A' + (n % 26) as u8)
}

/// A pseudorandom number from 0 to 1.
fn unit(n: u64) -> f64 {
    (mix(n.wrapping_mul(0x9e37_79b9)) >> 11) as f64 / (1_u64 << 53) as f64
}
