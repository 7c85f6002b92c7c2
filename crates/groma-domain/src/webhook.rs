//! Webhooks: endpoints with the events they ask for, the secret they verify with, and the body that
//! a delivery has.

use crate::{
    Currency, DeliveryId, EndpointId, Event, Kind, Problem, Record, RecordId, Reference, Refusal,
    Timestamp, WorkspaceId,
    record::{Folder, PeopleBook, render},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;
use utoipa::ToSchema;

/// After how long without a success an endpoint is disabled: five days.
pub const DISABLE_AFTER_MILLIS: i64 = 5 * 86_400_000;
/// How many endpoints a workspace has at most.
pub const MAX_ENDPOINTS: usize = 50;
/// The longest address, in characters.
pub const MAX_URL: usize = 2_048;
/// The longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1_000;
/// The lengths of a given secret.
pub const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;
/// What a made secret begins with; the rest is base64.
pub const SECRET_PREFIX: &str = "whsec_";

/// A webhook endpoint, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookEndpoint)]
pub struct Endpoint {
    /// Identifier.
    pub id: EndpointId,
    /// Where deliveries go.
    #[schema(value_type = String, format = "uri")]
    pub url: EndpointUrl,
    /// What it is for.
    pub description: Option<String>,
    /// The events it asks for: names, `folder.*` and the like, or `*`.
    #[schema(value_type = Vec<String>)]
    pub events: EventFilter,
    /// Whether events are delivered to it.
    pub enabled: bool,
    /// Why it is not enabled.
    pub disabled_reason: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The address of an endpoint: http or https, without credentials and without a fragment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct EndpointUrl(String);

impl EndpointUrl {
    /// Reads an address, or says what is wrong with it.
    pub fn parse(text: &str, allow_http: bool) -> Result<Self, String> {
        if text.chars().count() > MAX_URL {
            return Err(format!("must have at most {MAX_URL} characters"));
        }
        // The parser would pass over these in silence.
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("must not contain spaces or control characters".to_owned());
        }
        let kinds = if allow_http { "an http or https address" } else { "an https address" };
        let url = url::Url::parse(text).map_err(|error| format!("must be {kinds}: {error}"))?;
        match url.scheme() {
            "https" => {}
            "http" if allow_http => {}
            _ => return Err(format!("must be {kinds}")),
        }
        // `https:host` is read as `https://host` by browsers; it is rather a slip of the pen.
        if !text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://")) {
            return Err(format!("must be {kinds}"));
        }
        let authority = text.split("://").nth(1).unwrap_or_default();
        let authority = authority.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        // Browsers read `https:///host` as if there were two; it is no better than the one above.
        let has_host = !authority.is_empty() && url.host_str().is_some_and(|host| !host.is_empty());
        if !has_host || url.port_or_known_default() == Some(0) {
            return Err("must name a host, and a port that there is".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() || authority.contains('@') {
            return Err("must not contain credentials".to_owned());
        }
        if url.fragment().is_some() {
            return Err("must not have a fragment".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// An address as it was stored.
    #[must_use]
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The events that an endpoint asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFilter {
    names: Vec<String>,
    /// A bit for each event, in the order of [`Event::all`].
    bits: u16,
}

impl EventFilter {
    /// All events.
    #[must_use]
    pub fn all() -> Self {
        Self { names: vec!["*".to_owned()], bits: bits_of("*") }
    }

    /// Reads names; a problem's field is the place of the wrong one.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, Vec<Problem>> {
        if names.is_empty() {
            return Err(vec![Problem::new("events", "must name at least one event")]);
        }
        let mut filter = Self { names: Vec::new(), bits: 0 };
        let mut problems = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let name = name.as_ref();
            let problem = |message: String| Problem::new(format!("events/{index}"), message);
            match bits_of(name) {
                0 => problems.push(problem(unknown_event(name))),
                _ if filter.names.iter().any(|known| known == name) => {
                    problems.push(problem(format!("`{name}` is repeated")));
                }
                bits => {
                    filter.bits |= bits;
                    filter.names.push(name.to_owned());
                }
            }
        }
        if problems.is_empty() { Ok(filter) } else { Err(problems) }
    }

    /// The filter that [`fmt::Display`] wrote.
    pub fn stored(text: &str) -> Result<Self, Vec<Problem>> {
        Self::parse(&text.split(',').collect::<Vec<_>>())
    }

    /// Whether it asks for this event.
    #[must_use]
    pub fn wants(&self, event: Event) -> bool {
        Event::all().position(|known| known == event).is_some_and(|at| self.bits & 1 << at != 0)
    }

    /// As they were written.
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

/// Every word that an endpoint's `events` may hold.
pub fn event_words() -> impl Iterator<Item = String> {
    let groups = Kind::ALL.into_iter().map(|kind| format!("{}.*", kind.name()));
    let names = Event::all().map(|event| event.name().to_owned());
    std::iter::once("*".to_owned()).chain(groups).chain(names)
}

fn bits_of(name: &str) -> u16 {
    let group = name.strip_suffix('*');
    let fits = |event: Event| match group {
        Some("") => true,
        Some(group) => event.kind.name() == group.strip_suffix('.').unwrap_or_default(),
        None => event.name() == name,
    };
    let bits = Event::all().enumerate().filter(|(_, event)| fits(*event));
    bits.fold(0, |bits, (at, _)| bits | 1 << at)
}

fn unknown_event(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    format!("`{name}` is no event; events are named as folder.created, folder.* or *")
}

/// The secret of an endpoint. `Debug` never prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret of these random bytes.
    #[must_use]
    pub fn new(random: [u8; 32]) -> Self {
        Self(format!("{SECRET_PREFIX}{}", STANDARD.encode(random)))
    }

    /// Reads a secret that someone chose.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (least, most) = (SECRET_LENGTHS.start(), SECRET_LENGTHS.end());
        if !SECRET_LENGTHS.contains(&text.chars().count()) {
            return Err(format!("must have {least} to {most} characters"));
        }
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err("must be printable ASCII".to_owned());
        }
        if text.starts_with(' ') || text.ends_with(' ') {
            return Err("must not begin or end with a space".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret itself, for the one who is to know it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The key that libraries of Standard Webhooks use, for a secret of their form.
    #[must_use]
    pub fn standard_key(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.0.strip_prefix(SECRET_PREFIX)?).ok()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What someone wants an endpoint to be; what is `None` stays, or has its default.
#[derive(Clone, Debug, Default)]
pub struct EndpointDraft {
    /// Where deliveries go. A new endpoint needs one.
    pub url: Option<EndpointUrl>,
    /// Which events; all when left out.
    pub events: Option<EventFilter>,
    /// What it is for.
    pub description: Option<String>,
    /// The secret to sign with; one is made when left out. Only for a new endpoint.
    pub secret: Option<Secret>,
}

impl EndpointDraft {
    /// Reads a body; a problem's field is the path of the wrong value. Strangers are passed over.
    pub fn read(values: &Map<String, Value>, allow_http: bool) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let mut draft = Self::default();
        let mut note = |field: &str, message: String| problems.push(Problem::new(field, message));
        match text(values, "url") {
            Ok(Some(url)) => match EndpointUrl::parse(url, allow_http) {
                Ok(url) => draft.url = Some(url),
                Err(message) => note("url", message),
            },
            Ok(None) => note("url", "is needed".to_owned()),
            Err(message) => note("url", message),
        }
        match text(values, "description") {
            Ok(given) => match given.map(parse_description).transpose() {
                Ok(description) => draft.description = description.flatten(),
                Err(message) => note("description", message),
            },
            Err(message) => note("description", message),
        }
        match text(values, "secret") {
            Ok(given) => match given.map(Secret::parse).transpose() {
                Ok(secret) => draft.secret = secret,
                Err(message) => note("secret", message),
            },
            Err(message) => note("secret", message),
        }
        match values.get("events") {
            None | Some(Value::Null) => {}
            Some(Value::Array(names)) => {
                let texts: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
                match texts.map(|names| EventFilter::parse(&names)) {
                    Some(Ok(events)) => draft.events = Some(events),
                    Some(Err(wrong)) => problems.extend(wrong),
                    None => note("events", "must be a list of names".to_owned()),
                }
            }
            Some(_) => note("events", "must be a list of names".to_owned()),
        }
        if problems.is_empty() { Ok(draft) } else { Err(Refusal::Invalid(problems)) }
    }
}

/// A description: up to 1,000 characters, nothing when empty.
pub fn parse_description(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.chars().count() > MAX_DESCRIPTION {
        return Err(format!("must have at most {MAX_DESCRIPTION} characters"));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err("must not contain control characters".to_owned());
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn text<'v>(values: &'v Map<String, Value>, name: &str) -> Result<Option<&'v str>, String> {
    match values.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err("must be a text".to_owned()),
    }
}

/// The body of a delivery. The same values give the same bytes, at every attempt.
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
pub const TEST_EVENT: Event = Event { kind: Kind::Folder, change: crate::event::Change::Updated };

/// The document that a test delivery carries: a folder that is nobody's.
#[must_use]
pub fn sample(workspace: WorkspaceId, id: RecordId, now: Timestamp) -> String {
    let record = Record::Folder(Folder {
        id,
        reference: Reference::made(Kind::Folder, 0),
        workspace_key: workspace,
        external_id: None,
        name: "Sample folder".to_owned(),
        description: Some("Sent to try out a webhook endpoint; there is no such folder".to_owned()),
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
    render(document.json.as_bytes(), &document.people, &PeopleBook::default(), &mut json);
    // Documents are made of strings.
    String::from_utf8(json).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<EndpointDraft, Vec<(String, String)>> {
        let values = body.as_object().unwrap();
        EndpointDraft::read(values, false).map_err(|refusal| match refusal {
            Refusal::Invalid(problems) => {
                problems.into_iter().map(|problem| (problem.field, problem.message)).collect()
            }
            other => panic!("{other}"),
        })
    }

    #[test]
    fn what_is_left_out_or_null_has_its_default() {
        let url = "https://hooks.example.test/groma?a=b";
        for body in [
            json!({ "url": url }),
            json!({ "url": url, "events": null, "description": null, "secret": null, "x": 1 }),
        ] {
            let draft = read(&body).unwrap();
            assert_eq!(draft.url.unwrap().as_str(), url);
            assert_eq!((draft.events, draft.description, draft.secret), (None, None, None));
        }
    }

    #[test]
    fn every_wrong_value_is_told_by_its_place() {
        let wrong = read(&json!({
            "url": 1, "events": ["folder.created", "folder.create", "folder.created", "x.*"],
            "description": [], "secret": "short",
        }));
        let fields: Vec<_> = wrong.unwrap_err().into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["url", "description", "secret", "events/1", "events/2", "events/3"]);
        for events in [json!([]), json!("*"), json!([1]), json!({})] {
            let wrong = read(&json!({ "url": "https://a.test", "events": events })).unwrap_err();
            assert_eq!(wrong[0].0, "events");
        }
        assert_eq!(read(&json!({})).unwrap_err()[0], ("url".into(), "is needed".into()));
    }

    #[test]
    fn an_address_is_http_or_https_without_credentials_and_fragment() {
        let too_long = format!("https://a.test/{}", "x".repeat(MAX_URL));
        for wrong in [
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
            assert!(EndpointUrl::parse(wrong, false).is_err(), "{wrong}");
        }
        assert!(EndpointUrl::parse("http://a.test:8080/x", true).is_ok());
        for right in ["https://a.test", "HTTPS://A.test:8443/x?y=@z", "https://[2606:4700::1]/"] {
            assert_eq!(EndpointUrl::parse(right, false).unwrap().as_str(), right);
        }
    }

    #[test]
    fn a_filter_wants_what_its_names_say() {
        let wanted = |names: &[&str]| -> Vec<&str> {
            let filter = EventFilter::parse(names).unwrap();
            assert_eq!(EventFilter::stored(&filter.to_string()).unwrap(), filter);
            Event::all().filter(|event| filter.wants(*event)).map(Event::name).collect()
        };
        assert_eq!(wanted(&["*"]).len(), 13);
        assert_eq!(wanted(&["folder.*"]).len(), 4);
        assert_eq!(
            wanted(&["budget.*", "folder.archived"]),
            ["folder.archived", "budget.created", "budget.updated", "budget.deleted"]
        );
        assert_eq!(event_words().count(), 18);
        for word in event_words() {
            assert!(EventFilter::parse(&[word]).is_ok());
        }
        for wrong in ["", "folder", "folder.", ".*", "f*", "**", "folder.created ", "FOLDER.*"] {
            assert!(EventFilter::parse(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_printable_and_never_printed() {
        let made = Secret::new([7; 32]);
        assert!(made.reveal().starts_with("whsec_"));
        assert_eq!(made.standard_key(), Some(vec![7; 32]));
        assert_eq!(Secret::parse(made.reveal()).unwrap(), made);
        assert_eq!(format!("{made:?}"), "Secret(…)");
        assert_eq!(Secret::parse("0123456789 abcdef").unwrap().standard_key(), None);
        let too_long = "x".repeat(257);
        for wrong in [
            "",
            "fifteen letters",
            &too_long,
            " 0123456789abcdef",
            "0123456789abcdef ",
            "0123456789abcdé",
            "0123456789abcdef\n",
        ] {
            assert!(Secret::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_payload_has_the_fields_of_the_documentation_and_no_others() {
        let workspace = WorkspaceId(uuid::Uuid::from_u128(2));
        let now = Timestamp::from_millis(0);
        let data = sample(workspace, RecordId(uuid::Uuid::from_u128(3)), now);
        let id = DeliveryId(uuid::Uuid::from_u128(1));
        let body = payload(id, TEST_EVENT.name(), workspace, now, &data);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let names: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, ["id", "event", "workspaceKey", "occurredAt", "data"]);
        assert_eq!(body["occurredAt"], "1970-01-01T00:00:00.000Z");
        assert_eq!(body["data"]["id"], "00000000-0000-0000-0000-000000000003");
    }
}
