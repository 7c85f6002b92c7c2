//! Files that are broken or hostile: each is rejected with a message, and memory does not follow what it claims.

mod drawings;
mod limits;
mod round_trips;
mod truncated;
mod workbooks;

use crate::{FileError, LayerFile, LayerFormat, OpenOptions};
use groma_geo::{
    Crs,
    geojson::{Feature, ReadError},
};
use rusqlite::Connection;
use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use workbooks::rows;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn write(directory: &TempDir, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, contents).unwrap();
    path
}

fn archive(directory: &TempDir, name: &str, entries: &[(&str, &[u8])]) -> PathBuf {
    let path = directory.path().join(name);
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    for (entry, contents) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(*entry, options).unwrap();
        zip.write_all(contents).unwrap();
    }
    zip.finish().unwrap();
    path
}

fn open(path: &Path) -> Result<LayerFile, FileError> {
    let format = LayerFormat::of_path(path).unwrap();
    let crs = Some(Crs::WGS84);
    LayerFile::open(
        path,
        format,
        OpenOptions {
            crs,
            layer: None,
            geometry: None,
            id_field: None,
            fields: Vec::new(),
            max_errors: 20,
        },
    )
}

/// The features of a file, or the first message about what is wrong.
fn read(path: &Path) -> Result<Vec<Feature>, String> {
    let file = open(path).map_err(|error| error.to_string())?;
    let mut features = Vec::new();
    let result = file.read(
        |_| {},
        |feature| {
            features.push(feature);
            Ok::<(), String>(())
        },
    );
    match result {
        Ok(_) => Ok(features),
        Err(ReadError::Invalid(errors)) => Err(errors[0].message.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn assert_rejected(path: &Path, message: &str) {
    match read(path) {
        Ok(features) => panic!("{} features were read", features.len()),
        Err(found) => assert!(found.contains(message), "{found}"),
    }
}

/// A `.shp` with points at (0, 0), (1, 0) and so on.
fn shp(count: u32) -> Vec<u8> {
    let mut shp = 9994_u32.to_be_bytes().to_vec();
    shp.resize(28, 0);
    shp.extend(1000_u32.to_le_bytes());
    shp.extend(1_u32.to_le_bytes());
    shp.resize(100, 0);
    for number in 0..count {
        shp.extend((number + 1).to_be_bytes());
        shp.extend(10_u32.to_be_bytes());
        shp.extend(1_u32.to_le_bytes());
        shp.extend(f64::from(number).to_le_bytes());
        shp.extend(0.0_f64.to_le_bytes());
    }
    shp
}

/// A `.dbf` with a field of 4 letters that announces so many rows.
fn dbf(announced: u32, rows: &[&[u8; 4]]) -> Vec<u8> {
    let mut dbf = vec![3, 126, 1, 1];
    dbf.extend(announced.to_le_bytes());
    dbf.extend(65_u16.to_le_bytes());
    dbf.extend(5_u16.to_le_bytes());
    dbf.resize(32, 0);
    dbf.extend(b"name\0\0\0\0\0\0\0C\0\0\0\0\x04");
    dbf.resize(64, 0);
    dbf.push(0x0D);
    for row in rows {
        dbf.push(b' ');
        dbf.extend(*row);
    }
    dbf
}

#[test]
fn dbf_that_lies_about_its_length_is_rejected() {
    let directory = TempDir::new().unwrap();
    let path = write(&directory, "a.shp", shp(2));
    write(&directory, "a.dbf", dbf(2, &[b"one ", b"two "]));
    let features = read(&path).unwrap();
    assert_eq!(features[1].properties["name"], "two");
    write(&directory, "a.dbf", dbf(u32::MAX, &[b"one ", b"two "]));
    assert_rejected(&path, "the .dbf announces 4294967295 rows, but contains 2");
    write(&directory, "a.dbf", dbf(1, &[b"one "]));
    assert_rejected(&path, "the .dbf has fewer rows than the .shp has shapes");
    write(&directory, "a.dbf", dbf(3, &[b"one ", b"two ", b"3   "]));
    assert_rejected(&path, "the .shp is truncated: the .dbf has 1 rows more");
    write(&directory, "a.dbf", &dbf(2, &[])[..40]);
    assert_rejected(&path, "the .dbf is not valid");
    write(&directory, "a.shp", &shp(2)[..150]);
    write(&directory, "a.dbf", dbf(2, &[b"one ", b"two "]));
    assert_rejected(&path, "the .shp is truncated at shape 2");
}

#[test]
fn deleted_rows_are_left_out() {
    let directory = TempDir::new().unwrap();
    let path = write(&directory, "a.shp", shp(2));
    let mut table = dbf(2, &[b"one ", b"two "]);
    table[65] = b'*';
    write(&directory, "a.dbf", table);
    let features = read(&path).unwrap();
    assert_eq!(features.len(), 1);
    assert_eq!(features[0].properties["name"], "two");
}

#[test]
fn zip_bomb_is_rejected_before_it_is_unpacked() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("bomb.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    zip.start_file("a.shp", SimpleFileOptions::default().large_file(true)).unwrap();
    std::io::copy(&mut std::io::repeat(0).take(64 << 20), &mut zip).unwrap();
    zip.finish().unwrap();
    assert_rejected(&path, "the archive unpacks to more than 200 times its size");
}

#[test]
fn paths_out_of_an_archive_and_archives_in_archives_are_rejected() {
    let directory = TempDir::new().unwrap();
    let path = archive(&directory, "a.zip", &[("../../a.shp", &shp(1))]);
    assert_rejected(&path, "the archive contains a path that leads outside of it");
    let inner = std::fs::read(archive(&directory, "inner.zip", &[("a.shp", &shp(1))])).unwrap();
    let path = archive(&directory, "outer.zip", &[("inner.zip", &inner)]);
    assert_rejected(&path, "the archive contains another archive; unpack it first");
    let path = archive(&directory, "none.zip", &[("readme.txt", b"hello")]);
    assert_rejected(&path, "the archive contains no Shapefile (.shp)");
    let path = archive(&directory, "good.zip", &[("folder/a.shp", &shp(3))]);
    assert_eq!(read(&path).unwrap().len(), 3);
}

/// A GeoPackage whose only layer is the result of this SQL.
fn geopackage(directory: &TempDir, sql: &str) -> PathBuf {
    let path = directory.path().join("a.gpkg");
    _ = std::fs::remove_file(&path);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT, identifier TEXT);
            INSERT INTO gpkg_contents VALUES ('lots', 'features', 'lots');
            CREATE TABLE gpkg_spatial_ref_sys (srs_id INTEGER, organization TEXT,
                organization_coordsys_id INTEGER, definition TEXT);
            CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT,
                geometry_type_name TEXT, srs_id INTEGER);
            INSERT INTO gpkg_geometry_columns VALUES ('lots', 'geom', 'POINT', 4326);
            CREATE TABLE stored (fid INTEGER PRIMARY KEY, geom BLOB, name TEXT);
            INSERT INTO stored VALUES (1, NULL, 'one');
            {sql}"
        ))
        .unwrap();
    path
}

