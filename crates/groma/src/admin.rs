//! The operator's listener: health, readiness, metrics. It shows nothing of any workspace, and is
//! meant for addresses that only the operator reaches.

use crate::{
    api::Api,
    forwarded::Proxies,
    roles::{Role, Roles},
    server,
    tally::{Exposition, Tally},
    web::Finished,
};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use groma_store::Vitals;
use groma_webhooks::Pulse;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use std::{future::Future, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::watch};

/// Upper bounds of the buckets for times, in seconds.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// How often what was counted is summed up, so that it does not pile up while nobody asks.
const UPKEEP: Duration = Duration::from_secs(5);

/// How long the delivery loop may take to go round before it counts as stuck.
const STUCK: Duration = Duration::from_secs(30);

/// What the operator is told about.
pub(crate) struct Watched {
    pub(crate) api: Arc<Api>,
    pub(crate) roles: Roles,
    /// Of the delivery loop, where it runs.
    pub(crate) pulse: Option<Pulse>,
    /// Whether the end was asked for.
    pub(crate) stopping: watch::Receiver<bool>,
}

#[derive(Clone)]
struct Admin {
    watched: Arc<Watched>,
    metrics: PrometheusHandle,
}

/// Counts deliveries from now on, and shows all that is counted to the operator until `shutdown`.
pub(crate) async fn serve(
    listener: TcpListener,
    watched: Watched,
    shutdown: impl Future<Output = ()>,
) -> Result<(), BuildError> {
    let (routes, metrics) = router(watched)?;
    let upkeep = async {
        loop {
            tokio::time::sleep(UPKEEP).await;
            metrics.run_upkeep();
        }
    };
    // The operator's own requests are not among those that are counted, and need no proxy.
    let unseen = Arc::new(Tally::default());
    tokio::select! {
        () = server::run(listener, routes, Proxies::default(), unseen, shutdown) => Ok(()),
        () = upkeep => Ok(()),
    }
}

fn router(watched: Watched) -> Result<(Router, PrometheusHandle), BuildError> {
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()?;
    metrics::describe_counter!(
        "groma_webhook_attempts_total",
        "Attempts at deliveries, by outcome"
    );
    metrics::describe_histogram!("groma_webhook_attempt_seconds", "Time to the head of the answer");
    metrics::describe_histogram!(
        "groma_webhook_wait_seconds",
        "Time from a change to the first attempt at its delivery"
    );
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(show));
    let admin = Admin { watched: Arc::new(watched), metrics: metrics.clone() };
    Ok((routes.with_state(admin), metrics))
}

async fn ready(State(admin): State<Admin>) -> Response {
    let problems = admin.watched.problems().await;
    if problems.is_empty() {
        return "ready\n".into_response();
    }
    let mut response = (problems.join("\n") + "\n").into_response();
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    // It is as it should be; what the framework makes of errors is put right at the edge.
    response.extensions_mut().insert(Finished);
    response
}

impl Watched {
    /// Why no request should be sent here now.
    async fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if *self.stopping.borrow() {
            problems.push("stopping: what runs is being finished".to_owned());
        }
        match self.api.store.lacking_migrations().await {
            Ok(lacking) if lacking.is_empty() => {}
            Ok(lacking) => {
                problems.push(format!("the database lacks migrations: {}", lacking.join(", ")));
            }
            Err(error) => {
                tracing::warn!(%error, "the database does not answer");
                problems.push("the database does not answer".to_owned());
            }
        }
        let age = self.pulse.as_ref().map(Pulse::age).unwrap_or_default();
        if age > STUCK {
            let seconds = age.as_secs();
            problems.push(format!("the delivery loop has not gone round for {seconds} s"));
        }
        problems
    }
}

