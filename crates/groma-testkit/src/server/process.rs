//! A running `groma serve`.

use crate::{Client, Result, wait::wait_until};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::JoinHandle,
    time::Duration,
};

/// How long a start can take, with all migrations on a busy machine.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a process can take to exit after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// An address without a listener, for roles that have none.
const NO_LISTENER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// The exit code of a process; `None` after a signal.
pub type ExitCode = Option<i32>;

/// A process that serves. It is killed when dropped.
pub struct ServerProcess {
    child: Child,
    main: Client,
    geo: Client,
    admin: Option<Client>,
    redirect: Option<Client>,
    log: Arc<Mutex<String>>,
    stdout: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts a command, and returns when its log says where it listens.
    pub fn start(mut command: Command, timeout: Duration) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let printed = Arc::new(Mutex::new(String::new()));
        let log = Arc::new(Mutex::new(String::new()));
        let (send, addresses) = mpsc::channel();
        let (out, err) = (printed.clone(), log.clone());
        let readers = vec![
            std::thread::spawn(move || copy_lines(stdout, &out, |_| ())),
            std::thread::spawn(move || {
                copy_lines(stderr, &err, |line| {
                    if let Some(addresses) = parse_addresses(line) {
                        let _ = send.send(addresses);
                    }
                });
            }),
        ];
        let nowhere = Client::new(NO_LISTENER);
        let mut process = Self {
            child,
            main: nowhere.clone(),
            geo: nowhere,
            admin: None,
            redirect: None,
            log,
            stdout: printed,
            readers,
        };
        // The channel closes when the process exits.
        match addresses.recv_timeout(timeout) {
            Ok([main, geo, admin, redirect]) => {
                process.main = main.map_or(process.main.clone(), Client::new);
                process.geo = geo.map_or(process.geo.clone(), Client::new);
                process.admin = admin.map(Client::new);
                process.redirect = redirect.map(Client::new);
                Ok(process)
            }
            Err(_) => Err(format!("the program does not serve: {}", process.log()).into()),
        }
    }

    /// A client of the main address.
    pub fn main(&self) -> &Client {
        &self.main
    }

    /// A client of the geo address.
    pub fn geo(&self) -> &Client {
        &self.geo
    }

    /// A client of the admin address, which the settings must have.
    pub fn admin(&self) -> &Client {
        self.admin.as_ref().expect("server.admin_listen is not set")
    }

    /// A client of the address that redirects to https, which the settings must have.
    pub fn redirect(&self) -> &Client {
        self.redirect.as_ref().expect("server.tls.redirect_listen is not set")
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.lock().unwrap().clone()
    }

    /// A memory figure from `/proc/PID/status` in bytes: `VmRSS`, `RssAnon` or `VmHWM`.
    pub fn memory(&self, field: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(name, _)| *name == field).ok_or("no such memory figure")?;
        let kilobytes: u64 = value.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024)
    }

    /// Sends a signal to this process.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Stops the process with SIGTERM and returns its exit code.
    #[track_caller]
    pub fn terminate(mut self) -> ExitCode {
        self.signal("TERM");
        self.wait_for_exit()
    }

    /// Waits until the process exits and returns its exit code.
    #[track_caller]
    pub fn wait_for_exit(&mut self) -> ExitCode {
        wait_until(STOP_TIMEOUT, || match self.child.try_wait().unwrap() {
            Some(status) => Ok(status.code()),
            None => Err(format!("the process is still running: {}", self.log())),
        })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

impl std::fmt::Debug for ServerProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerProcess").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Copies lines to a buffer until the stream ends, and calls `inspect` with each copied line.
fn copy_lines(from: impl Read, to: &Mutex<String>, inspect: impl Fn(&str)) {
    for line in BufReader::new(from).lines().map_while(std::result::Result::ok) {
        let mut buffer = to.lock().unwrap();
        buffer.push_str(&line);
        buffer.push('\n');
        drop(buffer);
        inspect(&line);
    }
}

/// The main, geo, admin and redirect addresses of the log line that announces them.
fn parse_addresses(line: &str) -> Option<[Option<SocketAddr>; 4]> {
    let entry: Value = serde_json::from_str(line).ok()?;
    let address = |name: &str| entry[name].as_str().and_then(|text| text.parse().ok());
    let addresses = ["main", "geo", "admin", "redirect"].map(address);
    (entry["message"] == "serving" || addresses.iter().any(Option::is_some)).then_some(addresses)
}
