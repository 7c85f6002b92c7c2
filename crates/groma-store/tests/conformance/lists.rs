//! Lists: creation order, deep pages, and concurrent writes.

use crate::{
    Fixture,
    fixture::{OWNER, TestWorkspace, change, delete, new, text, wait_for_other_connections},
    on_both_engines,
};
use groma_domain::Kind;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

on_both_engines! {
    empty_list_has_no_records
    a_list_appends_to_what_is_there_with_commas_between
    records_stay_in_creation_order
    list_and_detail_are_equal_after_every_change
    each_kind_and_workspace_has_its_own_list
    page_past_the_end_is_empty_with_the_total
    pages_match_a_simple_model_after_random_creates_and_deletes
    pages_match_through_another_connection
    paging_during_inserts_neither_skips_nor_repeats_records
    page_read_during_writes_is_consistent
    export_returns_every_record_once
}

async fn empty_list_has_no_records(fixture: Fixture) {
    for kind in Kind::ALL {
        for query in [&[][..], &[("page", "7")], &[("term", "x")], &[("term", "xyz")]] {
            assert_eq!(fixture.list(kind, query).await, (vec![], 0));
        }
    }
    // Also after records were deleted.
    fixture.seed_folder().await;
    fixture.delete(Kind::Folder, "in").await;
    assert_eq!(fixture.list(Kind::Folder, &[]).await, (vec![], 0));
}

async fn a_list_appends_to_what_is_there_with_commas_between(fixture: Fixture) {
    for name in ["one", "two"] {
        fixture.create(Kind::Folder, json!({ "name": name })).await;
    }
    for query in [&[][..], &[("term", "f-0")], &[("term", "f")]] {
        let params = groma_domain::ListParams::parse(query.iter().copied()).unwrap();
        let page = fixture.store.list(fixture.workspace_id, Kind::Folder, &params).await.unwrap();
        assert_eq!(page.documents.len(), 2);
        let first: Value = serde_json::from_slice(&page.documents[0]).unwrap();
        assert_eq!(first, fixture.find(Kind::Folder, "F-000001").await);
    }
}

async fn records_stay_in_creation_order(fixture: Fixture) {
    let folder =
        |reference: &str| new(Kind::Folder, json!({ "reference": reference, "name": "survey" }));
    fixture.apply(["c", "a", "d", "b"].map(folder).into()).await.unwrap();
    fixture.update(Kind::Folder, "c", json!({ "name": "survey, late" })).await;
    fixture.update(Kind::Folder, "d", json!({ "reference": "z" })).await;
    for query in [&[][..], &[("term", "survey")], &[("term", "su")]] {
        assert_eq!(fixture.references(Kind::Folder, query).await, ["c", "a", "z", "b"]);
    }
    fixture.delete(Kind::Folder, "a").await;
    fixture.run(folder("a")).await;
    for query in [&[][..], &[("term", "survey")], &[("term", "s")]] {
        assert_eq!(fixture.references(Kind::Folder, query).await, ["c", "z", "b", "a"]);
    }
}

