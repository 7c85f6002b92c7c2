//! Checks whether the server can listen on the addresses in the settings.

use super::Finding;
use crate::{commands::health, roles::ServerRole, settings::Settings};
use std::{io::ErrorKind, net::SocketAddr, time::Duration};
use tokio::net::TcpListener;

/// Another check may use the address for a moment, so retry.
const RETRY_DELAY: Duration = Duration::from_millis(100);
const RETRIES: usize = 10;
/// The listeners that can have TLS.
const PUBLIC: [&str; 2] = ["server.listen", "server.geo_listen"];

pub(super) async fn inspect(settings: &Settings) -> Vec<Finding> {
    let server = &settings.server;
    let main = server.roles.have_main_listener().then_some(server.listen);
    let geo = server.roles.has(ServerRole::Geo).then_some(server.geo_listen);
    let redirect = server.tls.as_ref().and_then(|tls| tls.redirect_listen);
    let addresses: Vec<_> = [
        ("server.listen", main),
        ("server.geo_listen", geo),
        ("server.admin_listen", server.admin_listen),
        ("server.tls.redirect_listen", redirect.filter(|_| main.is_some())),
    ]
    .into_iter()
    .filter_map(|(name, address)| Some((name, address?)))
    .collect();
    let mut findings = Vec::new();
    for (index, (name, address)) in addresses.iter().enumerate() {
        let mut earlier = addresses[..index].iter();
        match earlier.find(|(_, other)| other == address && address.port() != 0) {
            Some((other, _)) => findings.push(Finding::error(
                format!("{name} and {other} are both {address}"),
                "give each a different address",
            )),
            None => {
                let has_tls = server.tls.is_some() && PUBLIC.contains(name);
                findings.extend(inspect_listener(name, *address, has_tls).await);
            }
        }
    }
    findings
}

async fn inspect_listener(name: &str, address: SocketAddr, has_tls: bool) -> Option<Finding> {
    let mut listener = TcpListener::bind(address).await;
    for _ in 0..RETRIES {
        let Err(error) = &listener else { return None };
        if error.kind() != ErrorKind::AddrInUse {
            break;
        }
        let (is_running, server) = match has_tls {
            true => (health::is_tls_server(address).await, "server with TLS"),
            false => (health::is_groma(address).await, "Groma server"),
        };
        if is_running {
            return Some(Finding::note(
                format!("{name}: a {server} already listens on {address}"),
                "if it is the server with these settings, nothing needs to be done",
            ));
        }
        tokio::time::sleep(RETRY_DELAY).await;
        listener = TcpListener::bind(address).await;
    }
    let error = listener.err()?;
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => "stop the other program, or choose another port",
        ErrorKind::PermissionDenied => {
            "choose a port above 1023 behind a reverse proxy, or allow the port \
             (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
        }
        ErrorKind::AddrNotAvailable => {
            "this machine does not have the address; use one that it has, or 0.0.0.0 for all"
        }
        _ => "choose another address",
    };
    Some(Finding::error(format!("{name}: {address}: {error}"), remedy))
}
