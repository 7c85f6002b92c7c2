//! The client behind proxies. The forwarding headers `Forwarded` (RFC 7239) and `X-Forwarded-*` are
//! trusted only from the proxies that the settings name.
//!
//! The addresses are read from the right, where the nearest proxy appends: past each trusted proxy, to
//! the first address that is not one. Everything further left was sent by that client and may be forged.
//! A proxy that sets one kind of header may pass the other kind through unchanged, so if both are
//! present they must agree; otherwise both are ignored.

use axum::http::{HeaderMap, HeaderName, header};
use ipnet::{IpNet, Ipv6Net};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The trusted proxies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Vec<IpNet>);

/// The client of a request, and the address it requested as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) address: IpAddr,
    /// `http` or `https`, from a trusted proxy.
    pub(crate) scheme: Option<&'static str>,
    /// The requested host, from a trusted proxy.
    pub(crate) host: Option<String>,
}

impl Client {
    /// A client that is connected directly.
    pub(crate) fn direct(address: IpAddr) -> Self {
        Self { address: address.to_canonical(), scheme: None, host: None }
    }
}

impl Proxies {
    pub(crate) fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request with these headers on a connection from `peer`.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let direct = Client::direct(peer);
        if !self.trusts(peer) {
            return direct;
        }
        let forwarded = headers
            .contains_key(header::FORWARDED)
            .then(|| self.find_client(peer, &forwarded_hops(headers).unwrap_or_default()));
        let x_forwarded =
            headers.contains_key(FOR).then(|| self.find_client(peer, &x_forwarded_hops(headers)));
        match (forwarded, x_forwarded) {
            (Some(one), Some(other)) if one.address == other.address => Client {
                address: one.address,
                scheme: one.scheme.or(other.scheme),
                host: one.host.or(other.host),
            },
            (Some(_), Some(_)) => direct,
            (Some(client), None) | (None, Some(client)) => client,
            (None, None) => Client {
                scheme: single_value(headers, PROTO).and_then(parse_scheme),
                host: single_value(headers, HOST).and_then(parse_host).map(str::to_owned),
                ..direct
            },
        }
    }

    /// The first hop from the right that is not a trusted proxy.
    fn find_client(&self, peer: IpAddr, hops: &[Hop<'_>]) -> Client {
        let mut client = Client::direct(peer);
        for hop in hops.iter().rev() {
            let Some(address) = hop.address.filter(|_| self.trusts(client.address)) else { break };
            client = Client { address, scheme: hop.scheme, host: hop.host.map(str::to_owned) };
        }
        client
    }
}

/// The network that usually belongs to one client: an IPv4 address, or a /64 network of IPv6.
pub(crate) fn subnet(address: IpAddr) -> IpNet {
    match address.to_canonical() {
        IpAddr::V4(address) => IpNet::from(IpAddr::V4(address)),
        IpAddr::V6(address) => network(address, 64),
    }
}

/// The network that one client can have at most: a /48 network of IPv6; `None` for IPv4.
pub(crate) fn site(address: IpAddr) -> Option<IpNet> {
    match address.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(network(address, 48)),
    }
}

fn network(address: Ipv6Addr, prefix: u8) -> IpNet {
    let network = Ipv6Net::new(address, prefix).unwrap_or_else(|_| address.into());
    IpNet::V6(network.trunc())
}

/// One entry of a forwarding header: what a proxy says about its peer.
#[derive(Clone, Copy, Default)]
struct Hop<'h> {
    /// `None` if the proxy hides it or it cannot be parsed.
    address: Option<IpAddr>,
    scheme: Option<&'static str>,
    host: Option<&'h str>,
}

/// The hops of `X-Forwarded-For`, with scheme and host if there is one for each hop or one for all.
fn x_forwarded_hops(headers: &HeaderMap) -> Vec<Hop<'_>> {
    let addresses = values(headers, FOR);
    let (schemes, hosts) = (values(headers, PROTO), values(headers, HOST));
    let index_of = |values: &[&'_ str], index: usize| match values.len() {
        1 => Some(0),
        several if several == addresses.len() => Some(index),
        _ => None,
    };
    let hop = |(index, address): (usize, &&str)| Hop {
        address: parse_node(address),
        scheme: index_of(&schemes, index).and_then(|at| parse_scheme(schemes[at])),
        host: index_of(&hosts, index).and_then(|at| parse_host(hosts[at])),
    };
    addresses.iter().enumerate().map(hop).collect()
}

