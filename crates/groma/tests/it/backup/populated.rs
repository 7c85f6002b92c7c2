//! A server with rows in every table, and all its responses.

use super::sqlite_path;
use crate::{sample_records, web::Browser};
use groma_testkit::{
    API, Engine, Receiver, Response, TestServer, http::percent_encode, postgres, receiver::Reply,
    server::OWNER, server::WORKSPACE,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Allows local webhooks, encrypts secrets, fixes the public addresses, and sets a rate limit that no
/// test reaches.
pub(crate) const ENVIRONMENT: [(&str, &str); 10] = [
    ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
    ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
    (
        "GROMA_WEBHOOKS__ENCRYPTION_KEY",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
    ),
    ("GROMA_SERVER__PUBLIC_URL", "http://main.example.test"),
    ("GROMA_SERVER__GEO_PUBLIC_URL", "http://geo.example.test"),
    ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "100000"),
    // Nothing listens there, so mails wait.
    ("GROMA_SMTP__HOST", "127.0.0.1"),
    ("GROMA_SMTP__PORT", "1"),
    ("GROMA_SMTP__ENCRYPTION", "none"),
    ("GROMA_SMTP__FROM", "groma@example.test"),
];

pub(crate) struct PopulatedServer {
    pub(crate) server: TestServer,
    pub(crate) token: String,
    /// The owner's session cookie.
    pub(crate) cookie: String,
    /// Responds 500, so that a delivery waits.
    pub(crate) receiver: Receiver,
    /// The response to a POST with an idempotency key.
    posted: Response,
}

impl PopulatedServer {
    /// Starts and populates a server.
    pub(crate) fn open(engine: Engine) -> Self {
        let server = TestServer::start_with(engine, &ENVIRONMENT);
        add_records(&server, 70);
        add_layers(&server, 30_000);
        let token = server.create_full_token();
        let receiver = Receiver::with_handler(|_| Reply::status(500));
        let posted = post(&server, &token);
        assert_eq!(posted.header("idempotent-replayed"), None);
        add_webhooks(&server, &receiver);
        let cookie = add_sessions(&server);
        Self { server, token, cookie, receiver, posted }
    }

    /// Asserts that a server of a copy knows the token, the session, the idempotent response and the
    /// webhook secret.
    pub(crate) fn assert_known_to(&self, other: &TestServer) {
        let again = post(other, &self.token);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.text(), self.posted.text());
        let browser = Browser::new(other.main());
        browser.set_cookie("groma", &self.cookie);
        browser.page("/folders").shows(WORKSPACE);
        // It also reports that there is no mail server.
        let check = other.run(&["check", "--json"]).stdout;
        let check: Value = serde_json::from_str(&check).unwrap();
        let secrets = &check["webhookSecrets"];
        assert_eq!((&secrets["plain"], &secrets["unreadable"]), (&json!(0), &json!(0)), "{check}");
    }

    /// The responses of the API.
    pub(crate) fn responses(&self) -> Vec<(String, u16, Vec<u8>)> {
        responses(&self.server, &self.token)
    }
}

/// Creates records of each kind, an archived one, a deleted one, and more folders.
pub(crate) fn add_records(server: &TestServer, more: usize) {
    sample_records::fill(server);
    let named = ["Straße", "漢字 🦀", "it's \"x\" \\ 100 %"].map(|name| json!({ "name": name }));
    server.import("folders", &named);
    server.import("folders", &sample_records::many_folders(more));
    server.run(&["archive", "folder", "F-000003"]).expect_success();
    server.run(&["delete", "folder", "F-000005"]).expect_success();
}

/// Creates a layer with every geometry type, one with this number of vertices.
pub(crate) fn add_layers(server: &TestServer, vertices: u32) {
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
    server.write_file("survey.geojson", file.to_string());
    let import = ["import", "layer", "survey.geojson", "--workspace", WORKSPACE];
    server.run(&[&import[..], &["--folder", sample_records::FOLDER]].concat()).expect_success();
    let fields =
        json!([{ "name": "name", "type": "text" }, { "name": "height", "type": "number" }]);
    server.write_file("fields.json", fields.to_string());
    let declare =
        ["layer", "update", "survey", "--workspace", WORKSPACE, "--fields", "fields.json"];
    server.run(&declare).expect_success();
}

/// Creates an endpoint with a waiting delivery, a disabled one, and one with a replaced secret.
pub(crate) fn add_webhooks(server: &TestServer, receiver: &Receiver) {
    let create = |path: &str| {
        let url = receiver.url(path);
        let create = ["webhook", "create", &url, "--workspace", WORKSPACE, "--json"];
        server.run(&create).json()["id"].as_str().unwrap().to_owned()
    };
    create("/waiting");
    server.import("folders", &[json!({ "reference": "HOOKED", "name": "Hooked" })]);
    receiver.wait_for(1);
    let (disabled, rotated) = (create("/disabled"), create("/rotated"));
    let webhook = |words: &[&str]| {
        server.run(&[&["webhook"], words, &["--workspace", WORKSPACE]].concat()).expect_success()
    };
    webhook(&["disable", &disabled, "--reason", "Being moved"]);
    webhook(&["rotate", &rotated]);
    webhook(&["disable", &rotated]);
}

