//! Reference systems: the order of axes, exact coordinates, and what collections offer.

use super::{Map, assert_problem, features, open};
use crate::on_both_engines;
use groma_testkit::{Engine, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    coordinates_are_in_the_axis_order_of_their_authority
    layer_returns_its_own_coordinates_exactly
    northing_comes_first_where_the_authority_says_so
    box_in_the_system_of_the_layer_finds_what_meets_it
    layer_in_another_system_is_read_in_all_offered_ones
    systems_of_the_workspace_are_offered
}

const EPSG: &str = "http://www.opengis.net/def/crs/EPSG/0/";
const CRS84: &str = "http://www.opengis.net/def/crs/OGC/1.3/CRS84";

fn systems_of_the_workspace_are_offered(engine: Engine) {
    let map = with_layer(engine, "OGC:CRS84", &[json!([2.25, 48.5])]);
    let items = "/collections/own/items?crs=EPSG:2154";
    assert_problem(&map.ogc(items), 400, "crs");
    let browser = crate::web::Browser::of_owner(&map.server);
    let path = "/settings/workspace";
    let save = |crs: &'static str| [("name", WORKSPACE), ("currency", "EUR"), ("crs", crs)];
    browser.submit(path, path, &save("EPSG:2154 EPSG:3035"));
    browser.page(path).shows("EPSG:2154, EPSG:3035");
    let (points, crs) = coordinates(&map, "crs=EPSG:2154");
    assert_near(&points[0], [644_636.0, 6_822_486.0], 5_000.0);
    assert_eq!(crs, format!("<{EPSG}2154>"));
    let collection: Value = map.ogc("/collections/own").json();
    let offered = json!([
        CRS84,
        format!("{EPSG}4326"),
        format!("{EPSG}3857"),
        format!("{EPSG}2154"),
        format!("{EPSG}3035")
    ]);
    assert_eq!(collection["crs"], offered);
    let rejected = browser.send_form(path, path, &save("EPSG:1"));
    assert_eq!(rejected.response.status, 400);
    browser.submit(path, path, &save(""));
    assert_problem(&map.ogc(items), 400, "crs");
}

/// A server with a layer whose coordinates are kept in a system.
fn with_layer(engine: Engine, crs: &str, coordinates: &[Value]) -> Map {
    let map = open(engine);
    map.server.run(&["layer", "create", "Own", "--crs", crs]).expect_success();
    let feature = |(index, at): (usize, &Value)| {
        let geometry = json!({ "type": "Point", "coordinates": at });
        json!({ "type": "Feature", "id": index, "properties": {}, "geometry": geometry })
    };
    let features: Vec<_> = coordinates.iter().enumerate().map(feature).collect();
    let crs = json!({ "type": "name", "properties": { "name": crs } });
    map.post(
        "?layer=own",
        &json!({ "type": "FeatureCollection", "crs": crs, "features": features }),
    );
    map
}

/// The coordinates of the points that a query finds, with the header `Content-Crs`.
#[track_caller]
fn coordinates(map: &Map, query: &str) -> (Vec<Vec<f64>>, String) {
    let response = map.ogc(&format!("/collections/own/items?{query}"));
    let crs = response.header("content-crs").unwrap().to_owned();
    let numbers = |feature: &Value| {
        let at = feature["geometry"]["coordinates"].as_array().unwrap();
        at.iter().map(|number| number.as_f64().unwrap()).collect()
    };
    (features(&response).iter().map(numbers).collect(), crs)
}

#[track_caller]
fn assert_near(found: &[f64], expected: [f64; 2], tolerance: f64) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
    }
}

