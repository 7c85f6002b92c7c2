//! Lists as people look at them, and the trail of what happened, read from SQLite.

use super::{
    Sqlite,
    read::{bytes, match_expression},
    readers::State,
    sql,
    tx::int,
};
use crate::{
    Browse, Browsed, ChangeRow, Count, Result,
    browse::{Bound, Dialect, MANY, Plan, can_match, counted},
    tx::kind_number,
};
use groma_domain::{Kind, PersonId, Timestamp, WorkspaceId, record};
use rusqlite::{Connection, params, types::Value};
use std::sync::Arc;
use uuid::Uuid;

impl Sqlite {
    pub(crate) async fn browse(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        browse: Browse,
    ) -> Result<Browsed> {
        self.read_long(move |store| {
            store.read(|connection| store.read_browse(connection, workspace, &browse))
        })
        .await
    }

    fn read_browse(
        &self,
        connection: &State,
        workspace: WorkspaceId,
        browse: &Browse,
    ) -> Result<Browsed> {
        let nothing = Browsed { documents: Vec::new(), count: Count::Exactly(0), reach: 0 };
        let Some(ws) = self.number(connection, workspace)? else { return Ok(nothing) };
        let wanted = match &browse.term {
            None => None,
            Some(term) if !can_match(term) => return Ok(nothing),
            Some(term) => match match_expression(connection, browse.kind, term)? {
                None => return Ok(nothing),
                wanted => wanted,
            },
        };
        let plan = Plan::new(browse, Dialect::Sqlite, wanted);
        let number = |sql: &str, values: &[Bound]| -> Result<u64> {
            let values = rusqlite::params_from_iter(bound(ws, values));
            let count: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
            Ok(count.unsigned_abs())
        };
        let is_cut = match &plan.hits {
            Some((sql, values, looked_at)) => number(sql, values)? > *looked_at,
            None => false,
        };
        let mut count = match plan.is_all {
            true => Count::Exactly(self.total(connection, ws, browse.kind)?),
            false => counted(number(&plan.count, &plan.values)?, is_cut),
        };
        if let (Count::MoreThan(_), Some(complement)) = (count, &plan.complement) {
            let others = number(complement, &plan.values)?;
            if others <= MANY {
                let total = self.total(connection, ws, browse.kind)?;
                count = Count::Exactly(total.saturating_sub(others));
            }
        }
        let reach = plan.reach(count);
        let left = reach.saturating_sub(browse.skip).min(browse.limit.into());
        let mut documents = Vec::new();
        if left > 0 {
            let is_few = matches!(count, Count::Exactly(count) if count <= MANY);
            let sql = if is_few { &plan.few } else { &plan.many };
            let mut values = bound(ws, &plan.values);
            values.extend([Value::Integer(int(left)), Value::Integer(int(browse.skip))]);
            let book = self.people(connection, workspace, ws, connection.people_generation(ws)?)?;
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                let mut document = Vec::new();
                record::render(bytes(row, 0)?, bytes(row, 1)?, &book, &mut document);
                documents.push(document);
            }
        }
        Ok(Browsed { documents, count, reach })
    }

    fn total(&self, connection: &Connection, ws: i64, kind: Kind) -> Result<u64> {
        Ok(read_totals(connection, ws)?[usize::try_from(kind_number(kind)).unwrap_or_default()])
    }

    pub(crate) async fn totals(&self, workspace: WorkspaceId) -> Result<[u64; 4]> {
        self.read(|connection| match self.number(connection, workspace)? {
            Some(ws) => read_totals(connection, ws),
            None => Ok([0; 4]),
        })
    }

    pub(crate) async fn activity(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(Vec::new()) };
                let mut statement = connection.prepare_cached(sql::ACTIVITY)?;
                let rows = statement.query_map(params![ws, before, limit], read_change)?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
        .await
    }

    pub(crate) async fn activity_of(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        subjects: Vec<Uuid>,
        before: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(Vec::new()) };
                let mut statement = connection.prepare_cached(sql::ACTIVITY_OF)?;
                let values = params![ws, hex_list(&subjects), before, limit];
                let rows = statement.query_map(values, read_change)?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
        .await
    }
}

fn read_totals(connection: &Connection, ws: i64) -> Result<[u64; 4]> {
    let mut totals = [0; 4];
    let mut statement = connection.prepare_cached(sql::TOTALS)?;
    let mut rows = statement.query([ws])?;
    while let Some(row) = rows.next()? {
        if let Some(total) = totals.get_mut(usize::from(row.get::<_, u8>(0)?)) {
            *total = row.get::<_, i64>(1)?.unsigned_abs();
        }
    }
    Ok(totals)
}

pub(super) fn read_change(row: &rusqlite::Row<'_>) -> rusqlite::Result<ChangeRow> {
    Ok(ChangeRow {
        id: row.get(0)?,
        at: Timestamp::from_millis(row.get(1)?),
        actor: row.get::<_, Option<Uuid>>(2)?.map(PersonId),
        action: row.get(3)?,
        subject: row.get(4)?,
        before: row.get(5)?,
        after: row.get(6)?,
    })
}

/// Values as SQLite takes them, the workspace first.
fn bound(ws: i64, values: &[Bound]) -> Vec<Value> {
    let value = |value: &Bound| match value {
        Bound::Id(id) => Value::Blob(id.as_bytes().to_vec()),
        Bound::Ids(ids) => Value::Text(hex_list(ids)),
        Bound::Text(text) => Value::Text(text.clone()),
    };
    std::iter::once(Value::Integer(ws)).chain(values.iter().map(value)).collect()
}

/// Ids as a JSON array of hexadecimal texts, which `unhex` makes blobs of.
fn hex_list(ids: &[Uuid]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("\"{}\"", id.simple())).collect();
    format!("[{}]", ids.join(","))
}