/// Creates a session, a saved view, a failed login, an invitation, a link that waits to be sent, and second
/// factors. Returns the session cookie.
pub(crate) fn add_sessions(server: &TestServer) -> String {
    let owner = Browser::of_owner(server);
    let view = [("name", "Late"), ("query", "?due=overdue"), ("shared", "1")];
    owner.submit("/folders", "/lists/folders/views", &view);
    let once = uuid::Uuid::now_v7().to_string();
    let fields = [("once", once.as_str()), ("role", "editor"), ("email", "crew@example.test")];
    owner.submit("/settings/members", "/settings/invitations", &fields);
    owner.submit("/account", "/account/verify-email", &[]);
    let stranger = Browser::new(server.main());
    assert_eq!(stranger.log_in(OWNER, "a guess that is wrong").response.status, 400);
    add_factors(server);
    owner.cookie("groma").unwrap()
}

/// Inserts second factors and an identity of a user who does not exist, so that no login asks for them.
fn add_factors(server: &TestServer) {
    let is_sqlite = server.database_url().starts_with("sqlite:");
    let id = uuid::Uuid::now_v7();
    let (user, bytes) = match is_sqlite {
        true => (format!("X'{}'", id.simple()), "X'00FF'"),
        false => (format!("'{id}'"), "'\\x00ff'"),
    };
    let rows = [
        format!(
            "identities VALUES ('https://login.example.test', 'é', {user}, 'a@b.test', 1, NULL)"
        ),
        format!("authenticator_apps VALUES ({user}, {bytes}, 57000000, 2)"),
        format!("passkeys VALUES ({user}, {user}, {bytes}, '{{}}', 'Laptop', 3, 4)"),
        format!("recovery_codes VALUES ({user}, {bytes})"),
        format!("pending_logins VALUES ({bytes}, 'passkey', NULL, '{{}}', 4102444800000)"),
    ];
    let statements: String = rows.iter().map(|row| format!("INSERT INTO {row};\n")).collect();
    if is_sqlite {
        let connection = rusqlite::Connection::open(sqlite_path(server)).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.execute_batch(&statements).unwrap();
    } else {
        postgres::execute(server.database_url(), &statements).unwrap();
    }
}

fn post(server: &TestServer, token: &str) -> Response {
    let path = format!("{API}/geometries/geojson");
    let body = json!({ "type": "Point", "coordinates": [2.35, 48.85] }).to_string();
    let request = server.geo().request("POST", &path).token(token).body(body);
    request.header("Content-Type", "application/geo+json").header("Idempotency-Key", "one").send()
}

/// The responses of every read route: all pages, records, searches, tiles and errors.
pub(crate) fn responses(server: &TestServer, token: &str) -> Vec<(String, u16, Vec<u8>)> {
    let mut responses = Vec::new();
    let mut request = |is_geo: bool, path: String| {
        let client = if is_geo { server.geo() } else { server.main() };
        let response = client.request("GET", &format!("{API}{path}")).token(token).send();
        responses.push((path, response.status, response.body.clone()));
        response
    };
    for list in ["/statuses", "/folders", "/assignments", "/expenses", "/budgets"] {
        let first = request(false, format!("{list}?limit=100")).ok();
        let pages = first["pages"].as_u64().unwrap();
        for page in [2, 3, pages] {
            request(false, format!("{list}?limit=100&page={page}"));
        }
        for term in ["chene", "a", "ss", "漢", "\" \\", "no such thing"] {
            request(false, format!("{list}?term={}", percent_encode(term)));
        }
        if list != "/statuses" {
            for record in first["content"].as_array().unwrap().iter().take(20) {
                for key in ["id", "reference"] {
                    request(
                        false,
                        format!("{list}/{}", percent_encode(record[key].as_str().unwrap())),
                    );
                }
            }
        }
        request(false, format!("{list}/missing"));
    }
    for layer in request(true, "/layers?limit=100".to_owned()).content() {
        let id = layer["id"].as_str().unwrap();
        let side = |index: usize| layer["bounds"][index].as_f64().unwrap_or_default();
        let (longitude, latitude) = ((side(0) + side(2)) / 2.0, (side(1) + side(3)) / 2.0);
        for z in [0, 6, 12, 14] {
            let (z, x, y) = crate::geo::tile_at(z, longitude, latitude);
            request(true, format!("/layers/{id}/mvt/{z}/{x}/{y}"));
        }
    }
    responses
}

/// Asserts that two servers give equal responses.
#[track_caller]
pub(crate) fn assert_equal_responses(
    one: &[(String, u16, Vec<u8>)],
    other: &[(String, u16, Vec<u8>)],
) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        assert_eq!((&one.0, one.1, text(&one.2)), (&other.0, other.1, text(&other.2)));
        assert_eq!(one.2, other.2, "{}", one.0);
    }
    let tiles = one.iter().filter(|(path, _, body)| path.contains("/mvt/") && !body.is_empty());
    assert!(tiles.count() > 0, "at least one tile has features");
}
