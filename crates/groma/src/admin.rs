//! The operator's listener: health, readiness, metrics. It shows nothing of any workspace, and is
//! meant for addresses that only the operator reaches.

use crate::{server, web::Finished};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use groma_store::Store;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use std::{fmt::Write as _, future::Future, time::Duration};
use tokio::net::TcpListener;

/// Upper bounds of the buckets for times, in seconds.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// How often what was counted is summed up, so that it does not pile up while nobody asks.
const UPKEEP: Duration = Duration::from_secs(5);

#[derive(Clone)]
struct Admin {
    store: Store,
    metrics: PrometheusHandle,
}

/// Counts from now on, and shows it to the operator until `shutdown`.
pub(crate) async fn serve(
    listener: TcpListener,
    store: Store,
    shutdown: impl Future<Output = ()>,
) -> Result<(), BuildError> {
    let (routes, metrics) = router(store)?;
    let upkeep = async {
        loop {
            tokio::time::sleep(UPKEEP).await;
            metrics.run_upkeep();
        }
    };
    tokio::select! {
        () = server::run(listener, routes, shutdown) => Ok(()),
        () = upkeep => Ok(()),
    }
}

fn router(store: Store) -> Result<(Router, PrometheusHandle), BuildError> {
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
    Ok((routes.with_state(Admin { store, metrics: metrics.clone() }), metrics))
}

async fn ready(State(admin): State<Admin>) -> Response {
    match admin.store.ping().await {
        Ok(()) => "ready\n".into_response(),
        Err(error) => {
            tracing::warn!(%error, "the database does not answer");
            let words = "the database does not answer\n";
            let mut answer = (StatusCode::SERVICE_UNAVAILABLE, words).into_response();
            // Without this it would be an error of the public API, which has no such status.
            answer.extensions_mut().insert(Finished);
            answer
        }
    }
}

async fn show(State(admin): State<Admin>) -> Response {
    admin.metrics.run_upkeep();
    let mut text = admin.metrics.render();
    // What is waiting is in the database, shared by all replicas: it is counted when it is asked for.
    match admin.store.delivery_counts(jiff::Timestamp::now().into()).await {
        Ok(counts) => {
            for (name, help, value) in [
                ("groma_webhook_due", "Deliveries that could be tried now", counts.due as f64),
                ("groma_webhook_leased", "Deliveries that are being tried", counts.leased as f64),
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
                // Writing into a string does not fail.
                let _ =
                    write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n\n");
            }
        }
        Err(error) => tracing::warn!(%error, "what is waiting could not be counted"),
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
