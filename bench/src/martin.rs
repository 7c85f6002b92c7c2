//! Martin, the peer in tiles: its published crate over PostGIS, with a table and a GiST index for
//! each layer, as its documentation says.

use crate::{
    Outcome,
    land::{Cover, Land},
    office::free_port,
    wrk,
};
use groma_geo::{grid::TileId, wkb};
use std::{
    io::Write,
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The version that is measured.
const VERSION: &str = "1.14.0";
const ROOT: &str = "target/bench/peers";
const CONNECTIONS: u32 = 16;

/// Two running Martins: one that keeps nothing, one with its cache.
pub(crate) struct Martin {
    children: [Child; 2],
    uncached: SocketAddr,
    pub(crate) cached: SocketAddr,
}

impl Martin {
    pub(crate) fn start(database: &str, land: &Land, count: u64) -> Outcome<Self> {
        install()?;
        for cover in Cover::ALL {
            fill(database, land, cover, count)?;
        }
        let (first, uncached) = spawn(database, "0")?;
        let (second, cached) = spawn(database, "512")?;
        Ok(Self { children: [first, second], uncached, cached })
    }

    pub(crate) fn paths(&self, cover: Cover, tiles: &[TileId]) -> Vec<String> {
        let path =
            |tile: &TileId| format!("/{}/{}/{}/{}", cover.name(), tile.z(), tile.x(), tile.y());
        tiles.iter().map(path).collect()
    }

    pub(crate) fn measure(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Outcome<f64> {
        let paths = self.paths(cover, tiles);
        Ok(wrk::run(self.uncached, "none", &paths, CONNECTIONS, seconds)?.per_second)
    }
}

impl Drop for Martin {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn install() -> Outcome {
    if Path::new(ROOT).join("bin/martin").exists() {
        return Ok(());
    }
    println!("Building Martin {VERSION}, once");
    let installed = Command::new("cargo")
        .args(["install", "martin", "--version", VERSION, "--locked", "--no-default-features"])
        .args(["--features", "postgres", "--root", ROOT])
        .args(["--target-dir", &format!("{ROOT}/build")])
        .status()?;
    if installed.success() { Ok(()) } else { Err("Martin could not be built".into()) }
}

fn spawn(database: &str, cache: &str) -> Outcome<(Child, SocketAddr)> {
    let address: SocketAddr = format!("127.0.0.1:{}", free_port()?).parse()?;
    let log = std::fs::File::create(format!("target/bench/martin-{cache}.log"))?;
    let child = Command::new(Path::new(ROOT).join("bin/martin"))
        .args([database, "--listen-addresses", &address.to_string()])
        .args(["--cache-size", cache, "--pool-size", "20", "--workers", "2"])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    let begun = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        if begun.elapsed() > Duration::from_secs(60) {
            return Err("Martin did not start".into());
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
    Ok((child, address))
}

/// Copies a layer into a table of its own.
fn fill(database: &str, land: &Land, cover: Cover, count: u64) -> Outcome {
    let table = cover.name();
    let columns = match cover {
        Cover::Parcels => "section text, number integer, use text, area double precision",
        Cover::Points => "code text, class integer, height double precision, checked boolean",
    };
    let there = psql(database, &format!("SELECT to_regclass('{table}') IS NOT NULL"))?;
    if there.trim() == "t" {
        return Ok(());
    }
    psql(
        database,
        &format!(
            "CREATE EXTENSION IF NOT EXISTS postgis;
             CREATE TABLE {table} (id bigint PRIMARY KEY, geom geometry(Geometry, 4326) NOT NULL, {columns})"
        ),
    )?;
    let mut copy = Command::new("psql")
        .args([database, "-qc", &format!("COPY {table} FROM STDIN")])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = std::io::BufWriter::new(copy.stdin.take().ok_or("no input")?);
    for n in 0..count {
        let feature = land.feature(cover, n, count);
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

fn psql(database: &str, sql: &str) -> Outcome<String> {
    let done = Command::new("psql").args([database, "-qAtc", sql]).output()?;
    if done.status.success() {
        Ok(String::from_utf8(done.stdout)?)
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into())
    }
}
