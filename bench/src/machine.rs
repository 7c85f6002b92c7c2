//! The machine, the sync rate of its disk and the copy rate of its memory.

use crate::{Result, profile::Profile, row::number, server};
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
    pub(crate) fn inspect(profile: &Profile) -> Result<Self> {
        Ok(Self {
            processor: processor()?,
            memory: memory()?,
            kernel: kernel()?,
            compiler: first_line("rustc", &["--version"])?,
            load: first_line("wrk", &["--version"])?
                .split(" [")
                .next()
                .unwrap_or_default()
                .to_owned(),
            syncs_per_second: sync_rate(profile)?,
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

/// The machine in one line.
pub(crate) fn describe() -> Result<String> {
    Ok(format!("{}, {} of memory, {}", processor()?, memory()?, kernel()?))
}

fn processor() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{}, {cores} cores", field("/proc/cpuinfo", "model name")?))
}

fn memory() -> Result<String> {
    let kilobytes = field("/proc/meminfo", "MemTotal")?;
    let kilobytes: u64 = kilobytes.trim_end_matches(" kB").parse()?;
    Ok(format!("{} GB", kilobytes.div_ceil(1024 * 1024)))
}

fn kernel() -> Result<String> {
    Ok(format!("Linux {}", std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim()))
}

/// The value of a field in a file under /proc.
fn field(file: &str, name: &str) -> Result<String> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    Ok(line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default())
}

/// The rate of sequential appends of 4 KB with a sync each.
pub(crate) fn sync_rate(profile: &Profile) -> Result<f64> {
    let path = format!("{}/sync", profile.directory()?);
    let mut file = std::fs::File::create(&path)?;
    let (start, block) = (Instant::now(), [0x47; 4096]);
    let mut syncs = 0;
    while start.elapsed() < Duration::from_secs(u64::from(profile.seconds)) {
        file.write_all(&block)?;
        file.sync_data()?;
        syncs += 1;
    }
    let rate = f64::from(syncs) / start.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    Ok(rate)
}

/// The copy rate of a response in MB per second.
pub(crate) fn copy_rate(answer: &[u8]) -> f64 {
    let mut copy = vec![0; answer.len()];
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < Duration::from_millis(300) {
        for _ in 0..1_000 {
            black_box(&mut copy).copy_from_slice(black_box(answer));
            bytes += answer.len();
        }
    }
    bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
}

/// The measured commit, and how it differs from a release.
pub(crate) fn commit() -> String {
    let mut commit = first_line("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let changes = first_line("git", &["status", "--porcelain", "--", ".", ":!bench/RESULTS.md"]);
    if changes.is_ok_and(|changes| !changes.is_empty()) {
        commit.push_str(" with changes");
    }
    match server::cargo_profile().as_str() {
        "release" => commit,
        profile => format!("{commit} (built with the profile {profile})"),
    }
}

/// The locked version of a crate.
pub(crate) fn locked(name: &str) -> Result<String> {
    let lock = std::fs::read_to_string("Cargo.lock")?;
    let after = lock.split(&format!("name = \"{name}\"\nversion = \"")).nth(1);
    Ok(after.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned())
}

/// The first output line of a program.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}
