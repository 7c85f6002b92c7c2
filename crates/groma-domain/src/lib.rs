//! The rules of Groma: records, money, people, roles, scopes, tokens, events and list parameters.
//!
//! This crate does no I/O. It has no clock and no source of randomness: callers pass in the time and
//! random bytes, so that every rule can be tested with plain values.
//!
//! Callers parse input once, at the edge, into the types of this crate. A rule that rejects a command
//! returns a [`DomainError`], which knows nothing of HTTP.

pub mod base_map;
pub mod cql2;
pub mod email;
pub mod error;
pub mod event;
pub mod geometry;
pub mod id;
pub mod input;
pub mod json;
pub mod kind;
pub mod layer;
pub mod list;
pub mod money;
pub mod password;
pub mod person;
pub mod rate_limit;
pub mod record;
pub mod reference;
pub mod role;
pub mod scope;
pub mod secret;
pub mod status;
pub mod text;
pub mod time;
pub mod token;
pub mod webhook;
pub mod workspace;

pub use base_map::{BaseMap, BaseMaps};
pub use email::Email;
pub use error::{DomainError, FieldError, FieldErrors, PropertyError, Violation};
pub use event::Event;
pub use id::{
    BaseMapId, DeliveryId, EndpointId, GeometryId, ImportJobId, InvitationId, LayerId, MailId,
    PasskeyId, PersonId, RecordId, SavedViewId, SecurityEntryId, SessionId, StatusId, TokenId,
    UserId, WorkspaceId,
};
pub use kind::Kind;
pub use layer::Layer;
pub use list::{ListParams, SearchTerm};
pub use money::{Amount, Currency};
pub use person::Person;
pub use record::Record;
pub use reference::{Key, Reference};
pub use role::{Permission, Role};
pub use scope::Scope;
pub use status::Status;
pub use time::Timestamp;
