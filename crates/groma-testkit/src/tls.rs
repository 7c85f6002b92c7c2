//! Certificates for receivers with TLS.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use std::sync::Arc;

/// A server certificate and the authority that issued it.
pub struct IssuedCertificate {
    /// The certificate of the authority as PEM. A client trusts it only if the test configures it.
    pub authority_pem: String,
    /// The configuration of a server with this certificate.
    pub server_config: Arc<ServerConfig>,
}

/// Issues a certificate for a host name by a new authority.
pub fn issue_certificate(host: &str) -> IssuedCertificate {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    IssuedCertificate { authority_pem: issuer.pem(), server_config: Arc::new(config) }
}