async fn show(State(admin): State<Admin>) -> Response {
    admin.metrics.run_upkeep();
    let mut shown = Exposition::default();
    admin.watched.write(&mut shown).await;
    let text = shown.into_text() + &admin.metrics.render();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

impl Watched {
    async fn write(&self, to: &mut Exposition) {
        let Api { store, tally, tiles, .. } = &*self.api;
        to.family("groma_info", "gauge", "This program");
        let engine = match store.vitals() {
            Vitals::Sqlite { .. } => "sqlite",
            Vitals::Postgres { .. } => "postgresql",
        };
        let labels = [("version", env!("CARGO_PKG_VERSION")), ("engine", engine)];
        to.sample("groma_info", &labels, 1.0);
        to.family("groma_role", "gauge", "Whether this program has a role");
        for role in Role::ALL {
            let has = f64::from(u8::from(self.roles.has(role)));
            to.sample("groma_role", &[("role", role.name())], has);
        }
        tally.write(to);
        let tiles = tiles.stats();
        to.family(
            "groma_tiles_total",
            "counter",
            "Tiles that were asked for, by where they came from",
        );
        to.sample("groma_tiles_total", &[("from", "cache")], tiles.hits as f64);
        to.sample("groma_tiles_total", &[("from", "drawn")], tiles.misses as f64);
        to.gauge("groma_tile_cache_entries", "Tiles in the cache", tiles.entries as f64);
        to.gauge("groma_tile_cache_bytes", "Bytes of the tiles in the cache", tiles.bytes as f64);
        self.write_database(to).await;
        write_process(to);
    }

    async fn write_database(&self, to: &mut Exposition) {
        let store = &self.api.store;
        match store.vitals() {
            Vitals::Sqlite { file_bytes, log_bytes } => {
                to.family(
                    "groma_sqlite_bytes",
                    "gauge",
                    "Size of the database file and of its log",
                );
                to.sample("groma_sqlite_bytes", &[("file", "database")], file_bytes as f64);
                to.sample("groma_sqlite_bytes", &[("file", "wal")], log_bytes as f64);
            }
            Vitals::Postgres { busy, idle, most, waiting } => {
                let name = "groma_postgres_connections";
                to.family(name, "gauge", "Connections of this program to PostgreSQL");
                to.sample(name, &[("state", "busy")], busy as f64);
                to.sample(name, &[("state", "idle")], idle as f64);
                let name = "groma_postgres_connections_max";
                to.gauge(name, "How many connections there may be", most as f64);
                let name = "groma_postgres_waiting";
                to.gauge(name, "Requests that wait for a connection", waiting as f64);
            }
        }
        // What follows is in the database, shared by all replicas: it is counted when it is asked for.
        let now = crate::commands::now();
        let counted = async {
            Ok::<_, groma_store::Error>((
                store.open_sessions(now).await?,
                store.delivery_counts(now).await?,
            ))
        };
        let counted = counted.await;
        let up = f64::from(u8::from(counted.is_ok()));
        to.gauge("groma_database_up", "Whether the database answers", up);
        match counted {
            Ok((sessions, counts)) => {
                for (name, help, value) in [
                    (
                        "groma_sessions",
                        "Sessions of the web application that are open",
                        sessions as f64,
                    ),
                    ("groma_webhook_due", "Deliveries that could be tried now", counts.due as f64),
                    (
                        "groma_webhook_leased",
                        "Deliveries that are being tried",
                        counts.leased as f64,
                    ),
                    (
                        "groma_webhook_later",
                        "Deliveries that wait for another time, or for their endpoint",
                        counts.later as f64,
                    ),
                    (
                        "groma_webhook_oldest_due_seconds",
                        "How long the oldest delivery that could be tried now has waited",
                        counts.oldest_due_millis as f64 / 1_000.0,
                    ),
                ] {
                    to.gauge(name, help, value);
                }
            }
            Err(error) => tracing::warn!(%error, "what is in the database could not be counted"),
        }
        if let Some(pulse) = &self.pulse {
            let name = "groma_webhook_loop_age_seconds";
            to.gauge(name, "How long ago the delivery loop went round", pulse.age().as_secs_f64());
        }
    }
}

/// What Linux tells of this process; elsewhere nothing.
fn write_process(to: &mut Exposition) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if let Some(kilobytes) = resident {
        let name = "process_resident_memory_bytes";
        to.gauge(name, "Memory that this process has", (kilobytes * 1024) as f64);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        to.gauge("process_open_fds", "Files and sockets that are open", open.count() as f64);
    }
}
