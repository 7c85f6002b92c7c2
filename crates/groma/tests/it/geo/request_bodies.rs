//! Request bodies: media type, size limit and compression.

use super::{GEOJSON, Map, collection, feature, point};
use crate::on_both_engines;
use groma_testkit::{API, Engine, Response};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};

const SMALL_LIMIT: (&str, &str) = ("GROMA_LIMITS__GEOJSON_BYTES", "2000");

/// A point, padded with spaces to this length.
fn padded(length: usize) -> Vec<u8> {
    let mut body = point(2.0, 48.0).to_string().into_bytes();
    body.resize(length, b' ');
    body
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn brotli(body: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    brotli::CompressorReader::new(body, 4096, 2, 22).read_to_end(&mut packed).unwrap();
    packed
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::encode_all(body, 3).unwrap()
}

/// The beginning of a collection followed by at least half a gigabyte of spaces, compressed.
fn bombs() -> [(&'static str, Vec<u8>); 3] {
    let start = br#"{"type":"FeatureCollection","features":["#;
    let blanks = vec![b' '; 1 << 20];
    // Concatenated members form one body, except with brotli.
    let pieces = |pack: Compress| [pack(start), pack(&blanks).repeat(1 << 9)].concat();
    let long = [&start[..], &vec![b' '; 1 << 25]].concat();
    [("gzip", pieces(gzip)), ("zstd", pieces(zstd)), ("br", brotli(&long))]
}

on_both_engines! {
    only_json_media_types_are_accepted
    body_over_the_limit_is_rejected
    rejected_request_keeps_the_connection_usable_or_closes_it
    chunked_body_is_accepted
    truncated_body_is_not_stored
    compressed_bodies_are_decompressed
    body_with_the_wrong_encoding_is_rejected
}

fn only_json_media_types_are_accepted(engine: Engine) {
    let map = Map::open(engine);
    let body = point(2.0, 48.0).to_string();
    for kind in [
        "application/json",
        "application/geo+json",
        "Application/Geo+JSON",
        "application/json; charset=utf-8",
        "application/geo+json;x=y",
        " application/json ",
    ] {
        map.post_as("", body.clone(), &[("Content-Type", kind)]).ok();
    }
    let message = "Content-Type must be application/json or application/geo+json";
    for kind in [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/geojson",
        "application/json+geo",
        "application/geo+json-seq",
        "json",
        "",
        "*/*",
    ] {
        map.post_as("", body.clone(), &[("Content-Type", kind)]).assert_error(400, message);
    }
    map.post_as("", body, &[]).assert_error(400, message);
    assert_eq!(map.count(), 6);
}

fn body_over_the_limit_is_rejected(engine: Engine) {
    let map = Map::open_with(engine, &[SMALL_LIMIT]);
    map.try_post("", padded(2000)).ok();
    let message = "The body is larger than 2000 bytes";
    // The client gets the response, however large the body is.
    for length in [2001, 3000, 100_000, 3_000_000, 40_000_000] {
        map.try_post("", padded(length)).assert_error(400, message);
    }
    // The limit applies to the decompressed body.
    for (encoding, pack) in ENCODINGS {
        let headers = [("Content-Type", "application/json"), ("Content-Encoding", encoding)];
        map.post_as("", pack(&padded(2000)), &headers).ok();
        map.post_as("", pack(&padded(2001)), &headers).assert_error(400, message);
    }
    assert_eq!(map.count(), 4);
}

fn rejected_request_keeps_the_connection_usable_or_closes_it(engine: Engine) {
    let map = Map::open(engine);
    // Rejected before the body arrives.
    let request = format!(
        "POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n",
        map.token
    );
    for (head, status) in [
        (format!("{request}Content-Type: text/plain\r\n"), 400),
        (format!("POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\n"), 401),
        (format!("POST {API}/nowhere HTTP/1.1\r\nHost: x\r\n"), 404),
    ] {
        let mut stream = map.server.geo().connect();
        let body = point(2.0, 48.0).to_string();
        write!(stream, "{head}Content-Length: {}\r\n\r\n", body.len()).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        // This client sends the body after the response.
        let first = Response::read(&mut reader);
        assert_eq!(first.status, status);
        if first.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            continue;
        }
        let next = format!(
            "GET {API}/layers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
            map.token
        );
        stream.write_all(format!("{body}{next}").as_bytes()).unwrap();
        assert_eq!(Response::read(&mut reader).status, 200, "after a {status} response");
    }
}

fn chunked_body_is_accepted(engine: Engine) {
    let map = Map::open_with(engine, &[SMALL_LIMIT]);
    let head = format!(
        "POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        map.token,
    );
    let chunks = |body: &[u8]| {
        let mut request = head.clone().into_bytes();
        for piece in body.chunks(7) {
            request.extend(format!("{:x}\r\n", piece.len()).bytes());
            request.extend_from_slice(piece);
            request.extend(b"\r\n");
        }
        request.extend(b"0\r\n\r\n");
        request
    };
    let geo = map.server.geo();
    assert_eq!(geo.send_raw(&chunks(&padded(1999))).status, 200);
    let response = geo.send_raw(&chunks(&padded(2001)));
    response.assert_error(400, "The body is larger than 2000 bytes");
    assert_eq!(map.count(), 1);
}

fn truncated_body_is_not_stored(engine: Engine) {
    let map = Map::open(engine);
    map.post("", &point(2.0, 48.0));
    let request = format!(
        "POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{}",
        map.token,
        point(3.0, 48.0),
    );
    for _ in 0..3 {
        let mut stream = map.server.geo().connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
    }
    assert_eq!(map.count(), 1);
}

fn compressed_bodies_are_decompressed(engine: Engine) {
    let map = Map::open(engine);
    let features: Vec<_> =
        (0..500_u32).map(|n| feature(json!(n), point(2.0, 48.0), json!({ "n": n }))).collect();
    let body = collection(&features).to_string().into_bytes();
    let mut expected = [500, 0];
    for (encoding, pack) in ENCODINGS.into_iter().chain([
        ("GZip", gzip as Compress),
        ("x-gzip", gzip),
        ("identity", <[u8]>::to_vec),
    ]) {
        let headers = [("Content-Type", "application/geo+json"), ("Content-Encoding", encoding)];
        let response = map.post_as("", pack(&body), &headers).ok();
        let counts = ["created", "unchanged"].map(|name| response[name].as_u64().unwrap());
        assert_eq!(counts, expected, "{encoding}");
        expected = [0, 500];
    }
    // Two gzip members form one body.
    let (first, second) = body.split_at(1000);
    let both = [gzip(first), gzip(second)].concat();
    let headers = [("Content-Type", "application/geo+json"), ("Content-Encoding", "gzip")];
    assert_eq!(map.post_as("", both, &headers).ok()["unchanged"], 500);
}

fn body_with_the_wrong_encoding_is_rejected(engine: Engine) {
    let map = Map::open(engine);
    let body = point(2.0, 48.0).to_string().into_bytes();
    map.try_post("", body.clone()).ok();
    let json = ("Content-Type", "application/json");
    for encoding in ["deflate", "gzip, br", "compress", "lzma", "aes128gcm", "*"] {
        let response = map.post_as("", body.clone(), &[json, ("Content-Encoding", encoding)]);
        response.assert_error(400, "Content-Encoding must be gzip, br or zstd");
    }
    for (encoding, pack) in ENCODINGS {
        let packed = pack(&padded(4000));
        let mut flipped = packed.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0xff;
        for wrong in [body.clone(), packed[..packed.len() - 3].to_vec(), flipped, Vec::new()] {
            let response = map.post_as("", wrong.clone(), &[json, ("Content-Encoding", encoding)]);
            assert_eq!(response.status, 400, "{encoding}: {wrong:?}");
            assert!(!response.json()["message"].as_str().unwrap().is_empty());
        }
    }
    assert_eq!(map.count(), 1);
}

// Reading a body does not depend on the engine.

/// The response to the first bytes of a body that never ends.
fn respond_to_beginning(map: &Map, encoding: &str, beginning: &[u8]) -> Response {
    let mut stream = map.server.geo().connect();
    let head = format!(
        "POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
        map.token,
        1_u64 << 40,
    );
    stream.write_all(&[head.as_bytes(), beginning].concat()).unwrap();
    Response::read(&mut BufReader::new(stream))
}

#[test]
fn body_is_rejected_at_its_first_error_without_the_rest() {
    // The server buffers 1 MiB before it starts to parse.
    const SENT: usize = 3 << 19;
    let map = Map::open(Engine::Sqlite);
    let rest = |start: &str, filler: &str| {
        let mut body = start.to_owned() + &filler.repeat(SENT / filler.len() + 1);
        body.truncate(SENT);
        body
    };
    let valid = feature(Value::Null, point(2.0, 48.0), json!({})).to_string() + ",";
    let bad_features = r#"{"type":"FeatureCollection","features":["#.to_owned() + &"0,".repeat(20);
    for (what, body, pointer) in [
        ("not JSON", rest("<gml/>", " "), ""),
        ("arrays nested without end", rest(r#"{"note":"#, "["), "/note"),
        ("objects nested without end", rest("", "{\"a\":"), "/a"),
        ("a number without end", rest(r#"{"type":"Point","coordinates":["#, "9"), "/coordinates/0"),
        ("20 invalid features before valid ones", rest(&bad_features, &valid), "/features/0"),
    ] {
        let response = respond_to_beginning(&map, "identity", body.as_bytes());
        let found = response.error_pointers().remove(0);
        assert!(found.starts_with(pointer), "{what}: {found}");
        assert_eq!(response.header("connection"), Some("close"), "{what}");
    }
}

#[test]
fn body_over_the_limit_is_rejected_without_the_rest() {
    const LIMIT: usize = 2 << 20;
    let map =
        Map::open_with(Engine::Sqlite, &[("GROMA_LIMITS__GEOJSON_BYTES", &LIMIT.to_string())]);
    let message = format!("The body is larger than {LIMIT} bytes");
    // The first byte beyond the limit is enough.
    respond_to_beginning(&map, "identity", &padded(LIMIT + 1)).assert_error(400, &message);
    for (encoding, mut bomb) in bombs() {
        assert!(bomb.len() < 1 << 20, "the {encoding} bomb is too large: {}", bomb.len());
        // Padding, because the server buffers 1 MiB before it decompresses.
        bomb.resize(1 << 20, 0);
        respond_to_beginning(&map, encoding, &bomb).assert_error(400, &message);
    }
    map.post("", &point(2.0, 48.0));
    assert_eq!(map.count(), 1);
}

#[test]
fn invalid_feature_after_many_valid_ones_rejects_the_body() {
    let map = Map::open(Engine::Sqlite);
    map.post("", &point(2.0, 48.0));
    let one = |n: usize| feature(json!(n), point(2.0, 48.0), json!({}));
    let features: Vec<Value> = (0..16_000).map(one).chain([json!(0)]).collect();
    let body = collection(&features).to_string();
    assert_eq!(map.try_post("", body).error_pointers(), ["/features/16000"]);
    assert_eq!(map.count(), 1);
}

type Compress = fn(&[u8]) -> Vec<u8>;

const ENCODINGS: [(&str, Compress); 3] = [("gzip", gzip), ("br", brotli), ("zstd", zstd)];
