//! The commands for workspaces, users, single records and the installation, and their exit codes.

use crate::{
    on_both_engines, sample_records, sample_records::ASSIGNMENT, sample_records::BUDGET,
    sample_records::EXPENSE, sample_records::FOLDER, sample_records::is_time,
    sample_records::is_uuid_v7, sample_records::text,
};
use groma_testkit::{
    Engine, TestServer, postgres, program, server::LISTENERS, server::NO_RATE_LIMIT, server::OWNER,
    server::PASSWORD, server::WORKSPACE,
};
use serde_json::{Value, json};

on_both_engines! {
    workspace_can_be_created_listed_and_deleted
    workspace_names_are_unique
    new_owner_needs_a_password_on_standard_input
    password_arguments_are_rejected
    user_can_be_added_with_a_role_and_given_a_password
    member_can_be_renamed
    last_owner_cannot_be_removed_or_demoted
    workspace_option_is_optional_with_a_single_workspace
    archived_folder_has_the_time_of_archiving
    archiving_an_archived_folder_changes_nothing
    deleting_a_folder_deletes_its_contents_and_nothing_else
    deleting_an_assignment_or_budget_unlinks_its_expenses
    usage_error_exits_with_2_and_help_with_0
    unknown_token_cannot_be_revoked
    check_reports_settings_database_and_migrations
}