#[test]
fn geopackage_runs_no_code_of_its_author() {
    let directory = TempDir::new().unwrap();
    let endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n AS fid, NULL AS geom FROM t";
    assert_rejected(
        &geopackage(&directory, &format!("CREATE VIEW lots AS {endless}")),
        "views are not read",
    );
    let view =
        format!("DROP TABLE gpkg_spatial_ref_sys; CREATE VIEW gpkg_spatial_ref_sys AS {endless}");
    assert_rejected(&geopackage(&directory, &view), "`gpkg_spatial_ref_sys` must be a table");
    let virtual_table = "CREATE VIRTUAL TABLE lots USING fts5(geom)";
    assert_rejected(&geopackage(&directory, virtual_table), "views are not read");
    let trigger = "ALTER TABLE stored RENAME TO lots;
        CREATE TRIGGER t AFTER UPDATE ON lots BEGIN DELETE FROM lots; END;";
    let path = geopackage(&directory, trigger);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(read(&path).unwrap()[0].properties["name"], "one");
    assert_eq!(std::fs::read(&path).unwrap(), before, "the file is not written");
    let quoted = "ALTER TABLE stored RENAME TO lots; ALTER TABLE lots ADD COLUMN \"a\"\"; DROP TABLE lots; --\" TEXT";
    assert_eq!(read(&geopackage(&directory, quoted)).unwrap().len(), 1);
}

