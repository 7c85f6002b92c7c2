//! A full disk, and a disk that fails to sync.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::FOLDERS,
    fixture::Fixture,
    is_installed,
    ledger::{Ledger, feature},
    load::Load,
    postgres_server::is_root,
    report::ScenarioResult,
    trace::Trace,
};
use groma_testkit::{Engine, http::Request, wait::retry};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

const FULL: &str = "disk full";
const FAILING: &str = "failing disk (every sync returns an error)";
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    Ok(vec![full(scale.pick(2, 10)).await?, failing(scale.pick(2, 10)).await?])
}

/// A small file system in memory, unmounted when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(at: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&at).ok()?;
        let mount = ["-t", "tmpfs", "-o", "size=24m", "tmpfs"];
        let done = Command::new("mount").args(mount).arg(&at).output().ok()?;
        done.status.success().then_some(Self(at))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        // The directory could not be removed while it was mounted.
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

/// Fills the file system completely.
fn fill(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("filler");
    let mut file = std::fs::File::create(&path)?;
    let mut block = vec![0; 1 << 20];
    // Smaller blocks fill the last page.
    while !block.is_empty() {
        while file.write_all(&block).is_ok() {}
        block.truncate(block.len() / 2);
    }
    Ok(path)
}

async fn full(rounds: u64) -> Result<ScenarioResult> {
    let on = Engine::Sqlite;
    if !is_root() {
        return Ok(ScenarioResult::skipped(FULL, &on, "mounting a small file system needs root"));
    }
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let Some(disk) = Tmpfs::mount(data.clone()) else {
        return Ok(ScenarioResult::skipped(
            FULL,
            &on,
            "a small file system cannot be mounted here",
        ));
    };
    let fixture = Fixture::new_in(on, folder, &data);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let server = fixture.serve().await?;
    let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
    let (mut recovery, mut reads) = (Duration::ZERO, 0_u64);
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), 20).await?;
        let filler = fill(&disk.0)?;
        let before = ledger.errors();
        retry(PATIENCE, async || {
            let failed = ledger.errors() - before;
            ensure(failed >= FOLDERS as u64, || format!("{failed} writes failed"))
        })
        .await?;
        reads += check_reads(&fixture, server.main().address()).await?;
        std::fs::remove_file(filler)?;
        let start = Instant::now();
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        recovery = recovery.max(start.elapsed());
    }
    load.stop().await;
    let verified = ledger.verify(&fixture, &server, &receiver).await?;
    drop((server, fixture));
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, verified.delivered)),
        recovery: Some(recovery),
        details: format!("{} writes got a 500; {reads} reads succeeded", ledger.errors()),
        ..ScenarioResult::new(FULL, &on, rounds)
    })
}

/// Makes every sync of the process fail, with strace.
async fn failing(rounds: u64) -> Result<ScenarioResult> {
    let on = Engine::Sqlite;
    if !is_installed("strace") {
        return Ok(ScenarioResult::skipped(FAILING, &on, "strace is not installed"));
    }
    let fixture = Fixture::new(on);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let ledger = Ledger::default();
    let server = fixture.serve().await?;
    let (mut recovery, mut reads) = (Duration::ZERO, 0_u64);
    let write = async || -> Result<u16> {
        let n = ledger.begin(0);
        let path = "/geometries/geojson?folder=F0";
        let request = Request::post(path, fixture.token(), &feature(0, n));
        let start = Instant::now();
        let response = request.send(server.geo().address()).await?;
        match response.status {
            200 => ledger.acknowledge(0, n),
            status => ledger.record_error(status, start.elapsed(), &response.text()),
        }
        Ok(response.status)
    };
    for _ in 0..rounds {
        for _ in 0..5 {
            ensure(write().await? == 200, || "a write before the fault failed".to_owned())?;
        }
        let inject = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"];
        let trace = Trace::attach(&[server.id()], &inject, Path::new("/dev/null")).await?;
        for _ in 0..5 {
            let status = write().await?;
            ensure(status == 500, || format!("a write that was not synced got {status}"))?;
        }
        reads += check_reads(&fixture, server.main().address()).await?;
        trace.detach()?;
        let start = Instant::now();
        retry(PATIENCE, async || {
            let status = write().await?;
            ensure(status == 200, || format!("got {status}"))
        })
        .await?;
        recovery = recovery.max(start.elapsed());
    }
    let verified = ledger.verify(&fixture, &server, &receiver).await?;
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, verified.delivered)),
        recovery: Some(recovery),
        details: format!("{} writes got a 500; {reads} reads succeeded", ledger.errors()),
        ..ScenarioResult::new(FAILING, &on, rounds)
    })
}

/// Reads lists and records, which must succeed, and returns their number.
async fn check_reads(fixture: &Fixture, main: std::net::SocketAddr) -> Result<u64> {
    let paths = ["/folders", "/folders/F0", "/folders?term=F", "/statuses"];
    for path in paths {
        let response = Request::get(path, fixture.token()).send(main).await?;
        ensure(response.status == 200, || format!("{path}: {}", response.text()))?;
    }
    Ok(paths.len() as u64)
}
