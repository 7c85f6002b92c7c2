//! What is read from SQLite.

use super::{
    Sqlite,
    browse::read_change,
    bundles,
    sql::{self, KindSql},
    tx::{damaged, int, place, places, read_member, read_workspace, seq},
};
use crate::{
    Admission, Bearer, ChangeRow, Document, Error, Exported, Page, Result, TokenRow,
    replays::REPLAYED_FOR_MILLIS, tx::kind_number,
};
use groma_domain::{
    Email, Kind, ListParams, PersonId, Role, SearchTerm, Timestamp, TokenId, WorkspaceId,
    record::{self, PersonDirectory},
    reference::Key,
    scope::Scopes,
    text::FIELD_SEPARATOR,
    token::{PresentedToken, TokenHash},
    workspace::Workspace,
};
use rusqlite::{Connection, OptionalExtension, Rows, params};
use std::sync::Arc;

/// How many rows go in one step when a workspace is deleted.
const PURGE: u32 = 2_000;

impl Sqlite {
    pub(crate) async fn ping(&self) -> Result<()> {
        self.read(|connection| {
            Ok(connection.prepare_cached(sql::PING)?.query_row([], |_| Ok(()))?)
        })
    }

    pub(crate) fn admit(
        &self,
        token: PresentedToken<'_>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Admission> {
        let bearer = match self.tokens.get(token) {
            Some(bearer) => bearer,
            None => {
                let (mark, hash) = (self.tokens.mark(), token.hash());
                let Some(bearer) = self.read(|connection| read_bearer(connection, &hash))? else {
                    return Ok(Admission::Unknown);
                };
                let bearer = Arc::new(bearer);
                self.tokens.put(mark, token, bearer.clone());
                bearer
            }
        };
        if bearer.expires_at.is_some_and(|end| end <= now) {
            return Ok(Admission::Expired);
        }
        let rate = self.rates.admit(bearer.token, limit);
        if rate.is_none_or(|rate| rate.accepted) {
            self.last_uses.note(bearer.token, now);
        }
        Ok(Admission::Known { bearer, rate })
    }

    pub(crate) async fn settle(&self, now: Timestamp) -> Result<()> {
        self.rates.prune();
        let uses = self.last_uses.take();
        let old = now.as_millis() - REPLAYED_FOR_MILLIS;
        let has_old = self.read(|connection| {
            Ok(connection.prepare_cached(sql::HAS_OLD_REPLAYS)?.exists([old])?)
        })?;
        if uses.is_empty() && !has_old {
            return Ok(());
        }
        let write = move |connection: &mut Connection| {
            let mut statement = connection.prepare_cached(sql::TOKEN_USED)?;
            for (token, at) in &uses {
                statement.execute(params![token.0, at.as_millis()])?;
            }
            connection.prepare_cached(sql::FORGET_REPLAYS)?.execute([old])?;
            Ok(())
        };
        self.writer.write(write).await
    }

    /// Writes down where tokens stand in their rate windows.
    pub(crate) async fn write_rates(&self) -> Result<()> {
        let written = self.rates.written();
        let write = move |connection: &mut Connection| {
            connection.prepare_cached(sql::FORGET_RATE_WINDOWS)?.execute([])?;
            let mut statement = connection.prepare_cached(sql::SAVE_RATE_WINDOW)?;
            for (token, moments) in &written {
                statement.execute(params![token.0, moments])?;
            }
            Ok(())
        };
        self.writer.write(write).await
    }

