//! Both engines give equal results for a long random sequence of operations. Times are passed in; ids are
//! random, so each is replaced by the order of its first appearance.

use crate::{
    Fixture,
    fixture::{
        TestWorkspace, change, change_status, delete, delete_status, import, new, save_status, text,
    },
};
use groma_domain::{Kind, Role, record::RecordInput};
use groma_store::{AuditEntry, Command, Error};
use groma_testkit::Engine;
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_operations_give_equal_results() {
    compare(1..=3, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_operations_with_swapped_names_give_equal_results() {
    compare(4..=6, true).await;
}

async fn compare(seeds: std::ops::RangeInclusive<u64>, renames: bool) {
    for seed in seeds {
        let (sqlite, postgres) = tokio::join!(
            run_operations(Engine::Sqlite, seed, renames),
            run_operations(Engine::Postgres, seed, renames)
        );
        for (number, (sqlite, postgres)) in sqlite.iter().zip(&postgres).enumerate() {
            assert_eq!(sqlite, postgres, "run_operations {seed}, line {number}");
        }
        assert_eq!(sqlite.len(), postgres.len());
    }
}

/// The result of every operation, one per line.
async fn run_operations(engine: Engine, seed: u64, renames: bool) -> Vec<String> {
    let fixture = Fixture::open(engine).await;
    let mut workspaces = vec![(*fixture).clone(), fixture.new_workspace("Next door").await];
    for role in [Role::Viewer, Role::Editor, Role::Admin] {
        workspaces.push(fixture.member(role).await);
    }
    for workspace in &workspaces[..2] {
        workspace.seed_folder().await;
        let folder = |name: &&str| new(Kind::Folder, json!({ "reference": name, "name": name }));
        workspace.apply(["a", "b", "c"].iter().map(folder).collect()).await.unwrap();
    }
    let mut run = Run {
        workspaces,
        renames,
        random: fastrand::Rng::with_seed(seed),
        statuses: vec![],
        records: HashMap::new(),
        applied: 0,
        rejected: 0,
        ids: HashMap::new(),
        lines: vec![],
    };
    for _ in 0..400 {
        run.step().await;
    }
    assert!(run.applied > 80 && run.rejected > 30, "too few operations");
    run.end().await;
    run.lines
}

struct Run {
    /// The first two are different workspaces, the others are members of the first.
    workspaces: Vec<TestWorkspace>,
    /// Whether references and status names are swapped within a change.
    renames: bool,
    random: fastrand::Rng,
    /// The contents of the workspace before this operation.
    statuses: Vec<Value>,
    records: HashMap<Kind, Vec<Value>>,
    applied: usize,
    rejected: usize,
    ids: HashMap<Uuid, usize>,
    lines: Vec<String>,
}

const WORDS: [&str; 12] = [
    "Chêne",
    "chene",
    "OAK",
    "Straße",
    "100%",
    "a_b",
    "it's",
    "\"quoted\"",
    "日本",
    "😀",
    "back\\slash",
    "survey of the north line",
];
const PEOPLE: [&str; 4] = ["lead@office.test", "Crew@office.test", "crew@OFFICE.test", "x@y.test"];
const STATUSES: [&str; 5] = ["Review", "Done", "Approved", "Brand new", "Nowhere"];
const GROUPS: [&str; 4] = ["todo", "inProgress", "done", "cancelled"];
const MONEY: [&str; 9] = ["0", "10", "12", "12.50", "0.01", "-7.25", "1e6", "1.234", "1e15"];
const HOURS: [&str; 4] = ["0", "7.5", "0.25", "-1"];
const CURRENCIES: [&str; 4] = ["EUR", "EUR", "JPY", "KWD"];

impl Run {
    /// Adds a line with its ids replaced by numbers.
    fn log(&mut self, line: &str) {
        let mut replaced = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            match rest.get(..36).and_then(|text| Uuid::try_parse(text).ok()) {
                Some(id) => {
                    let next = self.ids.len();
                    replaced += &format!("#{}", self.ids.entry(id).or_insert(next));
                    rest = &rest[36..];
                }
                None => {
                    replaced.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        self.lines.push(replaced);
    }

    async fn step(&mut self) {
        let workspace = match self.random.u32(..20) {
            0..14 => 0,
            14..17 => 1,
            _ => self.random.usize(2..self.workspaces.len()),
        };
        let workspace = self.workspaces[workspace].clone();
        self.refresh(&workspace).await;
        match self.random.u32(..10) {
            0..6 => self.write(&workspace).await,
            6 => {
                let kind = self.kind();
                let key = self.key(kind);
                let document = workspace.get(kind, &key).await;
                self.log(&format!("get {kind} {key}: {document:?}"));
            }
            7 | 8 => self.list(&workspace).await,
            _ => {
                let (term, limit) = (self.part_of_a_word(), self.random.u32(1..10).to_string());
                let listed = workspace.statuses(&[("limit", &*limit), ("term", &term)]).await;
                self.log(&format!("statuses {term}: {listed:?}"));
            }
        }
    }

    async fn refresh(&mut self, workspace: &TestWorkspace) {
        self.statuses = workspace.statuses(&[("limit", "100")]).await.0;
        for kind in Kind::ALL {
            self.records.insert(kind, workspace.list(kind, &[("limit", "100")]).await.0);
        }
    }

    async fn write(&mut self, workspace: &TestWorkspace) {
        let count = if self.random.u32(..3) == 0 { self.random.usize(2..6) } else { 1 };
        let may_rename = count == 1 || self.renames;
        let mut commands: Vec<Command> =
            (0..count).filter_map(|_| self.command(may_rename)).collect();
        if self.renames && self.random.u32(..4) == 0 {
            commands.truncate(1);
            commands.extend(self.rotate_names());
        }
        let input = format!("{commands:?}");
        let checked = workspace.rejected(commands.clone()).await;
        let outcome = workspace.apply(commands).await;
        match &outcome {
            Ok(_) => {
                assert_eq!(checked, [], "the dry run rejected an applied change");
                self.applied += 1;
            }
            Err(Error::Domain { error, index }) => {
                assert_eq!(checked.first(), Some(&(*index, error.clone())));
                self.rejected += 1;
            }
            Err(error) => panic!("{input}: {error}"),
        }
        self.log(&format!("{input}: {checked:?} {outcome:?}"));
    }

    async fn list(&mut self, workspace: &TestWorkspace) {
        let kind = self.kind();
        let (page, limit) = (self.random.u32(1..4).to_string(), self.random.u32(1..20).to_string());
        let term = self.part_of_a_word();
        let mut query = vec![("page", &*page), ("limit", &*limit)];
        if self.random.bool() {
            query.push(("term", &term));
        }
        let listed = workspace.list(kind, &query).await;
        self.log(&format!("{kind} {query:?}: {listed:?}"));
    }

    /// Logs the final contents and checks their sums.
    async fn end(&mut self) {
        for workspace in [self.workspaces[0].clone(), self.workspaces[1].clone()] {
            let mut spent: HashMap<String, Decimal> = HashMap::new();
            let (statuses, _) = workspace.statuses(&[("limit", "100")]).await;
            let is_cancelled = |expense: &Value| {
                let status = statuses.iter().find(|status| status["id"] == expense["statusId"]);
                status.is_some_and(|status| status["group"] == "cancelled")
            };
            for kind in Kind::ALL {
                let exported =
                    workspace.store.export(workspace.workspace_id, kind, 0, 10_000).await.unwrap();
                let (_, total) = workspace.list(kind, &[]).await;
                assert_eq!(total, exported.len() as u64);
                for record in exported {
                    let read: Value = serde_json::from_slice(&record.document).unwrap();
                    self.log(&format!("{} {read}", record.position));
                    if let (Kind::Expense, Some(budget)) = (kind, read["budgetId"].as_str())
                        && !is_cancelled(&read)
                    {
                        let amount: Decimal = text(&read, "amount").parse().unwrap();
                        *spent.entry(budget.to_owned()).or_default() += amount;
                    }
                    if kind == Kind::Budget {
                        let sum = spent.get(&text(&read, "id")).copied().unwrap_or_default();
                        let whole: Decimal = text(&read, "amount").parse().unwrap();
                        assert_eq!(text(&read, "spent").parse(), Ok(sum), "{read}");
                        assert_eq!(text(&read, "remaining").parse(), Ok(whole - sum), "{read}");
                    }
                }
            }
            self.log(&format!("{statuses:?}"));
            for row in workspace.audit_log(0).await {
                // Each engine has its own audit log numbers.
                self.log(&format!("{:?}", AuditEntry { id: 0, ..row }));
            }
        }
    }

    fn command(&mut self, may_rename: bool) -> Option<Command> {
        let kind = *self.random.choice(&[
            Kind::Folder,
            Kind::Assignment,
            Kind::Expense,
            Kind::Expense,
            Kind::Budget,
        ])?;
        Some(match self.random.u32(..24) {
            0..8 => new(kind, self.values(kind, true, may_rename)?),
            8..10 => import(kind, self.values(kind, true, true)?),
            10..17 => {
                let key = self.key(kind);
                change(kind, &key, self.values(kind, false, may_rename)?)
            }
            17..20 => {
                // Folders rarely, because their contents are deleted too.
                let others = [Kind::Expense, Kind::Assignment, Kind::Budget];
                let is_folder = self.random.u32(..10) == 0;
                let kind = if is_folder { Kind::Folder } else { *self.random.choice(&others)? };
                delete(kind, &self.key(kind))
            }
            20 => {
                let mut values = json!({
                    "name": self.one_of(&STATUSES), "appliesTo": kind.name(),
                    "group": self.one_of(&GROUPS),
                });
                if self.random.u32(..3) == 0 {
                    values["isDefault"] = self.random.bool().into();
                }
                save_status(values)
            }
            21 => {
                let status = self.random.choice(&self.statuses)?.clone();
                change_status(&status, json!({ "group": self.one_of(&GROUPS) }))
            }
            22 if may_rename => {
                let (from, to) = (self.status(kind), self.status(kind));
                let from = self.statuses.iter().find(|s| s["name"] == from)?.clone();
                change_status(&from, json!({ "name": to }))
            }
            _ => {
                let heir = self.random.bool().then(|| self.status(kind));
                delete_status(kind, &self.status(kind), heir.as_deref())
            }
        })
    }

    /// Commands that give each record the next one's reference, or each status the next one's name.
    fn rotate_names(&mut self) -> Vec<Command> {
        let kind = self.kind();
        let is_records = self.random.bool();
        let (mut chosen, field) = if is_records {
            (self.records[&kind].clone(), "reference")
        } else {
            let of_kind = self.statuses.iter().filter(|status| status["appliesTo"] == kind.name());
            (of_kind.cloned().collect(), "name")
        };
        self.random.shuffle(&mut chosen);
        chosen.truncate(self.random.usize(2..5));
        let rename = |one: &Value, to: Value| {
            let values = json!({ field: to });
            if is_records {
                change(kind, &text(one, "id"), values)
            } else {
                change_status(one, values)
            }
        };
        let Some((first, others)) = chosen.split_first() else { return vec![] };
        let mut commands = vec![rename(first, "aside".into())];
        let mut free = first[field].clone();
        for other in others {
            commands.push(rename(other, free));
            free = other[field].clone();
        }
        commands.push(rename(first, free));
        commands
    }

    /// Mostly valid fields of a kind; `None` if they cannot be parsed.
    fn values(&mut self, kind: Kind, is_new: bool, may_rename: bool) -> Option<Value> {
        let needed = if is_new { 97 } else { 30 };
        let mut values = Map::new();
        match kind {
            Kind::Folder => {
                self.maybe(&mut values, needed, "name", Self::word);
                self.maybe(&mut values, 20, "clientName", Self::word);
                self.maybe(&mut values, 30, "owner", |t| t.one_of(&PEOPLE));
                let moments = ["", "2026-02-01T00:00:00Z"];
                self.maybe(&mut values, 20, "archivedAt", |t| t.one_of(&moments));
                self.maybe(&mut values, 20, "tags", |t| json!([t.word(), t.word()]));
                self.maybe(&mut values, 15, "currency", |t| t.one_of(&CURRENCIES));
            }
            Kind::Assignment => {
                self.maybe(&mut values, needed, "title", Self::word);
                self.maybe(&mut values, needed, "folder", |t| t.key(Kind::Folder).into());
                self.maybe(&mut values, 30, "assignees", |t| {
                    json!([t.one_of(&PEOPLE), t.one_of(&PEOPLE)])
                });
                self.maybe(&mut values, 30, "spentHours", |t| t.one_of(&HOURS));
            }
            Kind::Expense => {
                self.maybe(&mut values, needed, "unitAmount", |t| t.one_of(&MONEY));
                self.maybe(&mut values, needed, "incurredOn", |_| "2026-03-01".into());
                if self.random.u32(..100) < needed {
                    self.links_of_an_expense(&mut values);
                }
                self.maybe(&mut values, 20, "quantity", |t| t.one_of(&["2", "0.5", "-1"]));
                self.maybe(&mut values, 20, "vendor", Self::word);
                self.maybe(&mut values, 20, "category", Self::word);
                self.maybe(&mut values, 20, "submittedBy", |t| t.one_of(&PEOPLE));
            }
            Kind::Budget => {
                self.maybe(&mut values, needed, "name", Self::word);
                self.maybe(&mut values, needed, "amount", |t| t.one_of(&MONEY));
                self.maybe(&mut values, needed, "folder", |t| t.key(Kind::Folder).into());
                self.maybe(&mut values, 10, "currency", |t| t.one_of(&CURRENCIES));
            }
        }
        self.maybe(&mut values, 20, "description", Self::word);
        self.maybe(&mut values, 20, "status", |t| t.status(kind).into());
        self.maybe(&mut values, 15, "customFields", |t| json!({ "n": t.random.u32(..3) }));
        if may_rename {
            // Few references collide often, many rarely.
            let (percent, references) = if self.renames { (35, 10) } else { (20, 60) };
            self.maybe(&mut values, percent, "reference", |t| {
                format!("r{}", t.random.u32(..references)).into()
            });
        }
        RecordInput::read(kind, &values).ok().map(|_| Value::Object(values))
    }

    /// A folder, and a budget and an assignment that mostly belong to it.
    fn links_of_an_expense(&mut self, values: &mut Map<String, Value>) {
        let folder = match self.random.choice(&self.records[&Kind::Folder]) {
            Some(folder) => folder["id"].clone(),
            None => "nowhere".into(),
        };
        for (kind, percent) in [(Kind::Budget, 60), (Kind::Assignment, 30)] {
            let of_the_folder = self.records[&kind].iter().find(|r| r["folderId"] == folder);
            let own = of_the_folder.map_or(Value::Null, |record| record["id"].clone());
            self.maybe(values, percent, kind.name(), |t| match t.random.u32(..10) {
                0 => t.key(kind).into(),
                _ => own,
            });
        }
        values.insert("folder".to_owned(), folder);
    }

    /// Sets a field with this probability in percent.
    fn maybe(
        &mut self,
        values: &mut Map<String, Value>,
        percent: u32,
        name: &str,
        value: impl FnOnce(&mut Self) -> Value,
    ) {
        if self.random.u32(..100) < percent {
            let value = value(self);
            values.insert(name.to_owned(), value);
        }
    }

    fn kind(&mut self) -> Kind {
        *self.random.choice(&Kind::ALL).unwrap()
    }

    fn word(&mut self) -> Value {
        self.one_of(&WORDS)
    }

    fn one_of(&mut self, words: &[&str]) -> Value {
        Value::from(*self.random.choice(words).unwrap())
    }

    fn part_of_a_word(&mut self) -> String {
        let word: Vec<char> = self.random.choice(&WORDS).unwrap().chars().collect();
        let start = self.random.usize(..word.len());
        let end = self.random.usize(start..word.len()) + 1;
        word[start..end].iter().collect()
    }

    /// A key, mostly of an existing record.
    fn key(&mut self, kind: Kind) -> String {
        let field = if self.random.bool() { "id" } else { "reference" };
        match self.random.choice(&self.records[&kind]) {
            Some(record) if self.random.u32(..40) > 0 => text(record, field),
            _ => "nowhere".to_owned(),
        }
    }

    /// A status name, mostly of this kind.
    fn status(&mut self, kind: Kind) -> String {
        let of_kind: Vec<_> =
            self.statuses.iter().filter(|status| status["appliesTo"] == kind.name()).collect();
        match self.random.choice(&of_kind) {
            Some(status) if self.random.u32(..10) > 0 => text(status, "name"),
            _ => (*self.random.choice(&STATUSES).unwrap()).to_owned(),
        }
    }
}
