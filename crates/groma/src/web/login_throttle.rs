//! Throttling of attempts to log in: how many may fail, by device, address and account.
//!
//! An attempt counts before it is checked, so that concurrent attempts cannot exceed a limit. One that
//! succeeds is then forgotten. `docs/security.md` explains the figures.

use super::{Web, WebError, error::Text, request_context::RequestContext};
use crate::http::client_address::{site, subnet};
use axum::{
    http::{StatusCode, header},
    response::Response,
};
use groma_domain::{Email, Timestamp, UserId, secret::Secret};
use groma_store::{LoginAttemptOutcome, NewSecurityEntry, ThrottleBucket, ThrottleRule};

/// How many logins may fail from one device that the account has logged in with before. Strangers do not
/// count against it, so they cannot keep its owner out.
const DEVICE: ThrottleRule = ThrottleRule::Limit(10);
/// How many logins to one account may fail from all other devices before each further one must wait.
const ACCOUNT: ThrottleRule = ThrottleRule::Backoff { after: 10 };
/// How many logins may fail from a client, whatever the account: an IPv4 address, or a /64 network of IPv6,
/// which is what one client usually has.
const SUBNET: ThrottleRule = ThrottleRule::Limit(100);
/// The same for a /48 network of IPv6, of which one client can have many /64 networks.
const SITE: ThrottleRule = ThrottleRule::Limit(400);
/// How many times a logged-in user may enter a wrong password, or a user with the right password a wrong
/// code.
const USER: ThrottleRule = ThrottleRule::Limit(10);
/// How many links for a new password can be requested. The store also limits the mails to an address.
const RESETS_OF_SUBNET: ThrottleRule = ThrottleRule::Limit(20);
const RESETS_OF_SITE: ThrottleRule = ThrottleRule::Limit(80);
const RESETS_OF_ACCOUNT: ThrottleRule = ThrottleRule::Limit(5);
/// How many requests for a passkey, and for a login at an identity provider, come from a client.
const STRANGERS_OF_SUBNET: ThrottleRule = ThrottleRule::Limit(300);
const STRANGERS_OF_SITE: ThrottleRule = ThrottleRule::Limit(1_200);

/// What is attempted.
pub(super) enum AttemptKind<'a> {
    /// A login. `user` has the account, if there is one; `device` is the secret of a device that the account
    /// has logged in with before.
    Login { email: &'a Email, user: Option<UserId>, device: Option<&'a Secret> },
    /// A second factor of a user whose password was right, from a device that the account has logged in with
    /// before, if any.
    SecondFactor { user: UserId, device: Option<&'a Secret> },
    /// The password of a user who is logged in.
    CurrentPassword(UserId),
    /// A step of a login by someone who is not known yet. It counts whether it succeeds or not.
    Stranger,
    /// A request for a link that sets a new password. It counts whether it succeeds or not.
    PasswordReset(&'a Email),
}

/// An attempt that has been counted.
#[must_use]
pub(super) struct Attempt {
    buckets: Vec<ThrottleBucket>,
    at: Timestamp,
}

/// Too many attempts have failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throttled {
    /// When to try again.
    pub(super) retry_after_seconds: u64,
}

impl Attempt {
    /// Counts an attempt before it is made. The first rejected one is in the security log; the others
    /// are not, or strangers could fill it.
    pub(super) async fn begin(
        web: &Web,
        request: &RequestContext,
        kind: AttemptKind<'_>,
    ) -> Result<Result<Self, Throttled>, WebError> {
        let (buckets, at) = (kind.buckets(&request.address), request.now);
        let outcome = web.store.begin_login_attempt(buckets.clone(), at).await?;
        let (retry_at, is_first) = match outcome {
            LoginAttemptOutcome::Accepted => return Ok(Ok(Self { buckets, at })),
            LoginAttemptOutcome::Rejected { retry_at, is_first } => (retry_at, is_first),
        };
        if is_first && kind.is_logged() {
            // Also without an account, so that the time of the response does not tell whether there is one.
            let entry = NewSecurityEntry::new("login.throttled", at).from_address(&request.address);
            let entry = match kind.user() {
                Some(user) => entry.about(user),
                None => entry,
            };
            web.store.log_security(entry).await?;
        }
        Ok(Err(Throttled::until(retry_at, at)))
    }

    /// The attempt succeeded: it does not count.
    pub(super) async fn succeeded(self, web: &Web) -> Result<(), WebError> {
        Ok(web.store.clear_login_attempt(self.buckets, self.at).await?)
    }
}

impl Throttled {
    fn until(retry_at: Timestamp, now: Timestamp) -> Self {
        let millis = retry_at.as_millis().saturating_sub(now.as_millis());
        let millis = u64::try_from(millis).unwrap_or_default();
        Self { retry_after_seconds: millis.div_ceil(1_000).max(1) }
    }

    /// Adds `Retry-After` to a page that explains it.
    pub(super) fn add_header(self, mut response: Response) -> Response {
        response.headers_mut().insert(header::RETRY_AFTER, self.retry_after_seconds.into());
        response
    }
}

