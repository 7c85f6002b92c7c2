//! The end of a body that nobody read to its end. An answer that goes out while the client is still
//! sending can be lost with the connection, so what comes is taken and thrown away for a while; and a
//! client whose body was left lying is told that the connection ends.

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

/// How long to wait for a client that has stopped sending: it may be waiting for the answer.
const SILENCE: Duration = Duration::from_millis(200);
/// For how long to take what still comes.
const PATIENCE: Duration = Duration::from_secs(5);
/// And how much of it.
const MOST: usize = 128 << 20;

/// The body of a request, for whoever answers it and for afterwards.
pub(super) struct Rest {
    body: Arc<Mutex<Body>>,
    version: Version,
}

impl Rest {
    /// Keeps hold of a request's body; `None` when it has none.
    pub(super) fn of(request: Request) -> (Request, Option<Self>) {
        if request.body().is_end_stream() {
            return (request, None);
        }
        let version = request.version();
        let (parts, body) = request.into_parts();
        let body = Arc::new(Mutex::new(body));
        let shared = Body::new(SharedBody(body.clone()));
        (Request::from_parts(parts, shared), Some(Self { body, version }))
    }

    /// Takes what still comes, and marks the answer if that was not all.
    pub(super) async fn settle(self, response: &mut Response) {
        let mut body = SharedBody(self.body);
        let taken = tokio::time::timeout(PATIENCE, drain(&mut body)).await;
        let is_whole = taken.unwrap_or(false);
        if !is_whole && self.version <= Version::HTTP_11 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Whether the end of the body came.
async fn drain(body: &mut SharedBody) -> bool {
    let mut taken = 0;
    while taken < MOST && !body.is_end_stream() {
        match tokio::time::timeout(SILENCE, body.frame()).await {
            Ok(Some(Ok(frame))) => taken += frame.data_ref().map_or(0, Bytes::len),
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
