//! A mail server on this machine that keeps the mails it accepts.

use crate::wait::{PATIENCE, wait_until};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// A mail that the server accepted.
#[derive(Clone, Debug)]
pub struct ReceivedMail {
    /// The address of the envelope.
    pub recipient: String,
    /// Headers and text as they arrived.
    pub raw: String,
}

impl ReceivedMail {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        let mut lines = self.raw.lines().take_while(|line| !line.is_empty());
        lines.find_map(|line| line.strip_prefix(start.as_str()))
    }

    /// The text.
    #[track_caller]
    pub fn text(&self) -> String {
        let (_, body) = self.raw.split_once("\n\n").unwrap();
        match self.header("Content-Transfer-Encoding") {
            Some("7bit") => body.to_owned(),
            Some("quoted-printable") => decode_quoted_printable(body),
            other => panic!("the encoding {other:?} is not supported"),
        }
    }

    /// The first link of the text, from its path on.
    #[track_caller]
    pub fn link(&self, path: &str) -> String {
        let text = self.text();
        let mut words = text.split_whitespace();
        let link = words.find(|word| word.starts_with("http") && word.contains(path));
        let link = link.unwrap_or_else(|| panic!("no link to {path} in {text}"));
        link[link.find(path).unwrap()..].to_owned()
    }
}

/// A mail server without encryption. It accepts every mail, except those to addresses that begin with
/// `unknown`.
pub struct MailServer {
    address: SocketAddr,
    mails: Arc<Mutex<Vec<ReceivedMail>>>,
    is_stopping: Arc<AtomicBool>,
}

impl MailServer {
    /// Starts a server on a free port.
    pub fn start() -> Self {
        Self::start_on(0)
    }

    /// Starts a server on a port.
    pub fn start_on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let address = listener.local_addr().unwrap();
        let (mails, is_stopping) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (kept, stopping) = (Arc::clone(&mails), Arc::clone(&is_stopping));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::SeqCst) {
                    return;
                }
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    // A client may hang up at any time.
                    let _ = serve(&stream.unwrap(), &kept);
                });
            }
        });
        Self { address, mails, is_stopping }
    }

    /// A port that nothing listens on.
    pub fn free_port() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    /// The settings of a program that sends its mail to a port of this machine.
    pub fn settings_for(port: u16) -> [(&'static str, String); 4] {
        [
            ("GROMA_SMTP__HOST", "127.0.0.1".to_owned()),
            ("GROMA_SMTP__PORT", port.to_string()),
            ("GROMA_SMTP__ENCRYPTION", "none".to_owned()),
            ("GROMA_SMTP__FROM", "Groma <groma@example.test>".to_owned()),
        ]
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The mails that it has accepted.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.mails.lock().unwrap().clone()
    }

    /// Waits for a mail to this address with this subject, and returns the last one.
    #[track_caller]
    pub fn wait_for(&self, recipient: &str, subject: &str) -> ReceivedMail {
        wait_until(PATIENCE, || {
            let mails = self.mails();
            let found = mails.iter().rev().find(|mail| {
                mail.recipient == recipient
                    && mail.header("Subject").is_some_and(|text| text.contains(subject))
            });
            found.cloned().ok_or_else(|| format!("no mail {subject} to {recipient}: {mails:?}"))
        })
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(self.address);
    }
}

fn decode_quoted_printable(text: &str) -> String {
    let text = text.replace("=\n", "");
    let mut parts = text.split('=');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).unwrap());
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).unwrap()
}

/// Serves one connection.
fn serve(stream: &TcpStream, mails: &Mutex<Vec<ReceivedMail>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let reply = |text: &str| -> std::io::Result<()> {
        let mut writer = stream;
        writer.write_all(format!("{text}\r\n").as_bytes())
    };
    reply("220 ready")?;
    let mut recipient = String::new();
    while let Some(line) = lines.next().transpose()? {
        let command = line.split_whitespace().next().unwrap_or_default().to_uppercase();
        match command.as_str() {
            "EHLO" => reply("250-localhost\r\n250 8BITMIME")?,
            "RCPT" => {
                let address = line.split(['<', '>']).nth(1).unwrap_or_default();
                if address.starts_with("unknown") {
                    reply("550 no such mailbox")?;
                } else {
                    recipient = address.to_owned();
                    reply("250 ok")?;
                }
            }
            "DATA" => {
                reply("354 go ahead")?;
                let mut raw = String::new();
                for line in lines.by_ref() {
                    let line = line?;
                    if line == "." {
                        break;
                    }
                    raw.push_str(line.strip_prefix('.').unwrap_or(&line));
                    raw.push('\n');
                }
                mails.lock().unwrap().push(ReceivedMail { recipient: recipient.clone(), raw });
                reply("250 accepted")?;
            }
            "QUIT" => return reply("221 bye"),
            _ => reply("250 ok")?,
        }
    }
    Ok(())
}
