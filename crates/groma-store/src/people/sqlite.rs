//! People on SQLite.

use super::{PeopleCache, PeopleTx, PeopleWrite, StoredPerson};
use crate::{
    Error, Result,
    engine::{
        sqlite::{SqliteTransaction, damaged},
        statements,
    },
};
use groma_domain::{Email, Person, PersonId, Role, UserId, WorkspaceId, record::PersonDirectory};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    PERSON = "SELECT id, name, email, user_id, role FROM people WHERE ws = ?1 AND id = ?2";
    PERSON_BY_EMAIL = "SELECT id, name, email, user_id, role FROM people WHERE ws = ?1 AND email_key = ?2";
    PEOPLE = "SELECT id, name, email, user_id, role FROM people WHERE ws = ?1";
    OTHER_OWNER = "SELECT 1 FROM people p JOIN users u ON u.id = p.user_id
        WHERE p.ws = ?1 AND p.role = 'owner' AND p.id <> ?2 AND u.disabled_at IS NULL LIMIT 1";
    SAVE_PERSON = "INSERT INTO people (ws, id, email, email_key, name, user_id, role, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (ws, id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key,
            name = excluded.name, user_id = excluded.user_id, role = excluded.role";
    INCREMENT_GENERATION = "UPDATE workspaces SET people_generation = people_generation + 1 WHERE no = ?1";
    GENERATION = "SELECT people_generation FROM workspaces WHERE no = ?1";
    DELETE_PEOPLE = "DELETE FROM people WHERE ws = ?1";
}

impl PeopleTx for SqliteTransaction<'_> {
    async fn person(
        &mut self,
        workspace: WorkspaceId,
        id: PersonId,
    ) -> Result<Option<StoredPerson>> {
        let ws = self.workspace_number(workspace)?;
        Ok(self.prepare(PERSON)?.query_row(params![ws, id.0], read_person).optional()?)
    }

    async fn person_by_email(
        &mut self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Option<StoredPerson>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(PERSON_BY_EMAIL)?;
        Ok(statement.query_row(params![ws, email.key()], read_person).optional()?)
    }

    async fn has_other_owner(&mut self, workspace: WorkspaceId, person: PersonId) -> Result<bool> {
        let ws = self.workspace_number(workspace)?;
        Ok(self.prepare(OTHER_OWNER)?.exists(params![ws, person.0])?)
    }

    async fn write_people(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<PeopleWrite>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        for write in writes {
            match write {
                PeopleWrite::Save { person: StoredPerson { person, user, role }, at } => self
                    .execute(
                        SAVE_PERSON,
                        params![
                            ws,
                            person.id.0,
                            person.email.as_str(),
                            person.email.key(),
                            person.name,
                            user.map(|user| user.0),
                            role.map(Role::name),
                            at.as_millis()
                        ],
                    )?,
                PeopleWrite::IncrementGeneration => {
                    self.execute(INCREMENT_GENERATION, params![ws])?;
                }
            }
        }
        Ok(())
    }
}

/// The people of a workspace as documents show them, of the snapshot that is read or newer.
pub(crate) fn people_book(
    cache: &PeopleCache,
    connection: &Connection,
    workspace: WorkspaceId,
    ws: i64,
) -> Result<Arc<PersonDirectory>> {
    let mut statement = connection.prepare_cached(GENERATION)?;
    let generation: Option<i64> = statement.query_row([ws], |row| row.get(0)).optional()?;
    let generation = generation.unwrap_or_default().unsigned_abs();
    if let Some(book) = cache.get(workspace, generation) {
        return Ok(book);
    }
    let mut statement = connection.prepare_cached(PEOPLE)?;
    let people = statement.query_map([ws], |row| read_person(row).map(|stored| stored.person))?;
    let book = people.collect::<rusqlite::Result<PersonDirectory>>()?;
    Ok(cache.put(workspace, generation, book))
}

/// A row of id, name, email, user and role.
pub(crate) fn read_person(row: &Row<'_>) -> rusqlite::Result<StoredPerson> {
    let role: Option<String> = row.get(4)?;
    Ok(StoredPerson {
        person: Person { id: PersonId(row.get(0)?), name: row.get(1)?, email: read_email(row, 2)? },
        user: row.get::<_, Option<Uuid>>(3)?.map(UserId),
        role: role
            .map(|role| role.parse().map_err(|error| damaged(4, Error::Damaged(error))))
            .transpose()?,
    })
}

pub(crate) fn read_email(row: &Row<'_>, column: usize) -> rusqlite::Result<Email> {
    let text: String = row.get(column)?;
    Email::parse(&text).map_err(|error| damaged(column, Error::Damaged(error.to_string())))
}

pub(crate) fn read_role(row: &Row<'_>, column: usize) -> rusqlite::Result<Role> {
    let role: String = row.get(column)?;
    role.parse().map_err(|error| damaged(column, Error::Damaged(error)))
}
