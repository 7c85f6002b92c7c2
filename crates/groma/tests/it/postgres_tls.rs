//! Encrypted connections to PostgreSQL, with a server that accepts no others.

use groma_testkit::{
    Program, ServerProcess,
    http::Request,
    postgres,
    postgres_cluster::{CERTIFIED_USER, PostgresCluster},
    server::{LISTENERS, OWNER, PASSWORD, START_TIMEOUT, WORKSPACE},
};

fn program(url: &str) -> Program {
    Program::built().envs(&LISTENERS).env("GROMA_DATABASE__URL", url)
}

fn check_error(url: &str) -> String {
    program(url).run(&["check"]).expect_failure()
}

#[test]
fn every_connection_is_encrypted_and_verified() {
    let cluster = PostgresCluster::start().unwrap();
    let ca = cluster.path("ca.crt");
    let verified = format!("sslmode=verify-full&sslrootcert={}", ca.display());
    let url = cluster.url("postgres", "localhost", &verified);
    let groma = program(&url);
    let create = ["workspace", "create", WORKSPACE, "--owner", OWNER];
    groma.run_with_input(PASSWORD, &create).into_result().unwrap();
    let token = ["token", "create", "--user", OWNER, "--name", "x", "--scopes", "READ_FOLDER"];
    let token = groma.run(&token).into_result().unwrap();
    // The server rejects every connection without encryption, so that serving proves that all have it.
    let server = ServerProcess::start(groma.command(&["serve"]), START_TIMEOUT).unwrap();
    let request = Request::new("GET", "/api/public/v1/folders").token(&token);
    assert_eq!(server.main().send(&request).unwrap().status, 200);
    let log = server.log();
    assert!(!log.contains("failed to listen"), "{log}");
    assert!(!log.contains("does not respond"), "{log}");
    let report = groma.run(&["check"]);
    assert!(report.stdout.contains("TLSv1.3, authority and host of the certificate verified"));
    drop(server);

    // A copy has connections of its own.
    let directory = tempfile::tempdir().unwrap();
    let copy = format!("sqlite:{}", directory.path().join("copy.db").display());
    let copied = groma.run(&["copy", "--from", &url, "--to", &copy]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
}

#[test]
fn modes_verify_what_they_promise() {
    let cluster = PostgresCluster::start().unwrap();
    let ca = cluster.path("ca.crt").display().to_string();
    let other = cluster.path("other-ca.crt").display().to_string();
    let url = |host: &str, parameters: &str| cluster.url("postgres", host, parameters);

    // The certificate is for localhost only.
    let mismatch = check_error(&url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={ca}")));
    assert!(mismatch.contains("127.0.0.1") && mismatch.contains("certificate"), "{mismatch}");
    for parameters in [
        format!("sslmode=verify-ca&sslrootcert={ca}"),
        format!("sslmode=require&sslrootcert={ca}"),
        "sslmode=require".to_owned(),
        "sslmode=prefer".to_owned(),
        String::new(),
    ] {
        let output = program(&url("127.0.0.1", &parameters)).run(&["check"]);
        assert!(output.stdout.contains("TLSv1.3"), "{parameters}: {output:?}");
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert={other}");
        let unknown = check_error(&url("localhost", &parameters));
        assert!(unknown.contains("UnknownIssuer"), "{mode}: {unknown}");
    }
    let disabled = check_error(&url("localhost", "sslmode=disable"));
    assert!(disabled.contains("no encryption"), "{disabled}");
    let no_root = check_error(&url("localhost", "sslmode=verify-full"));
    assert!(no_root.contains("sslrootcert"), "{no_root}");
}

#[test]
fn client_presents_its_certificate() {
    let cluster = PostgresCluster::start().unwrap();
    let ca = cluster.path("ca.crt").display().to_string();
    let (certificate, key) = (cluster.path("client.crt"), cluster.path("client.key"));
    let base = format!("sslmode=verify-full&sslrootcert={ca}");
    let without = check_error(&cluster.url(CERTIFIED_USER, "localhost", &base));
    assert!(without.contains("sslcert"), "{without}");
    let parameters = format!("{base}&sslcert={}&sslkey={}", certificate.display(), key.display());
    let url = cluster.url(CERTIFIED_USER, "localhost", &parameters);
    let output = program(&url).run(&["check"]);
    assert!(output.stdout.contains("TLSv1.3"), "{output:?}");
}

#[test]
fn server_without_tls_is_named_with_both_remedies() {
    let url = postgres::server_url().unwrap();
    let error = check_error(&format!("{url}?sslmode=require"));
    assert!(error.contains("does not offer encrypted connections"), "{error}");
    assert!(error.contains("sslmode=disable"), "{error}");
}
