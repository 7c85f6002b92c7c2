//! The settings in the JSON report: their effective values, and of secrets only whether they are set.

use crate::settings::{LogFormat, OidcProvider, Settings};
use ipnet::IpNet;
use serde_json::{Map, Value, json};

/// All settings by their dotted names, except for the URL of the database, which the report has elsewhere.
pub(super) fn report(settings: &Settings) -> Value {
    let Settings { service, limits, ogc, changes, security, geo, map, .. } = settings;
    let mut report = object(json!({
        "service.name": service.header_name(),
        "service.token_prefix": service.token_prefix.as_str(),
        "limits.requests_per_minute": limits.requests_per_minute,
        "limits.map_requests_per_minute": limits.map_requests_per_minute,
        "limits.pages_per_minute": limits.pages_per_minute,
        "limits.search_millis": limits.search_timeout.map_or(0, |timeout| timeout.as_millis()),
        "limits.searches_per_member": limits.searches_per_member,
        "limits.searches_per_workspace": limits.searches_per_workspace,
        "limits.geojson_bytes": limits.geojson_bytes,
        "limits.import_bytes": limits.import_bytes,
        "limits.tile_cache_bytes": limits.tile_cache_bytes,
        "limits.body_seconds": limits.body_timeout.as_secs(),
        "limits.min_upload_rate": limits.min_upload_rate,
        "limits.uploads_per_token": limits.uploads_per_token,
        "limits.uploads": limits.uploads,
        "limits.connections_per_address": limits.connections_per_address,
        "limits.connections": limits.connections,
        "ogc.require_if_match": ogc.require_if_match,
        "changes.feed_days": changes.feed_days.unwrap_or(0),
        "security.log_days": security.log_retention.map_or(0, |time| time.as_secs() / 86_400),
        "security.max_token_days": security.max_token_days.unwrap_or(0),
        "geo.grids": geo.grids,
        "map.style": map.style,
        "map.hosts": map.hosts,
        "log.format": match settings.log {
            LogFormat::Auto => "auto",
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        },
    }));
    report.extend(server(settings));
    report.extend(webhooks(settings));
    report.extend(smtp(settings));
    report.extend(settings.oidc.iter().flat_map(provider));
    Value::Object(report)
}

fn server(settings: &Settings) -> Map<String, Value> {
    let server = &settings.server;
    let redirect = server.tls.as_ref().and_then(|tls| tls.redirect_listen);
    object(json!({
        "server.listen": server.listen.to_string(),
        "server.public_url": server.public_url(),
        "server.geo_listen": server.geo_listen.to_string(),
        "server.geo_public_url": server.geo_public_url(),
        "server.admin_listen": server.admin_listen.map(|address| address.to_string()),
        "server.roles": server.roles.to_string(),
        "server.trusted_proxies": texts(&server.trusted_proxies),
        "server.tls.certificate": server.tls.as_ref().map(|tls| &tls.certificate),
        "server.tls.key": server.tls.as_ref().map(|tls| &tls.key),
        "server.tls.redirect_listen": redirect.map(|address| address.to_string()),
    }))
}

fn webhooks(settings: &Settings) -> Map<String, Value> {
    let webhooks = &settings.webhooks;
    object(json!({
        "webhooks.allow_http": webhooks.allow_http,
        "webhooks.allow_networks": texts(&webhooks.allow_networks),
        "webhooks.extra_roots": webhooks.extra_roots,
        "webhooks.encryption_key": secret(webhooks.encryption_key.is_some()),
        "webhooks.previous_encryption_key": secret(webhooks.previous_encryption_key.is_some()),
    }))
}

fn smtp(settings: &Settings) -> Map<String, Value> {
    let smtp = settings.smtp.as_ref();
    let credentials = smtp.and_then(|smtp| smtp.credentials.as_ref());
    object(json!({
        "smtp.host": smtp.map(|smtp| &smtp.host),
        "smtp.port": smtp.map(|smtp| smtp.port),
        "smtp.encryption": smtp.map(|smtp| smtp.encryption.name()),
        "smtp.allow_unencrypted": smtp.map(|smtp| smtp.allow_unencrypted),
        "smtp.username": credentials.map(|credentials| &credentials.username),
        "smtp.password": secret(credentials.is_some()),
        "smtp.from": smtp.map(|smtp| smtp.from.to_string()),
        "smtp.extra_roots": smtp.and_then(|smtp| smtp.extra_roots.as_ref()),
    }))
}

fn provider(provider: &OidcProvider) -> Map<String, Value> {
    let membership = provider.membership.as_ref();
    let group = |(group, role): &(String, groma_domain::Role)| format!("{group}={}", role.name());
    let groups = membership.map(|of| of.groups.iter().map(group).collect::<Vec<_>>());
    let values = object(json!({
        "label": provider.label,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "client_secret": secret(provider.client_secret.is_some()),
        "scopes": provider.scopes,
        "extra_roots": provider.extra_roots,
        "enforces_second_factor": provider.enforces_second_factor,
        "workspace": membership.map(|membership| &membership.workspace),
        "domains": membership.map(|membership| &membership.domains),
        "role": membership.map(|membership| membership.role.name()),
        "groups": groups,
        "groups_claim": membership.map(|membership| &membership.groups_claim),
    }));
    let name = |setting: String| format!("oidc.{}.{setting}", provider.name);
    values.into_iter().map(|(setting, value)| (name(setting), value)).collect()
}

fn secret(is_set: bool) -> &'static str {
    if is_set { "set" } else { "not set" }
}

fn texts(networks: &[IpNet]) -> Vec<String> {
    networks.iter().map(ToString::to_string).collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
