//! A new database with one workspace, a clock that the tests move, and short forms of the store's
//! methods.

use groma_domain::{
    Currency, DomainError, Email, Event, Kind, ListParams, Role, Timestamp, WorkspaceId,
    input::StatusRef,
    record::RecordInput,
    reference::Key,
    status::StatusInput,
    token::{Token, TokenPrefix},
    workspace::{Workspace, WorkspaceName},
};
use groma_store::{
    Actor, AuditEntry, Change, Command, CommandOutcome, DatabaseUrl, Error, NewUser, SaveTarget,
    StatusTarget, Store,
};
use groma_testkit::{
    Engine,
    postgres::{PostgresDatabase, create_template},
};
use serde_json::{Map, Value};
use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

/// The email address of the first owner.
pub(crate) const OWNER: &str = "lead@office.test";

/// A workspace in a database of its own.
pub(crate) struct Fixture {
    workspace: TestWorkspace,
    pub(crate) url: DatabaseUrl,
    _storage: Storage,
}

/// The database, which is deleted with the fixture.
enum Storage {
    Sqlite { _directory: tempfile::TempDir },
    Postgres { _database: PostgresDatabase },
}

impl Fixture {
    pub(crate) async fn open(engine: Engine) -> Self {
        let (url, storage) = match engine {
            Engine::Sqlite => {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("groma.db");
                (DatabaseUrl::Sqlite(path), Storage::Sqlite { _directory: directory })
            }
            Engine::Postgres => {
                let database = PostgresDatabase::copy_of(&migrated_template()).unwrap();
                let url = DatabaseUrl::Postgres(database.url());
                (url, Storage::Postgres { _database: database })
            }
        };
        let store = Store::open(&url).await.unwrap();
        let start = Timestamp::parse("2026-03-02T08:00:00Z").unwrap();
        let clock = Arc::new(AtomicI64::new(start.as_millis()));
        let workspace_id = WorkspaceId(uuid::Uuid::nil());
        let none = TestWorkspace { store, workspace_id, actor: Actor::Operator, clock };
        Self { workspace: none.new_workspace("Office").await, url, _storage: storage }
    }

    /// The same workspace through another connection, as a command uses it beside a server. On
    /// SQLite one sees the commits of the other after [`wait_for_other_connections`].
    pub(crate) async fn reopen(&self) -> TestWorkspace {
        TestWorkspace { store: Store::open(&self.url).await.unwrap(), ..self.workspace.clone() }
    }
}

/// Waits longer than a SQLite connection keeps reading the state that it read last.
pub(crate) async fn wait_for_other_connections() {
    tokio::time::sleep(std::time::Duration::from_millis(15)).await;
}

impl Deref for Fixture {
    type Target = TestWorkspace;

    fn deref(&self) -> &TestWorkspace {
        &self.workspace
    }
}

/// The name of a migrated PostgreSQL database to copy. It contains a hash of the migrations, because
/// a server can outlive them.
fn migrated_template() -> String {
    let name = format!("groma_template_{:016x}", migrations_hash());
    let migrate = |url: &str| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let url = DatabaseUrl::Postgres(url.to_owned());
        runtime.block_on(async { drop(Store::open(&url).await.unwrap()) });
    };
    create_template(&name, migrate).unwrap();
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

/// A workspace as one actor uses it. Clones share the store and the clock.
#[derive(Clone)]
pub(crate) struct TestWorkspace {
    pub(crate) store: Store,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) actor: Actor,
    clock: Arc<AtomicI64>,
}

