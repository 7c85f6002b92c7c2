//! Exact lists: pages, cursors and totals equal filtering and sorting all documents by hand.

use crate::{
    Fixture,
    fixture::{domain_error, text},
    list_queries::{all, fill},
    on_both_engines,
};
use groma_domain::{
    DomainError, Kind, PersonId, RecordId, SearchTerm, StatusId, Timestamp, record::Priority,
    text::fold,
};
use groma_geo::Bbox;
use groma_store::{Command, Page, RecordQuery, Sort, SortColumn, StatusFilter};
use serde_json::{Value, json};
use std::cmp::Ordering;

on_both_engines! {
    random_filters_and_orders_match_a_simple_model
    more_matches_than_are_collected_are_read_in_order
    cursor_survives_deletes_and_inserts
    cursor_of_another_list_is_rejected
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// True once in so many times.
    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Records with everything that lists filter and sort by.
async fn fill_more(fixture: &Fixture) {
    fill(fixture).await;
    for (n, reference) in ["É-1", "e-1", "E-1", "ß-2", "SS-2", "z"].into_iter().enumerate() {
        let folder = json!({
            "reference": reference, "name": (["Ormes", "ormes", "Òrmes"][n % 3]),
            "externalId": (n % 2 == 0).then(|| format!("ERP {}", n % 4)),
            "dueDate": (n % 2 == 1).then_some("9999-12-31"),
        });
        fixture.create(Kind::Folder, folder).await;
    }
    for (n, bbox) in [
        [2.0, 47.0, 2.5, 47.5],
        [2.5, 47.5, 3.0, 48.0],
        [-180.0, -10.0, -179.0, 10.0],
        [179.0, -10.0, 180.0, 10.0],
        [-180.0, -90.0, 180.0, 90.0],
        [0.1, 0.1, 0.1, 0.1],
    ]
    .into_iter()
    .enumerate()
    {
        let folder = text(&fixture.find(Kind::Folder, &format!("f{}", n * 3)).await, "id");
        let folder: RecordId = folder.parse().unwrap();
        fixture.run(Command::SetFolderBbox { folder, bbox: Some(Bbox(bbox)) }).await;
    }
    for (kind, key) in [(Kind::Assignment, "a9"), (Kind::Expense, "e9"), (Kind::Budget, "b9")] {
        fixture.update(kind, key, json!({ "externalId": "ERP 0" })).await;
    }
}

fn number(record: &Value, field: &str) -> Option<f64> {
    record[field].as_str().map(|number| number.parse().unwrap())
}

fn day(record: &Value) -> Option<&str> {
    record["dueDate"].as_str().or_else(|| record["incurredOn"].as_str())
}

fn time(record: &Value, field: &str) -> Timestamp {
    Timestamp::parse(record[field].as_str().unwrap()).unwrap()
}

fn has_person(record: &Value, person: PersonId) -> bool {
    let one = ["owner", "submittedBy"].iter().map(|field| &record[*field]);
    let people = one.chain(record["assignees"].as_array().into_iter().flatten());
    people.into_iter().any(|other| other["id"] == person.to_string())
}

fn meets(record: &Value, Bbox([west, south, east, north]): Bbox) -> bool {
    let Some(sides) = record["bbox"].as_array() else { return false };
    let sides: Vec<f64> = sides.iter().map(|side| side.as_f64().unwrap()).collect();
    let meets = |west: f64, east: f64| sides[0] <= east && sides[2] >= west;
    let is_beside = match west <= east {
        true => meets(west, east),
        false => meets(west, 180.0) || meets(-180.0, east),
    };
    is_beside && sides[1] <= north && sides[3] >= south
}

fn is_match(record: &Value, query: &RecordQuery) -> bool {
    let is = |field: &str, wanted: Option<String>| wanted.is_none_or(|it| record[field] == it);
    let link = |id: Option<RecordId>| id.map(|id| id.to_string());
    let folds_to = |field: &str, wanted: &Option<String>| {
        let text = record[field].as_str().map(fold);
        wanted.as_ref().is_none_or(|wanted| text == Some(fold(wanted)))
    };
    let is_closed = ["archivedAt", "completedAt"].iter().any(|field| record[*field].is_string());
    let mut tags = record["tags"].as_array().into_iter().flatten();
    let searched = ["reference", "name", "title", "description", "category", "vendor"];
    query.term.as_ref().is_none_or(|term| {
        let mut texts = searched.iter().filter_map(|field| record[*field].as_str());
        texts.any(|text| fold(text).contains(term.as_str()))
    }) && is("reference", query.reference.clone())
        && is("externalId", query.external_id.clone())
        && is("folderId", link(query.folder))
        && is("assignmentId", link(query.assignment))
        && is("budgetId", link(query.budget))
        && query.created_since.is_none_or(|since| time(record, "createdAt") >= since)
        && query.updated_since.is_none_or(|since| time(record, "updatedAt") >= since)
        && query.closed.is_none_or(|closed| closed == is_closed)
        && match &query.status {
            StatusFilter::AnyOf(any) => any.iter().any(|id| record["statusId"] == id.to_string()),
            _ => true,
        }
        && query.person.is_none_or(|person| has_person(record, person))
        && query.from.is_none_or(|from| day(record).is_some_and(|day| day >= &*from.to_string()))
        && query.until.is_none_or(|until| day(record).is_some_and(|day| day <= &*until.to_string()))
        && query.tag.as_ref().is_none_or(|tag| tags.any(|t| fold(t.as_str().unwrap()) == fold(tag)))
        && folds_to("clientName", &query.client)
        && folds_to("category", &query.category)
        && query.priority.is_none_or(|priority| record["priority"] == priority.as_str())
        && query.billable.is_none_or(|billable| record["billable"] == billable)
        && query.bbox.is_none_or(|bbox| meets(record, bbox))
}

/// The references of the records that match, in order.
fn expected(records: &[Value], query: &RecordQuery) -> Vec<String> {
    let mut matching: Vec<_> = records.iter().filter(|record| is_match(record, query)).collect();
    let by_text = |text: Option<String>, other: Option<String>| match (text, other) {
        (Some(text), Some(other)) => match query.sort.is_descending {
            true => other.cmp(&text),
            false => text.cmp(&other),
        },
        // Records without a value come last in both directions.
        (None, None) => Ordering::Equal,
        (text, _) => {
            if text.is_none() {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    };
    let value = |record: &Value| match query.sort.by {
        SortColumn::Updated => Some(text(record, "updatedAt")),
        SortColumn::Reference => Some(fold(&text(record, "reference"))),
        SortColumn::Title => ["name", "title"].iter().find_map(|f| record[*f].as_str()).map(fold),
        SortColumn::Date => day(record).map(str::to_owned),
        SortColumn::Amount => number(record, "amount").map(|amount| format!("{amount:020.2}")),
        _ => None,
    };
    // The records are in the order of creation, and the sort is stable.
    matching.sort_by(|a, b| by_text(value(a), value(b)));
    if query.sort == Sort::NEWEST {
        matching.reverse();
    }
    matching.into_iter().map(|record| text(record, "reference")).collect()
}

async fn read(fixture: &Fixture, query: &RecordQuery, cursor: Option<&str>) -> (Vec<String>, Page) {
    let page = fixture.store.find_records(fixture.workspace_id, query.clone(), cursor);
    let page = page.await.unwrap_or_else(|error| panic!("{error}: {query:?}"));
    let documents =
        page.documents.iter().map(|json| serde_json::from_slice::<Value>(json).unwrap());
    (documents.map(|document| text(&document, "reference")).collect(), page)
}

/// Compares all ways through a list with the expected references.
async fn assert_walks(fixture: &Fixture, query: &RecordQuery, expected: &[String]) {
    let total = expected.len() as u64;
    let (some, page) = read(fixture, query, None).await;
    let skip = (query.skip as usize).min(expected.len());
    let wanted = &expected[skip..expected.len().min(skip + query.limit as usize)];
    assert_eq!((some.as_slice(), page.total), (wanted, total), "{query:?}");
    assert!(page.cursors.is_none());
    let (mut forward, mut cursor) = (Vec::new(), Some(String::new()));
    let mut last = String::new();
    while let Some(at) = cursor {
        let (some, page) = read(fixture, query, Some(&at)).await;
        assert_eq!(page.total, total, "{query:?}");
        let cursors = page.cursors.unwrap();
        assert_eq!(cursors.previous.is_some(), !forward.is_empty(), "{query:?}");
        forward.extend(some);
        (cursor, last) = (cursors.next, cursors.last);
    }
    assert_eq!(forward, expected, "{query:?}");
    let (mut backward, mut cursor) = (Vec::new(), Some(last));
    while let Some(at) = cursor {
        let (some, page) = read(fixture, query, Some(&at)).await;
        backward.splice(0..0, some);
        cursor = page.cursors.unwrap().previous;
    }
    assert_eq!(backward, expected, "{query:?}");
}

fn columns(kind: Kind) -> &'static [SortColumn] {
    match kind {
        Kind::Folder | Kind::Assignment => &[
            SortColumn::Created,
            SortColumn::Updated,
            SortColumn::Reference,
            SortColumn::Title,
            SortColumn::Date,
        ],
        Kind::Expense => &[
            SortColumn::Created,
            SortColumn::Updated,
            SortColumn::Reference,
            SortColumn::Date,
            SortColumn::Amount,
        ],
        Kind::Budget => &[
            SortColumn::Created,
            SortColumn::Updated,
            SortColumn::Reference,
            SortColumn::Title,
            SortColumn::Amount,
        ],
    }
}

/// A query of which each filter names a value of some record.
fn random_query(random: &mut Random, kind: Kind, records: &[Value]) -> RecordQuery {
    let mut query = RecordQuery::all(kind);
    query.sort = Sort { by: *random.pick(columns(kind)), is_descending: random.one_in(2) };
    query.limit = *random.pick(&[1, 4, 7, 50]);
    query.skip = u64::from(query.limit) * *random.pick(&[0, 0, 1, 3]);
    let some = |random: &mut Random, times| random.one_in(times).then(|| random.pick(records));
    let field = |record: Option<&Value>, name: &str| Some(record?[name].as_str()?.to_owned());
    let id = |record: Option<&Value>, name: &str| field(record, name)?.parse().ok().map(RecordId);
    if random.one_in(4) {
        let term = *random.pick(&["chene", "a", "travel", "stake out 1", "orm", "zz", "é"]);
        query.term = SearchTerm::parse(term).unwrap();
    }
    query.reference = field(some(random, 15), "reference");
    query.external_id = field(some(random, 8), "externalId");
    query.created_since = some(random, 5).map(|record| time(record, "createdAt"));
    query.updated_since = some(random, 5).map(|record| time(record, "updatedAt"));
    if let (Some(one), other) = (some(random, 4), random.pick(records)) {
        let ids = [one, other].into_iter().filter_map(|record| record["statusId"].as_str());
        let ids: Vec<StatusId> = ids.map(|id| id.parse().unwrap()).collect();
        query.status = StatusFilter::AnyOf(ids);
    }
    if kind != Kind::Budget {
        let person = some(random, 4).and_then(|record| {
            let people = [&record["owner"], &record["submittedBy"], &record["assignees"][0]];
            people.into_iter().find_map(|person| person["id"].as_str())
        });
        query.person = person.map(|id| PersonId(id.parse().unwrap()));
        let date = |record: Option<&Value>| record.and_then(day).map(|day| day.parse().unwrap());
        query.from = date(some(random, 6));
        query.until = date(some(random, 6));
    }
    if kind != Kind::Folder {
        query.folder = id(some(random, 5), "folderId");
    }
    match kind {
        Kind::Folder => {
            query.closed = random.one_in(4).then(|| random.one_in(3));
            query.client = random.one_in(6).then(|| "ville de CHÊNE".to_owned());
            query.tag = random.one_in(6).then(|| "ours".to_owned());
            let boxes = [
                [2.5, 47.5, 2.5, 47.5],
                [170.0, -20.0, -170.0, 20.0],
                [0.0, 0.0, 2.4, 48.0],
                [0.1, 0.1, 0.1, 0.1],
                [2.500_000_1, 47.0, 2.9, 47.499_999_9],
            ];
            query.bbox = random.one_in(5).then(|| Bbox(*random.pick(&boxes)));
        }
        Kind::Assignment => {
            let named = random.pick(&Priority::NAMES).1;
            query.priority = random.one_in(4).then_some(named);
        }
        Kind::Expense => {
            query.assignment = id(some(random, 6), "assignmentId");
            query.budget = id(some(random, 6), "budgetId");
            query.billable = random.one_in(4).then(|| random.one_in(2));
            query.category = random.one_in(5).then(|| "travel".to_owned());
        }
        Kind::Budget => query.category = random.one_in(4).then(|| "ETUDE".to_owned()),
    }
    query
}

async fn random_filters_and_orders_match_a_simple_model(fixture: Fixture) {
    fill_more(&fixture).await;
    let mut random = Random(7);
    let mut found = 0;
    for kind in Kind::ALL {
        let records = all(&fixture, kind).await;
        for by in columns(kind) {
            for is_descending in [false, true] {
                let sort = Sort { by: *by, is_descending };
                let query = RecordQuery { sort, limit: 9, ..RecordQuery::all(kind) };
                assert_walks(&fixture, &query, &expected(&records, &query)).await;
            }
        }
        for _ in 0..150 {
            let query = random_query(&mut random, kind, &records);
            let expected = expected(&records, &query);
            found += usize::from(!expected.is_empty());
            assert_walks(&fixture, &query, &expected).await;
        }
    }
    assert!(found > 150, "{found}");
}

/// More than the store collects.
const MANY: usize = 10_040;

async fn more_matches_than_are_collected_are_read_in_order(fixture: Fixture) {
    for part in 0..MANY / 502 {
        let folder = |n: usize| {
            let name = format!("Lot {}", (part * 502 + n) * 7 % 911);
            crate::fixture::new(Kind::Folder, json!({ "name": name }))
        };
        fixture.apply((0..502).map(folder).collect()).await.unwrap();
    }
    let records = all(&fixture, Kind::Folder).await;
    for by in [SortColumn::Created, SortColumn::Updated, SortColumn::Title, SortColumn::Reference] {
        for is_descending in [false, true] {
            let query = RecordQuery {
                closed: Some(false),
                sort: Sort { by, is_descending },
                limit: 40,
                ..RecordQuery::all(Kind::Folder)
            };
            let expected = expected(&records, &query);
            for skip in [0, 5_020, expected.len() - 3] {
                let (some, page) =
                    read(&fixture, &RecordQuery { skip: skip as u64, ..query.clone() }, None).await;
                let wanted: Vec<_> = expected.iter().skip(skip).take(40).cloned().collect();
                assert_eq!((some, page.total), (wanted, expected.len() as u64), "{query:?}");
            }
            let mut cursor = String::new();
            for part in expected.chunks(40).take(15) {
                let (some, page) = read(&fixture, &query, Some(&cursor)).await;
                assert_eq!(
                    (some.as_slice(), page.total),
                    (part, expected.len() as u64),
                    "{query:?}"
                );
                cursor = page.cursors.unwrap().next.unwrap();
            }
            let (some, page) = read(&fixture, &query, Some(&cursor)).await;
            assert_eq!(some, expected[600..640], "{query:?}");
            let (some, _) = read(&fixture, &query, page.cursors.unwrap().previous.as_deref()).await;
            assert_eq!(some, expected[560..600], "{query:?}");
        }
    }
}

async fn cursor_survives_deletes_and_inserts(fixture: Fixture) {
    let reference = |n: usize| format!("F-{n:06}");
    for n in 0..20 {
        fixture.create(Kind::Folder, json!({ "name": format!("Lot {:02}", n * 7 % 20) })).await;
    }
    for by in [SortColumn::Created, SortColumn::Title, SortColumn::Updated] {
        let sort = Sort { by, is_descending: false };
        let query = RecordQuery { sort, limit: 5, ..RecordQuery::all(Kind::Folder) };
        let (first, page) = read(&fixture, &query, Some("")).await;
        let next = page.cursors.unwrap().next.unwrap();
        let (second, _) = read(&fixture, &query, Some(&next)).await;
        // The record beside the cursor, one before it, and a new one before it.
        fixture.delete(Kind::Folder, &first[4]).await;
        fixture.delete(Kind::Folder, &first[1]).await;
        fixture.create(Kind::Folder, json!({ "name": "Lot 00a" })).await;
        let (again, page) = read(&fixture, &query, Some(&next)).await;
        assert_eq!(again, second);
        let (previous, _) = read(&fixture, &query, page.cursors.unwrap().previous.as_deref()).await;
        let is_new = |name: &&String| **name > reference(20);
        assert!(previous.contains(&first[0]) && !previous.contains(&first[1]), "{previous:?}");
        assert_eq!(previous.iter().filter(is_new).count() > 0, by == SortColumn::Title);
    }
}

async fn cursor_of_another_list_is_rejected(fixture: Fixture) {
    for _ in 0..3 {
        fixture.create(Kind::Folder, json!({ "name": "a" })).await;
    }
    let query = |kind, sort| RecordQuery { sort, limit: 1, ..RecordQuery::all(kind) };
    let folders = query(Kind::Folder, Sort::OLDEST);
    let (_, page) = read(&fixture, &folders, Some("")).await;
    let next = page.cursors.unwrap().next.unwrap();
    let elsewhere = fixture.new_workspace("Elsewhere").await;
    let mut wrong = vec![
        (fixture.workspace_id, query(Kind::Budget, Sort::OLDEST), next.clone()),
        (fixture.workspace_id, query(Kind::Folder, Sort::NEWEST), next.clone()),
        (elsewhere.workspace_id, folders.clone(), next.clone()),
    ];
    for other in ["x", "====", "é", &next[1..], &next[..next.len() - 3], &format!("{next}AA")] {
        wrong.push((fixture.workspace_id, folders.clone(), other.to_owned()));
    }
    for (workspace, query, cursor) in wrong {
        let found = fixture.store.find_records(workspace, query, Some(&cursor)).await;
        let (error, _) = domain_error(found.map(|page| page.total));
        let DomainError::Invalid(problems) = error else { panic!("{error}") };
        assert!(problems[0].to_string().contains("to start over, send an empty cursor"));
    }
    assert_eq!(read(&fixture, &folders, Some(&next)).await.0, ["F-000002"]);
}
