//! What everything runs on, and the two limits that it sets: how often its disk syncs, and how fast its
//! memory copies.

use crate::{Outcome, effort::Effort, office, table::number};
use std::{
    hint::black_box,
    io::Write as _,
    process::Command,
    time::{Duration, Instant},
};

#[derive(Debug)]
pub(crate) struct Machine {
    processor: String,
    memory: String,
    kernel: String,
    compiler: String,
    load: String,
    syncs_per_second: f64,
}

impl Machine {
    pub(crate) fn look(effort: &Effort) -> Outcome<Self> {
        Ok(Self {
            processor: processor()?,
            memory: memory()?,
            kernel: kernel()?,
            compiler: said("rustc", &["--version"])?,
            load: said("wrk", &["--version"])?.split(" [").next().unwrap_or_default().to_owned(),
            syncs_per_second: sync_rate(effort)?,
        })
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("processor", self.processor.clone()),
            ("memory", self.memory.clone()),
            ("kernel", self.kernel.clone()),
            ("compiler", self.compiler.clone()),
            ("load", self.load.clone()),
            (
                "disk",
                format!("{} syncs/s (4 KB appended, fdatasync)", number(self.syncs_per_second)),
            ),
        ]
    }
}

/// The machine in a line.
pub(crate) fn named() -> Outcome<String> {
    Ok(format!("{}, {} of memory, {}", processor()?, memory()?, kernel()?))
}

fn processor() -> Outcome<String> {
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{}, {cores} cores", field("/proc/cpuinfo", "model name")?))
}

fn memory() -> Outcome<String> {
    let kilobytes = field("/proc/meminfo", "MemTotal")?;
    let kilobytes: u64 = kilobytes.trim_end_matches(" kB").parse()?;
    Ok(format!("{} GB", kilobytes.div_ceil(1024 * 1024)))
}

fn kernel() -> Outcome<String> {
    Ok(format!("Linux {}", std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim()))
}

/// What one of the system's files says behind a name.
fn field(file: &str, name: &str) -> Outcome<String> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    Ok(line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default())
}

/// How often 4 KB appended to a file are on the disk, one after the other.
pub(crate) fn sync_rate(effort: &Effort) -> Outcome<f64> {
    let path = format!("{}/sync", effort.folder()?);
    let mut file = std::fs::File::create(&path)?;
    let (begun, block) = (Instant::now(), [0x47; 4096]);
    let mut syncs = 0;
    while begun.elapsed() < Duration::from_secs(u64::from(effort.seconds)) {
        file.write_all(&block)?;
        file.sync_data()?;
        syncs += 1;
    }
    let rate = f64::from(syncs) / begun.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    Ok(rate)
}

/// How many megabytes of an answer are copied in a second.
pub(crate) fn copy_rate(answer: &[u8]) -> f64 {
    let mut copy = vec![0; answer.len()];
    let begun = Instant::now();
    let mut bytes = 0;
    while begun.elapsed() < Duration::from_millis(300) {
        for _ in 0..1_000 {
            black_box(&mut copy).copy_from_slice(black_box(answer));
            bytes += answer.len();
        }
    }
    bytes as f64 / 1e6 / begun.elapsed().as_secs_f64()
}

/// What is measured: the commit, and what is not as it would be released.
pub(crate) fn commit() -> String {
    let mut commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let changes = said("git", &["status", "--porcelain", "--", ".", ":!bench/RESULTS.md"]);
    if changes.is_ok_and(|changes| !changes.is_empty()) {
        commit.push_str(" with changes");
    }
    match office::profile().as_str() {
        "release" => commit,
        profile => format!("{commit} (built with the profile {profile})"),
    }
}

/// The version of a crate that is built in.
pub(crate) fn locked(name: &str) -> Outcome<String> {
    let lock = std::fs::read_to_string("Cargo.lock")?;
    let after = lock.split(&format!("name = \"{name}\"\nversion = \"")).nth(1);
    Ok(after.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned())
}

/// The first line that a program says.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new(program).args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}
