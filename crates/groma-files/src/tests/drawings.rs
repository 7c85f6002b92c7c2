//! Drawings: coordinate systems, hatches, symbols, and entities that are left out.

use super::*;
use groma_geo::{Geometry, Position};

/// A drawing with these entities: codes and values without spaces.
fn drawing(directory: &TempDir, entities: &str) -> PathBuf {
    let all = format!("0 SECTION 2 ENTITIES {entities} 0 ENDSEC 0 EOF");
    write(directory, "a.dxf", all.split_whitespace().collect::<Vec<_>>().join("\n"))
}

fn positions(feature: &Feature) -> Vec<Position> {
    let mut positions = Vec::new();
    feature.geometry.as_ref().unwrap().each_position(&mut |at| positions.push(at));
    positions
}

/// The notices about the whole drawing.
fn left_out(features: &[Feature]) -> Vec<String> {
    let notices = features.iter().flat_map(|feature| &feature.notices);
    let messages = notices.map(|notice| notice.message.to_string());
    messages.filter(|message| message.contains("left out")).collect()
}

/// The same if the first feature of the drawing is rejected.
fn left_out_with_a_rejected_feature(directory: &TempDir, rest: &str) -> Vec<String> {
    let path = drawing(directory, &format!("0 POINT 10 999 20 2 {rest} 0 POINT 10 3 20 4"));
    let mut features = Vec::new();
    let result = open(&path).unwrap().read(
        |_| {},
        |feature| {
            features.push(feature);
            Ok::<(), String>(())
        },
    );
    assert!(matches!(result, Err(ReadError::Invalid(errors)) if errors.len() == 1));
    assert_eq!(features.len(), 1);
    left_out(&features)
}

#[track_caller]
fn assert_at(found: Position, x: f64, y: f64, z: Option<f64>) {
    assert!((found.x - x).abs() < 1e-9 && (found.y - y).abs() < 1e-9, "{found:?}");
    assert_eq!(found.z, z);
}

#[track_caller]
fn assert_bbox(feature: &Feature, expected: [f64; 4]) {
    let bbox = feature.geometry.as_ref().unwrap().bbox().unwrap();
    let is_near = bbox.0.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3);
    assert!(is_near, "{bbox:?} instead of {expected:?}");
}

#[test]
fn entities_seen_from_below_are_mirrored() {
    let directory = TempDir::new().unwrap();
    let below = "210 0 220 0 230 -1";
    let entities = format!(
        "0 LWPOLYLINE 38 7 10 1 20 0 42 1 10 3 20 0 {below}
         0 POLYLINE 66 1 10 0 20 0 30 5 {below} 0 VERTEX 10 1 20 2 0 VERTEX 10 3 20 4 0 SEQEND
         0 ARC 10 1 20 2 40 1 50 0 51 90 {below}
         0 CIRCLE 10 5 20 5 40 1 {below}
         0 TEXT 10 5 20 6 50 30 1 Lot {below}
         0 INSERT 2 OAK 10 0 20 6 30 2 {below}
         0 SOLID 10 1 20 1 11 3 21 1 12 1 22 2 13 3 23 2 {below}
         0 HATCH 10 0 20 0 30 3 {below} 91 1 92 2 72 0 73 1 93 3 10 1 20 0 10 2 20 0 10 2 20 1
           97 0 75 0 76 1 98 1 10 9 20 9"
    );
    let features = read(&drawing(&directory, &entities)).unwrap();
    let light = positions(&features[0]);
    assert_at(light[0], -1.0, 0.0, Some(-7.0));
    assert_at(light[light.len() - 1], -3.0, 0.0, Some(-7.0));
    assert_bbox(&features[0], [-3.0, -1.0, -1.0, 0.0]);
    let line = positions(&features[1]);
    assert_at(line[0], -1.0, 2.0, Some(-5.0));
    assert_at(line[1], -3.0, 4.0, Some(-5.0));
    assert_bbox(&features[2], [-2.0, 2.0, -1.0, 3.0]);
    assert_bbox(&features[3], [-6.0, 4.0, -4.0, 6.0]);
    assert_at(positions(&features[4])[0], -5.0, 6.0, None);
    assert_eq!(features[4].properties["rotation"], 150);
    let block = positions(&features[5])[0];
    assert_at(block, 0.0, 6.0, Some(-2.0));
    assert!(block.x.is_sign_positive(), "not -0");
    assert_bbox(&features[6], [-3.0, 1.0, -1.0, 2.0]);
    assert_bbox(&features[7], [-2.0, 0.0, -1.0, 1.0]);
    assert_eq!(positions(&features[7])[0].z, Some(-3.0));
    assert_eq!(left_out(&features), Vec::<String>::new());
}

#[test]
fn entities_in_world_coordinates_stay_where_they_are() {
    let directory = TempDir::new().unwrap();
    let below = "210 0 220 0 230 -1";
    let entities = format!(
        "0 POINT 10 1 20 2 {below}
         0 LINE 10 1 20 2 11 3 21 4 210 1 220 0 230 0
         0 POLYLINE 66 1 70 8 10 0 20 0 30 0 {below} 0 VERTEX 70 32 10 1 20 2 30 3
           0 VERTEX 70 32 10 4 20 5 30 6 0 SEQEND
         0 MTEXT 10 1 20 2 50 30 1 Lot {below}
         0 ELLIPSE 10 0 20 0 11 2 21 0 40 0.5 41 0 42 1.5707963267948966 {below}
         0 CIRCLE 10 5 20 5 40 1 210 1e-16 220 0 230 1"
    );
    let features = read(&drawing(&directory, &entities)).unwrap();
    assert_at(positions(&features[0])[0], 1.0, 2.0, None);
    assert_at(positions(&features[1])[1], 3.0, 4.0, None);
    assert_at(positions(&features[2])[1], 4.0, 5.0, Some(6.0));
    assert_at(positions(&features[3])[0], 1.0, 2.0, None);
    assert_eq!(features[3].properties["rotation"], 30);
    // Only the direction of its angles is reversed.
    assert_bbox(&features[4], [0.0, -1.0, 2.0, 0.0]);
    assert_bbox(&features[5], [4.0, 4.0, 6.0, 6.0]);
}

