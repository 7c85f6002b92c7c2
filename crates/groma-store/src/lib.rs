//! The store: one async method a use case, the same on SQLite and on PostgreSQL. All SQL of the
//! program lives here.
//!
//! What a change does is written once, in [`change`] and [`admin`], against the few operations of
//! [`tx::Tx`]; each engine only carries those out. Reads are written for each engine, because that
//! is where the two differ in what is fast.
//!
//! No method reads or writes records without a [`WorkspaceId`](groma_domain::WorkspaceId).

mod access;
mod activity;
mod admin;
mod admission;
mod backup;
mod blocks;
mod browse;
mod change;
mod copy;
mod error;
mod geometries;
mod layers;
mod long;
mod outbox;
mod people;
mod postgres;
mod replays;
mod seal;
mod sqlite;
mod store;
mod tiles;
mod tx;
mod vicinity;
mod vitals;
mod webhooks;

pub use access::{
    ATTEMPT_COUNTS_FOR_MILLIS, Account, Bucket, Invitation, KnownPerson, Membership, NewInvitation,
    NewSession, Session, SessionRow,
};
pub use admin::{Member, NewToken, NewUser, TokenRow, WorkspaceFilter};
pub use admission::{Admission, Bearer};
pub use backup::{BackupReport, Progress, RestoreReport};
pub use browse::{Browse, Browsed, Count, MANY, Sort, StatusFilter};
pub use change::{Actor, Applied, Change, Checked, Command, Done, Reserved, Target};
pub use copy::CopyReport;
pub use error::{Error, Result};
pub use geometries::{GeometryEdit, NewGeometries, Outcome, Spool};
pub use layers::{ExportedFeature, LayerChange};
pub use outbox::{HELD, HELD_FOR_ENDPOINT};
pub use postgres::sql::HotReads;
pub use replays::Replayable;
pub use seal::SealKey;
pub use store::{ChangeRow, DatabaseUrl, Document, Edition, Exported, Page, Store};
pub use tiles::Tile;
pub use tx::ReplayKey;
pub use vicinity::{Vicinity, VicinityId};
pub use vitals::{ServerFacts, Vitals};
pub use webhooks::{
    Addressee, Ask, AttemptRow, Attempted, Counts, Delivery, DeliveryDetail, DeliveryFilter,
    DeliveryRow, DeliveryState, Due, EndpointChange, EndpointHealth, EndpointOutcome, Handovers,
    LEASE, NewEndpoint, News, Next, PastAttempt, PastDelivery, Redeliver, Rotated, SecretsState,
    shown_with_secret,
};