impl TestWorkspace {
    /// The current time, which changes only by [`Self::tick`].
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::Relaxed))
    }

    /// Advances the clock by a second and returns the time.
    pub(crate) fn tick(&self) -> Timestamp {
        self.clock.fetch_add(1_000, Ordering::Relaxed);
        self.now()
    }

    /// Moves the clock.
    pub(crate) fn advance(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::Relaxed);
    }

    /// The same actor in another workspace.
    pub(crate) fn in_workspace(&self, workspace: WorkspaceId) -> Self {
        Self { workspace_id: workspace, ..self.clone() }
    }

    /// Creates another workspace in the same database.
    pub(crate) async fn new_workspace(&self, name: &str) -> Self {
        self.in_workspace(self.create_workspace(name, OWNER).await.unwrap().id)
    }

    pub(crate) async fn create_workspace(
        &self,
        name: &str,
        owner: &str,
    ) -> Result<Workspace, Error> {
        let name = WorkspaceName::parse(name).unwrap();
        let owner = user(owner, Some("Survey lead"));
        self.store.create_workspace(name, Currency::EUR, owner, self.tick()).await
    }

    /// Adds a member with this role and acts as the member.
    pub(crate) async fn member(&self, role: Role) -> Self {
        let user = user(&format!("{role}@office.test"), None);
        let added = self.store.add_member(self.workspace_id, self.actor, user, role, self.tick());
        let person = added.await.unwrap().person.id;
        Self { actor: Actor::Member(person), ..self.clone() }
    }

    pub(crate) fn change(&self, commands: Vec<Command>) -> Change {
        Change { workspace: self.workspace_id, actor: self.actor, now: self.tick(), commands }
    }

    pub(crate) async fn apply(&self, commands: Vec<Command>) -> Result<Vec<CommandOutcome>, Error> {
        self.store.apply(self.change(commands)).await
    }

    /// Runs commands as a dry run and returns the rejected ones.
    pub(crate) async fn rejected(&self, commands: Vec<Command>) -> Vec<(usize, DomainError)> {
        let checked = self.store.check(self.change(commands)).await.unwrap();
        let rejected = |(index, outcome): (usize, Result<CommandOutcome, DomainError>)| {
            Some((index, outcome.err()?))
        };
        checked.into_iter().enumerate().filter_map(rejected).collect()
    }

    /// Applies one command.
    pub(crate) async fn run(&self, command: Command) -> CommandOutcome {
        self.apply(vec![command]).await.unwrap().remove(0)
    }

    /// Applies one command that must be rejected.
    pub(crate) async fn domain_error(&self, command: Command) -> DomainError {
        domain_error(self.apply(vec![command]).await).0
    }

    /// Applies one command that must be rejected and returns its invalid fields.
    pub(crate) async fn invalid_fields(&self, command: Command) -> Vec<String> {
        match self.domain_error(command).await {
            DomainError::Invalid(problems) => problems.into_iter().map(|p| p.field).collect(),
            other => panic!("rejected for another reason: {other}"),
        }
    }

    /// Creates a record and returns its document.
    pub(crate) async fn create(&self, kind: Kind, values: Value) -> Value {
        match self.run(new(kind, values)).await {
            CommandOutcome::Created(id, _) => self.find(kind, &id.to_string()).await,
            other => panic!("not created: {other:?}"),
        }
    }

    /// Changes a record and returns its document.
    pub(crate) async fn update(&self, kind: Kind, key: &str, values: Value) -> Value {
        match self.run(change(kind, key, values)).await {
            CommandOutcome::Updated(id, _) => self.find(kind, &id.to_string()).await,
            other => panic!("not updated: {other:?}"),
        }
    }

    pub(crate) async fn delete(&self, kind: Kind, key: &str) {
        let done = self.run(delete(kind, key)).await;
        assert!(matches!(done, CommandOutcome::Deleted { .. }), "{done:?}");
    }

    /// Creates a folder with an assignment and a budget for expenses. All have the reference `in`.
    pub(crate) async fn seed_folder(&self) {
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
        let document = self.store.get(self.workspace_id, kind, &key).await.unwrap();
        document.map(|document| serde_json::from_slice(&document).unwrap())
    }

    pub(crate) async fn find(&self, kind: Kind, key: &str) -> Value {
        self.get(kind, key).await.unwrap_or_else(|| panic!("no {kind} `{key}`"))
    }

    /// A page of a list and the total number of records.
    pub(crate) async fn list(&self, kind: Kind, query: &[(&str, &str)]) -> (Vec<Value>, u64) {
        let params = ListParams::parse(query.iter().copied()).unwrap();
        let page = self.store.list(self.workspace_id, kind, &params).await.unwrap();
        (parse_all(&page.documents), page.total)
    }

    /// The references of a page in their order.
    pub(crate) async fn references(&self, kind: Kind, query: &[(&str, &str)]) -> Vec<String> {
        let (content, _) = self.list(kind, query).await;
        content.iter().map(|record| text(record, "reference")).collect()
    }

    pub(crate) async fn statuses(&self, query: &[(&str, &str)]) -> (Vec<Value>, u64) {
        let params = ListParams::parse(query.iter().copied()).unwrap();
        let page = self.store.statuses(self.workspace_id, &params).await.unwrap();
        (parse_all(&page.documents), page.total)
    }

    pub(crate) async fn status(&self, kind: Kind, name: &str) -> Value {
        let (statuses, _) = self.statuses(&[("limit", "100")]).await;
        let mut statuses = statuses.into_iter();
        let named = |status: &Value| status["name"] == name && status["appliesTo"] == kind.name();
        statuses.find(named).unwrap_or_else(|| panic!("{kind} status {name} not found"))
    }

    /// The audit log after a position.
    pub(crate) async fn audit_log(&self, position: i64) -> Vec<AuditEntry> {
        self.store.audit_entries(self.workspace_id, position, 100_000).await.unwrap()
    }

    /// The end of the audit log.
    pub(crate) async fn audit_position(&self) -> i64 {
        self.audit_log(0).await.last().map_or(0, |row| row.id)
    }

    /// The events about records after a position, each with the reference of its record.
    pub(crate) async fn events(&self, position: i64) -> Vec<String> {
        let is_event =
            |row: &AuditEntry| Event::from_name(&row.action).is_some_and(Event::is_of_record);
        let rows = self.audit_log(position).await;
        rows.iter().filter(|row| is_event(row)).map(event_line).collect()
    }
}

