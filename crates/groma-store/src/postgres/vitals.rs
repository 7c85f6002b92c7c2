//! What PostgreSQL says of itself, and how busy the connections to it are.

use super::{Postgres, applied_migrations, embedded, sql, startup::check_server};
use crate::{
    Result,
    store::not_among,
    vitals::{ServerFacts, Vitals},
};
use groma_domain::Timestamp;

impl Postgres {
    pub(crate) async fn lacking_migrations(&self) -> Result<Vec<String>> {
        let asked = async {
            let client = self.client().await?;
            applied_migrations(&client).await
        };
        let applied = self.within_reach(asked).await?;
        Ok(not_among(&applied, &embedded::migrations::runner()))
    }

    pub(crate) fn vitals(&self) -> Vitals {
        let status = self.pool.status();
        Vitals::Postgres {
            busy: status.size.saturating_sub(status.available),
            idle: status.available,
            most: status.max_size,
            waiting: status.waiting,
        }
    }

    pub(crate) async fn open_sessions(&self, now: Timestamp) -> Result<u64> {
        let rows = self.rows(sql::COUNT_SESSIONS, &[&now.as_millis()]).await?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        Ok(count.unsigned_abs())
    }
}

/// What the server at an address says of itself.
pub(crate) async fn server_facts(url: &str) -> Result<ServerFacts> {
    let store = Postgres::connect(url)?;
    let client = store.first_client().await?;
    check_server(&client).await?;
    let extensions = client.query(sql::EXTENSIONS, &[]).await?;
    let extensions = extensions
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
        .collect::<Result<_, tokio_postgres::Error>>()?;
    // Last, so that the clock is the one of now.
    let row = client.query_one(sql::SERVER_FACTS, &[]).await?;
    Ok(ServerFacts {
        version: row.try_get(0)?,
        max_connections: row.try_get(1)?,
        fsync: row.try_get(2)?,
        synchronous_commit: row.try_get(3)?,
        is_superuser: row.try_get(4)?,
        clock_millis: row.try_get(5)?,
        extensions,
    })
}
