//! Lists as people look at them, and the trail of what happened, read from PostgreSQL.

use super::{
    Postgres,
    read::{escape_like, generation},
    sql,
    statements::int,
};
use crate::{
    Browse, Browsed, ChangeRow, Count, Result,
    browse::{Bound, Dialect, MANY, Plan, can_match, counted},
    tx::kind_number,
};
use groma_domain::{Kind, PersonId, Timestamp, WorkspaceId, record};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

impl Postgres {
    pub(crate) async fn browse(&self, workspace: WorkspaceId, browse: Browse) -> Result<Browsed> {
        let nothing = Browsed { documents: Vec::new(), count: Count::Exactly(0), reach: 0 };
        let wanted = match &browse.term {
            None => None,
            Some(term) if !can_match(term) => return Ok(nothing),
            Some(term) if term.as_str().chars().count() < 3 => Some(term.as_str().to_owned()),
            Some(term) => Some(format!("%{}%", escape_like(term.as_str()))),
        };
        let plan = Plan::new(&browse, Dialect::Postgres, wanted);
        let is_cut = match &plan.hits {
            Some((sql, values, looked_at)) => {
                self.number(sql, workspace, values).await? > *looked_at
            }
            None => false,
        };
        let mut count = match plan.is_all {
            true => Count::Exactly(self.total(workspace, browse.kind).await?),
            false => counted(self.number(&plan.count, workspace, &plan.values).await?, is_cut),
        };
        if let (Count::MoreThan(_), Some(complement)) = (count, &plan.complement) {
            let others = self.number(complement, workspace, &plan.values).await?;
            if others <= MANY {
                let total = self.total(workspace, browse.kind).await?;
                count = Count::Exactly(total.saturating_sub(others));
            }
        }
        let reach = plan.reach(count);
        let left = reach.saturating_sub(browse.skip).min(browse.limit.into());
        let mut documents = Vec::new();
        if left > 0 {
            let mut values = bound(workspace, &plan.values);
            values.extend([Box::new(int(left)) as Value, Box::new(int(browse.skip))]);
            // Read before the records, so that whoever they name is in it.
            let is_few = matches!(count, Count::Exactly(count) if count <= MANY);
            let sql = if is_few { &plan.few } else { &plan.many };
            let rows = self.rows(sql, &refs(&values)).await?;
            let now = self.rows(sql::PEOPLE_GENERATION, &[&workspace.0]).await?;
            let now = now.first().map_or(Ok(0), |row| generation(row, 0))?;
            let book = self.people(workspace, now).await?;
            for row in &rows {
                let mut document = Vec::new();
                record::render(row.try_get(0)?, row.try_get(1)?, &book, &mut document);
                documents.push(document);
            }
        }
        Ok(Browsed { documents, count, reach })
    }

    async fn number(&self, sql: &str, workspace: WorkspaceId, values: &[Bound]) -> Result<u64> {
        let rows = self.rows(sql, &refs(&bound(workspace, values))).await?;
        rows.first().map_or(Ok(0), |row| generation(row, 0))
    }

    async fn total(&self, workspace: WorkspaceId, kind: Kind) -> Result<u64> {
        let totals = self.totals(workspace).await?;
        Ok(totals[usize::try_from(kind_number(kind)).unwrap_or_default()])
    }

    pub(crate) async fn totals(&self, workspace: WorkspaceId) -> Result<[u64; 4]> {
        let mut totals = [0; 4];
        for row in self.rows(sql::TOTALS, &[&workspace.0]).await? {
            let kind = usize::try_from(row.try_get::<_, i16>(0)?).unwrap_or(usize::MAX);
            if let Some(total) = totals.get_mut(kind) {
                *total = generation(&row, 1)?;
            }
        }
        Ok(totals)
    }

    pub(crate) async fn activity(
        &self,
        workspace: WorkspaceId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        let rows = self.rows(sql::ACTIVITY, &[&workspace.0, &before, &i64::from(limit)]).await?;
        rows.iter().map(read_change).collect()
    }

    pub(crate) async fn activity_of(
        &self,
        workspace: WorkspaceId,
        subjects: Vec<Uuid>,
        before: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        let values: [&(dyn ToSql + Sync); 4] =
            [&workspace.0, &subjects, &before, &i64::from(limit)];
        self.rows(sql::ACTIVITY_OF, &values).await?.iter().map(read_change).collect()
    }
}

pub(super) fn read_change(row: &Row) -> Result<ChangeRow> {
    Ok(ChangeRow {
        id: row.try_get(0)?,
        at: Timestamp::from_millis(row.try_get(1)?),
        actor: row.try_get::<_, Option<Uuid>>(2)?.map(PersonId),
        action: row.try_get(3)?,
        subject: row.try_get(4)?,
        before: row.try_get(5)?,
        after: row.try_get(6)?,
    })
}

type Value = Box<dyn ToSql + Sync + Send>;

/// Values as PostgreSQL takes them, the workspace first.
fn bound(workspace: WorkspaceId, values: &[Bound]) -> Vec<Value> {
    let value = |value: &Bound| -> Value {
        match value {
            Bound::Id(id) => Box::new(*id),
            Bound::Ids(ids) => Box::new(ids.clone()),
            Bound::Text(text) => Box::new(text.clone()),
        }
    };
    let first: Value = Box::new(workspace.0);
    std::iter::once(first).chain(values.iter().map(value)).collect()
}

fn refs(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
}
