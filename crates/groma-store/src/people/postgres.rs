//! People on PostgreSQL.

use super::{PeopleCache, PeopleTx, PeopleWrite, StoredPerson};
use crate::{
    Error, Result,
    engine::{
        postgres::{Postgres, PostgresTransaction, params, unsigned},
        statements,
    },
};
use groma_domain::{Email, Person, PersonId, Role, UserId, WorkspaceId, record::PersonDirectory};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

statements! {
    PERSON = "SELECT id, name, email, user_id, role FROM people WHERE workspace_id = $1 AND id = $2";
    PERSON_BY_EMAIL = "SELECT id, name, email, user_id, role FROM people WHERE workspace_id = $1 AND email_key = $2";
    PEOPLE = "SELECT p.id, p.name, p.email, p.user_id, p.role, w.people_generation
        FROM people p JOIN workspaces w ON w.id = p.workspace_id WHERE p.workspace_id = $1";
    OTHER_OWNER = "SELECT 1 FROM people p JOIN users u ON u.id = p.user_id
        WHERE p.workspace_id = $1 AND p.role = 'owner' AND p.id <> $2 AND u.disabled_at IS NULL LIMIT 1";
    SAVE_PERSON = "INSERT INTO people (workspace_id, id, email, email_key, name, user_id, role, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (workspace_id, id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key,
            name = excluded.name, user_id = excluded.user_id, role = excluded.role";
    INCREMENT_GENERATION = "UPDATE workspaces SET people_generation = people_generation + 1 WHERE id = $1";
    GENERATION = "SELECT people_generation FROM workspaces WHERE id = $1";
    DELETE_PEOPLE = "DELETE FROM people WHERE workspace_id = $1";
}

impl PeopleTx for PostgresTransaction<'_> {
    async fn person(
        &mut self,
        workspace: WorkspaceId,
        id: PersonId,
    ) -> Result<Option<StoredPerson>> {
        self.row(PERSON, &[&workspace.0, &id.0]).await?.as_ref().map(read_person).transpose()
    }

    async fn person_by_email(
        &mut self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Option<StoredPerson>> {
        let row = self.row(PERSON_BY_EMAIL, &[&workspace.0, &email.key()]).await?;
        row.as_ref().map(read_person).transpose()
    }

    async fn has_other_owner(&mut self, workspace: WorkspaceId, person: PersonId) -> Result<bool> {
        Ok(self.row(OTHER_OWNER, &[&workspace.0, &person.0]).await?.is_some())
    }

    async fn write_people(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<PeopleWrite>,
    ) -> Result<()> {
        let ws = workspace.0;
        let statement = |write| match write {
            PeopleWrite::Save { person: StoredPerson { person, user, role }, at } => (
                SAVE_PERSON,
                params![
                    ws,
                    person.id.0,
                    person.email.as_str().to_owned(),
                    person.email.key(),
                    person.name,
                    user.map(|user| user.0),
                    role.map(Role::name),
                    at.as_millis()
                ],
            ),
            PeopleWrite::IncrementGeneration => (INCREMENT_GENERATION, params![ws]),
        };
        self.send(writes.into_iter().map(statement).collect()).await
    }
}

/// The people of a workspace as documents show them, of this generation or newer.
pub(crate) async fn people_book(
    cache: &PeopleCache,
    engine: &Postgres,
    workspace: WorkspaceId,
    generation: u64,
) -> Result<Arc<PersonDirectory>> {
    if let Some(book) = cache.get(workspace, generation) {
        return Ok(book);
    }
    let rows = engine.rows(PEOPLE, &[&workspace.0]).await?;
    let read = rows.first().map_or(Ok(generation), |row| unsigned(row, 5))?;
    let people = rows.iter().map(|row| read_person(row).map(|stored| stored.person));
    let book = people.collect::<Result<PersonDirectory>>()?;
    Ok(cache.put(workspace, read, book))
}

/// A row that begins with id, name, email, user and role.
pub(crate) fn read_person(row: &Row) -> Result<StoredPerson> {
    let role: Option<&str> = row.try_get(4)?;
    Ok(StoredPerson {
        person: Person {
            id: PersonId(row.try_get(0)?),
            name: row.try_get(1)?,
            email: read_email(row, 2)?,
        },
        user: row.try_get::<_, Option<Uuid>>(3)?.map(UserId),
        role: role.map(|role| role.parse().map_err(Error::Damaged)).transpose()?,
    })
}

pub(crate) fn read_email(row: &Row, column: usize) -> Result<Email> {
    Email::parse(row.try_get(column)?).map_err(|error| Error::Damaged(error.to_string()))
}
