//! Lists: their paging paging, their order, and invalid `page`, `limit` and `term` values.

use crate::{on_both_engines, sample_records::many_folders};
use groma_testkit::{Engine, TestServer, server::NO_RATE_LIMIT};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of concurrent writers.
const WRITERS: usize = 3;

const LISTS: [&str; 5] = ["/folders", "/assignments", "/expenses", "/budgets", "/statuses"];

fn paging(envelope: &Value) -> [u64; 4] {
    ["total", "page", "size", "pages"].map(|name| envelope[name].as_u64().unwrap())
}

on_both_engines! {
    empty_list_has_no_pages
    limit_sets_page_size_and_total_pages_rounds_up
    paging_shows_every_record_once_oldest_first
    paging_during_inserts_neither_skips_nor_repeats_records
    deleted_record_disappears_from_list_and_total
    records_imported_by_another_process_are_listed_immediately
    invalid_page_returns_400_with_its_bounds
    invalid_limit_returns_400_with_its_bounds
    term_is_limited_in_length_and_cannot_be_repeated
    unknown_parameters_are_ignored
    parameter_names_can_be_percent_encoded
    statuses_support_the_list_parameters
}

fn empty_list_has_no_pages(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    for path in &LISTS[..4] {
        let empty = json!({ "content": [], "total": 0, "page": 1, "size": 50, "pages": 0 });
        assert_eq!(server.get(path, &token).ok(), empty, "{path}");
        let empty = json!({ "content": [], "total": 0, "page": 7, "size": 3, "pages": 0 });
        let path = format!("{path}?page=7&limit=3");
        assert_eq!(server.get(&path, &token).ok(), empty, "{path}");
    }
}

fn limit_sets_page_size_and_total_pages_rounds_up(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.import("folders", &many_folders(203));
    let token = server.create_token(&["READ_FOLDER"]);
    for (query, expected, items) in [
        ("", [203, 1, 50, 5], 50),
        ("?page=5", [203, 5, 50, 5], 3),
        ("?page=6", [203, 6, 50, 5], 0),
        ("?limit=100", [203, 1, 100, 3], 100),
        ("?limit=100&page=3", [203, 3, 100, 3], 3),
        ("?limit=1&page=203", [203, 203, 1, 203], 1),
        ("?limit=1&page=204", [203, 204, 1, 203], 0),
        ("?limit=7&page=29", [203, 29, 7, 29], 7),
        ("?limit=7&page=30", [203, 30, 7, 29], 0),
        ("?page=2147483647", [203, 2_147_483_647, 50, 5], 0),
        ("?page=2147483647&limit=100", [203, 2_147_483_647, 100, 3], 0),
        ("?page=0002&limit=0100", [203, 2, 100, 3], 100),
    ] {
        let response = server.get(&format!("/folders{query}"), &token);
        assert_eq!(paging(&response.ok()), expected, "{query}");
        assert_eq!(response.content().len(), items, "{query}");
    }
}

fn paging_shows_every_record_once_oldest_first(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.import("folders", &many_folders(70));
    server.import("folders", &many_folders(70));
    let token = server.create_token(&["READ_FOLDER"]);
    let expected: Vec<_> = (1..=140).map(|number| format!("F-{number:06}")).collect();
    for limit in [1, 9, 64, 100] {
        let pages = 140_usize.div_ceil(limit);
        let references: Vec<_> = (1..=pages)
            .flat_map(|page| {
                let path = format!("/folders?limit={limit}&page={page}");
                server.get(&path, &token).column("reference")
            })
            .collect();
        assert_eq!(references, expected, "{limit}");
    }
}

fn paging_during_inserts_neither_skips_nor_repeats_records(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&["READ_FOLDER"]);
    let page = |number: usize| {
        server.get(&format!("/folders?limit=10&page={number}"), &token).column("id")
    };
    let writing = AtomicUsize::new(WRITERS);
    let references = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, writing) = (&server, &writing);
            scope.spawn(move || {
                for file in 0..6 {
                    let name = format!("{writer}-{file}.csv");
                    let rows = "x\n".repeat(5);
                    server.import_file("folders", &name, format!("name\n{rows}"), &[]).json();
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        // A page that is not full yet is read again.
        let mut references: Vec<String> = Vec::new();
        loop {
            let ended = writing.load(Ordering::SeqCst) == 0;
            let next = page(references.len() / 10 + 1);
            let known = references.len() % 10;
            assert_eq!(
                next[..known.min(next.len())],
                references[references.len() - known..],
                "the order stays"
            );
            let is_new = next.len() > known;
            references.extend(next.into_iter().skip(known));
            if ended && !is_new {
                break references;
            }
        }
    });
    let all: Vec<_> = (1..=WRITERS * 3).flat_map(page).collect();
    assert_eq!(all.len(), WRITERS * 30);
    assert_eq!(references, all);
}

fn deleted_record_disappears_from_list_and_total(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.import("folders", &many_folders(130));
    let token = server.create_token(&["READ_FOLDER"]);
    assert_eq!(paging(&server.get("/folders", &token).ok())[0], 130);
    for reference in ["F-000001", "F-000065", "F-000130"] {
        server.run(&["delete", "folder", reference]).expect_success();
    }
    let expected: Vec<_> = (1..=130)
        .filter(|number| ![1, 65, 130].contains(number))
        .map(|number| format!("F-{number:06}"))
        .collect();
    let references: Vec<_> = (1..=13)
        .flat_map(|page| {
            server.get(&format!("/folders?limit=10&page={page}"), &token).column("reference")
        })
        .collect();
    assert_eq!(references, expected);
    assert_eq!(paging(&server.get("/folders?limit=10", &token).ok()), [127, 1, 10, 13]);
}

