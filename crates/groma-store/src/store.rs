//! The store: one public type that delegates every use case to its topic.

use crate::{
    Account, AccountAuthority, Actor, Attempt, AuditEntry, AuthOutcome, BackupReport,
    BaseMapChange, BatchOutcome, Change, ChangeFeed, CommandOutcome, CopyReport, DatabaseStats,
    DatabaseUrl, Delivery, DeliveryCounts, DeliveryDetail, DeliveryFeed, DeliveryFilter,
    DeliveryRow, DisableUser, DueEndpoint, EncryptionKeys, EndpointChange, EndpointHealth,
    EndpointOutcome, ExpiringToken, ExportedRecord, FeatureImport, FeaturePage, FeatureQuery,
    FeatureReader, FeatureSpool, FeatureTablePage, FeatureTableQuery, FeatureWrite,
    FeatureWriteOutcome, GeometryEdit, Identity, IdentityChange, ImportJob, ImportJobChange,
    ImportList, ImportOutcome, Invitation, KnownPerson, Label, LayerFeature, LayerLoad,
    LayerRepair, LeaseRequest, LinkPurpose, ListedImport, LoginAttemptOutcome, LoginStep, Mail,
    MailOutcome, Member, MonthHours, NewEmailLink, NewEndpoint, NewGeometries, NewInvitation,
    NewLayer, NewLayerLoad, NewMail, NewSavedView, NewSecurityEntry, NewSession, NewToken, NewUser,
    OperationBatch, Outcome, OwnFactorChange, Page, PasswordChange, PasswordReset, PastDelivery,
    PendingLogin, PostOutcome, Preferences, Progress, ProviderLogin, ProviderOutcome, RecordPage,
    RecordQuery, RecordReader, RedeliverySince, RepairOutcome, ReservedReferences, RestoreReport,
    Result, RotatedSecret, SavedView, SecondFactors, SecretsState, SecurityEntry,
    SecurityLogFilter, ServerInfo, Session, SessionRow, ThrottleBucket, Tile, TokenRow, UserFilter,
    UserRow, WebhookRequest, WebhookTarget, Workload, WorkspaceFilter, accounts::Accounts,
    audit_log::AuditLog, authentication::Authentication, backup, base_maps::BaseMapStore, copy,
    diagnostics, engine::Engine, import_jobs::ImportJobs, layers::Layers, mail::Mails,
    records::Records, saved_views::SavedViews, secret_encryption::SecretsToEncrypt,
    security_log::SecurityLog, webhooks::Webhooks, workspaces::Workspaces,
};
use bytes::Bytes;
use delegate::delegate;
use groma_domain::{
    BaseMap, BaseMaps, Currency, DeliveryId, DomainError, Email, EndpointId, GeometryId,
    ImportJobId, InvitationId, Kind, Layer, LayerId, ListParams, PasskeyId, Person, PersonId,
    RecordId, Role, SavedViewId, SessionId, StatusId, Timestamp, TokenId, UserId, WorkspaceId,
    cql2::Candidates,
    geometry::UploadResult,
    layer::{LayerEdit, LayerKey, LayerSetup},
    rate_limit::RateLimitStatus,
    record::LabelField,
    reference::Key,
    secret::SecretHash,
    time::Date,
    token::PresentedToken,
    webhook::{DeliveryDocument, Endpoint, SigningSecret},
    workspace::{OfferedCrs, Workspace, WorkspaceName},
};
use groma_geo::grid::TileId;
use serde_json::{Map, Value};
use std::{net::IpAddr, path::Path, sync::Arc, time::Duration};
use uuid::Uuid;

/// How often a serving store checks for changes of other processes.
const MAINTENANCE_INTERVAL: Duration = Duration::from_millis(200);
/// After this many intervals, a minute, it writes what is only in memory. Each time, SQLite's readers lose
/// their snapshot and load its pages again.
const FLUSH_EVERY: u64 = 300;

/// A database, on one of two engines. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    engine: Engine,
    workspaces: Workspaces,
    base_maps: BaseMapStore,
    audit_log: AuditLog,
    webhooks: Webhooks,
    records: Records,
    layers: Layers,
    authentication: Authentication,
    accounts: Accounts,
    saved_views: SavedViews,
    import_jobs: ImportJobs,
    security_log: SecurityLog,
    mails: Mails,
    changes: ChangeFeed,
}

impl Store {
    fn new(engine: &Engine) -> Self {
        let webhooks = Webhooks::new(engine);
        let layers = Layers::new(engine, webhooks.context());
        let authentication = Authentication::new(engine);
        Self {
            engine: engine.clone(),
            workspaces: Workspaces::new(engine),
            base_maps: BaseMapStore::new(engine),
            audit_log: AuditLog::new(engine),
            records: Records::new(engine, webhooks.context()),
            accounts: Accounts::new(engine, &authentication, &layers, webhooks.context()),
            saved_views: SavedViews::new(engine),
            import_jobs: ImportJobs::new(engine),
            security_log: SecurityLog::new(engine),
            mails: Mails::new(engine),
            changes: ChangeFeed::new(engine, &webhooks.context().signal),
            webhooks,
            layers,
            authentication,
        }
    }

    /// Opens the database, and creates and migrates it as needed.
    pub async fn open(url: &DatabaseUrl) -> Result<Self> {
        Ok(Self::new(&Engine::open(url).await?))
    }

    /// Opens a database that must exist, and migrates it as needed. A PostgreSQL database always must.
    pub async fn open_existing(url: &DatabaseUrl) -> Result<Self> {
        Ok(Self::new(&Engine::open_existing(url).await?))
    }

