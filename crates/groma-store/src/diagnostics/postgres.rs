//! Settings of a PostgreSQL server.

use super::ServerInfo;
use crate::{
    Result,
    engine::{
        postgres::{Postgres, now_millis},
        statements,
    },
};

statements! {
    SERVER_INFO = concat!("SELECT current_setting('server_version_num')::int, current_setting('max_connections')::int,
        current_setting('fsync')::boolean, current_setting('synchronous_commit') <> 'off',
        current_setting('is_superuser')::boolean, ", now_millis!(), ",
        (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl)");
    EXTENSIONS = "SELECT n.name, e.extversion, a.default_version
        FROM unnest(ARRAY['postgis', 'pg_trgm', 'btree_gin']) n (name)
        LEFT JOIN pg_extension e ON e.extname = n.name
        LEFT JOIN pg_available_extensions a ON a.name = n.name";
}

pub(super) async fn server_info(url: &str) -> Result<ServerInfo> {
    let engine = Postgres::connect(url)?;
    let client = engine.first_client().await?;
    let extensions = client.query(EXTENSIONS, &[]).await?;
    let extensions = extensions
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
        .collect::<Result<_, tokio_postgres::Error>>()?;
    // Last, so that the clock is current.
    let row = client.query_one(SERVER_INFO, &[]).await?;
    Ok(ServerInfo {
        version: row.try_get(0)?,
        max_connections: row.try_get(1)?,
        fsync: row.try_get(2)?,
        synchronous_commit: row.try_get(3)?,
        is_superuser: row.try_get(4)?,
        clock_millis: row.try_get(5)?,
        tls_version: row.try_get(6)?,
        encryption: engine.server().encryption(),
        is_local: engine.server().is_local(),
        extensions,
    })
}
