//! Loading and rejecting settings.

use super::*;
use base64::{Engine as _, engine::general_purpose::STANDARD};

fn load(environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Settings, String> {
    let environment =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let flags: Vec<_> = flags.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Settings::load(None, environment, &flags).map_err(|error| error.to_string())
}

#[test]
fn flags_override_the_environment_which_overrides_the_defaults() {
    let settings = load(
        &[
            ("GROMA_SERVER__LISTEN", "127.0.0.1:1"),
            ("GROMA_DATABASE__URL", "sqlite:a"),
            ("HOME", "x"),
        ],
        &[("database.url", "sqlite:b")],
    )
    .unwrap();
    assert_eq!(settings.server.listen.port(), 1);
    assert_eq!(settings.server.geo_listen.port(), 8081);
    assert_eq!(settings.database, "sqlite:b".parse().unwrap());
}

#[test]
fn lists_in_the_environment_are_comma_separated() {
    let networks = |text: &str| {
        load(&[("GROMA_WEBHOOKS__ALLOW_NETWORKS", text)], &[])
            .unwrap()
            .webhooks
            .allow_networks
            .len()
    };
    assert_eq!(networks(""), 0);
    assert_eq!(networks("10.0.0.0/8, ::1"), 2);
}

#[test]
fn address_can_be_a_host_name() {
    let settings = load(&[("GROMA_SERVER__LISTEN", "localhost:8080")], &[]).unwrap();
    assert!(settings.server.listen.ip().is_loopback());
    assert_eq!(settings.server.listen.port(), 8080);
}

#[test]
fn invalid_settings_are_reported_by_name() {
    for (name, value, message) in [
        ("GROMA_LISTEN", "x", "GROMA_LISTEN: is not a setting; check the spelling"),
        ("GROMA_SERVER__PORT", "1", "GROMA_SERVER__PORT: is not a setting; check the spelling"),
        (
            "GROMA_SERVER__LISTEN",
            "8080",
            "server.listen: must be an address with a port, for example 127.0.0.1:8080, not `8080`",
        ),
        (
            "GROMA_LIMITS__REQUESTS_PER_MINUTE",
            "many",
            "GROMA_LIMITS__REQUESTS_PER_MINUTE: must be a whole number",
        ),
        (
            "GROMA_LIMITS__REQUESTS_PER_MINUTE",
            "-1",
            "limits.requests_per_minute: must be from 0 to 1000000",
        ),
        (
            "GROMA_DATABASE__URL",
            "mysql://x",
            "database.url: must be `sqlite:PATH` or `postgres://…`",
        ),
        (
            "GROMA_SERVICE__TOKEN_PREFIX",
            "a_b",
            "service.token_prefix: must be 1 to 16 lowercase letters or digits",
        ),
        (
            "GROMA_WEBHOOKS__ENCRYPTION_KEY",
            "0123",
            "webhooks.encryption_key: must be 32 bytes as 64 hexadecimal digits or as base64",
        ),
        (
            "GROMA_WEBHOOKS__PREVIOUS_ENCRYPTION_KEY",
            "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
            "webhooks.previous_encryption_key: needs webhooks.encryption_key, which replaces it",
        ),
        (
            "GROMA_SERVER__ADMIN_LISTEN",
            "9090",
            "server.admin_listen: must be an address with a port, for example 127.0.0.1:8080, not `9090`",
        ),
        (
            "GROMA_SERVER__ROLES",
            "main,deliverer",
            "server.roles: `deliverer` is not a role; use main, geo, deliver or web",
        ),
        (
            "GROMA_SERVER__ROLES",
            " , ",
            "server.roles: must contain at least one of main, geo, deliver and web",
        ),
        (
            "GROMA_SERVER__TRUSTED_PROXIES",
            "10.0.0.0/8,proxy",
            "server.trusted_proxies: `proxy` is not a network such as 10.0.0.0/8",
        ),
        ("GROMA_SERVER__TLS__KEY", "server.key", "server.tls.certificate: is required by the key"),
        ("GROMA_SERVER__TLS", "x", "GROMA_SERVER__TLS: is not a setting; check the spelling"),
        (
            "GROMA_SERVER__TLS__KEY__X",
            "x",
            "GROMA_SERVER__TLS__KEY__X: is not a setting; check the spelling",
        ),
        ("GROMA_LIMITS__BODY_SECONDS", "0", "limits.body_seconds: must be from 1 to 3600"),
        ("GROMA_LIMITS__CONNECTIONS", "0", "limits.connections: must be from 1 to 1000000"),
        ("GROMA_LOG__FORMAT", "xml", "log.format: must be auto, text or json"),
        ("GROMA_WEBHOOKS__ALLOW_HTTP", "yes", "GROMA_WEBHOOKS__ALLOW_HTTP: must be true or false"),
    ] {
        assert_eq!(load(&[(name, value)], &[]).unwrap_err(), message);
    }
}

#[test]
fn mail_settings_that_contradict_each_other_are_rejected() {
    let load_smtp = |settings: &[(&str, &str)]| {
        let names: Vec<_> = settings.iter().map(|(name, _)| format!("smtp.{name}")).collect();
        let flags: Vec<_> =
            names.iter().zip(settings).map(|(name, (_, value))| (name.as_str(), *value)).collect();
        load(&[], &flags)
    };
    let (host, from) = (("host", "mail.example.com"), ("from", "Groma <groma@example.com>"));
    let smtp = load_smtp(&[host, from]).unwrap().smtp.unwrap();
    assert_eq!((smtp.port, smtp.encryption), (587, SmtpEncryption::StartTls));
    let secret = ("password", "a secret of the operator");
    let settings = load_smtp(&[host, from, ("username", "groma"), secret]).unwrap();
    assert!(!format!("{settings:?}").contains(secret.1));
    let none = ("encryption", "none");
    for host in ["localhost", "127.0.0.1", "::1"] {
        assert!(load_smtp(&[("host", host), from, none]).is_ok(), "{host}");
    }
    assert!(load_smtp(&[host, from, none, ("allow_unencrypted", "true")]).is_ok());
    assert!(load(&[], &[]).unwrap().smtp.is_none());
    for (settings, message) in [
        (&[from][..], "smtp.host: must be set, because smtp.from is set"),
        (
            &[host],
            "smtp.from: must be the address of the sender, for example groma@example.com or Groma <groma@example.com>",
        ),
        (&[host, from, ("encryption", "ssl")], "smtp.encryption: must be starttls, tls or none"),
        (
            &[host, from, none],
            "smtp.encryption: `none` is allowed only for a server on this machine; use starttls or tls, or set smtp.allow_unencrypted",
        ),
        (
            &[host, from, ("allow_unencrypted", "true")],
            "smtp.allow_unencrypted: must be false, because smtp.encryption is starttls",
        ),
        (
            &[host, from, ("username", "groma")],
            "smtp.password: must be set, because smtp.username is set",
        ),
        (&[host, from, secret], "smtp.username: must be set, because smtp.password is set"),
        (
            &[host, from, ("port", "70000")],
            "smtp.port: must be from 1 to 65535, or 0 for the usual port",
        ),
        (&[("host", "a host"), from], "smtp.host: must be a host name or an IP address"),
    ] {
        assert_eq!(load_smtp(settings).unwrap_err(), message);
    }
}

#[test]
fn encryption_key_is_hexadecimal_or_base64_and_never_printed() {
    for key in ["ab".repeat(32), STANDARD.encode([0xab; 32])] {
        let settings = load(&[("GROMA_WEBHOOKS__ENCRYPTION_KEY", &key)], &[]).unwrap();
        assert!(settings.webhooks.encryption_key.is_some());
        assert!(!format!("{settings:?}").contains(&key));
    }
    assert!(load(&[("GROMA_WEBHOOKS__ENCRYPTION_KEY", "")], &[]).is_ok());
}

#[test]
fn unknown_setting_in_a_file_is_reported_by_its_dotted_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groma.toml");
    let load = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Settings::load(Some(&path), [], &[])
            .map(|settings| settings.server.listen.port())
            .map_err(|error| error.to_string())
    };
    assert_eq!(load("[server]\nlisten = \"127.0.0.1:9\""), Ok(9));
    assert_eq!(
        load("[server]\nport = 9"),
        Err("server.port: is not a setting; check the spelling".into())
    );
    assert_eq!(load("[server]\nlisten = 9"), Err("server.listen: must be a string".into()));
    assert_eq!(load("server = 9"), Err("server: must be a table of settings".into()));
}

