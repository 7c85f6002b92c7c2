//! Draining request bodies that the handler did not read to the end. If a response is sent while the
//! client is still sending, closing the connection can destroy the response before the client reads it.

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderValue, Version, header},
    response::Response,
};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// How long to wait for the next piece. A client that sends nothing may be waiting for the response.
const IDLE_TIMEOUT: Duration = Duration::from_millis(200);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 128 << 20;

/// The part of a request body that the handler leaves unread.
pub(super) struct UnreadBody {
    body: Arc<Mutex<Body>>,
    version: Version,
}

impl UnreadBody {
    /// Shares the body of a request with its handler; `None` if the request has no body.
    pub(super) fn split(request: Request) -> (Request, Option<Self>) {
        if request.body().is_end_stream() {
            return (request, None);
        }
        let version = request.version();
        let (parts, body) = request.into_parts();
        let body = Arc::new(Mutex::new(body));
        let shared = Body::new(SharedBody(body.clone()));
        (Request::from_parts(parts, shared), Some(Self { body, version }))
    }

    /// Discards the rest of the body. If it does not end in time, the response closes the connection.
    pub(super) async fn drain(self, response: &mut Response) {
        let mut body = SharedBody(self.body);
        let is_at_end = tokio::time::timeout(TOTAL_TIMEOUT, read_to_end(&mut body)).await;
        if !is_at_end.unwrap_or(false) {
            close(self.version, response);
        }
    }

    /// Leaves the rest of the body unread. Unless it has arrived, the response closes the connection.
    pub(super) fn abandon(self, response: &mut Response) {
        if !self.body.lock().is_end_stream() {
            close(self.version, response);
        }
    }
}

fn close(version: Version, response: &mut Response) {
    if version <= Version::HTTP_11 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Whether the body ended within the limits.
async fn read_to_end(body: &mut SharedBody) -> bool {
    let mut read = 0;
    while read < MAX_BYTES && !body.is_end_stream() {
        match tokio::time::timeout(IDLE_TIMEOUT, body.frame()).await {
            Ok(Some(Ok(frame))) => read += frame.data_ref().map_or(0, Bytes::len),
            Ok(Some(Err(_))) | Err(_) => return false,
            Ok(None) => return true,
        }
    }
    body.is_end_stream()
}

struct SharedBody(Arc<Mutex<Body>>);

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *self.0.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().size_hint()
    }
}
