//! The face of the store.

use crate::{
    Actor, Admission, Applied, Change, Checked, Error, Member, NewToken, NewUser, Reserved, Result,
    TokenRow, WorkspaceFilter,
    admin::{AddMember, CreateToken, CreateWorkspace, RevokeToken, SetPassword},
    change::{Apply, ApplyPart, Check},
    postgres::{self, Postgres},
    sqlite::{self, Sqlite},
    tx::Work,
};
use bytes::Bytes;
use groma_domain::{
    Currency, DomainError, Email, Kind, ListParams, Permission, PersonId, Role, Timestamp, TokenId,
    WorkspaceId,
    layer::LayerKey,
    reference::Key,
    token::PresentedToken,
    workspace::{Workspace, WorkspaceName},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Everything that is kept, on one of two engines. Cheap to clone.
#[derive(Clone)]
pub enum Store {
    /// One file, one serving program.
    Sqlite(Arc<Sqlite>),
    /// A server that any number of programs share.
    Postgres(Arc<Postgres>),
}

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://…`.
    Postgres(String),
}

impl std::str::FromStr for DatabaseUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.contains('?') {
                return Err(Error::Url("`sqlite:PATH` takes no options behind a `?`".to_owned()));
            }
            if !path.is_empty() {
                return Ok(Self::Sqlite(path.into()));
            }
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        Err(Error::Url("must be `sqlite:PATH` or `postgres://…`".to_owned()))
    }
}

/// How often a serving store looks after itself.
const BEAT: Duration = Duration::from_millis(200);
/// After so many of these, a minute, it writes down what is only in memory. Each time SQLite's readers
/// lose their view of the file and find it again page by page, which a reader in a hurry feels.
const SETTLING: u64 = 300;

/// The migrations whose versions are not among those that were run.
pub(crate) fn not_among(run: &[i32], known: &refinery::Runner) -> Vec<String> {
    let lacking = known.get_migrations().iter().filter(|known| !run.contains(&known.version()));
    lacking.map(ToString::to_string).collect()
}

/// Tells that a database of an older program is brought up to date: where it is large that takes
/// minutes, in which nothing is answered.
pub(crate) fn tell_of_migrating(run: &[i32], known: &refinery::Runner) {
    let lacking = not_among(run, known);
    if !run.is_empty() && !lacking.is_empty() {
        let migrations = lacking.join(", ");
        tracing::info!(migrations, "bringing the database up to date, which may take minutes");
    }
}

/// One page of a list.
pub struct Page {
    /// What was there before, and the documents with commas between them.
    pub body: Vec<u8>,
    /// How many items the whole list has.
    pub total: u64,
    /// Of what it is, where that is known.
    pub edition: Option<Edition>,
}

/// A record as it is shown.
pub struct Document {
    /// The public document.
    pub text: Bytes,
    /// Of what it is, where that is known.
    pub edition: Option<Edition>,
}

/// A state of the database: what was read of it is good for as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition(pub(crate) u64);

impl Page {
    /// A page of what was read whole, each item as `append` writes it.
    pub(crate) fn of<T>(
        items: &[T],
        params: &ListParams,
        mut body: Vec<u8>,
        append: impl Fn(&T, &mut Vec<u8>),
    ) -> Self {
        let skip = usize::try_from(params.offset()).unwrap_or(usize::MAX);
        for (index, item) in items.iter().skip(skip).take(params.limit as usize).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            append(item, &mut body);
        }
        Self { body, total: items.len() as u64, edition: None }
    }
}

/// A record on its way out.
pub struct Exported {
    /// Its place, to go on behind.
    pub seq: u64,
    /// Its public document.
    pub json: Vec<u8>,
}

/// A line of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// Who; `None` for the command line.
    pub actor: Option<PersonId>,
    /// What: an event's name, or what was done to something else.
    pub action: String,
    /// To which record, status, member or token.
    pub subject: uuid::Uuid,
    /// The fields that changed, as they were.
    pub before: Option<String>,
    /// The public document as it is then.
    pub after: Option<String>,
}

macro_rules! on_engine {
    ($store:expr, $engine:ident => $body:expr) => {
        match $store {
            Store::Sqlite($engine) => $body,
            Store::Postgres($engine) => $body,
        }
    };
}
pub(crate) use on_engine;

/// The same for what is asked all the time. A future is as large as the largest it may become, which is
/// PostgreSQL's by far: so that SQLite's is not carried about with the room for that, it is put apart.
macro_rules! on_engine_often {
    ($store:expr, $engine:ident => $future:expr) => {
        match $store {
            Store::Sqlite($engine) => $future.await,
            Store::Postgres($engine) => Box::pin($future).await,
        }
    };
}
pub(crate) use on_engine_often;

impl Store {
    /// Opens the database, making and migrating it as needed.
    pub async fn open(url: &DatabaseUrl) -> Result<Self> {
        Self::open_with(url, Sqlite::open).await
    }

