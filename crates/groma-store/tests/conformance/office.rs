//! The place where the promises are tried: a fresh database with one workspace, a clock that moves
//! only when something is done, and short words for doing it.

use crate::database::{OwnDatabase, connect, server_url};
use groma_domain::{
    Currency, Email, Kind, ListParams, Refusal, Role, Timestamp, WorkspaceId,
    input::StatusRef,
    record::Draft,
    reference::Key,
    status::StatusInput,
    token::{Token, TokenPrefix},
    workspace::{Workspace, WorkspaceName},
};
use groma_store::{
    Actor, Applied, Change, ChangeRow, Command, DatabaseUrl, Done, Error, NewUser, Store, Target,
};
use serde_json::{Map, Value};
use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

/// The address of every first owner.
pub(crate) const OWNER: &str = "lead@office.test";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A workspace in a database of its own.
pub(crate) struct Office {
    desk: Desk,
    pub(crate) url: DatabaseUrl,
    _home: Home,
}

/// What goes when the test ends.
enum Home {
    Folder { _folder: tempfile::TempDir },
    Database { _database: OwnDatabase },
}

impl Office {
    pub(crate) async fn open(engine: Engine) -> Self {
        let (url, home) = match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("groma.db");
                (DatabaseUrl::Sqlite(path), Home::Folder { _folder: folder })
            }
            Engine::Postgres => {
                let database = OwnDatabase::copy_of(&template().await).await;
                (DatabaseUrl::Postgres(database.url()), Home::Database { _database: database })
            }
        };
        let store = Store::open(&url).await.unwrap();
        let start = Timestamp::parse("2026-03-02T08:00:00Z").unwrap();
        let clock = Arc::new(AtomicI64::new(start.as_millis()));
        let nowhere = WorkspaceId(uuid::Uuid::nil());
        let door = Desk { store, workspace: nowhere, actor: Actor::Operator, clock };
        Self { desk: door.neighbour("Office").await, url, _home: home }
    }

    /// Another opening of the same database, as a command's beside a server. On SQLite the one sees
    /// what the other committed after [`a_moment`].
    pub(crate) async fn reopened(&self) -> Desk {
        Desk { store: Store::open(&self.url).await.unwrap(), ..self.desk.clone() }
    }
}

/// Longer than a connection to SQLite goes on reading the state it has read before.
pub(crate) async fn a_moment() {
    tokio::time::sleep(std::time::Duration::from_millis(15)).await;
}

impl Deref for Office {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

/// The name of a migrated database to copy, made by the first test that asks. It is named for the
/// migrations, so that a server that outlives them gets another one.
async fn template() -> String {
    let name = format!("groma_template_{:016x}", migrations_hash());
    let server = connect(&server_url()).await;
    server.execute("SELECT pg_advisory_lock(7203011)", &[]).await.unwrap();
    let known = "SELECT 1 FROM pg_database WHERE datname = $1";
    if server.query_opt(known, &[&name]).await.unwrap().is_none() {
        let draft = OwnDatabase::copy_of("template1").await;
        let url = draft.url();
        drop(Store::open(&DatabaseUrl::Postgres(url.clone())).await.unwrap());
        let (address, _) = url.split_once('?').unwrap();
        let (_, made) = address.rsplit_once('/').unwrap();
        // Waits for the store's connections to be gone. What is half made never has the name.
        let rename = format!("ALTER DATABASE {made} RENAME TO {name}");
        server.batch_execute(&rename).await.unwrap();
    }
    server.execute("SELECT pg_advisory_unlock(7203011)", &[]).await.unwrap();
    name
}

fn migrations_hash() -> u64 {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    let mut hasher = std::hash::DefaultHasher::new();
    for file in files {
        (file.file_name(), std::fs::read(&file).unwrap()).hash(&mut hasher);
    }
    hasher.finish()
}

/// A place to work in one workspace as one actor. Cheap to clone, for those who work at once.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) actor: Actor,
    clock: Arc<AtomicI64>,
}

