//! Truncated files: none is read as if it were complete.

use super::*;
use crate::{LayerWriter, OutputFeature};
use groma_geo::{Geometry, Position};
use std::collections::BTreeSet;

const COUNT: usize = 30;

fn features() -> Vec<(String, Geometry, String)> {
    let position = |n: f64| Position { x: n, y: 45.5, z: None };
    let line = |n: f64| Geometry::LineString(vec![position(n), position(n + 0.5)]);
    (0..COUNT)
        .map(|n| (n.to_string(), line(n as f64), format!("{{\"name\":\"Lot {n}\",\"n\":{n}}}")))
        .collect()
}

fn written(format: LayerFormat) -> Vec<u8> {
    let mut writer = LayerWriter::new(format, "lots", Crs::WGS84).unwrap();
    for (id, geometry, properties) in &features() {
        let geometry = Some(geometry);
        writer.write(&OutputFeature { id, geometry, properties, links: &[] }).unwrap();
    }
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    bytes
}

/// Cuts a file at many places. What is still read is complete.
fn assert_cuts_are_rejected(extension: &str, whole: &[u8], places: usize) {
    let directory = TempDir::new().unwrap();
    let name = format!("a.{extension}");
    assert_eq!(read(&write(&directory, &name, whole)).unwrap().len(), COUNT, "{extension}");
    let step = (whole.len() / places).max(1);
    let ends: BTreeSet<usize> =
        (0..whole.len()).step_by(step).chain(whole.len().saturating_sub(30)..whole.len()).collect();
    for end in ends {
        if let Ok(found) = read(&write(&directory, &name, &whole[..end])) {
            assert_eq!(found.len(), COUNT, "{extension} cut at {end} of {}", whole.len());
        }
    }
}

#[test]
fn truncated_file_is_not_read_as_if_it_were_complete() {
    for (format, extension) in [
        (LayerFormat::GeoPackage, "gpkg"),
        (LayerFormat::FlatGeobuf, "fgb"),
        (LayerFormat::Shapefile, "zip"),
        (LayerFormat::Kml, "kml"),
        (LayerFormat::Dxf, "dxf"),
    ] {
        assert_cuts_are_rejected(extension, &written(format), 200);
    }
    let kml = written(LayerFormat::Kml);
    let directory = TempDir::new().unwrap();
    let kmz = archive(&directory, "a.kmz", &[("doc.kml", &kml)]);
    assert_cuts_are_rejected("kmz", &std::fs::read(kmz).unwrap(), 200);
    let points: String =
        (0..COUNT).map(|n| format!("<wpt lat=\"{n}\" lon=\"1\"><name>{n}</name></wpt>")).collect();
    assert_cuts_are_rejected("gpx", format!("<gpx>{points}</gpx>").as_bytes(), 200);
}

#[test]
fn truncated_part_of_a_shapefile_is_rejected() {
    let directory = TempDir::new().unwrap();
    let rows = [&b"one "[..], b"two ", b"tre "];
    let rows: Vec<&[u8; 4]> = rows.iter().map(|row| (*row).try_into().unwrap()).collect();
    let (shapes, table) = (shp(3), dbf(3, &rows));
    let path = write(&directory, "a.shp", &shapes);
    for end in 0..table.len() {
        write(&directory, "a.dbf", &table[..end]);
        assert!(read(&path).is_err(), "the .dbf ends at {end}");
    }
    write(&directory, "a.dbf", &table);
    for end in 0..shapes.len() {
        write(&directory, "a.shp", &shapes[..end]);
        assert!(read(&path).is_err(), "the .shp ends at {end}");
    }
}
