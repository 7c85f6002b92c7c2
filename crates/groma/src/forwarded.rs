//! Who asks, when proxies stand between. What they tell in `Forwarded` (RFC 7239) and `X-Forwarded-*`
//! is believed from those that the settings name and from nobody else.
//!
//! The addresses are walked from the right, where the nearest proxy has written: past each that is a
//! trusted proxy, to the first that is not. What stands further left was sent by that client, who may
//! write there what it likes. A proxy that sets one kind of header may pass the other on as it came, so
//! where both are sent they must tell the same, or neither is believed.

use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The proxies that are believed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Vec<IpNet>);

/// Who asks, and what for, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) address: IpAddr,
    /// `http` or `https`, as a trusted proxy tells it.
    pub(crate) scheme: Option<&'static str>,
    /// The host that was asked for, as a trusted proxy tells it.
    pub(crate) host: Option<String>,
}

impl Client {
    /// Someone with nobody between.
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

    /// Who asks over a connection from `peer` with these headers.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let direct = Client::direct(peer);
        if !self.trusts(peer) {
            return direct;
        }
        let standard = headers
            .contains_key(header::FORWARDED)
            .then(|| self.walk(peer, &standard_hops(headers).unwrap_or_default()));
        let customary =
            headers.contains_key(FOR).then(|| self.walk(peer, &customary_hops(headers)));
        match (standard, customary) {
            (Some(one), Some(other)) if one.address == other.address => Client {
                address: one.address,
                scheme: one.scheme.or(other.scheme),
                host: one.host.or(other.host),
            },
            (Some(_), Some(_)) => direct,
            (Some(told), None) | (None, Some(told)) => told,
            (None, None) => {
                let alone = |name| only(headers, name);
                Client {
                    scheme: alone(PROTO).and_then(scheme),
                    host: alone(HOST).and_then(host).map(str::to_owned),
                    ..direct
                }
            }
        }
    }

    /// Goes from the right past every trusted proxy.
    fn walk(&self, peer: IpAddr, hops: &[Hop<'_>]) -> Client {
        let mut client = Client::direct(peer);
        for hop in hops.iter().rev() {
            let Some(address) = hop.address.filter(|_| self.trusts(client.address)) else { break };
            client = Client { address, scheme: hop.scheme, host: hop.host.map(str::to_owned) };
        }
        client
    }
}

/// What one proxy tells of whoever asked it.
#[derive(Clone, Copy, Default)]
struct Hop<'h> {
    /// `None` when it is hidden, or makes no sense.
    address: Option<IpAddr>,
    scheme: Option<&'static str>,
    host: Option<&'h str>,
}

/// What `X-Forwarded-For` tells, with scheme and host where each hop told those too, or one told them
/// for all.
fn customary_hops(headers: &HeaderMap) -> Vec<Hop<'_>> {
    let addresses = listed(headers, FOR);
    let (schemes, hosts) = (listed(headers, PROTO), listed(headers, HOST));
    let beside = |values: &[&'_ str], index: usize| match values.len() {
        1 => Some(0),
        several if several == addresses.len() => Some(index),
        _ => None,
    };
    let hop = |(index, address): (usize, &&str)| Hop {
        address: node(address),
        scheme: beside(&schemes, index).and_then(|at| scheme(schemes[at])),
        host: beside(&hosts, index).and_then(|at| host(hosts[at])),
    };
    addresses.iter().enumerate().map(hop).collect()
}

/// The values of a header, over all its lines. A line that is no text is one value that is none.
fn listed(headers: &HeaderMap, name: HeaderName) -> Vec<&str> {
    let lines = headers.get_all(name).into_iter().map(|line| line.to_str().unwrap_or_default());
    lines.flat_map(|line| line.split(',')).map(str::trim).collect()
}

/// What `Forwarded` tells; `None` when it is not as the standard has it, which may be the doing of
/// someone who wants to hide what was written behind.
fn standard_hops(headers: &HeaderMap) -> Option<Vec<Hop<'_>>> {
    let mut hops = Vec::new();
    for line in headers.get_all(header::FORWARDED) {
        let mut rest = line.to_str().ok()?.trim();
        let mut hop = Hop::default();
        let mut seen = Vec::new();
        loop {
            if !rest.is_empty() && !rest.starts_with([';', ',']) {
                let (name, value, behind) = pair(rest)?;
                let name = name.to_ascii_lowercase();
                match name.as_str() {
                    "for" => hop.address = node(value),
                    "proto" => hop.scheme = scheme(value),
                    "host" => hop.host = host(value),
                    _ => {}
                }
                if seen.contains(&name) {
                    return None;
                }
                seen.push(name);
                rest = behind.trim_start();
            }
            match rest.split_at_checked(1) {
                Some((";", behind)) => rest = behind.trim_start(),
                Some((",", behind)) => {
                    hops.push(std::mem::take(&mut hop));
                    seen.clear();
                    rest = behind.trim_start();
                }
                Some(_) => return None,
                None => break,
            }
        }
        hops.push(hop);
    }
    Some(hops)
}

/// The `name=value` that a text begins with, and what is behind it.
fn pair(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once('=')?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, behind) = quoted.split_once('"')?;
        // No address or host has a character that must be escaped.
        return (!value.contains('\\')).then_some((name, value, behind));
    }
    let end = rest.find([';', ',', ' ', '\t', '"']).unwrap_or(rest.len());
    let (value, behind) = rest.split_at(end);
    (!value.is_empty()).then_some((name, value, behind))
}