const UUID_FILTER: (&str, &str) = (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[id]");
const TIME_FILTER: (&str, &str) = (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]");

fn workspace_can_be_created_listed_and_deleted(engine: Engine) {
    let server = TestServer::stopped(engine, &[]);
    let first = server.create_workspace("Cadastre Nord");
    assert!(is_uuid_v7(&json!(first)));
    let create = ["workspace", "create", "Japan", "--owner", OWNER, "--currency", "JPY", "--json"];
    let second = server.run(&create).json();
    assert_eq!(second["name"], "Japan");
    let list = server.run(&["workspace", "list", "--json"]).json();
    let rows = list.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["id"], &rows[0]["name"]), (&json!(first), &json!("Cadastre Nord")));
    assert_eq!(rows[1], second);
    assert!(is_time(&second["createdAt"]));
    let table = server.run(&["workspace", "list"]).expect_success();
    insta::with_settings!({ filters => vec![UUID_FILTER, TIME_FILTER] }, {
        insta::allow_duplicates!(insta::assert_snapshot!(table, @"
        KEY                                   NAME           CURRENCY  CREATED
        [id]  Cadastre Nord  EUR       [time]
        [id]  Japan          JPY       [time]
        "));
    });
    // By name, ignoring case and accents, and by key.
    server.run(&["workspace", "delete", "CADASTRE NÔRD"]).expect_success();
    server.run(&["workspace", "delete", "--workspace", text(&second["id"])]).expect_success();
    assert_eq!(server.run(&["workspace", "list", "--json"]).json(), json!([]));
    server.run(&["workspace", "delete", "Japan"]).expect_error("workspace `Japan` not found");
}

fn workspace_names_are_unique(engine: Engine) {
    let server = TestServer::start(engine);
    for taken in [WORKSPACE, "CADASTRE", "càdastre"] {
        let create = ["workspace", "create", taken, "--owner", OWNER];
        server.run(&create).expect_error(&format!("name `{taken}` is already in use"));
    }
    for wrong in ["", " ", "019a8b7c-0000-7000-8000-000000000000", "a\nb"] {
        server.run(&["workspace", "create", wrong, "--owner", OWNER]).expect_usage_error();
    }
}

fn new_owner_needs_a_password_on_standard_input(engine: Engine) {
    let server = TestServer::stopped(engine, &[]);
    let create = ["workspace", "create", "One", "--owner", OWNER];
    server
        .run(&create)
        .expect_error("a new owner needs a password; write it to the first line of standard input");
    server
        .run_with_input("short\n", &create)
        .expect_error("the password must have at least 10 characters");
    assert_eq!(
        server.run(&["workspace", "list", "--json"]).json(),
        json!([]),
        "no workspace was created"
    );
    server.run_with_input(PASSWORD, &create).expect_success();
    // A known user keeps the password and needs no input.
    server.run(&["workspace", "create", "Two", "--owner", &OWNER.to_uppercase()]).expect_success();
}

fn password_arguments_are_rejected(engine: Engine) {
    let server = TestServer::stopped(engine, &[]);
    for arguments in [
        &["workspace", "create", "One", "--owner", OWNER, "--password", "a password"][..],
        &["user", "add", OWNER, "--role", "viewer", "--password=a password"],
        &["user", "password", OWNER, "a password"],
        &["user", "password", OWNER, "--password", "a password"],
    ] {
        server.run(arguments).expect_usage_error();
    }
    for command in [
        &["workspace", "create", "--help"][..],
        &["user", "add", "--help"],
        &["user", "password", "--help"],
    ] {
        assert!(!server.run(command).expect_success().contains("--password"));
    }
}

fn user_can_be_added_with_a_role_and_given_a_password(engine: Engine) {
    let server = TestServer::start(engine);
    let add = ["user", "add", "field.crew@example.test", "--workspace", WORKSPACE, "--role"];
    let added = server.run(&[&add[..], &["viewer", "--json"]].concat()).json();
    assert!(is_uuid_v7(&added["id"]));
    assert_eq!(
        (&added["name"], &added["email"], &added["role"]),
        (&json!("Field crew"), &json!("field.crew@example.test"), &json!("viewer"))
    );
    let again = server.run(&[&add[..], &["editor", "--json"]].concat()).json();
    assert_eq!((&again["id"], &again["role"]), (&added["id"], &json!("editor")));
    server
        .run_with_input(PASSWORD, &["user", "password", "FIELD.CREW@example.test"])
        .expect_success();
    server
        .run_with_input("", &["user", "password", "field.crew@example.test"])
        .expect_error("the password is empty; write it to the first line of standard input");
    server
        .run_with_input("short\n", &["user", "password", OWNER])
        .expect_error("the password must have at least 10 characters");
    let stranger = server.run_with_input(PASSWORD, &["user", "password", "stranger@example.test"]);
    stranger.expect_error("user `stranger@example.test` not found");
    server.run(&[&add[..], &["boss"]].concat()).expect_usage_error();
    server.run(&["user", "add", "no-address", "--role", "viewer"]).expect_usage_error();
    server.run(&["user", "add", "x@example.test"]).expect_usage_error();
}

fn member_can_be_renamed(engine: Engine) {
    let server = TestServer::start(engine);
    server.import("folders", &[json!({ "reference": "F", "name": "x", "owner": OWNER })]);
    let rename = ["user", "add", OWNER, "--role", "owner", "--name", "Ada Lovelace", "--json"];
    assert_eq!(server.run(&rename).json()["name"], "Ada Lovelace");
    let token = server.create_token(&["READ_FOLDER"]);
    assert_eq!(server.get("/folders/F", &token).ok()["owner"]["name"], "Ada Lovelace");
}

fn last_owner_cannot_be_removed_or_demoted(engine: Engine) {
    let server = TestServer::start(engine);
    let demote = ["user", "add", OWNER, "--role", "admin"];
    server.run(&demote).expect_error("role cannot change: a workspace needs an owner");
    server.run(&["user", "add", "second@example.test", "--role", "owner"]).expect_success();
    server.run(&demote).expect_success();
}

fn workspace_option_is_optional_with_a_single_workspace(engine: Engine) {
    let server = TestServer::start(engine);
    server.import("folders", &[json!({ "reference": "F", "name": "x" })]);
    server.run(&["archive", "folder", "F"]).expect_success();
    server.create_workspace("Second");
    for command in [
        &["archive", "folder", "F"][..],
        &["delete", "folder", "F"],
        &["export", "folders", "-"],
        &["user", "add", "x@example.test", "--role", "viewer"],
        &["token", "create", "--user", OWNER, "--name", "n", "--scopes", ""],
    ] {
        let output = server.run(command);
        output.expect_usage_error();
        assert_eq!(
            output.stderr,
            "groma: there are several workspaces; choose one with --workspace\n"
        );
        let named = [command, &["--workspace", "nowhere"]].concat();
        server.run(&named).expect_error("workspace `nowhere` not found");
    }
    server.run(&["archive", "folder", "F", "--workspace", "cadastre"]).expect_success();
}

fn archived_folder_has_the_time_of_archiving(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let path = format!("/folders/{FOLDER}");
    server.run(&["archive", "folder", FOLDER, "--workspace", WORKSPACE]).expect_success();
    let archived = server.get(&path, &token).ok();
    assert!(is_time(&archived["archivedAt"]));
    assert_eq!(archived["version"], 2);
    assert_eq!(
        server.get("/folders", &token).ok()["total"],
        2,
        "an archived folder is still listed"
    );
    server.import("folders", &[json!({ "reference": FOLDER, "archivedAt": null })]);
    assert_eq!(server.get(&path, &token).ok()["archivedAt"], Value::Null);
    server.run(&["archive", "folder", "missing"]).expect_error("folder `missing` not found");
    server.run(&["archive", "expense", EXPENSE]).expect_usage_error();
}

fn archiving_an_archived_folder_changes_nothing(engine: Engine) {
    let server = TestServer::start(engine);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let path = format!("/folders/{FOLDER}");
    server.run(&["archive", "folder", FOLDER]).expect_success();
    let first = server.get(&path, &token).ok();
    server.run(&["archive", "folder", FOLDER]).expect_success();
    assert_eq!(server.get(&path, &token).ok(), first);
}

fn deleting_a_folder_deletes_its_contents_and_nothing_else(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    server.run(&["delete", "folder", FOLDER, "--workspace", WORKSPACE]).expect_success();
    for (path, _, reference) in sample_records::KINDS {
        server.get(&format!("{path}/{reference}"), &token).error(404);
        let left = server.get(path, &token).ok();
        assert_eq!((&left["total"], left["content"].as_array().unwrap().len()), (&json!(1), 1));
    }
    server.run(&["delete", "folder", FOLDER]).expect_error(&format!("folder `{FOLDER}` not found"));
}

fn deleting_an_assignment_or_budget_unlinks_its_expenses(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    server.run(&["delete", "assignment", ASSIGNMENT]).expect_success();
    server.run(&["delete", "budget", BUDGET]).expect_success();
    let expense = server.get(&format!("/expenses/{EXPENSE}"), &token).ok();
    assert_eq!((&expense["assignmentId"], &expense["budgetId"]), (&Value::Null, &Value::Null));
    assert_eq!(expense["version"], 3);
    let id = text(&expense["id"]).to_owned();
    server.run(&["delete", "expense", &id]).expect_success();
    server.get(&format!("/expenses/{id}"), &token).error(404);
    server.get(&format!("/folders/{FOLDER}"), &token).ok();
    server.run(&["delete", "status", "x"]).expect_usage_error();
}

fn usage_error_exits_with_2_and_help_with_0(engine: Engine) {
    let server = TestServer::stopped(engine, &[]);
    for wrong in [
        &[][..],
        &["nonsense"],
        &["serve", "--nonsense"],
        &["token", "revoke"],
        &["token", "revoke", "not-an-id"],
        &["token", "create", "--user", OWNER, "--name", "n", "--scopes", "READ_EVERYTHING"],
        &["token", "create", "--user", OWNER, "--name", "n"],
        &["import", "folders"],
        &["import", "things", "x.csv"],
        &["workspace"],
        &["export", "folders"],
        &["delete", "layer", "x"],
        &["token", "create", "--user", OWNER, "--name", "", "--scopes", ""],
        &["token", "create", "--user", OWNER, "--name", "n", "--scopes", "", "--expires", "soon"],
        &["user", "add", OWNER, "--role", "viewer", "--name", " "],
        &["workspace", "create", "", "--owner", OWNER],
    ] {
        server.run(wrong).expect_usage_error();
    }
    for right in [&["--help"][..], &["--version"], &["import", "--help"]] {
        assert!(!server.run(right).expect_success().is_empty());
    }
    let version = server.run(&["--version"]).expect_success();
    assert_eq!(version, format!("groma {}", env!("CARGO_PKG_VERSION")));
}

fn unknown_token_cannot_be_revoked(engine: Engine) {
    let server = TestServer::start(engine);
    let id = "019a8b7c-0000-7000-8000-000000000000";
    server.run(&["token", "revoke", id]).expect_error(&format!("token `{id}` not found"));
}

fn check_reports_settings_database_and_migrations(engine: Engine) {
    let server = TestServer::start(engine);
    let name = if engine == Engine::Sqlite { "SQLite" } else { "PostgreSQL" };
    let output = server.run(&["check"]).expect_success();
    // The test server of PostgreSQL does not sync.
    // Only SQLite has a key file.
    let filters = vec![
        (r"(SQLite|PostgreSQL) at \S+", "[engine]"),
        (r"note +fsync.*\n.*\n", ""),
        (r"encryption +not encrypted\n", ""),
        (r"\nwarning +webhooks.encryption_key is not set.*\n.*", ""),
    ];
    insta::with_settings!({ filters => filters }, {
        insta::allow_duplicates!(insta::assert_snapshot!(output, @"
        settings    valid
        database    [engine] reachable
        migrations  up to date
        workspaces  1
        note        server.admin_listen is not set, so there are no health checks and metrics
                    → set it to a private address, for example 127.0.0.1:9464
        "));
    });
    let report = server.run(&["check", "--json"]).json();
    assert_eq!(report["database"]["engine"], name);
    assert_eq!(report["workspaces"], 1);
    assert_eq!(report["settings"]["limits.requests_per_minute"], 100);
    assert_eq!(report["settings"]["service.token_prefix"], "svc");
}

#[test]
fn check_hides_the_database_password() {
    let postgres_server = postgres::server_url().unwrap();
    let server = TestServer::stopped(Engine::Postgres, &[]);
    assert!(server.database_url().starts_with(postgres_server.split('@').next().unwrap()));
    let url = server.database_url().replacen("postgres@", "postgres:very-secret@", 1);
    for more in [&["check"][..], &["check", "--json"]] {
        let output =
            program::run(&[("GROMA_DATABASE__URL", &url), LISTENERS[0], LISTENERS[1]], "", more);
        assert!(!output.expect_success().contains("very-secret"));
    }
    let nowhere = url.rsplit_once('/').unwrap().0.to_owned() + "/none";
    let output = program::run(&[("GROMA_DATABASE__URL", &nowhere)], "", &["check"]);
    assert!(!output.expect_failure().contains("very-secret"));
}

#[test]
fn command_without_a_database_fails_and_creates_none() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let path = server.database_url().strip_prefix("sqlite:").unwrap();
    let missing =
        format!("there is no database at {path}; create one with `groma workspace create`");
    for command in [
        &["check"][..],
        &["check", "--json"],
        &["workspace", "list"],
        &["token", "list"],
        &["export", "folders", "-"],
        &["import", "folders", "rows.csv"],
        &["user", "add", OWNER, "--role", "viewer"],
        &["delete", "folder", "F"],
    ] {
        server.run(command).expect_error(&missing);
    }
    assert_eq!(std::fs::read_dir(server.directory()).unwrap().count(), 0);
    let options = format!("{}?mode=ro", server.database_url());
    let message = "database.url: `sqlite:PATH` takes no options after a `?`";
    server.run(&["check", "--database", &options]).expect_error(message);
    server.create_workspace("One");
    server.run(&["check"]).expect_success();
    server.run(&["workspace", "delete", "One"]).expect_success();
    let none = "there is no workspace yet; create one with `groma workspace create`";
    server.run(&["export", "folders", "-"]).expect_error(none);
}

#[test]
fn check_lists_pending_migrations_without_running_them() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let file = server.write_file("groma.db", "");
    for _ in 0..2 {
        let message = server.run(&["check"]).expect_failure();
        assert!(message.starts_with("migrations are pending: V1__schema"), "{message}");
    }
    assert_eq!(std::fs::metadata(file).unwrap().len(), 0);
}

#[test]
fn crs_command_shows_operations_and_reasons() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let krovak = server.run(&["crs", "EPSG:5514", "--json"]).json();
    assert_eq!(krovak["name"], "S-JTSK / Krovak East North");
    assert_eq!(krovak["supported"], true);
    assert_eq!(krovak["axisOrder"], json!(["east", "north"]));
    let operations = krovak["operations"].as_array().unwrap();
    let czechia = operations.iter().find(|one| one["codes"] == json!(["EPSG:5239"])).unwrap();
    assert_eq!((&czechia["accuracy"], &czechia["available"]), (&json!(1.0), &json!(true)));
    let germany = server.run(&["crs", "EPSG:31467"]).expect_success();
    assert!(germany.contains("missing     BETA2007.gsb"), "{germany}");
    let unsupported = server.run(&["crs", "EPSG:27200", "--json"]).json();
    assert_eq!(unsupported["supported"], false);
    assert_eq!(unsupported["reason"], "its projection (New Zealand Map Grid) is not implemented");
    let output = server.run(&["crs", "Lambert-93"]);
    assert_eq!(output.code, Some(2), "{output:?}");
}
