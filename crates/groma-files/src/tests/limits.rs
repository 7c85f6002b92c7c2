//! Small files that would take much memory or time.

use super::*;
use flatbuffers::FlatBufferBuilder;
use flatgeobuf::{
    Column, ColumnArgs, ColumnType, Feature as FgbFeature, FeatureArgs, Geometry as FgbGeometry,
    GeometryArgs, GeometryType, Header, HeaderArgs,
};

/// A FlatGeobuf file with so many columns, each of them so many times, and this feature.
fn flatgeobuf(directory: &TempDir, columns: usize, times: usize, feature: &[u8]) -> PathBuf {
    let mut builder = FlatBufferBuilder::new();
    let mut list = Vec::new();
    for number in 0..columns {
        let name = builder.create_string(&format!("column {number}"));
        let column = Column::create(
            &mut builder,
            &ColumnArgs { name: Some(name), type_: ColumnType::Int, ..ColumnArgs::default() },
        );
        list.extend(vec![column; times]);
    }
    let columns = builder.create_vector(&list);
    let header = Header::create(
        &mut builder,
        &HeaderArgs {
            columns: Some(columns),
            geometry_type: GeometryType::MultiPolygon,
            index_node_size: 0,
            ..HeaderArgs::default()
        },
    );
    builder.finish_size_prefixed(header, None);
    let bytes = [b"fgb\x03fgb\x00", builder.finished_data(), feature].concat();
    write(directory, "a.fgb", bytes)
}

/// A feature with a MultiPolygon whose parts are all the same polygon.
fn multi_polygon(parts: usize, positions: usize) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let xy: Vec<f64> = (0..positions * 2).map(|n| (n % 7) as f64).collect();
    let xy = builder.create_vector(&xy);
    let part = FgbGeometry::create(
        &mut builder,
        &GeometryArgs { xy: Some(xy), type_: GeometryType::Polygon, ..GeometryArgs::default() },
    );
    let parts = builder.create_vector(&vec![part; parts]);
    let geometry = FgbGeometry::create(
        &mut builder,
        &GeometryArgs {
            parts: Some(parts),
            type_: GeometryType::MultiPolygon,
            ..GeometryArgs::default()
        },
    );
    let geometry = Some(geometry);
    let feature =
        FgbFeature::create(&mut builder, &FeatureArgs { geometry, ..FeatureArgs::default() });
    builder.finish_size_prefixed(feature, None);
    builder.finished_data().to_vec()
}

#[test]
fn flatgeobuf_whose_parts_are_shared_is_rejected() {
    let directory = TempDir::new().unwrap();
    // Within the limits, its parts are read: their rings are not closed.
    assert_rejected(&flatgeobuf(&directory, 1, 1, &multi_polygon(1, 10)), "a ring must be closed");
    let shared = multi_polygon(100_000, 10_000);
    assert_rejected(&flatgeobuf(&directory, 1, 1, &shared), "the feature is not valid FlatGeobuf");
    let large = multi_polygon(2, 500_001);
    assert_rejected(
        &flatgeobuf(&directory, 1, 1, &large),
        "exceeds the limit of 1000000 positions per feature",
    );
    assert_rejected(&flatgeobuf(&directory, 1_951, 1, &[]), "more than 1950 columns");
    assert_rejected(&flatgeobuf(&directory, 1, 1_000_000, &[]), "not a valid FlatGeobuf");
}

#[test]
fn shape_with_too_many_rings_or_positions_is_rejected() {
    let directory = TempDir::new().unwrap();
    let file = |parts: u32, positions: u32| {
        let mut content = 5_u32.to_le_bytes().to_vec();
        content.resize(36, 0);
        content.extend(parts.to_le_bytes());
        content.extend(positions.to_le_bytes());
        content.resize(content.len() + parts as usize * 4 + positions as usize * 16, 0);
        let mut bytes = shp(0);
        bytes.extend(1_u32.to_be_bytes());
        bytes.extend((content.len() as u32 / 2).to_be_bytes());
        write(&directory, "a.shp", [bytes, content].concat())
    };
    assert_rejected(&file(100_001, 4), "exceeds the limit of 100000 rings per feature");
    assert_rejected(&file(1, 1_000_001), "exceeds the limit of 1000000 positions per feature");
}

