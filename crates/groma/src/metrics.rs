//! Metrics, as listed in `docs/metrics.md`. The admin listener exposes them; without it nothing is
//! recorded.

use axum::http::StatusCode;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use std::time::Duration;

/// Upper bounds of the buckets of `groma_request_seconds`.
const REQUEST_BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Upper bounds of the buckets of the other durations.
const DURATION_BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// Starts recording. Call it once, before the first request.
pub(crate) fn install() -> Result<PrometheusHandle, BuildError> {
    let requests = Matcher::Full("groma_request_seconds".to_owned());
    let durations = Matcher::Suffix("_seconds".to_owned());
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(requests, &REQUEST_BUCKETS)?
        .set_buckets_for_metric(durations, &DURATION_BUCKETS)?
        .install_recorder()?;
    describe_counter!("groma_requests_total", "Requests");
    describe_histogram!(
        "groma_request_seconds",
        "Time from the request headers to the response headers"
    );
    describe_gauge!("groma_requests_in_progress", "Requests in progress");
    describe_gauge!("groma_connections", "Open client connections");
    describe_counter!(
        "groma_connections_rejected_total",
        "Connections closed at once because too many were open"
    );
    describe_counter!("groma_rate_limited_total", "Requests rejected by the rate limit");
    describe_counter!("groma_logins_total", "Login attempts");
    describe_counter!("groma_mails_total", "Attempts to send a mail, by result");
    describe_counter!("groma_tiles_total", "Tiles, by source");
    describe_counter!("groma_webhook_attempts_total", "Delivery attempts, by outcome");
    describe_histogram!("groma_webhook_attempt_seconds", "Time until the response headers arrive");
    describe_histogram!(
        "groma_webhook_wait_seconds",
        "Time from a change to its first delivery attempt"
    );
    // These are exposed from the start; the others once they have a value.
    gauge!("groma_requests_in_progress").set(0);
    gauge!("groma_connections").set(0);
    counter!("groma_connections_rejected_total").absolute(0);
    counter!("groma_rate_limited_total").absolute(0);
    for outcome in LoginOutcome::ALL {
        counter!("groma_logins_total", "outcome" => outcome.name()).absolute(0);
    }
    for result in MailResult::ALL {
        counter!("groma_mails_total", "result" => result.name()).absolute(0);
    }
    for source in ["cache", "rendered"] {
        counter!("groma_tiles_total", "from" => source).absolute(0);
    }
    Ok(handle)
}

/// Renders the metrics that `record` sets. They are recorded separately from all others, so that a
/// value that cannot be read this time is omitted instead of repeated.
pub(crate) fn snapshot(record: impl FnOnce()) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, record);
    recorder.handle().render()
}

/// Sets a gauge without labels, with its description.
pub(crate) fn set_gauge(name: &'static str, description: &'static str, value: f64) {
    describe_gauge!(name, description);
    gauge!(name).set(value);
}

/// Sets a gauge with one label, with its description.
pub(crate) fn set_labelled_gauge(
    name: &'static str,
    description: &'static str,
    label: &'static str,
    values: &[(&'static str, f64)],
) {
    describe_gauge!(name, description);
    for (label_value, value) in values {
        gauge!(name, label => *label_value).set(*value);
    }
}

/// Adds one to a gauge until it is dropped.
pub(crate) struct GaugeGuard(metrics::Gauge);

impl GaugeGuard {
    fn new(gauge: metrics::Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Counts a request while it is in progress.
pub(crate) fn request_in_progress() -> GaugeGuard {
    GaugeGuard::new(gauge!("groma_requests_in_progress"))
}

/// Counts a connection while it is open.
pub(crate) fn open_connection() -> GaugeGuard {
    GaugeGuard::new(gauge!("groma_connections"))
}

/// Counts a connection that the limits rejected.
pub(crate) fn connection_rejected() {
    counter!("groma_connections_rejected_total").increment(1);
}

/// Counts a request that has its response.
pub(crate) fn request_finished(class: RouteClass, status: StatusCode, elapsed: Duration) {
    let class = class.name();
    counter!("groma_requests_total", "class" => class, "status" => status_label(status))
        .increment(1);
    histogram!("groma_request_seconds", "class" => class).record(elapsed);
}

/// Counts a request that the rate limit rejected.
pub(crate) fn rate_limit_exceeded() {
    counter!("groma_rate_limited_total").increment(1);
}

pub(crate) fn login(outcome: LoginOutcome) {
    counter!("groma_logins_total", "outcome" => outcome.name()).increment(1);
}

pub(crate) fn mail(result: MailResult) {
    counter!("groma_mails_total", "result" => result.name()).increment(1);
}

pub(crate) fn tile_from_cache() {
    counter!("groma_tiles_total", "from" => "cache").increment(1);
}

pub(crate) fn tile_from_database() {
    counter!("groma_tiles_total", "from" => "rendered").increment(1);
}

/// The label of a status. Statuses that the program does not use share one label.
fn status_label(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200 => "200",
        204 => "204",
        303 => "303",
        304 => "304",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        408 => "408",
        409 => "409",
        413 => "413",
        429 => "429",
        500 => "500",
        _ => "other",
    }
}

/// How a login ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoginOutcome {
    Succeeded,
    Failed,
    /// Rejected without checking the password, because too many attempts had failed before.
    Throttled,
}

impl LoginOutcome {
    const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::Throttled];

    fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Throttled => "rejected",
        }
    }
}