#[test]
fn service_name_has_a_default_for_headers_and_one_for_users() {
    let names = |name: &str| {
        let settings = load(&[("GROMA_SERVICE__NAME", name)], &[]).unwrap();
        let service = &settings.service;
        (service.header_name().to_owned(), service.display_name().to_owned())
    };
    assert_eq!(names(""), ("Service".to_owned(), "Groma".to_owned()));
    assert_eq!(names("Service"), ("Service".to_owned(), "Service".to_owned()));
    assert_eq!(names("Cadastre"), ("Cadastre".to_owned(), "Cadastre".to_owned()));
}

/// A complete provider, with changes.
fn provider(changes: &[(&str, &str)]) -> Result<Settings, String> {
    let mut values = vec![
        ("GROMA_OIDC__COMPANY__ISSUER", "https://login.example.test/realms/office"),
        ("GROMA_OIDC__COMPANY__CLIENT_ID", "groma"),
    ];
    values.extend(changes);
    load(&values, &[])
}

#[test]
fn identity_providers_have_names_of_their_own() {
    assert!(load(&[], &[]).unwrap().oidc.is_empty());
    let settings = provider(&[
        ("GROMA_OIDC__COMPANY__CLIENT_SECRET", "hidden"),
        ("GROMA_OIDC__PARTNER__ISSUER", "http://127.0.0.1:9000"),
        ("GROMA_OIDC__PARTNER__CLIENT_ID", "x"),
        ("GROMA_OIDC__PARTNER__LABEL", "Partner office"),
    ])
    .unwrap();
    let labels: Vec<_> = settings.oidc.iter().map(|provider| provider.label.as_str()).collect();
    assert_eq!(labels, ["company", "Partner office"]);
    assert!(!format!("{settings:?}").contains("hidden"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("groma.toml");
    let text = "[oidc.office]\nissuer = \"https://a.test\"\nclient_id = \"b\"\n";
    std::fs::write(&file, text).unwrap();
    let settings = Settings::load(Some(&file), [], &[]).unwrap();
    assert_eq!(settings.oidc[0].name, "office");
}

#[test]
fn contradictory_settings_of_an_identity_provider_are_rejected() {
    for (name, value, message) in [
        ("ISSUER", "login.example.test", "issuer: must be a URL, for example"),
        ("ISSUER", "http://login.example.test", "issuer: must start with https://"),
        ("CLIENT_ID", "", "client_id: is required by the issuer"),
        ("DOMAINS", "example.test", "workspace: is required by domains"),
        ("GROUPS", "gis=admin", "workspace: is required by groups"),
        ("WORKSPACE", "Office", "domains: is required by workspace, unless groups are given"),
    ] {
        let variable = format!("GROMA_OIDC__COMPANY__{name}");
        let error = provider(&[(variable.as_str(), value)]).unwrap_err();
        assert!(error.starts_with(&format!("oidc.company.{message}")), "{error}");
    }
    for (name, value, message) in
        [("GROUPS", "gis", "groups: `gis` must be a group and a role"), ("ROLE", "chief", "role: ")]
    {
        let variable = format!("GROMA_OIDC__COMPANY__{name}");
        let error = provider(&[
            ("GROMA_OIDC__COMPANY__WORKSPACE", "Office"),
            ("GROMA_OIDC__COMPANY__DOMAINS", "example.test"),
            (variable.as_str(), value),
        ])
        .unwrap_err();
        assert!(error.starts_with(&format!("oidc.company.{message}")), "{error}");
    }
    let error = load(&[("GROMA_OIDC__COMPANY__SECRET", "x")], &[]).unwrap_err();
    assert_eq!(error, "GROMA_OIDC__COMPANY__SECRET: is not a setting; check the spelling");
}

#[test]
fn provider_gives_the_highest_role_of_its_rules() {
    let rule = |changes: &[(&str, &str)]| {
        let mut values = vec![("GROMA_OIDC__COMPANY__WORKSPACE", "Office")];
        values.extend(changes);
        provider(&values).unwrap().oidc.remove(0).membership.unwrap()
    };
    let groups = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let by_domain = rule(&[("GROMA_OIDC__COMPANY__DOMAINS", "@Example.test, other.test")]);
    assert_eq!(by_domain.role_of("a@EXAMPLE.test", &[]), Some(groma_domain::Role::Viewer));
    assert_eq!(by_domain.role_of("a@sub.example.test", &[]), None);
    assert!(!by_domain.is_managed());
    let by_group = rule(&[("GROMA_OIDC__COMPANY__GROUPS", "field=editor,gis-admins=admin")]);
    let both = groups(&["field", "gis-admins", "others"]);
    assert_eq!(by_group.role_of("a@b.test", &both), Some(groma_domain::Role::Admin));
    assert_eq!(by_group.role_of("a@b.test", &groups(&["others"])), None);
    assert!(by_group.is_managed());
}