    /// Opens a database that is there already, migrating it as needed. A PostgreSQL always is.
    pub async fn open_existing(url: &DatabaseUrl) -> Result<Self> {
        Self::open_with(url, Sqlite::open_existing).await
    }

    async fn open_with(
        url: &DatabaseUrl,
        open: impl FnOnce(&Path) -> Result<Sqlite> + Send + 'static,
    ) -> Result<Self> {
        match url {
            DatabaseUrl::Sqlite(path) => {
                let path = path.clone();
                let opened = tokio::task::spawn_blocking(move || open(&path)).await;
                Ok(Self::Sqlite(Arc::new(opened.map_err(|_| Error::Closed)??)))
            }
            DatabaseUrl::Postgres(url) => Ok(Self::Postgres(Arc::new(Postgres::open(url).await?))),
        }
    }

    /// The migrations that a database still lacks. None is run, and nothing is made.
    pub async fn pending_migrations(url: &DatabaseUrl) -> Result<Vec<String>> {
        match url {
            DatabaseUrl::Sqlite(path) => {
                let path = path.clone();
                let asked = tokio::task::spawn_blocking(move || sqlite::pending_migrations(&path));
                asked.await.map_err(|_| Error::Closed)?
            }
            DatabaseUrl::Postgres(url) => postgres::pending_migrations(url).await,
        }
    }

