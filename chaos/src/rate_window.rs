//! The rate window in real time: a request passes exactly when `Retry-After` says.

use crate::{Result, Scale, ensure, fixture::Fixture, report::ScenarioResult};
use groma_testkit::{Engine, Response, http::Request, server::RATE_LIMIT};
use std::time::{Duration, Instant};

const FAULT: &str = "rate limit reached";
const LIMIT: u64 = 3;

pub(crate) async fn run(_: Scale) -> Result<Vec<ScenarioResult>> {
    let (sqlite, postgres) =
        tokio::join!(wait_for_window(Engine::Sqlite), wait_for_window(Engine::Postgres));
    Ok(vec![sqlite?, postgres?])
}

async fn wait_for_window(engine: Engine) -> Result<ScenarioResult> {
    let mut fixture = Fixture::new(engine);
    fixture.set_env(RATE_LIMIT, &LIMIT.to_string());
    let server = fixture.serve().await?;
    let request = Request::get("/folders", &fixture.new_token());
    let send = async || request.send(server.main().address()).await;
    let start = Instant::now();
    for _ in 0..LIMIT {
        let response = send().await?;
        ensure(response.status == 200, || response.text())?;
    }
    let rejected = send().await?;
    let received = Instant::now();
    ensure(rejected.status == 429, || format!("one request too many got {}", rejected.status))?;
    let wait = Duration::from_secs(retry_after(&rejected)?);
    ensure(wait <= Duration::from_secs(60), || format!("Retry-After is {wait:?}"))?;
    // The window is exact, so a second less is too early.
    tokio::time::sleep_until((received + wait - Duration::from_millis(1_500)).into()).await;
    if start.elapsed() < Duration::from_millis(59_900) {
        let early = send().await?;
        ensure(early.status == 429, || format!("an early request got {}", early.status))?;
    }
    tokio::time::sleep_until((received + wait).into()).await;
    let response = send().await?;
    ensure(response.status == 200, || response.text())?;
    Ok(ScenarioResult {
        acknowledged: LIMIT + 1,
        details: format!("the next request passed after {} s, and none before", wait.as_secs()),
        ..ScenarioResult::new(FAULT, &engine, 1)
    })
}

fn retry_after(response: &Response) -> Result<u64> {
    Ok(response.header("retry-after").ok_or("no Retry-After")?.parse()?)
}
