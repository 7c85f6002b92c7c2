//! The limit: an axum handler that returns the same bytes and does nothing else.

use crate::Outcome;
use axum::{Router, body::Bytes, http::header};
use std::net::SocketAddr;

/// Serves `body` to whatever is asked for, on a runtime and threads of its own, until the end.
pub(crate) async fn serve(body: Vec<u8>) -> Outcome<SocketAddr> {
    let body = Bytes::from(body);
    let handler = move || async move { ([(header::CONTENT_TYPE, "application/json")], body) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().fallback(handler);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}
