//! Lists: the order of creation, pages however deep, and what concurrent writers do to them.

use crate::{
    Office,
    office::{Desk, OWNER, a_moment, change, delete, new, text},
    on_both_engines,
};
use groma_domain::Kind;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

on_both_engines! {
    an_empty_list_has_no_items
    a_list_appends_to_what_is_there_with_commas_between
    records_come_in_the_order_of_creation_whatever_happens_to_them
    a_list_shows_records_as_they_are_by_themselves_whatever_happens_to_them
    each_kind_and_each_workspace_has_its_own_list
    a_page_past_the_end_is_empty_and_knows_the_total
    pages_agree_with_a_plain_model_through_thousands_of_creates_and_deletes
    pages_are_right_through_another_opening
    paging_while_others_create_neither_skips_nor_repeats
    every_page_read_while_others_write_is_of_one_state
    an_export_goes_through_everything_once
}

async fn an_empty_list_has_no_items(office: Office) {
    for kind in Kind::ALL {
        for query in [&[][..], &[("page", "7")], &[("term", "x")], &[("term", "xyz")]] {
            assert_eq!(office.list(kind, query).await, (vec![], 0));
        }
    }
    // Also when there was something once.
    office.furnish().await;
    office.delete(Kind::Folder, "in").await;
    assert_eq!(office.list(Kind::Folder, &[]).await, (vec![], 0));
}

async fn a_list_appends_to_what_is_there_with_commas_between(office: Office) {
    for name in ["one", "two"] {
        office.create(Kind::Folder, json!({ "name": name })).await;
    }
    for query in [&[][..], &[("term", "f-0")], &[("term", "f")]] {
        let params = groma_domain::ListParams::parse(query.iter().copied()).unwrap();
        let begun = br#"{"content":["#.to_vec();
        let page = office.store.list(office.workspace, Kind::Folder, &params, begun).await.unwrap();
        let body = String::from_utf8(page.body).unwrap() + "]}";
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["content"].as_array().unwrap().len(), 2);
        assert_eq!(read["content"][0], office.shown(Kind::Folder, "F-000001").await);
    }
}

async fn records_come_in_the_order_of_creation_whatever_happens_to_them(office: Office) {
    let folder =
        |reference: &str| new(Kind::Folder, json!({ "reference": reference, "name": "survey" }));
    office.apply(["c", "a", "d", "b"].map(folder).into()).await.unwrap();
    office.update(Kind::Folder, "c", json!({ "name": "survey, late" })).await;
    office.update(Kind::Folder, "d", json!({ "reference": "z" })).await;
    for query in [&[][..], &[("term", "survey")], &[("term", "su")]] {
        assert_eq!(office.references(Kind::Folder, query).await, ["c", "a", "z", "b"]);
    }
    office.delete(Kind::Folder, "a").await;
    office.done(folder("a")).await;
    for query in [&[][..], &[("term", "survey")], &[("term", "s")]] {
        assert_eq!(office.references(Kind::Folder, query).await, ["c", "z", "b", "a"]);
    }
}

async fn a_list_shows_records_as_they_are_by_themselves_whatever_happens_to_them(office: Office) {
    let folder =
        |n: usize| new(Kind::Folder, json!({ "reference": format!("f{n}"), "name": "survey" }));
    office.apply((0..20).map(folder).collect()).await.unwrap();
    let check = async || {
        for item in office.list(Kind::Folder, &[("limit", "100")]).await.0 {
            let reference = item["reference"].as_str().unwrap();
            assert_eq!(item, office.shown(Kind::Folder, reference).await);
        }
    };
    check().await;
    let long = "é".repeat(5_000);
    for (n, change) in [
        (3, json!({ "name": "changed" })),
        (7, json!({ "owner": OWNER, "description": long })),
        (8, json!({ "owner": OWNER })),
        (7, json!({ "owner": null, "description": null })),
        (19, json!({ "reference": "renamed" })),
    ] {
        office.update(Kind::Folder, &format!("f{n}"), change).await;
        check().await;
    }
    // One bundle loses a document, another all of them.
    for n in [2, 8, 9, 10, 11, 12, 13, 14, 15, 16] {
        office.delete(Kind::Folder, &format!("f{n}")).await;
        check().await;
    }
    assert_eq!(office.list(Kind::Folder, &[]).await.0.len(), 10);
}

