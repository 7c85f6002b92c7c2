//! Filtered and sorted lists: every query returns the same as filtering and sorting all records by hand.

use crate::{Fixture, fixture::text, on_both_engines};
use groma_domain::{Kind, PersonId, RecordId, SearchTerm, StatusId, text::fold};
use groma_store::{RecordCount, RecordQuery, SortOrder, StatusFilter};
use serde_json::{Value, json};

on_both_engines! {
    every_filter_and_order_matches_a_simple_model
    audit_log_is_read_from_its_end
}

async fn fill(fixture: &Fixture) {
    let people = ["lead@office.test", "crew@office.test"];
    for n in 0_usize..40 {
        let folder = json!({
            "reference": format!("f{n}"),
            "name": format!("{} {}", ["Chêne", "ormes", "Beaulieu"][n % 3], 40 - n),
            "owner": (n % 4 < 2).then(|| people[n % 2]),
            "status": (n % 5 != 0).then(|| ["Quoted", "Drawing", "Delivered"][n % 3]),
            "dueDate": (n % 3 != 0).then(|| format!("2026-0{}-1{}", 1 + n % 5, n % 9)),
            "archivedAt": (n % 7 == 0).then_some("2026-01-01T00:00:00Z"),
        });
        fixture.create(Kind::Folder, folder).await;
    }
    for n in 0_usize..40 {
        let assignees: Vec<_> = people.iter().take(n % 3).collect();
        let assignment = json!({
            "reference": format!("a{n}"), "folder": format!("f{}", n % 6), "title": format!("Stake out {n}"),
            "assignees": assignees, "status": (["To do", "In progress", "Done"][n % 3]),
            "dueDate": (n % 4 != 0).then(|| format!("2026-0{}-1{}", 1 + n % 5, n % 9)),
        });
        fixture.create(Kind::Assignment, assignment).await;
        let budget = json!({ "reference": format!("b{n}"), "folder": format!("f{}", n % 6), "name": format!("Travel {}", n % 4), "amount": n % 5 * 10 });
        fixture.create(Kind::Budget, budget).await;
    }
    for n in 0_usize..60 {
        let k = n % 36;
        let expense = json!({
            "reference": format!("e{n}"), "folder": format!("f{}", k % 6), "unitAmount": 7 + n, "incurredOn": format!("2026-0{}-1{}", 1 + n % 5, n % 9),
            "budget": (n % 2 == 0).then(|| format!("b{k}")), "assignment": (n % 3 == 0).then(|| format!("a{k}")),
            "submittedBy": (n % 4 < 2).then(|| people[n % 2]), "vendor": "Car hire, Chêne",
            "status": (["Submitted", "Approved"][n % 2]),
        });
        fixture.create(Kind::Expense, expense).await;
    }
    // Change some filtered fields, and delete some records.
    fixture
        .update(
            Kind::Assignment,
            "a4",
            json!({ "status": "Done", "assignees": ["crew@office.test"] }),
        )
        .await;
    fixture
        .update(Kind::Assignment, "a5", json!({ "assignees": [], "dueDate": "2026-09-01" }))
        .await;
    fixture
        .update(Kind::Folder, "f9", json!({ "name": "Aaa", "archivedAt": null, "owner": null }))
        .await;
    fixture.delete(Kind::Assignment, "a7").await;
    fixture.delete(Kind::Expense, "e8").await;
    fixture.new_workspace("Elsewhere").await.create(Kind::Folder, json!({ "name": "Chêne" })).await;
}

/// All records of a kind, oldest first.
async fn all(fixture: &Fixture, kind: Kind) -> Vec<Value> {
    let (mut records, mut page) = (Vec::new(), 1);
    loop {
        let (some, total) =
            fixture.list(kind, &[("limit", "100"), ("page", &page.to_string())]).await;
        records.extend(some);
        if records.len() as u64 >= total {
            return records;
        }
        page += 1;
    }
}

fn day(record: &Value) -> String {
    let day = record["dueDate"].as_str().or_else(|| record["incurredOn"].as_str());
    day.unwrap_or("9999").to_owned()
}