#[test]
fn dbf_with_too_many_fields_is_rejected() {
    let directory = TempDir::new().unwrap();
    let path = write(&directory, "a.shp", shp(0));
    let mut table = vec![3, 126, 1, 1, 0, 0, 0, 0];
    table.extend((32 + 32 * 2_000 + 1_u16).to_le_bytes());
    table.extend(2_001_u16.to_le_bytes());
    table.resize(32, 0);
    for _ in 0..2_000 {
        table.extend(b"name\0\0\0\0\0\0\0C\0\0\0\0\x01");
        table.resize(table.len() + 15, 0);
    }
    table.push(0x0D);
    write(&directory, "a.dbf", table);
    assert_rejected(&path, "more than 1950 fields");
}

#[test]
fn element_with_too_many_parts_is_rejected() {
    let directory = TempDir::new().unwrap();
    let kml = |content: String| {
        write(&directory, "a.kml", format!("<kml><Placemark>{content}</Placemark></kml>"))
    };
    let message = "an element has more than 200000 elements and attributes";
    assert_rejected(&kml("<a/>".repeat(200_001)), message);
    assert_rejected(&kml("<a b='' c=''/>".repeat(100_000)), message);
    let attributes: String = (0..200_001).map(|n| format!(" a{n}=''")).collect();
    assert_rejected(&kml(format!("<a{attributes}/>")), message);
    let gpx = |content: String| write(&directory, "a.gpx", format!("<gpx>{content}</gpx>"));
    assert_rejected(
        &gpx(format!("<wpt lat='1' lon='1'>{}</wpt>", "<a/>".repeat(200_001))),
        message,
    );
}

#[test]
fn tracks_have_as_many_points_as_they_need() {
    let directory = TempDir::new().unwrap();
    let point = "<trkpt lat='1' lon='2'><ele>3</ele><time>2026-01-31T12:00:00Z</time></trkpt>";
    let track = format!(
        "<gpx><trk><name>Walk</name><trkseg>{}</trkseg><trkseg><trkpt lat='5' lon='6'/></trkseg>\
         <trkseg>{}</trkseg></trk></gpx>",
        point.repeat(100_000),
        point.repeat(2)
    );
    let features = read(&write(&directory, "a.gpx", track)).unwrap();
    assert_eq!(features[0].properties["name"], "Walk");
    let Some(groma_geo::Geometry::MultiLineString(lines)) = &features[0].geometry else {
        panic!("{:?}", features[0].geometry.as_ref().map(groma_geo::Geometry::type_name));
    };
    assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [100_000, 2]);
}

#[test]
fn entity_with_too_much_text_is_rejected() {
    let directory = TempDir::new().unwrap();
    let text = format!("1\n{}\n", "x".repeat(1_000_000)).repeat(68);
    let drawing = format!("0\nSECTION\n2\nENTITIES\n0\nTEXT\n{text}0\nENDSEC\n0\nEOF\n");
    assert_rejected(&write(&directory, "a.dxf", drawing), "an entity is too large");
}

#[test]
fn deeply_nested_geometries_are_rejected() {
    let directory = TempDir::new().unwrap();
    let wkt = format!("{}POINT(1 1){}", "GEOMETRYCOLLECTION(".repeat(100_000), ")".repeat(100_000));
    let path = write(&directory, "a.csv", format!("wkt;a\n\"{wkt}\";1\n"));
    assert_rejected(&path, "the geometry is not valid WKT");
    let wkb = format!("{}0101000000", "010700000001000000".repeat(100_000));
    let path = write(&directory, "a.csv", format!("wkt;a\n{wkb};1\n"));
    assert_rejected(&path, "the geometry is not valid WKB");
    let nested = format!(
        "<kml><Placemark>{}<Point><coordinates>1,1</coordinates></Point>{}</Placemark></kml>",
        "<MultiGeometry>".repeat(50),
        "</MultiGeometry>".repeat(50)
    );
    assert_rejected(&write(&directory, "a.kml", nested), "geometries are nested too deeply");
}