    /// Takes up the rate windows that the last program has written down. They stay: should this one
    /// not end in order, what still counts of them is not lost.
    pub(crate) fn take_up_rates(&self) -> Result<()> {
        let written = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::RATE_WINDOWS)?;
            let rows = statement.query_map([], |row| Ok((TokenId(row.get(0)?), row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        self.rates.take_up(written);
        Ok(())
    }

    pub(crate) fn get(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<Document>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(None) };
            let sql = KindSql::of(kind);
            let mut statement;
            let mut rows = match key {
                Key::Id(id) => {
                    statement = connection.prepare_cached(&sql.shown_by_id)?;
                    statement.query(params![ws, id.0])?
                }
                Key::Reference(reference) => {
                    statement = connection.prepare_cached(&sql.shown_by_reference)?;
                    statement.query(params![ws, reference.as_str()])?
                }
            };
            let Some(row) = rows.next()? else { return Ok(None) };
            let (json, people) = (bytes(row, 0)?, bytes(row, 1)?);
            let mut out = Vec::with_capacity(json.len() + people.len() * 32);
            if people.is_empty() {
                out.extend_from_slice(json);
            } else {
                let generation = connection.people_generation(ws)?;
                let book = self.people(connection, workspace, ws, generation)?;
                record::render(json, people, &book, &mut out);
            }
            Ok(Some(Document { text: out.into(), edition: Some(connection.edition()) }))
        })
    }

    pub(crate) async fn list(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        kind: Kind,
        params: &ListParams,
        body: Vec<u8>,
    ) -> Result<Page> {
        match &params.term {
            None => self.page(workspace, kind, params.offset(), params.limit, body),
            Some(term) => {
                let (term, skip, limit) = (term.clone(), params.offset(), params.limit);
                self.read_long(move |store| store.search(workspace, kind, &term, skip, limit, body))
                    .await
            }
        }
    }

    fn page(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        skip: u64,
        limit: u32,
        mut body: Vec<u8>,
    ) -> Result<Page> {
        loop {
            let start = body.len();
            let read = self.read(|connection| {
                let of_all = |total| Ok(Some((total, connection.edition())));
                let Some(ws) = self.number(connection, workspace)? else { return of_all(0) };
                let Some(now) = connection.collection(ws, kind)? else { return of_all(0) };
                let located =
                    match self.locate(connection, workspace, ws, kind, now.generation, skip)? {
                        Located::Stale => return Ok(None),
                        Located::PastTheEnd => return of_all(now.total),
                        Located::At(first, rest) => (first, rest),
                    };
                let generation = connection.people_generation(ws)?;
                let book = self.people(connection, workspace, ws, generation)?;
                let (mut behind, mut left) = (located.1, limit);
                bundles::walk(connection, kind, (place(ws, located.0), places(ws).1), |bundled| {
                    if behind > 0 {
                        behind -= 1;
                        return true;
                    }
                    if left < limit {
                        body.push(b',');
                    }
                    record::render(bundled.json, bundled.people, &book, &mut body);
                    left -= 1;
                    left > 0
                })?;
                of_all(now.total)
            })?;
            match read {
                Some((total, edition)) => {
                    return Ok(Page { body, total, edition: Some(edition) });
                }
                // The counts had moved on past this state of the database: take a newer one.
                None => body.truncate(start),
            }
        }
    }

    /// Where the record behind `skip` others stands in this state of the database.
    fn locate(
        &self,
        connection: &Connection,
        workspace: WorkspaceId,
        ws: i64,
        kind: Kind,
        generation: u64,
        skip: u64,
    ) -> Result<Located> {
        let counts = self.blocks.of(workspace, kind);
        let mut counts = counts.lock();
        if counts.generation > generation {
            return Ok(Located::Stale);
        }
        if counts.generation < generation {
            let mut statement = connection.prepare_cached(sql::BLOCKS_SINCE)?;
            let mut rows =
                statement.query(params![ws, kind_number(kind), int(counts.generation)])?;
            while let Some(row) = rows.next()? {
                let block: i64 = row.get(0)?;
                counts.set(usize::try_from(block).unwrap_or_default(), row.get(1)?);
            }
            counts.generation = generation;
        }
        Ok(counts.locate(skip).map_or(Located::PastTheEnd, |(seq, rest)| Located::At(seq, rest)))
    }

    fn search(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        term: &SearchTerm,
        skip: u64,
        limit: u32,
        mut body: Vec<u8>,
    ) -> Result<Page> {
        let (total, edition) = self.read(|connection| {
            let of_all = |total| Ok((total, connection.edition()));
            let Some(ws) = self.number(connection, workspace)? else { return of_all(0) };
            let Some(wanted) = match_expression(connection, kind, term)? else { return of_all(0) };
            let sql = KindSql::of(kind);
            let (first, last) = places(ws);
            let generation = connection.people_generation(ws)?;
            let book = self.people(connection, workspace, ws, generation)?;
            let mut statement = connection.prepare_cached(&sql.hits_page)?;
            let rows = statement.query(params![wanted, first, last, limit + 1, int(skip)])?;
            let found = u64::from(append(rows, limit, &book, &mut body)?);
            // When the hits end on this page, there is nothing to count.
            if found <= u64::from(limit) && (found > 0 || skip == 0) {
                return of_all(skip + found);
            }
            let total: i64 = connection
                .prepare_cached(&sql.hits)?
                .query_row(params![wanted, first, last], |row| row.get(0))?;
            of_all(total.unsigned_abs())
        })?;
        Ok(Page { body, total, edition: Some(edition) })
    }

    pub(crate) async fn statuses(&self, workspace: WorkspaceId) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(sql::STATUSES)?;
            let mut rows = statement.query([ws])?;
            let mut documents = Vec::new();
            while let Some(row) = rows.next()? {
                documents.push(bytes(row, 0)?.to_vec());
            }
            Ok(documents)
        })
    }

    pub(crate) async fn export(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        kind: Kind,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Exported>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(Vec::new()) };
                let generation = connection.people_generation(ws)?;
                let book = store.people(connection, workspace, ws, generation)?;
                let mut exported = Vec::new();
                let places = (place(ws, after + 1), places(ws).1);
                bundles::walk(connection, kind, places, |bundled| {
                    let mut json = Vec::new();
                    record::render(bundled.json, bundled.people, &book, &mut json);
                    exported.push(Exported { seq: seq(bundled.place), json });
                    exported.len() < limit as usize
                })?;
                Ok(exported)
            })
        })
        .await
    }

    pub(crate) async fn changes(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(Vec::new()) };
                let mut statement = connection.prepare_cached(sql::CHANGES)?;
                let rows = statement.query_map(params![ws, after, limit], read_change)?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
        .await
    }

    pub(crate) async fn workspaces(&self) -> Result<Vec<Workspace>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::WORKSPACES)?;
            Ok(statement.query_map([], read_workspace)?.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) async fn has_user(&self, email: &Email) -> Result<bool> {
        self.read(|connection| {
            Ok(connection.prepare_cached(sql::USER_BY_EMAIL)?.exists([email.key()])?)
        })
    }

    pub(crate) async fn tokens(&self, workspace: Option<WorkspaceId>) -> Result<Vec<TokenRow>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::TOKENS)?;
            let rows = statement.query_map([workspace.map(|workspace| workspace.0)], |row| {
                let moment = |column| -> rusqlite::Result<Option<Timestamp>> {
                    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
                };
                Ok(TokenRow {
                    id: TokenId(row.get(0)?),
                    workspace: row.get(1)?,
                    name: row.get(2)?,
                    owner: row.get(3)?,
                    scopes: read_scopes(row, 4)?,
                    created_at: Timestamp::from_millis(row.get(5)?),
                    expires_at: moment(6)?,
                    revoked_at: moment(7)?,
                    last_used_at: moment(8)?,
                    person: PersonId(row.get(9)?),
                    owner_name: row.get(10)?,
                    hint: row.get(11)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) async fn token_workspace(&self, token: TokenId) -> Result<Option<WorkspaceId>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::TOKEN_WORKSPACE)?;
            Ok(statement.query_row([token.0], |row| row.get(0).map(WorkspaceId)).optional()?)
        })
    }

    pub(crate) async fn delete_workspace(&self, workspace: WorkspaceId) -> Result<()> {
        let Some(ws) = self.read(|connection| self.number(connection, workspace))? else {
            return Ok(());
        };
        let unname = move |connection: &mut Connection| {
            for statement in [
                sql::DELETE_TOKENS,
                sql::DELETE_INVITATIONS,
                sql::DELETE_PEOPLE,
                sql::DELETE_STATUSES,
                sql::DELETE_COLLECTIONS,
                sql::DELETE_WORKSPACE,
            ] {
                connection.prepare_cached(statement)?.execute([ws])?;
            }
            Ok(())
        };
        self.writer.write(unname).await?;
        self.tokens.clear();
        self.remove_endpoints(ws).await?;
        for kind in Kind::ALL {
            while self.writer.write(move |connection| purge_records(connection, ws, kind)).await?
                > 0
            {}
        }
        for statement in [sql::DELETE_SOME_BLOCKS, sql::DELETE_SOME_CHANGES] {
            let purge = move |connection: &mut Connection| {
                Ok(connection.prepare_cached(statement)?.execute(params![ws, PURGE])?)
            };
            while self.writer.write(purge).await? > 0 {}
        }
        Ok(())
    }

    /// The people of a workspace, at least as new as `generation`.
    pub(super) fn people(
        &self,
        connection: &Connection,
        workspace: WorkspaceId,
        ws: i64,
        generation: u64,
    ) -> Result<Arc<PersonDirectory>> {
        if let Some(book) = self.people.get(workspace, generation) {
            return Ok(book);
        }
        let mut statement = connection.prepare_cached(sql::PEOPLE)?;
        let people =
            statement.query_map([ws], |row| read_member(row).map(|member| member.person))?;
        let book = people.collect::<rusqlite::Result<PersonDirectory>>()?;
        Ok(self.people.put(workspace, generation, book))
    }
}