#[test]
fn geopackage_with_too_many_columns_or_damage_is_rejected() {
    let directory = TempDir::new().unwrap();
    let columns: String = (0..1_960).map(|n| format!(", c{n} TEXT")).collect();
    let path = geopackage(
        &directory,
        &format!("CREATE TABLE lots (fid INTEGER PRIMARY KEY, geom BLOB{columns})"),
    );
    assert_rejected(&path, "more than 1950 columns");
    let path = geopackage(
        &directory,
        "ALTER TABLE stored RENAME TO lots; UPDATE lots SET geom = x'4750ff'",
    );
    assert_rejected(&path, "the geometry is not a GeoPackage geometry");
    let whole = std::fs::read(geopackage(&directory, "ALTER TABLE stored RENAME TO lots")).unwrap();
    for end in [0, 10, 100, 5_000, whole.len() / 2] {
        assert!(read(&write(&directory, "cut.gpkg", &whole[..end])).is_err(), "{end}");
    }
}

#[test]
fn csv_is_bounded() {
    let directory = TempDir::new().unwrap();
    let columns: String = (0..10_000_000).map(|_| ",").collect();
    assert_rejected(
        &write(&directory, "a.csv", format!("lon,lat{columns}\n")),
        "more than 1950 cells",
    );
    let names = format!("lon,lat,{}\n", "x".repeat(2 << 20));
    assert_rejected(&write(&directory, "a.csv", names), "columns have more than 1 MiB");
    let quoted = format!("lon,lat\n1,\"{}", "x".repeat(70 << 20));
    assert_rejected(&write(&directory, "a.csv", quoted), "a row has more than 64 MiB");
    let mixed = b"lon,lat,name\n1,2,caf\xc3\xa9\n1,2,caf\xe9\n";
    assert_rejected(&write(&directory, "a.csv", mixed), "the file mixes encodings");
    assert_rejected(
        &write(&directory, "a.csv", "lon,lat\n1\n"),
        "has 1 cells, but the header has 2",
    );
    assert_rejected(&write(&directory, "a.csv", "lon,lat\n1,x\n"), "`x` is not a coordinate");
    assert_rejected(&write(&directory, "a.csv", "a,b\n1,x\n"), "no column has a geometry");
    assert_rejected(&write(&directory, "a.csv", ""), "the file is empty");
    let utf_16 = b"\xFF\xFEl\0o\0n\0,\0l\0a\0t\0";
    assert_rejected(&write(&directory, "a.csv", utf_16), "the file is UTF-16; save it");
}

#[test]
fn xml_has_no_entities_and_no_endless_elements() {
    let directory = TempDir::new().unwrap();
    let file = |text: &str| write(&directory, "a.kml", text);
    assert_rejected(
        &file("<!DOCTYPE kml SYSTEM \"file:///etc/passwd\"><kml/>"),
        "are not accepted",
    );
    assert_rejected(
        &file("<kml><Placemark><name>&x;</name></Placemark></kml>"),
        "the entity `&x;` is unknown",
    );
    assert_rejected(&file("<kml><Placemark><name>"), "the file is truncated");
    assert_rejected(&file("<html></html>"), "the file is not KML");
    assert_rejected(
        &file(&format!("<kml>{}", "<a>".repeat(200))),
        "nested more than 100 levels deep",
    );
    let long = format!("<kml><Placemark><name>{}", "x".repeat(70 << 20));
    assert_rejected(&file(&long), "an element has more than 64 MiB");
    assert_rejected(&write(&directory, "a.gpx", "<kml/>"), "the file is not GPX");
}

#[test]
fn all_documents_of_a_kmz_are_read() {
    let directory = TempDir::new().unwrap();
    let point = "<kml><Placemark><Point><coordinates>1,2</coordinates></Point></Placemark></kml>";
    let main =
        "<kml><Document><NetworkLink><href>layers/lots.kml</href></NetworkLink></Document></kml>";
    let entries: [(&str, &[u8]); 3] = [
        ("layers/lots.kml", point.as_bytes()),
        ("doc.kml", main.as_bytes()),
        ("images/a.png", b"x"),
    ];
    assert_eq!(read(&archive(&directory, "a.kmz", &entries)).unwrap().len(), 1);
}

