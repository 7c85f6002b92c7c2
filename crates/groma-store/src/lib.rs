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
mod secret_encryption;
mod security_log;

mod accounts;
mod audit_log;
mod authentication;
mod backup;
mod base_maps;
mod copy;
mod diagnostics;
mod idempotency;
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
    Account, Invitation, KnownPerson, LOGIN_ATTEMPT_WINDOW_MILLIS, LinkPurpose, Member, Membership,
    NewEmailLink, NewInvitation, NewSession, NewToken, NewUser, PasswordReset, Preferences,
    Session, SessionRow, ThrottleBucket, TokenRow,
};
pub use actor::Actor;
pub use audit_log::AuditEntry;
pub use authentication::{AuthOutcome, AuthenticatedToken};
pub use backup::{BackupReport, Progress, RestoreReport};
pub use base_maps::BaseMapChange;
pub use copy::CopyReport;
pub use diagnostics::{DatabaseStats, HotReads, ServerInfo};
pub use engine::{DatabaseUrl, Encryption};
pub use error::{Error, Result};
pub use idempotency::{IdempotencyKey, IdempotentRequest};
pub use layers::{
    Comparison, FeaturePage, FeatureQuery, FeatureSort, FeatureSpool, FeatureTablePage,
    FeatureTableQuery, GeometryEdit, LayerFeature, NewGeometries, NewLayer, PostOutcome,
    PropertyCondition, Tile,
};
pub use mail::{MAIL_LEASE_MILLIS, Mail, MailKind, MailOutcome, NewMail};
pub use records::{
    COUNT_LIMIT, Change, Command, CommandOutcome, ExportedRecord, Label, MonthHours, Page,
    PersonWorkload, RecordCount, RecordPage, RecordQuery, ReservedReferences, SaveTarget, Sort,
    SortColumn, StatusFilter, WORK_LIMIT, Workload,
};
pub use saved_views::{NewSavedView, SavedView};
pub use secret_encryption::{EncryptionKey, EncryptionKeys};
pub use security_log::{NewSecurityEntry, SecurityEntry, SecurityLogFilter};
pub use store::Store;
pub use webhooks::{
    Attempt, AttemptRow, Delivery, DeliveryCounts, DeliveryDetail, DeliveryFeed, DeliveryFilter,
    DeliveryRow, DeliveryState, DueEndpoint, EndpointChange, EndpointHealth, EndpointOutcome,
    FeedMessage, LEASE, LeaseRequest, MAX_HELD, MAX_HELD_PER_ENDPOINT, NewEndpoint, NextStep,
    PastAttempt, PastDelivery, Redeliver, RotatedSecret, SecretsState, WebhookTarget,
    endpoint_with_secret,
};
pub use workspaces::WorkspaceFilter;

/// The reasons for which the program itself disables a webhook endpoint.
pub mod disabled_reason {
    pub use crate::{
        copy::REHEARSED as COPIED,
        webhooks::{FAILING, GONE, HTTP_NOT_ALLOWED},
    };
}
