//! The arguments of `groma webhook`.

use super::{WorkspaceArg, parse_duration};
use crate::clock;
use clap::{Args, Subcommand};
use groma_domain::{DeliveryId, EndpointId, Event, Timestamp};
use groma_store::DeliveryState;

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Create an endpoint and print its ID and secret. The secret is not shown again.
    Create {
        /// The URL that receives deliveries.
        url: String,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Comma-separated events, for example folder.created,geometry.*. Default: all events of records.
        #[arg(long, value_delimiter = ',')]
        events: Vec<String>,
        /// Description of the endpoint.
        #[arg(long)]
        description: Option<String>,
        /// Read the secret from the first line of standard input instead of generating it.
        #[arg(long)]
        secret_from_stdin: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List endpoints and their health.
    List {
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change an endpoint's URL, events or description.
    Update {
        /// ID of the endpoint.
        id: EndpointId,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// The URL that receives deliveries.
        #[arg(long)]
        url: Option<String>,
        /// Comma-separated events, for example folder.created,expense.*.
        #[arg(long, value_delimiter = ',')]
        events: Vec<String>,
        /// Description of the endpoint. Empty to remove it.
        #[arg(long)]
        description: Option<String>,
    },
    /// Delete an endpoint and its pending deliveries.
    Delete {
        /// ID of the endpoint.
        id: EndpointId,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
    /// Enable an endpoint and resume its pending deliveries.
    Enable {
        /// ID of the endpoint.
        id: EndpointId,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
    /// Disable an endpoint. Its deliveries wait until it is enabled again.
    Disable {
        /// ID of the endpoint.
        id: EndpointId,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// The reason, shown with the endpoint.
        #[arg(long, default_value = "Disabled by the operator")]
        reason: String,
    },
    /// Replace an endpoint's secret and print the new one. It is not shown again. Deliveries are
    /// signed with both secrets during the overlap.
    Rotate {
        /// ID of the endpoint.
        id: EndpointId,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// How long the old secret stays valid, for example 24h or 7d.
        #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
        overlap: i64,
        /// Read the secret from the first line of standard input instead of generating it.
        #[arg(long)]
        secret_from_stdin: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List deliveries, newest first, or show one delivery with all its attempts.
    Deliveries(DeliveriesArgs),
    /// Redeliver one delivery, or all failed deliveries of an endpoint.
    Redeliver {
        /// ID of the delivery.
        #[arg(required_unless_present = "endpoint", conflicts_with = "endpoint")]
        delivery: Option<DeliveryId>,
        /// Redeliver the failed deliveries of this endpoint. Requires --failed-since.
        #[arg(long, requires = "failed_since")]
        endpoint: Option<EndpointId>,
        /// Only deliveries created since this time: a timestamp, or a duration before now such as
        /// 24h.
        #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "endpoint")]
        failed_since: Option<Timestamp>,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Send a test event to an endpoint and print the ID of the delivery.
    Test {
        /// ID of the endpoint.
        id: EndpointId,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change the key that encrypts the secrets in the database: encrypt all of them again with a new
    /// key file, or with webhooks.encryption_key if it is set.
    Rekey {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Encrypt the plain-text secrets in the database.
    Encrypt {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    /// ID of the endpoint. Default: all endpoints.
    pub(crate) endpoint: Option<EndpointId>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
    /// Show this delivery with its body and all attempts.
    #[arg(long, value_name = "ID", conflicts_with_all = ["endpoint", "state", "event", "since", "until"])]
    pub(crate) delivery: Option<DeliveryId>,
    /// Only deliveries in this state: waiting, sending, delivered, failed or cancelled.
    #[arg(long, value_parser = parse_state)]
    pub(crate) state: Option<DeliveryState>,
    /// Only deliveries of this event, for example folder.created.
    #[arg(long, value_parser = parse_event)]
    pub(crate) event: Option<Event>,
    /// Only deliveries created since this time: a timestamp, or a duration before now such as 24h.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) since: Option<Timestamp>,
    /// Only deliveries created before this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) until: Option<Timestamp>,
    /// The maximum number of deliveries.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_state(text: &str) -> Result<DeliveryState, String> {
    let found = DeliveryState::NAMES.iter().find(|(word, _)| *word == text);
    found
        .map(|(_, state)| *state)
        .ok_or_else(|| "must be waiting, sending, delivered, failed or cancelled".to_owned())
}

fn parse_event(text: &str) -> Result<Event, String> {
    Event::from_name(text).ok_or_else(|| "must be an event, for example folder.created".to_owned())
}

/// A timestamp, or a duration before now.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = Timestamp::parse(text) {
        return Ok(time);
    }
    let millis = parse_duration(text).map_err(|_| {
        "must be a timestamp such as 2026-11-15T05:00:00Z, or a duration such as 24h".to_owned()
    })?;
    Ok(clock::now().plus_millis(-millis))
}
