//! Whether the file is the one that was opened, and how large it is.

use super::{Sqlite, applied_migrations, embedded, identity, sql};
use crate::{Error, Result, store::not_among, vitals::Vitals};
use groma_domain::Timestamp;

impl Sqlite {
    pub(crate) async fn lacking_migrations(&self) -> Result<Vec<String>> {
        // What is written to a file that was moved away, nobody finds again.
        if identity(&self.path).is_none_or(|now| now != self.identity) {
            return Err(Error::Replaced(self.path.display().to_string()));
        }
        let applied = self.read(|connection| applied_migrations(connection))?;
        Ok(not_among(&applied, &embedded::migrations::runner()))
    }

    pub(crate) fn vitals(&self) -> Vitals {
        let size = |path: String| std::fs::metadata(path).map_or(0, |file| file.len());
        let path = self.path.display();
        Vitals::Sqlite {
            file_bytes: size(path.to_string()),
            log_bytes: size(format!("{path}-wal")),
        }
    }

    pub(crate) async fn open_sessions(&self, now: Timestamp) -> Result<u64> {
        let count: i64 = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::COUNT_SESSIONS)?;
            Ok(statement.query_row([now.as_millis()], |row| row.get(0))?)
        })?;
        Ok(count.unsigned_abs())
    }
}
