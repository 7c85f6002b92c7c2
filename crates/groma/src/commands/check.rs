//! `groma check`: settings, database, migrations. It looks, and changes nothing.

use super::{Failure, print};
use crate::settings::Settings;
use groma_store::{DatabaseUrl, Store};
use serde_json::json;

pub(super) async fn run(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let (engine, at) = match &settings.database {
        DatabaseUrl::Sqlite(path) => ("SQLite", path.display().to_string()),
        DatabaseUrl::Postgres(url) => ("PostgreSQL", without_password(url)),
    };
    let pending = Store::pending_migrations(&settings.database).await?;
    if !pending.is_empty() {
        let pending = pending.join(", ");
        return Err(Failure::new(format!(
            "migrations pending: {pending}; `groma serve` runs them"
        )));
    }
    let store = Store::open_existing(&settings.database).await?;
    store.set_seal_key(settings.webhooks.encryption_key.clone());
    store.ping().await?;
    let secrets = store.secrets_state().await?;
    let workspaces = store.workspaces().await?.len();
    let webhooks = &settings.webhooks;
    if as_json {
        let networks: Vec<_> = webhooks.allow_networks.iter().map(ToString::to_string).collect();
        let report = json!({
            "settings": {
                "service.name": settings.service.name,
                "service.token_prefix": settings.service.token_prefix.as_str(),
                "server.listen": settings.server.listen.to_string(),
                "server.public_url": settings.server.public_url(),
                "server.geo_listen": settings.server.geo_listen.to_string(),
                "server.geo_public_url": settings.server.geo_public_url(),
                "server.admin_listen": settings.server.admin_listen.map(|at| at.to_string()),
                "limits.requests_per_minute": settings.limits.requests_per_minute,
                "limits.geojson_bytes": settings.limits.geojson_bytes,
                "limits.tile_cache_bytes": settings.limits.tile_cache_bytes,
                "webhooks.allow_http": webhooks.allow_http,
                "webhooks.allow_networks": networks,
                "webhooks.encryption_key": if secrets.has_key { "set" } else { "not set" },
            },
            "database": { "engine": engine, "at": at, "migrations": "up to date" },
            "workspaces": workspaces,
            "webhookSecrets": { "open": secrets.plain, "sealed": secrets.sealed,
                "unreadable": secrets.unreadable },
        });
        return print(&report.to_string());
    }
    print("settings    fine")?;
    print(&format!("database    {engine} at {at}: reached"))?;
    print("migrations  up to date")?;
    print(&format!("workspaces  {workspaces}"))?;
    if webhooks.allow_http || !webhooks.allow_networks.is_empty() {
        print("note        webhooks may reach http or private addresses, as the settings say")?;
    }
    if secrets.unreadable > 0 {
        return Err(Failure::new(format!(
            "{} webhook secrets do not open with webhooks.encryption_key",
            secrets.unreadable
        )));
    }
    if !secrets.has_key {
        print(
            "note        webhooks.encryption_key is not set: webhook secrets lie open in the database",
        )?;
    } else if secrets.plain > 0 {
        let plain = secrets.plain;
        print(&format!(
            "note        {plain} webhook secrets lie open; `groma webhook encrypt` seals them"
        ))?;
    }
    Ok(())
}

/// The address with its password left out.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
        }
        None => url.to_owned(),
    }
}
