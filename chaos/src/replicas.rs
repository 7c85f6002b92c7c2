//! Three replicas on one PostgreSQL.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    ledger::Ledger,
    load::Load,
    login::log_in,
    report::{ScenarioResult, format_time},
};
use groma_testkit::{
    Engine, ServerProcess,
    http::Request,
    postgres,
    server::{OWNER, PASSWORD, RATE_LIMIT},
    wait::retry,
};
use serde_json::json;
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

const ENGINE: &str = "PostgreSQL, three replicas";
/// A revoked token or session is rejected everywhere within this time.
const REVOCATION_TIME: Duration = Duration::from_secs(1);

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let (fixture, migrated) = migrate_concurrently(scale.pick(1, 5)).await?;
    let rate = share_rate_limit(&fixture, scale.pick(1, 5)).await?;
    let tiles = update_tiles(&fixture, scale.pick(10, 60)).await?;
    let revoked = revoke(&fixture, scale.pick(2, 10)).await?;
    drop(fixture);
    let killed = kill_one(scale.pick(1, 3), scale.pick(400, 800)).await?;
    Ok(vec![migrated, rate, tiles, revoked, killed])
}

async fn three(fixture: &Fixture) -> Result<[ServerProcess; 3]> {
    let (one, two, three) = tokio::join!(fixture.serve(), fixture.serve(), fixture.serve());
    Ok([one?, two?, three?])
}

/// All replicas start at once on an empty database.
async fn migrate_concurrently(rounds: u64) -> Result<(Fixture, ScenarioResult)> {
    let mut last = None;
    for _ in 0..rounds {
        let mut fixture = Fixture::empty(Engine::Postgres);
        let servers = three(&fixture).await?;
        fixture.populate();
        for server in &servers {
            let response =
                Request::get("/folders", fixture.token()).send(server.main().address()).await?;
            ensure(response.status == 200, || response.text())?;
        }
        let twice = "SELECT count(*) - count(DISTINCT version) FROM refinery_schema_history";
        let twice = postgres::query_number(fixture.database_url(), twice)?;
        ensure(twice == 0, || format!("{twice} migrations ran twice"))?;
        let count = "SELECT count(*) FROM refinery_schema_history";
        last = Some((postgres::query_number(fixture.database_url(), count)?, fixture));
    }
    let (count, fixture) = last.ok_or("no rounds")?;
    let result = ScenarioResult {
        acknowledged: rounds * 3,
        details: format!("{count} migrations, each run once; all replicas serve"),
        ..ScenarioResult::new("three replicas start at once on an empty database", &ENGINE, rounds)
    };
    Ok((fixture, result))
}

/// Concurrent requests over all replicas: exactly the limit passes.
async fn share_rate_limit(fixture: &Fixture, rounds: u64) -> Result<ScenarioResult> {
    const REQUESTS: usize = 240;
    let limited = [(RATE_LIMIT, "100")];
    let (one, two, three) = tokio::join!(
        fixture.serve_with(&limited),
        fixture.serve_with(&limited),
        fixture.serve_with(&limited)
    );
    let servers = [one?, two?, three?];
    for _ in 0..rounds {
        let token = fixture.new_token();
        let requests: Vec<_> = (0..REQUESTS)
            .map(|n| {
                let (address, token) = (servers[n % 3].main().address(), token.clone());
                tokio::spawn(async move { Request::get("/folders", &token).send(address).await })
            })
            .collect();
        let (mut passed, mut rejected) = (0, 0);
        for request in requests {
            match request.await??.status {
                200 => passed += 1,
                429 => rejected += 1,
                status => return Err(format!("got {status}").into()),
            }
        }
        ensure((passed, rejected) == (100, REQUESTS - 100), || {
            format!("{passed} of {REQUESTS} requests passed instead of 100")
        })?;
    }
    Ok(ScenarioResult {
        acknowledged: rounds * 100,
        details: format!("of {REQUESTS} concurrent requests over all replicas exactly 100 passed"),
        ..ScenarioResult::new("a token is used at all replicas at once", &ENGINE, rounds)
    })
}

