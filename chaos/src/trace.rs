//! Looking at, and meddling with, the system calls of programs, by `strace`.

use crate::{Outcome, wait_until};
use parking_lot::Mutex;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

/// A strace that is attached; let go when dropped.
pub(crate) struct Trace {
    child: Child,
}

impl Trace {
    /// Attaches to these processes with these options; done when it has them all.
    pub(crate) async fn attach(processes: &[u32], options: &[&str], to: &Path) -> Outcome<Self> {
        let mut command = Command::new("strace");
        command.args(["-f", "-o"]).arg(to).args(options);
        for process in processes {
            command.args(["-p", &process.to_string()]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("no words")?;
        let words = Arc::new(Mutex::new(String::new()));
        let heard = words.clone();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                heard.lock().push_str(&format!("{line}\n"));
            }
        });
        let trace = Self { child };
        wait_until(Duration::from_secs(20), async || {
            let heard = words.lock();
            let attached = |process: &u32| {
                let mut lines = heard.lines();
                let words = format!("strace: Process {process} attached");
                lines.any(|line| line == words || line.starts_with(&format!("{words} with")))
            };
            let all = processes.iter().all(attached);
            if all { Ok(()) } else { Err(format!("strace is not attached: {heard}").into()) }
        })
        .await?;
        Ok(trace)
    }

    /// Lets the processes go on as they were.
    pub(crate) fn detach(mut self) -> Outcome {
        let asked = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        self.child.wait()?;
        if asked.success() { Ok(()) } else { Err("strace could not be asked to end".into()) }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
