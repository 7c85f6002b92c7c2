//! Webhook endpoints, their event filters and signing secrets, and the payload of a delivery.

mod delivery;
mod endpoint_filter;
mod input;

pub use delivery::{DeliveryDocument, DeliveryStatus};
pub use endpoint_filter::{EndpointFilter, EndpointFilterInput, MAX_FILTER_IDS};
pub use input::{EndpointInput, parse_description};

use crate::{
    Currency, DeliveryId, EndpointId, Event, FieldError, Kind, Record, RecordId, Reference,
    Timestamp, Violation, WorkspaceId,
    event::{EventAction, Topic},
    record::{Folder, PersonDirectory, render},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::Map;
use std::{fmt, net::IpAddr};
use utoipa::ToSchema;

/// An endpoint is disabled after this time without a successful delivery: five days.
pub const DISABLE_AFTER_MILLIS: i64 = 5 * 86_400_000;
/// The maximum number of endpoints of a workspace.
pub const MAX_ENDPOINTS: usize = 50;
/// The maximum length of a URL, in characters.
pub const MAX_URL: usize = 2_048;
/// The maximum length of a description, in characters.
pub const MAX_DESCRIPTION: usize = 1_000;
/// The allowed lengths of a secret that the user chooses.
pub const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;
/// The prefix of a generated secret. The rest is base64.
pub const SECRET_PREFIX: &str = "whsec_";

/// A webhook endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookEndpoint)]
pub struct Endpoint {
    /// Identifier.
    pub id: EndpointId,
    /// URL that receives the deliveries.
    #[schema(value_type = String, format = "uri")]
    pub url: EndpointUrl,
    /// Description.
    pub description: Option<String>,
    /// Subscribed events: names, patterns such as `folder.*`, or `*`.
    #[schema(value_type = Vec<String>)]
    pub events: EventFilter,
    /// Which of these events are delivered; null for all.
    pub filter: Option<EndpointFilter>,
    /// Whether events are delivered.
    pub enabled: bool,
    /// Why the endpoint is disabled.
    pub disabled_reason: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The URL of an endpoint: http or https, without credentials and without a fragment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct EndpointUrl(String);

impl EndpointUrl {
    /// Parses a URL. Rejects http unless `allow_http` is set.
    pub fn parse(text: &str, allow_http: bool) -> Result<Self, Violation> {
        if text.chars().count() > MAX_URL {
            return Err(Violation::TooLong { max: MAX_URL });
        }
        // The URL parser would remove these silently.
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Violation::UrlWhitespace);
        }
        let not_url = || Violation::NotUrl {
            schemes: if allow_http { "https:// or http://" } else { "https://" }.to_owned(),
        };
        let url = url::Url::parse(text).map_err(|_| not_url())?;
        match url.scheme() {
            "https" => {}
            "http" if allow_http => {}
            _ => return Err(not_url()),
        }
        // The URL parser reads `https:host` as `https://host`, like a browser. Here it is more likely
        // a typing error.
        if !text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://")) {
            return Err(not_url());
        }
        let authority = text.split("://").nth(1).unwrap_or_default();
        let authority = authority.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        // The same holds for `https:///host`.
        let has_host = !authority.is_empty() && url.host_str().is_some_and(|host| !host.is_empty());
        if !has_host || url.port_or_known_default() == Some(0) {
            return Err(Violation::UrlWithoutHost);
        }
        if !url.username().is_empty() || url.password().is_some() || authority.contains('@') {
            return Err(Violation::UrlCredentials);
        }
        if url.fragment().is_some() {
            return Err(Violation::UrlFragment);
        }
        Ok(Self(text.to_owned()))
    }

    /// Wraps a URL from the database without checking it again.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The URL as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether deliveries to it are not encrypted.
    #[must_use]
    pub fn is_http(&self) -> bool {
        self.0.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"))
    }

    /// The address, if the URL has one in place of a host name.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match url::Url::parse(&self.0).ok()?.host()? {
            url::Host::Ipv4(address) => Some(address.into()),
            url::Host::Ipv6(address) => Some(address.into()),
            url::Host::Domain(_) => None,
        }
    }
}

/// The events that an endpoint subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFilter {
    names: Vec<String>,
    /// A bit for each event, in the order of [`Event::all`].
    bits: u32,
}

impl EventFilter {
    /// All events about records.
    #[must_use]
    pub fn all() -> Self {
        Self { names: vec!["*".to_owned()], bits: event_bits("*") }
    }