    /// Ends searches that take longer than this. Only a server does: an export or a copy may take long.
    pub fn limit_searches(&self, timeout: Duration) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.limit_searches(timeout),
            Engine::Postgres(engine) => engine.limit_searches(timeout),
        }
    }

    /// Ends all tokens this many days after they were created. Tokens, and commands that show or create
    /// them, follow it from now on.
    pub fn limit_tokens(&self, max_days: u32) {
        self.authentication.limit_tokens(max_days);
    }

    /// How many days tokens of a workspace are valid at most, by its own limit and that of the installation.
    pub async fn token_limit(&self, workspace: WorkspaceId) -> Result<Option<u32>> {
        let of_workspace = self.workspaces.max_token_days(workspace).await?;
        let of_installation = self.authentication.max_token_days();
        Ok([of_workspace, of_installation].into_iter().flatten().min())
    }

    /// Whether the engine is SQLite, whose single writer applies changes in the order of arrival.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    /// The migrations that a database still lacks. Runs none of them and creates nothing.
    pub async fn pending_migrations(url: &DatabaseUrl) -> Result<Vec<String>> {
        Engine::pending_migrations(url).await
    }

    /// Claims the database for serving: a SQLite file is served by one program at a time, and a PostgreSQL
    /// server is checked for liveness from now on.
    pub fn claim(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.claim()?,
            Engine::Postgres(engine) => engine.watch_liveness(),
        }
        self.authentication.restore_rate_windows()
    }

    /// Maintains a serving store until dropped: notices changes of other processes, and writes when tokens
    /// were used.
    pub async fn run_maintenance(
        &self,
        clock: impl Fn() -> Timestamp,
        security_log_retention: Option<Duration>,
    ) {
        let mut interval = tokio::time::interval(MAINTENANCE_INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for count in 1_u64.. {
            interval.tick().await;
            if let Engine::Sqlite(engine) = &self.engine {
                engine.notice_commits();
            }
            if !count.is_multiple_of(FLUSH_EVERY) {
                continue;
            }
            if let Err(error) = self.flush(clock()).await {
                tracing::warn!(%error, "failed to write when tokens were used");
            }
            if let Err(error) = self.delete_dead_layer_loads(clock()).await {
                tracing::warn!(%error, "failed to delete what imports have left");
            }
            if let Some(retention) = security_log_retention
                && let Err(error) = self.delete_old_security_entries(clock(), retention).await
            {
                tracing::warn!(%error, "failed to delete old entries of the security log");
            }
        }
    }

    /// Deletes up to a thousand entries of the security log that are older than `retention`.
    pub async fn delete_old_security_entries(
        &self,
        now: Timestamp,
        retention: Duration,
    ) -> Result<u64> {
        let millis = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
        self.security_log.delete_older(now.plus_millis(-millis)).await
    }

    /// Writes what is only in memory, when serving ends.
    pub async fn close(&self, now: Timestamp) -> Result<()> {
        self.flush(now).await?;
        self.authentication.save_rate_windows().await
    }

    /// The migrations that the database lacks now; it may not be the one that was opened.
    pub async fn missing_migrations(&self) -> Result<Vec<String>> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.missing_migrations().await,
            Engine::Postgres(engine) => engine.missing_migrations().await,
        }
    }

    /// The size of the database, or the state of its connections.
    #[must_use]
    pub fn database_stats(&self) -> DatabaseStats {
        diagnostics::stats(&self.engine)
    }

    /// The settings of the server; `None` for SQLite.
    pub async fn server_info(url: &DatabaseUrl) -> Result<Option<ServerInfo>> {
        diagnostics::server_info(url).await
    }

    /// Writes a backup of a database, which may be served meanwhile.
    pub async fn backup(
        url: &DatabaseUrl,
        file: &Path,
        overwrite: bool,
        now: Timestamp,
        progress: impl Fn(Progress) + Send + 'static,
    ) -> Result<BackupReport> {
        backup::backup(url, file, overwrite, now, progress).await
    }

    /// Replaces a database that is not served by a backup. The replaced file is kept, with `stamp` appended
    /// to its name.
    pub async fn restore(
        url: &DatabaseUrl,
        file: &Path,
        overwrite: bool,
        stamp: String,
        now: Timestamp,
        progress: impl Fn(Progress) + Send + 'static,
    ) -> Result<RestoreReport> {
        backup::restore(url, file, overwrite, stamp, now, progress).await
    }

    /// Copies a database into an empty one. Neither may be in use, or both would send deliveries; in a
    /// rehearsal the first one may, and the endpoints of the copy are disabled.
    pub async fn copy(
        from: &DatabaseUrl,
        to: &DatabaseUrl,
        rehearsal: bool,
        now: Timestamp,
        progress: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Result<CopyReport> {
        copy::copy(from, to, rehearsal, now, progress).await
    }

    /// Sets the keys that encrypt secrets, before anything else is done.
    pub fn set_encryption_keys(&self, keys: EncryptionKeys) {
        self.webhooks.set_encryption_keys(keys);
    }

    /// The change feed.
    #[must_use]
    pub fn change_feed(&self) -> &ChangeFeed {
        &self.changes
    }

    /// Sets the public URL of the Geo API, which documents of layers contain.
    pub fn set_geo_url(&self, url: String) {
        self.webhooks.set_geo_url(url);
    }

    /// Encrypts every unencrypted secret; returns how many there were.
    pub async fn encrypt_secrets(&self) -> Result<u64> {
        let which = SecretsToEncrypt::Plain;
        Ok(self.webhooks.encrypt_secrets(which).await?
            + self.accounts.encrypt_secrets(which).await?)
    }

    /// Encrypts every secret again, with the current key; returns how many. All must be readable.
    pub async fn reencrypt_secrets(&self) -> Result<u64> {
        let which = SecretsToEncrypt::All;
        self.mails.reencrypt(self.webhooks.context().cipher()).await?;
        Ok(self.webhooks.encrypt_secrets(which).await?
            + self.accounts.encrypt_secrets(which).await?)
    }

    /// Leases up to `limit` due mails to this program. On PostgreSQL the clock of the database counts.
    pub async fn claim_mails(&self, limit: u32, now: Timestamp) -> Result<Vec<Mail>> {
        self.mails.claim(self.webhooks.context().cipher(), limit, now).await
    }

    delegate! {
        to self.engine {
            /// Checks that the database responds.
            pub async fn ping(&self) -> Result<()>;
        }

        to self.authentication {
            /// Looks up a token and counts a request against its rate limit.
            pub async fn authenticate(&self, token: PresentedToken<'_>, limit: u32, client: Option<IpAddr>, now: Timestamp) -> Result<AuthOutcome>;
            /// Takes back an accepted request, so that it does not count against the rate limit.
            pub async fn release_request(&self, token: TokenId, rate: RateLimitStatus) -> Result<()>;
            /// Writes what is only in memory.
            pub async fn flush(&self, now: Timestamp) -> Result<()>;
        }

        to self.workspaces {
            /// Every workspace, oldest first.
            #[call(all)]
            pub async fn workspaces(&self) -> Result<Vec<Workspace>>;
            /// The workspace of this key or name.
            #[call(find)]
            pub async fn find_workspace(&self, filter: &WorkspaceFilter) -> Result<Workspace>;
            /// Whether only sessions with a second factor may use a workspace.
            pub async fn requires_second_factor(&self, workspace: WorkspaceId) -> Result<bool>;
            /// How many days tokens of a workspace are valid at most by its own limit; `None` for no limit.
            pub async fn max_token_days(&self, workspace: WorkspaceId) -> Result<Option<u32>>;
            /// The reference systems that the OGC API offers for every collection of a workspace.
            pub async fn offered_crs(&self, workspace: WorkspaceId) -> Result<OfferedCrs>;
        }

        to self.base_maps {
            /// The base maps of a workspace.
            #[call(all)]
            pub async fn base_maps(&self, workspace: WorkspaceId) -> Result<BaseMaps>;
            /// Changes the base maps, and returns the one that was changed or removed.
            #[call(change)]
            pub async fn change_base_maps(&self, workspace: WorkspaceId, actor: Actor, change: BaseMapChange, now: Timestamp) -> Result<BaseMap>;
        }

        to self.audit_log {
            /// Up to `limit` entries of the audit log after `after`, oldest first.
            #[call(after)]
            pub async fn audit_entries(&self, workspace: WorkspaceId, after: i64, limit: u32) -> Result<Vec<AuditEntry>>;
            /// Up to `limit` entries of the audit log before `before`, newest first: of the whole workspace,
            /// or of these subjects.
            #[call(recent)]
            pub async fn recent_audit_entries(&self, workspace: WorkspaceId, subjects: Option<&[Uuid]>, before: Option<i64>, limit: u32) -> Result<Vec<AuditEntry>>;
        }

        to self.security_log {
            /// Writes an entry of the security log.
            #[call(write)]
            pub async fn log_security(&self, entry: NewSecurityEntry) -> Result<()>;
            /// Up to `limit` entries of the security log, newest first.
            #[call(recent)]
            pub async fn security_entries(&self, filter: SecurityLogFilter, limit: u32) -> Result<Vec<SecurityEntry>>;
        }

        to self.import_jobs {
            /// Creates an import of a file that was received.
            #[call(create)]
            pub async fn create_import(&self, workspace: WorkspaceId, actor: Actor, file_name: String, options: String, now: Timestamp) -> Result<ImportJob>;
            /// Rejects a further import of a member who has too many already.
            #[call(check_limit)]
            pub async fn check_import_limit(&self, workspace: WorkspaceId, person: PersonId) -> Result<()>;
            /// An import of a file.
            #[call(get)]
            pub async fn import_job(&self, workspace: WorkspaceId, id: ImportJobId) -> Result<Option<ImportJob>>;
            /// The imports of a workspace, newest first.
            #[call(list)]
            pub async fn imports(&self, workspace: WorkspaceId, list: ImportList) -> Result<Vec<ListedImport>>;
            /// The rows or features that an import rejected, as a file.
            #[call(rejected)]
            pub async fn rejected_by_import(&self, workspace: WorkspaceId, id: ImportJobId) -> Result<Option<Vec<u8>>>;
            /// Changes an import. The actor must be its owner, or an administrator who cancels it.
            #[call(change)]
            pub async fn change_import(&self, workspace: WorkspaceId, id: ImportJobId, actor: Actor, change: ImportJobChange, now: Timestamp) -> Result<ImportJob>;
            /// Notes that an import is alive, and how far it is.
            #[call(heartbeat)]
            pub async fn import_heartbeat(&self, workspace: WorkspaceId, id: ImportJobId, progress: String, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Result<()>;
            /// Interrupts the imports whose process has ended, except those that this process works on; when the only
            /// server starts, these are all.
            #[call(interrupt)]
            pub async fn interrupt_imports(&self, now: Timestamp, is_restart: bool, is_alive: impl Fn(ImportJobId) -> bool) -> Result<()>;
            /// Deletes the imports that ended a week ago, in all workspaces.
            #[call(delete_ended)]
            pub async fn delete_ended_imports(&self, now: Timestamp) -> Result<()>;
        }

        to self.saved_views {
            /// The views that a member sees: their own and the shared ones, by name.
            #[call(list)]
            pub async fn saved_views(&self, workspace: WorkspaceId, person: PersonId) -> Result<Vec<SavedView>>;
            /// Saves a view. A view of the member with the same kind and name is replaced.
            #[call(save)]
            pub async fn save_view(&self, workspace: WorkspaceId, actor: Actor, view: NewSavedView, now: Timestamp) -> Result<SavedView>;
            /// Deletes a view. Administrators can delete the shared views of others.
            #[call(delete)]
            pub async fn delete_view(&self, workspace: WorkspaceId, actor: Actor, view: SavedViewId, now: Timestamp) -> Result<SavedView>;
        }
        to self.records {
            /// A page of the records of a kind, in the order of creation.
            pub async fn list(&self, workspace: WorkspaceId, kind: Kind, params: &ListParams) -> Result<Page>;
            /// The public document of a record.
            pub async fn get(&self, workspace: WorkspaceId, kind: Kind, key: &Key) -> Result<Option<Bytes>>;
            /// A filtered and sorted page of records.
            #[call(query)]
            pub async fn query_records(&self, workspace: WorkspaceId, query: RecordQuery) -> Result<RecordPage>;
            /// A page of the records that match a query, with the exact number of them: at the cursor, or after
            /// those that the query skips.
            #[call(find)]
            pub async fn find_records(&self, workspace: WorkspaceId, query: RecordQuery, cursor: Option<&str>) -> Result<Page>;
            /// The number of records of each kind, in the order of [`Kind::ALL`].
            pub async fn totals(&self, workspace: WorkspaceId) -> Result<[u64; Kind::ALL.len()]>;
            /// Up to `limit` labels of a field that contain a text, those that begin with it first.
            pub async fn labels(&self, workspace: WorkspaceId, field: LabelField, text: &str, limit: u32) -> Result<Vec<Label>>;
            /// The assignments with work left by person. `finished` are the statuses without.
            pub async fn workload(&self, workspace: WorkspaceId, finished: &[StatusId], today: Date) -> Result<Workload>;
            /// The hours of completed assignments by the month in which they were due.
            pub async fn hours_by_due_month(&self, workspace: WorkspaceId, from: Date, until: Date) -> Result<Vec<MonthHours>>;
            /// A page of the statuses.
            pub async fn statuses(&self, workspace: WorkspaceId, params: &ListParams) -> Result<Page>;
            /// Up to `limit` records of a kind after a position, in the order of creation.
            pub async fn export(&self, workspace: WorkspaceId, kind: Kind, after: u64, limit: u32) -> Result<Vec<ExportedRecord>>;
            /// A reader of all records that match a query, in its order, whatever its page.
            #[call(read)]
            pub async fn read_records(&self, workspace: WorkspaceId, query: RecordQuery) -> Result<RecordReader>;
            /// Executes a change: all of it, with its events, or nothing.
            pub async fn apply(&self, change: Change) -> Result<Vec<CommandOutcome>>;
            /// Executes the operations of a request.
            pub async fn execute(&self, batch: OperationBatch) -> Result<BatchOutcome>;
            /// Executes the change of an import, or a part of it. None of the `reserved` references is generated. A
            /// job ends with the change.
            pub async fn apply_import(&self, change: Change, reserved: ReservedReferences, job: Option<ImportJobId>) -> Result<Vec<CommandOutcome>>;
            /// The outcome that each command of a change would have, after those before it.
            pub async fn check(&self, change: Change) -> Result<Vec<Result<CommandOutcome, DomainError>>>;
        }

        to self.layers {
            /// A page of the layers; `render` writes the public document of one.
            #[call(list)]
            pub async fn layers(&self, workspace: WorkspaceId, params: &ListParams, render: impl Fn(&Layer) -> Vec<u8>) -> Result<Page>;
            /// Every layer of a workspace, oldest first.
            #[call(all)]
            pub async fn all_layers(&self, workspace: WorkspaceId) -> Result<Vec<Layer>>;
            /// One layer.
            #[call(get)]
            pub async fn layer(&self, workspace: WorkspaceId, key: &LayerKey) -> Result<Option<Layer>>;
            /// The revision of a layer; `None` when there is no such layer.
            #[call(revision)]
            pub async fn layer_revision(&self, workspace: WorkspaceId, layer: LayerId) -> Result<Option<u64>>;
            /// A tile of a layer; `None` when there is no such layer.
            pub async fn tile(&self, workspace: WorkspaceId, layer: LayerId, tile: TileId) -> Result<Option<Tile>>;
            /// Creates a layer.
            #[call(create)]
            pub async fn create_layer(&self, workspace: WorkspaceId, actor: Actor, layer: NewLayer, now: Timestamp) -> Result<Layer>;
            /// Changes a layer, but not its features.
            #[call(change)]
            pub async fn change_layer(&self, workspace: WorkspaceId, actor: Actor, key: LayerKey, edit: LayerEdit, now: Timestamp) -> Result<Layer>;
            /// Changes the fields, the style or the lock of a layer.
            #[call(set_up)]
            pub async fn set_up_layer(&self, workspace: WorkspaceId, actor: Actor, key: LayerKey, setup: LayerSetup, now: Timestamp) -> Result<Layer>;
            /// Moves a layer to a position on maps, where 0 is the top. Returns all layers in their new order.
            #[call(place)]
            pub async fn place_layer(&self, workspace: WorkspaceId, actor: Actor, key: LayerKey, position: usize, now: Timestamp) -> Result<Vec<Layer>>;
            /// The properties of the features that each of these ids would replace.
            pub async fn stored_properties(&self, workspace: WorkspaceId, layer: LayerKey, ids: Vec<String>) -> Result<Vec<Option<Map<String, Value>>>>;
            /// The number of stored features that do not fit the declared fields of their layer.
            pub async fn count_unfit_features(&self, workspace: WorkspaceId, key: &LayerKey) -> Result<u64>;
            /// Deletes a layer. It is gone at once; its features are deleted in small steps.
            #[call(delete)]
            pub async fn delete_layer(&self, workspace: WorkspaceId, actor: Actor, key: LayerKey, now: Timestamp) -> Result<Layer>;
            /// Writes geometries: all of them, or none.
            #[call(post)]
            pub async fn post_geometries(&self, geometries: NewGeometries) -> Result<PostOutcome>;
            /// Imports features into a layer that exists: all of them, or none.
            #[call(import)]
            pub async fn import_features(&self, import: FeatureImport) -> Result<ImportOutcome>;
            /// Begins to load a new layer, which nothing finds before it is published.
            #[call(begin_load)]
            pub async fn begin_layer_load(&self, new: NewLayerLoad, now: Timestamp) -> Result<LayerLoad>;
            /// Adds features to a layer that is being loaded.
            pub async fn load_features(&self, load: &LayerLoad, features: FeatureSpool, now: Timestamp) -> Result<UploadResult>;
            /// Publishes a layer that was loaded, and writes the events about it.
            #[call(publish)]
            pub async fn publish_layer(&self, load: &LayerLoad, now: Timestamp) -> Result<Layer>;
            /// Deletes a layer that is being loaded. One that was published stays.
            #[call(discard_load)]
            pub async fn discard_layer_load(&self, load: &LayerLoad) -> Result<()>;
            /// Deletes what loads have left that ended without publishing their layer.
            #[call(delete_dead_loads)]
            pub async fn delete_dead_layer_loads(&self, now: Timestamp) -> Result<()>;
            /// Up to `limit` features of a layer after a position, in the order of creation.
            pub async fn features(&self, workspace: WorkspaceId, key: &LayerKey, after: u64, limit: u32) -> Result<Vec<LayerFeature>>;
            /// A page of the features of a layer; `None` when there is no such layer.
            pub async fn find_features(&self, workspace: WorkspaceId, key: &LayerKey, query: &FeatureQuery) -> Result<Option<FeaturePage>>;
            /// A reader of the features after a position; `None` when there is no such layer. Features that are no candidates can be left out.
            pub async fn read_features(&self, workspace: WorkspaceId, key: &LayerKey, candidates: &Candidates, after: u64) -> Result<Option<FeatureReader>>;
            /// A page of the features of a layer, filtered and sorted; `None` when there is no such layer.
            pub async fn feature_table(&self, workspace: WorkspaceId, key: &LayerKey, query: &FeatureTableQuery) -> Result<Option<FeatureTablePage>>;
            /// One geometry, with its layer.
            pub async fn geometry(&self, workspace: WorkspaceId, id: GeometryId) -> Result<Option<(Layer, LayerFeature)>>;
            /// The geometry that has this id in the layer's tiles.
            pub async fn geometry_by_tile_id(&self, workspace: WorkspaceId, layer: LayerId, tile_id: u64) -> Result<Option<(Layer, LayerFeature)>>;
            /// Up to `limit` geometries of a folder, each with its layer.
            pub async fn geometries_of_folder(&self, workspace: WorkspaceId, folder: RecordId, limit: u32) -> Result<Vec<(LayerId, LayerFeature)>>;
            /// The exact number of geometries of a folder.
            pub async fn count_geometries_of_folder(&self, workspace: WorkspaceId, folder: RecordId) -> Result<u64>;
            /// The layers that have geometries of a folder.
            pub async fn layers_of_folder(&self, workspace: WorkspaceId, folder: RecordId) -> Result<Vec<LayerId>>;
            /// Replaces a geometry.
            pub async fn replace_geometry(&self, edit: GeometryEdit) -> Result<UploadResult>;
            /// Creates, replaces, updates or deletes one feature.
            pub async fn write_feature(&self, write: FeatureWrite) -> Result<FeatureWriteOutcome>;
            /// Repairs the features of a layer where that needs no decision.
            pub async fn repair_layer(&self, repair: LayerRepair) -> Result<RepairOutcome>;
            /// Deletes geometries of a layer; those that are no longer there are left out.
            pub async fn delete_geometries(&self, workspace: WorkspaceId, actor: Actor, layer: LayerKey, ids: Vec<GeometryId>, now: Timestamp) -> Result<u64>;
            /// Deletes a geometry.
            pub async fn delete_geometry(&self, workspace: WorkspaceId, actor: Actor, id: GeometryId, now: Timestamp) -> Result<()>;
        }

        to self.accounts {
            /// Creates a workspace with its owner and its initial statuses.
            pub async fn create_workspace(&self, name: WorkspaceName, currency: Currency, owner: NewUser, now: Timestamp) -> Result<Workspace>;
            /// Creates the first workspace with its owner; rejected once there is a user.
            pub async fn set_up(&self, name: WorkspaceName, currency: Currency, owner: NewUser, now: Timestamp) -> Result<Workspace>;
            /// Changes the name or currency of a workspace.
            pub async fn change_workspace(&self, workspace: WorkspaceId, actor: Actor, name: WorkspaceName, currency: Currency, now: Timestamp) -> Result<Workspace>;
            /// Sets whether only sessions with a second factor may use a workspace.
            pub async fn require_second_factor(&self, workspace: WorkspaceId, actor: Actor, required: bool, now: Timestamp) -> Result<()>;
            /// Sets how many days tokens of a workspace are valid at most, existing ones too; `None` for no limit.
            pub async fn set_max_token_days(&self, workspace: WorkspaceId, actor: Actor, days: Option<u32>, now: Timestamp) -> Result<()>;
            /// Sets the reference systems that the OGC API offers for every collection of a workspace.
            pub async fn set_offered_crs(&self, workspace: WorkspaceId, actor: Actor, crs: OfferedCrs, now: Timestamp) -> Result<()>;
            /// Deletes a workspace and everything in it. Its tokens end at once; its records are deleted in
            /// small steps.
            pub async fn delete_workspace(&self, workspace: WorkspaceId, actor: Actor, now: Timestamp) -> Result<()>;
            /// Adds a member, or changes the role of one.
            pub async fn add_member(&self, workspace: WorkspaceId, actor: Actor, user: NewUser, role: Role, now: Timestamp) -> Result<Member>;
            /// Adds a service account: a member without a login, who owns the tokens of a machine.
            pub async fn add_service_account(&self, workspace: WorkspaceId, actor: Actor, name: &str, role: Role, now: Timestamp) -> Result<Person>;
            /// Everyone in a workspace, by name.
            pub async fn people(&self, workspace: WorkspaceId) -> Result<Vec<KnownPerson>>;
            /// Changes the name of the acting member in a workspace. Records show it at once.
            pub async fn rename_member(&self, workspace: WorkspaceId, actor: Actor, name: &str, now: Timestamp) -> Result<Person>;
            /// Ends a membership and revokes the member's tokens. Members can leave by themselves.
            pub async fn remove_member(&self, workspace: WorkspaceId, actor: Actor, person: PersonId, now: Timestamp) -> Result<Person>;
            /// Creates an invitation.
            pub async fn invite(&self, workspace: WorkspaceId, actor: Actor, invitation: NewInvitation, now: Timestamp) -> Result<InvitationId>;
            /// The open invitations of a workspace, oldest first.
            pub async fn invitations(&self, workspace: WorkspaceId, now: Timestamp) -> Result<Vec<Invitation>>;
            /// Cancels an invitation.
            pub async fn cancel_invitation(&self, workspace: WorkspaceId, actor: Actor, invitation: InvitationId, now: Timestamp) -> Result<()>;
            /// The open invitation of a link, and its workspace.
            pub async fn invitation(&self, hash: &SecretHash, now: Timestamp) -> Result<Option<(Workspace, Invitation)>>;
            /// Makes the holder of a link a member. A new user must not have an account: the owner of an
            /// account proves it by logging in.
            pub async fn accept_invitation(&self, hash: SecretHash, user: NewUser, is_new_user: bool, now: Timestamp) -> Result<(WorkspaceId, Member)>;
            /// Whether there is any user.
            pub async fn has_users(&self) -> Result<bool>;
            /// Whether there is a user with this email address.
            pub async fn has_user(&self, email: &Email) -> Result<bool>;
            /// The account of this email address.
            pub async fn account(&self, email: &Email) -> Result<Option<Account>>;
            /// Counts a login attempt before it is made, unless a bucket rejects it.
            pub async fn begin_login_attempt(&self, buckets: Vec<ThrottleBucket>, now: Timestamp) -> Result<LoginAttemptOutcome>;
            /// Removes the attempt counted at `at`, because it succeeded. The first bucket is emptied.
            pub async fn clear_login_attempt(&self, buckets: Vec<ThrottleBucket>, at: Timestamp) -> Result<()>;
            /// Whether this user has logged in with this device before.
            pub async fn is_known_device(&self, user: UserId, device: &SecretHash) -> Result<bool>;
            /// Creates a session, and remembers its device.
            pub async fn create_session(&self, session: NewSession, device: Option<SecretHash>) -> Result<SessionId>;
            /// The open session of this cookie.
            pub async fn session(&self, hash: &SecretHash, now: Timestamp) -> Result<Option<Session>>;
            /// Records that a session is used, and when it ends now.
            pub async fn touch_session(&self, session: SessionId, now: Timestamp, ends_at: Timestamp) -> Result<()>;
            /// Sets how a user wants the web application.
            pub async fn set_preferences(&self, session: SessionId, preferences: Preferences, now: Timestamp) -> Result<()>;
            /// Selects the workspace of a session.
            pub async fn select_workspace(&self, session: SessionId, user: UserId, workspace: WorkspaceId) -> Result<()>;
            /// The open sessions of a user, most recently used first.
            pub async fn sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRow>>;
            /// The number of open sessions.
            pub async fn count_sessions(&self, now: Timestamp) -> Result<u64>;
            /// Ends a session of a user at once.
            pub async fn end_session(&self, user: UserId, session: SessionId) -> Result<()>;
            /// Ends all sessions of the user of a session, with that one or without it.
            pub async fn end_sessions(&self, session: SessionId, keep_own: bool, address: String, now: Timestamp) -> Result<()>;
            /// Changes the password of a user with a session, and ends all their other sessions.
            pub async fn change_password(&self, change: PasswordChange) -> Result<()>;
            /// Sets the password of a user and ends all their sessions.
            pub async fn set_password(&self, email: Email, hash: String, revoke_tokens: bool, now: Timestamp) -> Result<()>;
            /// Users by address.
            pub async fn users(&self, filter: UserFilter) -> Result<Vec<UserRow>>;
            /// Disables an account: its sessions end at once, and the user can no longer log in.
            pub async fn disable_user(&self, disable: DisableUser) -> Result<()>;
            /// Enables a disabled account.
            pub async fn enable_user(&self, user: UserId, actor: Actor, now: Timestamp) -> Result<()>;
            /// Deletes an account and erases the person in all workspaces. The records stay.
            pub async fn delete_user(&self, user: UserId, authority: AccountAuthority, now: Timestamp) -> Result<()>;
            /// Erases a former member, or a person without login, in a workspace. An account stays.
            pub async fn erase_person(&self, workspace: WorkspaceId, person: PersonId, actor: Actor, now: Timestamp) -> Result<()>;
            /// The tokens that expire within a week and whose notice is not queued yet.
            pub async fn expiring_tokens(&self, now: Timestamp) -> Result<Vec<ExpiringToken>>;
            /// Queues the notices of a token, once over all replicas; `false` when they were queued before or
            /// their recipients have received too many mails.
            pub async fn notify_token_expiry(&self, token: &ExpiringToken, mails: Vec<NewMail>, now: Timestamp) -> Result<bool>;
            /// Records that the user of a session proved again who they are.
            pub async fn confirm_session(&self, session: SessionId, has_second_factor: bool, now: Timestamp) -> Result<()>;
            /// Saves a pending login; `false` if too many are pending.
            pub async fn save_pending_login(&self, hash: &SecretHash, pending: PendingLogin, now: Timestamp) -> Result<bool>;
            /// The pending login of a cookie, which stays pending.
            pub async fn pending_login(&self, hash: &SecretHash, step: LoginStep, now: Timestamp) -> Result<Option<PendingLogin>>;
            /// The pending login of a cookie, which is used up.
            pub async fn take_pending_login(&self, hash: &SecretHash, step: LoginStep, now: Timestamp) -> Result<Option<PendingLogin>>;
            /// The second factors of a user.
            pub async fn second_factors(&self, user: UserId) -> Result<SecondFactors>;
            /// Changes the factors of the user of a session. Returns whether the new recovery codes are in use.
            pub async fn change_factors(&self, change: OwnFactorChange, now: Timestamp) -> Result<bool>;
            /// Removes all second factors of a user who lost them, and ends their sessions.
            pub async fn remove_factors(&self, email: Email, now: Timestamp) -> Result<()>;
            /// Uses a code of the authenticator app of a user; `false` if it, or a later one, was used before.
            pub async fn use_authenticator_code(&self, user: UserId, step: u64) -> Result<bool>;
            /// Uses up a recovery code; `false` if the user has no such code.
            pub async fn use_recovery_code(&self, user: UserId, code: &SecretHash) -> Result<bool>;
            /// Records that a passkey was used, and its new counter.
            pub async fn use_passkey(&self, passkey: PasskeyId, credential: &str, now: Timestamp) -> Result<()>;
            /// The account of a user.
            pub async fn account_of_user(&self, user: UserId) -> Result<Option<Account>>;
            /// The identities of a user, oldest first.
            pub async fn identities(&self, user: UserId) -> Result<Vec<Identity>>;
            /// Finds or creates the user of an account of an identity provider.
            pub async fn log_in_with_provider(&self, login: ProviderLogin, now: Timestamp) -> Result<ProviderOutcome>;
            /// Connects or disconnects an identity of the user of a session.
            pub async fn change_identity(&self, session: SessionId, change: IdentityChange, notice: Option<NewMail>, address: &str, now: Timestamp) -> Result<()>;
            /// Creates a link and queues its mail; `false` when the address has received too many.
            pub async fn send_email_link(&self, link: NewEmailLink, now: Timestamp) -> Result<bool>;
            /// The account of a link that has not expired.
            pub async fn email_link(&self, hash: &SecretHash, purpose: LinkPurpose, now: Timestamp) -> Result<Option<Account>>;
            /// Sets the password of the user of a link. This ends all sessions of the user and verifies the
            /// address.
            pub async fn reset_password(&self, reset: PasswordReset, now: Timestamp) -> Result<()>;
            /// Verifies the address of the user of a link.
            pub async fn verify_email(&self, link: SecretHash, now: Timestamp) -> Result<Email>;
            /// Creates a token.
            pub async fn create_token(&self, token: NewToken, actor: Actor, now: Timestamp) -> Result<TokenId>;
            /// The tokens of a workspace, or of all.
            pub async fn tokens(&self, workspace: Option<WorkspaceId>) -> Result<Vec<TokenRow>>;
            /// The workspace of a token.
            pub async fn workspace_of_token(&self, token: TokenId) -> Result<WorkspaceId>;
            /// Revokes a token, with immediate effect.
            pub async fn revoke_token(&self, workspace: WorkspaceId, token: TokenId, actor: Actor, now: Timestamp) -> Result<()>;
        }

        to self.mails {
            /// Queues a mail that belongs to no other change; `false` when the address has received too many.
            #[call(queue)]
            pub async fn queue_mail(&self, mail: NewMail, now: Timestamp) -> Result<bool>;
            /// Records how an attempt to send a mail ended.
            #[call(finish)]
            pub async fn finish_mail(&self, mail: &Mail, outcome: MailOutcome, now: Timestamp) -> Result<()>;
            /// Drops mails that could not be sent in time, and forgets old ones. Returns the number dropped.
            #[call(clean_up)]
            pub async fn clean_up_mails(&self, now: Timestamp) -> Result<u64>;
            /// The number of mails that wait to be sent.
            #[call(count_waiting)]
            pub async fn count_waiting_mails(&self) -> Result<u64>;
        }

        to self.webhooks {
            /// Creates an endpoint.
            #[call(create)]
            pub async fn create_endpoint(&self, new: NewEndpoint) -> Result<EndpointOutcome>;
            /// Changes an endpoint.
            #[call(change)]
            pub async fn change_endpoint(&self, workspace: WorkspaceId, actor: Actor, endpoint: EndpointId, change: EndpointChange, now: Timestamp) -> Result<Endpoint>;
            /// Gives an endpoint a new secret. For a while, deliveries are signed with the previous one too.
            pub async fn rotate_secret(&self, request: WebhookRequest, endpoint: EndpointId, secret: Option<SigningSecret>, overlap_millis: i64) -> Result<Outcome<RotatedSecret>>;
            /// Deletes an endpoint. No more deliveries are sent to it.
            #[call(delete)]
            pub async fn delete_endpoint(&self, workspace: WorkspaceId, actor: Actor, endpoint: EndpointId, now: Timestamp) -> Result<()>;
            /// Queues a test event for an endpoint.
            #[call(test)]
            pub async fn test_endpoint(&self, request: WebhookRequest, endpoint: EndpointId) -> Result<Outcome<DeliveryDocument>>;
            /// The endpoints of a workspace, oldest first.
            pub async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<EndpointHealth>>;
            /// One endpoint.
            pub async fn endpoint(&self, workspace: WorkspaceId, endpoint: EndpointId) -> Result<EndpointHealth>;
            /// Deliveries of an endpoint, newest first.
            pub async fn deliveries(&self, workspace: WorkspaceId, filter: DeliveryFilter) -> Result<Vec<DeliveryRow>>;
            /// A page of the deliveries of an endpoint, newest first; without a cursor, the one that the filter names.
            pub async fn delivery_page(&self, workspace: WorkspaceId, filter: DeliveryFilter, cursor: Option<&str>, now: Timestamp) -> Result<Page>;
            /// One delivery with its body and every attempt.
            pub async fn delivery(&self, workspace: WorkspaceId, delivery: DeliveryId) -> Result<DeliveryDetail>;
            /// Sends a delivery again: if it waits, it is due now; if it has ended, its schedule starts over.
            pub async fn redeliver(&self, request: WebhookRequest, delivery: DeliveryId) -> Result<Outcome<DeliveryDocument>>;
            /// Sends deliveries of an endpoint again; returns how many.
            pub async fn redeliver_since(&self, request: WebhookRequest, which: RedeliverySince) -> Result<Outcome<u64>>;
            /// Writes past deliveries of an endpoint into the log.
            pub async fn insert_past_deliveries(&self, workspace: WorkspaceId, endpoint: EndpointId, past: Vec<PastDelivery>) -> Result<()>;
            /// How webhook secrets are stored.
            pub async fn secrets_state(&self) -> Result<SecretsState>;
            /// Opens the feed of the delivery loop. On SQLite, the leases of the previous program are released.
            pub async fn delivery_feed(&self, now: Timestamp) -> Result<DeliveryFeed>;
            /// Adjusts due times after the clock of this machine was set back, so that deliveries do not wait
            /// longer. On PostgreSQL the clock of the database counts.
            pub async fn adjust_to_clock(&self, millis: i64, now: Timestamp) -> Result<()>;
            /// The enabled endpoints with waiting deliveries. Expired leases are released first.
            pub async fn due_endpoints(&self, now: Timestamp) -> Result<Vec<DueEndpoint>>;
            /// Leases due deliveries to this program.
            pub async fn lease_deliveries(&self, requests: Vec<LeaseRequest>, now: Timestamp) -> Result<Vec<Delivery>>;
            /// The current state of endpoints, without those that are deleted or disabled.
            pub async fn targets(&self, endpoints: Vec<(WorkspaceId, EndpointId)>) -> Result<Vec<Arc<WebhookTarget>>>;
            /// Releases the leases of deliveries that were not attempted.
            pub async fn release(&self, deliveries: Vec<(WorkspaceId, DeliveryId)>, now: Timestamp) -> Result<()>;
            /// Records attempts and what follows from them. Returns the endpoints that were disabled.
            pub async fn record_attempts(&self, attempts: Arc<Vec<Attempt>>) -> Result<Vec<EndpointId>>;
            /// How many deliveries wait, by state.
            pub async fn delivery_counts(&self, now: Timestamp) -> Result<DeliveryCounts>;
            /// Deletes some rows of deleted endpoints; returns how many.
            pub async fn purge_deleted_endpoints(&self) -> Result<u64>;
            /// Deletes deliveries that ended before `before`, with their attempts, in one small step after
            /// the delivery `after`. Returns where to continue, or `None` when nothing is left.
            pub async fn delete_old_deliveries(&self, before: Timestamp, after: Option<(WorkspaceId, DeliveryId)>) -> Result<Option<(WorkspaceId, DeliveryId)>>;
        }
    }
}