#[test]
fn broken_drawings_are_rejected() {
    let directory = TempDir::new().unwrap();
    let file = |text: &str| write(&directory, "a.dxf", text);
    assert_rejected(&file("AutoCAD Binary DXF\r\n\x1a\0"), "binary DXF is not supported");
    assert_rejected(&file("hello\nworld\n"), "is not valid DXF");
    assert_rejected(&file("0\nSECTION\n2\nENTITIES\n0\nPOINT\n10\n1\n"), "the file is truncated");
    assert_rejected(
        &file("0\nSECTION\n2\nENTITIES\n0\nPOINT\n10\n1\n0\nENDSEC\n0\nEOF\n"),
        "the POINT lacks coordinates",
    );
    let long = format!("0\nSECTION\n2\nENTITIES\n0\nTEXT\n1\n{}", "x".repeat(2 << 20));
    assert_rejected(&file(&long), "is too long");
}

#[test]
fn drawing_has_layers_blocks_and_arcs() {
    let directory = TempDir::new().unwrap();
    let text = "0\nSECTION\n2\nENTITIES\n\
        0\nINSERT\n8\nTrees\n2\nOAK\n10\n1\n20\n2\n66\n1\n0\nATTRIB\n8\nTrees\n2\nHEIGHT\n1\n12\n0\nSEQEND\n\
        0\nLWPOLYLINE\n8\nB\\U+00E2ti\n70\n1\n10\n0\n20\n0\n10\n4\n20\n0\n42\n1\n10\n4\n20\n2\n10\n0\n20\n2\n\
        0\nTEXT\n8\n0\n10\n5\n20\n5\n1\nLot 12\n\
        0\nDIMENSION\n8\n0\n10\n5\n20\n5\n\
        0\nENDSEC\n0\nEOF\n";
    let features = read(&write(&directory, "a.dxf", text)).unwrap();
    assert_eq!(features.len(), 3, "a dimension has no geometry");
    assert_eq!(features[0].properties["block"], "OAK");
    assert_eq!(features[0].properties["HEIGHT"], "12");
    assert_eq!(features[1].properties["layer"], "Bâti");
    // The half circle bulges by its radius.
    let bbox = features[1].geometry.as_ref().unwrap().bbox().unwrap();
    assert!((bbox.0[2] - 5.0).abs() < 1e-3, "{bbox:?}");
    assert_eq!(features[2].properties["text"], "Lot 12");
}

#[test]
fn flatgeobuf_with_wrong_sizes_is_rejected() {
    let directory = TempDir::new().unwrap();
    let file = |bytes: &[u8]| write(&directory, "a.fgb", bytes);
    assert_rejected(&file(b"hello"), "not a valid FlatGeobuf");
    assert_rejected(&file(b"fgb\x03fgb\x00\xff\xff\xff\xff"), "exceeds the limit");
    assert_rejected(&file(b"fgb\x03fgb\x00\x10\x00\x00\x00abc"), "the file is truncated");
    assert_rejected(&file(b"fgb\x03fgb\x00\x08\x00\x00\x00abcdefgh"), "not a valid FlatGeobuf");
}

#[test]
fn workbook_is_bounded_and_errors_are_reported() {
    let directory = TempDir::new().unwrap();
    let path = write(&directory, "a.xlsx", "hello");
    assert!(rows(&path).unwrap_err().contains("cannot be read"));
    let path = directory.path().join("bomb.xlsx");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    zip.start_file("xl/sharedStrings.xml", SimpleFileOptions::default()).unwrap();
    std::io::copy(&mut std::io::repeat(b' ').take(64 << 20), &mut zip).unwrap();
    zip.finish().unwrap();
    assert!(rows(&path).unwrap_err().contains("too many bytes"));
    let mut writer = crate::xlsx::SheetWriter::new("folders", &["name", "n", "date"]).unwrap();
    let date = serde_json::json!("2026-01-31");
    writer.write(&["=1+1".into(), serde_json::json!(-1.25), date]).unwrap();
    writer.write(&[serde_json::Value::Null, 7.into(), "2026-13-01".into()]).unwrap();
    let path = directory.path().join("good.xlsx");
    writer.finish(&mut File::create(&path).unwrap()).unwrap();
    let cell = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows(&path).unwrap(),
        [
            (1, Ok(vec![cell("name"), cell("n"), cell("date")])),
            (2, Ok(vec![cell("=1+1"), cell("-1.25"), cell("2026-01-31")])),
            (3, Ok(vec![None, cell("7"), cell("2026-13-01")])),
        ]
    );
}
