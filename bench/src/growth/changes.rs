//! A change of one record, while endpoints are subscribed: until it is acknowledged, synced, and until
//! the last of them has it. Changes and deliveries are in one process, as in `groma serve`; the receiver
//! is another one.

use crate::{
    Outcome,
    changes::{apply, change_of, endpoint, now},
    load::{self, mix},
    receiver::{Receiver, micros},
    report::median,
    webhooks::Loop,
};
use groma_domain::{WorkspaceId, input::Field, record::FolderInput};
use groma_store::{Actor, Store};
use std::time::Duration;

/// How many endpoints. A workspace has 50 at most.
const ENDPOINTS: [u64; 3] = [1, 10, 50];
/// How many changes are measured, and made before.
const CHANGES: u64 = 60;
const BEFORE: u64 = 5;

/// Medians in milliseconds.
pub(crate) struct Cost {
    pub(crate) endpoints: u64,
    pub(crate) acknowledged: f64,
    pub(crate) delivered: f64,
}

pub(crate) async fn measure(database: &str, size: u64) -> Outcome<Vec<Cost>> {
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    remove_endpoints(&store, workspace).await?;
    let receiver = Receiver::start()?;
    let running = Loop::start(&store)?;
    let mut costs = Vec::new();
    let mut there = 0;
    for endpoints in ENDPOINTS {
        for n in there..endpoints {
            endpoint(&store, workspace, &receiver.url(&format!("/time/{n}"))).await?;
        }
        there = endpoints;
        costs.push(changes(&store, workspace, &receiver, size, endpoints).await?);
    }
    running.end().await?;
    remove_endpoints(&store, workspace).await?;
    Ok(costs)
}

async fn changes(
    store: &Store,
    workspace: WorkspaceId,
    receiver: &Receiver,
    size: u64,
    endpoints: u64,
) -> Outcome<Cost> {
    let (mut acknowledged, mut delivered) = (Vec::new(), Vec::new());
    for n in 0..BEFORE + CHANGES {
        let begun = micros();
        // Never what the record had before.
        let client_name = Field::Set(Some(format!("The client of {begun}")));
        let input = FolderInput { client_name, ..FolderInput::default() };
        apply(store, workspace, vec![change_of(mix(n + endpoints) % size, input)]).await?;
        let since = |moment: u64| moment.saturating_sub(begun) as f64 / 1_000.0;
        let acknowledgement = since(micros());
        let mut arrivals = Vec::new();
        while (arrivals.len() as u64) < endpoints {
            // The receiver notes the moments itself; asking it seldom leaves it alone.
            tokio::time::sleep(Duration::from_millis(10)).await;
            arrivals.extend(receiver.take()?.iter().map(|arrival| arrival.at));
        }
        if n >= BEFORE {
            acknowledged.push(acknowledgement);
            delivered.push(since(arrivals.into_iter().max().unwrap_or(begun)));
        }
    }
    Ok(Cost { endpoints, acknowledged: median(&acknowledged), delivered: median(&delivered) })
}

async fn remove_endpoints(store: &Store, workspace: WorkspaceId) -> Outcome {
    for health in store.endpoints(workspace).await? {
        store.delete_endpoint(workspace, Actor::Operator, health.endpoint.id, now()).await?;
    }
    Ok(())
}
