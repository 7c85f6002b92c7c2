//! Rights that end while requests are half sent: the requests are refused when they are complete, and
//! nothing is written.

use crate::{
    Result, Scale, ensure,
    fixture::Fixture,
    login::{form_token, log_in},
    report::ScenarioResult,
};
use groma_testkit::{
    API, Engine, Response, ServerProcess,
    http::{Request, percent_encode},
    server::{OWNER, PASSWORD},
    wait::retry,
};
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(60);
const POINT: &str = r#"{"type":"Point","coordinates":[2.35,48.85]}"#;

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let rounds = scale.pick(2, 20);
    let (one, three) = (check(Engine::Sqlite, 1, rounds), check(Engine::Postgres, 3, rounds));
    Ok(vec![one.await?, three.await?])
}

/// A request of which the head and half of the body are sent.
struct HalfSent {
    what: &'static str,
    stream: TcpStream,
    rest: Vec<u8>,
}

impl HalfSent {
    fn start(
        what: &'static str,
        address: SocketAddr,
        request: &Request,
        body: &str,
    ) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (sent, rest) = body.as_bytes().split_at(body.len() / 2);
        let head = request.clone().body(body).head();
        stream.write_all(&[head.as_bytes(), sent].concat())?;
        Ok(Self { what, stream, rest: rest.to_vec() })
    }

    /// Sends the rest and returns the status.
    async fn finish(mut self) -> Result<u16> {
        let finish = move || -> Result<u16> {
            self.stream.write_all(&self.rest)?;
            let Response { status, .. } = Response::read(&mut BufReader::new(self.stream));
            Ok(status)
        };
        tokio::task::spawn_blocking(finish).await?
    }
}

/// Half-sent requests to the replicas: each kind of request to each of them.
struct Requests {
    of_token: Vec<HalfSent>,
    of_session: Vec<HalfSent>,
}

impl Requests {
    async fn start(servers: &[ServerProcess], token: &str, cookies: &str) -> Result<Self> {
        let (mut of_token, mut of_session) = (Vec::new(), Vec::new());
        for server in servers {
            let (main, geo) = (server.main().address(), server.geo().address());
            let post = json_request("/geometries/geojson", token);
            of_token.push(HalfSent::start("upload", geo, &post, POINT)?);
            let endpoint = json!({ "url": "https://hooks.example/groma", "events": ["*"] });
            let create = json_request("/webhooks/endpoints", token);
            of_token.push(HalfSent::start("webhook", main, &create, &endpoint.to_string())?);
            let page = Request::new("GET", "/folders/new").header("Cookie", cookies);
            let form = form_token(&page.send(main).await?.text())?;
            let body = format!("_csrf={}&name=Secret+folder", percent_encode(&form));
            let save = Request::new("POST", "/folders/new")
                .header("Cookie", cookies)
                .header("Origin", "http://test")
                .header("Content-Type", "application/x-www-form-urlencoded");
            of_session.push(HalfSent::start("form", main, &save, &body)?);
        }
        for server in servers {
            wait_until_received(server, 3).await?;
        }
        Ok(Self { of_token, of_session })
    }

    /// Sends the rest of all requests, and checks their statuses by what they do.
    async fn finish(self, expected: impl Fn(&str) -> u16) -> Result<u64> {
        let mut count = 0;
        for request in self.of_token.into_iter().chain(self.of_session) {
            let what = request.what;
            let status = request.finish().await?;
            ensure(status == expected(what), || format!("{what}: got {status}"))?;
            count += 1;
        }
        Ok(count)
    }
}

fn json_request(path: &str, token: &str) -> Request {
    let request = Request::new("POST", &format!("{API}{path}")).token(token);
    request.header("Content-Type", "application/json")
}

/// Waits until a server has so many requests that it reads the bodies of.
async fn wait_until_received(server: &ServerProcess, count: u64) -> Result {
    let expected = format!("groma_requests_in_progress {count}\n");
    retry(PATIENCE, async || {
        let metrics = Request::new("GET", "/metrics").send(server.admin().address()).await?.text();
        ensure(metrics.contains(&expected), || "requests have not arrived".to_owned())
    })
    .await
}

/// The features, folders and endpoints of the workspace.
async fn counts(fixture: &Fixture, server: &ServerProcess) -> Result<[u64; 3]> {
    let token = fixture.token();
    let layers = Request::get("/layers", token).send(server.geo().address()).await?.json();
    let layers = layers["content"].as_array().cloned().unwrap_or_default();
    let features = layers.iter().filter_map(|layer| layer["featureCount"].as_u64()).sum();
    let folders = Request::get("/folders?limit=1", token).send(server.main().address()).await?;
    let folders = folders.json()["total"].as_u64().ok_or("no total")?;
    let endpoints: Vec<Value> =
        serde_json::from_str(&fixture.run_in_workspace(&["webhook", "list", "--json"])?)?;
    Ok([features, folders, endpoints.len() as u64])
}

async fn check(engine: Engine, replicas: usize, rounds: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let mut servers = Vec::new();
    for _ in 0..replicas {
        servers.push(fixture.serve().await?);
    }
    let (main, password) = (servers[0].main().address(), PASSWORD.trim_end());
    let before = counts(&fixture, &servers[0]).await?;
    // With rights that do not end, the same requests succeed.
    let cookies = log_in(main, OWNER, password).await?;
    let requests = Requests::start(&servers, fixture.token(), &cookies).await?;
    let success = |what: &str| match what {
        "upload" | "webhook" => 200,
        _ => 303,
    };
    let written = requests.finish(success).await?;
    let expected = before.map(|count| count + replicas as u64);
    let mut refused = 0;
    for round in 0..rounds {
        let now = counts(&fixture, &servers[0]).await?;
        ensure(now == expected, || format!("{now:?} instead of {expected:?} before {round}"))?;
        let token = fixture.new_token();
        let cookies = log_in(main, OWNER, password).await?;
        let requests = Requests::start(&servers, &token, &cookies).await?;
        fixture.revoke_newest_token()?;
        // Ends all sessions.
        fixture.set_password(password);
        refused += requests.finish(|_| 401).await?;
    }
    let now = counts(&fixture, &servers[0]).await?;
    ensure(now == expected, || format!("{now:?} instead of {expected:?} at the end"))?;
    fixture.check_database()?;
    let engine = match replicas {
        1 => engine.to_string(),
        _ => format!("{engine}, three replicas"),
    };
    Ok(ScenarioResult {
        acknowledged: written,
        details: format!(
            "{refused} uploads, webhook creations and forms were refused with 401 when they were \
             complete; nothing of them was written"
        ),
        ..ScenarioResult::new("rights end while requests are half sent", &engine, rounds)
    })
}
