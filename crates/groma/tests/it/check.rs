//! `groma check`: each problem is told with what to do about it, and the exit code says how bad it is.

use crate::{
    database::Engine,
    office::{Done, Office},
    on_both_engines,
};
use serde_json::Value;
use std::{net::TcpListener, os::unix::fs::PermissionsExt, time::SystemTime};

/// An office that is open and has nothing to be said about it.
fn closed(engine: Engine) -> Office {
    let key = "ab".repeat(32);
    let office = Office::closed(
        engine,
        &[
            ("GROMA_WEBHOOKS__ENCRYPTION_KEY", key.as_str()),
            ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0"),
        ],
    );
    office.create_workspace("Cadastre");
    office
}

/// What was found: how bad, and the words; each with a remedy.
#[track_caller]
fn found(done: &Done) -> Vec<(String, String)> {
    let report: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| !text(finding, "remedy").is_empty()), "{report}");
    findings.iter().map(|finding| (text(finding, "severity"), text(finding, "problem"))).collect()
}

/// Checks with these settings; one finding must have these words, and decides the exit code.
#[track_caller]
fn finds(office: &mut Office, settings: &[(&str, &str)], severity: &str, words: &str) {
    for (name, value) in settings {
        office.set(name, value);
    }
    let done = office.groma(&["check", "--json"]);
    let found = found(&done);
    let wanted = |(known, problem): &(String, String)| known == severity && problem.contains(words);
    assert!(found.iter().any(wanted), "no {severity} with «{words}»: {found:?}");
    let code = match severity {
        "error" => Some(1),
        _ => Some(0),
    };
    assert_eq!(done.code, code, "{done:?}");
    let in_words = office.groma(&["check"]);
    assert_eq!(in_words.code, code);
    assert!(in_words.stdout.contains(words), "{}", in_words.stdout);
    let lines = usize::from(severity == "error");
    assert_eq!(in_words.stderr.lines().count(), lines, "{}", in_words.stderr);
}

on_both_engines! {
    fn an_office_in_order_has_nothing_to_be_said_about(engine: Engine) {
        let office = closed(engine);
        let found = found(&office.groma(&["check", "--json"]));
        // The databases of tests are not synced to the disk, which is a note.
        let others: Vec<_> = found.iter().filter(|(_, problem)| !problem.contains("a power failure can lose")).collect();
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(office.groma(&["check"]).code, Some(0));
    }

    fn the_address_for_people_is_to_be_https_and_its_proxy_known(engine: Engine) {
        let check = |settings: &[(&str, &str)], severity: &str, words: &str| {
            finds(&mut closed(engine), settings, severity, words);
        };
        let url = "GROMA_SERVER__PUBLIC_URL";
        let geo = ("GROMA_SERVER__GEO_PUBLIC_URL", "https://geo.example.org");
        let proxies = "GROMA_SERVER__TRUSTED_PROXIES";
        check(&[(url, "http://api.example.org"), geo], "warning", "are sent unencrypted");
        check(&[("GROMA_SERVER__LISTEN", "0.0.0.0:0")], "warning", "cannot be opened");
        check(&[(url, "https://api.example.org"), geo], "warning", "server.trusted_proxies is empty");
        check(&[(url, "https://api.example.org"), (proxies, "127.0.0.1")], "warning", "server.geo_public_url is not set");
        check(&[(proxies, "0.0.0.0/0")], "warning", "any client can claim any address");
        let mut office = closed(engine);
        for (name, value) in [(url, "https://api.example.org"), geo, (proxies, "127.0.0.1")] {
            office.set(name, value);
        }
        assert_eq!(office.groma(&["check"]).code, Some(0));
    }

    fn a_listener_that_cannot_be_had_is_told_and_a_groma_that_has_it_is_known(engine: Engine) {
        let mut office = closed(engine);
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = taken.local_addr().unwrap().to_string();
        finds(&mut office, &[("GROMA_SERVER__GEO_LISTEN", &at)], "error", &format!("server.geo_listen: {at}"));
        drop(taken);
        finds(&mut office, &[("GROMA_SERVER__LISTEN", &at)], "error", "are both");
        finds(&mut office, &[("GROMA_SERVER__LISTEN", "192.0.2.1:80")], "error", "server.listen: 192.0.2.1:80");
        office.set("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0");
        office.set("GROMA_SERVER__LISTEN", "127.0.0.1:0");
        office.open();
        let at = office.main().authority();
        finds(&mut office, &[("GROMA_SERVER__LISTEN", &at)], "note", "a Groma server already listens on");
    }

    fn several_problems_are_all_told_and_the_first_is_the_line(engine: Engine) {
        let mut office = closed(engine);
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = taken.local_addr().unwrap().to_string();
        office.set("GROMA_SERVER__LISTEN", &at);
        office.set("GROMA_WEBHOOKS__EXTRA_ROOTS", "/nowhere.pem");
        office.set("GROMA_SERVER__TRUSTED_PROXIES", "::/0");
        let done = office.groma(&["check", "--json"]);
        assert_eq!(done.code, Some(1));
        let severities: Vec<_> = found(&done).into_iter().map(|(severity, _)| severity).collect();
        assert_eq!(severities.iter().filter(|known| *known == "error").count(), 2, "{done:?}");
        assert_eq!(severities.iter().filter(|known| *known == "warning").count(), 1, "{done:?}");
        let line = office.groma(&["check"]).fails();
        assert!(line.starts_with("webhooks.extra_roots: ") && line.ends_with(" (and 1 more error)"), "{line}");
    }
}

#[test]
fn the_rights_and_the_time_of_a_file_are_looked_at() {
    let mut office = closed(Engine::Sqlite);
    let path = office.database().strip_prefix("sqlite:").unwrap().to_owned();
    let mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    finds(&mut office, &[], "warning", "other users of this machine can read or write");
    mode(0o600);
    assert_eq!(office.groma(&["check"]).code, Some(0));
    let ahead = SystemTime::now() + std::time::Duration::from_secs(7_200);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(ahead).unwrap();
    finds(&mut office, &[], "warning", "clock was set back");
}

#[test]
fn a_settings_file_with_a_secret_is_for_its_owner_alone() {
    let mut office = closed(Engine::Sqlite);
    let file = office
        .file("groma.toml", format!("[webhooks]\nencryption_key = \"{}\"\n", "cd".repeat(32)));
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    finds(&mut office, &[], "warning", "groma.toml contains a secret");
    mode(0o640);
    assert_eq!(office.groma(&["check"]).code, Some(0));
}

#[test]
fn nobody_who_delivers_is_told_on_sqlite() {
    let roles = [("GROMA_SERVER__ROLES", "main,geo,web")];
    finds(&mut closed(Engine::Sqlite), &roles, "warning", "webhook deliveries are not sent");
    let mut office = closed(Engine::Postgres);
    office.set(roles[0].0, roles[0].1);
    assert_eq!(office.groma(&["check"]).code, Some(0), "another replica may");
}

#[test]
fn a_server_that_is_not_there_or_has_no_such_database_is_told_apart() {
    let mut office = closed(Engine::Postgres);
    let line = |office: &Office| office.groma(&["check"]).fails();
    let nowhere = office.database().to_owned() + "_none";
    office.set("GROMA_DATABASE__URL", &nowhere);
    assert!(line(&office).ends_with("(3D000); create it with createdb"), "{}", line(&office));
    office.set("GROMA_DATABASE__URL", "postgres://nobody@127.0.0.1:1/none");
    let message = line(&office);
    assert!(message.contains("check that the server runs"), "{message}");
}
