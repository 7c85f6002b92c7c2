//! The files in `deploy/`: their settings, commands and addresses match the program.

use crate::monitoring::read_repository_file;
use groma_testkit::{API, program, server::LISTENERS, server::OWNER, server::PASSWORD};
use std::{path::Path, process::Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_groma");

/// Fills in the placeholders that an operator replaces.
fn fill_placeholders(text: &str) -> String {
    let key = "ab".repeat(32);
    [
        ("${POSTGRES_PASSWORD:?}", "secret"),
        ("${GROMA_HOST:?}", "api.example.org"),
        ("${GROMA_GEO_HOST:?}", "geo.example.org"),
        ("${GROMA_ENCRYPTION_KEY:?}", &key),
    ]
    .iter()
    .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// The settings that a file passes in the environment: `GROMA_X=…` or `GROMA_X: …`.
fn settings(text: &str) -> Vec<(String, String)> {
    let text = fill_placeholders(text);
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some(at) = line.find("GROMA_").filter(|_| line.contains("__")) else { continue };
        let (name, value) =
            line[at..].split_once(": ").or_else(|| line[at..].split_once('=')).unwrap();
        found.push((name.to_owned(), value.trim_end_matches('\\').trim().to_owned()));
    }
    found
}

/// Runs `groma check` with all settings of a file, but with the test's database and listeners.
#[track_caller]
fn check_settings(path: &str, at_least: usize) -> serde_json::Value {
    let given = settings(&read_repository_file(path));
    assert!(given.len() >= at_least, "{path}: {given:?}");
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("groma.db").display());
    let mut all: Vec<_> =
        given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    all.extend([LISTENERS[0], LISTENERS[1], ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0")]);
    let create = ["workspace", "create", "One", "--owner", OWNER, "--database", &database];
    program::run(&all, PASSWORD, &create).expect_success();
    let done = program::run(&all, "", &["check", "--json", "--database", &database]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{path}: {}", done.stdout);
    // Again with the file's own values, except for the database.
    let all: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    program::run(&all, "", &["openapi"]).expect_success();
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn every_setting_in_the_deployment_files_exists() {
    check_settings("deploy/systemd/groma.service", 3);
    check_settings("deploy/container/Containerfile", 5);
    let report = check_settings("deploy/container/compose.yaml", 6);
    assert_eq!(report["settings"]["server.public_url"], "https://api.example.org");
    assert_eq!(report["settings"]["webhooks.encryption_key"], "set");
}

#[test]
fn every_command_in_the_deployment_files_exists() {
    let mut commands = Vec::new();
    for line in read_repository_file("deploy/systemd/groma.service").lines() {
        if let Some(rest) = line.strip_prefix("ExecStart=/usr/local/bin/groma ") {
            commands.push(rest.split(' ').map(str::to_owned).collect::<Vec<_>>());
        }
    }
    let container = read_repository_file("deploy/container/Containerfile");
    let quoted = |text: &str| -> Vec<String> { serde_json::from_str(text).unwrap() };
    for line in container.lines().map(str::trim) {
        if let Some(list) = line.strip_prefix("CMD ") {
            let words = quoted(list);
            let is_path = words[0] == "/usr/local/bin/groma";
            commands.push(words[usize::from(is_path)..].to_vec());
        }
    }
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        let mut arguments: Vec<_> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        program::run(&[], "", &arguments).expect_success();
    }
    assert!(container.contains("ENTRYPOINT [\"/usr/local/bin/groma\"]"));
}

#[test]
fn reverse_proxies_forward_to_the_programs_listeners() {
    let defaults: toml::Table = include_str!("../../src/settings.toml").parse().unwrap();
    let port = |name: &str| {
        defaults["server"][name].as_str().unwrap().rsplit(':').next().unwrap().to_owned()
    };
    let nginx = read_repository_file("deploy/nginx/groma.conf");
    for name in ["listen", "geo_listen"] {
        assert!(nginx.contains(&format!("server 127.0.0.1:{};", port(name))), "{name}");
    }
    let container = settings(&read_repository_file("deploy/container/Containerfile"));
    let listen = |name: &str| {
        let found = container.iter().find(|(known, _)| known == name).unwrap();
        found.1.rsplit(':').next().unwrap().to_owned()
    };
    let caddy = read_repository_file("deploy/container/Caddyfile");
    for replica in 1..=3 {
        for name in ["GROMA_SERVER__LISTEN", "GROMA_SERVER__GEO_LISTEN"] {
            assert!(caddy.contains(&format!("groma-{replica}:{}", listen(name))));
        }
        assert!(
            read_repository_file("deploy/container/compose.yaml")
                .contains(&format!("groma-{replica}: *groma"))
        );
    }
    assert!(caddy.contains(&format!("health_port {}", listen("GROMA_SERVER__ADMIN_LISTEN"))));
    let compose = read_repository_file("deploy/container/compose.yaml");
    let trusted = settings(&compose)
        .into_iter()
        .find(|(name, _)| name.ends_with("TRUSTED_PROXIES"))
        .unwrap()
        .1;
    assert!(
        compose.contains(&format!("ipv4_address: {trusted}")),
        "the proxy is the one that is trusted"
    );
    for proxy in [read_repository_file("deploy/nginx/groma-proxy.conf"), caddy] {
        let drops = proxy.contains("Forwarded \"\"") || proxy.contains("header_up -Forwarded");
        assert!(drops, "the proxy must drop a client's Forwarded header: {proxy}");
    }
}

/// Checks the unit with systemd, with the path of the program under test.
#[test]
fn systemd_unit_is_valid_and_hardened() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("systemd-analyze is not installed; the unit was not looked at");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("groma.service");
    let text = read_repository_file("deploy/systemd/groma.service")
        .replace("/usr/local/bin/groma", PROGRAM);
    std::fs::write(
        &unit,
        text.replace("User=groma", "User=root").replace("Group=groma", "Group=root"),
    )
    .unwrap();
    let analyze = |arguments: &[&str]| {
        let output = Command::new("systemd-analyze").args(arguments).arg(&unit).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (_, output) = analyze(&["verify", "--man=no"]);
    let complaints: Vec<_> = output.lines().filter(|line| line.contains("groma")).collect();
    assert!(complaints.is_empty(), "{output}");
    // The real unit runs as its own user. Running as root alone would worsen the rating.
    std::fs::write(&unit, read_repository_file("deploy/systemd/groma.service")).unwrap();
    let (is_hardened, output) = analyze(&["security", "--offline=true", "--threshold=20"]);
    assert!(is_hardened, "{output}");
}

/// Runs the program in a chroot with the files of the container. Needs root.
#[test]
fn container_files_are_sufficient_to_run_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("root");
    let laid = Command::new(root.join("deploy/container/root-files"))
        .args([Path::new(PROGRAM), &files])
        .output()
        .unwrap();
    assert!(laid.status.success(), "{}", String::from_utf8_lossy(&laid.stderr));
    assert!(files.join("usr/local/bin/groma").exists());
    assert!(!files.join("bin/sh").exists());
    let ran = Command::new("chroot")
        .args(["--userspec=65532:65532"])
        .arg(&files)
        .args(["/usr/local/bin/groma", "openapi"])
        .output();
    let Ok(ran) = ran else { return };
    let output = String::from_utf8_lossy(&ran.stderr).into_owned();
    if output.contains("Operation not permitted") {
        eprintln!("skipped, because this needs root: {output}");
        return;
    }
    assert!(ran.status.success(), "{output}");
    assert!(String::from_utf8_lossy(&ran.stdout).contains(API));
}
