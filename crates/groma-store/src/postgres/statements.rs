//! What a write is to PostgreSQL: its statement, and what that is given.

use super::{
    counts::Counts,
    sql::{self, KindSql},
};
use crate::{
    geometries::ShelfRanges,
    tx::{
        FeatureRow, LayerWrite, Link, LogRow, MemberRow, Row, TokenWrite, Write, kind_number,
        sortable,
    },
    webhooks::{EventWrite, StoredEndpoint, event_number},
};
use groma_domain::{Kind, Layer, Role, Timestamp, WorkspaceId, text::fold};
use groma_geo::{Bbox, grid::GridBox, tile_block::TileBlock};
use tokio_postgres::types::{IsNull, ToSql, Type};
use uuid::Uuid;

pub(super) type Param = Box<dyn ToSql + Sync + Send>;
/// A statement and what it is given.
pub(super) type Call = (&'static str, Vec<Param>);

macro_rules! params {
    ($($param:expr),* $(,)?) => { vec![$(Box::new($param) as $crate::postgres::statements::Param),*] };
}
pub(super) use params;

/// The statement of a write; none for what is only counted.
pub(super) fn statement_of(
    workspace: WorkspaceId,
    write: Write,
    counts: &mut Counts,
) -> Option<Call> {
    let ws = workspace.0;
    Some(match write {
        Write::SaveCollection { kind, collection } => {
            counts.save(workspace, kind, collection);
            return None;
        }
        Write::AdjustBlock { kind, block, by, generation } => {
            counts.adjust_block(workspace, kind, block, (by, generation));
            return None;
        }
        Write::InsertRecord(row) => (&KindSql::of(row.record.kind()).insert, row_params(ws, row)),
        Write::UpdateRecord { row, .. } => {
            (&KindSql::of(row.record.kind()).update, row_params(ws, row))
        }
        Write::RemoveRecord { kind, seq } => (&KindSql::of(kind).remove, params![ws, int(seq)]),
        Write::FreeReference { kind, seq, id } => {
            (&KindSql::of(kind).free_reference, params![ws, int(seq), id.to_string()])
        }
        Write::FreeStatusName(id) => (sql::FREE_STATUS_NAME, params![ws, id.0, id.to_string()]),
        Write::SaveStatus(status) => (
            sql::SAVE_STATUS,
            params![
                ws,
                status.id.0,
                kind_number(status.applies_to),
                fold(&status.name),
                status.document().into_bytes()
            ],
        ),
        Write::RemoveStatus(id) => (sql::REMOVE_STATUS, params![ws, id.0]),
        Write::SavePerson { row: MemberRow { person, user, role }, at } => (
            sql::SAVE_PERSON,
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
        Write::PeopleChanged => (sql::PEOPLE_CHANGED, params![ws]),
        Write::SaveUser { user, at } => (
            sql::SAVE_USER,
            params![
                user.id.0,
                user.email.as_str().to_owned(),
                user.email.key(),
                user.name,
                at.as_millis()
            ],
        ),
        Write::SetPassword { user, hash } => (sql::SET_PASSWORD, params![user.0, hash]),
        Write::EndSessions { user, except } => {
            (sql::END_SESSIONS, params![user.0, except.map(|session| session.0)])
        }
        Write::SaveWorkspace(w) => (
            sql::SAVE_WORKSPACE,
            params![w.id.0, w.name.as_str().to_owned(), w.name.key(), w.currency.code()],
        ),
        Write::InsertInvitation(i) => (
            sql::INSERT_INVITATION,
            params![
                i.id.0,
                ws,
                i.hash.0.to_vec(),
                i.role.name(),
                i.email,
                i.invited_by.map(|person| person.0),
                i.created_at.as_millis(),
                i.expires_at.as_millis()
            ],
        ),
        Write::RemoveInvitation(id) => (sql::REMOVE_INVITATION, params![ws, id.0]),
        Write::RevokeTokensOf { person, at } => {
            (sql::REVOKE_TOKENS_OF, params![ws, person.0, at.as_millis()])
        }
        Write::InsertWorkspace(w) => (
            sql::INSERT_WORKSPACE,
            params![
                w.id.0,
                w.name.as_str().to_owned(),
                w.name.key(),
                w.currency.code(),
                w.created_at.as_millis()
            ],
        ),
        Write::InsertToken(TokenWrite {
            id,
            person,
            name,
            hash,
            hint,
            scopes,
            created_at,
            expires_at,
        }) => (
            sql::INSERT_TOKEN,
            params![
                id.0,
                ws,
                person.0,
                name,
                hash.0.to_vec(),
                scopes.to_string(),
                created_at.as_millis(),
                expires_at.map(Timestamp::as_millis),
                hint
            ],
        ),
        Write::RevokeToken { token, at } => {
            (sql::REVOKE_TOKEN, params![ws, token.0, at.as_millis()])
        }
        Write::Layer(write) => layer_statement(ws, write),
        Write::UnlinkFeatures { kind: Kind::Folder, id } => (sql::UNLINK_FOLDER, params![ws, id.0]),
        Write::UnlinkFeatures { id, .. } => (sql::UNLINK_ASSIGNMENT, params![ws, id.0]),
        Write::SaveReplay { request, body_hash, answer, at } => (
            sql::SAVE_REPLAY,
            params![
                ws,
                request.token.0,
                request.path,
                request.key,
                body_hash.to_vec(),
                answer,
                at.as_millis()
            ],
        ),
        Write::LogChange(log) | Write::LogEvent(EventWrite { log, .. }) => {
            (sql::LOG_CHANGE, log_params(ws, log))
        }
        Write::InsertEndpoint(stored) => (sql::INSERT_ENDPOINT, endpoint_params(ws, stored)),
        Write::SaveEndpoint(stored) => (sql::SAVE_ENDPOINT, endpoint_params(ws, stored)),
        Write::RemoveEndpoint { endpoint, at } => {
            (sql::REMOVE_ENDPOINT, params![ws, endpoint.0, at.as_millis()])
        }
        Write::WebhooksChanged(mark) => (sql::WEBHOOKS_CHANGED, params![ws, mark]),
    })
}

fn log_params(ws: Uuid, log: LogRow) -> Vec<Param> {
    let LogRow { at, actor, action, subject, before, after } = log;
    params![ws, at.as_millis(), actor.map(|actor| actor.0), action, subject, before, after]
}

/// A line of the audit trail and the deliveries that announce it, in one statement.
pub(super) fn event_statement(ws: Uuid, write: &EventWrite) -> Call {
    let mut params = log_params(ws, write.log.clone());
    let deliveries = &write.deliveries;
    params.extend(params![
        event_number(write.event),
        write.is_test,
        deliveries.iter().map(|delivery| delivery.id.0).collect::<Vec<_>>(),
        deliveries.iter().map(|delivery| delivery.target.endpoint.0).collect::<Vec<_>>(),
        deliveries.iter().map(|delivery| delivery.state().number()).collect::<Vec<_>>()
    ]);
    (sql::LOG_EVENT, params)
}

fn endpoint_params(ws: Uuid, stored: StoredEndpoint) -> Vec<Param> {
    let endpoint = stored.endpoint;
    let (previous, until) = stored.previous.unzip();
    params![
        ws,
        endpoint.id.0,
        endpoint.url.as_str().to_owned(),
        endpoint.description,
        endpoint.events.to_string(),
        endpoint.enabled,
        endpoint.disabled_reason,
        stored.failing_since.map(Timestamp::as_millis),
        stored.last_success_at.map(Timestamp::as_millis),
        stored.secret,
        previous,
        until.map(Timestamp::as_millis),
        endpoint.created_at.as_millis(),
        endpoint.updated_at.as_millis()
    ]
}

fn layer_statement(ws: Uuid, write: LayerWrite) -> Call {
    let layer_params = |layer: &Layer| {
        // A layer is plain data: it always serialises.
        let state = serde_json::to_string(layer).unwrap_or_default();
        params![ws, layer.id.0, layer.slug.as_str().to_owned(), int(layer.revision), state]
    };
    match write {
        LayerWrite::Insert(layer) => (sql::INSERT_LAYER, layer_params(&layer)),
        LayerWrite::Save(layer) => (sql::SAVE_LAYER, layer_params(&layer)),
        LayerWrite::Remove { layer } => (sql::DELETE_LAYER, params![ws, int(layer)]),
        LayerWrite::SaveFeature(row) => feature_statement(ws, row),
        LayerWrite::RemoveFeature { layer, seq, .. } => {
            (sql::REMOVE_FEATURE, params![ws, int(layer), int(seq)])
        }
        LayerWrite::GrowExtent { layer, part, bounds: Bbox([w, s, e, n]) } => {
            (sql::GROW_EXTENT, params![ws, int(layer), int(part), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, part, bounds: Some(Bbox([w, s, e, n])) } => {
            (sql::SET_EXTENT, params![ws, int(layer), int(part), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, part, bounds: None } => {
            (sql::REMOVE_EXTENT, params![ws, int(layer), int(part)])
        }
        LayerWrite::SaveBlock { layer, shelf, is_new, block } => {
            let TileBlock {
                key: (centre, seq),
                bounds: GridBox { min_x, min_y, max_x, max_y },
                bytes,
            } = block;
            (
                if is_new { sql::INSERT_DRAWINGS } else { sql::UPDATE_DRAWINGS },
                params![
                    ws,
                    int(layer),
                    i16::from(shelf),
                    sortable(centre),
                    int(seq),
                    min_x,
                    min_y,
                    max_x,
                    max_y,
                    bytes
                ],
            )
        }
        LayerWrite::RemoveBlock { layer, shelf, key } => (
            sql::REMOVE_DRAWINGS,
            params![ws, int(layer), i16::from(shelf), sortable(key.0), int(key.1)],
        ),
        LayerWrite::SaveLong { layer, seq, zoom, shape } => {
            (sql::SAVE_LONG_DRAWING, params![ws, int(layer), int(seq), i16::from(zoom), shape])
        }
        LayerWrite::RemoveLong { layer, seq } => {
            (sql::REMOVE_LONG_DRAWINGS, params![ws, int(layer), int(seq)])
        }
    }
}

fn feature_statement(ws: Uuid, row: FeatureRow) -> Call {
    let FeatureRow { layer, is_new, has_heights, feature, at } = row;
    let (folder, assignment) = (feature.folder.map(|id| id.0), feature.assignment.map(|id| id.0));
    let geom = feature.geometry.as_deref().map(Ewkb::of);
    let heights = feature.geometry.filter(|_| has_heights);
    let (layer, seq) = (int(layer), int(feature.seq));
    let (properties, at) = (feature.properties, at.as_millis());
    if is_new {
        let params = params![
            ws,
            layer,
            seq,
            feature.id.0,
            feature.external_id,
            folder,
            assignment,
            geom,
            heights,
            properties,
            feature.created_at.as_millis(),
            at
        ];
        (sql::INSERT_FEATURE, params)
    } else {
        let params = params![ws, layer, seq, folder, assignment, geom, heights, properties, at];
        (sql::UPDATE_FEATURE, params)
    }
}

/// A shape as PostGIS takes it: WKB that names WGS 84.
#[derive(Debug)]
struct Ewkb(Vec<u8>);

impl Ewkb {
    fn of(wkb: &[u8]) -> Self {
        const HAS_SRID: u8 = 0x20;
        let mut bytes = Vec::with_capacity(wkb.len() + 4);
        if let [order, a, b, c, flags, rest @ ..] = wkb {
            bytes.extend_from_slice(&[*order, *a, *b, *c, flags | HAS_SRID]);
            bytes.extend_from_slice(&4326_u32.to_le_bytes());
            bytes.extend_from_slice(rest);
        }
        Self(bytes)
    }
}

impl ToSql for Ewkb {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "geometry"
    }

    tokio_postgres::types::to_sql_checked!();
}

fn row_params(ws: Uuid, row: Row) -> Vec<Param> {
    let Row { seq, record, document, search } = row;
    let mut params: Vec<Param> = vec![
        Box::new(ws),
        Box::new(int(seq)),
        Box::new(record.id().0),
        Box::new(record.reference().as_str().to_owned()),
        Box::new(document.json.into_bytes()),
        Box::new(document.person_offsets),
        Box::new(search),
    ];
    for link in Link::of(record.kind()) {
        params.push(Box::new(link.target(&record)));
    }
    params
}
/// Ranges as the parallel arrays of a statement.
pub(super) fn range_arrays(ranges: &ShelfRanges) -> (Vec<i16>, Vec<i64>, Vec<i64>) {
    let shelves = ranges.iter().map(|(shelf, _)| i16::from(*shelf)).collect();
    let first = ranges.iter().map(|(_, (first, _))| sortable(*first)).collect();
    let last = ranges.iter().map(|(_, (_, last))| sortable(*last)).collect();
    (shelves, first, last)
}
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
