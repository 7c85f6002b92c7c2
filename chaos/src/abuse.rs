//! Clients that occupy as much as they can: half-sent forms, stalled uploads, a flood of logins.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    ledger::feature,
    login::{LoginForm, log_in, log_in_again},
    report::{ScenarioResult, format_time},
};
use groma_testkit::{
    Engine, ServerProcess,
    http::{Connection, Request},
    server::{OWNER, PASSWORD},
    wait::retry,
};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet};

const MB: u64 = 1 << 20;
/// The memory that half-sent forms can take in all.
const FORM_MEMORY: u64 = 50 * MB;
/// Lets the clients of a scenario have many addresses.
const PROXY: (&str, &str) = ("GROMA_SERVER__TRUSTED_PROXIES", "127.0.0.1");
/// Latencies below this are not compared: a busy machine has them without any abuse.
const UNREMARKABLE: Duration = Duration::from_millis(100);
/// How much longer others may take, compared with the same run without abuse.
const MAX_RATIO: f64 = 2.0;
/// How long 99 of 100 pages may take during a flood of logins, if the machine is not slow by itself.
const PAGE_TIME: Duration = Duration::from_millis(200);
const LOGINS_PER_SECOND: u32 = 500;
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let mut results = vec![half_sent_forms(2_000).await?];
    for engine in Engine::ALL {
        results.push(stalled_uploads(engine, 1_000, scale).await?);
    }
    for engine in Engine::ALL {
        results.push(login_flood(engine, scale).await?);
    }
    Ok(results)
}

/// The address of a client behind the proxy.
fn address(n: u64) -> String {
    format!("198.18.{}.{}", n / 256 % 256, n % 256)
}

/// Forms of strangers that never become complete.
async fn half_sent_forms(count: u64) -> Result<ScenarioResult> {
    let engine = Engine::Sqlite;
    let fixture = Fixture::new(engine);
    let server = fixture.serve_with(&[PROXY]).await?;
    let main = server.main().address();
    let form = LoginForm::open(main).await?;
    let before = server.memory("RssAnon")?;
    let mut forms = Vec::new();
    for n in 0..count {
        let request = form.submit(&format!("stranger{n}@example.test"), &"x".repeat(200));
        let request = request.header("X-Forwarded-For", address(n));
        let mut stream = TcpStream::connect(main).await?;
        stream.write_all(format!("{}_csrf=", request.head()).as_bytes()).await?;
        forms.push(stream);
    }
    let (mut peak, mut waiting) = (0, 0);
    retry(PATIENCE, async || {
        peak = server.memory("RssAnon")?.max(peak);
        let metrics = Request::new("GET", "/metrics").send(server.admin().address()).await?.text();
        waiting = sum(&metrics, |line| line.starts_with("groma_requests_in_progress "));
        let rejected = sum(&metrics, |line| {
            line.starts_with("groma_requests_total{") && line.contains("status=\"429\"")
        });
        ensure(waiting + rejected >= count, || format!("{waiting} waiting, {rejected} rejected"))
    })
    .await?;
    let growth = peak.saturating_sub(before);
    ensure(growth < FORM_MEMORY, || format!("half-sent forms took {} MB", growth / MB))?;
    let start = Instant::now();
    log_in(main, OWNER, PASSWORD.trim_end()).await?;
    Ok(ScenarioResult {
        acknowledged: 1,
        details: format!(
            "memory grew by {} MB; {waiting} forms were waited for, the others rejected with 429; a \
             login took {}",
            growth / MB,
            format_time(start.elapsed())
        ),
        ..ScenarioResult::new("half-sent login forms", &engine, count)
    })
}

/// The sum of the values of metrics.
fn sum(metrics: &str, is_counted: impl Fn(&str) -> bool) -> u64 {
    let values = metrics.lines().filter(|line| is_counted(line));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// The median times of what other clients do.
struct Latencies {
    post: Duration,
    login: Duration,
    delivery: Duration,
}

impl Latencies {
    async fn measure(
        server: &ServerProcess,
        token: &str,
        receiver: &EventReceiver,
        (first, rounds): (u64, u64),
    ) -> Result<Self> {
        let (mut posts, mut deliveries, mut logins) = (Vec::new(), Vec::new(), Vec::new());
        for n in first..first + rounds {
            let request = Request::post("/geometries/geojson?folder=F0", token, &feature(0, n));
            let (received, _) = receiver.counts();
            let start = Instant::now();
            let response = request.send(server.geo().address()).await?;
            ensure(response.status == 200, || response.text())?;
            posts.push(start.elapsed());
            retry(PATIENCE, async || {
                ensure(receiver.counts().0 > received, || "no delivery".to_owned())
            })
            .await?;
            deliveries.push(start.elapsed());
            let start = Instant::now();
            log_in(server.main().address(), OWNER, PASSWORD.trim_end()).await?;
            logins.push(start.elapsed());
        }
        Ok(Self {
            post: percentile(posts, 50),
            login: percentile(logins, 50),
            delivery: percentile(deliveries, 50),
        })
    }

    fn pairs(&self) -> [(&'static str, Duration); 3] {
        [("a post", self.post), ("a login", self.login), ("a delivery", self.delivery)]
    }
}

fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(index).copied().unwrap_or_default()
}

/// Uploads of one token that never become complete, while other clients work.
async fn stalled_uploads(engine: Engine, count: u64, scale: Scale) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let (hostile, other) = (fixture.new_token(), fixture.token());
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let server = fixture.serve().await?;
    let rounds = scale.pick(8, 40);
    // The first requests open connections to the database.
    Latencies::measure(&server, other, &receiver, (0, 3)).await?;
    let usual = Latencies::measure(&server, other, &receiver, (3, rounds)).await?;
    let body = "x".repeat(1 << 20);
    let head = Request::post("/geometries/geojson", &hostile, &body.into()).head();
    let mut uploads = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(server.geo().address()).await?;
        stream.write_all(format!("{head}\"{}", "x".repeat(1 << 10)).as_bytes()).await?;
        uploads.push(stream);
    }
    let abused = Latencies::measure(&server, other, &receiver, (3 + rounds, rounds)).await?;
    drop(uploads);
    // Other programs on this machine may have become busier since the first measurement.
    let later = Latencies::measure(&server, other, &receiver, (3 + 2 * rounds, rounds)).await?;
    let usual = usual.pairs().into_iter().zip(later.pairs()).map(|(a, b)| (a.0, a.1.max(b.1)));
    // In a short run, other scenarios use the machine at the same time.
    let max_ratio = MAX_RATIO * scale.pick(2.0, 1.0);
    let mut details = Vec::new();
    for ((what, usual), (_, abused)) in usual.zip(abused.pairs()) {
        let ratio = abused.as_secs_f64() / usual.as_secs_f64().max(1e-6);
        let text = format!("{what} took {} instead of {}", format_time(abused), format_time(usual));
        ensure(ratio < max_ratio || abused < UNREMARKABLE, || text.clone())?;
        details.push(format!("{text} ({ratio:.1} times)"));
    }
    Ok(ScenarioResult {
        acknowledged: 3 * rounds,
        details: details.join(", "),
        ..ScenarioResult::new("stalled uploads of one token", &engine, count)
    })
}

