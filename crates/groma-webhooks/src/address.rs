//! The addresses that a delivery may reach: global addresses, and networks that the operator allows.

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Decides which addresses the client may connect to.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// Allows global addresses and the `allowed` networks.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether the client may connect to this address.
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        is_global(address) || self.allowed.iter().any(|network| network.contains(&address))
    }
}

/// Whether an address is globally routable: not loopback, private, link-local, reserved, meant for
/// documentation, or an IPv6 form that embeds an IPv4 address.
#[must_use]
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

/// The IPv4 networks that are not global, with their prefix lengths.
const NOT_GLOBAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

fn is_global_v4(address: Ipv4Addr) -> bool {
    let within = |(network, bits): (Ipv4Addr, u32)| {
        (address.to_bits() ^ network.to_bits()) >> (32 - bits) == 0
    };
    !NOT_GLOBAL_V4.into_iter().any(within)
}

/// The networks in 2000::/3 that are not global.
const NOT_GLOBAL_V6: [(Ipv6Addr, u32); 5] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
];

fn is_global_v6(address: Ipv6Addr) -> bool {
    let within = |(network, bits): (Ipv6Addr, u32)| {
        (address.to_bits() ^ network.to_bits()) >> (128 - bits) == 0
    };
    // ISATAP embeds an IPv4 address after `5efe`.
    let [_, _, _, _, flags, marker, _, _] = address.segments();
    let is_isatap = marker == 0x5efe && flags & !0x0300 == 0;
    within((Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3))
        && !is_isatap
        && !NOT_GLOBAL_V6.into_iter().any(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(text: &str) -> bool {
        is_global(text.parse().unwrap())
    }

    #[test]
    fn bounds_of_each_network_are_rejected_and_their_neighbours_are_allowed() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "239.255.255.255"),
            ("240.0.0.0", "255.255.255.255"),
        ] {
            assert!(!global(first) && !global(last), "{first}");
            let (first, last): (Ipv4Addr, Ipv4Addr) =
                (first.parse().unwrap(), last.parse().unwrap());
            // The last two networks are adjacent.
            let before = first.to_bits().checked_sub(1).map(Ipv4Addr::from_bits);
            let after = last.to_bits().checked_add(1).map(Ipv4Addr::from_bits);
            for neighbour in [before, after].into_iter().flatten() {
                let rejected = [Ipv4Addr::new(239, 255, 255, 255), Ipv4Addr::new(240, 0, 0, 0)];
                assert!(rejected.contains(&neighbour) || is_global_v4(neighbour), "{neighbour}");
            }
        }
    }

    #[test]
    fn embedded_ipv4_and_non_global_ipv6_are_rejected() {
        for rejected in [
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:1ff:ffff::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2620:4f:8000::1",
            "3fff::1",
            "3fff:fff::1",
            "2606:4700::5efe:7f00:1",
            "2606:4700::200:5efe:7f00:1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "1fff:ffff::1",
        ] {
            assert!(!global(rejected), "{rejected}");
        }
        for allowed in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2620:4f:8001::1",
            "2003::1",
            "3ffe::1",
            "2606:4700:5efe::1",
        ] {
            assert!(global(allowed), "{allowed}");
        }
    }

    #[test]
    fn operator_can_allow_more_networks() {
        let policy =
            AddressPolicy::new(vec!["10.1.0.0/16".parse().unwrap(), "::1/128".parse().unwrap()]);
        for (address, allowed) in [
            ("10.1.2.3", true),
            ("10.2.2.3", false),
            ("::1", true),
            ("::ffff:10.1.2.3", false),
            ("127.0.0.1", false),
            ("8.8.8.8", true),
        ] {
            assert_eq!(policy.allows(address.parse().unwrap()), allowed, "{address}");
        }
    }
}