#[test]
fn entities_that_are_left_out_are_counted() {
    let directory = TempDir::new().unwrap();
    let rest = "0 DIMENSION 10 1 20 2 0 VIEWPORT 10 1 20 2 0 SPLINE 70 8 0 DIMENSION 10 1 20 2
        0 CIRCLE 10 5 20 5 40 1 210 0 220 0.6 230 0.8
        0 HATCH 10 0 20 0 30 0 91 1 92 1 93 1 72 2 10 0 20 0 40 1 50 0 51 360 73 1 97 0 75 0";
    let path = drawing(&directory, &format!("0 POINT 10 1 20 2 {rest} 0 POINT 10 3 20 4"));
    let features = read(&path).unwrap();
    assert_eq!(features.len(), 2);
    let expected = [
        "entities that cannot be read as features were left out: DIMENSION (2), HATCH (1), SPLINE (1)",
        "entities that are not drawn in a horizontal plane were left out: CIRCLE (1)",
    ];
    assert_eq!(left_out(&features[..1]), expected);
    assert!(features[1].notices.is_empty());
    assert_eq!(left_out_with_a_rejected_feature(&directory, rest), expected);
    assert_rejected(
        &drawing(&directory, rest),
        "the drawing has no entity that can be read as a feature, only DIMENSION (2), HATCH (1), SPLINE (1), \
         CIRCLE (1)",
    );
    assert_eq!(read(&drawing(&directory, "0 VIEWPORT 10 1 20 2")).unwrap().len(), 0);
    let kinds: String = (0..100).map(|number| format!("0 KIND{number} 8 0 ")).collect();
    let features = read(&drawing(&directory, &format!("0 POINT 10 1 20 2 {kinds}"))).unwrap();
    assert!(left_out(&features)[0].ends_with(", … (80)"), "{:?}", left_out(&features));
}

#[test]
fn hatches_are_polygons() {
    let directory = TempDir::new().unwrap();
    // As GDAL writes the two parts of a polygon; the second one with an arc instead of a vertex.
    let entities = "0 HATCH 5 20000 100 AcDbEntity 8 Lots 100 AcDbHatch 10 0 20 0 30 0 210 0 220 0 230 1 2 SOLID
        70 1 71 0 91 2 92 2 72 0 73 1 93 5 10 0 20 0 10 10 20 0 10 10 20 10 10 0 20 10 10 0 20 0 97 0
        92 2 72 0 73 1 93 5 10 1 20 1 10 1 20 2 10 2 20 2 10 2 20 1 10 1 20 1 97 0 75 0 76 1 98 0
        0 HATCH 5 20001 8 Lots 10 0 20 0 30 0 210 0 220 0 230 1 2 SOLID 70 1 71 0
        91 1 92 2 72 1 73 1 93 2 10 20 20 0 42 0 10 22 20 0 42 1 97 0 75 0 76 1 98 0
        0 HATCH 8 Lots 10 0 20 0 30 0 91 2 92 2 72 0 73 1 93 3 10 30 20 0 10 31 20 0 10 30 20 1 97 0
        92 18 72 0 73 1 93 3 10 40 20 0 10 41 20 0 10 40 20 1 97 0 75 0 76 1 98 0";
    let features = read(&drawing(&directory, entities)).unwrap();
    assert_eq!(features.len(), 3);
    assert_eq!(left_out(&features), Vec::<String>::new());
    assert_eq!(features[0].properties["entity"], "HATCH");
    assert_eq!(features[0].properties["layer"], "Lots");
    match features[0].geometry.as_ref().unwrap() {
        Geometry::Polygon(rings) => {
            assert_eq!(rings.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
        }
        other => panic!("{}", other.type_name()),
    }
    assert_bbox(&features[0], [0.0, 0.0, 10.0, 10.0]);
    // A half circle.
    assert_bbox(&features[1], [20.0, 0.0, 22.0, 1.0]);
    assert_eq!(features[2].geometry.as_ref().unwrap().type_name(), "MultiPolygon");
}

#[test]
fn symbols_in_texts_are_read() {
    let directory = TempDir::new().unwrap();
    let entities = "0 TEXT 10 1 20 2 1 45%%d%%%%p0.5%%C12%%u
        0 MTEXT 10 1 20 2 1 90%%D\\P5
        0 INSERT 2 %%d 10 1 20 2 66 1 0 ATTRIB 2 TAG 1 %%c8 0 SEQEND";
    let features = read(&drawing(&directory, entities)).unwrap();
    assert_eq!(features[0].properties["text"], "45°%%±0.5⌀12%%u");
    assert_eq!(features[1].properties["text"], "90°\n5");
    assert_eq!(features[2].properties["TAG"], "⌀8");
    assert_eq!(features[2].properties["block"], "%%d");
}
