//! A receiver of deliveries that costs next to nothing: reads a request, notes when its first byte
//! came and the name in its document, answers 204. It runs as a process of its own.

use crate::Outcome;
use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The process; ended when dropped.
pub(crate) struct Receiver {
    child: Child,
    address: SocketAddr,
}

/// One delivery as it came.
pub(crate) struct Arrival {
    /// Microseconds since 1970.
    pub(crate) at: u64,
    /// The name of the record that it is about.
    pub(crate) name: String,
}

impl Receiver {
    pub(crate) fn start() -> Outcome<Self> {
        let mut child =
            Command::new(std::env::current_exe()?).arg("receive").stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, address: line.trim().parse()? })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many came so far.
    pub(crate) fn count(&self) -> Outcome<u64> {
        Ok(self.ask("/count")?.trim().parse()?)
    }

    /// Waits until so many came.
    pub(crate) async fn wait_for(&self, count: u64) -> Outcome {
        while self.count()? < count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// What came since the last time this was asked.
    pub(crate) fn take(&self) -> Outcome<Vec<Arrival>> {
        let text = self.ask("/take")?;
        let arrival = |line: &str| {
            let (at, name) = line.split_once(' ')?;
            Some(Arrival { at: at.parse().ok()?, name: name.to_owned() })
        };
        Ok(text.lines().filter_map(arrival).collect())
    }

    fn ask(&self, path: &str) -> Outcome<String> {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.address)?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Microseconds since 1970.
pub(crate) fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

#[derive(Default)]
struct Ledger {
    count: AtomicU64,
    lines: Mutex<String>,
}

/// Receives until it is ended.
pub(crate) async fn run() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let ledger = Arc::new(Ledger::default());
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        tokio::spawn(serve(stream, ledger.clone()));
    }
}

async fn serve(mut stream: TcpStream, ledger: Arc<Ledger>) {
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        buffer.clear();
        let mut first_byte = 0;
        let (head, length) = loop {
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if first_byte == 0 {
                first_byte = micros();
            }
            if let Some(end) = find(&buffer, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1);
                let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
                break (end + 4, length.unwrap_or(0_usize));
            }
        };
        while buffer.len() < head + length {
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        let text = String::from_utf8_lossy(&buffer);
        let path = text.split(' ').nth(1).unwrap_or_default();
        let body = match path {
            "/count" => ledger.count.load(Ordering::Relaxed).to_string(),
            "/take" => ledger.lines.lock().map(|mut l| std::mem::take(&mut *l)).unwrap_or_default(),
            path => {
                if path.starts_with("/hang") {
                    std::future::pending::<()>().await;
                }
                ledger.count.fetch_add(1, Ordering::Relaxed);
                if path.starts_with("/time") {
                    let name = text.split("\"name\":\"").nth(1).and_then(|t| t.split('"').next());
                    let line = format!("{first_byte} {}\n", name.unwrap_or_default());
                    let _ = ledger.lines.lock().map(|mut lines| lines.push_str(&line));
                }
                if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_err() {
                    return;
                }
                continue;
            }
        };
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{body}").as_bytes()).await;
        return;
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}