fn records_imported_by_another_process_are_listed_immediately(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    for count in 1..=3 {
        server.import("folders", &many_folders(1));
        let response = server.get_until("/folders", &token, |a| a.ok()["total"] == count);
        assert_eq!(response.content().len(), count);
    }
}

fn invalid_page_returns_400_with_its_bounds(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_full_token();
    let bounds = "page must be a whole number from 1 to 2147483647";
    for path in LISTS {
        for wrong in [
            "page=0",
            "page=-1",
            "page=abc",
            "page=",
            "page",
            "page=1.5",
            "page=1.0",
            "page=%2B1",
            "page=+1",
            "page=1e2",
            "page=0x1",
            "page=2147483648",
            "page=99999999999999999999",
            "page=%D9%A1",
            "page=1%00",
            "page=null",
            "page=%20",
            "page=1,2",
            "page=-0",
        ] {
            server.get(&format!("{path}?{wrong}"), &token).assert_error(400, bounds);
        }
        for twice in ["page=1&page=1", "page=1&page=2", "page=1&limit=5&page=1"] {
            let message = server.get(&format!("{path}?{twice}"), &token).error(400);
            assert_eq!(message, format!("{bounds} and must be given only once"));
        }
        for bytes in ["page=%FF", "page=1%C3", "page=%ED%A0%80"] {
            server.get(&format!("{path}?{bytes}"), &token).assert_error(400, bounds);
        }
    }
}

fn invalid_limit_returns_400_with_its_bounds(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_full_token();
    let bounds = "limit must be a whole number from 1 to 100";
    for path in LISTS {
        for wrong in [
            "limit=0",
            "limit=-1",
            "limit=abc",
            "limit=",
            "limit",
            "limit=101",
            "limit=1.5",
            "limit=%2B1",
            "limit=4294967297",
            "limit=18446744073709551617",
            "limit=1000",
        ] {
            server.get(&format!("{path}?{wrong}"), &token).assert_error(400, bounds);
        }
        let message = server.get(&format!("{path}?limit=1&limit=1"), &token).error(400);
        assert_eq!(message, format!("{bounds} and must be given only once"));
        server.get(&format!("{path}?limit=100"), &token).ok();
        server.get(&format!("{path}?limit=1"), &token).ok();
    }
}

fn term_is_limited_in_length_and_cannot_be_repeated(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_full_token();
    let bounds = "term must have at most 200 characters";
    for path in LISTS {
        for letter in ["a", "%C3%A9", "%F0%9F%A6%80", "%20", "%00"] {
            let at_most = format!("{path}?term={}", letter.repeat(200));
            server.get(&at_most, &token).ok();
            let too_long = format!("{path}?term={}", letter.repeat(201));
            server.get(&too_long, &token).assert_error(400, bounds);
        }
        let twice = server.get(&format!("{path}?term=a&term=a"), &token).error(400);
        assert_eq!(twice, format!("{bounds} and must be given only once"));
        let bytes = server.get(&format!("{path}?term=%FF"), &token).error(400);
        assert_eq!(bytes, format!("{bounds}, in valid UTF-8"));
    }
}

fn unknown_parameters_are_ignored(engine: Engine) {
    let server = TestServer::start(engine);
    server.import("folders", &many_folders(3));
    let token = server.create_token(&["READ_FOLDER"]);
    let plain = server.get("/folders", &token).body;
    for query in [
        "?",
        "?&&",
        "?sort=name",
        "?Page=0",
        "?PAGE=abc",
        "?size=1",
        "?offset=2&offset=3",
        "?pages=0",
        "?%FF=1",
        "?x=%FF",
        "?=1",
        "?page%5B%5D=0",
        "?limit.x=0",
        "?term=",
        "?term",
    ] {
        assert_eq!(server.get(&format!("/folders{query}"), &token).body, plain, "{query}");
    }
}

fn parameter_names_can_be_percent_encoded(engine: Engine) {
    let server = TestServer::start(engine);
    server.import("folders", &many_folders(3));
    let token = server.create_token(&["READ_FOLDER"]);
    let response = server.get("/folders?%6Cimit=%31&p%61ge=2", &token).ok();
    assert_eq!(paging(&response), [3, 2, 1, 3]);
    server.get("/folders?%70age=0", &token).error(400);
}

fn statuses_support_the_list_parameters(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&[]);
    let all = server.get("/statuses", &token).column("id");
    let paged: Vec<_> = (1..=4)
        .flat_map(|page| server.get(&format!("/statuses?limit=5&page={page}"), &token).column("id"))
        .collect();
    assert_eq!(paged, all);
    assert_eq!(paging(&server.get("/statuses?limit=5&page=9", &token).ok()), [18, 9, 5, 4]);
    let found = server.get("/statuses?term=APPROV", &token);
    assert_eq!(found.column("name"), ["Approved", "Approved"]);
    assert_eq!(paging(&found.ok()), [2, 1, 50, 1]);
    assert_eq!(
        server.get("/statuses?term=2b6cb0", &token).ok()["total"],
        0,
        "only the name is searched"
    );
}
