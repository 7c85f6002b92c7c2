//! Three programs on one PostgreSQL.

use crate::{
    Outcome, Scale, ensure,
    http::{Answer, Ask},
    ledger::Ledger,
    load::Load,
    office::{self, Engine, OWNER, Office, PASSWORD, Program, RATE},
    receiver::{Manner, Receiver},
    report::{Proof, seconds},
    wait_until,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

const ON: &str = "PostgreSQL, three replicas";
/// Within this, what was revoked is refused everywhere.
const A_SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let (office, migrated) = migrate_together(scale.pick(1, 5)).await?;
    let rate = share_the_rate(&office, scale.pick(1, 5)).await?;
    let tiles = draw_anew(&office, scale.pick(10, 60)).await?;
    let revoked = revoke(&office, scale.pick(2, 10)).await?;
    drop(office);
    let killed = kill_one(scale.pick(1, 3), scale.pick(400, 800)).await?;
    Ok(vec![migrated, rate, tiles, revoked, killed])
}

async fn three(office: &Office) -> Outcome<[Program; 3]> {
    let (one, two, three) = tokio::join!(office.serve(), office.serve(), office.serve());
    Ok([one?, two?, three?])
}

/// All start at once on a database with nothing in it.
async fn migrate_together(rounds: u64) -> Outcome<(Office, Proof)> {
    let mut last = None;
    for _ in 0..rounds {
        let mut office = Office::empty(Engine::Postgres).await?;
        let programs = three(&office).await?;
        office.found()?;
        for program in &programs {
            let answer = Ask::get("/folders", office.token()).send(program.main).await?;
            ensure(answer.status == 200, || answer.text())?;
        }
        let twice = "SELECT count(*) - count(DISTINCT version) FROM refinery_schema_history";
        let twice = office::number(office.database(), twice).await?;
        ensure(twice == 0, || format!("{twice} migrations ran twice"))?;
        let count = "SELECT count(*) FROM refinery_schema_history";
        last = Some((office::number(office.database(), count).await?, office));
    }
    let (count, office) = last.ok_or("no round")?;
    let proof = Proof {
        acknowledged: rounds * 3,
        seen: format!("{count} migrations, each once; all three serve"),
        ..Proof::new("three programs start at once on an empty database", &ON, rounds)
    };
    Ok((office, proof))
}

/// Many requests at once, spread over all: exactly as many pass as may.
async fn share_the_rate(office: &Office, rounds: u64) -> Outcome<Proof> {
    const REQUESTS: usize = 240;
    let limited = [(RATE, "100")];
    let (one, two, three) = tokio::join!(
        office.serve_with(&limited),
        office.serve_with(&limited),
        office.serve_with(&limited)
    );
    let programs = [one?, two?, three?];
    for _ in 0..rounds {
        let token = office.new_token()?;
        let requests: Vec<_> = (0..REQUESTS)
            .map(|n| {
                let (address, token) = (programs[n % 3].main, token.clone());
                tokio::spawn(async move { Ask::get("/folders", &token).send(address).await })
            })
            .collect();
        let (mut passed, mut refused) = (0, 0);
        for request in requests {
            match request.await??.status {
                200 => passed += 1,
                429 => refused += 1,
                status => return Err(format!("answered {status}").into()),
            }
        }
        ensure((passed, refused) == (100, REQUESTS - 100), || {
            format!("{passed} of {REQUESTS} passed, where 100 may")
        })?;
    }
    Ok(Proof {
        acknowledged: rounds * 100,
        seen: format!("of {REQUESTS} concurrent requests over all three exactly 100 passed"),
        ..Proof::new("a token is used at all replicas at once", &ON, rounds)
    })
}

/// A shape goes in by one; the next request to any of them shows it.
async fn draw_anew(office: &Office, rounds: u64) -> Outcome<Proof> {
    let programs = three(office).await?;
    let mut before = Vec::new();
    for round in 0..rounds {
        // All in the tile 14/8283/8191.
        let at = [2.001 + round as f64 * 0.000_2, 0.001];
        let point = json!({ "type": "Point", "coordinates": at });
        let by = programs[round as usize % 3].geo;
        let posted = Ask::post("/geometries/geojson", office.token(), &point).send(by).await?;
        let layer = posted.json()["layerId"].as_str().ok_or_else(|| posted.text())?.to_owned();
        let tile = Ask::get(&format!("/layers/{layer}/mvt/14/8283/8191"), office.token());
        let mut drawn = Vec::new();
        for program in &programs {
            drawn.push(tile.send(program.geo).await?.body);
        }
        ensure(drawn[0].len() > before.len(), || "a tile is as it was before".to_owned())?;
        ensure(drawn.iter().all(|tile| *tile == drawn[0]), || "two tiles differ".to_owned())?;
        before = drawn.swap_remove(0);
    }
    Ok(Proof {
        acknowledged: rounds,
        seen: "the next request at each of the three had the new shape, in the same bytes".into(),
        ..Proof::new("a shape is posted to one replica", &ON, rounds)
    })
}

