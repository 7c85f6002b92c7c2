//! Filters and sort orders of the OGC API.

use super::{changed, fuzz, post_geojson, server};
use serde_json::json;

#[test]
fn filters_break_nothing() {
    let (server, token) = server();
    let features: Vec<_> = (0..20)
        .map(|n| {
            json!({ "type": "Feature", "id": n, "properties": { "n": n, "t": "abc", "b": true },
                "geometry": { "type": "Point", "coordinates": [n, n] } })
        })
        .collect();
    let body = json!({ "type": "FeatureCollection", "features": features }).to_string();
    assert_eq!(post_geojson(&server, &token, body.as_bytes()).status, 200);
    let words = [
        "filter=",
        "&filter-lang=cql2-json",
        "&filter-lang=cql2-text",
        "&filter-crs=EPSG:4326",
        "&sortby=-n",
        "&cursor=1.2.AAAA",
        "&bbox=0,0,1,1",
        "(",
        ")",
        "((((((((((((((((",
        "NOT ",
        " AND ",
        " OR ",
        " IS NULL",
        " IN (",
        " LIKE '%_\\\\'",
        " BETWEEN ",
        "CASEI(",
        "ACCENTI(",
        "DATE('2026-02-28')",
        "TIMESTAMP('9999-12-31T23:59:59Z')",
        "INTERVAL('..', '..')",
        "S_INTERSECTS(geometry, ",
        "S_CROSSES(geometry, geometry)",
        "S_TOUCHES(",
        "BBOX(179, -1, -179, 1)",
        "BBOX(0,0,0,0)",
        "POINT(1 2)",
        "LINESTRING(0 0, 0 0)",
        "POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))",
        "MULTIPOLYGON(((0 0, 2 0, 2 2, 0 2, 0 0)), ((1 1, 3 1, 3 3, 1 3, 1 1)))",
        "GEOMETRYCOLLECTION(",
        "1e308",
        "-1e-308",
        "'é'",
        "\"n\"",
        "''",
        "TRUE",
        "{\"op\":\"not\",\"args\":[",
        "{\"property\":\"n\"}",
        "{\"bbox\":[0,0,1,1]}",
        "{\"interval\":[\"..\",\"..\"]}",
        "[[[[",
        "\\ud800",
        "\u{0}",
    ];
    fuzz(
        "filters",
        400,
        |corpus| changed(corpus, &words),
        |query| {
            let sent: String = query
                .iter()
                .map(|byte| match byte {
                    b'&' | b'=' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' => {
                        char::from(*byte).to_string()
                    }
                    byte => format!("%{byte:02X}"),
                })
                .collect();
            // HTTP accepts no longer request target.
            if sent.len() > 8_000 {
                return;
            }
            let path = format!("/ogc/collections/submissions/items?{sent}");
            let response = server.geo().request("GET", &path).token(&token).send();
            assert!([200, 400].contains(&response.status), "{response:?}");
            if response.status == 200 {
                let page = response.json();
                let matched = page["numberMatched"].as_u64().unwrap();
                assert!(page["numberReturned"].as_u64().unwrap() <= matched.min(20), "{page}");
            }
        },
    );
}