impl From<Throttled> for WebError {
    fn from(Throttled { retry_after_seconds }: Throttled) -> Self {
        let text = Text::TooManyAttempts { retry_after_seconds };
        Self { status: StatusCode::TOO_MANY_REQUESTS, text, cause: None }
    }
}

impl AttemptKind<'_> {
    /// Whether the security log has the first attempt that is rejected.
    fn is_logged(&self) -> bool {
        !matches!(self, Self::Stranger | Self::PasswordReset(_))
    }

    /// The user of the account that is logged in to.
    fn user(&self) -> Option<UserId> {
        match self {
            Self::Login { user, .. } => *user,
            Self::SecondFactor { user, .. } | Self::CurrentPassword(user) => Some(*user),
            Self::Stranger | Self::PasswordReset(_) => None,
        }
    }

    /// The buckets that an attempt counts in. A success empties the first one.
    fn buckets(&self, address: &str) -> Vec<ThrottleBucket> {
        let bucket = |name: String, rule| ThrottleBucket { name, rule };
        match self {
            Self::Login { email, device: Some(device), .. } => {
                let mark = device.mac("attempts", email.key().as_bytes());
                vec![bucket(format!("device {mark}"), DEVICE)]
            }
            Self::Login { email, device: None, .. } => {
                let account = bucket(format!("account {}", email.key()), ACCOUNT);
                std::iter::once(account).chain(networks("", address, SUBNET, SITE)).collect()
            }
            Self::SecondFactor { user, device: Some(device) } => {
                let mark = device.mac("factors", user.0.as_bytes());
                vec![bucket(format!("factor device {mark}"), DEVICE)]
            }
            Self::SecondFactor { user, device: None } => {
                vec![bucket(format!("factor {user}"), USER)]
            }
            Self::CurrentPassword(user) => vec![bucket(format!("password {user}"), USER)],
            Self::PasswordReset(email) => {
                let account = bucket(format!("reset account {}", email.key()), RESETS_OF_ACCOUNT);
                let networks = networks("reset ", address, RESETS_OF_SUBNET, RESETS_OF_SITE);
                std::iter::once(account).chain(networks).collect()
            }
            Self::Stranger => {
                networks("stranger ", address, STRANGERS_OF_SUBNET, STRANGERS_OF_SITE).collect()
            }
        }
    }
}

/// The buckets of the networks that an address is in.
fn networks(
    prefix: &str,
    address: &str,
    of_subnet: ThrottleRule,
    of_site: ThrottleRule,
) -> impl Iterator<Item = ThrottleBucket> {
    let parsed = address.parse().ok();
    let subnet = parsed.map_or_else(|| address.to_owned(), |address| subnet(address).to_string());
    let site = parsed.and_then(site).map(|site| (site.to_string(), of_site));
    let buckets = std::iter::once((subnet, of_subnet)).chain(site);
    buckets
        .map(move |(name, rule)| ThrottleBucket { name: format!("{prefix}address {name}"), rule })
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn names(kind: &AttemptKind<'_>, address: &str) -> Vec<String> {
        kind.buckets(address).into_iter().map(|bucket| bucket.name).collect()
    }

    #[test]
    fn ipv6_counts_by_network() {
        let email = Email::parse("owner@example.test").unwrap();
        let login = AttemptKind::Login { email: &email, user: None, device: None };
        let account = "account owner@example.test";
        for address in ["2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6"] {
            let expected = [account, "address 2001:db8:1:2::/64", "address 2001:db8:1::/48"];
            assert_eq!(names(&login, address), expected);
        }
        for address in ["192.0.2.7", "::ffff:192.0.2.7"] {
            assert_eq!(names(&login, address), [account, "address 192.0.2.7/32"]);
        }
    }

    #[test]
    fn known_device_does_not_share_a_bucket_with_strangers() {
        let email = Email::parse("owner@example.test").unwrap();
        let device = Secret::new([7; 32]);
        let known = AttemptKind::Login { email: &email, user: None, device: Some(&device) };
        let stranger = AttemptKind::Login { email: &email, user: None, device: None };
        let (known, stranger) = (names(&known, "192.0.2.7"), names(&stranger, "192.0.2.7"));
        assert!(known.iter().all(|name| !stranger.contains(name)), "{known:?}");
    }

    #[test]
    fn second_factor_counts_by_user() {
        let [one, other] = [1, 2].map(|number| UserId(Uuid::from_u128(number)));
        let device = Secret::new([7; 32]);
        let names = |kind| names(&kind, "192.0.2.7");
        let factor = |user, device| names(AttemptKind::SecondFactor { user, device });
        assert_ne!(factor(one, None), factor(other, None));
        assert_ne!(factor(one, None), names(AttemptKind::CurrentPassword(one)));
        // Somebody who has only the password does not keep out a device that is known.
        assert_ne!(factor(one, None), factor(one, Some(&device)));
        assert_ne!(factor(one, Some(&device)), factor(other, Some(&device)));
    }

    #[test]
    fn seconds_are_rounded_up() {
        let at = Timestamp::from_millis;
        assert_eq!(Throttled::until(at(5_001), at(4_000)).retry_after_seconds, 2);
        assert_eq!(Throttled::until(at(4_000), at(4_000)).retry_after_seconds, 1);
    }
}
