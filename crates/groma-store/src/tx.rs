//! What a change needs of an engine: a handful of look-ups, and one ordered list of writes.
//!
//! On SQLite these never wait, so the writer thread runs the same async code to its end at once. On
//! PostgreSQL writes go out without waiting for their answers, which are looked at before the commit.

use crate::{
    Result,
    geometries::ShelfRanges,
    outbox::Place,
    seal::Sealer,
    webhooks::{Addressees, Desk, EventWrite, StoredEndpoint},
};
use groma_domain::{
    Email, EndpointId, GeometryId, InvitationId, Kind, Layer, Person, PersonId, Record, RecordId,
    Role, SessionId, Status, StatusId, Timestamp, TokenId, UserId, WorkspaceId, layer::LayerKey,
    record::StoredDocument, reference::Key, scope::Scopes, secret::SecretHash, token::TokenHash,
    workspace::Workspace,
};
use groma_geo::{
    Bbox,
    tile_block::{TierKey, TileBlock},
};
use std::future::Future;
use uuid::Uuid;

/// An open transaction.
pub(crate) trait Tx: Send {
    /// The workspace, locked against other writers until the commit; `None` when there is none.
    fn lock_workspace(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Option<Workspace>>> + Send;

    /// A record by its key.
    fn find(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> impl Future<Output = Result<Option<Stored>>> + Send;

    /// The records of a kind that point at `id`, in the order of creation.
    fn linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> impl Future<Output = Result<Vec<Stored>>> + Send;

    /// Whether a record of a kind points at `id`.
    fn is_linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// The statuses of the workspace, in the order of creation.
    fn statuses(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Vec<Status>>> + Send;

    /// What is counted for a kind.
    fn collection(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
    ) -> impl Future<Output = Result<Collection>> + Send;

    /// A person by id.
    fn person(
        &mut self,
        workspace: WorkspaceId,
        id: PersonId,
    ) -> impl Future<Output = Result<Option<MemberRow>>> + Send;

    /// A person by address.
    fn person_by_email(
        &mut self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> impl Future<Output = Result<Option<MemberRow>>> + Send;

    /// How many owners the workspace has.
    fn owners(&mut self, workspace: WorkspaceId) -> impl Future<Output = Result<u64>> + Send;

    /// Whether another workspace has this name.
    fn workspace_named(&mut self, name_key: &str) -> impl Future<Output = Result<bool>> + Send;

    /// A user by address.
    fn user_by_email(
        &mut self,
        email: &Email,
    ) -> impl Future<Output = Result<Option<UserRow>>> + Send;

    /// Whether there is a user, told to one transaction at a time.
    fn has_users(&mut self) -> impl Future<Output = Result<bool>> + Send;

    /// The invitation of a link.
    fn invitation(
        &mut self,
        hash: &SecretHash,
    ) -> impl Future<Output = Result<Option<InvitationRow>>> + Send;

    /// The owner of a token.
    fn token_owner(
        &mut self,
        workspace: WorkspaceId,
        token: TokenId,
    ) -> impl Future<Output = Result<Option<PersonId>>> + Send;

    /// A layer by its key.
    fn layer(
        &mut self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> impl Future<Output = Result<Option<StoredLayer>>> + Send;

    /// The layers of the workspace, in the order of creation.
    fn layers(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Vec<StoredLayer>>> + Send;

    /// The features of a layer that came with one of these ids.
    fn features_by_external_id(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ids: &[&str],
    ) -> impl Future<Output = Result<Vec<StoredFeature>>> + Send;

    /// The features of a layer from one number to another, both included.
    fn features_between(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        first: u64,
        last: u64,
    ) -> impl Future<Output = Result<Vec<StoredFeature>>> + Send;

    /// A feature by its id, with the number of its layer; not of a deleted layer that waits to be
    /// cleared away.
    fn feature(
        &mut self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> impl Future<Output = Result<Option<(StoredLayer, StoredFeature)>>> + Send;

    /// The folders that features of a layer belong to.
    fn folders_of_layer(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
    ) -> impl Future<Output = Result<Vec<RecordId>>> + Send;

    /// The geometries, as WKB, of the features that belong to a folder; not those of a deleted layer
    /// that wait to be cleared away.
    fn shapes_of_folder(
        &mut self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> impl Future<Output = Result<Vec<Vec<u8>>>> + Send;

    /// The boxes around the runs of a layer's features: of these parts, or of all.
    fn extents(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        parts: Option<&[u64]>,
    ) -> impl Future<Output = Result<Vec<(u64, Bbox)>>> + Send;

    /// The blocks of a layer that hold something in one of these ranges, or might.
    fn blocks(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ranges: &ShelfRanges,
    ) -> impl Future<Output = Result<Vec<StoredBlock>>> + Send;

    /// What was answered to a request with this key.
    fn replay(
        &mut self,
        workspace: WorkspaceId,
        request: &ReplayKey,
    ) -> impl Future<Output = Result<Option<Replay>>> + Send;

    /// The webhook endpoints of the workspace, in the order of creation.
    fn endpoints(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Vec<StoredEndpoint>>> + Send;

    /// What the changes of this program share about webhooks.
    fn desk(&self) -> &Desk;

    /// The mark of the workspace's endpoints, when it is locked.
    fn mark(&self, workspace: WorkspaceId) -> Option<i64>;

    /// The enabled endpoints of the workspace, which is locked.
    fn targets(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Addressees>> + Send {
        async move {
            let mark = self.mark(workspace);
            if let Some(known) = mark.and_then(|mark| self.desk().targets.get(workspace, mark)) {
                return Ok(known);
            }
            let endpoints = self.endpoints(workspace).await?;
            let targets = self.desk().targets_of(workspace, endpoints);
            if let Some(mark) = mark {
                self.desk().targets.put(workspace, mark, targets.clone());
            }
            Ok(targets)
        }
    }

    /// A place for a delivery with the loop of this program, when there is one.
    fn reserve(&self, endpoint: EndpointId, bytes: usize) -> Option<Place> {
        self.desk().outbox.reserve(endpoint, bytes)
    }

    /// Seals and opens secrets.
    fn sealer(&self) -> &Sealer {
        self.desk().sealer()
    }

    /// Carries out writes in their order.
    fn write(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<Write>,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Work to be done in one transaction, on either engine, and again in another when that one was undone.
pub(crate) trait Work: Clone + Send + 'static {
    /// What comes of it.
    type Output: Send + 'static;
    /// Does it. An error rolls the transaction back.
    fn run<T: Tx>(self, tx: &mut T) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// What a record can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Folder,
    Assignment,
    Budget,
    Status,
}

impl Link {
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Folder => "folder_id",
            Self::Assignment => "assignment_id",
            Self::Budget => "budget_id",
            Self::Status => "status_id",
        }
    }

    /// The links that records of a kind have.
    pub(crate) fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Folder => &[Self::Status],
            Kind::Assignment | Kind::Budget => &[Self::Status, Self::Folder],
            Kind::Expense => &[Self::Status, Self::Folder, Self::Assignment, Self::Budget],
        }
    }

    /// Where `record` points.
    pub(crate) fn target(self, record: &Record) -> Option<Uuid> {
        let id = match (self, record) {
            (Self::Status, record) => return record.status().map(|id| id.0),
            (Self::Folder, record) => record.folder(),
            (Self::Assignment, Record::Expense(expense)) => expense.assignment_id,
            (Self::Budget, Record::Expense(expense)) => expense.budget_id,
            _ => None,
        };
        id.map(|id| id.0)
    }
}

/// A record as it is stored.
pub(crate) struct Stored {
    /// Its place in the order of creation.
    pub(crate) seq: u64,
    pub(crate) record: Record,
}

/// What is counted for one kind of record in a workspace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Collection {
    pub(crate) last_seq: u64,
    pub(crate) last_reference: u64,
    pub(crate) total: u64,
    pub(crate) generation: u64,
}

/// A person with what makes them a member.
#[derive(Clone, Debug)]
pub(crate) struct MemberRow {
    pub(crate) person: Person,
    pub(crate) user: Option<UserId>,
    pub(crate) role: Option<Role>,
}

/// Someone who can log in.
#[derive(Clone, Debug)]
pub(crate) struct UserRow {
    pub(crate) id: UserId,
    pub(crate) email: Email,
    pub(crate) name: String,
}

/// An invitation as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct InvitationRow {
    pub(crate) id: InvitationId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) hash: SecretHash,
    pub(crate) role: Role,
    pub(crate) email: Option<String>,
    pub(crate) invited_by: Option<PersonId>,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

/// One write of a change.
pub(crate) enum Write {
    InsertRecord(Row),
    UpdateRecord {
        row: Row,
        search_changed: bool,
    },
    RemoveRecord {
        kind: Kind,
        seq: u64,
    },
    /// Gives the record its id for a reference, which no record can have, until it is written.
    FreeReference {
        kind: Kind,
        seq: u64,
        id: RecordId,
    },
    /// Gives the status its id for a name until it is written.
    FreeStatusName(StatusId),
    SaveCollection {
        kind: Kind,
        collection: Collection,
    },
    AdjustBlock {
        kind: Kind,
        block: u64,
        by: i64,
        generation: u64,
    },
    /// A new one goes behind the others.
    SaveStatus(Status),
    RemoveStatus(StatusId),
    SavePerson {
        row: MemberRow,
        at: Timestamp,
    },
    /// Documents show people anew.
    PeopleChanged,
    SaveUser {
        user: UserRow,
        at: Timestamp,
    },
    SetPassword {
        user: UserId,
        hash: String,
    },
    EndSessions {
        user: UserId,
        except: Option<SessionId>,
    },
    InsertWorkspace(Workspace),
    SaveWorkspace(Workspace),
    InsertInvitation(InvitationRow),
    RemoveInvitation(InvitationId),
    RevokeTokensOf {
        person: PersonId,
        at: Timestamp,
    },
    InsertToken(TokenWrite),
    RevokeToken {
        token: TokenId,
        at: Timestamp,
    },
    LogChange(LogRow),
    /// A change and the deliveries that announce it.
    LogEvent(EventWrite),
    InsertEndpoint(StoredEndpoint),
    SaveEndpoint(StoredEndpoint),
    RemoveEndpoint {
        endpoint: EndpointId,
        at: Timestamp,
    },
    /// The workspace's endpoints are others now.
    WebhooksChanged(i64),
    Layer(LayerWrite),
    /// Features keep their shapes and lose the folder, or the assignment, that is gone.
    UnlinkFeatures {
        kind: Kind,
        id: RecordId,
    },
    SaveReplay {
        request: ReplayKey,
        body_hash: [u8; 16],
        answer: Vec<u8>,
        at: Timestamp,
    },
}

/// One write to a layer.
pub(crate) enum LayerWrite {
    Insert(Layer),
    Save(Layer),
    Remove { layer: u64 },
    SaveFeature(FeatureRow),
    RemoveFeature { layer: u64, seq: u64, external_id: Option<String> },
    GrowExtent { layer: u64, part: u64, bounds: Bbox },
    SetExtent { layer: u64, part: u64, bounds: Option<Bbox> },
    SaveBlock { layer: u64, shelf: u8, is_new: bool, block: TileBlock },
    RemoveBlock { layer: u64, shelf: u8, key: TierKey },
    SaveLong { layer: u64, seq: u64, zoom: u8, shape: Vec<u8> },
    RemoveLong { layer: u64, seq: u64 },
}

/// A layer as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredLayer {
    /// Its number.
    pub(crate) no: u64,
    pub(crate) layer: Layer,
}

/// A feature as it is stored. A `geometry` is WKB.
#[derive(Clone, Debug)]
pub(crate) struct StoredFeature {
    pub(crate) seq: u64,
    pub(crate) id: GeometryId,
    pub(crate) external_id: Option<String>,
    pub(crate) folder: Option<RecordId>,
    pub(crate) assignment: Option<RecordId>,
    pub(crate) geometry: Option<Vec<u8>>,
    pub(crate) properties: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// A feature to be written.
pub(crate) struct FeatureRow {
    pub(crate) layer: u64,
    pub(crate) is_new: bool,
    pub(crate) has_heights: bool,
    pub(crate) feature: StoredFeature,
    pub(crate) at: Timestamp,
}

/// A block of a shelf.
pub(crate) struct StoredBlock {
    pub(crate) shelf: u8,
    pub(crate) key: TierKey,
    pub(crate) block: Vec<u8>,
}

/// Names a request that may be sent again.
#[derive(Clone, Debug)]
pub struct ReplayKey {
    /// Whose.
    pub token: TokenId,
    /// Where to.
    pub path: String,
    /// The key it came with.
    pub key: String,
}

/// What was answered to a request.
pub(crate) struct Replay {
    pub(crate) body_hash: [u8; 16],
    pub(crate) answer: Vec<u8>,
    pub(crate) at: Timestamp,
}

/// A Morton code as the databases sort it.
pub(crate) fn sortable(centre: u64) -> i64 {
    (centre ^ 1 << 63).cast_signed()
}

/// The Morton code of what [`sortable`] made.
pub(crate) fn centre(sorted: i64) -> u64 {
    sorted.cast_unsigned() ^ 1 << 63
}

/// A record to be written.
pub(crate) struct Row {
    pub(crate) seq: u64,
    pub(crate) record: Record,
    pub(crate) document: StoredDocument,
    pub(crate) search: String,
}

/// A token to be written.
pub(crate) struct TokenWrite {
    pub(crate) id: TokenId,
    pub(crate) person: PersonId,
    pub(crate) name: String,
    pub(crate) hash: TokenHash,
    pub(crate) hint: String,
    pub(crate) scopes: Scopes,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
}

/// A line of the audit trail; with the name of an event, also that event.
#[derive(Clone)]
pub(crate) struct LogRow {
    pub(crate) at: Timestamp,
    pub(crate) actor: Option<PersonId>,
    pub(crate) action: &'static str,
    pub(crate) subject: Uuid,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl LogRow {
    /// The document that it shows: as it is then, of what is gone as it was.
    pub(crate) fn document(&self) -> Option<&str> {
        self.after.as_deref().or(self.before.as_deref())
    }
}

/// The number of a kind in the database.
pub(crate) fn kind_number(kind: Kind) -> i16 {
    match kind {
        Kind::Folder => 0,
        Kind::Assignment => 1,
        Kind::Expense => 2,
        Kind::Budget => 3,
    }
}

/// How many places share one count.
pub(crate) const BLOCK: u64 = 64;

/// A new id's random part.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "without randomness nothing here is safe to go on")]
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}