/// Where a page begins.
enum Located {
    /// Behind so many others that stand from this place on.
    At(u64, u64),
    PastTheEnd,
    /// The counts are of a newer state than the one being read.
    Stale,
}

/// Appends up to so many documents; how many there were.
fn append(
    mut rows: Rows<'_>,
    limit: u32,
    book: &PersonDirectory,
    body: &mut Vec<u8>,
) -> Result<u32> {
    let mut found = 0;
    while let Some(row) = rows.next()? {
        if found < limit {
            if found > 0 {
                body.push(b',');
            }
            record::render(bytes(row, 0)?, bytes(row, 1)?, book, body);
        }
        found += 1;
    }
    Ok(found)
}

/// What to ask the trigram index for; `None` when nothing can match. A term of one or two characters
/// is any of the trigrams that begin with it.
pub(super) fn match_expression(
    connection: &Connection,
    kind: Kind,
    term: &SearchTerm,
) -> Result<Option<String>> {
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    if !term.can_match() {
        return Ok(None);
    }
    if term.as_str().chars().count() >= 3 {
        return Ok(Some(quote(term.as_str())));
    }
    let mut statement = connection.prepare_cached(&KindSql::of(kind).grams)?;
    let end = format!("{}{}{}", term.as_str(), char::MAX, char::MAX);
    let mut rows = statement.query([term.as_str(), &end])?;
    let mut grams: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        grams.push(quote(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?));
    }
    debug_assert!(!term.as_str().contains(FIELD_SEPARATOR));
    Ok((!grams.is_empty()).then(|| grams.join(" OR ")))
}