/// Wrong logins for many accounts from many addresses, while members open pages.
async fn login_flood(engine: Engine, scale: Scale) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let server = fixture.serve_with(&[PROXY]).await?;
    let main = server.main().address();
    let cookies = log_in(main, OWNER, PASSWORD.trim_end()).await?;
    let form = LoginForm::open(main).await?;
    let usual = page_times(main, &cookies, scale.pick(50, 300)).await?;
    let rejected = Arc::new(AtomicU64::new(0));
    let seconds = scale.pick(3, 15);
    let flood = async {
        let mut requests = JoinSet::new();
        let mut clock = tokio::time::interval(Duration::from_secs(1) / LOGINS_PER_SECOND);
        for n in 0..u64::from(LOGINS_PER_SECOND) * seconds {
            clock.tick().await;
            let request = form.submit(&format!("stranger{n}@example.test"), "a wrong password");
            let request = request.header("X-Forwarded-For", address(n));
            let rejected = rejected.clone();
            requests.spawn(async move {
                if request.send(main).await.is_ok_and(|response| response.status == 429) {
                    rejected.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        requests
    };
    let mut flood = std::pin::pin!(flood);
    let (mut pages, mut times) = (Connection::open(main).await?, Vec::new());
    // A browser that the account has logged in with before is not kept out.
    let (known, others_rejected) = (cookies.clone(), rejected.clone());
    let known_login = tokio::spawn(async move {
        let one_rejected = async {
            while others_rejected.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, one_rejected).await.map_err(|_| "no login was rejected")?;
        let start = Instant::now();
        log_in_again(main, &known, (OWNER, PASSWORD.trim_end())).await.map(|()| start.elapsed())
    });
    let requests = loop {
        tokio::select! {
            requests = &mut flood => break requests,
            time = open_page(&mut pages, &cookies) => times.push(time?),
        }
    };
    let known_login = known_login.await??;
    requests.join_all().await;
    let (count, p99) = (times.len() as u64, percentile(times, 99));
    // As the clients of the flood and the server share the machine, twice the usual time is allowed on a
    // slow one. In a short run, other scenarios use it at the same time.
    let usual = percentile(usual, 99);
    let limit = PAGE_TIME.max(usual * 2) * scale.pick(5, 1);
    ensure(p99 < limit, || {
        let (p99, usual) = (format_time(p99), format_time(usual));
        format!("1 of 100 pages took {p99} or more instead of {usual}")
    })?;
    let (rejected, total) =
        (rejected.load(Ordering::Relaxed), u64::from(LOGINS_PER_SECOND) * seconds);
    ensure(rejected > 0, || "no login was rejected".to_owned())?;
    check_login(main).await?;
    Ok(ScenarioResult {
        acknowledged: count,
        details: format!(
            "99 of 100 pages took at most {} instead of {}; {rejected} of {total} logins were rejected with 429; \
             a login with a known browser took {} meanwhile; afterwards one with another succeeded",
            format_time(p99),
            format_time(usual),
            format_time(known_login)
        ),
        ..ScenarioResult::new("500 logins per second", &engine, total)
    })
}

/// The times of pages without other load.
async fn page_times(main: SocketAddr, cookies: &str, count: u64) -> Result<Vec<Duration>> {
    let (mut pages, mut times) = (Connection::open(main).await?, Vec::new());
    for _ in 0..count {
        times.push(open_page(&mut pages, cookies).await?);
    }
    Ok(times)
}

async fn open_page(connection: &mut Connection, cookies: &str) -> Result<Duration> {
    let start = Instant::now();
    let response =
        connection.send(&Request::new("GET", "/folders").header("Cookie", cookies)).await?;
    ensure(response.status == 200, || format!("a page: {}", response.status))?;
    Ok(start.elapsed())
}

async fn check_login(main: SocketAddr) -> Result {
    log_in(main, OWNER, PASSWORD.trim_end()).await.map(drop)
}
