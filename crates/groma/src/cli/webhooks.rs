//! The command line of webhooks.

use super::{At, lifetime};
use clap::{Args, Subcommand};
use groma_domain::{DeliveryId, EndpointId, Event, Timestamp};
use groma_store::DeliveryState;

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Make an endpoint; prints its id and, this once, its secret.
    Create {
        /// Where deliveries go.
        url: String,
        #[command(flatten)]
        at: At,
        /// Events with commas between them: folder.created, folder.*, *; all when left out.
        #[arg(long, value_delimiter = ',')]
        events: Vec<String>,
        /// What it is for.
        #[arg(long)]
        description: Option<String>,
        /// Take the first line of standard input for the secret, instead of making one.
        #[arg(long)]
        secret_from_stdin: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List endpoints and how they fare.
    List {
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change an endpoint's address, events or description.
    Update {
        /// Its id.
        id: EndpointId,
        #[command(flatten)]
        at: At,
        /// Where deliveries go.
        #[arg(long)]
        url: Option<String>,
        /// Events with commas between them.
        #[arg(long, value_delimiter = ',')]
        events: Vec<String>,
        /// What it is for; empty: nothing.
        #[arg(long)]
        description: Option<String>,
    },
    /// Delete an endpoint and all that waits for it.
    Delete {
        /// Its id.
        id: EndpointId,
        #[command(flatten)]
        at: At,
    },
    /// Deliver to an endpoint again; what waited goes on.
    Enable {
        /// Its id.
        id: EndpointId,
        #[command(flatten)]
        at: At,
    },
    /// Deliver nothing to an endpoint until it is enabled.
    Disable {
        /// Its id.
        id: EndpointId,
        #[command(flatten)]
        at: At,
        /// Why, for those who look at it.
        #[arg(long, default_value = "Disabled by the operator")]
        reason: String,
    },
    /// Give an endpoint another secret and print it, once; for a while both sign.
    Rotate {
        /// Its id.
        id: EndpointId,
        #[command(flatten)]
        at: At,
        /// How long the old one signs too: 24h, 7d, …
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = lifetime)]
        overlap: i64,
        /// Take the first line of standard input for the secret, instead of making one.
        #[arg(long)]
        secret_from_stdin: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List deliveries, newest first; with --delivery, one of them with every attempt.
    Deliveries(DeliveryWords),
    /// Send again: one delivery, or all of an endpoint that failed.
    Redeliver {
        /// The delivery's id.
        #[arg(required_unless_present = "endpoint", conflicts_with = "endpoint")]
        delivery: Option<DeliveryId>,
        /// All failed deliveries of this endpoint …
        #[arg(long, requires = "failed_since")]
        endpoint: Option<EndpointId>,
        /// … that were made since then: a moment, or a time before now such as 24h.
        #[arg(long, value_name = "WHEN", value_parser = moment, requires = "endpoint")]
        failed_since: Option<Timestamp>,
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Send a sample to an endpoint; prints the delivery's id.
    Test {
        /// Its id.
        id: EndpointId,
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Seal the secrets that lie open in the database, with webhooks.encryption_key.
    Encrypt {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Which deliveries to list.
#[derive(Debug, Args)]
pub(crate) struct DeliveryWords {
    /// Of this endpoint; of all when left out.
    pub(crate) endpoint: Option<EndpointId>,
    #[command(flatten)]
    pub(crate) at: At,
    /// This one, with what is sent and every attempt.
    #[arg(long, value_name = "ID", conflicts_with_all = ["endpoint", "state", "event", "since", "until"])]
    pub(crate) delivery: Option<DeliveryId>,
    /// waiting, sending, delivered or failed
    #[arg(long, value_parser = state)]
    pub(crate) state: Option<DeliveryState>,
    /// Of this event.
    #[arg(long, value_parser = event)]
    pub(crate) event: Option<Event>,
    /// Made since then: a moment, or a time before now such as 24h.
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Made before then.
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub(crate) until: Option<Timestamp>,
    /// How many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn state(text: &str) -> Result<DeliveryState, String> {
    let found = DeliveryState::WORDS.iter().find(|(word, _)| *word == text);
    found
        .map(|(_, state)| *state)
        .ok_or_else(|| "must be waiting, sending, delivered or failed".to_owned())
}

fn event(text: &str) -> Result<Event, String> {
    Event::named(text).ok_or_else(|| "must be an event such as folder.created".to_owned())
}

/// A moment, or so long before now.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = Timestamp::parse(text) {
        return Ok(moment);
    }
    let wrong =
        |_| "must be a moment such as 2026-11-15T05:00:00Z, or a time such as 24h".to_owned();
    let now = Timestamp::from(jiff::Timestamp::now());
    lifetime(text).map(|millis| now.plus_millis(-millis)).map_err(wrong)
}
