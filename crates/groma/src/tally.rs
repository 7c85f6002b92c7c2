//! What is counted while requests are served: a handful of atomic additions each, and no look-ups, so
//! that counting costs nothing that could be measured. The operator's listener shows the sums.

use axum::http::StatusCode;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds of the buckets for times, in microseconds.
const BOUNDS: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

/// The statuses that are counted one by one; the last place is for all others.
const STATUSES: [u16; 12] = [200, 204, 303, 304, 400, 401, 403, 404, 409, 413, 429, 500];

/// What a request is about, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Records,
    Statuses,
    Webhooks,
    Layers,
    Tiles,
    Geometries,
    Documentation,
    Assets,
    Pages,
    Unknown,
}

impl Class {
    const ALL: [Self; 10] = [
        Self::Records,
        Self::Statuses,
        Self::Webhooks,
        Self::Layers,
        Self::Tiles,
        Self::Geometries,
        Self::Documentation,
        Self::Assets,
        Self::Pages,
        Self::Unknown,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Statuses => "statuses",
            Self::Webhooks => "webhooks",
            Self::Layers => "layers",
            Self::Tiles => "tiles",
            Self::Geometries => "geometries",
            Self::Documentation => "documentation",
            Self::Assets => "assets",
            Self::Pages => "pages",
            Self::Unknown => "unknown",
        }
    }

    /// The class of a path. Whether there is such a route the status tells.
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
        if path.starts_with("/assets/") {
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

/// How a login ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Login {
    Succeeded,
    Failed,
    /// So many had failed before that it was not tried.
    Refused,
}

impl Login {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Succeeded, "succeeded"), (Self::Failed, "failed"), (Self::Refused, "refused")];
}

/// All that is counted.
#[derive(Default)]
pub(crate) struct Tally {
    requests: [Requests; Class::ALL.len()],
    in_progress: AtomicU64,
    connections: AtomicU64,
    rate_refusals: AtomicU64,
    logins: [AtomicU64; Login::ALL.len()],
}

/// The requests of one class.
#[derive(Default)]
struct Requests {
    by_status: [AtomicU64; STATUSES.len() + 1],
    /// Each in the first bucket that it fits in; the last one takes the rest.
    by_time: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

/// One more of something, until dropped.
pub(crate) struct Held<'t>(&'t AtomicU64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Tally {
    /// Counts a request that was answered.
    pub(crate) fn answered(&self, class: Class, status: StatusCode, took: Duration) {
        let requests = &self.requests[class as usize];
        let place = STATUSES.iter().position(|known| *known == status.as_u16());
        requests.by_status[place.unwrap_or(STATUSES.len())].fetch_add(1, Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        requests.by_time[bucket].fetch_add(1, Relaxed);
        requests.micros.fetch_add(micros, Relaxed);
    }

    /// Counts a request for as long as it is worked on.
    pub(crate) fn working(&self) -> Held<'_> {
        self.in_progress.fetch_add(1, Relaxed);
        Held(&self.in_progress)
    }

    /// Counts a connection for as long as it is open.
    pub(crate) fn connected(&self) -> Held<'_> {
        self.connections.fetch_add(1, Relaxed);
        Held(&self.connections)
    }

    pub(crate) fn rate_refused(&self) {
        self.rate_refusals.fetch_add(1, Relaxed);
    }

    pub(crate) fn login(&self, login: Login) {
        self.logins[login as usize].fetch_add(1, Relaxed);
    }

