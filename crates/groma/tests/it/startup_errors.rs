//! A start that PostgreSQL prevents names the cause and the remedy.

use groma_testkit::{
    Program,
    postgres::{self, PostgresDatabase},
    server::LISTENERS,
};

#[track_caller]
fn start_error(url: &str) -> String {
    let program = Program::built().envs(&LISTENERS).env("GROMA_DATABASE__URL", url);
    program.run(&["serve"]).expect_failure()
}

fn execute(statements: &str) {
    postgres::execute(&postgres::server_url().unwrap(), statements).unwrap();
}

/// The name of a database in its URL.
fn name(url: &str) -> &str {
    url.split('?').next().and_then(|url| url.rsplit('/').next()).unwrap()
}

/// An empty database, and a role that can log in.
struct Fixture {
    database: PostgresDatabase,
    role: String,
}

impl Fixture {
    fn new(role_options: &str) -> Self {
        let database = PostgresDatabase::create().unwrap();
        let role = format!("{}_role", name(&database.url()));
        execute(&format!("CREATE ROLE {role} LOGIN {role_options}"));
        Self { database, role }
    }

    fn database_name(&self) -> String {
        name(&self.database.url()).to_owned()
    }

    fn execute(&self, statements: &str) {
        postgres::execute(&self.database.url(), statements).unwrap();
    }

    /// The URL of the database for the role; a password starts with a colon.
    fn url(&self, password: &str) -> String {
        let user = format!("{}{password}@", self.role);
        self.database.url().replacen("postgres@", &user, 1)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let role = &self.role;
        self.execute(&format!(
            "REASSIGN OWNED BY {role} TO postgres; DROP OWNED BY {role}; DROP ROLE {role}"
        ));
    }
}

#[test]
fn role_without_create_rights_is_told_to_own_the_database() {
    let fixture = Fixture::new("");
    let (database, role) = (fixture.database_name(), &fixture.role);
    let error = start_error(&fixture.url(""));
    let expected = format!(
        "PostgreSQL: permission denied for schema public (42501); make the user the owner of the \
         database: `ALTER DATABASE {database} OWNER TO {role}`"
    );
    assert_eq!(error, expected);
}

#[test]
fn role_that_cannot_create_extensions_is_told_which_one_is_missing() {
    let fixture = Fixture::new("");
    let (database, role) = (fixture.database_name(), &fixture.role);
    fixture.execute(&format!("ALTER DATABASE {database} OWNER TO {role}"));
    let error = start_error(&fixture.url(""));
    assert_eq!(
        error,
        "PostgreSQL: permission denied to create extension \"postgis\" (42501); run \
         `CREATE EXTENSION postgis` in this database as a superuser"
    );
    fixture.execute("CREATE EXTENSION postgis");
    let program = Program::built().env("GROMA_DATABASE__URL", &fixture.url(""));
    program.run(&["workspace", "list"]).expect_success();
}

#[test]
fn wrong_password_is_reported() {
    let fixture = Fixture::new("PASSWORD 'correct'");
    // The test server requires a password from members of this group.
    fixture.execute(&format!(
        "DO $$ BEGIN CREATE ROLE groma_password_users; EXCEPTION WHEN duplicate_object THEN END $$;
         GRANT groma_password_users TO {}",
        fixture.role
    ));
    let error = start_error(&fixture.url(":wrong"));
    let expected = format!(
        "PostgreSQL: password authentication failed for user \"{}\" (28P01); check the user and \
         password in database.url",
        fixture.role
    );
    assert_eq!(error, expected);
    assert_eq!(
        start_error(&fixture.url("")),
        "PostgreSQL requires a password; add the password to database.url"
    );
}

#[test]
fn missing_database_is_reported() {
    let error = start_error(&postgres::url_of("groma_test_missing").unwrap());
    assert_eq!(
        error,
        "PostgreSQL: database \"groma_test_missing\" does not exist (3D000); create it with \
         `createdb --encoding=UTF8 groma_test_missing`"
    );
}

#[test]
fn database_with_another_encoding_is_reported() {
    let database = PostgresDatabase::create().unwrap();
    let name = format!("{}_ascii", name(&database.url()));
    execute(&format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"));
    let error = start_error(&postgres::url_of(&name).unwrap());
    execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
    let expected = format!("database \"{name}\" has the encoding SQL_ASCII, not UTF8; create ");
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn unreachable_server_is_reported_with_its_address() {
    for (url, address) in [
        ("postgres://groma@127.0.0.1:1/groma", "127.0.0.1:1"),
        ("postgres://groma@no-such-host.invalid/groma", "no-such-host.invalid:5432"),
    ] {
        let error = start_error(url);
        let expected = format!("PostgreSQL at {address} cannot be reached: ");
        assert!(error.starts_with(&expected), "{error}");
        assert!(
            error.ends_with(
                "; check that the server runs, and that database.url contains its address"
            ),
            "{error}"
        );
    }
}
