//! The commands about workspaces, users, single records and the installation; their exit codes.

use crate::{
    database::Engine,
    office::{self, LISTEN, NO_LIMIT, OWNER, Office, PASSWORD, WORKSPACE},
    on_both_engines,
    sample::{self, ASSIGNMENT, BUDGET, EXPENSE, FOLDER, is_time, is_uuid_v7, text},
};
use serde_json::{Value, json};

on_both_engines! {
    fn a_workspace_is_created_listed_and_deleted(engine: Engine) {
        let office = Office::closed(engine, &[]);
        let first = office.create_workspace("Cadastre Nord");
        assert!(is_uuid_v7(&json!(first)));
        let create = ["workspace", "create", "Japan", "--owner", OWNER, "--currency", "JPY", "--json"];
        let second = office.groma(&create).json();
        assert_eq!(second["name"], "Japan");
        let list = office.groma(&["workspace", "list", "--json"]).json();
        let rows = list.as_array().unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["id"], &rows[0]["name"]), (&json!(first), &json!("Cadastre Nord")));
        assert_eq!(rows[1], second);
        assert!(is_time(&second["createdAt"]));
        let table = office.groma(&["workspace", "list"]).succeeds();
        assert!(table.contains(&first) && table.contains("Japan") && table.lines().count() == 3);
        // By name without regard to case and accents, and by key.
        office.groma(&["workspace", "delete", "CADASTRE NÔRD"]).succeeds();
        office.groma(&["workspace", "delete", "--workspace", text(&second["id"])]).succeeds();
        assert_eq!(office.groma(&["workspace", "list", "--json"]).json(), json!([]));
        office.groma(&["workspace", "delete", "Japan"]).fails_with("workspace `Japan` not found");
    }

    fn a_workspaces_name_is_taken_once(engine: Engine) {
        let office = Office::start(engine);
        for taken in [WORKSPACE, "CADASTRE", "càdastre"] {
            let create = ["workspace", "create", taken, "--owner", OWNER];
            office.groma(&create).fails_with(&format!("name `{taken}` is taken"));
        }
        for wrong in ["", " ", "019a8b7c-0000-7000-8000-000000000000", "a\nb"] {
            office.groma(&["workspace", "create", wrong, "--owner", OWNER]).is_wrong_usage();
        }
    }

    fn a_new_owner_needs_a_password_on_standard_input(engine: Engine) {
        let office = Office::closed(engine, &[]);
        let create = ["workspace", "create", "One", "--owner", OWNER];
        office.groma(&create).fails_with("a new owner needs a password; write it to the first line of standard input");
        office.groma_with("short\n", &create).fails_with("the password must have at least 8 characters");
        assert_eq!(office.groma(&["workspace", "list", "--json"]).json(), json!([]), "nothing was kept");
        office.groma_with(PASSWORD, &create).succeeds();
        // Someone who is known keeps theirs and is not asked.
        office.groma(&["workspace", "create", "Two", "--owner", &OWNER.to_uppercase()]).succeeds();
    }

    fn passwords_never_come_from_an_argument(engine: Engine) {
        let office = Office::closed(engine, &[]);
        for arguments in [
            &["workspace", "create", "One", "--owner", OWNER, "--password", "a password"][..],
            &["user", "add", OWNER, "--role", "viewer", "--password=a password"],
            &["user", "password", OWNER, "a password"],
            &["user", "password", OWNER, "--password", "a password"],
        ] {
            office.groma(arguments).is_wrong_usage();
        }
        for command in [&["workspace", "create", "--help"][..], &["user", "add", "--help"], &["user", "password", "--help"]] {
            assert!(!office.groma(command).succeeds().contains("--password"));
        }
    }

    fn users_are_added_with_a_role_and_given_a_password(engine: Engine) {
        let office = Office::start(engine);
        let add = ["user", "add", "field.crew@example.test", "--workspace", WORKSPACE, "--role"];
        let added = office.groma(&[&add[..], &["viewer", "--json"]].concat()).json();
        assert!(is_uuid_v7(&added["id"]));
        assert_eq!(
            (&added["name"], &added["email"], &added["role"]),
            (&json!("Field crew"), &json!("field.crew@example.test"), &json!("viewer"))
        );
        let again = office.groma(&[&add[..], &["editor", "--json"]].concat()).json();
        assert_eq!((&again["id"], &again["role"]), (&added["id"], &json!("editor")));
        office.groma_with(PASSWORD, &["user", "password", "FIELD.CREW@example.test"]).succeeds();
        office.groma_with("", &["user", "password", "field.crew@example.test"]).fails_with("the password is empty; write it to the first line of standard input");
        office.groma_with("short\n", &["user", "password", OWNER]).fails_with("the password must have at least 8 characters");
        let stranger = office.groma_with(PASSWORD, &["user", "password", "stranger@example.test"]);
        stranger.fails_with("user `stranger@example.test` not found");
        office.groma(&[&add[..], &["boss"]].concat()).is_wrong_usage();
        office.groma(&["user", "add", "no-address", "--role", "viewer"]).is_wrong_usage();
        office.groma(&["user", "add", "x@example.test"]).is_wrong_usage();
    }

    fn a_member_can_be_renamed(engine: Engine) {
        let office = Office::start(engine);
        office.import("folders", &[json!({ "reference": "F", "name": "x", "owner": OWNER })]);
        let rename = ["user", "add", OWNER, "--role", "owner", "--name", "Ada Lovelace", "--json"];
        assert_eq!(office.groma(&rename).json()["name"], "Ada Lovelace");
        let token = office.token(&["READ_FOLDER"]);
        assert_eq!(office.get("/folders/F", &token).ok()["owner"]["name"], "Ada Lovelace");
    }

    fn the_last_owner_stays(engine: Engine) {
        let office = Office::start(engine);
        let demote = ["user", "add", OWNER, "--role", "admin"];
        office.groma(&demote).fails_with("role cannot change: the last owner stays");
        office.groma(&["user", "add", "second@example.test", "--role", "owner"]).succeeds();
        office.groma(&demote).succeeds();
    }

    fn the_only_workspace_need_not_be_named(engine: Engine) {
        let office = Office::start(engine);
        office.import("folders", &[json!({ "reference": "F", "name": "x" })]);
        office.groma(&["archive", "folder", "F"]).succeeds();
        office.create_workspace("Second");
        for command in [
            &["archive", "folder", "F"][..],
            &["delete", "folder", "F"],
            &["export", "folders", "-"],
            &["user", "add", "x@example.test", "--role", "viewer"],
            &["token", "create", "--user", OWNER, "--name", "n", "--scopes", ""],
        ] {
            let done = office.groma(command);
            done.is_wrong_usage();
            assert_eq!(done.stderr, "groma: there are several workspaces; choose one with --workspace\n");
            let named = [command, &["--workspace", "nowhere"]].concat();
            office.groma(&named).fails_with("workspace `nowhere` not found");
        }
        office.groma(&["archive", "folder", "F", "--workspace", "cadastre"]).succeeds();
    }

    fn archiving_a_folder_notes_when(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        let path = format!("/folders/{FOLDER}");
        office.groma(&["archive", "folder", FOLDER, "--workspace", WORKSPACE]).succeeds();
        let archived = office.get(&path, &token).ok();
        assert!(is_time(&archived["archivedAt"]));
        assert_eq!(archived["version"], 2);
        assert_eq!(office.get("/folders", &token).ok()["total"], 2, "it is still listed");
        office.import("folders", &[json!({ "reference": FOLDER, "archivedAt": null })]);
        assert_eq!(office.get(&path, &token).ok()["archivedAt"], Value::Null);
        office.groma(&["archive", "folder", "missing"]).fails_with("folder `missing` not found");
        office.groma(&["archive", "expense", EXPENSE]).is_wrong_usage();
    }

    fn archiving_twice_changes_nothing_the_second_time(engine: Engine) {
        let office = Office::start(engine);
        sample::fill(&office);
        let token = office.master_token();
        let path = format!("/folders/{FOLDER}");
        office.groma(&["archive", "folder", FOLDER]).succeeds();
        let first = office.get(&path, &token).ok();
        office.groma(&["archive", "folder", FOLDER]).succeeds();
        assert_eq!(office.get(&path, &token).ok(), first);
    }

    fn deleting_a_folder_deletes_what_it_holds_and_nothing_else(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        office.groma(&["delete", "folder", FOLDER, "--workspace", WORKSPACE]).succeeds();
        for (path, _, reference) in sample::KINDS {
            office.get(&format!("{path}/{reference}"), &token).error(404);
            let left = office.get(path, &token).ok();
            assert_eq!((&left["total"], left["content"].as_array().unwrap().len()), (&json!(1), 1));
        }
        office.groma(&["delete", "folder", FOLDER]).fails_with(&format!("folder `{FOLDER}` not found"));
    }

    fn deleting_an_assignment_or_a_budget_takes_it_out_of_its_expenses(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        office.groma(&["delete", "assignment", ASSIGNMENT]).succeeds();
        office.groma(&["delete", "budget", BUDGET]).succeeds();
        let expense = office.get(&format!("/expenses/{EXPENSE}"), &token).ok();
        assert_eq!((&expense["assignmentId"], &expense["budgetId"]), (&Value::Null, &Value::Null));
        assert_eq!(expense["version"], 3);
        let id = text(&expense["id"]).to_owned();
        office.groma(&["delete", "expense", &id]).succeeds();
        office.get(&format!("/expenses/{id}"), &token).error(404);
        office.get(&format!("/folders/{FOLDER}"), &token).ok();
        office.groma(&["delete", "status", "x"]).is_wrong_usage();
    }

    fn wrong_usage_is_2_and_help_is_0(engine: Engine) {
        let office = Office::closed(engine, &[]);
        for wrong in [
            &[][..], &["nonsense"], &["serve", "--nonsense"], &["token", "revoke"], &["token", "revoke", "not-an-id"],
            &["token", "create", "--user", OWNER, "--name", "n", "--scopes", "READ_EVERYTHING"],
            &["token", "create", "--user", OWNER, "--name", "n"], &["import", "folders"], &["import", "things", "x.csv"],
            &["workspace"], &["export", "folders"], &["delete", "layer", "x"],
            &["token", "create", "--user", OWNER, "--name", "", "--scopes", ""],
            &["token", "create", "--user", OWNER, "--name", "n", "--scopes", "", "--expires", "soon"],
            &["user", "add", OWNER, "--role", "viewer", "--name", " "], &["workspace", "create", "", "--owner", OWNER],
        ] {
            office.groma(wrong).is_wrong_usage();
        }
        for right in [&["--help"][..], &["--version"], &["import", "--help"]] {
            assert!(!office.groma(right).succeeds().is_empty());
        }
        let version = office.groma(&["--version"]).succeeds();
        assert_eq!(version, format!("groma {}", env!("CARGO_PKG_VERSION")));
    }

    fn a_token_that_is_not_there_cannot_be_revoked(engine: Engine) {
        let office = Office::start(engine);
        let id = "019a8b7c-0000-7000-8000-000000000000";
        office.groma(&["token", "revoke", id]).fails_with(&format!("token `{id}` not found"));
    }

    fn check_reports_settings_database_and_migrations(engine: Engine) {
        let office = Office::start(engine);
        let told = office.groma(&["check"]).succeeds();
        let name = if engine == Engine::Sqlite { "SQLite" } else { "PostgreSQL" };
        assert!(told.contains(name) && told.contains("migrations") && told.contains("settings"), "{told}");
        let report = office.groma(&["check", "--json"]).json();
        assert_eq!(report["database"]["engine"], name);
        assert_eq!(report["workspaces"], 1);
        assert_eq!(report["settings"]["limits.requests_per_minute"], 100);
        assert_eq!(report["settings"]["service.token_prefix"], "svc");
    }
}

