//! The change feed: pages of changes, waiting for the next one, and a stream of them.

mod request;
pub(super) mod stream;

pub(super) use request::{DEFAULT_LIMIT, MAX_LIMIT, MAX_WAIT};

use super::ApiState;
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::{self, Caller},
};
use axum::{
    Extension,
    extract::{RawQuery, State},
    http::HeaderMap,
    response::Response,
};
use groma_domain::{Timestamp, WorkspaceId};
use groma_store::{ChangeActor, ChangePage, ChangeQuery, Cursors, FeedChange};
use request::FeedRequest;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;
use uuid::Uuid;

/// A request looks at this many pages of entries for changes that the consumer wants.
const MAX_PAGES: usize = 20;

/// Some changes, oldest first.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the response, which is written as text")]
pub(super) struct Changes {
    /// The changes.
    content: Vec<ChangeDocument>,
    /// Cursor to continue with.
    next: String,
    /// Whether there is more to read right away. It may be changes of other kinds.
    more: bool,
}

/// A change.
#[derive(ToSchema)]
#[schema(as = Change, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the response, which is written as text")]
pub(super) struct ChangeDocument {
    /// Cursor to continue after this change.
    cursor: String,
    /// Identifier of the change.
    id: Uuid,
    /// What happened.
    #[schema(example = "folder.created")]
    event: String,
    /// Workspace.
    workspace_key: WorkspaceId,
    /// When it happened.
    occurred_at: Timestamp,
    /// Who caused it.
    actor: Actor,
    /// The resource after the change; of what was deleted, before it.
    #[schema(value_type = Object)]
    data: serde_json::Value,
}

/// Who caused a change.
#[derive(Serialize, ToSchema)]
#[schema(as = ChangeActor)]
pub(super) struct Actor {
    /// `member`, `token`, or `system` for commands and the program itself.
    #[serde(rename = "type")]
    #[schema(value_type = String, pattern = "^(member|token|system)$", example = "token")]
    kind: &'static str,
    /// Identifier of the person or token.
    id: Option<Uuid>,
    /// Name of the person or token.
    name: Option<String>,
}

impl From<&ChangeActor> for Actor {
    fn from(actor: &ChangeActor) -> Self {
        match actor {
            ChangeActor::Member(id, name) => {
                Self { kind: "member", id: Some(id.0), name: name.clone() }
            }
            ChangeActor::Token(id, name) => {
                Self { kind: "token", id: Some(id.0), name: name.clone() }
            }
            ChangeActor::System => Self { kind: "system", id: None, name: None },
        }
    }
}

/// List changes.
#[utoipa::path(get, path = "/api/public/v1/changes", tag = "Changes",
    responses((status = 200, description = "Changes in the order of their commits", body = Changes)))]
pub(super) async fn list_changes(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let request = FeedRequest::parse(query.as_deref().unwrap_or_default(), caller.token.scopes)?;
    let events = request.kinds.events(caller.token.scopes)?;
    let cursors = api.store.change_feed().cursors(workspace).await?;
    let after = request.start(&api, &cursors, workspace).await?;
    if request.is_now() {
        return Ok(options.json(body(&ChangePage::empty(after), &cursors, workspace)));
    }
    let limit = request.limit;
    let query = ChangeQuery { workspace, after, events, limit };
    let page = wait_for_changes(&api, &headers, query, Instant::now() + request.wait).await?;
    Ok(options.json(body(&page, &cursors, workspace)))
}

/// The next changes. If there are none, waits for them until `deadline`.
async fn wait_for_changes(
    api: &ApiState,
    headers: &HeaderMap,
    mut query: ChangeQuery,
    deadline: Instant,
) -> Result<ChangePage, HttpError> {
    let feed = api.store.change_feed();
    let mut live = None;
    let mut pages = 0;
    loop {
        let page = feed.page(&query).await?;
        query.after = page.next;
        pages += 1;
        let is_over = Instant::now() >= deadline || *api.stopping.borrow();
        if !page.changes.is_empty() || (page.has_more && pages >= MAX_PAGES) {
            return Ok(page);
        }
        if page.has_more {
            continue;
        }
        if is_over {
            return Ok(page);
        }
        let live = live.get_or_insert_with(|| feed.follow(query.workspace));
        let mut stopping = api.stopping.clone();
        tokio::select! {
            () = live.wait(query.after) => {}
            () = sleep_until(deadline) => {}
            _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
        }
        // The token may have been revoked, or its owner may have another role.
        token_auth::reauthenticate(&api.token_auth, headers).await?;
    }
}

/// The response with a page of changes.
fn body(page: &ChangePage, cursors: &Cursors, workspace: WorkspaceId) -> Vec<u8> {
    let mut body = b"{\"content\":[".to_vec();
    for (index, change) in page.changes.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_change(change, cursors, workspace, &mut body);
    }
    let (next, more) = (cursors.encode(page.next), page.has_more);
    body.extend_from_slice(format!("],\"next\":\"{next}\",\"more\":{more}}}").as_bytes());
    body
}

/// Writes a change around its document, which is JSON already.
fn write_change(change: &FeedChange, cursors: &Cursors, workspace: WorkspaceId, out: &mut Vec<u8>) {
    let FeedChange { number, at, event, actor, document } = change;
    let (cursor, id) = (cursors.encode(*number), cursors.id(*number));
    // Plain data always serializes.
    let actor = serde_json::to_string(&Actor::from(actor)).unwrap_or_default();
    out.extend_from_slice(
        format!(
            "{{\"cursor\":\"{cursor}\",\"id\":\"{id}\",\"event\":\"{event}\",\
             \"workspaceKey\":\"{workspace}\",\"occurredAt\":\"{at}\",\"actor\":{actor},\"data\":"
        )
        .as_bytes(),
    );
    out.extend_from_slice(document.as_bytes());
    out.push(b'}');
}
