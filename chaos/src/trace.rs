//! Traces and manipulates system calls with `strace`.

use crate::Result;
use groma_testkit::wait::retry;
use parking_lot::Mutex;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

/// An attached strace, detached when dropped.
pub(crate) struct Trace {
    child: Child,
}

impl Trace {
    /// Attaches to all these processes.
    pub(crate) async fn attach(processes: &[u32], options: &[&str], to: &Path) -> Result<Self> {
        let mut command = Command::new("strace");
        command.args(["-f", "-o"]).arg(to).args(options);
        for process in processes {
            command.args(["-p", &process.to_string()]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("no output")?;
        let output = Arc::new(Mutex::new(String::new()));
        let lines = output.clone();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(std::result::Result::ok) {
                lines.lock().push_str(&format!("{line}\n"));
            }
        });
        let trace = Self { child };
        retry(Duration::from_secs(20), async || {
            let lines = output.lock();
            let attached = |process: &u32| {
                let mut lines = lines.lines();
                let output = format!("strace: Process {process} attached");
                lines.any(|line| line == output || line.starts_with(&format!("{output} with")))
            };
            let all = processes.iter().all(attached);
            if all { Ok(()) } else { Err(format!("strace is not attached: {lines}").into()) }
        })
        .await?;
        Ok(trace)
    }

    /// Detaches from the processes.
    pub(crate) fn detach(mut self) -> Result {
        let stopped = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        self.child.wait()?;
        if stopped.success() { Ok(()) } else { Err("strace could not be stopped".into()) }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
