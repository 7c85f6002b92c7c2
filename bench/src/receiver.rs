//! A cheap webhook receiver in a process of its own. It records when the first byte of each delivery
//! arrived and the name of its record.

use crate::Result;
use groma_testkit::{
    Client,
    http::Request,
    receiver::{ReceivedRequest, Reply, listen},
};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The receiver process, killed when dropped.
pub(crate) struct Receiver {
    child: Child,
    client: Client,
}

/// A delivery.
pub(crate) struct Arrival {
    /// Microseconds since 1970.
    pub(crate) at: u64,
    /// The name of the record.
    pub(crate) name: String,
}

impl Receiver {
    pub(crate) fn start() -> Result<Self> {
        let mut child =
            Command::new(std::env::current_exe()?).arg("receive").stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, client: Client::new(line.trim().parse()?) })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.client.authority())
    }

    /// The number of deliveries so far.
    pub(crate) fn count(&self) -> Result<u64> {
        Ok(self.query("/count")?.trim().parse()?)
    }

    /// Waits for this number of deliveries.
    pub(crate) async fn wait_for(&self, count: u64) -> Result {
        while self.count()? < count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The deliveries since the last call.
    pub(crate) fn take(&self) -> Result<Vec<Arrival>> {
        let text = self.query("/take")?;
        let arrival = |line: &str| {
            let (at, name) = line.split_once(' ')?;
            Some(Arrival { at: at.parse().ok()?, name: name.to_owned() })
        };
        Ok(text.lines().filter_map(arrival).collect())
    }

    fn query(&self, path: &str) -> Result<String> {
        Ok(self.client.send(&Request::new("GET", path))?.text())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The current time in microseconds since 1970.
pub(crate) fn micros() -> u64 {
    micros_of(SystemTime::now())
}

fn micros_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

#[derive(Default)]
struct Arrivals {
    count: AtomicU64,
    lines: Mutex<String>,
}

/// Receives deliveries until the process is killed.
pub(crate) async fn run() -> Result {
    let arrivals = Arrivals::default();
    println!("{}", listen(None, Arc::default(), move |request| arrivals.handle(&request)));
    std::future::pending().await
}

impl Arrivals {
    fn handle(&self, request: &ReceivedRequest) -> Reply {
        match request.path.as_str() {
            "/count" => Reply::with_body(200, &self.count.load(Ordering::Relaxed).to_string()),
            "/take" => {
                let lines = self.lines.lock().map(|mut lines| std::mem::take(&mut *lines));
                Reply::with_body(200, &lines.unwrap_or_default())
            }
            path if path.starts_with("/hang") => Reply::Hang,
            path => {
                self.count.fetch_add(1, Ordering::Relaxed);
                if path.starts_with("/time") {
                    let body = String::from_utf8_lossy(&request.body);
                    let name = body.split("\"name\":\"").nth(1).and_then(|t| t.split('"').next());
                    let line = format!(
                        "{} {}\n",
                        micros_of(request.received_at),
                        name.unwrap_or_default()
                    );
                    let _ = self.lines.lock().map(|mut lines| lines.push_str(&line));
                }
                Reply::status(204)
            }
        }
    }
}
