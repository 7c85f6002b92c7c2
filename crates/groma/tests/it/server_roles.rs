//! `--roles`: a process serves its roles and nothing else.

use crate::{
    web::Browser, webhooks::LOCAL_RECEIVERS, webhooks::create_endpoint, webhooks::id,
    webhooks::save_folder, webhooks::webhook_json,
};
use groma_testkit::{
    API, Engine, Receiver, TestServer, server::ADMIN_LISTENER, server::NO_RATE_LIMIT,
    server::WORKSPACE, wait::PATIENCE, wait_until,
};

/// Whether the main API, the web application and the Geo API respond.
fn responding(server: &TestServer, token: &str) -> [bool; 3] {
    let on_main = |path: &str| match server.main().request("GET", path).token(token).send() {
        found if found.status == 200 => true,
        missing => missing.error(404).is_empty(),
    };
    let has_main = server.main().is_reachable();
    let api = has_main && on_main(&format!("{API}/folders"));
    assert_eq!(has_main && on_main(&format!("{API}/openapi.json")), api);
    assert_eq!(has_main && on_main("/docs/"), api, "the documentation is served with the API");
    let pages = has_main && on_main("/login");
    let geo = server.geo().is_reachable();
    if geo {
        server.geo().request("GET", &format!("{API}/layers")).token(token).send().ok();
    }
    [api, pages, geo]
}

#[test]
fn each_role_serves_its_part_only() {
    let mut server = TestServer::stopped(Engine::Sqlite, &[ADMIN_LISTENER, NO_RATE_LIMIT]);
    server.create_workspace(WORKSPACE);
    let token = server.create_full_token();
    for (roles, parts) in [
        ("main", [true, false, false]),
        ("web", [false, true, false]),
        ("geo", [false, false, true]),
        ("deliver", [false, false, false]),
        ("main,web", [true, true, false]),
        ("deliver, geo,main,main", [true, false, true]),
        ("main,geo,deliver,web", [true, true, true]),
    ] {
        server.set_env("GROMA_SERVER__ROLES", roles);
        server.serve();
        assert_eq!(responding(&server, &token), parts, "{roles}");
        let ready = server.admin().request("GET", "/readyz").send();
        assert_eq!((ready.status, ready.text().as_str()), (200, "ready\n"), "{roles}");
        let metrics = server.admin().request("GET", "/metrics").send().text();
        for role in ["main", "geo", "deliver", "web"] {
            let line = format!("groma_role{{role=\"{role}\"}} {}", u8::from(roles.contains(role)));
            assert!(metrics.lines().any(|known| known == line), "{line} is not in {metrics}");
        }
        let has_loop = metrics.contains("groma_webhook_loop_age_seconds");
        assert_eq!(has_loop, roles.contains("deliver"), "{roles}");
        let mut program = server.take_process();
        program.signal("TERM");
        assert_eq!(program.wait_for_exit(), Some(0), "{roles}");
        wait_until(PATIENCE, || {
            let log = program.log();
            if log.contains("\"stopping\"") { Ok(()) } else { Err(log) }
        });
        let is_told = program.log().contains("webhook deliveries are not sent");
        assert_eq!(is_told, !roles.contains("deliver"), "{roles}");
    }
}

#[test]
fn option_overrides_the_setting() {
    let server = TestServer::start_with(Engine::Postgres, &[("GROMA_SERVER__ROLES", "main,geo")]);
    let second = server.start_replica_with_roles("geo");
    assert!(server.main().is_reachable() && server.geo().is_reachable());
    assert!(!second.main().is_reachable() && second.geo().is_reachable());
}

#[test]
fn unknown_or_empty_roles_prevent_the_start() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    for (roles, message) in [
        ("main,api", "server.roles: `api` is not a role; use main, geo, deliver or web"),
        ("Main", "server.roles: `Main` is not a role; use main, geo, deliver or web"),
        ("", "server.roles: must contain at least one of main, geo, deliver and web"),
        (",", "server.roles: must contain at least one of main, geo, deliver and web"),
    ] {
        server.run(&["serve", "--roles", roles]).expect_error(message);
    }
    server.run(&["serve", "--roles"]).expect_usage_error();
}

#[test]
fn replica_with_the_webhook_role_delivers_changes_of_others() {
    let environment = [&LOCAL_RECEIVERS[..], &[("GROMA_SERVER__ROLES", "main,web")]].concat();
    let server = TestServer::start_with(Engine::Postgres, &environment);
    let receiver = Receiver::start();
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    let browser = Browser::of_owner(&server);
    let new_folder = || browser.submit("/folders/new", "/folders/new", &[("name", "Boundary")]);
    new_folder();
    save_folder(&server, "F", "by command");
    let waiting = webhook_json(&server, &["deliveries", id(&endpoint), "--state", "waiting"]);
    assert_eq!(waiting.as_array().unwrap().len(), 2, "{waiting}");
    assert_eq!(receiver.connections(), 0, "this process delivers nothing");
    let second = server.start_replica_with_roles("deliver");
    receiver.wait_for(2);
    // A running replica is notified of the next change.
    new_folder();
    receiver.wait_for(3);
    assert_eq!(second.terminate(), Some(0));
}

#[test]
fn sqlite_deliveries_wait_for_a_process_with_the_webhook_role() {
    let mut server = TestServer::start_with(
        Engine::Sqlite,
        &[&LOCAL_RECEIVERS[..], &[("GROMA_SERVER__ROLES", "main")]].concat(),
    );
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(receiver.connections(), 0);
    server.set_env("GROMA_SERVER__ROLES", "main,deliver");
    server.serve();
    receiver.wait_for(1);
}