fn is_closed(record: &Value) -> bool {
    ["archivedAt", "completedAt"].iter().any(|field| record[*field].is_string())
}

fn people(record: &Value) -> Vec<String> {
    let one = ["owner", "submittedBy"].iter().filter_map(|field| record[*field]["id"].as_str());
    let many =
        record["assignees"].as_array().into_iter().flatten().filter_map(|p| p["id"].as_str());
    one.chain(many).map(str::to_owned).collect()
}

/// The expected result of a query.
fn expected(records: &[Value], query: &RecordQuery) -> Vec<String> {
    let fields = ["reference", "name", "title", "description", "category", "vendor"];
    let has_term = |record: &Value| {
        query.term.as_ref().is_none_or(|term| {
            let mut texts = fields.iter().filter_map(|field| record[*field].as_str());
            texts.any(|text| fold(text).contains(term.as_str()))
        })
    };
    let is = |record: &Value, field: &str, wanted: Option<RecordId>| {
        wanted.is_none_or(|id| record[field] == id.to_string())
    };
    let used = |record: &Value| {
        record["percentUsed"].as_str().map_or(-1.0, |used| used.parse::<f64>().unwrap())
    };
    let mut kept: Vec<(usize, &Value)> = records
        .iter()
        .enumerate()
        .filter(|(_, record)| {
            has_term(record)
                && query.closed.is_none_or(|closed| closed == is_closed(record))
                && match &query.status {
                    StatusFilter::Any => true,
                    StatusFilter::Is(id) => record["statusId"] == id.to_string(),
                    StatusFilter::AnyOf(any) => {
                        any.iter().any(|id| record["statusId"] == id.to_string())
                    }
                    StatusFilter::NoneOf(none) => {
                        !none.iter().any(|id| record["statusId"] == id.to_string())
                    }
                }
                && query.person.is_none_or(|person| people(record).contains(&person.to_string()))
                && is(record, "folderId", query.folder)
                && is(record, "budgetId", query.budget)
                && is(record, "assignmentId", query.assignment)
                && query.from.is_none_or(|from| day(record) >= from.to_string())
                && query.until.is_none_or(|until| day(record) <= until.to_string())
                && (!query.is_overspent || used(record) > 100.0)
                && (query.sort != SortOrder::Latest || day(record) != "9999")
        })
        .collect();
    let title = |record: &Value| record["name"].as_str().unwrap_or_default().to_ascii_lowercase();
    match query.sort {
        SortOrder::Oldest => {}
        SortOrder::Newest => kept.reverse(),
        SortOrder::Soonest => kept.sort_by_key(|(_, record)| day(record)),
        SortOrder::Latest => {
            kept.sort_by_key(|(_, record)| day(record));
            kept.reverse();
        }
        SortOrder::Title => kept.sort_by_key(|(_, record)| title(record)),
        SortOrder::Used => {
            kept.sort_by(|(_, a), (_, b)| used(a).total_cmp(&used(b)));
            kept.reverse();
        }
    }
    kept.into_iter().map(|(_, record)| text(record, "reference")).collect()
}

