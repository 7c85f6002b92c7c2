//! TiPg: its published package with the tables that Martin reads, two workers, the same number of
//! connections as Martin, and no feature limit.

use crate::{
    Result,
    dataset::Cover,
    machine::first_line,
    process::{Process, installed},
    profile::{CONNECTIONS, wait_until_idle},
    wrk,
};
use groma_geo::grid::TileId;
use std::process::Command;

pub(crate) const SETTINGS: &str = "`uvicorn --workers 2` (uvloop, httptools), 10 connections each kept open, the same \
    tables, no limit of features, buffer 64";

pub(crate) struct Tipg {
    database: String,
    pub(crate) process: Process,
}

impl Tipg {
    pub(crate) fn start(database: &str) -> Result<Self> {
        let program = installed("python/bin/uvicorn")?;
        let process = Process::start("tipg", "/collections/public.parcels", |port| {
            let mut command = Command::new(program);
            command.args(["tipg.main:app", "--workers", "2", "--log-level", "warning"]);
            command.args(["--no-access-log", "--port", &port.to_string()]);
            command.envs([
                ("DATABASE_URL", database),
                ("DB_MIN_CONN_SIZE", "10"),
                ("DB_MAX_CONN_SIZE", "10"),
                ("DB_MAX_QUERIES", "1000000"),
                ("TIPG_MAX_FEATURES_PER_TILE", "100000000"),
                ("TIPG_TILE_BUFFER", "64"),
                ("TIPG_CATALOG_TTL", "0"),
            ]);
            command
        })?;
        Ok(Self { database: database.to_owned(), process })
    }

    pub(crate) fn paths(&self, cover: Cover, tiles: &[TileId]) -> Vec<String> {
        let path = |tile: &TileId| {
            format!(
                "/collections/public.{}/tiles/WebMercatorQuad/{}/{}/{}",
                cover.name(),
                tile.z(),
                tile.x(),
                tile.y()
            )
        };
        tiles.iter().map(path).collect()
    }

    pub(crate) fn measure(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Result<f64> {
        let paths = self.paths(cover, tiles);
        let rate = wrk::run(self.process.address, "none", &paths, CONNECTIONS, seconds)?.per_second;
        self.wait_until_idle()?;
        Ok(rate)
    }

    pub(crate) fn wait_until_idle(&self) -> Result {
        wait_until_idle(&self.database)
    }
}

pub(crate) fn version() -> Result<String> {
    let python = installed("python/bin/python")?;
    first_line(&python.to_string_lossy(), &["-c", "import tipg; print(tipg.__version__)"])
}
