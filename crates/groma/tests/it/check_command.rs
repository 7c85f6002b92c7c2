//! `groma check`: every finding has a remedy, and the worst one decides the exit code.

use crate::on_both_engines;
use groma_testkit::{CommandOutput, Engine, TestServer};
use serde_json::Value;
use std::{net::TcpListener, os::unix::fs::PermissionsExt, time::SystemTime};

/// A server without findings, which is not running.
fn stopped_without_findings(engine: Engine) -> TestServer {
    let key = "ab".repeat(32);
    let server = TestServer::stopped(
        engine,
        &[
            ("GROMA_WEBHOOKS__ENCRYPTION_KEY", key.as_str()),
            ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0"),
        ],
    );
    server.create_workspace("Cadastre");
    server
}

/// The severity and message of every finding. Each must have a remedy.
#[track_caller]
fn findings(output: &CommandOutput) -> Vec<(String, String)> {
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| !text(finding, "remedy").is_empty()), "{report}");
    findings.iter().map(|finding| (text(finding, "severity"), text(finding, "problem"))).collect()
}

/// Asserts that a check with these settings has this finding, and the exit code of its severity.
#[track_caller]
fn assert_finding(server: &mut TestServer, settings: &[(&str, &str)], severity: &str, words: &str) {
    for (name, value) in settings {
        server.set_env(name, value);
    }
    let output = server.run(&["check", "--json"]);
    let found = findings(&output);
    let is_expected =
        |(known, problem): &(String, String)| known == severity && problem.contains(words);
    assert!(found.iter().any(is_expected), "no {severity} contains `{words}`: {found:?}");
    let code = match severity {
        "error" => Some(1),
        _ => Some(0),
    };
    assert_eq!(output.code, code, "{output:?}");
    let in_words = server.run(&["check"]);
    assert_eq!(in_words.code, code);
    assert!(in_words.stdout.contains(words), "{}", in_words.stdout);
    let lines = usize::from(severity == "error");
    assert_eq!(in_words.stderr.lines().count(), lines, "{}", in_words.stderr);
}

on_both_engines! {
    correct_installation_has_no_findings
    public_url_must_use_https_and_its_proxy_must_be_trusted
    unavailable_address_is_reported_and_a_running_groma_is_recognized
    all_problems_are_listed_and_the_first_is_the_error_line
}

fn correct_installation_has_no_findings(engine: Engine) {
    let server = stopped_without_findings(engine);
    let found = findings(&server.run(&["check", "--json"]));
    // Test databases run without fsync, which is a note.
    let others: Vec<_> =
        found.iter().filter(|(_, problem)| !problem.contains("a power failure can lose")).collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(server.run(&["check"]).code, Some(0));
}

fn public_url_must_use_https_and_its_proxy_must_be_trusted(engine: Engine) {
    let check = |settings: &[(&str, &str)], severity: &str, words: &str| {
        assert_finding(&mut stopped_without_findings(engine), settings, severity, words);
    };
    let url = "GROMA_SERVER__PUBLIC_URL";
    let geo = ("GROMA_SERVER__GEO_PUBLIC_URL", "https://geo.example.org");
    let proxies = "GROMA_SERVER__TRUSTED_PROXIES";
    check(&[(url, "http://api.example.org"), geo], "warning", "are sent unencrypted");
    check(&[("GROMA_SERVER__LISTEN", "0.0.0.0:0")], "warning", "cannot be opened");
    check(&[(url, "https://api.example.org"), geo], "warning", "server.trusted_proxies is empty");
    check(
        &[(url, "https://api.example.org"), (proxies, "127.0.0.1")],
        "warning",
        "server.geo_public_url is not set",
    );
    check(&[(proxies, "0.0.0.0/0")], "warning", "any client can claim any address");
    let mut server = stopped_without_findings(engine);
    for (name, value) in [(url, "https://api.example.org"), geo, (proxies, "127.0.0.1")] {
        server.set_env(name, value);
    }
    assert_eq!(server.run(&["check"]).code, Some(0));
}