async fn list_and_detail_are_equal_after_every_change(fixture: Fixture) {
    let folder =
        |n: usize| new(Kind::Folder, json!({ "reference": format!("f{n}"), "name": "survey" }));
    fixture.apply((0..20).map(folder).collect()).await.unwrap();
    let check = async || {
        for item in fixture.list(Kind::Folder, &[("limit", "100")]).await.0 {
            let reference = item["reference"].as_str().unwrap();
            assert_eq!(item, fixture.find(Kind::Folder, reference).await);
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
        fixture.update(Kind::Folder, &format!("f{n}"), change).await;
        check().await;
    }
    // One bundle loses a document, another all of them.
    for n in [2, 8, 9, 10, 11, 12, 13, 14, 15, 16] {
        fixture.delete(Kind::Folder, &format!("f{n}")).await;
        check().await;
    }
    assert_eq!(fixture.list(Kind::Folder, &[]).await.0.len(), 10);
}

async fn each_kind_and_workspace_has_its_own_list(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    fixture.seed_folder().await;
    next.seed_folder().await;
    next.create(Kind::Folder, json!({ "name": "second" })).await;
    for kind in [Kind::Folder, Kind::Assignment, Kind::Budget] {
        assert_eq!(fixture.list(kind, &[]).await, (vec![fixture.find(kind, "in").await], 1));
        let (found, total) = fixture.list(kind, &[("term", "in")]).await;
        assert_eq!((found, total), (vec![fixture.find(kind, "in").await], 1));
    }
    assert_eq!(next.list(Kind::Folder, &[]).await.1, 2);
    assert_eq!(fixture.list(Kind::Expense, &[]).await.1, 0);
}

async fn page_past_the_end_is_empty_with_the_total(fixture: Fixture) {
    let folders = (0..3).map(|_| new(Kind::Folder, json!({ "name": "xyz" })));
    fixture.apply(folders.collect()).await.unwrap();
    for term in [None, Some("xyz"), Some("x")] {
        for (page, limit, length) in
            [("1", "2", 2), ("2", "2", 1), ("3", "2", 0), ("2", "3", 0), ("2147483647", "100", 0)]
        {
            let mut query = vec![("page", page), ("limit", limit)];
            query.extend(term.map(|term| ("term", term)));
            let (content, total) = fixture.list(Kind::Folder, &query).await;
            assert_eq!((content.len(), total), (length, 3), "{query:?}");
        }
    }
}

/// Asserts the references of a page.
async fn check_page(workspace: &TestWorkspace, expected: &[String], page: usize, limit: usize) {
    let (page_text, limit_text) = (page.to_string(), limit.to_string());
    let query = [("page", &*page_text), ("limit", &*limit_text)];
    let (content, total) = workspace.list(Kind::Folder, &query).await;
    assert_eq!(total, expected.len() as u64);
    let references: Vec<_> = content.iter().map(|folder| text(folder, "reference")).collect();
    let start = expected.len().min((page - 1) * limit);
    let end = expected.len().min(page * limit);
    assert_eq!(references, expected[start..end], "page {page} of {limit}");
}

async fn pages_match_a_simple_model_after_random_creates_and_deletes(fixture: Fixture) {
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
        // Delete single records, sometimes a whole range, sometimes nearly all.
        for _ in 0..random.usize(..150) {
            let deleted = model.remove(random.usize(..model.len()));
            commands.push(delete(Kind::Folder, &deleted));
        }
        let stretch = match round {
            4 | 7 => 300,
            9 => model.len() - 10,
            _ => 0,
        };
        let start = random.usize(..=model.len() - stretch);
        commands.extend(model.drain(start..start + stretch).map(|r| delete(Kind::Folder, &r)));
        fixture.apply(commands).await.unwrap();
        for _ in 0..25 {
            let limit = random.usize(1..=100);
            let pages = model.len().div_ceil(limit);
            check_page(&fixture, &model, random.usize(1..=pages + 2), limit).await;
        }
        for limit in [1, 64, 100] {
            let last = model.len().div_ceil(limit);
            for page in [1, last - 1, last, last + 1].into_iter().filter(|page| *page > 0) {
                check_page(&fixture, &model, page, limit).await;
            }
        }
    }
    let mut walked = Vec::new();
    for page in 1..=model.len().div_ceil(100) {
        let query = [("page", &*page.to_string()), ("limit", "100")];
        walked.extend(fixture.references(Kind::Folder, &query).await);
    }
    assert_eq!(walked, model);
    // Also with a new store, as after a start.
    check_page(&fixture.reopen().await, &model, 2, 97).await;
}

async fn pages_match_through_another_connection(fixture: Fixture) {
    let other = fixture.reopen().await;
    let mut model = Vec::new();
    for round in 0..6 {
        let (writer, reader) =
            if round % 2 == 0 { (&*fixture, &other) } else { (&other, &*fixture) };
        let mut commands: Vec<_> = Vec::new();
        for number in 0..150 {
            let reference = format!("{round}.{number}");
            commands.push(new(Kind::Folder, json!({ "reference": reference, "name": "x" })));
            model.push(reference);
        }
        if round > 0 {
            commands.extend(model.drain(20..90).map(|deleted| delete(Kind::Folder, &deleted)));
        }
        writer.apply(commands).await.unwrap();
        wait_for_other_connections().await;
        for page in 1..=5 {
            check_page(reader, &model, page, 90).await;
        }
    }
}

