//! How costs grow with size: the same questions and changes on databases of ten thousand, a hundred
//! thousand, a million, ten million records and as many features, on SQLite. One request at a time;
//! what is kept is the median.
//!
//! Records and land are two files, so that each has its own size on disk. What is there already is not
//! loaded again; figures of sizes that were measured before stay, as long as the build is the same.

mod changes;
mod client;
mod figures;
mod fill;
mod lines;
mod start;

use crate::{
    Outcome,
    land::{Cover, Land},
    load::{self, mix},
    office::Office,
    report::median,
};
use clap::Args;
use client::{Client, Span};
use figures::Figures;
use groma_geo::{
    geojson::write_geometry,
    grid::{TileId, project},
};
use groma_store::Store;
use std::path::{Path, PathBuf};

/// How far.
#[derive(Args, Clone, Debug)]
pub(crate) struct Scale {
    /// Sizes: each as many records and as many features.
    #[arg(
        long,
        env = "GROWTH_SIZES",
        value_delimiter = ',',
        default_values_t = [10_000, 100_000, 1_000_000, 10_000_000]
    )]
    sizes: Vec<u64>,
    /// Keep the databases, 3.5 KB for each record and feature together.
    #[arg(long)]
    keep: bool,
}

/// How many tiles are weighed.
const TILES: u64 = 300;
const FOLDER: &str = "target/bench/growth";

pub(crate) async fn run(scale: &Scale) -> Outcome {
    std::fs::create_dir_all(FOLDER)?;
    let mut figures = Figures::read()?;
    for size in &scale.sizes {
        let records = database("records", *size);
        fill::records(&records, *size).await?;
        figures.add(*size, "bytes/record", fill::bytes(&records).await? / *size as f64);
        of_records(&records, *size, &mut figures).await?;

        let land = database("land", *size);
        fill::land(&land, *size).await?;
        figures.add(*size, "bytes/feature", fill::bytes(&land).await? / *size as f64);
        of_land(&land, *size, &mut figures).await?;

        figures.write()?;
        if !scale.keep {
            remove(&records);
            remove(&land);
        }
    }
    Ok(())
}

/// Lists, details, searches, starts, memory; then changes.
async fn of_records(file: &Path, size: u64, figures: &mut Figures) -> Outcome {
    let office = Office::start(&url(file))?;
    let token = office.token()?;
    let mut client = Client::new(office.main, &token)?;
    let list = |query: &str| format!("/api/public/v1/folders?limit=50{query}");
    client.get(&list(""))?;
    figures.add(size, "memory/idle", office.memory()?.1 as f64);
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
        figures.add(size, name, Span::READ.median(|_| client.get(&path).map(drop))?);
    }
    let detail = |n: u64| format!("/api/public/v1/folders/F-{:06}", mix(n) % size + 1);
    figures.add(size, "detail", Span::READ.median(|n| client.get(&detail(n)).map(drop))?);
    figures.add(size, "memory/after", office.memory()?.1 as f64);
    drop(office);
    figures.add(size, "start/warm", start::median_of(file, &token, start::File::InMemory)?);
    for cost in changes::measure(&url(file), size).await? {
        figures.add(size, &format!("change/{}", cost.endpoints), cost.acknowledged);
        figures.add(size, &format!("delivered/{}", cost.endpoints), cost.delivered);
    }
    // The last: what it drops from memory, everything after it would have to read again.
    figures.add(size, "start/cold", start::median_of(file, &token, start::File::OnDisk)?);
    Ok(())
}

/// Tiles, none of them cached, and geometries posted.
async fn of_land(file: &Path, size: u64, figures: &mut Figures) -> Outcome {
    let land = Land::new();
    let store = Store::open(&url(file).parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let layer = store.layer(workspace, &fill::parcels()).await?.ok_or("no parcels")?.id;
    drop(store);
    let office = Office::start_with(&url(file), &[("GROMA_LIMITS__TILE_CACHE_BYTES", "0")])?;
    let token = office.token()?;
    let mut client = Client::new(office.geo, &token)?;
    for (zoom, name) in [(0, "tile/z0"), (6, "tile/z6"), (10, "tile/z10"), (14, "tile/z14")] {
        let path = |n: u64| {
            let ((x, y), _) = land.place(Cover::Parcels, mix(n + 17) % size, size);
            let tile = tile_at(x, y, zoom);
            format!("/api/public/v1/layers/{layer}/mvt/{zoom}/{}/{}", tile.0, tile.1)
        };
        figures.add(size, name, Span::READ.median(|n| client.get(&path(n)).map(drop))?);
        let sizes: Outcome<Vec<f64>> =
            (0..TILES).map(|n| Ok(client.get(&path(n))?.len() as f64)).collect();
        figures.add(size, &name.replace("tile", "size"), median(&sizes?));
    }
    let run = crate::receiver::micros();
    let mut post = |n: u64| -> Outcome {
        let feature = land.feature(Cover::Parcels, mix(n) % size, size);
        let mut body = format!(r#"{{"type":"Feature","id":"{run}-{n}","properties":"#).into_bytes();
        serde_json::to_writer(&mut body, &feature.properties)?;
        body.extend_from_slice(br#","geometry":"#);
        feature.geometry.iter().for_each(|geometry| write_geometry(geometry, &mut body));
        body.push(b'}');
        client.post("/api/public/v1/geometries/geojson?layer=parcels", &body).map(drop)
    };
    figures.add(size, "post", Span::WRITE.median(&mut post)?);
    figures.add(size, "memory/land", office.memory()?.1 as f64);
    Ok(())
}

/// The tile of a zoom that a place is in.
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

fn total(body: &[u8]) -> Outcome<u64> {
    let envelope: serde_json::Value = serde_json::from_slice(body)?;
    Ok(envelope["total"].as_u64().ok_or("a list without a total")?)
}