#[test]
fn archive_with_too_many_files_is_rejected() {
    let directory = TempDir::new().unwrap();
    let names: Vec<String> = (0..10_001).map(|n| n.to_string()).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let path = archive(&directory, "a.zip", &entries);
    assert_rejected(&path, "the archive has more than 10000 files");
}

#[test]
fn geopackage_with_too_many_layers_is_rejected() {
    let directory = TempDir::new().unwrap();
    let rows = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 200000)";
    let layers = format!("INSERT INTO gpkg_contents {rows} SELECT 'lots', 'features', n FROM n");
    assert_rejected(&geopackage(&directory, &layers), "more than 1000 layers");
    let columns = format!(
        "ALTER TABLE stored RENAME TO lots; CREATE TABLE gpkg_data_columns
            (table_name TEXT, column_name TEXT, name TEXT, description TEXT, mime_type TEXT);
        INSERT INTO gpkg_data_columns {rows} SELECT 'lots', n, n, '', '' FROM n"
    );
    assert_rejected(
        &geopackage(&directory, &columns),
        "the table gpkg_data_columns has too many rows",
    );
}

#[test]
fn geopackage_with_several_geometry_columns_is_rejected() {
    let directory = TempDir::new().unwrap();
    let columns = "ALTER TABLE stored RENAME TO lots; ALTER TABLE lots ADD COLUMN centre BLOB;
        INSERT INTO gpkg_geometry_columns VALUES ('lots', 'centre', 'POINT', 4326)";
    let path = geopackage(&directory, columns);
    assert_rejected(&path, "layer `lots` has several geometry columns");
}

/// A table whose pages refer to those of another one again and again. With more levels, its rows never end.
#[test]
fn geopackage_with_more_rows_than_bytes_is_rejected() {
    let directory = TempDir::new().unwrap();
    let rows = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 20000)";
    let path = geopackage(
        &directory,
        &format!(
            "CREATE TABLE lots (fid INTEGER PRIMARY KEY, geom BLOB, name TEXT);
            INSERT INTO lots {rows} SELECT n, NULL, NULL FROM n;
            DELETE FROM stored; INSERT INTO stored {rows} SELECT n, NULL, NULL FROM n"
        ),
    );
    let mut bytes = std::fs::read(&path).unwrap();
    let connection = Connection::open(&path).unwrap();
    let root = |table: &str| {
        let sql = "SELECT rootpage FROM sqlite_master WHERE name = ?1";
        let page: u32 = connection.query_row(sql, [table], |row| row.get(0)).unwrap();
        page as usize
    };
    let (lots, stored) = (root("lots"), root("stored"));
    let size: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    drop(connection);
    let page = (lots - 1) * size as usize;
    assert_eq!(bytes[page], 5, "an interior page");
    let number = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let cells: Vec<usize> =
        (0..number(page + 3)).map(|cell| page + number(page + 12 + cell * 2)).collect();
    for at in cells.into_iter().chain([page + 8]) {
        bytes[at..at + 4].copy_from_slice(&(stored as u32).to_be_bytes());
    }
    let path = write(&directory, "loop.gpkg", bytes);
    assert_rejected(&path, "the GeoPackage is damaged: it has more rows than it can contain");
}

#[test]
fn repeated_ids_count_as_errors() {
    let directory = tempfile::tempdir().unwrap();
    let feature = r#"{"type":"Feature","geometry":null,"properties":{"code":"A"}}"#;
    let path = write(&directory, "a.geojsonl", format!("{feature}\n").repeat(1_000));
    let options = OpenOptions {
        crs: None,
        layer: None,
        geometry: None,
        id_field: Some("code".to_owned()),
        fields: Vec::new(),
        max_errors: 20,
    };
    let file = LayerFile::open(&path, LayerFormat::GeoJsonSeq, options).unwrap();
    match file.read(|_| {}, |_| Ok::<(), ()>(())) {
        Err(ReadError::Invalid(errors)) => assert_eq!(errors.len(), 20),
        other => panic!("{other:?}"),
    }
    let stopped = file.read(|_| {}, |_| Err(7));
    assert!(matches!(stopped, Err(ReadError::Stopped(7))), "{stopped:?}");
}
