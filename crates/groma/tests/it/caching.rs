//! ETags, 304s and compression.

use crate::{
    on_both_engines, sample_records, sample_records::FOLDER, sample_records::KINDS,
    sample_records::many_folders, web::Browser,
};
use groma_testkit::{API, Engine, Response, TestServer, server::NO_RATE_LIMIT};
use serde_json::{Value, json};
use std::{
    io::Read,
    sync::atomic::{AtomicU64, Ordering},
};

/// A server whose list of folders is start_with_large_list enough to be compressed, and a token to read it.
fn start_with_large_list(engine: Engine) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.import("folders", &many_folders(60));
    let token = server.create_full_token();
    (server, token)
}

fn get(server: &TestServer, token: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let path = format!("{API}{path}");
    let request = server.main().request("GET", &path).token(token);
    headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
}

fn etag(response: &Response) -> String {
    response.header("etag").expect("an ETag").to_owned()
}

fn decoded(response: &Response) -> Vec<u8> {
    let body = &response.body[..];
    let mut plain = Vec::new();
    match response.header("content-encoding") {
        None => plain.extend_from_slice(body),
        Some("gzip") => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap()),
        Some("br") => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut plain).unwrap()),
        Some("zstd") => zstd::stream::copy_decode(body, &mut plain).unwrap(),
        Some(other) => panic!("{other} was not requested"),
    }
    plain
}

on_both_engines! {
    get_has_a_strong_etag_that_depends_only_on_the_body
    different_bodies_have_different_etags
    matching_etag_returns_304_without_a_body
    repeated_if_none_match_headers_form_one_list
    connection_is_usable_after_a_304
    etag_changes_with_the_record
    large_response_uses_the_encoding_that_the_client_prefers
    rejected_encoding_is_not_used
    small_response_is_not_compressed
    repeated_reads_never_return_an_older_version_than_was_written
}

fn get_has_a_strong_etag_that_depends_only_on_the_body(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let mut paths = vec![
        "/statuses".to_owned(),
        "/statuses?limit=1".to_owned(),
        "/folders?term=zzz".to_owned(),
    ];
    for (path, _, reference) in KINDS {
        paths.push(path.to_owned());
        paths.push(format!("{path}/{reference}"));
    }
    for path in paths {
        let first = server.get(&path, &token);
        first.ok();
        let tag = etag(&first);
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{tag} is not strong");
        let second = server.get(&path, &token);
        assert_eq!((etag(&second), &second.body), (tag, &first.body), "{path}");
        assert_eq!(first.header("vary"), Some("Accept-Encoding"));
    }
    assert_eq!(server.get("/folders/missing", &token).header("etag"), None);
    assert_eq!(server.get("/folders?page=0", &token).header("etag"), None);
}

fn different_bodies_have_different_etags(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    let tags: Vec<_> = [
        "/folders",
        "/folders?page=2",
        "/folders?limit=51",
        "/folders/F-000001",
        "/folders/F-000002",
        "/statuses",
    ]
    .iter()
    .map(|path| etag(&server.get(path, &token)))
    .collect();
    for (index, tag) in tags.iter().enumerate() {
        assert!(!tags[..index].contains(tag), "{tags:?}");
    }
    // The same record by another key has the same body.
    let id = server.get("/folders/F-000001", &token).ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(etag(&server.get(&format!("/folders/{id}"), &token)), tags[3]);
}

fn matching_etag_returns_304_without_a_body(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    for path in ["/folders", "/folders/F-000001", "/statuses"] {
        let full = server.get(path, &token);
        let tag = etag(&full);
        for sent in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"other\", {tag}"),
            format!("\"other\",W/\"x\" , {tag},\"more\""),
            "*".to_owned(),
        ] {
            let response = get(&server, &token, path, &[("If-None-Match", &sent)]);
            assert_eq!((response.status, response.body.len()), (304, 0), "{sent}");
            assert_eq!(etag(&response), tag);
            assert_eq!(response.header("vary"), Some("Accept-Encoding"));
            assert_eq!(response.header("content-type"), None);
            assert!(response.header("x-request-id").is_some());
        }
        for sent in ["\"other\"", "", &tag[1..tag.len() - 1], "\"\"", "W/\"other\"", "**"] {
            let response = get(&server, &token, path, &[("If-None-Match", sent)]);
            assert_eq!((response.status, &response.body), (200, &full.body), "{sent}");
        }
    }
    let missing = get(&server, &token, "/folders/missing", &[("If-None-Match", "*")]);
    missing.error(404);
}

fn repeated_if_none_match_headers_form_one_list(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    let tag = etag(&server.get("/folders", &token));
    let response = get(
        &server,
        &token,
        "/folders",
        &[("If-None-Match", "\"other\""), ("If-None-Match", &tag)],
    );
    assert_eq!(response.status, 304);
}

fn connection_is_usable_after_a_304(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    let tag = etag(&server.get("/folders", &token));
    let request =
        format!("GET {API}/folders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n");
    let request =
        format!("{request}If-None-Match: {tag}\r\n\r\n{request}Connection: close\r\n\r\n");
    let both = server.main().send_raw(request.as_bytes());
    assert_eq!(both.status, 304);
    assert!(both.text().starts_with("HTTP/1.1 200 OK"), "{}", both.text());
}

