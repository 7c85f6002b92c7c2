//! The paths that need no program: a tile drawn, a delivery signed, a document of GeoJSON read.
//!
//! The land is made of whole numbers only, so that it is the same on every processor.

use crate::{Outcome, callgrind::Callgrind};
use clap::ValueEnum;
use groma_domain::{DeliveryId, Timestamp, webhook::Secret};
use groma_geo::{
    attributes, geojson,
    grid::{TileId, project},
    tile::{self, Candidate},
    tile_shape::TileShape,
    zoom_selection,
};
use groma_webhooks::signature;
use std::{convert::Infallible, fmt::Write as _, hint::black_box};

/// One of the paths.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Work {
    /// Encode a tile of a village.
    Tile,
    /// Sign a body in both ways.
    Sign,
    /// Read the village.
    Geojson,
}

/// How many parcels the village has in each direction.
const SIDE: u64 = 24;
/// The zoom of the tile, which is about as large as the village.
const ZOOM: u8 = 14;
/// The village's corner, in ten-millionths of a degree.
const CORNER: (u64, u64) = (20_800_000, 476_500_000);

impl Work {
    pub(crate) const ALL: [Self; 3] = [Self::Tile, Self::Sign, Self::Geojson];

    /// Its name in the record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tile => "tile encode",
            Self::Sign => "webhook sign",
            Self::Geojson => "GeoJSON read",
        }
    }

    /// The instructions of doing it once: what one run takes more than a shorter one, so that what
    /// comes before the work is not in it.
    pub(crate) fn count(self, callgrind: &Callgrind) -> Outcome<u64> {
        let here = std::env::current_exe()?;
        let word = self.to_possible_value().ok_or("a path without a name")?;
        let total = |times: u64| {
            let mut command = callgrind.command(&here);
            let arguments = ["work", word.get_name(), &times.to_string()];
            callgrind.finish(command.args(arguments).spawn()?)
        };
        let times = self.times();
        Ok((total(times * 3)? - total(times)?) / (times * 2))
    }

    /// How often it is done in the shorter of two runs: the same instructions are taken every time, so
    /// few are enough.
    fn times(self) -> u64 {
        match self {
            Self::Tile => 10,
            Self::Sign => 200,
            Self::Geojson => 2,
        }
    }

    /// Does it.
    pub(crate) fn run(self, times: u64) -> Outcome {
        match self {
            Self::Tile => draw(times),
            Self::Sign => sign(times),
            Self::Geojson => read(times),
        }
    }
}

fn draw(times: u64) -> Outcome {
    let village = features(&village())?;
    let fields = ["section", "number", "use", "area"];
    let mut stored = Vec::new();
    for feature in &village {
        let drawing =
            feature.geometry.as_ref().and_then(TileShape::from_geometry).ok_or("not drawn")?;
        let attributes = attributes::encode((0..).zip(feature.properties.values()));
        stored.push((drawing, attributes));
    }
    let candidates = || -> Vec<Candidate<'_>> {
        let numbered = (1..).zip(&stored);
        let all = numbered.map(|(n, (drawing, attributes))| Candidate {
            id: n * 4,
            min_zoom: 0,
            rank: zoom_selection::rank(drawing.size_class, n),
            shape: drawing.bytes.as_slice(),
            attributes: attributes.as_slice(),
        });
        all.collect()
    };
    let middle = |corner: u64| corner as f64 / 1e7 + 0.01;
    let (x, y) = project(middle(CORNER.0), middle(CORNER.1));
    let cell = |value: u32| value >> (32 - u32::from(ZOOM));
    let id = TileId::new(ZOOM, cell(x), cell(y)).ok_or("no such tile")?;
    for _ in 0..times {
        let bytes = tile::encode(black_box(id), "village", &fields, candidates(), Some(500_000));
        if black_box(bytes).is_empty() {
            return Err("the village is not in its tile".into());
        }
    }
    Ok(())
}

fn sign(times: u64) -> Outcome {
    let secret = Secret::new([7; 32]);
    let (id, at) = (DeliveryId(uuid::Uuid::nil()), Timestamp::from_millis(1_700_000_000_000));
    // As long as that of a folder.
    let body = vec![b'x'; 1_024];
    for _ in 0..times {
        let body = black_box(body.as_slice());
        black_box(signature::own(&secret, body));
        black_box(signature::standard([&secret], id, at, body)).ok_or("not signed")?;
    }
    Ok(())
}

fn read(times: u64) -> Outcome {
    let text = village();
    for _ in 0..times {
        let read = features(black_box(&text))?;
        if black_box(read).len() as u64 != SIDE * SIDE {
            return Err("a parcel is missing".into());
        }
    }
    Ok(())
}

fn features(text: &str) -> Outcome<Vec<geojson::Feature>> {
    let mut features = Vec::new();
    let take = |feature| {
        features.push(feature);
        Ok::<_, Infallible>(())
    };
    geojson::read(text.as_bytes(), &geojson::Options::default(), take)?;
    Ok(features)
}

/// Parcels of five to twelve corners on a grid, with four attributes each, as GeoJSON.
fn village() -> String {
    let mut text = String::from(r#"{"type":"FeatureCollection","features":["#);
    for n in 0..SIDE * SIDE {
        let comma = if n == 0 { "" } else { "," };
        let area = 300 + n * 7 % 900;
        let _ = write!(
            text,
            r#"{comma}{{"type":"Feature","id":{n},"properties":{{"section":"A{}","number":{n},"use":"{}","area":{area}.5}},"geometry":{{"type":"Polygon","coordinates":[["#,
            n % 7,
            USES[(n % 5) as usize],
        );
        let (west, south) = (CORNER.0 + n % SIDE * 10_000, CORNER.1 + n / SIDE * 8_000);
        let corners = 5 + n * 5 % 8;
        for corner in (0..corners).chain([0]) {
            // Along the bottom, and back along a bow above it.
            let (x, y) = if corner < 2 {
                (corner * 7_000, n * 13 % 500)
            } else {
                let back = corner - 1;
                let x = 7_000 - back * 7_000 / corners;
                (x, 4_000 + back * (corners - back) * 90 + n * 31 % 700)
            };
            let comma = if text.ends_with('[') { "" } else { "," };
            let _ = write!(text, "{comma}[{},{}]", degrees(west + x), degrees(south + y));
        }
        text.push_str("]]}}");
    }
    text.push_str("]}");
    text
}

const USES: [&str; 5] = ["residential", "garden", "meadow", "orchard", "road"];

fn degrees(ten_millionths: u64) -> String {
    format!("{}.{:07}", ten_millionths / 10_000_000, ten_millionths % 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_village_is_what_parcels_are() {
        let features = features(&village()).unwrap();
        let text = village();
        let ring_of = |n: usize| match &features[n].geometry {
            Some(groma_geo::Geometry::Polygon(rings)) => rings[0].len(),
            _ => 0,
        };
        assert!((0..features.len()).all(|n| (6..=13).contains(&ring_of(n))));
        assert!(text.len() > 100_000);
    }
}
