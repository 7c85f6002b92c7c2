//! HTTPS of the public listeners. Certificate and key come from PEM files, which are read again when they
//! change; if the new ones are invalid, the old ones stay in use.

use crate::settings::{SettingsError, Tls};
use groma_domain::Timestamp;
use parking_lot::RwLock;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use std::{fmt, os::unix::fs::MetadataExt, path::Path, sync::Arc, time::Duration};
use tokio_rustls::TlsAcceptor;

const CERTIFICATE: &str = "server.tls.certificate";
const KEY: &str = "server.tls.key";
/// How often the files are inspected.
const INTERVAL: Duration = Duration::from_secs(1);

/// The certificate in use.
#[derive(Clone)]
pub(super) struct Certificate {
    files: Tls,
    /// The state of the files before they were read.
    loaded: [Stamp; 2],
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}

impl Certificate {
    pub(super) fn load(files: &Tls) -> Result<Self, SettingsError> {
        let loaded = stamps(files);
        let current = Current(RwLock::new(Arc::new(load(files)?)));
        Ok(Self { files: files.clone(), loaded, current: Arc::new(current) })
    }

    /// Accepts TLS connections with whatever certificate is in use, for HTTP/2 and HTTP/1.1.
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, SettingsError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| SettingsError::new(CERTIFICATE, error))?
            .with_no_client_auth()
            .with_cert_resolver(self.current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Reads the files again whenever they have changed.
    pub(super) async fn keep_current(self) {
        let mut loaded = self.loaded;
        let mut seen = loaded;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = stamps(&self.files);
            // Two files change one after the other: wait until they stay the same.
            if now != loaded && now == seen {
                loaded = now;
                match load(&self.files) {
                    Ok(certificate) => {
                        *self.current.0.write() = Arc::new(certificate);
                        tracing::info!("loaded the new TLS certificate");
                    }
                    Err(error) => {
                        tracing::error!(%error, "the new TLS certificate is invalid; the old one stays in use");
                    }
                }
            }
            seen = now;
        }
    }
}

/// Checks that HTTPS can be served. Returns when the certificate expires.
pub(crate) fn check_certificate(files: &Tls) -> Result<Timestamp, SettingsError> {
    let loaded = load(files)?;
    let invalid = |reason: String| SettingsError::new(CERTIFICATE, reason);
    let certificate = loaded.end_entity_cert().map_err(|error| invalid(error.to_string()))?;
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(Timestamp::from_millis(certificate.validity().not_after.timestamp().saturating_mul(1_000)))
}

fn load(files: &Tls) -> Result<CertifiedKey, SettingsError> {
    let certificates =
        CertificateDer::pem_file_iter(&files.certificate).and_then(Iterator::collect);
    let certificates: Vec<_> =
        certificates.map_err(|error| unreadable(CERTIFICATE, &files.certificate, &error))?;
    if certificates.is_empty() {
        let reason = format!("{} contains no certificate", files.certificate.display());
        return Err(SettingsError::new(CERTIFICATE, reason));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unreadable(KEY, &files.key, &error))?;
    CertifiedKey::from_der(certificates, key, &provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => SettingsError::new(
            KEY,
            format!("{} is not the key of the certificate", files.key.display()),
        ),
        error => SettingsError::new(
            CERTIFICATE,
            format!("{} cannot be used: {error}", files.certificate.display()),
        ),
    })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn unreadable(setting: &str, file: &Path, error: &pem::Error) -> SettingsError {
    let file = file.display();
    let reason: &dyn fmt::Display = match error {
        pem::Error::Io(error) => error,
        pem::Error::NoItemsFound => &"it contains no private key in PEM format",
        error => error,
    };
    SettingsError::new(setting, format!("cannot read {file}: {reason}"))
}

/// What changes with the contents of a file: its number, size and time. `None` if there is no such file.
type Stamp = Option<(u64, u64, i64, i64)>;

fn stamps(files: &Tls) -> [Stamp; 2] {
    [&files.certificate, &files.key].map(|file| {
        let metadata = std::fs::metadata(file).ok()?;
        Some((metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
    })
}
