//! `groma health`: checks whether the local server is ready. Containers use it as their health
//! check, because the image contains no HTTP client.

use super::{CommandError, print};
use crate::settings::Settings;
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Longer than the server takes to detect an unreachable database.
const READINESS_TIMEOUT: Duration = Duration::from_secs(10);
const IDENTIFICATION_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_RESPONSE_BYTES: u64 = 16 << 10;

pub(super) async fn run(settings: &Settings) -> Result<(), CommandError> {
    let address = settings.server.admin_listen.ok_or_else(|| {
        CommandError::new(
            "server.admin_listen is not set; set it to an address such as 127.0.0.1:9464",
        )
    })?;
    let response = get(address, "/readyz", READINESS_TIMEOUT).await;
    let response = response.map_err(|error| {
        CommandError::new(format!("the server at {address} did not respond: {error}"))
    })?;
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body).trim_end();
    if response.starts_with("HTTP/1.1 200 ") {
        return print(body);
    }
    if body.is_empty() {
        return Err(CommandError::new(format!("{address} returned an invalid response")));
    }
    Err(CommandError::new(body))
}

/// Whether a Groma server listens at this address: all its responses have a request ID.
pub(super) async fn is_groma(address: SocketAddr) -> bool {
    let response = get(address, "/healthz", IDENTIFICATION_TIMEOUT).await.unwrap_or_default();
    let head = response.split("\r\n\r\n").next().unwrap_or_default().to_ascii_lowercase();
    head.contains("\r\nx-request-id: ")
}

/// Whether a server with TLS listens at this address: it answers plain http with an alert.
pub(super) async fn is_tls_server(address: SocketAddr) -> bool {
    let response = get(address, "/healthz", IDENTIFICATION_TIMEOUT).await.unwrap_or_default();
    response.starts_with("\u{15}\u{3}")
}

/// The response to a GET request, with its headers.
async fn get(address: SocketAddr, path: &str, timeout: Duration) -> std::io::Result<String> {
    let response = async {
        let mut stream = TcpStream::connect(local_address(address)).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = Vec::new();
        stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut response).await?;
        Ok(String::from_utf8_lossy(&response).into_owned())
    };
    let timed_out = std::io::Error::from(std::io::ErrorKind::TimedOut);
    tokio::time::timeout(timeout, response).await.unwrap_or(Err(timed_out))
}

/// The loopback address for a server that listens on all addresses.
fn local_address(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(loopback);
    }
    address
}
