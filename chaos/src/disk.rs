//! A disk that is full, and one that fails.

use crate::{
    Outcome, Scale, ensure,
    http::Ask,
    is_installed,
    ledger::{FOLDERS, Ledger, feature},
    load::Load,
    office::{Engine, Office},
    receiver::{Manner, Receiver},
    report::Proof,
    server::is_root,
    trace::Trace,
    wait_until,
};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

const FULL: &str = "disk full";
const FAILING: &str = "write error (every sync fails)";
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    Ok(vec![full(scale.pick(2, 10)).await?, failing(scale.pick(2, 10)).await?])
}

/// A small file system in memory; gone when dropped.
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
        // What could not be removed while it was mounted.
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

/// Takes up all the room there is.
fn fill(folder: &Path) -> Outcome<PathBuf> {
    let path = folder.join("filler");
    let mut file = std::fs::File::create(&path)?;
    let mut block = vec![0; 1 << 20];
    // Down to the last page.
    while !block.is_empty() {
        while file.write_all(&block).is_ok() {}
        block.truncate(block.len() / 2);
    }
    Ok(path)
}

async fn full(rounds: u64) -> Outcome<Proof> {
    let on = Engine::Sqlite;
    if !is_root() {
        return Ok(Proof::skipped(FULL, &on, "only root can mount a small file system"));
    }
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let Some(disk) = Tmpfs::mount(data.clone()) else {
        return Ok(Proof::skipped(FULL, &on, "no small file system can be mounted here"));
    };
    let office = Office::open_in(on, folder, &data).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let program = office.serve().await?;
    let load = Load::start(&ledger, office.token(), &[program.geo]);
    let (mut recovery, mut reads) = (Duration::ZERO, 0_u64);
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), 20).await?;
        let filler = fill(&disk.0)?;
        let before = ledger.refused();
        wait_until(PATIENCE, async || {
            let refused = ledger.refused() - before;
            ensure(refused >= FOLDERS as u64, || format!("{refused} refused"))
        })
        .await?;
        reads += read_on(&office, program.main).await?;
        std::fs::remove_file(filler)?;
        let begun = Instant::now();
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        recovery = recovery.max(begun.elapsed());
    }
    load.stop().await;
    let settled = ledger.settle(&office, &program, &receiver).await?;
    drop((program, office));
    Ok(Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, settled.delivered)),
        recovery: Some(recovery),
        seen: format!("{} writes answered 500; {reads} reads went on", ledger.refused()),
        ..Proof::new(FULL, &on, rounds)
    })
}

/// Every sync that the program asks for fails, by strace.
async fn failing(rounds: u64) -> Outcome<Proof> {
    let on = Engine::Sqlite;
    if !is_installed("strace") {
        return Ok(Proof::skipped(FAILING, &on, "strace is not installed"));
    }
    let office = Office::open(on).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let ledger = Ledger::default();
    let program = office.serve().await?;
    let (mut recovery, mut reads) = (Duration::ZERO, 0_u64);
    let write = async || -> Outcome<u16> {
        let n = ledger.begin(0);
        let path = "/geometries/geojson?folder=F0";
        let ask = Ask::post(path, office.token(), &feature(0, n));
        let begun = Instant::now();
        let answer = ask.send(program.geo).await?;
        match answer.status {
            200 => ledger.acknowledge(0, n),
            status => ledger.refuse(status, begun.elapsed(), &answer.text()),
        }
        Ok(answer.status)
    };
    for _ in 0..rounds {
        for _ in 0..5 {
            ensure(write().await? == 200, || "a write before the fault was refused".to_owned())?;
        }
        let inject = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"];
        let trace = Trace::attach(&[program.id()], &inject, Path::new("/dev/null")).await?;
        for _ in 0..5 {
            let status = write().await?;
            ensure(status == 500, || format!("a write that was not synced was answered {status}"))?;
        }
        reads += read_on(&office, program.main).await?;
        trace.detach()?;
        let begun = Instant::now();
        wait_until(PATIENCE, async || {
            let status = write().await?;
            ensure(status == 200, || format!("answered {status}"))
        })
        .await?;
        recovery = recovery.max(begun.elapsed());
    }
    let settled = ledger.settle(&office, &program, &receiver).await?;
    Ok(Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, settled.delivered)),
        recovery: Some(recovery),
        seen: format!("{} writes answered 500; {reads} reads went on", ledger.refused()),
        ..Proof::new(FAILING, &on, rounds)
    })
}

/// Reads lists and records, which must all be there; gives how many.
async fn read_on(office: &Office, main: std::net::SocketAddr) -> Outcome<u64> {
    let paths = ["/folders", "/folders/F0", "/folders?term=F", "/statuses"];
    for path in paths {
        let answer = Ask::get(path, office.token()).send(main).await?;
        ensure(answer.status == 200, || format!("{path}: {}", answer.text()))?;
    }
    Ok(paths.len() as u64)
}