    /// Parses names and patterns. The field of an error is the path of the invalid item, for example
    /// `events/1`.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, Vec<FieldError>> {
        if names.is_empty() {
            return Err(vec![FieldError::new("events", Violation::NoEvents)]);
        }
        let mut filter = Self { names: Vec::new(), bits: 0 };
        let mut errors = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let name = name.as_ref();
            let mut reject =
                |violation| errors.push(FieldError::new(format!("events/{index}"), violation));
            match event_bits(name) {
                0 => reject(unknown_event(name)),
                _ if filter.names.iter().any(|known| known == name) => {
                    reject(Violation::RepeatedEvent { name: name.to_owned() });
                }
                bits => {
                    filter.bits |= bits;
                    filter.names.push(name.to_owned());
                }
            }
        }
        if errors.is_empty() { Ok(filter) } else { Err(errors) }
    }

    /// Parses the stored form, which `Display` writes.
    pub fn from_stored(text: &str) -> Result<Self, Vec<FieldError>> {
        Self::parse(&text.split(',').collect::<Vec<_>>())
    }

    /// Whether the endpoint subscribes to this event.
    #[must_use]
    pub fn matches(&self, event: Event) -> bool {
        Event::all()
            .position(|known| known == event)
            .is_some_and(|index| self.bits & 1 << index != 0)
    }

    /// The names and patterns as they were written.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Display for EventFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(","))
    }
}

impl Serialize for EventFilter {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.names.serialize(serializer)
    }
}

/// Every valid item of `events`: the names and the patterns.
pub fn event_names_and_patterns() -> impl Iterator<Item = String> {
    let patterns = Topic::ALL.into_iter().map(|topic| format!("{}.*", topic.name()));
    let names = Event::all().map(|event| event.name().to_owned());
    std::iter::once("*".to_owned()).chain(patterns).chain(names)
}

fn event_bits(name: &str) -> u32 {
    let matches = |event: Event| match name.strip_suffix('*') {
        Some("") => event.is_of_record(),
        // A change of many features is one event about their layer.
        Some("geometry.") if event.name() == "layer.updated" => true,
        Some(prefix) => event.topic.name() == prefix.strip_suffix('.').unwrap_or_default(),
        None => event.name() == name,
    };
    let matching = Event::all().enumerate().filter(|(_, event)| matches(*event));
    matching.fold(0, |bits, (index, _)| bits | 1 << index)
}

fn unknown_event(name: &str) -> Violation {
    let name = name.chars().filter(|c| !c.is_control()).take(40).collect();
    Violation::UnknownEvent { name }
}

/// The secret that signs an endpoint's deliveries. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(String);

impl SigningSecret {
    /// Creates a secret from random bytes.
    #[must_use]
    pub fn new(random: [u8; 32]) -> Self {
        Self(format!("{SECRET_PREFIX}{}", STANDARD.encode(random)))
    }

