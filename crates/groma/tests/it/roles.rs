//! `--roles`: a program does what it is told to, and leaves the rest to others.

use crate::{
    client::API,
    database::Engine,
    office::{self, ADMIN, NO_LIMIT, Office, wait_until},
    web::Browser,
    webhooks::{
        LOCAL, change, create, id,
        receiver::{PATIENCE, Receiver},
        webhook_json,
    },
};

/// Whether something is answered, by whom: the main API, the pages, the Geo API.
fn answered(office: &Office, token: &str) -> [bool; 3] {
    let on_main = |path: &str| match office.main().ask("GET", path).token(token).send() {
        found if found.status == 200 => true,
        missing => missing.error(404).is_empty(),
    };
    let has_main = office.main().is_reachable();
    let api = has_main && on_main(&format!("{API}/folders"));
    assert_eq!(has_main && on_main(&format!("{API}/openapi.json")), api);
    assert_eq!(has_main && on_main("/docs/"), api, "the documentation goes with the API");
    let pages = has_main && on_main("/login");
    let geo = office.geo().is_reachable();
    if geo {
        office.geo().ask("GET", &format!("{API}/layers")).token(token).send().ok();
    }
    [api, pages, geo]
}

#[test]
fn each_role_does_its_part_and_no_other() {
    let mut office = Office::closed(Engine::Sqlite, &[ADMIN, NO_LIMIT]);
    office.create_workspace(office::WORKSPACE);
    let token = office.master_token();
    for (roles, parts) in [
        ("main", [true, false, false]),
        ("web", [false, true, false]),
        ("geo", [false, false, true]),
        ("deliver", [false, false, false]),
        ("main,web", [true, true, false]),
        ("deliver, geo,main,main", [true, false, true]),
        ("main,geo,deliver,web", [true, true, true]),
    ] {
        office.set("GROMA_SERVER__ROLES", roles);
        office.open();
        assert_eq!(answered(&office, &token), parts, "{roles}");
        let ready = office.admin().ask("GET", "/readyz").send();
        assert_eq!((ready.status, ready.text().as_str()), (200, "ready\n"), "{roles}");
        let metrics = office.admin().ask("GET", "/metrics").send().text();
        for role in ["main", "geo", "deliver", "web"] {
            let line = format!("groma_role{{role=\"{role}\"}} {}", u8::from(roles.contains(role)));
            assert!(metrics.lines().any(|known| known == line), "{line} is not in {metrics}");
        }
        let has_loop = metrics.contains("groma_webhook_loop_age_seconds");
        assert_eq!(has_loop, roles.contains("deliver"), "{roles}");
        let mut program = office.take_program();
        program.signal("TERM");
        assert_eq!(program.ended(), Some(0), "{roles}");
        wait_until(PATIENCE, || {
            let log = program.log();
            if log.contains("\"stopping\"") { Ok(()) } else { Err(log) }
        });
        let is_told = program.log().contains("webhook deliveries are not sent");
        assert_eq!(is_told, !roles.contains("deliver"), "{roles}");
    }
}

#[test]
fn the_flag_stands_above_the_setting() {
    let office = Office::start_with(Engine::Postgres, &[("GROMA_SERVER__ROLES", "main,geo")]);
    let second = office.another_program_for("geo");
    assert!(office.main().is_reachable() && office.geo().is_reachable());
    assert!(!second.main.is_reachable() && second.geo.is_reachable());
}

#[test]
fn an_unknown_role_or_none_stops_the_start() {
    let office = Office::closed(Engine::Sqlite, &[]);
    for (roles, message) in [
        ("main,api", "server.roles: `api` is not a role; use main, geo, deliver or web"),
        ("Main", "server.roles: `Main` is not a role; use main, geo, deliver or web"),
        ("", "server.roles: must contain at least one of main, geo, deliver and web"),
        (",", "server.roles: must contain at least one of main, geo, deliver and web"),
    ] {
        office.groma(&["serve", "--roles", roles]).fails_with(message);
    }
    office.groma(&["serve", "--roles"]).is_wrong_usage();
}

#[test]
fn what_one_without_the_role_changes_another_delivers() {
    let environment = [&LOCAL[..], &[("GROMA_SERVER__ROLES", "main,web")]].concat();
    let office = Office::start_with(Engine::Postgres, &environment);
    let receiver = Receiver::start();
    let endpoint = create(&office, &receiver.url("/"), &[]);
    let browser = Browser::of_owner(&office);
    let new_folder = || browser.done("/folders/new", "/folders/new", &[("name", "Boundary")]);
    new_folder();
    change(&office, "F", "by command");
    let waiting = webhook_json(&office, &["deliveries", id(&endpoint), "--state", "waiting"]);
    assert_eq!(waiting.as_array().unwrap().len(), 2, "{waiting}");
    assert_eq!(receiver.connections(), 0, "nobody here sends");
    let second = office.another_program_for("deliver");
    receiver.wait_for(2);
    // While it runs it is told of the next.
    new_folder();
    receiver.wait_for(3);
    assert_eq!(second.terminate(), Some(0));
}

#[test]
fn on_sqlite_what_nobody_sends_is_sent_by_the_next_that_does() {
    let mut office = Office::start_with(
        Engine::Sqlite,
        &[&LOCAL[..], &[("GROMA_SERVER__ROLES", "main")]].concat(),
    );
    let receiver = Receiver::start();
    create(&office, &receiver.url("/"), &[]);
    change(&office, "F", "x");
    assert_eq!(office.close(), Some(0));
    assert_eq!(receiver.connections(), 0);
    office.set("GROMA_SERVER__ROLES", "main,deliver");
    office.open();
    receiver.wait_for(1);
}
