//! Deliveries as the API shows them.

use crate::{DeliveryId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// One event for one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDelivery)]
pub struct DeliveryDocument {
    /// Identifier, the same in every attempt.
    pub id: DeliveryId,
    /// Name of the event.
    #[schema(value_type = String, example = "folder.updated")]
    pub event: &'static str,
    /// Identifier of the record, feature or layer that the event is about; null for a test event.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub record_id: Option<Uuid>,
    /// Status: `waiting`, `delivered`, `failed` or `cancelled`.
    pub status: DeliveryStatus,
    /// Number of attempts.
    #[schema(minimum = 0)]
    pub attempts: u32,
    /// When the next attempt is due; null if there is none, or while it is being made.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
}

/// The status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDeliveryStatus)]
pub enum DeliveryStatus {
    /// Another attempt follows, or one is being made.
    Waiting,
    /// An attempt succeeded.
    Delivered,
    /// The last attempt failed.
    Failed,
    /// It is not sent, because personal data was erased from its event.
    Cancelled,
}

impl DeliveryStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Delivered, Self::Failed, Self::Cancelled];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Looks up a status by name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}
