//! Whether the program can listen where the settings say.

use super::Finding;
use crate::{commands::health, roles::ServerRole, settings::Settings};
use std::{io::ErrorKind, net::SocketAddr, time::Duration};
use tokio::net::TcpListener;

/// How long an address may be in the hands of someone who only looks, as this does.
const A_MOMENT: Duration = Duration::from_millis(100);
const MOMENTS: usize = 10;

pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let server = &settings.server;
    let main = server.roles.have_main_listener().then_some(server.listen);
    let geo = server.roles.has(ServerRole::Geo).then_some(server.geo_listen);
    let wanted: Vec<_> = [
        ("server.listen", main),
        ("server.geo_listen", geo),
        ("server.admin_listen", server.admin_listen),
    ]
    .into_iter()
    .filter_map(|(name, address)| Some((name, address?)))
    .collect();
    let mut findings = Vec::new();
    for (index, (name, address)) in wanted.iter().enumerate() {
        let same =
            wanted[..index].iter().find(|(_, other)| other == address && address.port() != 0);
        match same {
            Some((other, _)) => findings.push(Finding::error(
                format!("{name} and {other} are both {address}"),
                "give each an address of its own",
            )),
            None => findings.extend(listener(name, *address).await),
        }
    }
    findings
}

async fn listener(name: &str, address: SocketAddr) -> Option<Finding> {
    let mut bound = TcpListener::bind(address).await;
    for _ in 0..MOMENTS {
        let Err(error) = &bound else { return None };
        if error.kind() != ErrorKind::AddrInUse {
            break;
        }
        if health::is_groma(address).await {
            return Some(Finding::note(
                format!("{name}: a groma listens on {address} already"),
                "nothing, if that is the one that these settings are for",
            ));
        }
        tokio::time::sleep(A_MOMENT).await;
        bound = TcpListener::bind(address).await;
    }
    let error = bound.err()?;
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => "stop the other program, or choose another port",
        ErrorKind::PermissionDenied => {
            "choose a port from 1024 on and leave the others to a proxy, or allow it (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
        }
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address; name one that it has, or 0.0.0.0 for all"
        }
        _ => "choose another address",
    };
    Some(Finding::error(format!("{name}: {address}: {error}"), remedy))
}