/// How an attempt to send a mail ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MailResult {
    Sent,
    /// It is tried again.
    Failed,
    /// It is not tried again.
    Dropped,
}

impl MailResult {
    const ALL: [Self; 3] = [Self::Sent, Self::Failed, Self::Dropped];

    fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

/// A group of routes, the label `class` of request metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteClass {
    Records,
    Statuses,
    Webhooks,
    Layers,
    Tiles,
    Geometries,
    Ogc,
    Documentation,
    Assets,
    Pages,
    Unknown,
}

impl RouteClass {
    fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Statuses => "statuses",
            Self::Webhooks => "webhooks",
            Self::Layers => "layers",
            Self::Tiles => "tiles",
            Self::Geometries => "geometries",
            Self::Ogc => "ogc",
            Self::Documentation => "documentation",
            Self::Assets => "assets",
            Self::Pages => "pages",
            Self::Unknown => "unknown",
        }
    }

    /// The class of a path. The path need not be a route.
    pub(crate) fn of(path: &str) -> Self {
        if let Some(rest) = path.strip_prefix("/api/") {
            let Some(rest) = rest.strip_prefix("public/v1/") else { return Self::Unknown };
            return match rest.split('/').next().unwrap_or_default() {
                "folders" | "assignments" | "expenses" | "budgets" => Self::Records,
                "statuses" => Self::Statuses,
                "webhooks" => Self::Webhooks,
                "layers" if rest.contains("/mvt/") => Self::Tiles,
                "layers" => Self::Layers,
                "geometries" => Self::Geometries,
                "openapi.json" => Self::Documentation,
                _ => Self::Unknown,
            };
        }
        if let Some(rest) = path.strip_prefix("/maps/") {
            return if rest.contains('/') { Self::Tiles } else { Self::Layers };
        }
        if path == "/ogc" || path.starts_with("/ogc/") {
            Self::Ogc
        } else if path.starts_with("/assets/") {
            Self::Assets
        } else if path.starts_with("/map/tiles/") {
            Self::Tiles
        } else if path == "/docs" || path.starts_with("/docs/") {
            Self::Documentation
        } else {
            Self::Pages
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_follows_from_the_path() {
        for (path, class) in [
            ("/api/public/v1/folders", RouteClass::Records),
            ("/api/public/v1/budgets/B-1", RouteClass::Records),
            ("/api/public/v1/statuses", RouteClass::Statuses),
            ("/api/public/v1/webhooks/endpoints/x", RouteClass::Webhooks),
            ("/api/public/v1/layers", RouteClass::Layers),
            ("/api/public/v1/layers/x/mvt/1/2/3", RouteClass::Tiles),
            ("/maps/parcels/1/2/3", RouteClass::Tiles),
            ("/maps/parcels.json", RouteClass::Layers),
            ("/ogc/collections", RouteClass::Ogc),
            ("/api/public/v1/geometries/geojson", RouteClass::Geometries),
            ("/api/public/v1/openapi.json", RouteClass::Documentation),
            ("/api/public/v1/folder", RouteClass::Unknown),
            ("/api/public/v2/folders", RouteClass::Unknown),
            ("/docs/", RouteClass::Documentation),
            ("/docsify", RouteClass::Pages),
            ("/assets/app.css", RouteClass::Assets),
            ("/map/tiles/x/1/2/3", RouteClass::Tiles),
            ("/", RouteClass::Pages),
        ] {
            assert_eq!(RouteClass::of(path), class, "{path}");
        }
    }

    #[test]
    fn requests_are_counted_by_class_status_and_duration() {
        let handle = install().unwrap();
        for micros in [1, 500, 501, 20_000_000] {
            let elapsed = Duration::from_micros(micros);
            request_finished(RouteClass::Tiles, StatusCode::OK, elapsed);
        }
        request_finished(RouteClass::Tiles, StatusCode::IM_A_TEAPOT, Duration::ZERO);
        let text = handle.render();
        for line in [
            "groma_requests_total{class=\"tiles\",status=\"200\"} 4",
            "groma_requests_total{class=\"tiles\",status=\"other\"} 1",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"0.0005\"} 3",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"0.001\"} 4",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"10\"} 4",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"+Inf\"} 5",
            "groma_request_seconds_count{class=\"tiles\"} 5",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in {text}");
        }
    }

    #[test]
    fn a_snapshot_contains_only_what_it_records() {
        let first = snapshot(|| set_gauge("groma_sessions", "Active sessions", 2.0));
        assert!(first.contains("groma_sessions 2\n"), "{first}");
        assert_eq!(snapshot(|| {}), "");
    }
}