    /// Writes the sums.
    pub(crate) fn write(&self, to: &mut Exposition) {
        to.family("groma_requests_total", "counter", "Requests that were answered");
        for (class, requests) in Class::ALL.iter().zip(&self.requests) {
            for (index, count) in requests.by_status.iter().enumerate() {
                // A pair that never was is left out: there are many.
                let count = count.load(Relaxed);
                if count > 0 {
                    let status = STATUSES.get(index).map_or("other".to_owned(), u16::to_string);
                    let labels = [("class", class.name()), ("status", status.as_str())];
                    to.sample("groma_requests_total", &labels, count as f64);
                }
            }
        }
        to.family(
            "groma_request_seconds",
            "histogram",
            "Time from a request's head to its answer's",
        );
        for (class, requests) in Class::ALL.iter().zip(&self.requests) {
            let counts: Vec<_> = requests.by_time.iter().map(|count| count.load(Relaxed)).collect();
            let total: u64 = counts.iter().sum();
            if total == 0 {
                continue;
            }
            let mut so_far = 0;
            for (index, count) in counts.iter().enumerate() {
                so_far += count;
                let bound = BOUNDS
                    .get(index)
                    .map_or("+Inf".to_owned(), |micros| (*micros as f64 / 1e6).to_string());
                let labels = [("class", class.name()), ("le", bound.as_str())];
                to.sample("groma_request_seconds_bucket", &labels, so_far as f64);
            }
            let labels = [("class", class.name())];
            let seconds = requests.micros.load(Relaxed) as f64 / 1e6;
            to.sample("groma_request_seconds_sum", &labels, seconds);
            to.sample("groma_request_seconds_count", &labels, total as f64);
        }
        let one = |count: &AtomicU64| count.load(Relaxed) as f64;
        to.gauge(
            "groma_requests_in_progress",
            "Requests that are worked on",
            one(&self.in_progress),
        );
        to.gauge(
            "groma_connections",
            "Connections of clients that are open",
            one(&self.connections),
        );
        to.counter(
            "groma_rate_refusals_total",
            "Requests that were over their token's rate",
            one(&self.rate_refusals),
        );
        to.family("groma_logins_total", "counter", "Attempts to log in");
        for ((_, outcome), count) in Login::ALL.iter().zip(&self.logins) {
            to.sample("groma_logins_total", &[("outcome", outcome)], one(count));
        }
    }
}

/// Figures as Prometheus reads them.
#[derive(Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    /// Begins a family of figures of one name.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// One figure of the family that was begun. Labels have nothing in them that would be escaped.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<_> =
            labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.0.push_str(&format!("{name}{labels} {value}\n"));
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    pub(crate) fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "counter", help);
        self.sample(name, &[], value);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_and_outcome_has_its_own_place() {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, index);
        }
        for (index, (login, _)) in Login::ALL.into_iter().enumerate() {
            assert_eq!(login as usize, index);
        }
    }

    #[test]
    fn a_path_tells_its_class() {
        for (path, class) in [
            ("/api/public/v1/folders", Class::Records),
            ("/api/public/v1/budgets/B-1", Class::Records),
            ("/api/public/v1/statuses", Class::Statuses),
            ("/api/public/v1/webhooks/endpoints/x", Class::Webhooks),
            ("/api/public/v1/layers", Class::Layers),
            ("/api/public/v1/layers/x/mvt/1/2/3", Class::Tiles),
            ("/api/public/v1/geometries/geojson", Class::Geometries),
            ("/api/public/v1/openapi.json", Class::Documentation),
            ("/api/public/v1/folder", Class::Unknown),
            ("/api/public/v2/folders", Class::Unknown),
            ("/docs/", Class::Documentation),
            ("/docsify", Class::Pages),
            ("/assets/app.css", Class::Assets),
            ("/map/tiles/x/1/2/3", Class::Tiles),
            ("/", Class::Pages),
        ] {
            assert_eq!(Class::of(path), class, "{path}");
        }
    }

    #[test]
    fn buckets_add_up() {
        let tally = Tally::default();
        for micros in [1, 500, 501, 20_000_000] {
            tally.answered(Class::Tiles, StatusCode::OK, Duration::from_micros(micros));
        }
        tally.answered(Class::Tiles, StatusCode::IM_A_TEAPOT, Duration::ZERO);
        let mut shown = Exposition::default();
        tally.write(&mut shown);
        let shown = shown.into_text();
        for line in [
            "groma_requests_total{class=\"tiles\",status=\"200\"} 4",
            "groma_requests_total{class=\"tiles\",status=\"other\"} 1",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"0.0005\"} 3",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"0.001\"} 4",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"10\"} 4",
            "groma_request_seconds_bucket{class=\"tiles\",le=\"+Inf\"} 5",
            "groma_request_seconds_sum{class=\"tiles\"} 20.001002",
            "groma_request_seconds_count{class=\"tiles\"} 5",
        ] {
            assert!(shown.lines().any(|known| known == line), "{line} is not in {shown}");
        }
    }
}
