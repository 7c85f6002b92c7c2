//! Filtered and sorted lists: every query returns the same as filtering and sorting all records by hand.

use crate::{Fixture, fixture::text, on_both_engines};
use groma_domain::{
    Kind, PersonId, RecordId, Role, SearchTerm, StatusId,
    record::{LabelField, Priority},
    text::fold,
};
use groma_store::{
    Actor, Label, NewSavedView, RecordCount, RecordQuery, Sort, SortColumn, StatusFilter,
};
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};
use std::{cmp::Ordering, collections::HashMap};

on_both_engines! {
    every_filter_and_order_matches_a_simple_model
    labels_follow_the_records_that_have_them
    saved_views_belong_to_a_member_or_to_everyone
    audit_log_is_read_from_its_end
    reader_leaves_out_what_was_deleted_meanwhile
}

pub(crate) async fn fill(fixture: &Fixture) {
    let people = ["lead@office.test", "crew@office.test"];
    for n in 0_usize..40 {
        let folder = json!({
            "reference": format!("f{n}"),
            "name": format!("{} {}", ["Chêne", "ormes", "Beaulieu"][n % 3], 40 - n),
            "owner": (n % 4 < 2).then(|| people[n % 2]),
            "status": (n % 5 != 0).then(|| ["Quoted", "Drawing", "Delivered"][n % 3]),
            "dueDate": (n % 3 != 0).then(|| format!("2026-0{}-1{}", 1 + n % 5, n % 9)),
            "archivedAt": (n % 7 == 0).then_some("2026-01-01T00:00:00Z"),
            "startDate": (n % 6 == 0).then(|| format!("2025-0{}-01", 1 + n % 9)),
            "clientName": (n % 3 != 1).then(|| ["Zoé", "ville de Chêne", "Ville de Chene", "Émile"][n % 4]),
            "tags": (["survey", "Ours", "ours"][..n % 4]),
        });
        fixture.create(Kind::Folder, folder).await;
    }
    for n in 0_usize..40 {
        let assignees: Vec<_> = people.iter().take(n % 3).collect();
        let assignment = json!({
            "reference": format!("a{n}"), "folder": format!("f{}", n % 6), "title": format!("Stake out {n}"),
            "assignees": assignees, "status": (["To do", "In progress", "Done"][n % 3]),
            "dueDate": (n % 4 != 0).then(|| format!("2026-0{}-1{}", 1 + n % 5, n % 9)),
            "priority": (["low", "normal", "high", "urgent"][n % 4]),
            "estimatedHours": (n % 3 == 0).then_some(n % 12), "spentHours": (n % 5 == 0).then(|| 13 - n % 13),
        });
        fixture.create(Kind::Assignment, assignment).await;
        let budget = json!({ "reference": format!("b{n}"), "folder": format!("f{}", n % 6), "name": format!("Travel {}", n % 4), "amount": n % 5 * 10, "category": (n % 2 == 0).then(|| ["Terrain", "étude"][n % 3 % 2]) });
        fixture.create(Kind::Budget, budget).await;
    }
    for n in 0_usize..60 {
        let k = n % 36;
        let expense = json!({
            "reference": format!("e{n}"), "folder": format!("f{}", k % 6), "unitAmount": 7 + n, "incurredOn": format!("2026-0{}-1{}", 1 + n % 5, n % 9),
            "budget": (n % 2 == 0).then(|| format!("b{k}")), "assignment": (n % 3 == 0).then(|| format!("a{k}")),
            "submittedBy": (n % 4 < 2).then(|| people[n % 2]), "vendor": "Car hire, Chêne",
            "status": (["Submitted", "Approved"][n % 2]), "billable": n % 3 == 0,
            "category": (n % 4 != 0).then(|| ["Travel", "TRAVEL", "Équipement"][n % 3]),
            "description": (n % 5 == 0).then(|| format!("Étape {}", n % 3)),
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
pub(crate) async fn all(fixture: &Fixture, kind: Kind) -> Vec<Value> {
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

/// The value that a record is sorted by.
enum SortKey {
    Text(String),
    Number(f64),
}

impl SortKey {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            _ => panic!("a column has values of one type"),
        }
    }
}

/// What sorting needs besides the record itself.
struct Model {
    kind: Kind,
    statuses: HashMap<String, (f64, f64)>,
    folders: HashMap<String, String>,
    /// The amount and the spent amount of the budgets of each folder.
    budgets: HashMap<String, (f64, f64)>,
}

impl Model {
    async fn read(fixture: &Fixture, kind: Kind) -> Self {
        let mut statuses = HashMap::new();
        for (n, status) in fixture.statuses(&[("limit", "100")]).await.0.iter().enumerate() {
            let position = status["position"].as_f64().unwrap();
            statuses.insert(text(status, "id"), (position, n as f64));
        }
        let folders = all(fixture, Kind::Folder).await;
        let folders =
            folders.iter().map(|folder| (text(folder, "id"), fold(&text(folder, "name"))));
        let mut budgets: HashMap<String, (f64, f64)> = HashMap::new();
        for budget in all(fixture, Kind::Budget).await {
            let sums = budgets.entry(text(&budget, "folderId")).or_default();
            sums.0 += number(&budget, "amount").unwrap();
            sums.1 += number(&budget, "spent").unwrap();
        }
        Self { kind, statuses, folders: folders.collect(), budgets }
    }

    fn sort_key(&self, by: SortColumn, record: &Value, position: usize) -> Option<SortKey> {
        let plain = |field: &str| record[field].as_str().map(|text| SortKey::Text(text.to_owned()));
        let folded = |field: &str| record[field].as_str().map(|text| SortKey::Text(fold(text)));
        let number = |field: &str| number(record, field).map(SortKey::Number);
        let budgets = || self.budgets.get(&text(record, "id"));
        match by {
            SortColumn::Created => Some(SortKey::Number(position as f64)),
            SortColumn::Updated => plain("updatedAt"),
            SortColumn::Reference => plain("reference"),
            SortColumn::Title => ["name", "title", "description", "category", "reference"]
                .into_iter()
                .find_map(folded),
            SortColumn::Status => {
                let (rank, seq) = self.statuses.get(record["statusId"].as_str()?)?;
                Some(SortKey::Number(rank * 1e6 + seq))
            }
            SortColumn::Person => {
                let one = ["owner", "submittedBy"].iter().map(|field| &record[*field]);
                let people = one.chain(record["assignees"].as_array().into_iter().flatten());
                // The name and the id make the rank of a person.
                let rank = |person: &Value| {
                    Some(format!("{} {}", fold(person["name"].as_str()?), person["id"].as_str()?))
                };
                people.filter_map(rank).min().map(SortKey::Text)
            }
            SortColumn::Folder => {
                self.folders.get(record["folderId"].as_str()?).cloned().map(SortKey::Text)
            }
            SortColumn::Date => Some(day(record)).filter(|day| day != "9999").map(SortKey::Text),
            SortColumn::StartDate => plain("startDate"),
            SortColumn::Client => folded("clientName"),
            SortColumn::Category => folded("category"),
            SortColumn::Vendor => folded("vendor"),
            SortColumn::Priority => {
                let names = Priority::NAMES.map(|(name, _)| name);
                let rank = names.iter().position(|name| record["priority"] == *name)?;
                Some(SortKey::Number(rank as f64))
            }
            SortColumn::EstimatedHours => number("estimatedHours"),
            SortColumn::SpentHours => number("spentHours"),
            SortColumn::Billable => {
                Some(SortKey::Number(f64::from(record["billable"].as_bool().unwrap())))
            }
            SortColumn::Amount if self.kind == Kind::Folder => {
                budgets().map(|(amount, _)| SortKey::Number(*amount))
            }
            SortColumn::Amount => number("amount"),
            SortColumn::Spent => number("spent"),
            SortColumn::Used if self.kind == Kind::Folder => budgets()
                .filter(|(amount, _)| *amount > 0.0)
                .map(|(amount, spent)| SortKey::Number(spent / amount)),
            SortColumn::Used => number("percentUsed"),
        }
    }
}

fn number(record: &Value, field: &str) -> Option<f64> {
    record[field].as_str().map(|number| number.parse().unwrap())
}

/// Whether a record has the tag, client, category, priority, billing and amount of a query.
fn has_values(record: &Value, query: &RecordQuery) -> bool {
    let folds_to = |field: &str, wanted: &Option<String>| {
        wanted.as_ref().is_none_or(|wanted| {
            record[field].as_str().is_some_and(|text| fold(text) == fold(wanted))
        })
    };
    let amount = |is: &dyn Fn(f64) -> bool| number(record, "amount").is_some_and(is);
    let limit = |limit: Option<Decimal>| limit.and_then(|limit| limit.to_f64());
    let mut tags = record["tags"].as_array().into_iter().flatten();
    folds_to("clientName", &query.client)
        && folds_to("category", &query.category)
        && query
            .tag
            .as_ref()
            .is_none_or(|tag| tags.any(|other| fold(other.as_str().unwrap()) == fold(tag)))
        && query.priority.is_none_or(|priority| record["priority"] == priority.as_str())
        && query.billable.is_none_or(|billable| record["billable"] == billable)
        && limit(query.min_amount).is_none_or(|min| amount(&|amount| amount >= min))
        && limit(query.max_amount).is_none_or(|max| amount(&|amount| amount <= max))
}

/// The expected result of a query.
fn expected(records: &[Value], query: &RecordQuery, model: &Model) -> Vec<String> {
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
                && (!query.is_undated || day(record) == "9999")
                && (!query.is_overspent || used(record) > 100.0)
                && has_values(record, query)
        })
        .collect();
    let Sort { by, is_descending } = query.sort;
    kept.sort_by(|(a_position, a), (b_position, b)| {
        let (a_key, b_key) =
            (model.sort_key(by, a, *a_position), model.sort_key(by, b, *b_position));
        let order = match (&a_key, &b_key) {
            (Some(a), Some(b)) => a.compare(b).then(a_position.cmp(b_position)),
            (None, None) => a_position.cmp(b_position),
            // Records without a value come last in both directions.
            (None, Some(_)) => return Ordering::Greater,
            (Some(_), None) => return Ordering::Less,
        };
        if is_descending { order.reverse() } else { order }
    });
    kept.into_iter().map(|(_, record)| text(record, "reference")).collect()
}

/// The references of all records that match a query, read in chunks.
async fn read_all(fixture: &Fixture, query: &RecordQuery) -> Vec<String> {
    let reader = fixture.store.read_records(fixture.workspace_id, query.clone()).await;
    let (mut reader, mut references) = (reader.unwrap(), Vec::new());
    loop {
        let chunk = reader.next(7).await.unwrap();
        if chunk.is_empty() {
            return references;
        }
        assert!(chunk.len() <= 7);
        for record in chunk {
            let document: Value = serde_json::from_slice(&record.document).unwrap();
            references.push(text(&document, "reference"));
        }
    }
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
        let has_amount = matches!(kind, Kind::Expense | Kind::Budget);
        let model = Model::read(&fixture, kind).await;
        let folder = id(Kind::Folder, "f3").await;
        let (budget, assignment) = (id(Kind::Budget, "b6").await, id(Kind::Assignment, "a6").await);
        for (by, is_descending) in
            SortColumn::of(kind).iter().flat_map(|by| [(*by, false), (*by, true)])
        {
            // Fewer combinations suffice in the other direction.
            for bits in (0_u32..128).step_by(if is_descending { 5 } else { 1 }) {
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
                    is_undated: bit(3) && bit(6) && matches!(kind, Kind::Folder | Kind::Assignment),
                    is_overspent: bit(5) && kind == Kind::Budget,
                    tag: (bit(2) && bit(5) && kind == Kind::Folder).then(|| "OURS".to_owned()),
                    client: (bit(4) && kind == Kind::Folder).then(|| "ville de chêne".to_owned()),
                    category: (bit(3) && has_amount).then(|| "travel".to_owned()),
                    priority: (bit(4) && kind == Kind::Assignment).then_some(Priority::High),
                    billable: (bit(1) && kind == Kind::Expense).then_some(bit(2)),
                    min_amount: (bit(1) && has_amount).then(|| Decimal::from(20)),
                    max_amount: (bit(6) && has_amount).then(|| Decimal::from(50)),
                    sort: Sort { by, is_descending },
                    limit: 100,
                    ..RecordQuery::all(kind)
                };
                let expected = expected(&records, &query, &model);
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
                // A list that begins on a day ends on one, too: the undated ones have the last day.
                if query.from.is_none() || query.until.is_some() || kind == Kind::Expense {
                    let all = read_all(&fixture, &query).await;
                    assert_eq!(all, expected, "read whole: {query:?}");
                }
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

async fn labels_follow_the_records_that_have_them(fixture: Fixture) {
    let labels = async |field, typed| {
        fixture.store.labels(fixture.workspace_id, field, typed, 10).await.unwrap()
    };
    let label = |value: &str, records| Label { value: value.to_owned(), records };
    let folder = |client: &str| json!({ "name": "a", "clientName": client, "tags": ["Ours", "x"] });
    for client in ["Ville de Chêne", "Ville de Chêne", "Chênaie", "Ormes"] {
        fixture.create(Kind::Folder, folder(client)).await;
    }
    let found = labels(LabelField::Client, "chen").await;
    assert_eq!(found, [label("Chênaie", 1), label("Ville de Chêne", 2)]);
    assert_eq!(labels(LabelField::Tag, "").await, [label("Ours", 4), label("x", 4)]);
    fixture.update(Kind::Folder, "F-000001", json!({ "clientName": "Ormes", "tags": ["x"] })).await;
    fixture.delete(Kind::Folder, "F-000003").await;
    let found = labels(LabelField::Client, "").await;
    assert_eq!(found, [label("Ormes", 2), label("Ville de Chêne", 1)]);
    assert_eq!(labels(LabelField::Tag, "ours").await, [label("Ours", 2)]);
    let expense = json!({ "folder": "F-000001", "unitAmount": 1, "incurredOn": "2026-01-01", "vendor": "Garage", "category": "Travel" });
    fixture.create(Kind::Expense, expense).await;
    fixture
        .create(
            Kind::Budget,
            json!({ "folder": "F-000001", "name": "b", "amount": 1, "category": "Travel" }),
        )
        .await;
    assert_eq!(labels(LabelField::Category, "trav").await, [label("Travel", 2)]);
    // The folder takes its expenses and budgets along.
    fixture.delete(Kind::Folder, "F-000001").await;
    assert_eq!(labels(LabelField::Category, "").await, []);
    assert_eq!(labels(LabelField::Vendor, "").await, []);
    let elsewhere = fixture.new_workspace("Elsewhere").await;
    assert_eq!(
        elsewhere.store.labels(elsewhere.workspace_id, LabelField::Client, "", 9).await.unwrap(),
        []
    );
}

async fn saved_views_belong_to_a_member_or_to_everyone(fixture: Fixture) {
    let folder = json!({ "name": "a", "owner": "lead@office.test" });
    let folder = fixture.create(Kind::Folder, folder).await;
    let lead = PersonId(folder["owner"]["id"].as_str().unwrap().parse().unwrap());
    let Actor::Member(crew) = fixture.member(Role::Editor).await.actor else { panic!("a member") };
    let admin = fixture.member(Role::Admin).await.actor;
    let view = |name: &str, is_shared| NewSavedView {
        kind: Kind::Folder,
        is_shared,
        name: name.to_owned(),
        query: format!("?client={name}"),
    };
    let (store, workspace) = (&fixture.store, fixture.workspace_id);
    let save = async |person, view| {
        store.save_view(workspace, Actor::Member(person), view, fixture.now()).await
    };
    save(lead, view("Mine", false)).await.unwrap();
    let shared = save(lead, view("Ours", true)).await.unwrap();
    let names = async |person| -> Vec<String> {
        let views = store.saved_views(workspace, person).await.unwrap();
        views.into_iter().map(|view| view.name).collect()
    };
    assert_eq!(names(lead).await, ["Mine", "Ours"]);
    assert_eq!(names(crew).await, ["Ours"]);
    // The same name replaces the view.
    let again = NewSavedView { query: "?q=a".to_owned(), ..view("Ours", true) };
    let again = save(lead, again).await.unwrap();
    assert_eq!((again.id, again.query.as_str()), (shared.id, "?q=a"));
    assert!(save(lead, view(" ", false)).await.is_err());
    let delete = async |actor| store.delete_view(workspace, actor, shared.id, fixture.now()).await;
    assert!(delete(Actor::Member(crew)).await.is_err());
    delete(admin).await.unwrap();
    assert_eq!(names(lead).await, ["Mine"]);
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

async fn reader_leaves_out_what_was_deleted_meanwhile(fixture: Fixture) {
    for n in 0..5 {
        fixture.create(Kind::Folder, json!({ "reference": format!("f{n}"), "name": "a" })).await;
    }
    let sort = Sort { by: SortColumn::Reference, is_descending: false };
    let query = RecordQuery { sort, ..RecordQuery::all(Kind::Folder) };
    let mut reader = fixture.store.read_records(fixture.workspace_id, query).await.unwrap();
    let mut next = async || -> Vec<String> {
        let chunk = reader.next(2).await.unwrap();
        let documents = chunk.iter().map(|record| serde_json::from_slice(&record.document));
        documents.map(|document| text(&document.unwrap(), "reference")).collect()
    };
    assert_eq!(next().await, ["f0", "f1"]);
    fixture.delete(Kind::Folder, "f2").await;
    fixture.delete(Kind::Folder, "f3").await;
    fixture.update(Kind::Folder, "f4", json!({ "reference": "new" })).await;
    fixture.create(Kind::Folder, json!({ "reference": "later", "name": "a" })).await;
    assert_eq!(next().await, ["new"]);
    assert!(next().await.is_empty());
}
