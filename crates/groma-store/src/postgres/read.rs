//! What is read from PostgreSQL.

use super::{
    Postgres,
    browse::read_change,
    rows::{read_member, read_workspace},
    sql::{self, KindSql},
    statements::int,
};
use crate::{
    ChangeRow, Document, Error, Exported, Page, Result, TokenRow, replays::REPLAYED_FOR_MILLIS,
    tx::kind_number,
};
use bytes::Bytes;
use deadpool_postgres::Client;
use groma_domain::{
    Email, Kind, ListParams, PersonId, SearchTerm, Timestamp, TokenId, WorkspaceId,
    record::{self, PersonDirectory},
    reference::Key,
    scope::Scopes,
    workspace::Workspace,
};
use std::sync::Arc;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

/// How many rows go in one step when a workspace is deleted.
const PURGE: i64 = 5_000;

/// How often a page is tried by the counts before it is read by walking.
const TRIES: u32 = 20;

impl Postgres {
    pub(crate) async fn ping(&self) -> Result<()> {
        self.rows(sql::PING, &[]).await.map(drop)
    }

    pub(crate) async fn settle(&self, now: Timestamp) -> Result<()> {
        let (tokens, moments): (Vec<Uuid>, Vec<i64>) =
            self.last_uses.take().into_iter().map(|(token, at)| (token.0, at.as_millis())).unzip();
        if !tokens.is_empty() {
            self.execute(sql::TOKENS_USED, &[&tokens, &moments]).await?;
        }
        let old = now.as_millis() - REPLAYED_FOR_MILLIS;
        self.execute(sql::FORGET_REPLAYS, &[&old]).await?;
        self.execute(sql::PRUNE_RATES, &[]).await.map(drop)
    }