fn unavailable_address_is_reported_and_a_running_groma_is_recognized(engine: Engine) {
    let mut server = stopped_without_findings(engine);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    assert_finding(
        &mut server,
        &[("GROMA_SERVER__GEO_LISTEN", &at)],
        "error",
        &format!("server.geo_listen: {at}"),
    );
    drop(taken);
    assert_finding(&mut server, &[("GROMA_SERVER__LISTEN", &at)], "error", "are both");
    assert_finding(
        &mut server,
        &[("GROMA_SERVER__LISTEN", "192.0.2.1:80")],
        "error",
        "server.listen: 192.0.2.1:80",
    );
    server.set_env("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0");
    server.set_env("GROMA_SERVER__LISTEN", "127.0.0.1:0");
    server.serve();
    let at = server.main().authority();
    assert_finding(
        &mut server,
        &[("GROMA_SERVER__LISTEN", &at)],
        "note",
        "a Groma server already listens on",
    );
}

fn all_problems_are_listed_and_the_first_is_the_error_line(engine: Engine) {
    let mut server = stopped_without_findings(engine);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    server.set_env("GROMA_SERVER__LISTEN", &at);
    server.set_env("GROMA_WEBHOOKS__EXTRA_ROOTS", "/nowhere.pem");
    server.set_env("GROMA_SERVER__TRUSTED_PROXIES", "::/0");
    let output = server.run(&["check", "--json"]);
    assert_eq!(output.code, Some(1));
    let severities: Vec<_> = findings(&output).into_iter().map(|(severity, _)| severity).collect();
    assert_eq!(severities.iter().filter(|known| *known == "error").count(), 2, "{output:?}");
    assert_eq!(severities.iter().filter(|known| *known == "warning").count(), 1, "{output:?}");
    let line = server.run(&["check"]).expect_failure();
    assert!(
        line.starts_with("webhooks.extra_roots: ") && line.ends_with(" (and 1 more error)"),
        "{line}"
    );
}

/// The dotted names of all settings in the defaults.
fn setting_names(table: &toml::Table, prefix: &str) -> Vec<String> {
    let names = table.iter().flat_map(|(name, value)| match value {
        toml::Value::Table(table) => setting_names(table, &format!("{prefix}{name}.")),
        _ => vec![format!("{prefix}{name}")],
    });
    names.collect()
}