impl Desk {
    /// The present moment, which stands still.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::Relaxed))
    }

    /// A second later.
    pub(crate) fn tick(&self) -> Timestamp {
        self.clock.fetch_add(1_000, Ordering::Relaxed);
        self.now()
    }

    /// At work in another workspace.
    pub(crate) fn in_workspace(&self, workspace: WorkspaceId) -> Self {
        Self { workspace, ..self.clone() }
    }

    /// Another workspace of the same database.
    pub(crate) async fn neighbour(&self, name: &str) -> Self {
        self.in_workspace(self.make_workspace(name, OWNER).await.unwrap().id)
    }

    pub(crate) async fn make_workspace(&self, name: &str, owner: &str) -> Result<Workspace, Error> {
        let name = WorkspaceName::parse(name).unwrap();
        let owner = user(owner, Some("Survey lead"));
        self.store.create_workspace(name, Currency::EUR, owner, self.tick()).await
    }

    /// A member with this role, at work.
    pub(crate) async fn member(&self, role: Role) -> Self {
        let user = user(&format!("{role}@office.test"), None);
        let added = self.store.add_member(self.workspace, self.actor, user, role, self.tick());
        let person = added.await.unwrap().person.id;
        Self { actor: Actor::Member { person, role }, ..self.clone() }
    }

    pub(crate) fn change(&self, commands: Vec<Command>) -> Change {
        Change { workspace: self.workspace, actor: self.actor, now: self.tick(), commands }
    }

    pub(crate) async fn apply(&self, commands: Vec<Command>) -> Result<Applied, Error> {
        self.store.apply(self.change(commands)).await
    }

    /// Tries commands without carrying them out; tells which would be refused.
    pub(crate) async fn refused(&self, commands: Vec<Command>) -> Vec<(usize, Refusal)> {
        let checked = self.store.check(self.change(commands)).await.unwrap();
        let refused =
            |(index, outcome): (usize, Result<Done, Refusal>)| Some((index, outcome.err()?));
        checked.into_iter().enumerate().filter_map(refused).collect()
    }

    /// Carries out one command.
    pub(crate) async fn done(&self, command: Command) -> Done {
        self.apply(vec![command]).await.unwrap().remove(0)
    }

    /// Tries one command that must be refused.
    pub(crate) async fn refusal(&self, command: Command) -> Refusal {
        refusal(self.apply(vec![command]).await).0
    }

    /// Tries one command that must be refused, and tells for which fields.
    pub(crate) async fn wrong_fields(&self, command: Command) -> Vec<String> {
        match self.refusal(command).await {
            Refusal::Invalid(problems) => problems.into_iter().map(|p| p.field).collect(),
            other => panic!("refused for another reason: {other}"),
        }
    }

    /// Creates a record and shows it.
    pub(crate) async fn create(&self, kind: Kind, values: Value) -> Value {
        match self.done(new(kind, values)).await {
            Done::Created(id, _) => self.shown(kind, &id.to_string()).await,
            other => panic!("not created: {other:?}"),
        }
    }

    /// Changes a record and shows it.
    pub(crate) async fn update(&self, kind: Kind, key: &str, values: Value) -> Value {
        match self.done(change(kind, key, values)).await {
            Done::Updated(id, _) => self.shown(kind, &id.to_string()).await,
            other => panic!("not updated: {other:?}"),
        }
    }

    pub(crate) async fn delete(&self, kind: Kind, key: &str) {
        let done = self.done(delete(kind, key)).await;
        assert!(matches!(done, Done::Deleted { .. }), "{done:?}");
    }

    /// A folder, an assignment and a budget in it: what most expenses need. All have the reference
    /// `in`.
    pub(crate) async fn furnish(&self) {
        use serde_json::json;
        let folder = json!({ "reference": "in", "name": "Boundary survey" });
        let assignment = json!({ "reference": "in", "folder": "in", "title": "Stake out" });
        let budget = json!({ "reference": "in", "folder": "in", "name": "Travel", "amount": 1000 });
        self.apply(vec![
            new(Kind::Folder, folder),
            new(Kind::Assignment, assignment),
            new(Kind::Budget, budget),
        ])
        .await
        .unwrap();
    }

    pub(crate) async fn get(&self, kind: Kind, key: &str) -> Option<Value> {
        let key = Key::parse(key).expect("a key");
        let document = self.store.get(self.workspace, kind, &key).await.unwrap();
        document.map(|document| serde_json::from_slice(&document.text).unwrap())
    }

    pub(crate) async fn shown(&self, kind: Kind, key: &str) -> Value {
        self.get(kind, key).await.unwrap_or_else(|| panic!("no {kind} `{key}`"))
    }

    /// A page of a list, and how many items the whole list has.
    pub(crate) async fn list(&self, kind: Kind, query: &[(&str, &str)]) -> (Vec<Value>, u64) {
        let params = ListParams::parse(query.iter().copied()).unwrap();
        let page = self.store.list(self.workspace, kind, &params, b"[".to_vec()).await.unwrap();
        (parse_list(page.body), page.total)
    }

    /// The references on a page, in their order.
    pub(crate) async fn references(&self, kind: Kind, query: &[(&str, &str)]) -> Vec<String> {
        let (content, _) = self.list(kind, query).await;
        content.iter().map(|record| text(record, "reference")).collect()
    }

    pub(crate) async fn statuses(&self, query: &[(&str, &str)]) -> (Vec<Value>, u64) {
        let params = ListParams::parse(query.iter().copied()).unwrap();
        let page = self.store.statuses(self.workspace, &params, b"[".to_vec()).await.unwrap();
        (parse_list(page.body), page.total)
    }

    pub(crate) async fn status(&self, kind: Kind, name: &str) -> Value {
        let (statuses, _) = self.statuses(&[("limit", "100")]).await;
        let mut statuses = statuses.into_iter();
        let named = |status: &Value| status["name"] == name && status["appliesTo"] == kind.name();
        statuses.find(named).unwrap_or_else(|| panic!("no status {name} of a {kind}"))
    }

    /// The audit trail behind `mark`.
    pub(crate) async fn trail(&self, mark: i64) -> Vec<ChangeRow> {
        self.store.changes(self.workspace, mark, 100_000).await.unwrap()
    }

    /// The end of the audit trail, to look behind later.
    pub(crate) async fn mark(&self) -> i64 {
        self.trail(0).await.last().map_or(0, |row| row.id)
    }

    /// The events behind `mark`: name and subject's key as its document shows it.
    pub(crate) async fn events(&self, mark: i64) -> Vec<String> {
        let is_event = |row: &ChangeRow| groma_domain::Event::all().any(|e| e.name() == row.action);
        let rows = self.trail(mark).await;
        rows.iter().filter(|row| is_event(row)).map(event_line).collect()
    }
}