/// Tokens and sessions end everywhere.
async fn revoke(office: &Office, rounds: u64) -> Outcome<Proof> {
    let programs = three(office).await?;
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        let token = office.new_token()?;
        let asked = Ask::get("/folders", &token);
        let cookies = log_in(programs[0].main, round).await?;
        let looked = Ask::new("GET", "/folders").header("Cookie", &cookies);
        for program in &programs {
            ensure(asked.send(program.main).await?.status == 200, || "a token".to_owned())?;
            ensure(looked.send(program.main).await?.status == 200, || "a session".to_owned())?;
        }
        let listed: Vec<Value> =
            serde_json::from_str(&office.groma(&["token", "list", "--json"])?)?;
        let id = |token: &Value| token["id"].as_str().map(str::to_owned);
        // Ids are in the order of creation.
        let newest = listed.iter().filter_map(id).max().ok_or("no token")?;
        office.groma(&["token", "revoke", &newest])?;
        slowest = slowest.max(ends(&programs, &asked, 401).await?);
        let password = format!("{}\n", password(round + 1));
        office.groma_with(&password, &["user", "password", OWNER])?;
        slowest = slowest.max(ends(&programs, &looked, 303).await?);
    }
    Ok(Proof {
        acknowledged: rounds * 6,
        recovery: Some(slowest),
        seen: format!("refused at all three within {}", seconds(slowest)),
        ..Proof::new("a token is revoked, a password changed", &ON, rounds * 2)
    })
}

fn password(round: u64) -> String {
    if round == 0 { PASSWORD.to_owned() } else { format!("{PASSWORD}, number {round}") }
}

/// Waits until all answer with this status; gives how long it took.
async fn ends(programs: &[Program], ask: &Ask, status: u16) -> Outcome<Duration> {
    let begun = Instant::now();
    for program in programs {
        wait_until(A_SECOND, async || {
            let seen = ask.send(program.main).await?.status;
            ensure(seen == status, || format!("answered {seen}"))
        })
        .await?;
    }
    Ok(begun.elapsed())
}

/// Logs the owner in; gives the cookies.
async fn log_in(main: SocketAddr, round: u64) -> Outcome<String> {
    let page = Ask::new("GET", "/login").send(main).await?;
    let text = page.text();
    let token = text.split("name=\"csrf\" content=\"").nth(1).and_then(|t| t.split('"').next());
    let token = token.ok_or("no form")?;
    let mut cookies = BTreeMap::new();
    let mut keep = |answer: &Answer| {
        let pairs = answer.headers("set-cookie").filter_map(|cookie| cookie.split(';').next());
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        cookies.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    };
    let kept = keep(&page);
    let form = [("_csrf", token), ("email", OWNER), ("password", &password(round))]
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .join("&");
    let logged_in = Ask::new("POST", "/login")
        .header("Cookie", &kept)
        .header("Origin", "http://chaos")
        .body("application/x-www-form-urlencoded", form)
        .send(main)
        .await?;
    ensure(logged_in.status == 303, || format!("login: {}", logged_in.text()))?;
    Ok(keep(&logged_in))
}

/// Percent-encodes all but letters and digits.
fn encode(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// One is killed amid deliveries; the others take over what it had leased.
async fn kill_one(rounds: u64, writes: u64) -> Outcome<Proof> {
    let office = Office::open(Engine::Postgres).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let mut programs = Vec::from(three(&office).await?);
    let geo = |programs: &[Program]| programs.iter().map(|p| p.geo).collect::<Vec<_>>();
    let load = Load::start(&ledger, office.token(), &geo(&programs));
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), writes).await?;
        for program in &programs {
            let attempts = attempts(program.admin).await?;
            ensure(attempts > 0, || "a replica delivers nothing".to_owned())?;
        }
        programs.remove(0).kill()?;
        load.point_to(&geo(&programs));
        ledger.wait_for(ledger.acknowledged(), writes).await?;
        programs.push(office.serve().await?);
        load.point_to(&geo(&programs));
    }
    load.stop().await;
    let begun = Instant::now();
    let settled = ledger.settle(&office, &programs[0], &receiver).await?;
    let recovery = begun.elapsed();
    ensure(settled.repeats * 100 < settled.delivered, || {
        format!("{} repeats of {} deliveries", settled.repeats, settled.delivered)
    })?;
    Ok(Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, settled.delivered)),
        recovery: Some(recovery),
        seen: "all three delivered; what the killed one had leased went out when the lease ended"
            .into(),
        ..Proof::new("a replica killed amid deliveries", &ON, rounds)
    })
}

/// How many attempts a program has made.
async fn attempts(admin: SocketAddr) -> Outcome<u64> {
    let metrics = Ask::new("GET", "/metrics").send(admin).await?.text();
    let counted = metrics.lines().filter(|line| line.starts_with("groma_webhook_attempts_total{"));
    Ok(counted.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
}
