//! A receiver of deliveries: real sockets, answers as a test says, and a ledger of all that came.

use crate::office::wait_until;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

/// Longer than anything here takes; what takes longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// One delivery as it came.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Hit {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} comes twice");
        value
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The delivery's id.
    pub(crate) fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A whole answer with these headers.
    Whole(u16, Vec<(&'static str, String)>, &'static str),
    /// A 200 whose body never ends.
    Endless,
    /// Nothing, for as long as the receiver lives.
    Silence,
    /// The connection ends.
    Reset,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self::Whole(status, Vec::new(), "noted")
    }
}

type Answering = dyn Fn(&Hit) -> Reply + Send + Sync;

pub(crate) struct Receiver {
    address: SocketAddr,
    hits: Arc<Mutex<Vec<Hit>>>,
    connections: Arc<Mutex<usize>>,
    answering: Arc<Mutex<Arc<Answering>>>,
    /// Lets those go that are kept waiting.
    _hold: mpsc::Sender<()>,
}

impl Receiver {
    /// One that is content with everything.
    pub(crate) fn start() -> Self {
        Self::answering(|_| Reply::status(200))
    }

    pub(crate) fn answering(answer: impl Fn(&Hit) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let hits = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let answering: Arc<Mutex<Arc<Answering>>> = Arc::new(Mutex::new(Arc::new(answer)));
        let (hold, held) = mpsc::channel();
        let held = Arc::new(Mutex::new(held));
        let (ledger, count, say) = (hits.clone(), connections.clone(), answering.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                *count.lock().unwrap() += 1;
                let (ledger, say, held) = (ledger.clone(), say.clone(), held.clone());
                thread::spawn(move || serve(stream, &ledger, &say, &held));
            }
        });
        Self { address, hits, connections, answering, _hold: hold }
    }

    /// Answers otherwise from now on.
    pub(crate) fn answer(&self, answer: impl Fn(&Hit) -> Reply + Send + Sync + 'static) {
        *self.answering.lock().unwrap() = Arc::new(answer);
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that came so far.
    pub(crate) fn hits(&self) -> Vec<Hit> {
        self.hits.lock().unwrap().clone()
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// Waits until so many came; gives them.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Hit> {
        self.wait_until(&format!("{count} deliveries"), |hits| hits.len() >= count)
    }

    /// Waits until the ledger is as wanted; gives it.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&[Hit]) -> bool) -> Vec<Hit> {
        wait_until(PATIENCE, || {
            let hits = self.hits();
            if wanted(&hits) { Ok(hits) } else { Err(format!("{} came, not {what}", hits.len())) }
        })
    }
}

fn serve(
    stream: TcpStream,
    ledger: &Mutex<Vec<Hit>>,
    answering: &Mutex<Arc<Answering>>,
    held: &Mutex<mpsc::Receiver<()>>,
) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(hit) = read(&mut reader) {
        let answering = answering.lock().unwrap().clone();
        let reply = answering(&hit);
        ledger.lock().unwrap().push(hit);
        match reply {
            Reply::Whole(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    head += &format!("{name}: {value}\r\n");
                }
                if writer.write_all(format!("{head}\r\n{body}").as_bytes()).is_err() {
                    return;
                }
            }
            Reply::Endless => {
                let _ = writer.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                while writer.write_all(b"1\r\nx\r\n").is_ok() {
                    thread::park_timeout(Duration::from_millis(20));
                }
                return;
            }
            Reply::Silence => {
                // Until the receiver is dropped, which ends the channel.
                let _ = held.lock().unwrap().recv();
                return;
            }
            Reply::Reset => return,
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Hit> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    assert!(line.starts_with("POST "), "{line}");
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let hit = Hit { path, headers, body: Vec::new() };
    let length = hit.header("content-length").and_then(|length| length.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Hit { body, ..hit })
}