fn coordinates_are_in_the_axis_order_of_their_authority(engine: Engine) {
    let map = with_layer(engine, "OGC:CRS84", &[json!([2.25, 48.5, 100.5])]);
    let read = |query: &str| {
        let (mut points, crs) = coordinates(&map, query);
        (points.remove(0), crs)
    };
    let longitude_first = (vec![2.25, 48.5, 100.5], format!("<{CRS84}>"));
    let latitude_first = (vec![48.5, 2.25, 100.5], format!("<{EPSG}4326>"));
    assert_eq!(read(""), longitude_first);
    assert_eq!(read(&format!("crs={CRS84}")), longitude_first);
    for name in [format!("{EPSG}4326"), "EPSG:4326".to_owned(), "[EPSG:4326]".to_owned()] {
        assert_eq!(read(&format!("crs={name}")), latitude_first, "{name}");
    }
    let (point, crs) = read(&format!("crs={EPSG}3857"));
    assert_near(&point, [250_468.855_61, 6_190_443.809_67], 0.01);
    assert_eq!(crs, format!("<{EPSG}3857>"));
    let items = features(&map.ogc("/collections/own/items"));
    let path = format!("/collections/own/items/{}?crs=EPSG:4326", items[0]["id"].as_str().unwrap());
    let item = map.ogc(&path);
    assert_eq!(item.header("content-crs"), Some(format!("<{EPSG}4326>").as_str()));
    let item: Value = serde_json::from_slice(&item.body).unwrap();
    assert_eq!(item["geometry"]["coordinates"], json!([48.5, 2.25, 100.5]));
}

fn layer_returns_its_own_coordinates_exactly(engine: Engine) {
    let sent = [json!([652_381.327, 6_862_047.611]), json!([652_381.327_4, 6_862_047.0])];
    let map = with_layer(engine, "EPSG:2154", &sent);
    let own = map.ogc("/collections/own").json();
    assert_eq!(own["storageCrs"], format!("{EPSG}2154"));
    assert_eq!(
        own["crs"],
        json!([CRS84, format!("{EPSG}2154"), format!("{EPSG}4326"), format!("{EPSG}3857")])
    );
    let (points, _) = coordinates(&map, &format!("crs={EPSG}2154"));
    assert_eq!(points, [[652_381.327, 6_862_047.611], [652_381.327_4, 6_862_047.0]]);
    let (points, _) = coordinates(&map, "");
    assert_near(&points[0], [2.350_99, 48.856_67], 0.01);
}

fn northing_comes_first_where_the_authority_says_so(engine: Engine) {
    // Posted easting first, as usual in GeoJSON.
    let map = with_layer(engine, "EPSG:3035", &[json!([4_321_000.5, 3_210_000.25])]);
    let (points, _) = coordinates(&map, &format!("crs={EPSG}3035"));
    assert_eq!(points, [[3_210_000.25, 4_321_000.5]]);
    let near = format!("bbox=3210000,4321000,3210001,4321001&bbox-crs={EPSG}3035");
    assert_eq!(coordinates(&map, &near).0.len(), 1);
}

fn box_in_the_system_of_the_layer_finds_what_meets_it(engine: Engine) {
    let sent: Vec<_> =
        (0..50).map(|n| json!([600_000.0 + f64::from(n) * 1_000.0, 6_800_000.0])).collect();
    let map = with_layer(engine, "EPSG:2154", &sent);
    let found = |bbox: &str| {
        coordinates(&map, &format!("bbox={bbox}&bbox-crs={EPSG}2154&limit=100")).0.len()
    };
    // The sides are part of the box, to the millimetre.
    assert_eq!(found("602000,6800000,605000,6800000"), 4);
    assert_eq!(found("602000.001,6799999,605000,6800001"), 3);
    assert_eq!(found("0,0,1e9,1e9"), 50);
    assert_eq!(found("-1e300,-1e300,1e300,1e300"), 50);
    assert_eq!(found("0,0,1,1"), 0);
    assert_problem(
        &map.ogc(&format!("/collections/own/items?bbox=2,1,1,2&bbox-crs={EPSG}2154")),
        400,
        "bbox must have the lower corner first",
    );
}

fn layer_in_another_system_is_read_in_all_offered_ones(engine: Engine) {
    let map = with_layer(engine, "EPSG:2056", &[json!([2_600_072.341_2, 1_199_545.017_3])]);
    let offered = map.ogc("/collections/own").json()["crs"].clone();
    for uri in offered.as_array().unwrap() {
        let (points, crs) = coordinates(&map, &format!("crs={}", uri.as_str().unwrap()));
        assert_eq!((points.len(), crs), (1, format!("<{}>", uri.as_str().unwrap())));
    }
}
