//! Clients that are slow, and very many that say nothing.

use crate::{
    Outcome, Scale, ensure,
    http::Ask,
    office::{Engine, Office, Program},
    report::{Proof, grouped},
    wait_until,
};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

/// The most memory of its own that the program may take for one idle connection.
const KILOBYTES_EACH: u64 = 32;
/// Descriptors that are needed for anything else.
const SPARE: u64 = 500;

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let on = Engine::Sqlite;
    let office = Office::open(on).await?;
    let program = office.serve().await?;
    let slow = slow(&office, &program, scale.pick(150, 1_500)).await?;
    let idle = idle(&office, &program, scale.pick(2_000, 10_000), scale).await?;
    Ok(vec![slow, idle])
}

/// Sends what it is asked to, a byte every now and then, until the server has enough of it.
async fn drip(address: SocketAddr, bytes: Vec<u8>) {
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    for byte in bytes {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Asks twenty times, and reads none of it.
async fn deaf(address: SocketAddr, bytes: Vec<u8>) {
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    if stream.write_all(&bytes.repeat(20)).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

async fn slow(office: &Office, program: &Program, count: usize) -> Outcome<Proof> {
    let get = Ask::get("/folders", office.token());
    let body = "x".repeat(1 << 20);
    let post = Ask::post("/geometries/geojson", office.token(), &body.into());
    let mut clients: Vec<JoinHandle<()>> = Vec::new();
    for n in 0..count {
        let (main, geo) = (program.main, program.geo);
        clients.push(match n % 3 {
            0 => tokio::spawn(drip(main, get.head().into_bytes())),
            1 => tokio::spawn(deaf(main, get.head().into_bytes())),
            _ => tokio::spawn(drip(geo, [post.head().as_bytes(), b"\"xxxx"].concat())),
        });
    }
    let requests = 200;
    for n in 0..requests {
        let path = if n % 2 == 0 { "/folders" } else { "/folders/F1" };
        let answer = Ask::get(path, office.token()).send(program.main).await?;
        ensure(answer.status == 200, || answer.text())?;
    }
    for client in clients {
        client.abort();
    }
    Ok(Proof {
        acknowledged: requests,
        seen: "heads and bodies that drip, answers that nobody reads; all others were served"
            .to_owned(),
        ..Proof::new("slow clients", &office.engine(), count as u64)
    })
}

async fn idle(office: &Office, program: &Program, wanted: u64, scale: Scale) -> Outcome<Proof> {
    let limit = open_files()?;
    let count = wanted.min(limit.saturating_sub(SPARE));
    let fault = "10,000 idle connections";
    if count < wanted / 2 {
        let reason = format!("no more than {limit} files may be open here");
        return Ok(Proof::skipped(fault, &office.engine(), &reason));
    }
    let before = program.memory()?;
    let mut connections = Vec::new();
    for n in 0..count {
        let mut stream = TcpStream::connect(program.main).await?;
        // Half of them have asked for something before.
        if n % 2 == 0 {
            stream.write_all(Ask::get("/folders", office.token()).head().as_bytes()).await?;
            ensure(stream.read(&mut [0; 4096]).await? > 0, || "no answer".to_owned())?;
        }
        connections.push(stream);
    }
    let mut served = 0;
    for _ in 0..100 {
        let answer = Ask::get("/folders", office.token()).send(program.main).await?;
        ensure(answer.status == 200, || answer.text())?;
        served += 1;
    }
    let after = program.memory()?;
    let each = after.saturating_sub(before) * 1024 / count;
    ensure(each <= KILOBYTES_EACH, || format!("{each} KB for each idle connection"))?;
    let mut seen = format!(
        "{} connections, memory of its own from {before} to {after} MB ({each} KB each)",
        grouped(count)
    );
    if !scale.is_short {
        // It does not keep them for ever.
        for stream in &mut connections {
            wait_until(Duration::from_secs(150), async || {
                let mut rest = Vec::new();
                match tokio::time::timeout(Duration::from_secs(1), stream.read_to_end(&mut rest))
                    .await
                {
                    Ok(_) => Ok(()),
                    Err(_) => Err("an idle connection is still there".into()),
                }
            })
            .await?;
        }
        seen += "; let go after a minute";
    }
    Ok(Proof { acknowledged: served, seen, ..Proof::new(fault, &office.engine(), count) })
}

/// How many files this program may have open, and so the one it starts.
fn open_files() -> Outcome<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()).ok_or("no limit")?;
    Ok(soft.parse().unwrap_or(u64::MAX))
}
