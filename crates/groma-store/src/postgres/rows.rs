//! What the rows of PostgreSQL mean.

use crate::{
    Error, Result,
    tx::{
        Collection, InvitationRow, MemberRow, Stored, StoredBlock, StoredFeature, StoredLayer,
        centre,
    },
};
use groma_domain::{
    Currency, Email, GeometryId, InvitationId, Kind, Person, PersonId, Record, RecordId, Timestamp,
    UserId, WorkspaceId,
    secret::SecretHash,
    workspace::{Workspace, WorkspaceName},
};
use tokio_postgres::Row;
use uuid::Uuid;

pub(super) fn read_layer(row: &Row) -> Result<StoredLayer> {
    let layer = serde_json::from_str(row.try_get(1)?)?;
    Ok(StoredLayer { no: row.try_get::<_, i64>(0)?.unsigned_abs(), layer })
}

pub(super) fn read_feature(row: &Row) -> Result<StoredFeature> {
    let record = |column: usize| row.try_get::<_, Option<Uuid>>(column).map(|id| id.map(RecordId));
    Ok(StoredFeature {
        seq: row.try_get::<_, i64>(0)?.unsigned_abs(),
        id: GeometryId(row.try_get(1)?),
        external_id: row.try_get(2)?,
        folder: record(3)?,
        assignment: record(4)?,
        geometry: row.try_get(5)?,
        properties: row.try_get(6)?,
        created_at: Timestamp::from_millis(row.try_get(7)?),
        updated_at: Timestamp::from_millis(row.try_get(8)?),
    })
}

/// A row of [`sql::FEATURE`].
pub(super) fn read_feature_with_layer(row: &Row) -> Result<(StoredLayer, StoredFeature)> {
    let layer = serde_json::from_str(row.try_get(10)?)?;
    let layer = StoredLayer { no: row.try_get::<_, i64>(9)?.unsigned_abs(), layer };
    Ok((layer, read_feature(row)?))
}

/// A row of [`sql::INVITATION`].
pub(super) fn read_invitation(hash: SecretHash, row: &Row) -> Result<InvitationRow> {
    Ok(InvitationRow {
        id: InvitationId(row.try_get(0)?),
        workspace: WorkspaceId(row.try_get(1)?),
        hash,
        role: row.try_get::<_, &str>(2)?.parse().map_err(Error::Damaged)?,
        email: row.try_get(3)?,
        invited_by: row.try_get::<_, Option<Uuid>>(4)?.map(PersonId),
        created_at: Timestamp::from_millis(row.try_get(5)?),
        expires_at: Timestamp::from_millis(row.try_get(6)?),
    })
}

pub(super) fn read_block(row: &Row) -> Result<StoredBlock> {
    Ok(StoredBlock {
        shelf: u8::try_from(row.try_get::<_, i16>(0)?).unwrap_or_default(),
        key: (centre(row.try_get(1)?), row.try_get::<_, i64>(2)?.unsigned_abs()),
        block: row.try_get(3)?,
    })
}

pub(super) fn read_workspace(row: &Row) -> Result<Workspace> {
    let damaged = |error: groma_domain::Violation| Error::Damaged(error.to_string());
    Ok(Workspace {
        id: WorkspaceId(row.try_get(0)?),
        name: WorkspaceName::parse(row.try_get(1)?)?,
        currency: row.try_get::<_, &str>(2)?.parse::<Currency>().map_err(damaged)?,
        created_at: Timestamp::from_millis(row.try_get(3)?),
    })
}

pub(super) fn read_member(row: &Row) -> Result<MemberRow> {
    let role: Option<&str> = row.try_get(4)?;
    Ok(MemberRow {
        person: Person {
            id: PersonId(row.try_get(0)?),
            name: row.try_get(1)?,
            email: read_email(row, 2)?,
        },
        user: row.try_get::<_, Option<Uuid>>(3)?.map(UserId),
        role: role.map(|role| role.parse().map_err(Error::Damaged)).transpose()?,
    })
}

pub(super) fn read_collection(row: &Row) -> Result<Collection> {
    let count = |column: usize| row.try_get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(Collection {
        last_seq: count(0)?,
        last_reference: count(1)?,
        total: count(2)?,
        generation: count(3)?,
    })
}

pub(super) fn read_stored(kind: Kind, row: &Row) -> Result<Stored> {
    let seq: i64 = row.try_get(0)?;
    Ok(Stored { seq: seq.unsigned_abs(), record: Record::from_document(kind, row.try_get(1)?)? })
}

pub(super) fn read_email(row: &Row, column: usize) -> Result<Email> {
    Email::parse(row.try_get(column)?).map_err(|error| Error::Damaged(error.to_string()))
}
