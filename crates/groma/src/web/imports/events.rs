//! The progress of an import as server-sent events.

use super::{find, progress::ProgressState};
use crate::{
    http::NO_STORE,
    web::{WebError, request_context::MemberContext},
};
use axum::{
    body::Body,
    extract::Path,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::stream;
use groma_domain::ImportJobId;
use std::{convert::Infallible, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// How often the row of the job is read.
const INTERVAL: Duration = Duration::from_millis(500);
/// A stream ends after this time; the browser connects again, and its session is checked again.
const MAX_DURATION: Duration = Duration::from_secs(60);
/// Asks proxies not to collect the response.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Sends the state of an import whenever it changes, until it has ended or the server stops.
pub(crate) async fn events(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let job = find(&ctx, &id).await?.id;
    let stream = ProgressStream {
        stopping: ctx.web.stopping.clone(),
        ctx,
        job,
        end: Instant::now() + MAX_DURATION,
        last: None,
        has_ended: false,
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

struct ProgressStream {
    ctx: MemberContext,
    job: ImportJobId,
    stopping: watch::Receiver<bool>,
    end: Instant,
    last: Option<String>,
    /// Whether the job has ended.
    has_ended: bool,
}

impl ProgressStream {
    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.has_ended || Instant::now() >= self.end {
                return None;
            }
            let found = self.ctx.store().import_job(self.ctx.workspace_id(), self.job).await;
            let job = found.ok().flatten()?;
            let progress = job.progress.as_deref();
            let progress: Option<ProgressState> =
                progress.and_then(|text| serde_json::from_str(text).ok());
            let data = serde_json::json!({
                "state": job.state.name(),
                "revision": job.revision,
                "text": progress.map(|progress| progress.text(self.ctx.t())),
                "percent": progress.and_then(ProgressState::percent),
            })
            .to_string();
            if self.last.as_ref() == Some(&data) {
                let stopped = self.stopping.wait_for(|is_stopping| *is_stopping);
                if timeout(INTERVAL, stopped).await.is_ok() {
                    return None;
                }
                continue;
            }
            self.has_ended = !job.state.is_live();
            let event = Bytes::from(format!("data: {data}\n\n"));
            self.last = Some(data);
            return Some(event);
        }
    }
}
