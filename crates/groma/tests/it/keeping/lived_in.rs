//! An office with something in every table, and all that it answers.

use crate::{
    client::{API, Answer, encode},
    database::Engine,
    office::{OWNER, Office, WORKSPACE},
    sample,
    web::Browser,
    webhooks::receiver::{Receiver, Reply},
};
use serde_json::{Value, json};

/// Deliveries may go to receivers of the test, secrets are sealed, addresses are the same wherever it
/// serves, and requests are counted without ever being too many.
pub(crate) const ENVIRONMENT: [(&str, &str); 6] = [
    ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
    ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
    (
        "GROMA_WEBHOOKS__ENCRYPTION_KEY",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
    ),
    ("GROMA_SERVER__PUBLIC_URL", "http://main.example.test"),
    ("GROMA_SERVER__GEO_PUBLIC_URL", "http://geo.example.test"),
    ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "100000"),
];

pub(crate) struct LivedIn {
    pub(crate) office: Office,
    pub(crate) token: String,
    /// The owner's session.
    pub(crate) cookie: String,
    /// Answers 500, so that a delivery waits.
    pub(crate) receiver: Receiver,
    /// The geometry that was posted with a key, and what was answered.
    posted: Answer,
}

impl LivedIn {
    /// An office that serves.
    pub(crate) fn open(engine: Engine) -> Self {
        let office = Office::start_with(engine, &ENVIRONMENT);
        records(&office, 70);
        layers_of(&office, 30_000);
        let token = office.master_token();
        let receiver = Receiver::answering(|_| Reply::status(500));
        let posted = post(&office, &token);
        assert_eq!(posted.header("idempotent-replayed"), None);
        hooks(&office, &receiver);
        let cookie = visits(&office);
        Self { office, token, cookie, receiver, posted }
    }

    /// Checks that another office, which serves a copy, knows the token, the session, the answer to
    /// the keyed POST and the webhook's secret.
    pub(crate) fn is_known_to(&self, other: &Office) {
        let again = post(other, &self.token);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.text(), self.posted.text());
        let browser = Browser::new(other.main());
        browser.set_cookie("groma", &self.cookie);
        browser.page("/folders").shows(WORKSPACE);
        let check = other.groma(&["check", "--json"]).json();
        let secrets = &check["webhookSecrets"];
        assert_eq!((&secrets["open"], &secrets["unreadable"]), (&json!(0), &json!(0)), "{check}");
    }

    /// What the API answers.
    pub(crate) fn answers(&self) -> Vec<(String, u16, Vec<u8>)> {
        answers(&self.office, &self.token)
    }
}

/// Records of each kind, one archived, one deleted, and more folders.
pub(crate) fn records(office: &Office, more: usize) {
    sample::fill(office);
    let named = ["Straße", "漢字 🦀", "it's \"x\" \\ 100 %"].map(|name| json!({ "name": name }));
    office.import("folders", &named);
    office.import("folders", &sample::many_folders(more));
    office.groma(&["archive", "folder", "F-000003"]).succeeds();
    office.groma(&["delete", "folder", "F-000005"]).succeeds();
}

/// A layer with shapes of every kind, one of them with so many vertices.
pub(crate) fn layers_of(office: &Office, vertices: u32) {
    let line: Vec<_> =
        (0..vertices).map(|n| [f64::from(n) * 0.000_1, (f64::from(n) * 0.01).sin()]).collect();
    let ring = [[2.0, 48.0], [2.1, 48.0], [2.1, 48.1], [2.0, 48.1], [2.0, 48.0]];
    let hole = [[2.02, 48.02], [2.02, 48.04], [2.04, 48.04], [2.04, 48.02], [2.02, 48.02]];
    let shapes = [
        json!({ "type": "Point", "coordinates": [2.3, 48.8, 35.25] }),
        json!({ "type": "MultiPoint", "coordinates": [[2.3, 48.8], [2.4, 48.9]] }),
        json!({ "type": "LineString", "coordinates": line }),
        json!({ "type": "MultiLineString", "coordinates": [[[2.0, 48.0, 1.0], [2.5, 48.5]], [[3.0, 49.0], [3.1, 49.1, 2.5]]] }),
        json!({ "type": "Polygon", "coordinates": [ring, hole] }),
        json!({ "type": "MultiPolygon", "coordinates": [[ring], [[[3.0, 48.0, 7.0], [3.1, 48.0], [3.1, 48.1], [3.0, 48.0, 7.0]]]] }),
        json!({ "type": "GeometryCollection", "geometries": [
            { "type": "Point", "coordinates": [2.35, 48.85, 1.5] }, { "type": "Polygon", "coordinates": [ring] }] }),
        Value::Null,
    ];
    let features: Vec<_> = (1..)
        .zip(shapes)
        .map(|(id, geometry)| {
            let properties =
                json!({ "name": format!("Nº {id}"), "height": 1.5, "seen": true, "none": null });
            json!({ "type": "Feature", "id": id, "geometry": geometry, "properties": properties })
        })
        .collect();
    let file = json!({ "type": "FeatureCollection", "features": features });
    office.file("survey.geojson", file.to_string());
    let import = ["import", "layer", "survey.geojson", "--workspace", WORKSPACE];
    office.groma(&[&import[..], &["--folder", sample::FOLDER]].concat()).succeeds();
}

