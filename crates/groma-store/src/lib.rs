//! The store: one async method for each use case, the same on SQLite and on PostgreSQL. All SQL of the
//! program is here.
//!
//! [`Store`] delegates to topics, one folder each. A topic has its types, its rules, and for each engine a
//! module with its SQL. What a change does is written once, against the small trait that each topic
//! implements on the engines' transactions; reads are written for each engine, because that is where the two
//! differ in what is fast. Imports run one way: `store → topics → engine`, and among topics in the order of
//! the list below.
//!
//! No method reads or writes records without a [`WorkspaceId`](groma_domain::WorkspaceId).

mod actor;
mod engine;
mod error;
mod list_pages;
mod precondition;
mod secret_encryption;
mod security_log;

mod accounts;
mod audit_log;
mod authentication;
mod backup;
mod base_maps;
mod changes;
mod copy;
mod diagnostics;
mod idempotency;
mod import_jobs;
mod layers;
mod mail;
mod people;
mod records;
mod saved_views;
mod webhooks;
mod workspaces;

#[cfg(test)]
mod sql_tests;
mod store;

pub use accounts::{
    Account, AccountAuthority, AuthenticatorApp, DisableUser, ExpiringToken, FactorChange,
    Identity, IdentityChange, Invitation, KnownPerson, LinkPurpose, LoginAttemptOutcome, LoginStep,
    Member, Membership, NewEmailLink, NewInvitation, NewSession, NewToken, NewUser,
    OwnFactorChange, PasswordChange, PasswordReset, PendingLogin, Preferences, ProviderAccess,
    ProviderAccount, ProviderLogin, ProviderOutcome, SecondFactors, Session, SessionRow,
    StoredPasskey, ThrottleBucket, ThrottleRule, TokenRecipient, TokenRow, UserFilter, UserRow,
    UserWorkspace, new_passkey_id,
};
pub use actor::Actor;
pub use audit_log::AuditEntry;
pub use authentication::{AuthOutcome, AuthenticatedToken};
pub use backup::{BackupReport, Progress, RestoreReport};
pub use base_maps::BaseMapChange;
pub use changes::{
    Change as FeedChange, ChangeActor, ChangeFeed, ChangePage, ChangeQuery, Cursors, LiveChanges,
};
pub use copy::CopyReport;
pub use diagnostics::{DatabaseStats, HotReads, ServerInfo};
pub use engine::{DatabaseUrl, Encryption};
pub use error::{Error, Result};
pub use idempotency::{IdempotencyKey, IdempotentRequest, Outcome};
pub use import_jobs::{
    ImportJob, ImportJobChange, ImportList, ImportResult, ImportState, ListedImport,
};
pub use layers::{
    Comparison, FeatureImport, FeatureOperation, FeaturePage, FeaturePrecondition, FeatureQuery,
    FeatureReader, FeatureSort, FeatureSpool, FeatureTablePage, FeatureTableQuery, FeatureWrite,
    FeatureWriteOutcome, GeometryEdit, ImportOutcome, LayerFeature, LayerLoad, LayerRepair,
    NewGeometries, NewLayer, NewLayerLoad, PostMode, PostOutcome, PropertyCondition, RepairOutcome,
    Tile, WrittenFeature,
};
pub use list_pages::{Page, PageCursors};
pub use mail::{MAIL_LEASE_MILLIS, Mail, MailKind, MailOutcome, NewMail};
pub use precondition::Precondition;
pub use records::{
    BatchOutcome, COUNT_LIMIT, Change, Command, CommandOutcome, ExportedRecord, Label, MonthHours,
    Operation, OperationBatch, OperationEffect, OperationOutcome, OperationResult, PersonWorkload,
    RecordCount, RecordPage, RecordQuery, RecordReader, ReservedReferences, Responder, SaveTarget,
    Sort, SortColumn, StatusFilter, StatusTarget, WORK_LIMIT, Workload,
};
pub use saved_views::{NewSavedView, SavedView};
pub use secret_encryption::{EncryptionKey, EncryptionKeys};
pub use security_log::{NewSecurityEntry, SecurityEntry, SecurityLogFilter};
pub use store::Store;
pub use webhooks::{
    Attempt, AttemptRow, Delivery, DeliveryCounts, DeliveryDetail, DeliveryFeed, DeliveryFilter,
    DeliveryRow, DeliveryState, DueEndpoint, EndpointChange, EndpointHealth, EndpointOutcome,
    FeedMessage, LEASE, LeaseRequest, MAX_HELD, MAX_HELD_PER_ENDPOINT, NewEndpoint, NextStep,
    PastAttempt, PastDelivery, RedeliverySince, RotatedSecret, SecretsState, WebhookRequest,
    WebhookTarget, endpoint_with_secret, redelivered,
};
pub use workspaces::WorkspaceFilter;

/// The reasons for which the program itself disables a webhook endpoint.
pub mod disabled_reason {
    pub use crate::{
        copy::REHEARSED as COPIED,
        webhooks::{DISABLED_BY_API, FAILING, GONE, HTTP_NOT_ALLOWED},
    };
}
