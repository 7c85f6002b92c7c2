//! The admin listener: health, readiness and metrics for the operator. It exposes no data of workspaces,
//! but it has no authentication either, so only the operator should be able to reach its address.

use crate::{
    clock,
    http::FinalResponse,
    metrics::{self, set_gauge, set_labelled_gauge},
    roles::{Roles, ServerRole},
    tiles::TileCache,
};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use groma_store::{DatabaseStats, DeliveryCounts, Store};
use groma_webhooks::Heartbeat;
use metrics_exporter_prometheus::PrometheusHandle;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// How often recorded durations are added to their buckets, so that they do not accumulate between
/// scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The delivery loop runs once a second; after this time it counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// What the admin listener reports about.
pub(super) struct AdminState {
    pub(super) store: Store,
    pub(super) tiles: Arc<TileCache>,
    pub(super) roles: Roles,
    /// The pulse of the delivery loop, if this server runs it.
    pub(super) pulse: Option<Heartbeat>,
    /// Whether shutdown has begun.
    pub(super) stopping: watch::Receiver<bool>,
}

pub(super) fn router(state: AdminState, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readiness))
        .route("/metrics", get(|state| render_metrics(state, metrics)))
        .with_state(Arc::new(state))
}

/// Keeps the memory of recorded durations bounded.
pub(super) async fn run_upkeep(metrics: &PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        metrics.run_upkeep();
    }
}

async fn readiness(State(state): State<Arc<AdminState>>) -> Response {
    let problems = state.problems().await;
    if problems.is_empty() {
        return "ready\n".into_response();
    }
    let body = problems.join("\n") + "\n";
    let mut response = (StatusCode::SERVICE_UNAVAILABLE, body).into_response();
    response.extensions_mut().insert(FinalResponse);
    response
}

impl AdminState {
    /// Why this server should not receive requests now.
    async fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if *self.stopping.borrow() {
            problems.push("stopping: requests in progress are being finished".to_owned());
        }
        match self.store.missing_migrations().await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => {
                problems.push(format!("the database lacks migrations: {}", missing.join(", ")));
            }
            Err(error) => {
                tracing::warn!(%error, "the database does not respond");
                problems.push("the database does not respond".to_owned());
            }
        }
        let age = self.pulse.as_ref().map(Heartbeat::age).unwrap_or_default();
        if age > STUCK_AFTER {
            problems.push(format!("the delivery loop has not run for {} s", age.as_secs()));
        }
        problems
    }

    /// Renders the metrics that are read when they are requested.
    async fn render_snapshot(&self) -> String {
        let now = clock::now();
        let counts = async {
            let sessions = self.store.count_sessions(now).await?;
            let mails = self.store.count_waiting_mails().await?;
            Ok::<_, groma_store::Error>((sessions, mails, self.store.delivery_counts(now).await?))
        };
        let counts = counts.await;
        if let Err(error) = &counts {
            tracing::warn!(%error, "failed to read metrics from the database");
        }
        let pulse_age = self.pulse.as_ref().map(Heartbeat::age);
        metrics::snapshot(|| {
            self.record_server();
            set_gauge("groma_database_up", "Whether the database responds", is(counts.is_ok()));
            if let Ok((sessions, mails, deliveries)) = counts {
                record_counts(sessions, mails, &deliveries);
            }
            if let Some(age) = pulse_age {
                set_gauge(
                    "groma_webhook_loop_age_seconds",
                    "Time since the delivery loop last ran",
                    age.as_secs_f64(),
                );
            }
            record_process();
        })
    }
}

async fn render_metrics(
    State(state): State<Arc<AdminState>>,
    metrics: PrometheusHandle,
) -> Response {
    metrics.run_upkeep();
    let text = state.render_snapshot().await + &metrics.render();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

impl AdminState {
    fn record_server(&self) {
        let vitals = self.store.database_stats();
        let engine = match vitals {
            DatabaseStats::Sqlite { .. } => "sqlite",
            DatabaseStats::Postgres { .. } => "postgresql",
        };
        ::metrics::describe_gauge!("groma_info", "Version and engine, as labels");
        let version = env!("CARGO_PKG_VERSION");
        ::metrics::gauge!("groma_info", "version" => version, "engine" => engine).set(1);
        let roles = ServerRole::ALL.map(|role| (role.name(), is(self.roles.has(role))));
        set_labelled_gauge("groma_role", "Whether this process has a role", "role", &roles);
        set_gauge("groma_tile_cache_entries", "Tiles in the tile cache", self.tiles.len() as f64);
        set_gauge("groma_tile_cache_bytes", "Size of the tile cache", self.tiles.bytes() as f64);
        match vitals {
            DatabaseStats::Sqlite { file_bytes, log_bytes } => set_labelled_gauge(
                "groma_sqlite_bytes",
                "Size of the database file and of the write-ahead log",
                "file",
                &[("database", file_bytes as f64), ("wal", log_bytes as f64)],
            ),
            DatabaseStats::Postgres { busy, idle, max, waiting } => {
                set_labelled_gauge(
                    "groma_postgres_connections",
                    "Connections of this process to PostgreSQL",
                    "state",
                    &[("busy", busy as f64), ("idle", idle as f64)],
                );
                set_gauge(
                    "groma_postgres_connections_max",
                    "Maximum number of connections",
                    max as f64,
                );
                set_gauge(
                    "groma_postgres_waiting",
                    "Requests waiting for a connection",
                    waiting as f64,
                );
            }
        }
    }
}

/// Records what all replicas share in the database.
fn record_counts(sessions: u64, mails: u64, deliveries: &DeliveryCounts) {
    set_gauge("groma_mails_waiting", "Mails waiting to be sent", mails as f64);
    set_gauge("groma_sessions", "Active sessions of the web application", sessions as f64);
    set_gauge("groma_webhook_due", "Deliveries due now", deliveries.due as f64);
    set_gauge("groma_webhook_leased", "Deliveries being sent", deliveries.leased as f64);
    set_gauge(
        "groma_webhook_later",
        "Deliveries waiting for a retry or for a disabled endpoint",
        deliveries.later as f64,
    );
    set_gauge(
        "groma_webhook_oldest_due_seconds",
        "How long the oldest due delivery has been waiting",
        deliveries.oldest_due_millis as f64 / 1_000.0,
    );
}

/// Records memory and files of this process, on Linux only.
fn record_process() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if let Some(kilobytes) = resident {
        let bytes = (kilobytes * 1024) as f64;
        set_gauge("process_resident_memory_bytes", "Resident memory of the process", bytes);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        set_gauge("process_open_fds", "Open files and sockets", open.count() as f64);
    }
}

/// The value of a gauge that is 0 or 1.
fn is(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}
