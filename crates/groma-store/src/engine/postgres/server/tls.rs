//! Certificates and their verification, as libpq defines them: `sslrootcert`, `sslcert` and `sslkey` name
//! files in PEM format, with the same defaults in `~/.postgresql`.

use super::{Encryption, TlsParameters};
use crate::{Error, Result};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The TLS settings of connections, and the encryption that they amount to: like libpq, `require` checks
/// the authority if there is a file with its certificate.
pub(super) fn client_config(
    parameters: &TlsParameters,
    encryption: Encryption,
) -> Result<(ClientConfig, Encryption)> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match encryption {
        Encryption::Disabled | Encryption::Preferred => None,
        Encryption::Required => root_certificates(parameters)?,
        Encryption::VerifiedAuthority | Encryption::VerifiedHost => {
            Some(root_certificates(parameters)?.ok_or_else(no_root_certificate)?)
        }
    };
    let encryption = match encryption {
        Encryption::Required if roots.is_some() => Encryption::VerifiedAuthority,
        other => other,
    };
    let authority = roots
        .map(|roots| WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()))
        .map(rustls::client::ServerCertVerifierBuilder::build)
        .transpose()
        .map_err(|error| setup(error.to_string(), "check the file in sslrootcert"))?;
    let verifier = Verifier {
        authority,
        checks_host: encryption == Encryption::VerifiedHost,
        provider: provider.clone(),
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Url(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match client_certificate(parameters)? {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| setup(error.to_string(), "check the files in sslcert and sslkey"))?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok((config, encryption))
}

fn setup(problem: impl Into<String>, remedy: &str) -> Error {
    Error::DatabaseSetup { problem: problem.into(), remedy: remedy.to_owned() }
}

fn no_root_certificate() -> Error {
    setup(
        "sslmode=verify-ca and sslmode=verify-full need the certificate of the authority",
        "name its file in sslrootcert, or use sslrootcert=system for the authorities of this machine",
    )
}

/// The default file in `~/.postgresql`, if it exists.
fn default_file(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    Some(Path::new(&home).join(".postgresql").join(name)).filter(|path| path.exists())
}

fn root_certificates(parameters: &TlsParameters) -> Result<Option<RootCertStore>> {
    let file = parameters.root_certificate.clone().or_else(|| default_file("root.crt"));
    let Some(file) = file else { return Ok(None) };
    let certificates = match parameters.uses_system_authorities() {
        true => rustls_native_certs::load_native_certs().certs,
        false => certificates(&file)?,
    };
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        let problem = format!("{} contains no certificate of an authority", file.display());
        return Err(setup(problem, "check the file in sslrootcert"));
    }
    Ok(Some(roots))
}

type ClientCertificate = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn client_certificate(parameters: &TlsParameters) -> Result<Option<ClientCertificate>> {
    let certificate = parameters.certificate.clone().or_else(|| default_file("postgresql.crt"));
    let key = parameters.key.clone().or_else(|| default_file("postgresql.key"));
    let (certificate, key) = match (certificate, key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => {
            let problem = "sslcert needs the private key of the certificate";
            return Err(setup(problem, "name its file in sslkey"));
        }
        (None, _) => return Ok(None),
    };
    check_permissions(&key)?;
    let parsed = PrivateKeyDer::from_pem_file(&key).map_err(|error| unreadable(&key, &error))?;
    Ok(Some((certificates(&certificate)?, parsed)))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &rustls::pki_types::pem::Error) -> Error {
    setup(
        format!("{} cannot be read: {error}", file.display()),
        "check the path and the PEM format",
    )
}

/// A key may be readable for its owner only, or for a group if root owns it.
fn check_permissions(key: &Path) -> Result<()> {
    let Ok(metadata) = std::fs::metadata(key) else { return Ok(()) };
    let allowed = if metadata.uid() == 0 { 0o640 } else { 0o600 };
    if metadata.mode() & 0o777 & !allowed == 0 {
        return Ok(());
    }
    let key = key.display();
    Err(setup(
        format!("other users of this machine can read the private key {key}"),
        &format!("run: chmod 600 {key}"),
    ))
}

/// Verifies the certificate of the server as far as the mode asks for it. The server must prove in any case
/// that it has the key of its certificate.
#[derive(Debug)]
struct Verifier {
    /// `None` accepts any certificate.
    authority: Option<Arc<WebPkiServerVerifier>>,
    checks_host: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, intermediates, host, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_host => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