#[test]
fn json_has_every_setting_and_no_secret() {
    let mut server = stopped_without_findings(Engine::Sqlite);
    for (name, value) in [
        ("GROMA_SECURITY__LOG_DAYS", "30"),
        ("GROMA_SECURITY__MAX_TOKEN_DAYS", "90"),
        ("GROMA_CHANGES__FEED_DAYS", "7"),
        ("GROMA_OIDC__NAME__ISSUER", "http://127.0.0.1:9/realm"),
        ("GROMA_OIDC__NAME__CLIENT_ID", "groma"),
        ("GROMA_OIDC__NAME__CLIENT_SECRET", "hush-provider"),
        ("GROMA_OIDC__NAME__WORKSPACE", "Cadastre"),
        ("GROMA_OIDC__NAME__GROUPS", "gis-admins=admin"),
        ("GROMA_SMTP__HOST", "127.0.0.1"),
        ("GROMA_SMTP__PORT", "9"),
        ("GROMA_SMTP__ENCRYPTION", "none"),
        ("GROMA_SMTP__FROM", "groma@office.test"),
        ("GROMA_SMTP__USERNAME", "groma"),
        ("GROMA_SMTP__PASSWORD", "hush-mail"),
    ] {
        server.set_env(name, value);
    }
    let output = server.run(&["check", "--json"]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let settings = report["settings"].as_object().unwrap();
    let defaults = include_str!("../../src/settings.toml").parse().unwrap();
    let mut expected = setting_names(&defaults, "");
    // The report has it without its password, under `database`.
    expected.retain(|name| name != "database.url");
    let mut expected: Vec<_> = expected.iter().map(|name| name.replace("NAME", "name")).collect();
    expected.sort_unstable();
    let mut found: Vec<_> = settings.keys().cloned().collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    for (name, value) in [
        ("security.log_days", Value::from(30)),
        ("security.max_token_days", 90.into()),
        ("changes.feed_days", 7.into()),
        ("oidc.name.issuer", "http://127.0.0.1:9/realm".into()),
        ("oidc.name.client_secret", "set".into()),
        ("oidc.name.groups", vec!["gis-admins=admin"].into()),
        ("smtp.username", "groma".into()),
        ("smtp.password", "set".into()),
        ("webhooks.encryption_key", "set".into()),
    ] {
        assert_eq!(settings[name], value, "{name}");
    }
    let key = "ab".repeat(32);
    for secret in ["hush-provider", "hush-mail", &key] {
        assert!(!output.stdout.contains(secret), "{secret}");
    }
}

#[test]
fn unreadable_grid_folder_and_invalid_grids_are_reported() {
    let mut server = stopped_without_findings(Engine::Sqlite);
    let folder = server.directory().join("grids");
    let path = folder.to_str().unwrap().to_owned();
    assert_finding(&mut server, &[("GROMA_GEO__GRIDS", &path)], "error", "geo.grids: cannot read");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("BETA2007.gsb"), "not a grid").unwrap();
    assert_finding(&mut server, &[("GROMA_GEO__GRIDS", &path)], "warning", "BETA2007.gsb cannot");
}

#[test]
fn file_permissions_and_modification_time_are_checked() {
    let mut server = stopped_without_findings(Engine::Sqlite);
    let path = server.database_url().strip_prefix("sqlite:").unwrap().to_owned();
    let mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    assert_finding(&mut server, &[], "warning", "other users of this machine can read or write");
    mode(0o600);
    assert_eq!(server.run(&["check"]).code, Some(0));
    let ahead = SystemTime::now() + std::time::Duration::from_secs(7_200);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(ahead).unwrap();
    assert_finding(&mut server, &[], "warning", "clock was set back");
}

#[test]
fn settings_file_with_a_secret_must_be_private() {
    let mut server = stopped_without_findings(Engine::Sqlite);
    let file = server.write_file(
        "groma.toml",
        format!("[webhooks]\nencryption_key = \"{}\"\n", "cd".repeat(32)),
    );
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert_finding(&mut server, &[], "warning", "groma.toml contains a secret");
    mode(0o640);
    assert_eq!(server.run(&["check"]).code, Some(0));
}

#[test]
fn missing_webhook_role_is_reported_on_sqlite() {
    let roles = [("GROMA_SERVER__ROLES", "main,geo,web")];
    assert_finding(
        &mut stopped_without_findings(Engine::Sqlite),
        &roles,
        "warning",
        "webhook deliveries are not sent",
    );
    let mut server = stopped_without_findings(Engine::Postgres);
    server.set_env(roles[0].0, roles[0].1);
    assert_eq!(server.run(&["check"]).code, Some(0), "another replica can deliver");
}

#[test]
fn unreachable_server_and_missing_database_have_different_messages() {
    let mut server = stopped_without_findings(Engine::Postgres);
    let line = |server: &TestServer| server.run(&["check"]).expect_failure();
    let nowhere = server.database_url().to_owned() + "_none";
    server.set_env("GROMA_DATABASE__URL", &nowhere);
    assert!(line(&server).contains("(3D000); create it with `createdb"), "{}", line(&server));
    server.set_env("GROMA_DATABASE__URL", "postgres://nobody@127.0.0.1:1/none");
    let message = line(&server);
    assert!(message.contains("check that the server runs"), "{message}");
}