async fn every_filter_and_order_matches_a_simple_model(fixture: Fixture) {
    fill(&fixture).await;
    let mut asked = 0;
    for kind in Kind::ALL {
        let records = all(&fixture, kind).await;
        let id = |kind: Kind, key: &'static str| {
            let fixture = &fixture;
            async move { text(&fixture.find(kind, key).await, "id").parse::<RecordId>().unwrap() }
        };
        let other_status = records.iter().find_map(|record| record["statusId"].as_str()).unwrap();
        let other_status: StatusId = other_status.parse().unwrap();
        let status: StatusId = text(
            &fixture
                .status(
                    kind,
                    match kind {
                        Kind::Folder => "Drawing",
                        Kind::Assignment => "Done",
                        Kind::Expense => "Approved",
                        Kind::Budget => "Draft",
                    },
                )
                .await,
            "id",
        )
        .parse()
        .unwrap();
        let person = records.iter().flat_map(people).next().map(|id| PersonId(id.parse().unwrap()));
        let has_day = kind != Kind::Budget;
        let folder = id(Kind::Folder, "f3").await;
        let (budget, assignment) = (id(Kind::Budget, "b6").await, id(Kind::Assignment, "a6").await);
        for sort in SortOrder::of(kind) {
            for bits in 0_u32..128 {
                let bit = |n: u32| bits & (1 << n) != 0;
                let query = RecordQuery {
                    term: bit(0).then(|| {
                        SearchTerm::parse(
                            ["chene", "a", "travel", "stake out 1"][bits as usize / 2 % 4],
                        )
                        .unwrap()
                        .unwrap()
                    }),
                    closed: (bit(1) && matches!(kind, Kind::Folder | Kind::Assignment))
                        .then_some(bit(6)),
                    status: match (bit(2), bit(6)) {
                        (true, true) if bit(3) => StatusFilter::AnyOf(vec![status, other_status]),
                        (true, true) => StatusFilter::NoneOf(vec![status]),
                        (true, false) => StatusFilter::Is(status),
                        _ => StatusFilter::Any,
                    },
                    person: person.filter(|_| bit(3)),
                    folder: (bit(4) && kind != Kind::Folder).then_some(folder),
                    budget: (bit(4) && bit(5) && kind == Kind::Expense).then_some(budget),
                    assignment: (bit(6) && bit(5) && kind == Kind::Expense).then_some(assignment),
                    from: (bit(5) && has_day).then(|| "2026-02-01".parse().unwrap()),
                    until: (bit(5) && bit(6) && has_day).then(|| "2026-04-11".parse().unwrap()),
                    is_overspent: bit(5) && kind == Kind::Budget,
                    sort: *sort,
                    limit: 100,
                    ..RecordQuery::all(kind)
                };
                let expected = expected(&records, &query);
                let read = async |query: RecordQuery| {
                    let page =
                        fixture.store.query_records(fixture.workspace_id, query).await.unwrap();
                    let documents = page.documents.iter();
                    let documents =
                        documents.map(|json| serde_json::from_slice::<Value>(json).unwrap());
                    let references: Vec<_> = documents.map(|doc| text(&doc, "reference")).collect();
                    (references, page.count, page.reachable)
                };
                let count = expected.len() as u64;
                assert_eq!(
                    read(query.clone()).await,
                    (expected.clone(), RecordCount::Exactly(count), count),
                    "{query:?}"
                );
                let page = RecordQuery { skip: 3, limit: 4, ..query };
                let (some, ..) = read(page).await;
                let wanted: Vec<_> = expected.into_iter().skip(3).take(4).collect();
                assert_eq!(some, wanted);
                asked += 1;
            }
        }
    }
    assert!(asked > 2_000, "{asked}");
    assert_eq!(fixture.store.totals(fixture.workspace_id).await.unwrap(), [40, 39, 59, 40]);
}

async fn audit_log_is_read_from_its_end(fixture: Fixture) {
    let folder = fixture.create(Kind::Folder, json!({ "name": "a" })).await;
    fixture.create(Kind::Folder, json!({ "name": "b" })).await;
    fixture.update(Kind::Folder, "F-000001", json!({ "name": "c" })).await;
    fixture.new_workspace("Branch").await.create(Kind::Folder, json!({ "name": "d" })).await;
    let actions = async |of: Option<&[uuid::Uuid]>, before, limit| {
        let lines = fixture
            .store
            .recent_audit_entries(fixture.workspace_id, of, before, limit)
            .await
            .unwrap();
        let actions: Vec<_> = lines.iter().map(|line| line.action.clone()).collect();
        (actions, lines.last().map(|line| line.id))
    };
    let (newest, last) = actions(None, None, 2).await;
    assert_eq!(newest, ["folder.updated", "folder.created"]);
    let (older, _) = actions(None, last, 1).await;
    assert_eq!(older, ["folder.created"]);
    let subject: uuid::Uuid = text(&folder, "id").parse().unwrap();
    let (of_it, _) = actions(Some(&[subject]), None, 10).await;
    assert_eq!(of_it, ["folder.updated", "folder.created"]);
}