    /// Parses a secret that the user chooses.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        if !SECRET_LENGTHS.contains(&text.chars().count()) {
            let (min, max) = (*SECRET_LENGTHS.start(), *SECRET_LENGTHS.end());
            return Err(Violation::WrongLength { min, max });
        }
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Violation::NotPrintable);
        }
        if text.starts_with(' ') || text.ends_with(' ') {
            return Err(Violation::SurroundingSpace);
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret in plain text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The key of Standard Webhooks libraries; `None` if the secret does not have their format.
    #[must_use]
    pub fn standard_key(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.0.strip_prefix(SECRET_PREFIX)?).ok()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

/// The body of a delivery. The same values always give the same bytes, so that every attempt sends
/// the same body.
#[must_use]
pub fn payload(
    delivery: DeliveryId,
    event: &str,
    workspace: WorkspaceId,
    occurred_at: Timestamp,
    data: &str,
) -> Vec<u8> {
    let mut body = Vec::with_capacity(data.len() + 192);
    for part in [
        "{\"id\":\"",
        &delivery.to_string(),
        "\",\"event\":\"",
        event,
        "\",\"workspaceKey\":\"",
        &workspace.to_string(),
        "\",\"occurredAt\":\"",
        &occurred_at.to_string(),
        "\",\"data\":",
        data,
        "}",
    ] {
        body.extend_from_slice(part.as_bytes());
    }
    body
}

/// The event of a test delivery.
pub const TEST_EVENT: Event =
    Event { topic: Topic::Record(Kind::Folder), action: EventAction::Updated };

/// The document of a test delivery: a sample folder that does not exist.
#[must_use]
pub fn sample_document(workspace: WorkspaceId, id: RecordId, now: Timestamp) -> String {
    let record = Record::Folder(Folder {
        id,
        reference: Reference::generated(Kind::Folder, 0),
        workspace_key: workspace,
        external_id: None,
        name: "Sample folder".to_owned(),
        description: Some(
            "Sample data for testing a webhook endpoint. This folder does not exist.".to_owned(),
        ),
        client_name: None,
        status_id: None,
        owner: None,
        start_date: None,
        due_date: None,
        currency: Currency::EUR,
        tags: vec!["test".to_owned()],
        bbox: None,
        archived_at: None,
        custom_fields: Map::new(),
        created_at: now,
        updated_at: now,
        version: 2,
    });
    let document = record.document();
    let mut json = Vec::new();
    render(
        document.json.as_bytes(),
        &document.person_offsets,
        &PersonDirectory::default(),
        &mut json,
    );
    // The parts of the document are strings, so it is valid UTF-8.
    String::from_utf8(json).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn url_is_http_or_https_without_credentials_and_fragment() {
        let too_long = format!("https://a.test/{}", "x".repeat(MAX_URL));
        for invalid in [
            "",
            "a.test",
            "//a.test",
            "https://",
            "https:a.test",
            "https:///x",
            "ftp://a.test",
            "file:///etc/passwd",
            "gopher://a.test",
            "javascript:alert(1)",
            "http://a.test",
            "https://user@a.test",
            "https://user:word@a.test",
            "https://@a.test",
            "https://:@a.test",
            "https://a.test/#x",
            "https://a.test/#",
            "https://a b.test",
            " https://a.test",
            "https://a.test\n",
            "https://a.test/\u{7}",
            "https://[fe80::1%eth0]/",
            "https://[fe80::1%25eth0]/",
            "https://a.test:99999",
            "https://a.test:0/",
            &too_long,
        ] {
            assert!(EndpointUrl::parse(invalid, false).is_err(), "{invalid}");
        }
        assert!(EndpointUrl::parse("http://a.test:8080/x", true).is_ok());
        for valid in ["https://a.test", "HTTPS://A.test:8443/x?y=@z", "https://[2606:4700::1]/"] {
            assert_eq!(EndpointUrl::parse(valid, false).unwrap().as_str(), valid);
        }
    }

    #[test]
    fn filter_matches_names_and_patterns() {
        let matched = |names: &[&str]| -> Vec<&str> {
            let filter = EventFilter::parse(names).unwrap();
            assert_eq!(EventFilter::from_stored(&filter.to_string()).unwrap(), filter);
            Event::all().filter(|event| filter.matches(*event)).map(Event::name).collect()
        };
        assert_eq!(matched(&["*"]).len(), 13);
        assert_eq!(matched(&["folder.*"]).len(), 4);
        assert_eq!(
            matched(&["budget.*", "folder.archived"]),
            ["folder.archived", "budget.created", "budget.updated", "budget.deleted"]
        );
        assert_eq!(
            matched(&["geometry.*"]),
            ["geometry.created", "geometry.updated", "geometry.deleted", "layer.updated"]
        );
        assert_eq!(matched(&["layer.*"]), ["layer.created", "layer.updated", "layer.deleted"]);
        assert_eq!(event_names_and_patterns().count(), 26);
        for name in event_names_and_patterns() {
            assert!(EventFilter::parse(&[name]).is_ok());
        }
        for invalid in ["", "folder", "folder.", ".*", "f*", "**", "folder.created ", "FOLDER.*"] {
            assert!(EventFilter::parse(&[invalid]).is_err(), "{invalid}");
        }
    }

    #[test]
    fn secret_is_printable_ascii_and_hidden_from_debug() {
        let generated = SigningSecret::new([7; 32]);
        assert!(generated.reveal().starts_with("whsec_"));
        assert_eq!(generated.standard_key(), Some(vec![7; 32]));
        assert_eq!(SigningSecret::parse(generated.reveal()).unwrap(), generated);
        assert_eq!(format!("{generated:?}"), "SigningSecret(…)");
        assert_eq!(SigningSecret::parse("0123456789 abcdef").unwrap().standard_key(), None);
        let too_long = "x".repeat(257);
        for invalid in [
            "",
            "fifteen letters",
            &too_long,
            " 0123456789abcdef",
            "0123456789abcdef ",
            "0123456789abcdé",
            "0123456789abcdef\n",
        ] {
            assert!(SigningSecret::parse(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn payload_has_exactly_the_documented_fields() {
        let workspace = WorkspaceId(uuid::Uuid::from_u128(2));
        let now = Timestamp::from_millis(0);
        let data = sample_document(workspace, RecordId(uuid::Uuid::from_u128(3)), now);
        let id = DeliveryId(uuid::Uuid::from_u128(1));
        let body = payload(id, TEST_EVENT.name(), workspace, now, &data);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let names: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, ["id", "event", "workspaceKey", "occurredAt", "data"]);
        assert_eq!(body["occurredAt"], "1970-01-01T00:00:00.000Z");
        assert_eq!(body["data"]["id"], "00000000-0000-0000-0000-000000000003");
    }
}
