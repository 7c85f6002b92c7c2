//! ogr2ogr, which copies a file into PostGIS.

use super::command;
use crate::{
    Result,
    machine::first_line,
    profile::{Profile, psql},
};
use std::process::Command;

/// The seconds that it takes.
pub(super) fn into_postgis(profile: &Profile, file: &str) -> Result<f64> {
    let database = profile.new_postgres("ogr2ogr")?;
    psql(&database, "CREATE EXTENSION postgis")?;
    let mut command = Command::new("ogr2ogr");
    // GDAL knows only this spelling.
    command.args(["-f", "PostgreSQL", &database.replacen("postgres://", "postgresql://", 1), file]);
    Ok(command::run(command)?.seconds)
}

pub(super) fn version() -> Result<String> {
    let line = first_line("ogr2ogr", &["--version"])?;
    Ok(line.split([' ', ',']).nth(1).unwrap_or_default().to_owned())
}