/// An endpoint for which a delivery waits, one that is disabled, one whose secret was replaced.
pub(crate) fn hooks(office: &Office, receiver: &Receiver) {
    let create = |path: &str| {
        let url = receiver.url(path);
        let create = ["webhook", "create", &url, "--workspace", WORKSPACE, "--json"];
        office.groma(&create).json()["id"].as_str().unwrap().to_owned()
    };
    create("/waiting");
    office.import("folders", &[json!({ "reference": "HOOKED", "name": "Hooked" })]);
    receiver.wait_for(1);
    let (disabled, rotated) = (create("/disabled"), create("/rotated"));
    let webhook = |words: &[&str]| {
        office.groma(&[&["webhook"], words, &["--workspace", WORKSPACE]].concat()).succeeds()
    };
    webhook(&["disable", &disabled, "--reason", "Being moved"]);
    webhook(&["rotate", &rotated]);
    webhook(&["disable", &rotated]);
}

/// Someone logs in, someone fails to, someone is invited; gives the cookie of the first.
pub(crate) fn visits(office: &Office) -> String {
    let owner = Browser::of_owner(office);
    let once = uuid::Uuid::now_v7().to_string();
    let fields = [("once", once.as_str()), ("role", "editor"), ("email", "")];
    let page = owner.send_form("/settings/members", "/settings/invitations", &fields);
    assert_eq!(page.answer.status, 200, "{}", page.text);
    let stranger = Browser::new(office.main());
    assert_eq!(stranger.log_in(OWNER, "a guess that is wrong").answer.status, 400);
    owner.cookie("groma").unwrap()
}

fn post(office: &Office, token: &str) -> Answer {
    let path = format!("{API}/geometries/geojson");
    let body = json!({ "type": "Point", "coordinates": [2.35, 48.85] }).to_string();
    let ask = office.geo().ask("POST", &path).token(token).body(body);
    ask.header("Content-Type", "application/geo+json").header("Idempotency-Key", "one").send()
}

/// What every route that reads answers: lists to their end, each record, terms, tiles, errors.
pub(crate) fn answers(office: &Office, token: &str) -> Vec<(String, u16, Vec<u8>)> {
    let mut told = Vec::new();
    let mut ask = |is_geo: bool, path: String| {
        let client = if is_geo { office.geo() } else { office.main() };
        let answer = client.ask("GET", &format!("{API}{path}")).token(token).send();
        told.push((path, answer.status, answer.body.clone()));
        answer
    };
    for list in ["/statuses", "/folders", "/assignments", "/expenses", "/budgets"] {
        let first = ask(false, format!("{list}?limit=100")).ok();
        let pages = first["pages"].as_u64().unwrap();
        for page in [2, 3, pages] {
            ask(false, format!("{list}?limit=100&page={page}"));
        }
        for term in ["chene", "a", "ss", "漢", "\" \\", "no such thing"] {
            ask(false, format!("{list}?term={}", encode(term)));
        }
        if list != "/statuses" {
            for record in first["content"].as_array().unwrap().iter().take(20) {
                for key in ["id", "reference"] {
                    ask(false, format!("{list}/{}", encode(record[key].as_str().unwrap())));
                }
            }
        }
        ask(false, format!("{list}/missing"));
    }
    for layer in ask(true, "/layers?limit=100".to_owned()).content() {
        let id = layer["id"].as_str().unwrap();
        let side = |index: usize| layer["bounds"][index].as_f64().unwrap_or_default();
        let (longitude, latitude) = ((side(0) + side(2)) / 2.0, (side(1) + side(3)) / 2.0);
        for z in [0, 6, 12, 14] {
            let (z, x, y) = crate::geo::tile_at(z, longitude, latitude);
            ask(true, format!("/layers/{id}/mvt/{z}/{x}/{y}"));
        }
    }
    told
}

/// Checks that two offices answer the same.
#[track_caller]
pub(crate) fn are_equal(one: &[(String, u16, Vec<u8>)], other: &[(String, u16, Vec<u8>)]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        assert_eq!((&one.0, one.1, text(&one.2)), (&other.0, other.1, text(&other.2)));
        assert_eq!(one.2, other.2, "{}", one.0);
    }
    let tiles = one.iter().filter(|(path, _, body)| path.contains("/mvt/") && !body.is_empty());
    assert!(tiles.count() > 0, "some tile shows something");
}
