//! ETags, 304s and compression.

use crate::{
    client::{API, Answer},
    database::Engine,
    office::{NO_LIMIT, Office},
    on_both_engines,
    sample::{self, FOLDER, KINDS, many_folders},
    web::Browser,
};
use serde_json::{Value, json};
use std::{
    io::Read,
    sync::atomic::{AtomicU64, Ordering},
};

/// An office whose list of folders is worth compressing, and a token to read it.
fn large(engine: Engine) -> (Office, String) {
    let office = Office::start_with(engine, &[NO_LIMIT]);
    office.import("folders", &many_folders(60));
    let token = office.master_token();
    (office, token)
}

fn get(office: &Office, token: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let path = format!("{API}{path}");
    let ask = office.main().ask("GET", &path).token(token);
    headers.iter().fold(ask, |ask, (name, value)| ask.header(name, *value)).send()
}

fn etag(answer: &Answer) -> String {
    answer.header("etag").expect("an ETag").to_owned()
}

fn decoded(answer: &Answer) -> Vec<u8> {
    let body = &answer.body[..];
    let mut plain = Vec::new();
    match answer.header("content-encoding") {
        None => plain.extend_from_slice(body),
        Some("gzip") => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap()),
        Some("br") => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut plain).unwrap()),
        Some("zstd") => zstd::stream::copy_decode(body, &mut plain).unwrap(),
        Some(other) => panic!("{other} was not asked for"),
    }
    plain
}