/// The address of a node, with or without a port; one that is hidden or unknown has none.
fn node(text: &str) -> Option<IpAddr> {
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address = text.parse::<IpAddr>().ok().or_else(bare).or_else(with_port);
    address.map(|address| address.to_canonical())
}

fn scheme(text: &str) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|known| text.eq_ignore_ascii_case(known))
}

/// A host with or without a port, when it looks like one.
fn host(text: &str) -> Option<&str> {
    let fits = (1..=255).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    fits.then_some(text)
}

/// The value of a header that is sent once, with one value.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    match listed(headers, name)[..] {
        [one] => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const PROXY: &str = "10.0.0.1";

    fn asked(peer: &str, headers: &[(&'static str, &str)]) -> Client {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Proxies::new(networks.to_vec()).client(peer.parse().unwrap(), &map)
    }

    fn address(peer: &str, headers: &[(&'static str, &str)]) -> String {
        asked(peer, headers).address.to_string()
    }

    #[test]
    fn a_stranger_is_who_it_is_whatever_it_says() {
        for header in ["x-forwarded-for", "forwarded"] {
            for value in ["192.0.2.1", "for=192.0.2.1", "127.0.0.1", "10.0.0.9", "for=10.0.0.9"] {
                let sent =
                    [(header, value), ("x-forwarded-host", "x"), ("x-forwarded-proto", "https")];
                let known = asked("198.51.100.7", &sent);
                assert_eq!(known, Client::direct("198.51.100.7".parse().unwrap()));
                assert_eq!(address("127.0.0.1", &[(header, value)]), "127.0.0.1");
            }
        }
        let nobody = Proxies::default();
        let mut headers = HeaderMap::new();
        headers.insert(FOR, HeaderValue::from_static("192.0.2.1"));
        let here: IpAddr = [127, 0, 0, 1].into();
        assert_eq!(nobody.client(here, &headers).address, here);
    }

    #[test]
    fn the_first_from_the_right_that_is_no_proxy_is_the_client() {
        for (sent, told) in [
            ("192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1, 10.0.0.2, 10.9.9.9", "192.0.2.1"),
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
            ("192.0.2.1:4711", "192.0.2.1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("2001:db8::1, fd00::7", "2001:db8::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(address(PROXY, &[("x-forwarded-for", sent)]), told, "{sent}");
        }
        let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(address(PROXY, &lines), "192.0.2.1");
        for (sent, told) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=\"192.0.2.1:80\";proto=https;by=10.0.0.1", "192.0.2.1"),
            ("for=203.0.113.9, for=192.0.2.1 , for=10.0.0.2;", "192.0.2.1"),
            ("for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
        ] {
            assert_eq!(address(PROXY, &[("forwarded", sent)]), told, "{sent}");
        }
    }

    #[test]
    fn what_makes_no_sense_ends_the_walk_where_it_stands() {
        for sent in
            ["", "unknown", "_hidden", "192.0.2.1.5", "a b", "192.0.2.1,", "192.0.2.1, \u{e9}"]
        {
            assert_eq!(address(PROXY, &[("x-forwarded-for", sent)]), PROXY, "{sent}");
        }
        assert_eq!(
            address(PROXY, &[("x-forwarded-for", "192.0.2.1, unknown, 10.0.0.2")]),
            "10.0.0.2"
        );
        for sent in [
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
            assert_eq!(address(PROXY, &[("forwarded", sent)]), PROXY, "{sent}");
        }
    }

    #[test]
    fn of_two_that_tell_different_things_neither_is_believed() {
        let both = |one: &str, other: &str| {
            address(PROXY, &[("x-forwarded-for", one), ("forwarded", other)])
        };
        assert_eq!(both("192.0.2.1", "for=192.0.2.1"), "192.0.2.1");
        assert_eq!(both("192.0.2.1", "for=203.0.113.9"), PROXY);
        assert_eq!(
            both("203.0.113.9", "for=\"192.0.2.1"),
            PROXY,
            "the broken one may be the true one"
        );
    }

    #[test]
    fn scheme_and_host_are_those_of_the_same_hop() {
        let told = |headers: &[(&'static str, &str)]| {
            let client = asked(PROXY, headers);
            (client.scheme, client.host)
        };
        let host = Some("api.example.org".to_owned());
        let plain = [("x-forwarded-proto", "https"), ("x-forwarded-host", "api.example.org")];
        assert_eq!(told(&plain), (Some("https"), host.clone()));
        assert_eq!(
            told(&[("x-forwarded-for", "192.0.2.1"), plain[0], plain[1]]),
            (Some("https"), host.clone())
        );
        let chain = [
            ("x-forwarded-for", "203.0.113.9, 192.0.2.1, 10.0.0.2"),
            ("x-forwarded-proto", "http, https, http"),
            ("x-forwarded-host", "evil.example, api.example.org, inner"),
        ];
        assert_eq!(told(&chain), (Some("https"), host.clone()));
        let standard =
            "for=203.0.113.9;host=evil.example, for=192.0.2.1;proto=https;host=api.example.org";
        assert_eq!(told(&[("forwarded", standard)]), (Some("https"), host));
        for wrong in ["gopher", "https, http", ""] {
            assert_eq!(told(&[("x-forwarded-proto", wrong)]).0, None);
        }
        for wrong in ["a b", "a/b", "a, b", "", "a\"b"] {
            assert_eq!(told(&[("x-forwarded-host", wrong)]).1, None);
        }
    }
}