async fn each_kind_and_each_workspace_has_its_own_list(office: Office) {
    let next = office.neighbour("Next door").await;
    office.furnish().await;
    next.furnish().await;
    next.create(Kind::Folder, json!({ "name": "second" })).await;
    for kind in [Kind::Folder, Kind::Assignment, Kind::Budget] {
        assert_eq!(office.list(kind, &[]).await, (vec![office.shown(kind, "in").await], 1));
        let (found, total) = office.list(kind, &[("term", "in")]).await;
        assert_eq!((found, total), (vec![office.shown(kind, "in").await], 1));
    }
    assert_eq!(next.list(Kind::Folder, &[]).await.1, 2);
    assert_eq!(office.list(Kind::Expense, &[]).await.1, 0);
}

async fn a_page_past_the_end_is_empty_and_knows_the_total(office: Office) {
    let folders = (0..3).map(|_| new(Kind::Folder, json!({ "name": "xyz" })));
    office.apply(folders.collect()).await.unwrap();
    for term in [None, Some("xyz"), Some("x")] {
        for (page, limit, length) in
            [("1", "2", 2), ("2", "2", 1), ("3", "2", 0), ("2", "3", 0), ("2147483647", "100", 0)]
        {
            let mut query = vec![("page", page), ("limit", limit)];
            query.extend(term.map(|term| ("term", term)));
            let (content, total) = office.list(Kind::Folder, &query).await;
            assert_eq!((content.len(), total), (length, 3), "{query:?}");
        }
    }
}

/// Checks a page against the references that there should be.
async fn check_page(desk: &Desk, expected: &[String], page: usize, limit: usize) {
    let (page_text, limit_text) = (page.to_string(), limit.to_string());
    let query = [("page", &*page_text), ("limit", &*limit_text)];
    let (content, total) = desk.list(Kind::Folder, &query).await;
    assert_eq!(total, expected.len() as u64);
    let seen: Vec<_> = content.iter().map(|folder| text(folder, "reference")).collect();
    let start = expected.len().min((page - 1) * limit);
    let end = expected.len().min(page * limit);
    assert_eq!(seen, expected[start..end], "page {page} of {limit}");
}

async fn pages_agree_with_a_plain_model_through_thousands_of_creates_and_deletes(office: Office) {
    let mut random = fastrand::Rng::with_seed(7);
    let mut model: Vec<String> = Vec::new();
    let mut next = 0;
    for round in 0..12 {
        let mut commands = Vec::new();
        for _ in 0..random.usize(200..500) {
            next += 1;
            let reference = format!("r{next}");
            commands.push(new(Kind::Folder, json!({ "reference": reference, "name": "x" })));
            model.push(reference);
        }
        // Some deletes here and there, now and then a whole stretch, sometimes nearly all.
        for _ in 0..random.usize(..150) {
            let gone = model.remove(random.usize(..model.len()));
            commands.push(delete(Kind::Folder, &gone));
        }
        let stretch = match round {
            4 | 7 => 300,
            9 => model.len() - 10,
            _ => 0,
        };
        let start = random.usize(..=model.len() - stretch);
        commands.extend(model.drain(start..start + stretch).map(|r| delete(Kind::Folder, &r)));
        office.apply(commands).await.unwrap();
        for _ in 0..25 {
            let limit = random.usize(1..=100);
            let pages = model.len().div_ceil(limit);
            check_page(&office, &model, random.usize(1..=pages + 2), limit).await;
        }
        for limit in [1, 64, 100] {
            let last = model.len().div_ceil(limit);
            for page in [1, last - 1, last, last + 1].into_iter().filter(|page| *page > 0) {
                check_page(&office, &model, page, limit).await;
            }
        }
    }
    let mut walked = Vec::new();
    for page in 1..=model.len().div_ceil(100) {
        let query = [("page", &*page.to_string()), ("limit", "100")];
        walked.extend(office.references(Kind::Folder, &query).await);
    }
    assert_eq!(walked, model);
    // And from nothing known, as after a start.
    check_page(&office.reopened().await, &model, 2, 97).await;
}

async fn pages_are_right_through_another_opening(office: Office) {
    let other = office.reopened().await;
    let mut model = Vec::new();
    for round in 0..6 {
        let (writer, reader) = if round % 2 == 0 { (&*office, &other) } else { (&other, &*office) };
        let mut commands: Vec<_> = Vec::new();
        for number in 0..150 {
            let reference = format!("{round}.{number}");
            commands.push(new(Kind::Folder, json!({ "reference": reference, "name": "x" })));
            model.push(reference);
        }
        if round > 0 {
            commands.extend(model.drain(20..90).map(|gone| delete(Kind::Folder, &gone)));
        }
        writer.apply(commands).await.unwrap();
        a_moment().await;
        for page in 1..=5 {
            check_page(reader, &model, page, 90).await;
        }
    }
}

