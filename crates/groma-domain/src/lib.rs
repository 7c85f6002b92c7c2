//! What Groma knows about projects, without databases, HTTP, clocks or randomness: time and random
//! bytes are passed in, so every rule here can be tried with plain values.
//!
//! Values are parsed once, at the edge, into the types of this crate; inside they are already
//! right. What a rule refuses is a [`Refusal`], which knows no HTTP status.

pub mod email;
pub mod event;
pub mod geometry;
pub mod id;
pub mod input;
pub mod layer;
pub mod list;
pub mod money;
pub mod password;
pub mod person;
pub mod rate;
pub mod record;
pub mod reference;
pub mod refusal;
pub mod role;
pub mod scope;
pub mod session;
pub mod status;
pub mod text;
pub mod time;
pub mod token;
pub mod webhook;
pub mod workspace;

pub use email::Email;
pub use event::Event;
pub use id::{
    DeliveryId, EndpointId, GeometryId, InvitationId, LayerId, PersonId, RecordId, SessionId,
    StatusId, TokenId, UserId, WorkspaceId,
};
pub use layer::Layer;
pub use list::{ListParams, Term};
pub use money::{Amount, Currency};
pub use person::Person;
pub use record::{Kind, Record};
pub use reference::{Key, Reference};
pub use refusal::{Problem, Refusal};
pub use role::{Permission, Role};
pub use scope::Scope;
pub use status::Status;
pub use time::Timestamp;
