//! HTTPS without a proxy: certificate, protocols, reload, redirect.

use crate::on_both_engines;
use groma_testkit::{
    API, Engine, TestServer,
    http::Request,
    tls::{IssuedCertificate, TlsClient, issue_certificate, issue_certificate_until},
    wait::{PATIENCE, wait_until},
};
use std::{
    io::{Read, Write},
    net::SocketAddr,
    process::Command,
};

const HTTP2: [&str; 2] = ["h2", "http/1.1"];
const FILES: [(&str, &str); 2] =
    [("GROMA_SERVER__TLS__CERTIFICATE", "server.crt"), ("GROMA_SERVER__TLS__KEY", "server.key")];

fn write(server: &TestServer, certificate: &IssuedCertificate) {
    server.write_file("server.crt", &certificate.certificate_pem);
    server.write_file("server.key", &certificate.key_pem);
}

/// A server with a certificate for localhost.
fn start(engine: Engine, environment: &[(&str, &str)]) -> (TestServer, IssuedCertificate) {
    let mut server = TestServer::stopped(engine, &[&FILES[..], environment].concat());
    let certificate = issue_certificate("localhost");
    write(&server, &certificate);
    server.create_workspace(groma_testkit::server::WORKSPACE);
    server.serve();
    (server, certificate)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Whether a client that trusts only this authority can connect.
fn is_trusted(address: SocketAddr, authority: &str) -> bool {
    block_on(TlsClient::new(authority, &HTTP2).connect(address)).is_ok()
}

on_both_engines! {
    fn both_listeners_serve_https_with_both_protocols(engine: Engine) {
        let (server, certificate) = start(engine, &[]);
        let token = server.create_full_token();
        let (main, geo) = (server.main().address(), server.geo().address());
        for (protocols, expected) in [(&HTTP2[..], Some(&b"h2"[..])), (&["http/1.1"], Some(b"http/1.1")), (&[], None)] {
            let client = TlsClient::new(&certificate.authority_pem, protocols);
            block_on(async {
                let stream = client.connect(main).await.unwrap();
                assert_eq!(stream.get_ref().1.alpn_protocol(), expected);
                let folders = client.send(main, &Request::get("/folders", &token)).await.unwrap();
                assert_eq!(folders.status, 200);
                assert!(folders.header("strict-transport-security").is_some());
                let layers = client.send(geo, &Request::get("/layers", &token)).await.unwrap();
                assert_eq!(layers.status, 200);
                assert!(layers.header("strict-transport-security").is_some());
                let page = client.send(main, &Request::new("GET", "/login")).await.unwrap();
                assert_eq!(page.status, 200);
                assert!(page.header("strict-transport-security").is_some());
                let cookie = page.header("set-cookie").unwrap();
                assert!(cookie.starts_with("__Host-groma=") && cookie.contains("; Secure"), "{cookie}");
                let document = client.send(main, &Request::new("GET", &format!("{API}/openapi.json"))).await;
                let document = document.unwrap().text();
                assert!(document.contains(&format!("https://{main}")), "{document}");
                assert!(document.contains(&format!("https://{geo}")), "{document}");
            });
        }
        assert!(!is_trusted(main, &issue_certificate("localhost").authority_pem));
    }
}

#[test]
fn plain_http_has_no_hsts_header() {
    let server = TestServer::start(Engine::Sqlite);
    let page = server.main().request("GET", "/login").send();
    assert_eq!(page.header("strict-transport-security"), None);
}

#[test]
fn new_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let (server, first) = start(Engine::Sqlite, &[]);
    let address = server.main().address();
    let second = issue_certificate("localhost");
    let log_line = |text: &str| {
        wait_until(PATIENCE, || {
            let log = server.process().log();
            if log.contains(text) { Ok(()) } else { Err(log) }
        });
    };
    // A key of another certificate.
    server.write_file("server.key", &second.key_pem);
    log_line("the old one stays in use");
    assert!(
        server
            .process()
            .log()
            .contains("server.tls.key: server.key is not the key of the certificate")
    );
    let check = server.run(&["check"]).expect_failure();
    assert!(
        check.contains("server.tls.key: server.key is not the key of the certificate"),
        "{check}"
    );
    assert!(is_trusted(address, &first.authority_pem));
    server.write_file("server.crt", "-----BEGIN CERTIFICATE-----");
    std::fs::remove_file(server.directory().join("server.key")).unwrap();
    log_line("server.tls.certificate: ");
    assert!(is_trusted(address, &first.authority_pem));
    write(&server, &second);
    wait_until(PATIENCE, || {
        is_trusted(address, &second.authority_pem)
            .then_some(())
            .ok_or_else(|| server.process().log())
    });
    assert!(!is_trusted(server.geo().address(), &first.authority_pem));
}

#[test]
fn check_names_an_expired_certificate() {
    let (server, _) = start(Engine::Sqlite, &[]);
    let check = server.run(&["check"]).stdout;
    assert!(!check.contains("server.tls.certificate"), "{check}");
    write(&server, &issue_certificate_until("localhost", 2020));
    let check = server.run(&["check"]).expect_failure();
    assert!(check.contains("server.tls.certificate: expired on 2020-01-01"), "{check}");
}

