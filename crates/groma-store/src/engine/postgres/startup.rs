//! Explains why a PostgreSQL database cannot be used, and what to do about it.

use super::{Server, sql};
use crate::{Error, Result};
use tokio_postgres::{Client, config::Host, error::SqlState};

/// As `server_version_num` counts: PostgreSQL 14.
const MIN_VERSION: i32 = 140_000;

/// Checks what would otherwise fail later, and less clearly.
pub(super) async fn check_server(client: &Client) -> Result<()> {
    let row = client.query_one(sql::SERVER_SETUP, &[]).await?;
    let (version, encoding, database): (i32, String, String) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if version < MIN_VERSION {
        return Err(Error::DatabaseSetup {
            problem: format!("PostgreSQL {} is too old", version / 10_000),
            remedy: format!("upgrade the server to PostgreSQL {} or newer", MIN_VERSION / 10_000),
        });
    }
    if encoding != "UTF8" {
        return Err(Error::DatabaseSetup {
            problem: format!("database \"{database}\" has the encoding {encoding}, not UTF8"),
            remedy:
                "create a new database with `createdb --encoding=UTF8 --template=template0` and \
                     set database.url to it"
                    .to_owned(),
        });
    }
    Ok(())
}

/// Adds a remedy to an error from connecting or migrating, if its cause is known.
pub(crate) fn explain(error: Error, server: &Server) -> Error {
    let explained = match &error {
        Error::Pool(reason) => Some(unreachable_server(server, reason)),
        Error::Postgres(cause) => explain_postgres(cause, server),
        Error::Migration(migration) => {
            postgres_cause(migration).and_then(|cause| explain_postgres(cause, server))
        }
        _ => None,
    };
    match explained {
        Some((problem, remedy)) => Error::DatabaseSetup { problem, remedy },
        None => error,
    }
}

/// The PostgreSQL error behind an error of the migration runner.
fn postgres_cause(error: &refinery::Error) -> Option<&tokio_postgres::Error> {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(cause) = error.downcast_ref() {
            return Some(cause);
        }
        source = error.source();
    }
    None
}

fn explain_postgres(error: &tokio_postgres::Error, server: &Server) -> Option<(String, String)> {
    if let Some(db) = error.as_db_error() {
        let problem = format!("PostgreSQL: {} ({})", db.message(), db.code().code());
        return Some((problem, remedy(db.code(), db.message(), server)?));
    }
    let source = std::error::Error::source(error);
    if let Some(problem) = source.and_then(tls_problem) {
        return Some(explain_tls(&problem, server));
    }
    if source.is_some_and(<dyn std::error::Error>::is::<std::io::Error>) || error.is_closed() {
        let reason = source.map_or_else(|| error.to_string(), ToString::to_string);
        return Some(unreachable_server(server, &reason));
    }
    source.is_some_and(|source| source.to_string() == "password missing").then(|| {
        ("PostgreSQL requires a password".to_owned(), "add the password to database.url".to_owned())
    })
}

fn unreachable_server(server: &Server, reason: &str) -> (String, String) {
    (
        format!("PostgreSQL at {} cannot be reached: {reason}", address(server)),
        "check that the server runs, and that database.url contains its address".to_owned(),
    )
}

/// What went wrong with the encryption of a connection, if that is why it failed.
fn tls_problem(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let text = error.to_string();
    if text == "server does not support TLS" {
        return Some(text);
    }
    let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    inner.downcast_ref::<rustls::Error>().map(ToString::to_string)
}

fn explain_tls(problem: &str, server: &Server) -> (String, String) {
    let address = address(server);
    if problem == "server does not support TLS" {
        return (
            format!("PostgreSQL at {address} does not offer encrypted connections"),
            "enable them on the server (ssl = on), or add sslmode=disable to database.url to connect \
             without encryption"
                .to_owned(),
        );
    }
    (
        format!("the encrypted connection to PostgreSQL at {address} failed: {problem}"),
        "check sslmode and sslrootcert in database.url, and the certificate of the server"
            .to_owned(),
    )
}

/// The remedy for an error of the server.
fn remedy(code: &SqlState, message: &str, server: &Server) -> Option<String> {
    let config = server.config();
    let database = config.get_dbname().or(config.get_user()).unwrap_or("NAME");
    let user = config.get_user().unwrap_or("USER");
    let extension = message.split_once("extension \"").and_then(|(_, rest)| rest.split('"').next());
    let remedy = match (code.clone(), extension) {
        (SqlState::INVALID_PASSWORD, _) => "check the user and password in database.url".to_owned(),
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, _) if message.contains("no encryption") => {
            "add sslmode=require or sslmode=verify-full to database.url".to_owned()
        }
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, _)
            if message.contains("client certificate") =>
        {
            "name a certificate and its key in sslcert and sslkey of database.url".to_owned()
        }
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, _) => {
            "check the user in database.url and the server's pg_hba.conf".to_owned()
        }
        (SqlState::INVALID_CATALOG_NAME, _) => {
            format!("create it with `createdb --encoding=UTF8 {database}`")
        }
        (SqlState::TOO_MANY_CONNECTIONS, _) => {
            "increase max_connections on the server, or run fewer replicas".to_owned()
        }
        (SqlState::CANNOT_CONNECT_NOW, _) => "wait until the server has started".to_owned(),
        (SqlState::FEATURE_NOT_SUPPORTED | SqlState::UNDEFINED_FILE, Some("postgis")) => {
            "install PostGIS 3 on the database server (Debian: postgresql-postgis)".to_owned()
        }
        (SqlState::FEATURE_NOT_SUPPORTED | SqlState::UNDEFINED_FILE, Some(_)) => {
            "install the PostgreSQL contrib modules on the database server".to_owned()
        }
        (SqlState::INSUFFICIENT_PRIVILEGE, Some(extension)) => {
            format!("run `CREATE EXTENSION {extension}` in this database as a superuser")
        }
        (SqlState::INSUFFICIENT_PRIVILEGE, None) => format!(
            "make the user the owner of the database: `ALTER DATABASE {database} OWNER TO {user}`"
        ),
        _ => return None,
    };
    Some(remedy)
}

/// The configured hosts and ports.
fn address(server: &Server) -> String {
    let config = server.config();
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(host) => format!("{host}:{port}"),
            Host::Unix(path) => path.display().to_string(),
        }
    });
    hosts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_extension_names_the_package_to_install() {
        let server = Server::parse("postgres://groma@db/office").unwrap();
        let message = "extension \"postgis\" is not available";
        let postgis = remedy(&SqlState::FEATURE_NOT_SUPPORTED, message, &server).unwrap();
        assert!(postgis.contains("install PostGIS"), "{postgis}");
        let message = "could not open extension control file";
        assert_eq!(remedy(&SqlState::UNDEFINED_FILE, message, &server), None);
        let message = "extension \"pg_trgm\" is not available";
        let trigrams = remedy(&SqlState::FEATURE_NOT_SUPPORTED, message, &server).unwrap();
        assert!(trigrams.contains("contrib"), "{trigrams}");
    }

    #[test]
    fn unknown_errors_have_no_remedy() {
        let server = Server::parse("postgres://groma@db/office").unwrap();
        assert_eq!(remedy(&SqlState::DIVISION_BY_ZERO, "division by zero", &server), None);
    }
}
