//! The settings of the mail server.

use super::SettingsError;
use groma_domain::Email;
use lettre::message::Mailbox;
use serde::Deserialize;
use std::{fmt, net::IpAddr, path::PathBuf};

/// The settings as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSmtp {
    host: String,
    port: i64,
    encryption: String,
    allow_unencrypted: bool,
    username: String,
    password: String,
    from: String,
    extra_roots: String,
}

/// How to reach the mail server.
#[derive(Clone, Debug)]
pub(crate) struct Smtp {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) encryption: SmtpEncryption,
    /// Whether mails may go to another machine without encryption.
    pub(crate) allow_unencrypted: bool,
    pub(crate) credentials: Option<SmtpCredentials>,
    /// The sender of all mails.
    pub(crate) from: Mailbox,
    pub(crate) extra_roots: Option<PathBuf>,
}

/// How the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmtpEncryption {
    /// From the command STARTTLS on, which the server must support.
    StartTls,
    /// From the beginning.
    Tls,
    None,
}

impl SmtpEncryption {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StartTls => "starttls",
            Self::Tls => "tls",
            Self::None => "none",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::StartTls => 587,
            Self::Tls => 465,
            Self::None => 25,
        }
    }
}

/// The login at the mail server. `Debug` does not print the password.
#[derive(Clone)]
pub(crate) struct SmtpCredentials {
    pub(crate) username: String,
    pub(crate) password: String,
}

impl fmt::Debug for SmtpCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpCredentials({:?}, …)", self.username)
    }
}

fn wrong(name: &str, reason: impl fmt::Display) -> SettingsError {
    SettingsError::new(name, reason)
}

/// Checks the settings; `None` if there is no mail server.
pub(super) fn validate(raw: RawSmtp) -> Result<Option<Smtp>, SettingsError> {
    let host = raw.host.trim();
    if host.is_empty() {
        let others = [
            ("smtp.username", !raw.username.is_empty()),
            ("smtp.password", !raw.password.is_empty()),
            ("smtp.from", !raw.from.is_empty()),
            ("smtp.extra_roots", !raw.extra_roots.is_empty()),
            ("smtp.port", raw.port != 0),
            ("smtp.allow_unencrypted", raw.allow_unencrypted),
        ];
        return match others.into_iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => {
                Err(wrong("smtp.host", format!("must be set, because {name} is set")))
            }
            None => encryption(&raw.encryption).map(|_| None),
        };
    }
    if host.contains(|c: char| c.is_whitespace() || c.is_control() || "/@".contains(c)) {
        return Err(wrong("smtp.host", "must be a host name or an IP address"));
    }
    let encryption = encryption(&raw.encryption)?;
    if encryption == SmtpEncryption::None && !is_loopback(host) && !raw.allow_unencrypted {
        let reason = "`none` is allowed only for a server on this machine; use starttls or tls, or set \
                      smtp.allow_unencrypted";
        return Err(wrong("smtp.encryption", reason));
    }
    if encryption != SmtpEncryption::None && raw.allow_unencrypted {
        let reason = format!("must be false, because smtp.encryption is {}", encryption.name());
        return Err(wrong("smtp.allow_unencrypted", reason));
    }
    Ok(Some(Smtp {
        host: host.to_owned(),
        port: port(raw.port, encryption)?,
        encryption,
        allow_unencrypted: raw.allow_unencrypted,
        credentials: credentials(raw.username, raw.password)?,
        from: from(&raw.from)?,
        extra_roots: Some(raw.extra_roots).filter(|path| !path.is_empty()).map(PathBuf::from),
    }))
}

fn encryption(text: &str) -> Result<SmtpEncryption, SettingsError> {
    let all = [SmtpEncryption::StartTls, SmtpEncryption::Tls, SmtpEncryption::None];
    let found = all.into_iter().find(|encryption| encryption.name() == text);
    found.ok_or_else(|| wrong("smtp.encryption", "must be starttls, tls or none"))
}

fn port(port: i64, encryption: SmtpEncryption) -> Result<u16, SettingsError> {
    match u16::try_from(port) {
        Ok(0) => Ok(encryption.default_port()),
        Ok(port) => Ok(port),
        Err(_) => Err(wrong("smtp.port", "must be from 1 to 65535, or 0 for the usual port")),
    }
}

fn credentials(
    username: String,
    password: String,
) -> Result<Option<SmtpCredentials>, SettingsError> {
    match (username.is_empty(), password.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some(SmtpCredentials { username, password })),
        (true, false) => Err(wrong("smtp.username", "must be set, because smtp.password is set")),
        (false, true) => Err(wrong("smtp.password", "must be set, because smtp.username is set")),
    }
}

fn from(text: &str) -> Result<Mailbox, SettingsError> {
    let invalid = || {
        let reason = "must be the address of the sender, for example groma@example.com or Groma \
                      <groma@example.com>";
        wrong("smtp.from", reason)
    };
    let mailbox: Mailbox = text.trim().parse().map_err(|_| invalid())?;
    Email::parse(mailbox.email.as_ref()).map_err(|_| invalid())?;
    Ok(mailbox)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