/// Pages through everything that there is, as it grows.
async fn walk(desk: &Desk, limit: usize, term: Option<&str>) -> Vec<String> {
    let mut seen = Vec::new();
    for page in 1.. {
        let (page, limit_text) = (page.to_string(), limit.to_string());
        let mut query = vec![("page", &*page), ("limit", &*limit_text)];
        query.extend(term.map(|term| ("term", term)));
        let references = desk.references(Kind::Folder, &query).await;
        // A page of SQLite is read without waiting for anything: others must have their turn.
        tokio::task::yield_now().await;
        let is_last = references.len() < limit;
        seen.extend(references);
        if is_last {
            break;
        }
    }
    seen
}

async fn paging_while_others_create_neither_skips_nor_repeats(office: Office) {
    let other = office.reopened().await;
    let writing = Arc::new(AtomicBool::new(true));
    let writers = (0..8).map(|writer| {
        let desk = if writer % 2 == 0 { (*office).clone() } else { other.clone() };
        tokio::spawn(async move {
            for step in 0..25 {
                // Changes of different sizes, so that some take longer than others.
                let folder = |part| {
                    let reference = format!("{writer}.{step}.{part}");
                    new(Kind::Folder, json!({ "reference": reference, "name": "survey" }))
                };
                desk.apply((0..=(writer + step) % 4).map(folder).collect()).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let readers = [(7, None), (100, None), (13, Some("survey")), (29, Some("su"))];
    let readers = readers.into_iter().enumerate().map(|(index, (limit, term))| {
        let desk = if index % 2 == 0 { (*office).clone() } else { other.clone() };
        let writing = writing.clone();
        tokio::spawn(async move {
            let mut walks = Vec::new();
            while writing.load(Ordering::Relaxed) {
                walks.push(walk(&desk, limit, term).await);
            }
            walks
        })
    });
    let readers: Vec<_> = readers.collect();
    for writer in writers {
        writer.await.unwrap();
    }
    writing.store(false, Ordering::Relaxed);
    a_moment().await;
    let all = walk(&office, 100, None).await;
    assert_eq!(all.len(), 500);
    for reader in readers {
        for walked in reader.await.unwrap() {
            assert_eq!(walked, all[..walked.len()], "what was seen is a beginning of it all");
        }
    }
}

async fn every_page_read_while_others_write_is_of_one_state(office: Office) {
    // Every change takes the oldest away and adds one, so that there are always 200.
    let folder =
        |number: usize| new(Kind::Folder, json!({ "reference": number.to_string(), "name": "x" }));
    office.apply((0..200).map(folder).collect()).await.unwrap();
    let writer = {
        let desk = (*office).clone();
        tokio::spawn(async move {
            for number in 0..200 {
                let oldest = delete(Kind::Folder, &number.to_string());
                desk.apply(vec![oldest, folder(200 + number)]).await.unwrap();
            }
        })
    };
    let mut reads = 0;
    while !writer.is_finished() || reads == 0 {
        let query = [("page", "3"), ("limit", "60")];
        let (content, total) = office.list(Kind::Folder, &query).await;
        tokio::task::yield_now().await;
        assert_eq!((content.len(), total), (60, 200));
        let numbers: Vec<usize> =
            content.iter().map(|folder| text(folder, "reference").parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        reads += 1;
    }
    writer.await.unwrap();
    let last = office.references(Kind::Folder, &[("page", "200"), ("limit", "1")]).await;
    assert_eq!(last, ["399"]);
}

async fn an_export_goes_through_everything_once(office: Office) {
    office.furnish().await;
    let commands = (0..250).map(|number| {
        new(Kind::Assignment, json!({ "folder": "in", "title": number.to_string() }))
    });
    office.apply(commands.collect()).await.unwrap();
    office
        .apply(vec![
            delete(Kind::Assignment, "in"),
            delete(Kind::Assignment, "A-000100"),
            change(Kind::Assignment, "A-000101", json!({ "assignees": ["a@b.test"] })),
        ])
        .await
        .unwrap();
    let mut exported: Vec<Value> = Vec::new();
    let mut after = 0;
    loop {
        let part =
            office.store.export(office.workspace, Kind::Assignment, after, 70).await.unwrap();
        let Some(last) = part.last() else { break };
        assert!(part.len() <= 70);
        after = last.seq;
        exported.extend(part.iter().map(|record| serde_json::from_slice(&record.json).unwrap()));
    }
    let mut listed: Vec<Value> = Vec::new();
    for page in ["1", "2", "3"] {
        listed.extend(office.list(Kind::Assignment, &[("page", page), ("limit", "100")]).await.0);
    }
    assert_eq!(listed.len(), 249);
    assert_eq!(exported, listed);
}
