//! Settings: embedded defaults, overridden by the file, the environment and flags, in this order. An
//! unknown or invalid setting is rejected by its dotted name.
//!
//! [`sources`] merges the sources into one table, [`validation`] turns the table into [`Settings`].

mod oidc;
mod smtp;
mod sources;
#[cfg(test)]
mod tests;
mod validation;

pub(crate) use oidc::{OidcMembership, OidcProvider};
pub(crate) use smtp::{Smtp, SmtpEncryption};
pub(crate) use validation::parse_encryption_key;

use crate::{http::client_address::Proxies, roles::Roles};
use groma_domain::token::TokenPrefix;
use groma_geo::GridFiles;
use groma_store::{DatabaseUrl, EncryptionKey};
use groma_webhooks::{AddressPolicy, EndpointPolicy};
use ipnet::IpNet;
use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use thiserror::Error;

/// All settings, validated.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) service: Service,
    pub(crate) server: Server,
    pub(crate) database: DatabaseUrl,
    pub(crate) limits: Limits,
    pub(crate) webhooks: Webhooks,
    pub(crate) ogc: Ogc,
    pub(crate) changes: Changes,
    pub(crate) security: Security,
    /// Identity providers, by name.
    pub(crate) oidc: Vec<OidcProvider>,
    /// `None` without a mail server.
    pub(crate) smtp: Option<Smtp>,
    pub(crate) geo: Geo,
    pub(crate) map: Map,
    pub(crate) log: LogFormat,
}

#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// `None` if it is not set.
    name: Option<String>,
    pub(crate) token_prefix: TokenPrefix,
}

impl Service {
    /// The name in webhook headers, such as `X-Service-Signature`.
    pub(crate) fn header_name(&self) -> &str {
        self.name.as_deref().unwrap_or("Service")
    }

    /// The name that users read.
    pub(crate) fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or("Groma")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<String>,
    pub(crate) geo_listen: SocketAddr,
    pub(crate) geo_public_url: Option<String>,
    pub(crate) admin_listen: Option<SocketAddr>,
    pub(crate) roles: Roles,
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// `None` if the listeners serve plain http.
    pub(crate) tls: Option<Tls>,
}

#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) redirect_listen: Option<SocketAddr>,
}

impl Server {
    /// The proxies whose forwarding headers are trusted.
    pub(crate) fn proxies(&self) -> Proxies {
        Proxies::new(self.trusted_proxies.clone())
    }

    /// The URL of the main listener as clients see it.
    pub(crate) fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| self.url(self.listen))
    }

    /// The URL of the geo listener as clients see it.
    pub(crate) fn geo_public_url(&self) -> String {
        self.geo_public_url.clone().unwrap_or_else(|| self.url(self.geo_listen))
    }

    fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) requests_per_minute: u32,
    pub(crate) map_requests_per_minute: u32,
    /// Requests of the web application per user; 0 is no limit.
    pub(crate) pages_per_minute: u32,
    /// `None` is no limit.
    pub(crate) search_timeout: Option<Duration>,
    /// Searches at once; 0 is no limit.
    pub(crate) searches_per_member: u32,
    pub(crate) searches_per_workspace: u32,
    pub(crate) geojson_bytes: u64,
    pub(crate) import_bytes: u64,
    pub(crate) tile_cache_bytes: u64,
    /// The time for a form, and the longest pause in a GeoJSON body.
    pub(crate) body_timeout: Duration,
    /// Bytes per second; 0 if there is no minimum.
    pub(crate) min_upload_rate: u64,
    pub(crate) uploads_per_token: u64,
    pub(crate) uploads: u64,
    pub(crate) connections_per_address: u64,
    pub(crate) connections: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Webhooks {
    pub(crate) allow_http: bool,
    pub(crate) allow_networks: Vec<IpNet>,
    pub(crate) extra_roots: Option<PathBuf>,
    pub(crate) encryption_key: Option<EncryptionKey>,
    /// A key that secrets may still be encrypted with.
    pub(crate) previous_encryption_key: Option<EncryptionKey>,
}

impl Webhooks {
    /// The URLs that endpoints can have.
    pub(crate) fn endpoint_policy(&self) -> EndpointPolicy {
        let addresses = AddressPolicy::new(self.allow_networks.clone());
        EndpointPolicy { allow_http: self.allow_http, addresses }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Ogc {
    /// Whether requests that change a feature must carry `If-Match`.
    pub(crate) require_if_match: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// How many days back the change feed reads; `None` for all.
    pub(crate) feed_days: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Security {
    /// How long the security log is kept; `None` for ever.
    pub(crate) log_retention: Option<Duration>,
    /// How many days tokens are valid at most.
    pub(crate) max_token_days: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Geo {
    /// The folder of grid files.
    pub(crate) grids: Option<PathBuf>,
}

impl Geo {
    /// The grid files in the folder.
    pub(crate) fn load_grid_files(&self) -> Result<GridFiles, SettingsError> {
        let Some(folder) = &self.grids else { return Ok(GridFiles::default()) };
        GridFiles::from_folder(folder).map_err(|error| {
            SettingsError::new("geo.grids", format!("cannot read {}: {error}", folder.display()))
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) style: Option<String>,
    /// The origins that the map may load from.
    pub(crate) hosts: Vec<String>,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text on a terminal, otherwise JSON.
    Auto,
    Text,
    Json,
}

/// A setting or a file that prevents the start, in one line that names it.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    /// The setting is unknown or its value is invalid.
    #[error("{name}: {reason}")]
    Setting { name: String, reason: String },
    /// The file cannot be read.
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
}

impl SettingsError {
    pub(crate) fn new(name: &str, reason: impl fmt::Display) -> Self {
        Self::Setting { name: name.to_owned(), reason: reason.to_string() }
    }
}

impl Settings {
    /// Loads the settings. `file` must exist if it is given; otherwise `groma.toml` is read if it
    /// exists. `flags` are dotted names with values.
    pub(crate) fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: &[(&str, String)],
    ) -> Result<Self, SettingsError> {
        validation::validate(sources::merged(file, environment, flags)?)
    }

    /// The settings with the addresses in use, which differ if a port is 0.
    pub(crate) fn bound(mut self, listen: Option<SocketAddr>, geo: Option<SocketAddr>) -> Self {
        self.server.listen = listen.unwrap_or(self.server.listen);
        self.server.geo_listen = geo.unwrap_or(self.server.geo_listen);
        self
    }
}
