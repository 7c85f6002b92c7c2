//! Transforms points to WGS 84, for `scripts/crs-table`: reads lines with an EPSG code, x and y, and prints
//! longitude and latitude, or why the point cannot be transformed.
//!
//! The first argument is a folder with grid files; without it, no grids are used.

use groma_geo::{Crs, CrsError, GridFiles};
use std::{
    collections::HashMap,
    error::Error,
    io::{BufWriter, Write, stdin, stdout},
    path::Path,
};

fn main() -> Result<(), Box<dyn Error>> {
    let grids = match std::env::args().nth(1) {
        Some(folder) => GridFiles::from_folder(Path::new(&folder))?,
        None => GridFiles::default(),
    };
    let mut systems: HashMap<String, Result<Crs, CrsError>> = HashMap::new();
    let mut output = BufWriter::new(stdout().lock());
    for line in stdin().lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        let (Some(code), Some(x), Some(y)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("`{line}` is not a code with x and y").into());
        };
        let system = systems
            .entry(code.to_owned())
            .or_insert_with(|| Crs::parse_with_grid_files(&format!("EPSG:{code}"), &grids));
        match system {
            Ok(crs) => match crs.to_wgs84(x.parse()?, y.parse()?) {
                Some((longitude, latitude)) => writeln!(output, "{longitude} {latitude}")?,
                None => writeln!(output, "outside")?,
            },
            Err(error) => writeln!(output, "{error}")?,
        }
    }
    Ok(())
}
