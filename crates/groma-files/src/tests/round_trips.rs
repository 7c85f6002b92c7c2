//! Layers that a format with one type for each column, or one kind of shapes, holds less easily: what is written is
//! read again as it was.

use super::*;
use crate::{LayerWriter, OutputFeature};
use groma_geo::{Geometry, Position};
use serde_json::{Value, json};
use zip::ZipArchive;

fn written(format: LayerFormat, features: &[(Geometry, Value)]) -> Vec<u8> {
    let mut writer = LayerWriter::new(format, "lots", Crs::WGS84).unwrap();
    for (number, (geometry, properties)) in features.iter().enumerate() {
        let (id, properties) = (number.to_string(), properties.to_string());
        let geometry = Some(geometry);
        let feature = OutputFeature { id: &id, geometry, properties: &properties, links: &[] };
        writer.write(&feature).unwrap();
    }
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    bytes
}

/// The features of a file, by their ids.
fn read_again(format: LayerFormat, bytes: &[u8]) -> Vec<Feature> {
    let directory = TempDir::new().unwrap();
    let name = match format {
        LayerFormat::GeoPackage => "a.gpkg",
        LayerFormat::FlatGeobuf => "a.fgb",
        LayerFormat::Shapefile => "a.zip",
        _ => "a.kml",
    };
    let mut features = read(&write(&directory, name, bytes)).unwrap();
    features.sort_by(|a, b| a.external_id.cmp(&b.external_id));
    features
}

fn line(heights: [Option<f64>; 3]) -> Geometry {
    let position = |(x, z)| Position { x, y: 45.5, z };
    Geometry::LineString([1.0, 2.0, 3.0].into_iter().zip(heights).map(position).collect())
}

#[test]
fn vertices_without_heights_stay_without_them() {
    let lines = [line([Some(5.0), None, Some(-7.25)]), line([None; 3]), line([Some(0.0); 3])];
    let features = lines.clone().map(|line| (line, json!({})));
    for format in [LayerFormat::GeoPackage, LayerFormat::FlatGeobuf, LayerFormat::Shapefile] {
        let found = read_again(format, &written(format, &features));
        let found: Vec<_> = found.into_iter().filter_map(|feature| feature.geometry).collect();
        assert_eq!(found, lines, "{format:?}");
    }
}

#[test]
fn shapefile_has_heights_only_where_its_shapes_have_some() {
    let point = |x, z| Geometry::Point(Position { x, y: 45.5, z });
    let features =
        [point(1.0, Some(5.0)), point(2.0, None), line([None; 3])].map(|one| (one, json!({})));
    let bytes = written(LayerFormat::Shapefile, &features);
    let mut archive = ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    for (name, code) in [("lots_points.shp", 11), ("lots_lines.shp", 3)] {
        let mut shp = Vec::new();
        archive.by_name(name).unwrap().read_to_end(&mut shp).unwrap();
        // The header and each shape name their type.
        assert_eq!((shp[32], shp[108]), (code, code), "{name}");
        // NaN is not allowed.
        assert!(!shp.windows(8).any(|bytes| bytes == f64::NAN.to_le_bytes()), "{name}");
        // The range of heights.
        let range = if code == 11 { 5.0_f64 } else { 0.0 }.to_le_bytes();
        assert_eq!((&shp[68..76], &shp[76..84]), (&range[..], &range[..]), "{name}");
    }
}

#[test]
fn large_integers_keep_their_digits() {
    let values = [json!(u64::MAX), json!(9_007_199_254_740_993_i64), json!(0.5)];
    let features = values.clone().map(|n| (line([None; 3]), json!({ "n": n })));
    for format in [LayerFormat::GeoPackage, LayerFormat::FlatGeobuf] {
        let found = read_again(format, &written(format, &features));
        let found: Vec<_> = found.iter().map(|feature| feature.properties["n"].clone()).collect();
        assert_eq!(found, values, "{format:?}");
    }
}

#[test]
fn booleans_of_kml_are_numbers_that_all_programs_read() {
    let values = [json!(true), json!(false), json!(true)];
    let features = values.clone().map(|yes| (line([None; 3]), json!({ "yes": yes, "n": 1 })));
    let bytes = written(LayerFormat::Kml, &features);
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert_eq!(text.matches("<SimpleData name=\"yes\">1</SimpleData>").count(), 2, "{text}");
    assert_eq!(text.matches("<SimpleData name=\"yes\">0</SimpleData>").count(), 1, "{text}");
    for (feature, value) in read_again(LayerFormat::Kml, &bytes).iter().zip(values) {
        assert_eq!((&feature.properties["yes"], &feature.properties["n"]), (&value, &json!(1)));
    }
}
