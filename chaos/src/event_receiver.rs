//! A webhook receiver that records the changes that it received.

use groma_testkit::{
    receiver::{ReceivedRequest, Reply, listen},
    tls::issue_certificate,
};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// How the receiver responds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// With a 200.
    Accept,
    /// With a 500.
    Fail,
    /// With a 200 whose body never ends.
    Endless,
    /// With a head that never ends, one byte at a time.
    SlowHead,
}

pub(crate) struct EventReceiver {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    connections: Arc<AtomicUsize>,
}

/// Identifies a change in deliveries and in the change feed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangeKey {
    pub(crate) event: String,
    /// Of the record, the feature or the layer.
    pub(crate) id: String,
    /// The version of a record, the time of a feature, the revision of a layer.
    pub(crate) version: String,
}

impl ChangeKey {
    pub(crate) fn new(event: &str, data: &Value) -> Self {
        let version = ["version", "revision", "updatedAt"].map(|name| data[name].to_string());
        Self {
            event: event.to_owned(),
            id: data["id"].as_str().unwrap_or_default().to_owned(),
            version: version.into_iter().find(|version| version != "null").unwrap_or_default(),
        }
    }
}

struct State {
    behavior: Mutex<Behavior>,
    /// The number of requests for each delivery id.
    deliveries: Mutex<BTreeMap<String, u64>>,
    /// The accepted versions of folders.
    versions: Mutex<BTreeSet<(String, u64)>>,
    /// All accepted changes.
    changes: Mutex<BTreeSet<ChangeKey>>,
}

impl EventReceiver {
    pub(crate) fn start(behavior: Behavior) -> Self {
        Self::start_with(behavior, None)
    }

    /// A receiver with a certificate of an unknown authority.
    pub(crate) fn with_untrusted_certificate() -> Self {
        let certificate = issue_certificate("127.0.0.1");
        Self::start_with(Behavior::Accept, Some(certificate.server_config))
    }

    fn start_with(behavior: Behavior, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let state = Arc::new(State {
            behavior: Mutex::new(behavior),
            deliveries: Mutex::default(),
            versions: Mutex::default(),
            changes: Mutex::default(),
        });
        let connections = Arc::default();
        let shared = state.clone();
        let address = listen(tls, Arc::clone(&connections), move |request| shared.handle(&request));
        Self { address, state, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Changes how the receiver responds from now on.
    pub(crate) fn set_behavior(&self, behavior: Behavior) {
        *self.state.behavior.lock() = behavior;
    }

    /// The accepted versions of folders.
    pub(crate) fn versions(&self) -> BTreeSet<(String, u64)> {
        self.state.versions.lock().clone()
    }

    /// The accepted changes.
    pub(crate) fn changes(&self) -> BTreeSet<ChangeKey> {
        self.state.changes.lock().clone()
    }

    /// The number of deliveries, and the number of requests for them.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let deliveries = self.state.deliveries.lock();
        (deliveries.len() as u64, deliveries.values().sum())
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl State {
    fn handle(&self, request: &ReceivedRequest) -> Reply {
        // Read before the delivery is counted: a scenario that sees the count may change the behavior.
        let behavior = *self.behavior.lock();
        let body = request.json();
        *self.deliveries.lock().entry(request.id()).or_default() += 1;
        if behavior != Behavior::Fail {
            let data = &body["data"];
            let event = body["event"].as_str().unwrap_or_default();
            self.changes.lock().insert(ChangeKey::new(event, data));
            if let (Some(reference), Some(version)) =
                (data["reference"].as_str(), data["version"].as_u64())
            {
                self.versions.lock().insert((reference.to_owned(), version));
            }
        }
        match behavior {
            Behavior::Accept => Reply::status(200),
            Behavior::Fail => Reply::status(500),
            Behavior::Endless => Reply::Endless,
            Behavior::SlowHead => Reply::SlowHead,
        }
    }
}
