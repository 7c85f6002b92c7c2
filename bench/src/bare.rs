//! The upper limit: an axum handler that returns the same bytes and does nothing else.

use crate::Result;
use axum::{Router, body::Bytes, http::header};
use std::net::SocketAddr;

/// Serves `body` for every request, on its own runtime and threads.
pub(crate) async fn serve(body: Vec<u8>) -> Result<SocketAddr> {
    let body = Bytes::from(body);
    let handler = move || async move { ([(header::CONTENT_TYPE, "application/json")], body) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().fallback(handler);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}
