//! The address of a PostgreSQL server, and how connections to it are encrypted.

mod tls;

use crate::{Error, Result};
use percent_encoding::percent_decode_str;
use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio_postgres::{
    Client, Config, Connection, Socket,
    config::{Host, SslMode},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A connection that a task must drive.
type ServerConnection = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// A PostgreSQL server and database, from a URL.
#[derive(Clone)]
pub(crate) struct Server {
    config: Config,
    tls: MakeRustlsConnect,
    encryption: Encryption,
}

/// How connections are encrypted, as `sslmode` of libpq defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Never: `disable`.
    Disabled,
    /// If the server offers it: `prefer`. Only for a server on the same machine.
    Preferred,
    /// Always, without checking who the server is: `require`.
    Required,
    /// Always, with a certificate of a trusted authority: `verify-ca`.
    VerifiedAuthority,
    /// Always, with a certificate of a trusted authority for this host: `verify-full`.
    VerifiedHost,
}

impl Encryption {
    const NAMES: [(&'static str, Self); 5] = [
        ("disable", Self::Disabled),
        ("prefer", Self::Preferred),
        ("require", Self::Required),
        ("verify-ca", Self::VerifiedAuthority),
        ("verify-full", Self::VerifiedHost),
    ];

    fn parse(text: &str) -> Result<Self> {
        let known = Self::NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, mode)| *mode).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            Error::Url(format!("sslmode must be one of {names}, not \"{text}\""))
        })
    }
}

/// The TLS parameters of a URL.
#[derive(Default)]
struct TlsParameters {
    mode: Option<Encryption>,
    root_certificate: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Server {
    /// Parses a URL. A server on another machine requires encryption unless the URL disables it.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (url, parameters) = TlsParameters::split_off(url)?;
        let mut config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| Error::Url(error.to_string()))?;
        let encryption = match parameters.mode {
            // Anybody can get a certificate of a public authority, so like libpq, these also need the right host.
            None | Some(Encryption::VerifiedHost) if parameters.uses_system_authorities() => {
                Encryption::VerifiedHost
            }
            Some(_) if parameters.uses_system_authorities() => {
                let problem = "sslrootcert=system needs sslmode=verify-full";
                return Err(Error::Url(problem.to_owned()));
            }
            None | Some(Encryption::Preferred) if !is_local(&config) => Encryption::Required,
            mode => mode.unwrap_or(Encryption::Preferred),
        };
        config.ssl_mode(match encryption {
            Encryption::Disabled => SslMode::Disable,
            Encryption::Preferred => SslMode::Prefer,
            _ => SslMode::Require,
        });
        let (tls, encryption) = tls::client_config(&parameters, encryption)?;
        Ok(Self { config, tls: MakeRustlsConnect::new(tls), encryption })
    }

    /// For settings besides encryption.
    pub(crate) fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    pub(crate) fn encryption(&self) -> Encryption {
        self.encryption
    }

    /// Whether the server runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.config)
    }

    pub(crate) async fn connect(
        &self,
    ) -> Result<(Client, ServerConnection), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }

    /// The same server with another timeout and name, for a connection outside the pool.
    pub(crate) fn with_name(mut self, name: &str, timeout: Duration) -> Self {
        self.config.connect_timeout(timeout).application_name(name);
        self
    }
}

impl TlsParameters {
    /// Whether the authorities of this machine are trusted, such as those of public certificates.
    fn uses_system_authorities(&self) -> bool {
        self.root_certificate.as_deref() == Some(Path::new("system"))
    }

    /// Takes the parameters that the PostgreSQL client does not know out of a URL.
    fn split_off(url: &str) -> Result<(String, Self)> {
        let mut parameters = Self::default();
        let Some((address, query)) = url.split_once('?') else {
            return Ok((url.to_owned(), parameters));
        };
        let mut others = Vec::new();
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            let path = || Some(PathBuf::from(value.as_ref())).filter(|path| path != "");
            match name {
                "sslmode" => parameters.mode = Some(Encryption::parse(&value)?),
                "sslrootcert" => parameters.root_certificate = path(),
                "sslcert" => parameters.certificate = path(),
                "sslkey" => parameters.key = path(),
                _ => others.push(parameter),
            }
        }
        Ok((format!("{address}?{}", others.join("&")), parameters))
    }
}

/// Whether all hosts are sockets or loopback addresses.
fn is_local(config: &Config) -> bool {
    let is_loopback = |host: &str| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(|host| match host {
            Host::Tcp(host) => is_loopback(host),
            Host::Unix(_) => true,
        }),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encryption(url: &str) -> Encryption {
        Server::parse(url).unwrap().encryption()
    }

    #[test]
    fn server_on_another_machine_requires_encryption() {
        assert_eq!(encryption("postgres://groma@db.example.org/groma"), Encryption::Required);
        assert_eq!(encryption("postgres://groma@192.0.2.1/groma"), Encryption::Required);
        let prefer = "postgres://groma@db.example.org/groma?sslmode=prefer";
        assert_eq!(encryption(prefer), Encryption::Required);
        let disable = "postgres://groma@db.example.org/groma?sslmode=disable";
        assert_eq!(encryption(disable), Encryption::Disabled);
    }

    #[test]
    fn server_on_this_machine_prefers_encryption() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "%2Frun%2Fpostgresql"] {
            let url = format!("postgres://groma@{host}/groma");
            assert_eq!(encryption(&url), Encryption::Preferred, "{host}");
        }
        let several = "postgres://groma@localhost,db.example.org/groma";
        assert_eq!(encryption(several), Encryption::Required);
        let elsewhere = "postgres://groma@localhost/groma?hostaddr=192.0.2.1";
        assert_eq!(encryption(elsewhere), Encryption::Required);
    }

    #[test]
    fn authorities_of_the_machine_need_the_right_host() {
        for mode in ["disable", "prefer", "require", "verify-ca"] {
            let url = format!("postgres://g@db.example.org/g?sslrootcert=system&sslmode={mode}");
            let error = Server::parse(&url).err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert!(error.contains("sslrootcert=system needs sslmode=verify-full"), "{error}");
        }
        for mode in ["", "&sslmode=verify-full"] {
            let url = format!("postgres://g@db.example.org/g?sslrootcert=system{mode}");
            assert_eq!(encryption(&url), Encryption::VerifiedHost);
        }
    }

    #[test]
    fn other_parameters_of_the_url_are_kept() {
        let url = "postgres://groma@localhost/groma?sslmode=disable&connect_timeout=7&sslkey=";
        let server = Server::parse(url).unwrap();
        assert_eq!(server.config().get_connect_timeout(), Some(&Duration::from_secs(7)));
    }

    #[test]
    fn unknown_mode_is_rejected_with_the_known_ones() {
        let error = Server::parse("postgres://groma@db/groma?sslmode=allow").err().unwrap();
        let text = error.to_string();
        assert!(text.contains("verify-full") && text.contains("\"allow\""), "{text}");
    }

    #[test]
    fn missing_certificate_file_is_named() {
        let url = "postgres://groma@db/groma?sslmode=verify-full&sslrootcert=/nonexistent.crt";
        let error = Server::parse(url).err().unwrap().to_string();
        assert!(error.contains("/nonexistent.crt"), "{error}");
    }
}
