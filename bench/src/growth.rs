//! How costs grow with the size of the data: the same requests and changes on SQLite databases of ten
//! thousand to ten million records and features. One request at a time; the result is the median.
//!
//! Records and features are in two files, to measure the disk space of each. Existing data is not loaded
//! again, and results of other sizes are kept as long as the build is the same.

mod changes;
mod client;
mod figures;
mod fill;
mod lines;
mod start;

use crate::{
    Result,
    dataset::{Cover, Dataset},
    load::{self, mix},
    report::median,
    server::Server,
};
use clap::Args;
use client::{Client, Repetitions};
use figures::Figures;
use groma_geo::{
    geojson::write_geometry,
    grid::{TileId, project},
};
use groma_store::Store;
use std::path::{Path, PathBuf};

/// The sizes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Scale {
    /// Sizes, each for records and for features.
    #[arg(
        long,
        env = "GROWTH_SIZES",
        value_delimiter = ',',
        default_values_t = [10_000, 100_000, 1_000_000, 10_000_000]
    )]
    sizes: Vec<u64>,
    /// Keep the databases, about 3.5 KB per record and feature.
    #[arg(long)]
    keep: bool,
}

/// The number of measured tiles.
const TILES: u64 = 300;
const FOLDER: &str = "target/bench/growth";

pub(crate) async fn run(scale: &Scale) -> Result {
    std::fs::create_dir_all(FOLDER)?;
    let mut figures = Figures::read()?;
    for size in &scale.sizes {
        let records = database("records", *size);
        fill::records(&records, *size).await?;
        figures.add(*size, "bytes/record", fill::bytes(&records).await? / *size as f64);
        measure_records(&records, *size, &mut figures).await?;

        let dataset = database("land", *size);
        fill::dataset(&dataset, *size).await?;
        figures.add(*size, "bytes/feature", fill::bytes(&dataset).await? / *size as f64);
        measure_features(&dataset, *size, &mut figures).await?;

        figures.write()?;
        if !scale.keep {
            remove(&records);
            remove(&dataset);
        }
    }
    Ok(())
}

/// Measures lists, details, searches, starts, memory and changes.
async fn measure_records(file: &Path, size: u64, figures: &mut Figures) -> Result {
    let server = Server::start(&url(file))?;
    let token = server.create_token()?;
    let client = Client::new(server.main, &token);
    let list = |query: &str| format!("/api/public/v1/folders?limit=50{query}");
    client.get(&list(""))?;
    figures.add(size, "memory/idle", server.memory()?.1 as f64);
    let last = size.div_ceil(50);
    for (name, path) in [
        ("page/first", list("")),
        ("page/middle", list(&format!("&page={}", last / 2))),
        ("page/last", list(&format!("&page={last}"))),
        ("term/few", list(&format!("&term={}", fill::RARE_WORD))),
        ("term/many", list("&term=easement")),
    ] {
        let total = total(&client.get(&path)?)?;
        if name == "term/few" && total != fill::RARE {
            return Err(format!("{total} folders are found by the rare word").into());
        }
        figures.add(size, name, Repetitions::READ.median(|_| client.get(&path).map(drop))?);
    }
    let detail = |n: u64| format!("/api/public/v1/folders/F-{:06}", mix(n) % size + 1);
    figures.add(size, "detail", Repetitions::READ.median(|n| client.get(&detail(n)).map(drop))?);
    figures.add(size, "memory/after", server.memory()?.1 as f64);
    drop(server);
    figures.add(size, "start/warm", start::median_of(file, &token, start::File::InMemory)?);
    for cost in changes::measure(&url(file), size).await? {
        figures.add(size, &format!("change/{}", cost.endpoints), cost.acknowledged);
        figures.add(size, &format!("delivered/{}", cost.endpoints), cost.delivered);
    }
    // Last, because it drops the file from the cache.
    figures.add(size, "start/cold", start::median_of(file, &token, start::File::OnDisk)?);
    Ok(())
}

/// Measures uncached tiles and posted geometries.
async fn measure_features(file: &Path, size: u64, figures: &mut Figures) -> Result {
    let dataset = Dataset::new();
    let store = Store::open(&url(file).parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let layer = store.layer(workspace, &fill::parcels()).await?.ok_or("no parcels")?.id;
    drop(store);
    let server = Server::start_with(&url(file), &[("GROMA_LIMITS__TILE_CACHE_BYTES", "0")])?;
    let token = server.create_token()?;
    let client = Client::new(server.geo, &token);
    for (zoom, name) in [(0, "tile/z0"), (6, "tile/z6"), (10, "tile/z10"), (14, "tile/z14")] {
        let path = |n: u64| {
            let ((x, y), _) = dataset.place(Cover::Parcels, mix(n + 17) % size, size);
            let tile = tile_at(x, y, zoom);
            format!("/api/public/v1/layers/{layer}/mvt/{zoom}/{}/{}", tile.0, tile.1)
        };
        figures.add(size, name, Repetitions::READ.median(|n| client.get(&path(n)).map(drop))?);
        let sizes: Result<Vec<f64>> =
            (0..TILES).map(|n| Ok(client.get(&path(n))?.len() as f64)).collect();
        figures.add(size, &name.replace("tile", "size"), median(&sizes?));
    }
    let run = crate::receiver::micros();
    let mut post = |n: u64| -> Result {
        let feature = dataset.feature(Cover::Parcels, mix(n) % size, size);
        let mut body = format!(r#"{{"type":"Feature","id":"{run}-{n}","properties":"#).into_bytes();
        serde_json::to_writer(&mut body, &feature.properties)?;
        body.extend_from_slice(br#","geometry":"#);
        feature.geometry.iter().for_each(|geometry| write_geometry(geometry, &mut body));
        body.push(b'}');
        client.post("/api/public/v1/geometries/geojson?layer=parcels", &body).map(drop)
    };
    figures.add(size, "post", Repetitions::WRITE.median(&mut post)?);
    figures.add(size, "memory/land", server.memory()?.1 as f64);
    Ok(())
}

/// The tile of a zoom that contains a position.
fn tile_at(x: f64, y: f64, zoom: u8) -> (u32, u32) {
    let (x, y) = project(x, y);
    let cell = |value: u32| value.checked_shr(32 - u32::from(zoom)).unwrap_or(0);
    TileId::new(zoom, cell(x), cell(y)).map_or((0, 0), |tile| (tile.x(), tile.y()))
}

fn database(what: &str, size: u64) -> PathBuf {
    Path::new(FOLDER).join(format!("{what}-{size}.db"))
}

fn url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

fn remove(file: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
}

fn total(body: &[u8]) -> Result<u64> {
    let envelope: serde_json::Value = serde_json::from_slice(body)?;
    Ok(envelope["total"].as_u64().ok_or("the list has no total")?)
}