fn etag_changes_with_the_record(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let path = format!("/folders/{FOLDER}");
    let (detail, list) = (etag(&server.get(&path, &token)), etag(&server.get("/folders", &token)));
    server.import("folders", &[json!({ "reference": FOLDER, "name": "Renamed" })]);
    let changed = get(&server, &token, &path, &[("If-None-Match", &detail)]);
    assert_eq!(changed.ok()["name"], "Renamed");
    assert_ne!(etag(&changed), detail);
    let changed = get(&server, &token, "/folders", &[("If-None-Match", &list)]);
    changed.ok();
    assert_ne!(etag(&changed), list);
    // A budget changes with its expenses, and a record with a person's name.
    let budget = format!("/budgets/{}", sample_records::BUDGET);
    let before = etag(&server.get(&budget, &token));
    server.import("expenses", &[json!({ "reference": sample_records::EXPENSE, "quantity": 1 })]);
    assert_ne!(etag(&server.get(&budget, &token)), before);
}

fn large_response_uses_the_encoding_that_the_client_prefers(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    let plain = server.get("/folders", &token);
    assert_eq!(plain.header("content-encoding"), None);
    let mut tags = vec![etag(&plain)];
    for (accepted, encoding) in [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd")] {
        let response = get(&server, &token, "/folders", &[("Accept-Encoding", accepted)]);
        assert_eq!((response.status, response.header("content-encoding")), (200, Some(encoding)));
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert!(response.body.len() < plain.body.len() / 2, "{encoding}");
        assert_eq!(decoded(&response), plain.body, "{encoding}");
        let tag = etag(&response);
        assert!(!tags.contains(&tag), "each encoding has its own ETag");
        let known = [("Accept-Encoding", accepted), ("If-None-Match", &tag)];
        let again = get(&server, &token, "/folders", &known);
        assert_eq!((again.status, again.body.len(), etag(&again)), (304, 0, tag.clone()));
        let of_plain = [("Accept-Encoding", accepted), ("If-None-Match", &tags[0])];
        assert_eq!(get(&server, &token, "/folders", &of_plain).status, 200);
        tags.push(tag);
    }
    let document = server
        .main()
        .request("GET", &format!("{API}/openapi.json"))
        .header("Accept-Encoding", "gzip")
        .send();
    assert_eq!(document.header("content-encoding"), Some("gzip"));
}

fn rejected_encoding_is_not_used(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    let encoding = |accepted: &str| {
        let response = get(&server, &token, "/folders", &[("Accept-Encoding", accepted)]);
        assert_eq!(response.status, 200);
        serde_json::from_slice::<serde_json::Value>(&decoded(&response)).unwrap();
        response.header("content-encoding").map(str::to_owned)
    };
    for none in [
        "identity",
        "deflate",
        "",
        "gzip;q=0",
        "*;q=0",
        "gzip;q=0.000",
        "identity;q=1, *;q=0",
        "gzip;q=x",
    ] {
        assert_eq!(encoding(none), None, "{none}");
    }
    assert_eq!(encoding("gzip;q=0, br").as_deref(), Some("br"));
    assert_eq!(encoding("br;q=0.1, gzip;q=0.9").as_deref(), Some("gzip"));
    assert_eq!(encoding("GZIP").as_deref(), Some("gzip"));
    assert!(encoding("gzip, deflate, br, zstd").is_some());
    let star = encoding("gzip;q=0, *");
    assert_ne!(star.as_deref(), Some("gzip"), "`*` covers only the encodings that are not listed");
}

fn small_response_is_not_compressed(engine: Engine) {
    let (server, token) = start_with_large_list(engine);
    for path in ["/folders/F-000001", "/folders?limit=1", "/folders?term=nothing"] {
        let response = get(&server, &token, path, &[("Accept-Encoding", "gzip, br, zstd")]);
        response.ok();
        assert!(response.body.len() < 1024);
        assert_eq!(response.header("content-encoding"), None);
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
    }
    let error = get(&server, &token, "/folders?page=0", &[("Accept-Encoding", "gzip")]);
    error.error(400);
    assert_eq!(error.header("content-encoding"), None);
}

fn repeated_reads_never_return_an_older_version_than_was_written(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.import("folders", &[json!({ "reference": "F-000001", "name": "0" })]);
    let token = server.create_full_token();
    let browser = Browser::of_owner(&server);
    // The highest number that a response has shown or a write has confirmed.
    let highest = AtomicU64::new(0);
    let look = |path: &str, encoding: &str| {
        let before = highest.load(Ordering::SeqCst);
        let response = get(&server, &token, path, &[("Accept-Encoding", encoding)]);
        let document: Value = serde_json::from_slice(&decoded(&response)).unwrap();
        let folder = document["content"].get(0).unwrap_or(&document);
        let version = folder["name"].as_str().unwrap().parse().unwrap();
        assert!(version >= before, "{path} showed {version} after {before}");
        highest.fetch_max(version, Ordering::SeqCst);
        version
    };
    let paths = ["/folders/F-000001", "/folders", "/folders?term=0000"];
    std::thread::scope(|scope| {
        for path in paths {
            scope.spawn(move || while look(path, "identity") < 20 {});
        }
        for number in 1..=20 {
            let edit = "/folders/F-000001/edit";
            let version =
                browser.page(edit).between("name=\"version\" value=\"", "\"").unwrap().to_owned();
            browser.submit(edit, edit, &[("version", &version), ("name", &number.to_string())]);
            highest.fetch_max(number, Ordering::SeqCst);
            for path in paths {
                for encoding in ["identity", "gzip", "identity"] {
                    assert_eq!(look(path, encoding), number);
                }
            }
        }
    });
}
