//! Certificates, and a client that uses TLS.

use crate::{Response, Result, http::Request};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A server certificate and the authority that issued it.
pub struct IssuedCertificate {
    /// The certificate of the authority as PEM. A client trusts it only if the test configures it.
    pub authority_pem: String,
    /// The certificate as PEM.
    pub certificate_pem: String,
    /// Its private key as PEM.
    pub key_pem: String,
    /// The configuration of a server with this certificate.
    pub server_config: Arc<ServerConfig>,
}

/// Issues a certificate for a host name by a new authority.
pub fn issue_certificate(host: &str) -> IssuedCertificate {
    issue_certificate_until(host, 4096)
}

/// Issues a certificate that expires on the first day of a year.
pub fn issue_certificate_until(host: &str, year: i32) -> IssuedCertificate {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // With the name of the certificate, OpenSSL would take it for the authority.
    params.distinguished_name.push(DnType::CommonName, "Test authority");
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
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
    IssuedCertificate {
        authority_pem: issuer.pem(),
        certificate_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
        server_config: Arc::new(config),
    }
}

/// A client of a server on this machine, which trusts one authority.
pub struct TlsClient {
    config: ClientConfig,
}

impl TlsClient {
    /// A client that offers these protocols (ALPN) and expects a certificate for `localhost`.
    pub fn new(authority_pem: &str, protocols: &[&str]) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { config }
    }

    /// Opens a connection; fails if the certificate is not trusted.
    pub async fn connect(&self, address: SocketAddr) -> Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        let connector = TlsConnector::from(Arc::new(self.config.clone()));
        Ok(connector.connect(ServerName::try_from("localhost")?, stream).await?)
    }

    /// Sends a request on a new connection, with the protocol that the server chose.
    pub async fn send(&self, address: SocketAddr, request: &Request) -> Result<Response> {
        let stream = self.connect(address).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        let body = Full::<Bytes>::from(request.body_bytes());
        let response = if is_http2 {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            sender.send_request(request.build_for("https://localhost", body)).await?
        } else {
            let (mut sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            let request = request.clone().header("Host", "localhost");
            sender.send_request(request.build_for("", body)).await?
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes().to_vec();
        Ok(Response { status: parts.status.as_u16(), headers: parts.headers, body })
    }
}