/// After a post to one replica, the next tile of every replica has the new geometry.
async fn update_tiles(fixture: &Fixture, rounds: u64) -> Result<ScenarioResult> {
    let servers = three(fixture).await?;
    let mut before = Vec::new();
    for round in 0..rounds {
        // All points are in the tile 14/8283/8191.
        let at = [2.001 + round as f64 * 0.000_2, 0.001];
        let point = json!({ "type": "Point", "coordinates": at });
        let by = servers[round as usize % 3].geo().address();
        let posted = Request::post("/geometries/geojson", fixture.token(), &point).send(by).await?;
        let layer = posted.json()["layerId"].as_str().ok_or_else(|| posted.text())?.to_owned();
        let tile = Request::get(&format!("/layers/{layer}/mvt/14/8283/8191"), fixture.token());
        let mut tiles = Vec::new();
        for server in &servers {
            tiles.push(tile.send(server.geo().address()).await?.body);
        }
        ensure(tiles[0].len() > before.len(), || "a tile has not changed".to_owned())?;
        ensure(tiles.iter().all(|tile| *tile == tiles[0]), || "two tiles differ".to_owned())?;
        before = tiles.swap_remove(0);
    }
    Ok(ScenarioResult {
        acknowledged: rounds,
        details: "the next tile of each replica had the new geometry, with identical bytes".into(),
        ..ScenarioResult::new("a geometry is posted to one replica", &ENGINE, rounds)
    })
}

/// Revoked tokens and sessions are rejected by all replicas.
async fn revoke(fixture: &Fixture, rounds: u64) -> Result<ScenarioResult> {
    let servers = three(fixture).await?;
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        let token = fixture.new_token();
        let authorized = Request::get("/folders", &token);
        let cookies = log_in(servers[0].main().address(), OWNER, &password(round)).await?;
        let logged_in = Request::new("GET", "/folders").header("Cookie", &cookies);
        for server in &servers {
            ensure(authorized.send(server.main().address()).await?.status == 200, || {
                "the token was rejected".to_owned()
            })?;
            ensure(logged_in.send(server.main().address()).await?.status == 200, || {
                "the session was rejected".to_owned()
            })?;
        }
        fixture.revoke_newest_token()?;
        slowest = slowest.max(wait_for_status(&servers, &authorized, 401).await?);
        fixture.set_password(&password(round + 1));
        slowest = slowest.max(wait_for_status(&servers, &logged_in, 303).await?);
    }
    Ok(ScenarioResult {
        acknowledged: rounds * 6,
        recovery: Some(slowest),
        details: format!("rejected by all replicas within {}", format_time(slowest)),
        ..ScenarioResult::new("a token is revoked, a password is changed", &ENGINE, rounds * 2)
    })
}

fn password(round: u64) -> String {
    let first = PASSWORD.trim_end();
    if round == 0 { first.to_owned() } else { format!("{first}, number {round}") }
}

/// Waits until all replicas respond with this status, and returns the time.
async fn wait_for_status(
    servers: &[ServerProcess],
    request: &Request,
    status: u16,
) -> Result<Duration> {
    let start = Instant::now();
    for server in servers {
        retry(REVOCATION_TIME, async || {
            let status_now = request.send(server.main().address()).await?.status;
            ensure(status_now == status, || format!("got {status_now}"))
        })
        .await?;
    }
    Ok(start.elapsed())
}

/// Kills a replica during deliveries; the others take over its leased deliveries.
async fn kill_one(rounds: u64, writes: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(Engine::Postgres);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let mut servers = Vec::from(three(&fixture).await?);
    let geo =
        |servers: &[ServerProcess]| servers.iter().map(|p| p.geo().address()).collect::<Vec<_>>();
    let load = Load::start(&ledger, fixture.token(), &geo(&servers));
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), writes).await?;
        for server in &servers {
            let attempts = attempts(server.admin().address()).await?;
            ensure(attempts > 0, || "a replica delivered nothing".to_owned())?;
        }
        drop(servers.remove(0));
        load.point_to(&geo(&servers));
        ledger.wait_for(ledger.acknowledged(), writes).await?;
        servers.push(fixture.serve().await?);
        load.point_to(&geo(&servers));
    }
    load.stop().await;
    let start = Instant::now();
    let verified = ledger.verify(&fixture, &servers[0], &receiver).await?;
    let recovery = start.elapsed();
    ensure(verified.repeats * 100 < verified.delivered, || {
        format!("{} repeats of {} deliveries", verified.repeats, verified.delivered)
    })?;
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, verified.delivered)),
        recovery: Some(recovery),
        details: "all replicas delivered; deliveries leased by the killed one were sent after the lease expired"
            .into(),
        ..ScenarioResult::new("a replica is killed during deliveries", &ENGINE, rounds)
    })
}

/// The number of delivery attempts of a replica.
async fn attempts(admin: SocketAddr) -> Result<u64> {
    let metrics = Request::new("GET", "/metrics").send(admin).await?.text();
    let counted = metrics.lines().filter(|line| line.starts_with("groma_webhook_attempts_total{"));
    Ok(counted.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
}