    /// Claims the database for serving: a SQLite file has one server at a time, and a PostgreSQL server
    /// is watched from then on.
    pub fn claim(&self) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => sqlite.claim(),
            Self::Postgres(postgres) => {
                postgres.watch_reach();
                Ok(())
            }
        }
    }

    /// Keeps a serving store in order until dropped: notices what others changed, writes down when
    /// tokens were used.
    pub async fn tend(&self, clock: impl Fn() -> Timestamp) {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for count in 1_u64.. {
            beat.tick().await;
            if let Self::Sqlite(sqlite) = self {
                sqlite.notice_changes();
            }
            if count.is_multiple_of(SETTLING)
                && let Err(error) = self.settle(clock()).await
            {
                tracing::warn!(%error, "token uses were not written down");
            }
        }
    }

    /// Writes down what is only in memory.
    pub async fn settle(&self, now: Timestamp) -> Result<()> {
        on_engine!(self, engine => engine.settle(now).await)
    }

    /// Writes down what is only in memory, when serving ends.
    pub async fn close(&self, now: Timestamp) -> Result<()> {
        self.settle(now).await?;
        match self {
            Self::Sqlite(sqlite) => sqlite.write_rates().await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Asks the database for a sign of life.
    pub async fn ping(&self) -> Result<()> {
        on_engine!(self, engine => engine.ping().await)
    }

    /// Looks up a token and counts a request of it.
    pub async fn admit(
        &self,
        token: PresentedToken<'_>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Admission> {
        match self {
            Self::Sqlite(sqlite) => sqlite.admit(token, limit, now),
            Self::Postgres(postgres) => Box::pin(postgres.admit(token.hash(), limit, now)).await,
        }
    }

    /// What a read would be of now, where that is known without asking. On PostgreSQL it never is: any
    /// replica may have written.
    #[must_use]
    pub fn edition(&self) -> Option<Edition> {
        match self {
            Self::Sqlite(sqlite) => sqlite.edition(),
            Self::Postgres(_) => None,
        }
    }

    /// A page of the records of a kind, appended to `body`.
    pub async fn list(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        params: &ListParams,
        body: Vec<u8>,
    ) -> Result<Page> {
        // What is read at once never waits: a task that only reads must still let others run.
        tokio::task::consume_budget().await;
        on_engine_often!(self, engine => engine.list(workspace, kind, params, body))
    }

    /// One record.
    pub async fn get(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<Document>> {
        match self {
            Self::Sqlite(sqlite) => {
                tokio::task::consume_budget().await;
                sqlite.get(workspace, kind, key)
            }
            Self::Postgres(postgres) => Box::pin(postgres.get(workspace, kind, key)).await,
        }
    }

    /// A page of the statuses, appended to `body`.
    pub async fn statuses(
        &self,
        workspace: WorkspaceId,
        params: &ListParams,
        body: Vec<u8>,
    ) -> Result<Page> {
        // There are few: they are read whole, and searched and paged here for both engines.
        let documents = on_engine!(self, engine => engine.statuses(workspace).await?);
        let mut matching = Vec::with_capacity(documents.len());
        for document in documents {
            let status: groma_domain::Status = serde_json::from_slice(&document)?;
            let name = groma_domain::text::fold(&status.name);
            if params.term.as_ref().is_none_or(|term| name.contains(term.as_str())) {
                matching.push(document);
            }
        }
        let append = |document: &Vec<u8>, body: &mut Vec<u8>| body.extend_from_slice(document);
        Ok(Page::of(&matching, params, body, append))
    }

    /// Up to `limit` records of a kind behind `after`, in the order of creation.
    pub async fn export(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Exported>> {
        on_engine!(self, engine => engine.export(workspace, kind, after, limit).await)
    }

    /// Up to `limit` lines of the audit trail behind `after`, oldest first.
    pub async fn changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        on_engine!(self, engine => engine.changes(workspace, after, limit).await)
    }

    /// Carries out a change: all of it, with its events, or nothing.
    pub async fn apply(&self, change: Change) -> Result<Applied> {
        match self {
            Self::Sqlite(engine) => engine.transact(Apply(change)).await,
            Self::Postgres(engine) => engine.apply_together(change).await,
        }
    }

    /// Carries out a change that is a part of something larger: references that its other parts ask
    /// for are `reserved`.
    pub async fn apply_part(&self, change: Change, reserved: Reserved) -> Result<Applied> {
        self.transact(ApplyPart { change, reserved }).await
    }

    /// Tells what would come of each command of a change, on top of those before it.
    pub async fn check(&self, change: Change) -> Result<Checked> {
        on_engine!(self, engine => engine.look(Check(change)).await)
    }

    /// Makes a workspace with its owner and its first statuses.
    pub async fn create_workspace(
        &self,
        name: WorkspaceName,
        currency: Currency,
        owner: NewUser,
        now: Timestamp,
    ) -> Result<Workspace> {
        self.transact(CreateWorkspace { name, currency, owner, now }).await
    }

    /// Every workspace, oldest first.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>> {
        on_engine!(self, engine => engine.workspaces().await)
    }

    /// The workspace of this key or name.
    pub async fn find_workspace(&self, named: &WorkspaceFilter) -> Result<Workspace> {
        let workspaces = self.workspaces().await?;
        let (found, key) = match named {
            WorkspaceFilter::Id(id) => {
                (workspaces.into_iter().find(|w| w.id == *id), id.to_string())
            }
            WorkspaceFilter::Name(name) => {
                let key = name.key();
                let found = workspaces.into_iter().find(|w| w.name.key() == key);
                (found, name.as_str().to_owned())
            }
        };
        found.ok_or_else(|| DomainError::NotFound { resource: "workspace", key }.into())
    }

    /// Deletes a workspace and all it holds. Its tokens end at once; its records go in batches, so
    /// that other writers go on.
    pub async fn delete_workspace(&self, workspace: WorkspaceId, actor: Actor) -> Result<()> {
        actor.role().require(Permission::Own)?;
        for layer in self.all_layers(workspace).await? {
            let key = LayerKey::Id(layer.id);
            self.delete_layer(workspace, actor, key, layer.updated_at).await?;
        }
        on_engine!(self, engine => engine.delete_workspace(workspace).await)
    }

    /// Makes someone a member, or gives a member another role.
    pub async fn add_member(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        user: NewUser,
        role: Role,
        now: Timestamp,
    ) -> Result<Member> {
        let member = self.transact(AddMember { workspace, actor, user, role, now }).await?;
        self.forget_tokens();
        Ok(member)
    }

    /// Whether there is a user with this address.
    pub async fn has_user(&self, email: &Email) -> Result<bool> {
        on_engine!(self, engine => engine.has_user(email).await)
    }

    /// Gives a user another password.
    pub async fn set_password(&self, email: Email, hash: String) -> Result<()> {
        self.transact(SetPassword { email, hash }).await
    }

    /// Makes a token.
    pub async fn create_token(
        &self,
        token: NewToken,
        actor: Actor,
        now: Timestamp,
    ) -> Result<TokenId> {
        self.transact(CreateToken { token, actor, now }).await
    }

    /// The tokens of a workspace, or of all.
    pub async fn tokens(&self, workspace: Option<WorkspaceId>) -> Result<Vec<TokenRow>> {
        on_engine!(self, engine => engine.tokens(workspace).await)
    }

    /// The workspace that a token opens.
    pub async fn workspace_of_token(&self, token: TokenId) -> Result<WorkspaceId> {
        let workspace = on_engine!(self, engine => engine.token_workspace(token).await?);
        let not_found = || DomainError::NotFound { resource: "token", key: token.to_string() };
        Ok(workspace.ok_or_else(not_found)?)
    }

    /// Ends a token, at once.
    pub async fn revoke_token(
        &self,
        workspace: WorkspaceId,
        token: TokenId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.transact(RevokeToken { workspace, token, actor, now }).await?;
        self.forget_tokens();
        Ok(())
    }

    pub(crate) fn forget_tokens(&self) {
        if let Self::Sqlite(sqlite) = self {
            sqlite.forget_tokens();
        }
    }

    pub(crate) async fn transact<W: Work>(&self, work: W) -> Result<W::Output> {
        on_engine!(self, engine => engine.transact(work).await)
    }
}