/// «folder.created F-000001».
fn event_line(row: &ChangeRow) -> String {
    let document = row.after.as_ref().or(row.before.as_ref()).expect("a document");
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["id"], row.subject.to_string());
    format!("{} {}", row.action, text(&document, "reference"))
}

fn parse_list(mut body: Vec<u8>) -> Vec<Value> {
    body.push(b']');
    serde_json::from_slice(&body).unwrap()
}

/// A text of a document.
pub(crate) fn text(document: &Value, field: &str) -> String {
    document[field].as_str().unwrap_or_else(|| panic!("{field} of {document}")).to_owned()
}

/// The refusal, and the place of the command that was refused.
pub(crate) fn refusal<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (Refusal, usize) {
    match outcome {
        Err(Error::Refused { refusal, index }) => (refusal, index),
        Err(error) => panic!("failed instead of being refused: {error}"),
        Ok(outcome) => panic!("not refused: {outcome:?}"),
    }
}

/// A token with a number.
pub(crate) fn token(number: u8) -> Token {
    Token::new(&TokenPrefix::parse("svc").unwrap(), [number; 24])
}

/// Someone to be made a member.
pub(crate) fn user(email: &str, name: Option<&str>) -> NewUser {
    let email = Email::parse(email).unwrap();
    NewUser { email, name: name.map(str::to_owned), password_hash: None }
}

fn object(values: Value) -> Map<String, Value> {
    match values {
        Value::Object(values) => values,
        other => panic!("not an object: {other}"),
    }
}

fn save(target: Target, kind: Kind, values: Value) -> Command {
    let draft = Draft::read(kind, &object(values)).unwrap();
    Command::Save { target, draft: Box::new(draft) }
}

/// A record to be created.
pub(crate) fn new(kind: Kind, values: Value) -> Command {
    save(Target::New, kind, values)
}

/// A record to be changed.
pub(crate) fn change(kind: Kind, key: &str, values: Value) -> Command {
    save(Target::Existing { key: Key::parse(key).unwrap(), version: None }, kind, values)
}

/// A record to be changed if it still has this version.
pub(crate) fn change_seen(kind: Kind, key: &str, version: u64, values: Value) -> Command {
    let key = Key::parse(key).unwrap();
    save(Target::Existing { key, version: Some(version) }, kind, values)
}

/// A record to be changed if its reference is known, else created: a row of an import.
pub(crate) fn import(kind: Kind, values: Value) -> Command {
    save(Target::ByReference, kind, values)
}

/// A record to be deleted.
pub(crate) fn delete(kind: Kind, key: &str) -> Command {
    Command::Delete { kind, key: Key::parse(key).unwrap(), version: None }
}

/// A status to be created, or changed when there is one of its kind and name.
pub(crate) fn save_status(values: Value) -> Command {
    Command::SaveStatus { target: None, input: StatusInput::read(&object(values)).unwrap() }
}

/// A status to be changed, by its id.
pub(crate) fn change_status(status: &Value, values: Value) -> Command {
    let target = Some(StatusRef::Id(text(status, "id").parse().unwrap()));
    Command::SaveStatus { target, input: StatusInput::read(&object(values)).unwrap() }
}

/// A status to be deleted, by name.
pub(crate) fn delete_status(kind: Kind, status: &str, replacement: Option<&str>) -> Command {
    let named = |name: &str| StatusRef::Name(name.to_owned());
    Command::DeleteStatus { kind, status: named(status), replacement: replacement.map(named) }
}

/// Waits until something holds, for as long as it may take.
pub(crate) async fn within(patience: Duration, what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < patience, "not within {patience:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