fn read_bearer(connection: &Connection, hash: &TokenHash) -> Result<Option<Bearer>> {
    let mut statement = connection.prepare_cached(sql::TOKEN_BY_HASH)?;
    let found = statement.query_row([&hash.0[..]], |row| {
        let role: String = row.get(3)?;
        Ok(Bearer {
            token: TokenId(row.get(0)?),
            workspace: WorkspaceId(row.get(1)?),
            person: PersonId(row.get(2)?),
            role: role.parse::<Role>().map_err(|error| damaged(3, Error::Damaged(error)))?,
            scopes: read_scopes(row, 4)?,
            expires_at: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
        })
    });
    Ok(found.optional()?)
}

fn read_scopes(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Scopes> {
    let text: String = row.get(column)?;
    Scopes::parse(&text).map_err(|error| damaged(column, Error::Damaged(error)))
}

fn purge_records(connection: &mut Connection, ws: i64, kind: Kind) -> Result<usize> {
    let sql = KindSql::of(kind);
    let (first, last) = places(ws);
    let mut statement = connection.prepare_cached(&sql.some_places)?;
    let rows = statement.query_map(params![first, last, PURGE], |row| row.get::<_, i64>(0))?;
    let places = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for place in &places {
        connection.prepare_cached(&sql.unindex)?.execute([place])?;
        connection.prepare_cached(&sql.remove)?.execute([place])?;
    }
    if let [first, .., last] | [first @ last] = places[..] {
        let bundles = [bundles::bundle(first), bundles::bundle(last)];
        connection.prepare_cached(&sql.remove_bundles)?.execute(bundles)?;
    }
    Ok(places.len())
}

pub(super) fn bytes<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r [u8]> {
    Ok(row.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from)?)
}
