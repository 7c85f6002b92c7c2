//! Martin: its published crate on PostGIS, with a table and a GiST index for each layer, as its
//! documentation recommends.

use crate::{
    Result,
    dataset::{Cover, Dataset},
    machine::first_line,
    process::{Process, installed},
    profile::{CONNECTIONS, psql, wait_until_idle},
    wrk,
};
use groma_geo::{grid::TileId, wkb};
use std::{
    io::Write,
    process::{Command, Stdio},
};

pub(crate) const SETTINGS: &str = "`--workers 2 --pool-size 20`, a table with a GiST index for each layer; its cache off, and \
    with 512 MB where cached tiles are compared";

/// Two running servers: one without and one with its cache.
pub(crate) struct Martin {
    database: String,
    pub(crate) uncached: Process,
    pub(crate) cached: Process,
}

impl Martin {
    pub(crate) fn start(database: &str) -> Result<Self> {
        let program = installed("bin/martin")?;
        let spawn = |name: &str, cache: &str| {
            Process::start(name, "/health", |port| {
                let mut command = Command::new(&program);
                command.args([database, "--listen-addresses", &format!("127.0.0.1:{port}")]);
                command.args(["--cache-size", cache, "--pool-size", "20", "--workers", "2"]);
                command
            })
        };
        let (uncached, cached) = (spawn("martin", "0")?, spawn("martin-cache", "512")?);
        Ok(Self { database: database.to_owned(), uncached, cached })
    }

    pub(crate) fn paths(&self, cover: Cover, tiles: &[TileId]) -> Vec<String> {
        let path =
            |tile: &TileId| format!("/{}/{}/{}/{}", cover.name(), tile.z(), tile.x(), tile.y());
        tiles.iter().map(path).collect()
    }

    pub(crate) fn measure(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Result<f64> {
        let paths = self.paths(cover, tiles);
        let address = self.uncached.address;
        let rate = wrk::run(address, "none", &paths, CONNECTIONS, seconds)?.per_second;
        wait_until_idle(&self.database)?;
        Ok(rate)
    }
}

pub(crate) fn version() -> Result<String> {
    let output = first_line(&installed("bin/martin")?.to_string_lossy(), &["--version"])?;
    Ok(output.rsplit(' ').next().unwrap_or_default().to_owned())
}

/// Copies a layer into a table unless it exists.
pub(crate) fn fill(database: &str, dataset: &Dataset, cover: Cover, count: u64) -> Result {
    let table = cover.name();
    let columns = match cover {
        Cover::Parcels => "section text, number integer, use text, area double precision",
        Cover::Points => "code text, class integer, height double precision, checked boolean",
    };
    let there = psql(database, &format!("SELECT count(*) FROM {table}"));
    if there.is_ok_and(|there| there == count.to_string()) {
        return Ok(());
    }
    println!("Filling PostGIS with {table}, once");
    psql(
        database,
        &format!(
            "CREATE EXTENSION IF NOT EXISTS postgis; DROP TABLE IF EXISTS {table};
             CREATE TABLE {table} (id bigint PRIMARY KEY, geom geometry(Geometry, 4326) NOT NULL, {columns})"
        ),
    )?;
    let mut copy = Command::new("psql")
        .args([database, "-qc", &format!("COPY {table} FROM STDIN")])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = std::io::BufWriter::new(copy.stdin.take().ok_or("no input")?);
    for n in 0..count {
        let feature = dataset.feature(cover, n, count);
        let geometry = feature.geometry.as_ref().ok_or("no geometry")?;
        write!(input, "{n}\t")?;
        for byte in wkb::to_ewkb(geometry) {
            write!(input, "{byte:02x}")?;
        }
        for value in feature.properties.values() {
            match value.as_str() {
                Some(text) => write!(input, "\t{text}")?,
                None => write!(input, "\t{value}")?,
            }
        }
        writeln!(input)?;
    }
    drop(input);
    if !copy.wait()?.success() {
        return Err("COPY failed".into());
    }
    psql(database, &format!("CREATE INDEX ON {table} USING gist (geom)"))?;
    psql(database, &format!("VACUUM ANALYZE {table}"))?;
    Ok(())
}