    pub(crate) async fn get(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<Document>> {
        let sql = KindSql::of(kind);
        let rows = match key {
            Key::Id(id) => self.few_rows(&sql.shown_by_id, &[&workspace.0, &id.0]).await?,
            Key::Reference(reference) => {
                self.few_rows(&sql.shown_by_reference, &[&workspace.0, &reference.as_str()]).await?
            }
        };
        let Some(row) = rows.first() else { return Ok(None) };
        let (json, people): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
        if people.is_empty() {
            let text = Bytes::copy_from_slice(json);
            return Ok(Some(Document { text, edition: None }));
        }
        let book = self.people(workspace, generation(row, 2)?).await?;
        let mut out = Vec::with_capacity(json.len() + 256);
        record::render(json, people, &book, &mut out);
        Ok(Some(Document { text: out.into(), edition: None }))
    }

    pub(crate) async fn list(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        params: &ListParams,
        body: Vec<u8>,
    ) -> Result<Page> {
        match &params.term {
            None => self.page(workspace, kind, params.offset(), params.limit, body).await,
            Some(term) => {
                self.search(workspace, kind, term, params.offset(), params.limit, body).await
            }
        }
    }

    async fn page(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        skip: u64,
        limit: u32,
        mut body: Vec<u8>,
    ) -> Result<Page> {
        for attempt in 0.. {
            let counts = self.blocks.of(workspace, kind);
            let (known, located) = {
                let counts = counts.lock();
                (counts.generation, counts.locate(skip))
            };
            let walk = attempt == TRIES;
            let (first, rest, limit) = match located {
                _ if walk => (0, skip, limit),
                Some((first, rest)) => (first, rest, limit),
                // Past the end, if the counts are right: only the total is wanted.
                None => (0, 0, 0),
            };
            let page =
                [&workspace.0 as &(dyn ToSql + Sync), &int(first), &i64::from(limit), &int(rest)];
            let sql = &KindSql::of(kind).page;
            let rows =
                if walk { self.rows(sql, &page).await? } else { self.few_rows(sql, &page).await? };
            let Some(row) = rows.first() else { return Ok(Page { body, total: 0, edition: None }) };
            if generation(row, 1)? == known || walk {
                let total = generation(row, 0)?;
                let book = self.people(workspace, generation(row, 2)?).await?;
                append(&rows, 3, &book, &mut body)?;
                return Ok(Page { body, total, edition: None });
            }
            self.refresh_counts(workspace, kind, known).await?;
        }
        Err(Error::Closed)
    }

    /// Brings the counts of a collection up to date with the database.
    async fn refresh_counts(&self, workspace: WorkspaceId, kind: Kind, known: u64) -> Result<()> {
        let rows =
            self.rows(sql::BLOCKS_SINCE, &[&workspace.0, &kind_number(kind), &int(known)]).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let newest = generation(row, 0)?;
        let counts = self.blocks.of(workspace, kind);
        let mut counts = counts.lock();
        // Another request may have come first; what changed since `known` covers what it saw or not.
        if counts.generation > known {
            return Ok(());
        }
        for row in &rows {
            if let Some(block) = row.try_get::<_, Option<i64>>(1)? {
                let live: i64 = row.try_get(2)?;
                counts.set(
                    usize::try_from(block).unwrap_or_default(),
                    u8::try_from(live).unwrap_or_default(),
                );
            }
        }
        counts.generation = newest;
        Ok(())
    }

    async fn search(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        term: &SearchTerm,
        skip: u64,
        limit: u32,
        mut body: Vec<u8>,
    ) -> Result<Page> {
        if !term.can_match() {
            return Ok(Page { body, total: 0, edition: None });
        }
        let sql = KindSql::of(kind);
        let (sql, wanted) = if term.as_str().chars().count() < 3 {
            (&sql.short_hits, term.as_str().to_owned())
        } else {
            (&sql.hits, format!("%{}%", escape_like(term.as_str())))
        };
        let rows = self.rows(sql, &[&workspace.0, &wanted, &i64::from(limit), &int(skip)]).await?;
        let Some(row) = rows.first() else { return Ok(Page { body, total: 0, edition: None }) };
        let total = generation(row, 0)?;
        let book = self.people(workspace, generation(row, 1)?).await?;
        append(&rows, 2, &book, &mut body)?;
        Ok(Page { body, total, edition: None })
    }

    pub(crate) async fn statuses(&self, workspace: WorkspaceId) -> Result<Vec<Vec<u8>>> {
        let rows = self.rows(sql::STATUSES, &[&workspace.0]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    pub(crate) async fn export(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Exported>> {
        let params = [&workspace.0 as &(dyn ToSql + Sync), &int(after), &i64::from(limit)];
        let rows = self.rows(&KindSql::of(kind).export, &params).await?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let book = self.people(workspace, generation(row, 3)?).await?;
        rows.iter()
            .map(|row| {
                let mut json = Vec::new();
                record::render(row.try_get(1)?, row.try_get(2)?, &book, &mut json);
                Ok(Exported { seq: generation(row, 0)?, json })
            })
            .collect()
    }

    pub(crate) async fn changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        let rows = self.rows(sql::CHANGES, &[&workspace.0, &after, &i64::from(limit)]).await?;
        rows.iter().map(read_change).collect()
    }

    pub(crate) async fn workspaces(&self) -> Result<Vec<Workspace>> {
        self.rows(sql::WORKSPACES, &[]).await?.iter().map(read_workspace).collect()
    }

    pub(crate) async fn has_user(&self, email: &Email) -> Result<bool> {
        Ok(!self.rows(sql::USER_BY_EMAIL, &[&email.key()]).await?.is_empty())
    }

    pub(crate) async fn tokens(&self, workspace: Option<WorkspaceId>) -> Result<Vec<TokenRow>> {
        let rows = self.rows(sql::TOKENS, &[&workspace.map(|workspace| workspace.0)]).await?;
        rows.iter()
            .map(|row| {
                Ok(TokenRow {
                    id: TokenId(row.try_get(0)?),
                    workspace: row.try_get(1)?,
                    name: row.try_get(2)?,
                    owner: row.try_get(3)?,
                    scopes: Scopes::parse(row.try_get(4)?).map_err(Error::Damaged)?,
                    created_at: Timestamp::from_millis(row.try_get(5)?),
                    expires_at: moment(row, 6)?,
                    revoked_at: moment(row, 7)?,
                    last_used_at: moment(row, 8)?,
                    person: PersonId(row.try_get(9)?),
                    owner_name: row.try_get(10)?,
                    hint: row.try_get(11)?,
                })
            })
            .collect()
    }

    pub(crate) async fn token_workspace(&self, token: TokenId) -> Result<Option<WorkspaceId>> {
        let rows = self.rows(sql::TOKEN_WORKSPACE, &[&token.0]).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?.map(WorkspaceId))
    }

    pub(crate) async fn delete_workspace(&self, workspace: WorkspaceId) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        // First of all: a change under way ends before, and leaves nothing that is overlooked.
        transaction.execute(sql::LOCK_WORKSPACE, &[&workspace.0]).await?;
        for statement in [
            sql::DELETE_RATES,
            sql::DELETE_TOKENS,
            sql::DELETE_INVITATIONS,
            sql::DELETE_PEOPLE,
            sql::DELETE_STATUSES,
            sql::DELETE_COLLECTIONS,
            sql::REMOVE_ENDPOINTS,
            sql::DELETE_WORKSPACE,
        ] {
            transaction.execute(statement, &[&workspace.0]).await?;
        }
        transaction.commit().await?;
        drop(client);
        while self.purge_deleted_endpoints().await? > 0 {}
        let records = Kind::ALL.iter().map(|kind| KindSql::of(*kind).remove_some.as_str());
        for statement in records.chain([sql::DELETE_SOME_BLOCKS, sql::DELETE_SOME_CHANGES]) {
            while self.execute(statement, &[&workspace.0, &PURGE]).await? > 0 {}
        }
        Ok(())
    }

    /// The people of a workspace, at least as new as `wanted`.
    pub(super) async fn people(
        &self,
        workspace: WorkspaceId,
        wanted: u64,
    ) -> Result<Arc<PersonDirectory>> {
        if let Some(book) = self.people.get(workspace, wanted) {
            return Ok(book);
        }
        let rows = self.rows(sql::PEOPLE, &[&workspace.0]).await?;
        let read = rows.first().map_or(Ok(wanted), |row| generation(row, 5))?;
        let people = rows.iter().map(|row| read_member(row).map(|member| member.person));
        let book = people.collect::<Result<PersonDirectory>>()?;
        Ok(self.people.put(workspace, read, book))
    }

    pub(super) async fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let asked = async { query(&self.client().await?, sql, params).await };
        self.within_reach(asked).await
    }

    /// The same for rows that are found in no time.
    async fn few_rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let asked = async { query(&*self.shared().await?, sql, params).await };
        self.within_reach(asked).await
    }

    pub(super) async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let done = async {
            let client = self.client().await?;
            let statement = client.prepare_cached(sql).await?;
            Ok(client.execute(&statement, params).await?)
        };
        self.within_reach(done).await
    }
}

async fn query(client: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query(&statement, params).await?)
}

/// Appends the documents of rows that have one (an empty page comes as one row without).
fn append(rows: &[Row], column: usize, book: &PersonDirectory, body: &mut Vec<u8>) -> Result<()> {
    let mut is_first = true;
    for row in rows {
        let Some(json) = row.try_get::<_, Option<&[u8]>>(column)? else { continue };
        if !is_first {
            body.push(b',');
        }
        is_first = false;
        record::render(json, row.try_get(column + 1)?, book, body);
    }
    Ok(())
}

pub(super) fn generation(row: &Row, column: usize) -> Result<u64> {
    Ok(row.try_get::<_, i64>(column)?.unsigned_abs())
}

fn moment(row: &Row, column: usize) -> Result<Option<Timestamp>> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

pub(super) fn escape_like(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '%' | '_') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