/// Reads all pages of a growing list.
async fn read_all_pages(
    workspace: &TestWorkspace,
    limit: usize,
    term: Option<&str>,
) -> Vec<String> {
    let mut all = Vec::new();
    for page in 1.. {
        let (page, limit_text) = (page.to_string(), limit.to_string());
        let mut query = vec![("page", &*page), ("limit", &*limit_text)];
        query.extend(term.map(|term| ("term", term)));
        let references = workspace.references(Kind::Folder, &query).await;
        // SQLite pages are read without awaiting, so let other tasks run.
        tokio::task::yield_now().await;
        let is_last = references.len() < limit;
        all.extend(references);
        if is_last {
            break;
        }
    }
    all
}

async fn paging_during_inserts_neither_skips_nor_repeats_records(fixture: Fixture) {
    let other = fixture.reopen().await;
    let writing = Arc::new(AtomicBool::new(true));
    let writers = (0..8).map(|writer| {
        let workspace = if writer % 2 == 0 { (*fixture).clone() } else { other.clone() };
        tokio::spawn(async move {
            for step in 0..25 {
                // Changes of different sizes take different times.
                let folder = |part| {
                    let reference = format!("{writer}.{step}.{part}");
                    new(Kind::Folder, json!({ "reference": reference, "name": "survey" }))
                };
                workspace.apply((0..=(writer + step) % 4).map(folder).collect()).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let readers = [(7, None), (100, None), (13, Some("survey")), (29, Some("su"))];
    let readers = readers.into_iter().enumerate().map(|(index, (limit, term))| {
        let workspace = if index % 2 == 0 { (*fixture).clone() } else { other.clone() };
        let writing = writing.clone();
        tokio::spawn(async move {
            let mut walks = Vec::new();
            while writing.load(Ordering::Relaxed) {
                walks.push(read_all_pages(&workspace, limit, term).await);
            }
            walks
        })
    });
    let readers: Vec<_> = readers.collect();
    for writer in writers {
        writer.await.unwrap();
    }
    writing.store(false, Ordering::Relaxed);
    wait_for_other_connections().await;
    let all = read_all_pages(&fixture, 100, None).await;
    assert_eq!(all.len(), 500);
    for reader in readers {
        for walked in reader.await.unwrap() {
            assert_eq!(walked, all[..walked.len()], "the pages are not a prefix of the list");
        }
    }
}

async fn page_read_during_writes_is_consistent(fixture: Fixture) {
    // Every change deletes the oldest record and adds one, so there are always 200.
    let folder =
        |number: usize| new(Kind::Folder, json!({ "reference": number.to_string(), "name": "x" }));
    fixture.apply((0..200).map(folder).collect()).await.unwrap();
    let writer = {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            for number in 0..200 {
                let oldest = delete(Kind::Folder, &number.to_string());
                workspace.apply(vec![oldest, folder(200 + number)]).await.unwrap();
            }
        })
    };
    let mut reads = 0;
    while !writer.is_finished() || reads == 0 {
        let query = [("page", "3"), ("limit", "60")];
        let (content, total) = fixture.list(Kind::Folder, &query).await;
        tokio::task::yield_now().await;
        assert_eq!((content.len(), total), (60, 200));
        let numbers: Vec<usize> =
            content.iter().map(|folder| text(folder, "reference").parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        reads += 1;
    }
    writer.await.unwrap();
    let last = fixture.references(Kind::Folder, &[("page", "200"), ("limit", "1")]).await;
    assert_eq!(last, ["399"]);
}

async fn export_returns_every_record_once(fixture: Fixture) {
    fixture.seed_folder().await;
    let commands = (0..250).map(|number| {
        new(Kind::Assignment, json!({ "folder": "in", "title": number.to_string() }))
    });
    fixture.apply(commands.collect()).await.unwrap();
    fixture
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
            fixture.store.export(fixture.workspace_id, Kind::Assignment, after, 70).await.unwrap();
        let Some(last) = part.last() else { break };
        assert!(part.len() <= 70);
        after = last.position;
        exported
            .extend(part.iter().map(|record| serde_json::from_slice(&record.document).unwrap()));
    }
    let mut listed: Vec<Value> = Vec::new();
    for page in ["1", "2", "3"] {
        listed.extend(fixture.list(Kind::Assignment, &[("page", page), ("limit", "100")]).await.0);
    }
    assert_eq!(listed.len(), 249);
    assert_eq!(exported, listed);
}
