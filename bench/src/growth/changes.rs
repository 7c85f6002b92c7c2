//! A change of one record with subscribed endpoints: the time until it is synced and acknowledged, and
//! until the last endpoint has received it. Changes and deliveries are in one process, as in `groma
//! serve`; the receiver is another one.

use crate::{
    Result,
    commands::{apply, change_of, endpoint, now},
    load::{self, mix},
    receiver::{Receiver, micros},
    report::median,
    webhooks::RunningLoop,
};
use groma_domain::{WorkspaceId, input::Field, record::FolderInput};
use groma_store::{Actor, Store};
use std::time::Duration;

/// The numbers of endpoints. A workspace can have 50.
const ENDPOINTS: [u64; 3] = [1, 10, 50];
/// The numbers of measured and of warm-up changes.
const CHANGES: u64 = 60;
const WARM_UP: u64 = 5;

/// Medians in milliseconds.
pub(crate) struct Cost {
    pub(crate) endpoints: u64,
    pub(crate) acknowledged: f64,
    pub(crate) delivered: f64,
}

pub(crate) async fn measure(database: &str, size: u64) -> Result<Vec<Cost>> {
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    remove_endpoints(&store, workspace).await?;
    let receiver = Receiver::start()?;
    let running = RunningLoop::start(&store)?;
    let mut costs = Vec::new();
    let mut there = 0;
    for endpoints in ENDPOINTS {
        for n in there..endpoints {
            endpoint(&store, workspace, &receiver.url(&format!("/time/{n}"))).await?;
        }
        there = endpoints;
        costs.push(changes(&store, workspace, &receiver, size, endpoints).await?);
    }
    running.stop().await?;
    remove_endpoints(&store, workspace).await?;
    Ok(costs)
}

async fn changes(
    store: &Store,
    workspace: WorkspaceId,
    receiver: &Receiver,
    size: u64,
    endpoints: u64,
) -> Result<Cost> {
    let (mut acknowledged, mut delivered) = (Vec::new(), Vec::new());
    for n in 0..WARM_UP + CHANGES {
        let start = micros();
        // Always a new value.
        let client_name = Field::Set(Some(format!("The client of {start}")));
        let input = FolderInput { client_name, ..FolderInput::default() };
        apply(store, workspace, vec![change_of(mix(n + endpoints) % size, input)]).await?;
        let since = |moment: u64| moment.saturating_sub(start) as f64 / 1_000.0;
        let acknowledgement = since(micros());
        let mut arrivals = Vec::new();
        while (arrivals.len() as u64) < endpoints {
            // The receiver records the times itself, so query it rarely.
            tokio::time::sleep(Duration::from_millis(10)).await;
            arrivals.extend(receiver.take()?.iter().map(|arrival| arrival.at));
        }
        if n >= WARM_UP {
            acknowledged.push(acknowledgement);
            delivered.push(since(arrivals.into_iter().max().unwrap_or(start)));
        }
    }
    Ok(Cost { endpoints, acknowledged: median(&acknowledged), delivered: median(&delivered) })
}

async fn remove_endpoints(store: &Store, workspace: WorkspaceId) -> Result {
    for health in store.endpoints(workspace).await? {
        store.delete_endpoint(workspace, Actor::Operator, health.endpoint.id, now()).await?;
    }
    Ok(())
}