/// For example `folder.created F-000001`.
fn event_line(row: &AuditEntry) -> String {
    let document = row.after.as_ref().or(row.before.as_ref()).expect("a document");
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["id"], row.subject.to_string());
    format!("{} {}", row.action, text(&document, "reference"))
}

fn parse_all(documents: &[Vec<u8>]) -> Vec<Value> {
    documents.iter().map(|document| serde_json::from_slice(document).unwrap()).collect()
}

/// A string field of a document.
pub(crate) fn text(document: &Value, field: &str) -> String {
    document[field].as_str().unwrap_or_else(|| panic!("{field} of {document}")).to_owned()
}

/// The domain error, and the index of the rejected command.
pub(crate) fn domain_error<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (DomainError, usize) {
    match outcome {
        Err(Error::Domain { error, index }) => (error, index),
        Err(error) => panic!("failed with another error: {error}"),
        Ok(outcome) => panic!("not rejected: {outcome:?}"),
    }
}

/// A token with this number.
pub(crate) fn token(number: u8) -> Token {
    Token::new(&TokenPrefix::parse("svc").unwrap(), [number; 24])
}

/// A new user.
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

fn save(target: SaveTarget, kind: Kind, values: Value) -> Command {
    let draft = RecordInput::read(kind, &object(values)).unwrap();
    Command::Save { target, draft: Box::new(draft) }
}

/// A command that creates a record.
pub(crate) fn new(kind: Kind, values: Value) -> Command {
    save(SaveTarget::New, kind, values)
}

/// A command that changes a record.
pub(crate) fn change(kind: Kind, key: &str, values: Value) -> Command {
    save(SaveTarget::Existing { key: Key::parse(key).unwrap(), version: None }, kind, values)
}

/// A command that changes a record of this version.
pub(crate) fn update_version(kind: Kind, key: &str, version: u64, values: Value) -> Command {
    let key = Key::parse(key).unwrap();
    save(SaveTarget::Existing { key, version: Some(version) }, kind, values)
}

/// A command that updates the record with its reference or creates one, like a row of an import.
pub(crate) fn import(kind: Kind, values: Value) -> Command {
    save(SaveTarget::ByReference, kind, values)
}

/// A command that deletes a record.
pub(crate) fn delete(kind: Kind, key: &str) -> Command {
    Command::Delete { kind, key: Key::parse(key).unwrap(), version: None }
}

/// A command that creates or updates a status by kind and name.
pub(crate) fn save_status(values: Value) -> Command {
    Command::SaveStatus {
        target: StatusTarget::ByName,
        input: StatusInput::read(&object(values)).unwrap(),
    }
}

/// A command that changes a status by id.
pub(crate) fn change_status(status: &Value, values: Value) -> Command {
    let target = StatusTarget::Existing(StatusRef::Id(text(status, "id").parse().unwrap()));
    Command::SaveStatus { target, input: StatusInput::read(&object(values)).unwrap() }
}

/// A command that deletes a status by name.
pub(crate) fn delete_status(kind: Kind, status: &str, replacement: Option<&str>) -> Command {
    let named = |name: &str| StatusRef::Name(name.to_owned());
    Command::DeleteStatus { kind, status: named(status), replacement: replacement.map(named) }
}
