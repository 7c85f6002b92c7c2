//! A PostgreSQL server of its own that accepts only encrypted connections.

use crate::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use std::{
    fs::Permissions,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A running server with TLS and the files that its clients need. It is stopped with this value.
pub struct PostgresCluster {
    directory: TempDir,
    port: u16,
}

/// The user who must present a certificate.
pub const CERTIFIED_USER: &str = "certified";

impl PostgresCluster {
    /// Starts a server whose certificate is for `localhost`, but not for `127.0.0.1`.
    pub fn start() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("groma-postgres.").tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let cluster = Self { directory, port };
        std::fs::set_permissions(cluster.path(""), Permissions::from_mode(0o711))?;
        cluster.issue_certificates()?;
        cluster.give_to_server("")?;
        cluster.run("initdb", &["--username=postgres", "--auth=trust", "--no-sync"])?;
        cluster.write("data/postgresql.auto.conf", &cluster.settings())?;
        cluster.write(
            "data/pg_hba.conf",
            &format!(
                "hostssl all {CERTIFIED_USER} 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 trust\n"
            ),
        )?;
        let log = format!("--log={}", cluster.path("log").display());
        cluster.run("pg_ctl", &["start", "--silent", "--wait", &log])?;
        cluster.create_certified_user()?;
        Ok(cluster)
    }

    /// The URL of the database `postgres` for this user, host and parameters.
    pub fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        format!("postgres://{user}@{host}:{}/postgres?{parameters}", self.port)
    }

    /// A file of the clients: `ca.crt`, `other-ca.crt`, `client.crt` or `client.key`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn create_certified_user(&self) -> Result {
        let output = Command::new(program("psql")?)
            .arg(self.url("postgres", "localhost", "sslmode=require"))
            .args(["--no-psqlrc", "--command", &format!("CREATE ROLE {CERTIFIED_USER} LOGIN")])
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    fn settings(&self) -> String {
        let file = |name: &str| self.path(name).display().to_string();
        format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = ''\nfsync = off\n\
             ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\nssl_ca_file = '{}'\n",
            self.port,
            file("server.crt"),
            file("server.key"),
            file("ca.crt"),
        )
    }

    fn issue_certificates(&self) -> Result {
        let authority = |name: &str| -> Result<_> {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(DnType::CommonName, name);
            Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
        };
        let trusted = authority("Test authority")?;
        self.write("ca.crt", &trusted.pem())?;
        self.write("other-ca.crt", &authority("Other authority")?.pem())?;
        let server = CertificateParams::new(vec!["localhost".to_owned()])?;
        let mut client = CertificateParams::new(Vec::new())?;
        client.distinguished_name.push(DnType::CommonName, CERTIFIED_USER);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        for (name, params) in [("server", server), ("client", client)] {
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &trusted)?;
            self.write(&format!("{name}.crt"), &certificate.pem())?;
            self.write(&format!("{name}.key"), &key.serialize_pem())?;
            std::fs::set_permissions(
                self.path(&format!("{name}.key")),
                Permissions::from_mode(0o600),
            )?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result {
        std::fs::write(self.path(name), text)?;
        self.give_to_server(name)
    }

    /// Makes a file or the directory belong to the user who runs the server. The key of the client stays
    /// with the test.
    fn give_to_server(&self, name: &str) -> Result {
        if is_root()? && name != "client.key" {
            let status = Command::new("chown").arg("postgres").arg(self.path(name)).status()?;
            if !status.success() {
                return Err(format!("{name} could not be given to the user postgres").into());
            }
        }
        Ok(())
    }

    /// Runs a program of the server, which refuses to run as root.
    fn run(&self, name: &str, arguments: &[&str]) -> Result {
        let program = program(name)?;
        let mut command = if is_root()? {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.arg("--pgdata").arg(self.path("data")).args(arguments);
        let output = command.current_dir(self.directory.path()).output()?;
        if output.status.success() {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        Err(format!("{command:?}: {}{log}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        // A failure must not hide the failure of the test.
        if let Err(error) = self.run("pg_ctl", &["stop", "--silent", "--mode=immediate"]) {
            eprintln!("the cluster was not stopped: {error}");
        }
    }
}

/// A program of the PostgreSQL installation.
fn program(name: &str) -> Result<PathBuf> {
    let directory = std::env::var("TEST_POSTGRES_BINDIR")
        .map_err(|_| "TEST_POSTGRES_BINDIR is not set; use `scripts/with-postgres`")?;
    Ok(Path::new(&directory).join(name))
}

fn is_root() -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata("/proc/self")?.uid() == 0)
}