on_both_engines! {
    fn every_get_has_a_strong_etag_that_stays_while_the_bytes_stay(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        let mut paths = vec!["/statuses".to_owned(), "/statuses?limit=1".to_owned(), "/folders?term=zzz".to_owned()];
        for (path, _, reference) in KINDS {
            paths.push(path.to_owned());
            paths.push(format!("{path}/{reference}"));
        }
        for path in paths {
            let first = office.get(&path, &token);
            first.ok();
            let tag = etag(&first);
            assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{tag} is not strong");
            let second = office.get(&path, &token);
            assert_eq!((etag(&second), &second.body), (tag, &first.body), "{path}");
            assert_eq!(first.header("vary"), Some("Accept-Encoding"));
        }
        assert_eq!(office.get("/folders/missing", &token).header("etag"), None);
        assert_eq!(office.get("/folders?page=0", &token).header("etag"), None);
    }

    fn other_bytes_have_another_etag(engine: Engine) {
        let (office, token) = large(engine);
        let tags: Vec<_> = ["/folders", "/folders?page=2", "/folders?limit=51", "/folders/F-000001", "/folders/F-000002", "/statuses"]
            .iter()
            .map(|path| etag(&office.get(path, &token)))
            .collect();
        for (index, tag) in tags.iter().enumerate() {
            assert!(!tags[..index].contains(tag), "{tags:?}");
        }
        // The same record by another key is the same bytes.
        let id = office.get("/folders/F-000001", &token).ok()["id"].as_str().unwrap().to_owned();
        assert_eq!(etag(&office.get(&format!("/folders/{id}"), &token)), tags[3]);
    }

    fn a_known_etag_gets_a_304_without_a_body(engine: Engine) {
        let (office, token) = large(engine);
        for path in ["/folders", "/folders/F-000001", "/statuses"] {
            let full = office.get(path, &token);
            let tag = etag(&full);
            for sent in [
                tag.clone(),
                format!("W/{tag}"),
                format!("\"other\", {tag}"),
                format!("\"other\",W/\"x\" , {tag},\"more\""),
                "*".to_owned(),
            ] {
                let answer = get(&office, &token, path, &[("If-None-Match", &sent)]);
                assert_eq!((answer.status, answer.body.len()), (304, 0), "{sent}");
                assert_eq!(etag(&answer), tag);
                assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
                assert_eq!(answer.header("content-type"), None);
                assert!(answer.header("x-request-id").is_some());
            }
            for sent in ["\"other\"", "", &tag[1..tag.len() - 1], "\"\"", "W/\"other\"", "**"] {
                let answer = get(&office, &token, path, &[("If-None-Match", sent)]);
                assert_eq!((answer.status, &answer.body), (200, &full.body), "{sent}");
            }
        }
        let missing = get(&office, &token, "/folders/missing", &[("If-None-Match", "*")]);
        missing.error(404);
    }

    fn two_if_none_match_headers_are_one_list(engine: Engine) {
        let (office, token) = large(engine);
        let tag = etag(&office.get("/folders", &token));
        let answer = get(&office, &token, "/folders", &[("If-None-Match", "\"other\""), ("If-None-Match", &tag)]);
        assert_eq!(answer.status, 304);
    }

    fn a_304_on_a_connection_leaves_it_usable(engine: Engine) {
        let (office, token) = large(engine);
        let tag = etag(&office.get("/folders", &token));
        let ask = format!("GET {API}/folders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n");
        let request = format!("{ask}If-None-Match: {tag}\r\n\r\n{ask}Connection: close\r\n\r\n");
        let both = office.main().send_raw(request.as_bytes());
        assert_eq!(both.status, 304);
        assert!(both.text().starts_with("HTTP/1.1 200 OK"), "{}", both.text());
    }

    fn the_etag_changes_when_the_record_changes(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        let path = format!("/folders/{FOLDER}");
        let (detail, list) = (etag(&office.get(&path, &token)), etag(&office.get("/folders", &token)));
        office.import("folders", &[json!({ "reference": FOLDER, "name": "Renamed" })]);
        let changed = get(&office, &token, &path, &[("If-None-Match", &detail)]);
        assert_eq!(changed.ok()["name"], "Renamed");
        assert_ne!(etag(&changed), detail);
        let changed = get(&office, &token, "/folders", &[("If-None-Match", &list)]);
        changed.ok();
        assert_ne!(etag(&changed), list);
        // A budget changes with its expenses, a record with a person's name.
        let budget = format!("/budgets/{}", sample::BUDGET);
        let before = etag(&office.get(&budget, &token));
        office.import("expenses", &[json!({ "reference": sample::EXPENSE, "quantity": 1 })]);
        assert_ne!(etag(&office.get(&budget, &token)), before);
    }

    fn a_large_answer_is_compressed_as_the_client_likes(engine: Engine) {
        let (office, token) = large(engine);
        let plain = office.get("/folders", &token);
        assert_eq!(plain.header("content-encoding"), None);
        let mut tags = vec![etag(&plain)];
        for (accepted, encoding) in [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd")] {
            let answer = get(&office, &token, "/folders", &[("Accept-Encoding", accepted)]);
            assert_eq!((answer.status, answer.header("content-encoding")), (200, Some(encoding)));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert!(answer.body.len() < plain.body.len() / 2, "{encoding}");
            assert_eq!(decoded(&answer), plain.body, "{encoding}");
            let tag = etag(&answer);
            assert!(!tags.contains(&tag), "each encoding has its own");
            let known = [("Accept-Encoding", accepted), ("If-None-Match", &tag)];
            let again = get(&office, &token, "/folders", &known);
            assert_eq!((again.status, again.body.len(), etag(&again)), (304, 0, tag.clone()));
            let of_plain = [("Accept-Encoding", accepted), ("If-None-Match", &tags[0])];
            assert_eq!(get(&office, &token, "/folders", &of_plain).status, 200);
            tags.push(tag);
        }
        let document = office.main().ask("GET", &format!("{API}/openapi.json")).header("Accept-Encoding", "gzip").send();
        assert_eq!(document.header("content-encoding"), Some("gzip"));
    }

    fn an_encoding_that_is_refused_is_not_used(engine: Engine) {
        let (office, token) = large(engine);
        let encoding = |accepted: &str| {
            let answer = get(&office, &token, "/folders", &[("Accept-Encoding", accepted)]);
            assert_eq!(answer.status, 200);
            serde_json::from_slice::<serde_json::Value>(&decoded(&answer)).unwrap();
            answer.header("content-encoding").map(str::to_owned)
        };
        for none in ["identity", "deflate", "", "gzip;q=0", "*;q=0", "gzip;q=0.000", "identity;q=1, *;q=0", "gzip;q=x"] {
            assert_eq!(encoding(none), None, "{none}");
        }
        assert_eq!(encoding("gzip;q=0, br").as_deref(), Some("br"));
        assert_eq!(encoding("br;q=0.1, gzip;q=0.9").as_deref(), Some("gzip"));
        assert_eq!(encoding("GZIP").as_deref(), Some("gzip"));
        assert!(encoding("gzip, deflate, br, zstd").is_some());
        let star = encoding("gzip;q=0, *");
        assert_ne!(star.as_deref(), Some("gzip"), "the star stands for those that are not named");
    }

    fn a_small_answer_is_not_compressed(engine: Engine) {
        let (office, token) = large(engine);
        for path in ["/folders/F-000001", "/folders?limit=1", "/folders?term=nothing"] {
            let answer = get(&office, &token, path, &[("Accept-Encoding", "gzip, br, zstd")]);
            answer.ok();
            assert!(answer.body.len() < 1024);
            assert_eq!(answer.header("content-encoding"), None);
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        }
        let error = get(&office, &token, "/folders?page=0", &[("Accept-Encoding", "gzip")]);
        error.error(400);
        assert_eq!(error.header("content-encoding"), None);
    }

    fn what_is_asked_over_and_over_is_never_older_than_what_was_written(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        office.import("folders", &[json!({ "reference": "F-000001", "name": "0" })]);
        let token = office.master_token();
        let browser = Browser::of_owner(&office);
        // The highest number that anybody was shown or told was written.
        let highest = AtomicU64::new(0);
        let look = |path: &str, encoding: &str| {
            let before = highest.load(Ordering::SeqCst);
            let answer = get(&office, &token, path, &[("Accept-Encoding", encoding)]);
            let document: Value = serde_json::from_slice(&decoded(&answer)).unwrap();
            let folder = document["content"].get(0).unwrap_or(&document);
            let shown = folder["name"].as_str().unwrap().parse().unwrap();
            assert!(shown >= before, "{path} showed {shown} after {before}");
            highest.fetch_max(shown, Ordering::SeqCst);
            shown
        };
        let paths = ["/folders/F-000001", "/folders", "/folders?term=0000"];
        std::thread::scope(|scope| {
            for path in paths {
                scope.spawn(move || while look(path, "identity") < 20 {});
            }
            for number in 1..=20 {
                let edit = "/folders/F-000001/edit";
                let version = browser.page(edit).between("name=\"version\" value=\"", "\"").unwrap().to_owned();
                browser.done(edit, edit, &[("version", &version), ("name", &number.to_string())]);
                highest.fetch_max(number, Ordering::SeqCst);
                for path in paths {
                    for encoding in ["identity", "gzip", "identity"] {
                        assert_eq!(look(path, encoding), number);
                    }
                }
            }
        });
    }
}