/// The comma-separated values of all lines of a header. A line that is not text is one empty value.
fn values(headers: &HeaderMap, name: HeaderName) -> Vec<&str> {
    let lines = headers.get_all(name).into_iter().map(|line| line.to_str().unwrap_or_default());
    lines.flat_map(|line| line.split(',')).map(str::trim).collect()
}

/// The hops of `Forwarded`; `None` if the header is malformed. A client may send a malformed value to
/// hide what the proxies append to it.
fn forwarded_hops(headers: &HeaderMap) -> Option<Vec<Hop<'_>>> {
    let mut hops = Vec::new();
    for line in headers.get_all(header::FORWARDED) {
        let mut rest = line.to_str().ok()?.trim();
        let mut hop = Hop::default();
        let mut seen = Vec::new();
        loop {
            if !rest.is_empty() && !rest.starts_with([';', ',']) {
                let (name, value, tail) = parse_pair(rest)?;
                let name = name.to_ascii_lowercase();
                match name.as_str() {
                    "for" => hop.address = parse_node(value),
                    "proto" => hop.scheme = parse_scheme(value),
                    "host" => hop.host = parse_host(value),
                    _ => {}
                }
                if seen.contains(&name) {
                    return None;
                }
                seen.push(name);
                rest = tail.trim_start();
            }
            match rest.split_at_checked(1) {
                Some((";", tail)) => rest = tail.trim_start(),
                Some((",", tail)) => {
                    hops.push(std::mem::take(&mut hop));
                    seen.clear();
                    rest = tail.trim_start();
                }
                Some(_) => return None,
                None => break,
            }
        }
        hops.push(hop);
    }
    Some(hops)
}

/// The `name=value` at the start of a text, and the rest.
fn parse_pair(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once('=')?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, tail) = quoted.split_once('"')?;
        // Addresses and hosts contain no characters that need escaping.
        return (!value.contains('\\')).then_some((name, value, tail));
    }
    let end = rest.find([';', ',', ' ', '\t', '"']).unwrap_or(rest.len());
    let (value, tail) = rest.split_at(end);
    (!value.is_empty()).then_some((name, value, tail))
}

/// The address of a node, with or without a port; `None` if it is hidden or unknown.
fn parse_node(text: &str) -> Option<IpAddr> {
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address = text.parse::<IpAddr>().ok().or_else(bare).or_else(with_port);
    address.map(|address| address.to_canonical())
}

fn parse_scheme(text: &str) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|known| text.eq_ignore_ascii_case(known))
}

/// A host with or without a port.
fn parse_host(text: &str) -> Option<&str> {
    let is_valid = (1..=255).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    is_valid.then_some(text)
}

