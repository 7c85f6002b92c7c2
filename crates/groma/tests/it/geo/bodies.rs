//! Bodies: their media type, how large they may be, and how they may be packed.

use super::{GEOJSON, Map, collection, feature, point};
use crate::{
    client::{API, Answer},
    database::Engine,
    on_both_engines,
};
use serde_json::{Value, json};
use std::{
    io::{BufReader, Read, Write},
    time::Instant,
};

const SMALL: (&str, &str) = ("GROMA_LIMITS__GEOJSON_BYTES", "2000");

/// A point with blanks behind it, so many bytes in all.
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

/// The beginning of a collection and blanks behind it, half a gigabyte of them or more, in little
/// more than what a gigabyte of blanks is packed to.
fn bombs() -> [(&'static str, Vec<u8>); 3] {
    let start = br#"{"type":"FeatureCollection","features":["#;
    let blanks = vec![b' '; 1 << 20];
    // Packed pieces behind each other are one body, but for brotli.
    let pieces = |pack: Pack| [pack(start), pack(&blanks).repeat(1 << 9)].concat();
    let long = [&start[..], &vec![b' '; 1 << 25]].concat();
    [("gzip", pieces(gzip)), ("zstd", pieces(zstd)), ("br", brotli(&long))]
}

on_both_engines! {
    fn only_json_is_taken(engine: Engine) {
        let map = Map::open(engine);
        let body = point(2.0, 48.0).to_string();
        for kind in [
            "application/json", "application/geo+json", "Application/Geo+JSON", "application/json; charset=utf-8",
            "application/geo+json;x=y", " application/json ",
        ] {
            map.post_as("", body.clone(), &[("Content-Type", kind)]).ok();
        }
        let message = "Content-Type must be application/json or application/geo+json";
        for kind in [
            "text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
            "application/geojson", "application/json+geo", "application/geo+json-seq", "json", "", "*/*",
        ] {
            map.post_as("", body.clone(), &[("Content-Type", kind)]).is_error(400, message);
        }
        map.post_as("", body, &[]).is_error(400, message);
        assert_eq!(map.count(), 6);
    }

    fn a_body_is_no_larger_than_is_allowed(engine: Engine) {
        let map = Map::open_with(engine, &[SMALL]);
        map.try_post("", padded(2000)).ok();
        let message = "The body is larger than 2000 bytes";
        // However much there is of it, the client is told.
        for length in [2001, 3000, 100_000, 3_000_000, 40_000_000] {
            map.try_post("", padded(length)).is_error(400, message);
        }
        // Counted after it is unpacked.
        for (encoding, pack) in PACKINGS {
            let headers = [("Content-Type", "application/json"), ("Content-Encoding", encoding)];
            map.post_as("", pack(&padded(2000)), &headers).ok();
            map.post_as("", pack(&padded(2001)), &headers).is_error(400, message);
        }
        assert_eq!(map.count(), 4);
    }

    fn a_request_that_is_refused_leaves_the_connection_usable_or_says_that_it_ends(engine: Engine) {
        let map = Map::open(engine);
        // Refused by its head, before the body has come.
        let ask = format!("POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n", map.token);
        for (head, status) in [
            (format!("{ask}Content-Type: text/plain\r\n"), 400),
            (format!("POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\n"), 401),
            (format!("POST {API}/nowhere HTTP/1.1\r\nHost: x\r\n"), 404),
        ] {
            let mut stream = map.office.geo().connect();
            let body = point(2.0, 48.0).to_string();
            write!(stream, "{head}Content-Length: {}\r\n\r\n", body.len()).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            // A client sends its body as soon as it can; here it can when it has been answered.
            let first = Answer::read(&mut reader);
            assert_eq!(first.status, status);
            if first.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
                continue;
            }
            let next = format!("GET {API}/layers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", map.token);
            stream.write_all(format!("{body}{next}").as_bytes()).unwrap();
            assert_eq!(Answer::read(&mut reader).status, 200, "after a {status}");
        }
    }

    fn a_body_in_chunks_is_read_like_another(engine: Engine) {
        let map = Map::open_with(engine, &[SMALL]);
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
        let geo = map.office.geo();
        assert_eq!(geo.send_raw(&chunks(&padded(1999))).status, 200);
        let answer = geo.send_raw(&chunks(&padded(2001)));
        answer.is_error(400, "The body is larger than 2000 bytes");
        assert_eq!(map.count(), 1);
    }

    fn a_body_that_ends_too_early_is_not_kept(engine: Engine) {
        let map = Map::open(engine);
        map.post("", &point(2.0, 48.0));
        let request = format!(
            "POST {API}{GEOJSON} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{}",
            map.token, point(3.0, 48.0),
        );
        for _ in 0..3 {
            let mut stream = map.office.geo().connect();
            stream.write_all(request.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
        }
        assert_eq!(map.count(), 1);
    }

    fn packed_bodies_are_unpacked(engine: Engine) {
        let map = Map::open(engine);
        let features: Vec<_> = (0..500_u32).map(|n| feature(json!(n), point(2.0, 48.0), json!({ "n": n }))).collect();
        let body = collection(&features).to_string().into_bytes();
        let mut expected = [500, 0];
        for (encoding, pack) in PACKINGS.into_iter().chain([("GZip", gzip as Pack), ("x-gzip", gzip), ("identity", <[u8]>::to_vec)]) {
            let headers = [("Content-Type", "application/geo+json"), ("Content-Encoding", encoding)];
            let answer = map.post_as("", pack(&body), &headers).ok();
            let counts = ["created", "unchanged"].map(|name| answer[name].as_u64().unwrap());
            assert_eq!(counts, expected, "{encoding}");
            expected = [0, 500];
        }
        // Two members of gzip are one body.
        let (first, second) = body.split_at(1000);
        let both = [gzip(first), gzip(second)].concat();
        let headers = [("Content-Type", "application/geo+json"), ("Content-Encoding", "gzip")];
        assert_eq!(map.post_as("", both, &headers).ok()["unchanged"], 500);
    }

    fn a_body_that_is_not_packed_as_it_says_is_refused(engine: Engine) {
        let map = Map::open(engine);
        let body = point(2.0, 48.0).to_string().into_bytes();
        map.try_post("", body.clone()).ok();
        let json = ("Content-Type", "application/json");
        for encoding in ["deflate", "gzip, br", "compress", "lzma", "aes128gcm", "*"] {
            let answer = map.post_as("", body.clone(), &[json, ("Content-Encoding", encoding)]);
            answer.is_error(400, "Content-Encoding must be gzip, br or zstd");
        }
        for (encoding, pack) in PACKINGS {
            let packed = pack(&padded(4000));
            let mut flipped = packed.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 0xff;
            for wrong in [body.clone(), packed[..packed.len() - 3].to_vec(), flipped, Vec::new()] {
                let answer = map.post_as("", wrong.clone(), &[json, ("Content-Encoding", encoding)]);
                assert_eq!(answer.status, 400, "{encoding}: {wrong:?}");
                assert!(!answer.json()["message"].as_str().unwrap().is_empty());
            }
        }
        assert_eq!(map.count(), 1);
    }
}

// How a body is read has nothing to do with the engine behind it.

#[test]
fn a_bomb_goes_off_in_a_small_room() {
    const LIMIT: u64 = 1 << 20;
    let map =
        Map::open_with(Engine::Sqlite, &[("GROMA_LIMITS__GEOJSON_BYTES", &LIMIT.to_string())]);
    map.post("", &point(2.0, 48.0));
    let before = map.office.program().peak_memory();
    for (encoding, bomb) in bombs() {
        assert!((bomb.len() as u64) < LIMIT, "{encoding} packs it small: {}", bomb.len());
        let begin = Instant::now();
        let headers = [("Content-Type", "application/json"), ("Content-Encoding", encoding)];
        let answer = map.post_as("", bomb, &headers);
        answer.is_error(400, &format!("The body is larger than {LIMIT} bytes"));
        assert!(begin.elapsed().as_secs_f64() < 5.0, "{encoding}: {:?}", begin.elapsed());
    }
    let grown = map.office.program().peak_memory() - before;
    assert!(grown < 64 << 20, "it took {grown} bytes");
    assert_eq!(map.count(), 1);
}

#[test]
fn many_features_take_the_memory_of_a_few() {
    let map = Map::open(Engine::Sqlite);
    map.post("", &point(2.0, 48.0));
    let filler = "x".repeat(3_000);
    let one = |n: usize| feature(json!(n), point(2.0, 48.0), json!({ "filler": filler }));
    // Nothing is kept: the last one is wrong.
    let refused = |count: usize| {
        let features: Vec<Value> = (0..count).map(one).chain([json!(0)]).collect();
        let body = collection(&features).to_string();
        assert!(body.len() > 3_000 * count);
        assert_eq!(map.try_post("", body).spots(), [format!("/features/{count}")]);
        map.office.program().peak_memory()
    };
    // What the first bodies take once and for all, on one thread and on another, is not counted.
    let of_few = (0..4).map(|_| refused(3_500)).max().unwrap();
    // This one is 38 MB longer.
    let of_many = refused(16_000);
    assert!(of_few < 160 << 20, "{of_few}");
    assert!(of_many < of_few + (10 << 20), "from {of_few} to {of_many}");
    assert_eq!(map.count(), 1);
}

type Pack = fn(&[u8]) -> Vec<u8>;

const PACKINGS: [(&str, Pack); 3] = [("gzip", gzip), ("br", brotli), ("zstd", zstd)];
