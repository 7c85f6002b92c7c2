//! `groma health`: asks the program that serves beside it whether it is ready. For containers, which
//! have nothing else to ask with.

use super::{Failure, print};
use crate::settings::Settings;
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long an answer may take; longer than a database that is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long whoever has an address may take to say who it is.
const A_MOMENT: Duration = Duration::from_secs(1);
/// The most that is read of an answer.
const MOST: u64 = 16 << 10;

pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let address = settings.server.admin_listen.ok_or_else(|| {
        Failure::new("server.admin_listen is not set, and that is where health is told")
    })?;
    let answer = ask(address, "/readyz", PATIENCE).await;
    let answer = answer.map_err(|error| Failure::new(format!("{address}: {error}")))?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).trim_end();
    if answer.starts_with("HTTP/1.1 200 ") {
        return print(body);
    }
    Err(Failure::new(if body.is_empty() { "no answer that makes sense" } else { body }))
}

/// Whether a program of this kind listens there. Every answer of one has a request id.
pub(super) async fn is_groma(address: SocketAddr) -> bool {
    let answer = ask(address, "/healthz", A_MOMENT).await.unwrap_or_default();
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_ascii_lowercase();
    head.contains("\r\nx-request-id: ")
}

/// The answer to a GET, head and body.
async fn ask(address: SocketAddr, path: &str, patience: Duration) -> std::io::Result<String> {
    let asked = async {
        let mut stream = TcpStream::connect(reachable(address)).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(MOST).read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let timed_out = std::io::Error::from(std::io::ErrorKind::TimedOut);
    tokio::time::timeout(patience, asked).await.unwrap_or(Err(timed_out))
}

/// The address by which this machine reaches what listens on all of them.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let here: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(here);
    }
    address
}