/// The value of a header that has exactly one.
fn single_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    match values(headers, name)[..] {
        [value] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const PROXY: &str = "10.0.0.1";

    fn client(peer: &str, headers: &[(&'static str, &str)]) -> Client {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Proxies::new(networks.to_vec()).client(peer.parse().unwrap(), &map)
    }

    fn address(peer: &str, headers: &[(&'static str, &str)]) -> String {
        client(peer, headers).address.to_string()
    }

    #[test]
    fn headers_of_an_untrusted_peer_are_ignored() {
        for header in ["x-forwarded-for", "forwarded"] {
            for value in ["192.0.2.1", "for=192.0.2.1", "127.0.0.1", "10.0.0.9", "for=10.0.0.9"] {
                let headers =
                    [(header, value), ("x-forwarded-host", "x"), ("x-forwarded-proto", "https")];
                let client = client("198.51.100.7", &headers);
                assert_eq!(client, Client::direct("198.51.100.7".parse().unwrap()));
                assert_eq!(address("127.0.0.1", &[(header, value)]), "127.0.0.1");
            }
        }
        let no_proxies = Proxies::default();
        let mut headers = HeaderMap::new();
        headers.insert(FOR, HeaderValue::from_static("192.0.2.1"));
        let peer: IpAddr = [127, 0, 0, 1].into();
        assert_eq!(no_proxies.client(peer, &headers).address, peer);
    }

    #[test]
    fn client_is_the_first_untrusted_address_from_the_right() {
        for (value, client) in [
            ("192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1, 10.0.0.2, 10.9.9.9", "192.0.2.1"),
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
            ("192.0.2.1:4711", "192.0.2.1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("2001:db8::1, fd00::7", "2001:db8::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(address(PROXY, &[("x-forwarded-for", value)]), client, "{value}");
        }
        let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(address(PROXY, &lines), "192.0.2.1");
        for (value, client) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=\"192.0.2.1:80\";proto=https;by=10.0.0.1", "192.0.2.1"),
            ("for=203.0.113.9, for=192.0.2.1 , for=10.0.0.2;", "192.0.2.1"),
            ("for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
        ] {
            assert_eq!(address(PROXY, &[("forwarded", value)]), client, "{value}");
        }
    }

    #[test]
    fn an_invalid_entry_ends_the_search_at_the_hop_before_it() {
        for value in
            ["", "unknown", "_hidden", "192.0.2.1.5", "a b", "192.0.2.1,", "192.0.2.1, \u{e9}"]
        {
            assert_eq!(address(PROXY, &[("x-forwarded-for", value)]), PROXY, "{value}");
        }
        assert_eq!(
            address(PROXY, &[("x-forwarded-for", "192.0.2.1, unknown, 10.0.0.2")]),
            "10.0.0.2"
        );
        for value in [
            "",
            "for",
            "for=",
            "for=unknown",
            "for=_x",
            "by=192.0.2.1",
            "for=\"192.0.2.1",
            "for=192.0.2.1 x",
            "for=192.0.2.1;for=192.0.2.2",
            "for=\"a\\\"b\"",
            "=x",
            "for=1\"2\"",
            "for=\"192.0.2.1, for=192.0.2.2",
        ] {
            assert_eq!(address(PROXY, &[("forwarded", value)]), PROXY, "{value}");
        }
    }

    #[test]
    fn contradicting_headers_are_ignored() {
        let both = |one: &str, other: &str| {
            address(PROXY, &[("x-forwarded-for", one), ("forwarded", other)])
        };
        assert_eq!(both("192.0.2.1", "for=192.0.2.1"), "192.0.2.1");
        assert_eq!(both("192.0.2.1", "for=203.0.113.9"), PROXY);
        assert_eq!(
            both("203.0.113.9", "for=\"192.0.2.1"),
            PROXY,
            "the malformed header may be the one that the proxy set"
        );
    }

    #[test]
    fn scheme_and_host_come_from_the_same_hop() {
        let scheme_and_host = |headers: &[(&'static str, &str)]| {
            let client = client(PROXY, headers);
            (client.scheme, client.host)
        };
        let host = Some("api.example.org".to_owned());
        let plain = [("x-forwarded-proto", "https"), ("x-forwarded-host", "api.example.org")];
        assert_eq!(scheme_and_host(&plain), (Some("https"), host.clone()));
        assert_eq!(
            scheme_and_host(&[("x-forwarded-for", "192.0.2.1"), plain[0], plain[1]]),
            (Some("https"), host.clone())
        );
        let chain = [
            ("x-forwarded-for", "203.0.113.9, 192.0.2.1, 10.0.0.2"),
            ("x-forwarded-proto", "http, https, http"),
            ("x-forwarded-host", "evil.example, api.example.org, inner"),
        ];
        assert_eq!(scheme_and_host(&chain), (Some("https"), host.clone()));
        let standard =
            "for=203.0.113.9;host=evil.example, for=192.0.2.1;proto=https;host=api.example.org";
        assert_eq!(scheme_and_host(&[("forwarded", standard)]), (Some("https"), host));
        for wrong in ["gopher", "https, http", ""] {
            assert_eq!(scheme_and_host(&[("x-forwarded-proto", wrong)]).0, None);
        }
        for wrong in ["a b", "a/b", "a, b", "", "a\"b"] {
            assert_eq!(scheme_and_host(&[("x-forwarded-host", wrong)]).1, None);
        }
    }
}
