//! Identifiers. Each resource has its own type, so that the compiler catches mix-ups.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use utoipa::ToSchema;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String, format = "uuid")]
        pub struct $name(pub Uuid);

        impl $name {
            /// Creates a UUIDv7 from the time and random bytes.
            #[must_use]
            pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
                Self(uuid::Builder::from_unix_timestamp_millis(now.as_millis().unsigned_abs(), &random).into_uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::try_parse(text).map(Self)
            }
        }
    )*};
}

id! {
    /// A workspace; the `workspaceKey` of records and events.
    WorkspaceId
    /// A folder, assignment, expense or budget.
    RecordId
    /// A status.
    StatusId
    /// A person in a workspace.
    PersonId
    /// A user who can log in.
    UserId
    /// A personal access token (not its secret).
    TokenId
    /// A browser session (not its secret).
    SessionId
    /// A passkey.
    PasskeyId
    /// An invitation (not its secret).
    InvitationId
    /// An entry of the security log.
    SecurityEntryId
    /// A mail that the program sends.
    MailId
    /// An import of a file.
    ImportJobId
    /// A saved view of a list.
    SavedViewId
    /// A layer.
    LayerId
    /// A base map.
    BaseMapId
    /// A geometry of a layer.
    GeometryId
    /// A webhook endpoint.
    EndpointId
    /// A delivery of one event to one endpoint.
    DeliveryId
}
