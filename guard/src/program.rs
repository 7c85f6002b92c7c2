//! The program under callgrind, asked over a connection as a client asks: what a detail and a page of
//! fifty cost it, from the first byte read to the last byte written.

use crate::{Outcome, callgrind::Callgrind};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Detail,
    List,
}

const PAGE: usize = 50;
/// How often each is asked for in the shortest run.
const TIMES: usize = 50;
/// So many that nothing is asked for twice: what would come from memory is not what is counted.
const FOLDERS: usize = PAGE * TIMES * 3;
const WORKSPACE: &str = "Guard";
const OWNER: &str = "survey.lead@example.test";

/// The program and a database with some thousand folders.
pub(crate) struct Program {
    program: PathBuf,
    folder: TempDir,
    token: String,
}

impl Program {
    /// Fills a database through the program's own commands.
    pub(crate) fn new(program: &Path) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let mut new = Self { program: program.to_owned(), folder, token: String::new() };
        new.run(&["workspace", "create", WORKSPACE, "--owner", OWNER], "a long password\n")?;
        let file = new.folder.path().join("folders.json");
        std::fs::write(&file, serde_json::to_vec(&folders())?)?;
        let file = file.to_string_lossy().into_owned();
        new.run(&["import", "folders", &file, "--workspace", WORKSPACE], "")?;
        let token = ["token", "create", "--workspace", WORKSPACE, "--user", OWNER];
        let token = [&token[..], &["--name", "guard", "--scopes", "READ_FOLDER"]].concat();
        new.token = new.run(&token, "")?.trim().to_owned();
        Ok(new)
    }

    /// The instructions of one request of each: what a run with more of them takes more.
    pub(crate) fn count(&self, callgrind: &Callgrind) -> Outcome<[(Asked, u64); 2]> {
        let base = self.total(callgrind, TIMES, TIMES)?;
        let more_details = self.total(callgrind, TIMES * 5, TIMES)?;
        let more_lists = self.total(callgrind, TIMES, TIMES * 3)?;
        let times = TIMES as u64;
        Ok([
            (Asked::Detail, (more_details - base) / (times * 4)),
            (Asked::List, (more_lists - base) / (times * 2)),
        ])
    }

    /// The instructions of a program from start to end that answers so many requests.
    fn total(&self, callgrind: &Callgrind, details: usize, lists: usize) -> Outcome<u64> {
        // Every run begins with the same file: the one before left its rate windows in its own.
        let file = self.folder.path().join("run.db");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.folder.path().join(format!("run.db{suffix}")));
        }
        std::fs::copy(self.folder.path().join("guard.db"), &file)?;
        let mut child = self.serve(callgrind, &file)?;
        let asked = listening(&mut child).and_then(|address| {
            let mut client = Client::new(address, &self.token)?;
            for n in 0..details {
                client.get(&format!("/api/public/v1/folders/F-{:06}", n % FOLDERS + 1))?;
            }
            for n in 0..lists {
                let page = n % (FOLDERS / PAGE) + 1;
                client.get(&format!("/api/public/v1/folders?limit={PAGE}&page={page}"))?;
            }
            Ok(())
        });
        // Asked to end in order, or callgrind would tell nothing; it must not outlive a failure either.
        let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        if !told.success() {
            return Err("the program was gone before its time".into());
        }
        let total = callgrind.finish(child);
        asked?;
        total
    }

    fn serve(&self, callgrind: &Callgrind, file: &Path) -> Outcome<Child> {
        // Of the roles only the one that answers, and one thread that does: with more of them, which
        // one takes a request and what the others do meanwhile would be counted too.
        Ok(callgrind
            .command(&self.program)
            .args(["--database", &format!("sqlite:{}", file.display())])
            .args(["serve", "--roles", "main"])
            .env("TOKIO_WORKER_THREADS", "1")
            .env("GROMA_SERVER__LISTEN", "127.0.0.1:0")
            // The rate is counted, with a figure that is not reached.
            .env("GROMA_LIMITS__REQUESTS_PER_MINUTE", "1000000")
            .stderr(Stdio::piped())
            .spawn()?)
    }

    /// What a command of the program says.
    fn run(&self, arguments: &[&str], input: &str) -> Outcome<String> {
        let database = format!("sqlite:{}", self.folder.path().join("guard.db").display());
        let mut child = Command::new(&self.program)
            .args(["--database", &database])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        child.stdin.take().ok_or("no input")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err(format!("groma {} failed", arguments[0]).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Folders as the demonstration has them, a little under a kilobyte each.
fn folders() -> serde_json::Value {
    let folder = |n: usize| {
        json!({
            "name": format!("Les Ormes, boundary survey {n}"),
            "description": format!("Boundary survey for the roads department at Les Ormes, part {n}"),
            "clientName": "Roads department",
            "owner": format!("field.crew.{}@example.test", n % 40),
            "startDate": "2026-03-02",
            "tags": ["boundary survey"],
        })
    };
    (0..FOLDERS).map(folder).collect()
}

/// Waits until the program says where it listens; what it logs after that is read and dropped.
fn listening(child: &mut Child) -> Outcome<SocketAddr> {
    let mut lines = BufReader::new(child.stderr.take().ok_or("no log")?).lines();
    let address = loop {
        let line = lines.next().ok_or("the program did not start")??;
        let rest = line.split_once("\"main\":\"").map(|(_, rest)| rest);
        if let Some(address) = rest.and_then(|rest| rest.split('"').next()?.parse().ok()) {
            break address;
        }
    };
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Ok(address)
}

/// A connection that is kept.
struct Client<'t> {
    stream: BufReader<TcpStream>,
    token: &'t str,
}

impl<'t> Client<'t> {
    fn new(address: SocketAddr, token: &'t str) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), token })
    }

    /// Asks for a path and reads the answer, which must be a 200.
    fn get(&mut self, path: &str) -> Outcome {
        let token = self.token;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut status = String::new();
        self.stream.read_line(&mut status)?;
        if !status.starts_with("HTTP/1.1 200 ") {
            return Err(format!("{path} was answered with {}", status.trim()).into());
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if length == 0 { Err(format!("{path} was answered with nothing").into()) } else { Ok(()) }
    }
}
