//! A process under callgrind, and how many instructions it took in all.

use crate::Outcome;
use std::{
    path::PathBuf,
    process::{Child, Command},
};
use tempfile::TempDir;

/// Where callgrind leaves its counts.
pub(crate) struct Callgrind {
    folder: TempDir,
}

impl Callgrind {
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self { folder: tempfile::tempdir()? })
    }

    /// A command that runs `program` under callgrind; its arguments are added to it.
    pub(crate) fn command(&self, program: &std::path::Path) -> Command {
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", self.file().display()))
            .arg(program);
        command
    }

    /// Waits for what [`Callgrind::command`] started, and reads what it took.
    pub(crate) fn finish(&self, mut child: Child) -> Outcome<u64> {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("the counted process ended with {status}").into());
        }
        let text = std::fs::read_to_string(self.file())?;
        std::fs::remove_file(self.file())?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        Ok(total.ok_or("callgrind told no total")?.trim().parse()?)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("counts")
    }
}
