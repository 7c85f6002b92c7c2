//! Limits on open connections: in all, and from one address, or /64 network of IPv6.

use crate::{
    http::client_address::{Proxies, subnet},
    quota::{Quota, Share},
    settings::Limits,
};
use ipnet::IpNet;
use std::{net::IpAddr, sync::Arc};

/// The limits of the public listeners together.
#[derive(Clone)]
pub(super) struct ConnectionLimits(Option<Arc<Inner>>);

struct Inner {
    quota: Arc<Quota<IpNet>>,
    proxies: Arc<Proxies>,
}

impl ConnectionLimits {
    pub(super) fn new(limits: &Limits, proxies: Arc<Proxies>) -> Self {
        let quota = Quota::new(limits.connections, limits.connections_per_address);
        Self(Some(Arc::new(Inner { quota, proxies })))
    }

    /// For the admin listener, which the operator needs most when there are too many connections.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// A place for a connection; `None` if there are too many. Proxies have connections for many clients.
    pub(super) fn admit(&self, peer: IpAddr) -> Option<Place> {
        let Some(inner) = &self.0 else { return Some(Place(None)) };
        let peer = peer.to_canonical();
        let is_limited = !peer.is_loopback() && !inner.proxies.trusts(peer);
        let share = inner.quota.take(is_limited.then(|| subnet(peer)), 1)?;
        Some(Place(Some(share)))
    }
}

/// The place of an open connection.
pub(super) struct Place(
    #[expect(dead_code, reason = "counts until it is dropped")] Option<Share<IpNet>>,
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn one_address_has_a_limit_but_not_this_machine_and_proxies() {
        let flags = [
            ("limits.connections", "8".to_owned()),
            ("limits.connections_per_address", "2".to_owned()),
        ];
        let settings = Settings::load(None, [], &flags).unwrap();
        let proxies = Proxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let limits = ConnectionLimits::new(&settings.limits, Arc::new(proxies));
        let admit = |address: &str| limits.admit(address.parse().unwrap());
        let mut open = Vec::new();
        for address in
            ["192.0.2.1", "::ffff:192.0.2.1", "127.0.0.1", "127.0.0.1", "::1", "10.0.0.1"]
        {
            open.push(admit(address).unwrap());
        }
        assert!(admit("192.0.2.1").is_none(), "an IPv4 address has two forms");
        open.push(admit("10.0.0.1").unwrap());
        open.push(admit("192.0.2.2").unwrap());
        assert!(admit("192.0.2.3").is_none() && admit("127.0.0.1").is_none(), "8 are open");
        open.remove(0);
        assert!(admit("192.0.2.1").is_some());
        assert!(ConnectionLimits::none().admit("192.0.2.1".parse().unwrap()).is_some());
    }
}