#[test]
fn plain_http_is_redirected_to_the_public_url() {
    let (server, certificate) = start(
        Engine::Sqlite,
        &[
            ("GROMA_SERVER__TLS__REDIRECT_LISTEN", "127.0.0.1:0"),
            ("GROMA_SERVER__PUBLIC_URL", "https://gis.example.org"),
            ("GROMA_SERVER__GEO_PUBLIC_URL", "https://gis.example.org:8443"),
        ],
    );
    let redirect = server.process().redirect();
    for (method, path) in
        [("GET", "/folders?page=2"), ("POST", "/login"), ("GET", "//evil.example/x")]
    {
        let response = redirect.request(method, path).header("Host", "evil.example").send();
        assert_eq!(response.status, 308);
        let location = format!("https://gis.example.org{path}");
        assert_eq!(response.header("location"), Some(location.as_str()));
        assert_eq!(
            response.header("strict-transport-security"),
            None,
            "browsers ignore it over http"
        );
    }
    assert!(is_trusted(server.main().address(), &certificate.authority_pem));
}

#[test]
fn slow_handshake_blocks_nobody_and_shutdown_ends_connections() {
    let (mut server, certificate) = start(Engine::Sqlite, &[]);
    let address = server.main().address();
    let stalled: Vec<_> = (0..50).map(|_| server.main().connect()).collect();
    let mut plain = server.main().connect();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut reply = Vec::new();
    let _ = plain.read_to_end(&mut reply);
    assert!(!reply.starts_with(b"HTTP/"), "{reply:?}");
    for protocols in [&HTTP2[..], &["http/1.1"]] {
        let client = TlsClient::new(&certificate.authority_pem, protocols);
        block_on(async {
            let idle = client.connect(address).await.unwrap();
            let page = client.send(address, &Request::new("GET", "/login")).await.unwrap();
            assert_eq!(page.status, 200);
            drop(idle);
        });
    }
    // The check recognizes the running server.
    let listen = [("GROMA_SERVER__LISTEN", address.to_string())];
    let listen = listen.each_ref().map(|(name, value)| (*name, value.as_str()));
    let check = server.program().clone().envs(&listen).run(&["check"]);
    assert!(check.stdout.contains("a server with TLS already listens"), "{check:?}");
    assert_eq!(server.stop(), Some(0));
    drop(stalled);
}

#[test]
fn curl_accepts_the_certificate() {
    let (server, certificate) = start(Engine::Sqlite, &[]);
    let authority = server.write_file("ca.crt", &certificate.authority_pem);
    let port = server.main().address().port();
    let curl = Command::new("curl")
        .args([
            "--silent",
            "--http2",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code} %{http_version}",
        ])
        .args(["--noproxy", "*", "--cacert"])
        .arg(authority)
        .args([
            "--resolve",
            &format!("localhost:{port}:127.0.0.1"),
            &format!("https://localhost:{port}/login"),
        ])
        .output();
    let Ok(output) = curl else {
        eprintln!("skipped: curl is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text == "200 2" || text == "200 1.1", "{output:?}");
}

#[test]
fn contradictory_settings_stop_the_start_with_one_line() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let (certificate, other) = (issue_certificate("localhost"), issue_certificate("localhost"));
    write(&server, &certificate);
    server.write_file("other.key", &other.key_pem);
    server.write_file("empty", "");
    const CERTIFICATE: (&str, &str) = FILES[0];
    const KEY: (&str, &str) = FILES[1];
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[CERTIFICATE], "server.tls.key: is required by the certificate"),
        (&[KEY], "server.tls.certificate: is required by the key"),
        (
            &[("GROMA_SERVER__TLS__REDIRECT_LISTEN", "127.0.0.1:0")],
            "server.tls.redirect_listen: requires server.tls.certificate",
        ),
        (
            &[CERTIFICATE, KEY, ("GROMA_SERVER__TLS__REDIRECT_LISTEN", "127.0.0.1:0")],
            "server.public_url: is required by server.tls.redirect_listen",
        ),
        (
            &[CERTIFICATE, KEY, ("GROMA_SERVER__PUBLIC_URL", "http://gis.example.org")],
            "server.public_url: must be an https URL, because server.tls.certificate is set",
        ),
        (
            &[("GROMA_SERVER__TLS__CERTIFICATE", "missing.crt"), KEY],
            "server.tls.certificate: cannot read missing.crt: No such file or directory (os error 2)",
        ),
        (
            &[("GROMA_SERVER__TLS__CERTIFICATE", "empty"), KEY],
            "server.tls.certificate: empty contains no certificate",
        ),
        (
            &[CERTIFICATE, ("GROMA_SERVER__TLS__KEY", "server.crt")],
            "server.tls.key: cannot read server.crt: it contains no private key in PEM format",
        ),
        (
            &[CERTIFICATE, ("GROMA_SERVER__TLS__KEY", "other.key")],
            "server.tls.key: other.key is not the key of the certificate",
        ),
    ];
    for (settings, expected) in cases {
        let error = server.program().clone().envs(settings).run(&["serve"]).expect_failure();
        assert_eq!(error, expected);
    }
}
