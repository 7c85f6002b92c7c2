//! Workloads that call the libraries directly: encoding a tile, signing a delivery, reading GeoJSON.
//!
//! The sample data uses only integers, so it is equal on every processor.

use crate::callgrind::Callgrind;
use clap::ValueEnum;
use groma_domain::{DeliveryId, Timestamp, webhook::SigningSecret};
use groma_geo::{
    attributes,
    coverage::CoverageGrid,
    geojson,
    grid::{TileId, project},
    tile::{self, Candidate},
    tile_shape::TileShape,
    zoom_selection,
};
use groma_testkit::Result;
use groma_webhooks::signature;
use std::{convert::Infallible, fmt::Write as _, hint::black_box};

/// A workload.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Workload {
    /// Encode a tile of a village.
    Tile,
    /// Sign a body with both signature schemes.
    Sign,
    /// Parse the GeoJSON of a village.
    Geojson,
}

/// The number of parcels of the village in each direction.
const SIDE: u64 = 24;
/// The zoom of the tile, which is about the size of the village.
const ZOOM: u8 = 14;
/// The corner of the village in ten-millionths of a degree.
const CORNER: (u64, u64) = (20_800_000, 476_500_000);

impl Workload {
    pub(crate) const ALL: [Self; 3] = [Self::Tile, Self::Sign, Self::Geojson];

    /// The name in the record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tile => "tile encode",
            Self::Sign => "webhook sign",
            Self::Geojson => "GeoJSON read",
        }
    }

    /// The instructions of one execution: the difference between a longer and a shorter run, which
    /// excludes the start of the process.
    pub(crate) fn count(self, callgrind: &Callgrind) -> Result<u64> {
        let executable = std::env::current_exe()?;
        let value = self.to_possible_value().ok_or("a workload without a name")?;
        let total = |times: u64| -> Result<u64> {
            let arguments = ["run", value.get_name(), &times.to_string()];
            let status = callgrind.command(&executable).args(arguments).status()?;
            if status.success() { callgrind.total() } else { Err(status.to_string().into()) }
        };
        let times = self.times();
        Ok((total(times * 3)? - total(times)?) / (times * 2))
    }

    /// The number of executions in the shorter run. Few are enough, because every execution is equal.
    fn times(self) -> u64 {
        match self {
            Self::Tile => 10,
            Self::Sign => 200,
            Self::Geojson => 2,
        }
    }

    /// Executes the workload.
    pub(crate) fn run(self, times: u64) -> Result {
        match self {
            Self::Tile => encode_tile(times),
            Self::Sign => sign(times),
            Self::Geojson => read_geojson(times),
        }
    }
}

fn encode_tile(times: u64) -> Result {
    let village = features(&village())?;
    let fields = ["section", "number", "use", "area"];
    let mut stored = Vec::new();
    for feature in &village {
        let shape = feature
            .geometry
            .as_ref()
            .and_then(TileShape::from_geometry)
            .ok_or("a feature has no tile shape")?;
        let attributes = attributes::encode((0..).zip(feature.properties.values()));
        stored.push((shape, attributes));
    }
    let candidates = || -> Vec<Candidate<'_>> {
        let numbered = (1..).zip(&stored);
        let all = numbered.map(|(n, (shape, attributes))| Candidate {
            id: n * 4,
            is_polygon: true,
            min_zoom: 0,
            rank: zoom_selection::rank(shape.size_class, n),
            shape: shape.bytes.as_slice(),
            attributes: attributes.as_slice(),
        });
        all.collect()
    };
    let middle = |corner: u64| corner as f64 / 1e7 + 0.01;
    let (x, y) = project(middle(CORNER.0), middle(CORNER.1));
    let cell = |value: u32| value >> (32 - u32::from(ZOOM));
    let id = TileId::new(ZOOM, cell(x), cell(y)).ok_or("invalid tile")?;
    for _ in 0..times {
        let bytes = tile::encode(
            black_box(id),
            "village",
            &fields,
            candidates(),
            CoverageGrid::new(id),
            Some(500_000),
        );
        if black_box(bytes).is_empty() {
            return Err("the tile is empty".into());
        }
    }
    Ok(())
}

fn sign(times: u64) -> Result {
    let secret = SigningSecret::new([7; 32]);
    let (id, at) = (DeliveryId(uuid::Uuid::nil()), Timestamp::from_millis(1_700_000_000_000));
    // The length of a folder event.
    let body = vec![b'x'; 1_024];
    for _ in 0..times {
        let body = black_box(body.as_slice());
        black_box(signature::service_signature(&secret, body));
        black_box(signature::standard_headers([&secret], id, at, body))
            .ok_or("the body was not signed")?;
    }
    Ok(())
}

fn read_geojson(times: u64) -> Result {
    let text = village();
    for _ in 0..times {
        let read = features(black_box(&text))?;
        if black_box(read).len() as u64 != SIDE * SIDE {
            return Err("a parcel is missing".into());
        }
    }
    Ok(())
}

fn features(text: &str) -> Result<Vec<geojson::Feature>> {
    let mut features = Vec::new();
    let push = |feature| {
        features.push(feature);
        Ok::<_, Infallible>(())
    };
    geojson::read(text.as_bytes(), &geojson::Options::default(), push)?;
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
            // Along the bottom, and back along an arc above it.
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
    fn village_has_realistic_parcels() {
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
