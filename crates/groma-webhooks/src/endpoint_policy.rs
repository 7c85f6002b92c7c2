//! The URLs that endpoints can have with the operator's settings.

use crate::address::AddressPolicy;
use groma_domain::{Violation, webhook::EndpointUrl};

/// Decides which URLs endpoints can have.
#[derive(Clone, Debug, Default)]
pub struct EndpointPolicy {
    /// Whether http is allowed besides https.
    pub allow_http: bool,
    /// The addresses that deliveries may reach.
    pub addresses: AddressPolicy,
}

impl EndpointPolicy {
    /// Whether deliveries to this URL are sent. The operator may have disallowed http since the endpoint
    /// was created.
    #[must_use]
    pub fn allows_scheme(&self, url: &EndpointUrl) -> bool {
        self.allow_http || !url.is_http()
    }

    /// Parses a URL. An address in it must be one that deliveries may reach. The addresses of a host
    /// name are checked at every attempt instead, because they can change.
    pub fn parse_url(&self, text: &str) -> Result<EndpointUrl, Violation> {
        let url = EndpointUrl::parse(text, self.allow_http)?;
        match url.address() {
            Some(address) if !self.addresses.allows(address) => Err(Violation::UrlPrivateAddress),
            _ => Ok(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_needs_the_setting() {
        let url = EndpointUrl::parse("HTTP://hooks.example.test/", true).unwrap();
        let mut policy = EndpointPolicy::default();
        assert!(!policy.allows_scheme(&url));
        assert!(policy.parse_url(url.as_str()).is_err());
        policy.allow_http = true;
        assert!(policy.allows_scheme(&url));
    }

    #[test]
    fn address_in_a_url_must_be_public_or_allowed() {
        let strict = EndpointPolicy { allow_http: true, ..EndpointPolicy::default() };
        for host in ["127.0.0.1", "0x7f.1", "2130706433", "127.1.", "[::1]", "[::ffff:10.0.0.1]"] {
            let url = format!("http://{host}:8080/hook");
            assert_eq!(strict.parse_url(&url), Err(Violation::UrlPrivateAddress), "{host}");
        }
        for host in ["hooks.example.test", "localhost", "8.8.8.8", "[2606:4700::1111]"] {
            strict.parse_url(&format!("https://{host}/hook")).unwrap();
        }
        let networks = vec!["127.0.0.0/8".parse().unwrap()];
        let local = EndpointPolicy { addresses: AddressPolicy::new(networks), ..strict };
        local.parse_url("http://127.0.0.1/").unwrap();
        assert_eq!(local.parse_url("http://10.0.0.1/"), Err(Violation::UrlPrivateAddress));
    }
}