#[test]
fn check_shows_no_password() {
    let server = std::env::var("TEST_POSTGRES_URL").unwrap_or_else(|_| {
        panic!("TEST_POSTGRES_URL is missing: run through `make test` or scripts/with-postgres")
    });
    let office = Office::closed(Engine::Postgres, &[]);
    assert!(office.database().starts_with(server.split('@').next().unwrap()));
    let url = office.database().replacen("postgres@", "postgres:very-secret@", 1);
    for more in [&["check"][..], &["check", "--json"]] {
        let done = office::run(&[("GROMA_DATABASE__URL", &url), LISTEN[0], LISTEN[1]], "", more);
        assert!(!done.succeeds().contains("very-secret"));
    }
    let nowhere = url.rsplit_once('/').unwrap().0.to_owned() + "/none";
    let done = office::run(&[("GROMA_DATABASE__URL", &nowhere)], "", &["check"]);
    assert!(!done.fails().contains("very-secret"));
}

#[test]
fn without_a_database_a_command_says_so_and_makes_none() {
    let office = Office::closed(Engine::Sqlite, &[]);
    let path = office.database().strip_prefix("sqlite:").unwrap();
    let missing = format!("there is no database at {path}; `groma workspace create` makes one");
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
        office.groma(command).fails_with(&missing);
    }
    assert_eq!(std::fs::read_dir(office.folder()).unwrap().count(), 0);
    let options = format!("{}?mode=ro", office.database());
    let message = "database.url: `sqlite:PATH` takes no options behind a `?`";
    office.groma(&["check", "--database", &options]).fails_with(message);
    office.create_workspace("One");
    office.groma(&["check"]).succeeds();
    office.groma(&["workspace", "delete", "One"]).succeeds();
    let none = "there is no workspace yet; create one with `groma workspace create`";
    office.groma(&["export", "folders", "-"]).fails_with(none);
}

#[test]
fn check_tells_which_migrations_are_pending_and_runs_none() {
    let office = Office::closed(Engine::Sqlite, &[]);
    let file = office.file("groma.db", "");
    for _ in 0..2 {
        let message = office.groma(&["check"]).fails();
        assert!(message.starts_with("migrations pending: V1__records, V2__layers"), "{message}");
    }
    assert_eq!(std::fs::metadata(file).unwrap().len(), 0);
}
