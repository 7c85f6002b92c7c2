//! Processes under callgrind and the number of instructions that they executed.

use groma_testkit::Result;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A directory for callgrind's output.
pub(crate) struct Callgrind {
    directory: TempDir,
}

impl Callgrind {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { directory: tempfile::tempdir()? })
    }

    /// A command that runs `program` under callgrind.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", self.output_file().display()))
            .arg(program);
        command
    }

    /// The number of instructions of the last command, which must have exited.
    pub(crate) fn total(&self) -> Result<u64> {
        let output = std::fs::read_to_string(self.output_file())?;
        std::fs::remove_file(self.output_file())?;
        let total = output.lines().find_map(|line| line.strip_prefix("totals: "));
        Ok(total.ok_or("callgrind printed no total")?.trim().parse()?)
    }

    fn output_file(&self) -> PathBuf {
        self.directory.path().join("counts")
    }
}
