//! Slow clients, and many idle connections.

use crate::{
    Result, Scale, ensure,
    fixture::Fixture,
    report::{ScenarioResult, grouped},
};
use groma_testkit::{Engine, ServerProcess, http::Request, wait::retry};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

/// The maximum memory of the process for one idle connection.
const KILOBYTES_PER_CONNECTION: u64 = 32;
/// File descriptors for other purposes.
const SPARE: u64 = 500;

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let on = Engine::Sqlite;
    let fixture = Fixture::new(on);
    let server = fixture.serve().await?;
    let slow = slow(&fixture, &server, scale.pick(150, 1_500)).await?;
    let idle = idle(&fixture, &server, scale.pick(2_000, 10_000), scale).await?;
    Ok(vec![slow, idle])
}

/// Sends a request one byte at a time until the server closes the connection.
async fn send_slowly(address: SocketAddr, bytes: Vec<u8>) {
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    for byte in bytes {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Sends twenty requests and reads no response.
async fn send_without_reading(address: SocketAddr, bytes: Vec<u8>) {
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    if stream.write_all(&bytes.repeat(20)).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

async fn slow(fixture: &Fixture, server: &ServerProcess, count: usize) -> Result<ScenarioResult> {
    let get = Request::get("/folders", fixture.token());
    let body = "x".repeat(1 << 20);
    let post = Request::post("/geometries/geojson", fixture.token(), &body.into());
    let mut clients: Vec<JoinHandle<()>> = Vec::new();
    for n in 0..count {
        let (main, geo) = (server.main().address(), server.geo().address());
        clients.push(match n % 3 {
            0 => tokio::spawn(send_slowly(main, get.head().into_bytes())),
            1 => tokio::spawn(send_without_reading(main, get.head().into_bytes())),
            _ => tokio::spawn(send_slowly(geo, [post.head().as_bytes(), b"\"xxxx"].concat())),
        });
    }
    let requests = 200;
    for n in 0..requests {
        let path = if n % 2 == 0 { "/folders" } else { "/folders/F1" };
        let response = Request::get(path, fixture.token()).send(server.main().address()).await?;
        ensure(response.status == 200, || response.text())?;
    }
    for client in clients {
        client.abort();
    }
    Ok(ScenarioResult {
        acknowledged: requests,
        details:
            "some clients sent heads and bodies slowly or did not read responses; all others were served"
                .to_owned(),
        ..ScenarioResult::new("slow clients", &fixture.engine(), count as u64)
    })
}

async fn idle(
    fixture: &Fixture,
    server: &ServerProcess,
    wanted: u64,
    scale: Scale,
) -> Result<ScenarioResult> {
    let limit = open_files()?;
    let count = wanted.min(limit.saturating_sub(SPARE));
    let fault = "10,000 idle connections";
    if count < wanted / 2 {
        let reason = format!("only {limit} files can be open here");
        return Ok(ScenarioResult::skipped(fault, &fixture.engine(), &reason));
    }
    let before = server.memory("RssAnon")? >> 20;
    let mut connections = Vec::new();
    for n in 0..count {
        let mut stream = TcpStream::connect(server.main().address()).await?;
        // Half of them have sent a request before.
        if n % 2 == 0 {
            stream.write_all(Request::get("/folders", fixture.token()).head().as_bytes()).await?;
            ensure(stream.read(&mut [0; 4096]).await? > 0, || "no response".to_owned())?;
        }
        connections.push(stream);
    }
    let mut served = 0;
    for _ in 0..100 {
        let response =
            Request::get("/folders", fixture.token()).send(server.main().address()).await?;
        ensure(response.status == 200, || response.text())?;
        served += 1;
    }
    let after = server.memory("RssAnon")? >> 20;
    let each = after.saturating_sub(before) * 1024 / count;
    ensure(each <= KILOBYTES_PER_CONNECTION, || format!("{each} KB per idle connection"))?;
    let mut details = format!(
        "{} connections, process memory from {before} to {after} MB ({each} KB each)",
        grouped(count)
    );
    if !scale.is_short {
        // The server closes idle connections eventually.
        for stream in &mut connections {
            retry(Duration::from_secs(150), async || {
                let mut rest = Vec::new();
                match tokio::time::timeout(Duration::from_secs(1), stream.read_to_end(&mut rest))
                    .await
                {
                    Ok(_) => Ok(()),
                    Err(_) => Err("an idle connection is still open".into()),
                }
            })
            .await?;
        }
        details += "; closed after a minute";
    }
    Ok(ScenarioResult {
        acknowledged: served,
        details,
        ..ScenarioResult::new(fault, &fixture.engine(), count)
    })
}

/// The number of files that this process, and so the server, can have open.
fn open_files() -> Result<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()).ok_or("no limit")?;
    Ok(soft.parse().unwrap_or(u64::MAX))
}
