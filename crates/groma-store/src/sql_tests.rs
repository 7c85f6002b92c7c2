//! Prepares every SQL statement of the program on both engines.

use crate::{
    accounts, audit_log, authentication, backup, base_maps, changes, copy, diagnostics,
    engine::{self, Postgres, Sqlite},
    idempotency, import_jobs, layers, mail, people,
    records::{self, Dialect},
    saved_views, security_log, webhooks, workspaces,
};
use groma_domain::Kind;
use groma_testkit::postgres::PostgresDatabase;

#[test]
fn every_sqlite_statement_can_be_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groma.db");
    drop(Sqlite::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let constants = [
        engine::sqlite::ALL,
        workspaces::sqlite::ALL,
        base_maps::sqlite::ALL,
        people::sqlite::ALL,
        audit_log::sqlite::ALL,
        changes::sqlite::ALL,
        security_log::sqlite::ALL,
        idempotency::sqlite::ALL,
        webhooks::sqlite::sql::ALL,
        records::sqlite::sql::ALL,
        layers::sqlite::sql::ALL,
        accounts::sqlite::sql::ALL,
        accounts::email_links::sqlite::ALL,
        accounts::identities::sqlite::ALL,
        accounts::login_attempts::sqlite::ALL,
        accounts::pending_logins::sqlite::ALL,
        accounts::second_factors::sqlite::ALL,
        accounts::erasure::sqlite::ALL,
        accounts::token_expiry::sqlite::ALL,
        accounts::user_tokens::sqlite::ALL,
        accounts::users::sqlite::ALL,
        mail::sqlite::ALL,
        authentication::sqlite::ALL,
        saved_views::sqlite::ALL,
        import_jobs::sqlite::ALL,
        backup::sqlite::ALL,
        copy::sqlite::ALL,
    ];
    let built = records::every_statement(Dialect::Sqlite);
    let copied = copy::every_statement(Dialect::Sqlite);
    let kinds = Kind::ALL.iter().flat_map(|kind| records::sqlite::sql::KindSql::of(*kind).all());
    let all = constants.into_iter().flatten().copied().chain(kinds);
    for sql in all.chain(built.iter().chain(&copied).map(String::as_str)) {
        connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[tokio::test]
async fn every_postgres_statement_can_be_prepared() {
    let database = PostgresDatabase::create().unwrap();
    drop(Postgres::open(&database.url()).await.unwrap());
    let client = groma_testkit::postgres::connect(&database.url()).await.unwrap();
    let constants = [
        engine::postgres::ALL,
        workspaces::postgres::ALL,
        base_maps::postgres::ALL,
        people::postgres::ALL,
        audit_log::postgres::ALL,
        changes::postgres::ALL,
        security_log::postgres::ALL,
        idempotency::postgres::ALL,
        webhooks::postgres::sql::ALL,
        records::postgres::sql::ALL,
        layers::postgres::sql::ALL,
        accounts::postgres::sql::ALL,
        accounts::email_links::postgres::ALL,
        accounts::identities::postgres::ALL,
        accounts::login_attempts::postgres::ALL,
        accounts::pending_logins::postgres::ALL,
        accounts::second_factors::postgres::ALL,
        accounts::erasure::postgres::ALL,
        accounts::token_expiry::postgres::ALL,
        accounts::user_tokens::postgres::ALL,
        accounts::users::postgres::ALL,
        mail::postgres::ALL,
        authentication::postgres::ALL,
        saved_views::postgres::ALL,
        import_jobs::postgres::ALL,
        copy::postgres::ALL,
        diagnostics::postgres::ALL,
    ];
    let built = records::every_statement(Dialect::Postgres);
    let copied = copy::every_statement(Dialect::Postgres);
    let kinds = Kind::ALL.iter().flat_map(|kind| records::postgres::sql::KindSql::of(*kind).all());
    let all = constants.into_iter().flatten().copied().chain(kinds);
    for sql in all.chain(built.iter().chain(&copied).map(String::as_str)) {
        client.prepare(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}
