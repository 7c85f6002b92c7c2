//! The change feed as server-sent events.

use super::{FeedRequest, request::Kinds, write_change};
use crate::{
    api::ApiState,
    http::{HttpError, NO_STORE},
    quota::Share,
    token_auth::{self, Caller},
};
use axum::{
    Extension,
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::stream;
use groma_domain::{Event, TokenId, WorkspaceId};
use groma_store::{Cursors, LiveChanges};
use std::{borrow::Cow, convert::Infallible, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// A comment is sent this often, so that both sides notice a broken connection.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Asks proxies not to collect the response.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Stream changes as server-sent events.
#[utoipa::path(get, path = "/api/public/v1/changes/stream", tag = "Changes",
    responses((status = 200, description = "A server-sent event for each change, with the cursor as its id",
        body = String, content_type = "text/event-stream")))]
pub(in crate::api) async fn stream_changes(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let last_event_id = headers.get(LAST_EVENT_ID).map(|id| String::from_utf8_lossy(id.as_bytes()));
    let request = FeedRequest::parse(query.as_deref().unwrap_or_default(), caller.token.scopes)?;
    let request = request.continued(last_event_id.map(Cow::into_owned));
    let slot = api.change_streams.take(Some(caller.token.token), 1);
    let slot = slot.ok_or_else(HttpError::too_many_streams)?;
    let cursors = api.store.change_feed().cursors(workspace).await?;
    let after = request.start(&api, &cursors, workspace).await?;
    let stream = ChangeStream {
        live: api.store.change_feed().follow(workspace),
        stopping: api.stopping.clone(),
        api,
        headers,
        workspace,
        kinds: request.kinds,
        cursors,
        after,
        next_comment: Instant::now(),
        _slot: slot,
    };
    let chunks = stream::unfold(stream, async |mut stream| {
        let chunk = stream.next().await?;
        Some((Ok::<_, Infallible>(chunk), stream))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// An open stream.
struct ChangeStream {
    api: ApiState,
    /// Of the request, with the token.
    headers: HeaderMap,
    workspace: WorkspaceId,
    kinds: Kinds,
    cursors: Cursors,
    after: i64,
    live: LiveChanges,
    stopping: watch::Receiver<bool>,
    next_comment: Instant,
    _slot: Share<TokenId>,
}

impl ChangeStream {
    /// The next events, or a comment. `None` when the server stops, the token has no rights any more, or the
    /// changes cannot be read; the client then connects again and learns why.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let has_changes = tokio::select! {
                biased;
                _ = self.stopping.wait_for(|is_stopping| *is_stopping) => return None,
                () = sleep_until(self.next_comment) => false,
                () = self.live.wait(self.after) => true,
            };
            let events = self.readable_events().await?;
            if !has_changes {
                self.next_comment = Instant::now() + COMMENT_INTERVAL;
                return Some(COMMENT);
            }
            let page = match self.live.read(self.after, &events).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "a change stream ends");
                    return None;
                }
            };
            self.after = page.next;
            if page.changes.is_empty() {
                continue;
            }
            let mut chunk = Vec::new();
            for change in &page.changes {
                let id = self.cursors.encode(change.number);
                chunk.extend_from_slice(format!("id: {id}\ndata: ").as_bytes());
                write_change(change, &self.cursors, self.workspace, &mut chunk);
                chunk.extend_from_slice(b"\n\n");
            }
            return Some(chunk.into());
        }
    }

    /// The events that the token may read now; `None` if there are none any more.
    async fn readable_events(&self) -> Option<Vec<Event>> {
        let token = token_auth::reauthenticate(&self.api.token_auth, &self.headers).await.ok()?;
        self.kinds.events(token.scopes).ok()
    }
}
