//! The loop that delivers.
//!
//! Each endpoint has a lane: a short queue and so many attempts at a time, more while it answers
//! quickly and well, one while it does not. All lanes together have a bound too, far above what the
//! slow ones among them can take up, so that a dead endpoint costs the others nothing. What is in the
//! lanes is leased; an attempt begins only if it ends before its lease does. Everything that waits for
//! the database is a task of its own; the loop itself never waits.

mod lane;
mod recorder;

use crate::{
    client::{Client, TIMEOUT},
    schedule, signature,
};
use bytes::Bytes;
use groma_domain::{DeliveryId, EndpointId, Timestamp, WorkspaceId};
use groma_store::{Addressee, Ask, Attempted, Delivery, Due, Handovers, News, Next, Store};
use hyper::header::{HeaderName, HeaderValue};
use lane::Lane;
use recorder::Recorder;
use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// How many attempts are made at a time, overall.
const IN_FLIGHT: usize = 512;
/// The least that a lease must last for an attempt to begin.
const NEEDED_LEASE: Duration = TIMEOUT.saturating_add(Duration::from_secs(2));
/// How often the store is asked what is due, when nothing else asks.
const SWEEP: Duration = Duration::from_secs(1);
/// How soon after a sweep the next one may be.
const SWEEP_AGAIN: Duration = Duration::from_millis(20);
/// A clock that is set back by less than this is just being put right.
const SET_BACK_MILLIS: i64 = 2_000;
/// How long attempts that are under way may go on after the end was asked for.
const GRACE: Duration = Duration::from_secs(8);
/// How often what is old is cleared away.
const CLEAR: Duration = Duration::from_secs(300);
/// How long to wait between two steps of clearing away, so that others can write.
const BETWEEN_STEPS: Duration = Duration::from_millis(50);
/// How long deliveries and attempts are kept.
const KEPT_MILLIS: i64 = 30 * 86_400_000;

/// Sends one delivery: signs it, names it, posts it.
pub struct Sender {
    client: Client,
    signature: HeaderName,
    event: HeaderName,
    delivery: HeaderName,
    test: HeaderName,
}

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What came of an attempt.
#[derive(Debug)]
pub struct Tried {
    /// When it began.
    at: Timestamp,
    latency: Duration,
    status: Option<u16>,
    error: Option<String>,
    retry_after: Option<String>,
    answer: Vec<u8>,
}

impl Sender {
    /// Sends by this client, under the service's name: letters, digits and hyphens.
    pub fn new(client: Client, service: &str) -> Result<Self, hyper::header::InvalidHeaderName> {
        let header = |what: &str| format!("x-{service}-{what}").to_ascii_lowercase().parse();
        Ok(Self {
            client,
            signature: header("signature")?,
            event: header("event")?,
            delivery: header("delivery")?,
            test: header("test")?,
        })
    }

    async fn send(&self, delivery: &Delivery, at: Timestamp) -> Tried {
        let mut tried = Tried {
            at,
            latency: Duration::ZERO,
            status: None,
            error: None,
            retry_after: None,
            answer: Vec::new(),
        };
        let body = Bytes::from(delivery.body());
        let Some(headers) = self.headers(delivery, &body, at) else {
            let error = "the endpoint's secret does not open with webhooks.encryption_key";
            return Tried { error: Some(error.to_owned()), ..tried };
        };
        let (answer, latency) = self.client.post(&delivery.target.url, headers, body).await;
        tried.latency = latency;
        match answer {
            Ok(answer) => {
                tried.status = Some(answer.status);
                tried.error = match answer.status {
                    200..300 => None,
                    300..400 => Some("redirects are not followed".to_owned()),
                    status => Some(format!("answered {status}")),
                };
                tried.retry_after = answer.retry_after;
                tried.answer = answer.body;
            }
            Err(error) => tried.error = Some(error.to_string()),
        }
        tried
    }

    fn headers(
        &self,
        delivery: &Delivery,
        body: &[u8],
        at: Timestamp,
    ) -> Option<Vec<(HeaderName, HeaderValue)>> {
        let target = &delivery.target;
        let secret = target.secret.as_ref()?;
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let mut headers = vec![
            (self.signature.clone(), value(&signature::own(secret, body))?),
            (self.event.clone(), HeaderValue::from_static(delivery.event.name())),
            (self.delivery.clone(), value(&delivery.id.to_string())?),
        ];
        if delivery.is_test {
            headers.push((self.test.clone(), HeaderValue::from_static("true")));
        }
        let previous = target.previous.as_ref().filter(|(_, until)| *until > at);
        let secrets = std::iter::once(secret).chain(previous.map(|(secret, _)| secret));
        if let Some(standard) = signature::standard(secrets, delivery.id, at, body) {
            headers.push((WEBHOOK_ID, value(&standard.id)?));
            headers.push((WEBHOOK_TIMESTAMP, value(&standard.timestamp)?));
            headers.push((WEBHOOK_SIGNATURE, value(&standard.signature)?));
        }
        Some(headers)
    }
}

/// The deliveries of a program.
pub struct Deliveries {
    store: Store,
    sender: Arc<Sender>,
    clock: fn() -> Timestamp,
    pulse: Pulse,
}

/// Tells when a loop that delivers last went round.
#[derive(Clone)]
pub struct Pulse {
    begun: Instant,
    /// Milliseconds after that.
    beat: Arc<AtomicU64>,
}

impl Pulse {
    fn new() -> Self {
        Self { begun: Instant::now(), beat: Arc::default() }
    }

    fn beat(&self) {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.beat.store(millis, Ordering::Relaxed);
    }

    /// How long ago that was.
    #[must_use]
    pub fn age(&self) -> Duration {
        let beat = Duration::from_millis(self.beat.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(beat)
    }
}

/// What tasks tell the loop.
enum Told {
    /// An attempt has ended.
    Tried(Box<Delivery>, Tried),
    /// Deliveries were leased, so many as were asked for or fewer.
    Leased(Vec<Ask>, Vec<Delivery>),
    /// What is due was looked up; `None` when that failed.
    Swept(Option<Vec<Due>>),
    /// These endpoints were disabled.
    Disabled(Vec<EndpointId>),
    /// What was behind is written down.
    Written,
    /// These endpoints were looked up, and this is how they are now.
    LookedUp(Vec<EndpointId>, Vec<Arc<Addressee>>),
}

impl Deliveries {
    /// The deliveries of a store. `clock` tells the moment.
    #[must_use]
    pub fn new(store: Store, sender: Sender, clock: fn() -> Timestamp) -> Self {
        Self { store, sender: Arc::new(sender), clock, pulse: Pulse::new() }
    }

    /// Tells, for as long as one likes, whether the loop goes round: once a second at least.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Delivers until `stop`; then lets the attempts that are under way end, for a while, and gives
    /// back what was not begun.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), groma_store::Error> {
        let handovers = self.store.handovers((self.clock)()).await?;
        let (tell, told) = mpsc::unbounded_channel();
        let mut running = Running {
            recorder: Recorder::start(self.store.clone(), tell.clone()),
            store: self.store.clone(),
            sender: self.sender.clone(),
            clock: self.clock,
            pulse: self.pulse.clone(),
            handovers,
            tell,
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            in_flight: 0,
            asks: Vec::new(),
            is_leasing: false,
            is_sweeping: false,
            next_sweep: Instant::now(),
            last_look: (Instant::now(), (self.clock)()),
        };
        tokio::select! {
            () = running.deliver(told, stop) => {}
            () = clear_away(&self.store, self.clock) => {}
        }
        Ok(())
    }
}

struct Running {
    store: Store,
    sender: Arc<Sender>,
    clock: fn() -> Timestamp,
    pulse: Pulse,
    handovers: Handovers,
    recorder: Recorder,
    tell: mpsc::UnboundedSender<Told>,
    lanes: HashMap<EndpointId, Lane>,
    /// Lanes that could begin an attempt if there were not so many already.
    ready: VecDeque<EndpointId>,
    in_flight: usize,
    /// What to lease next.
    asks: Vec<Ask>,
    is_leasing: bool,
    is_sweeping: bool,
    next_sweep: Instant,
    /// What the clock said when it was last looked at.
    last_look: (Instant, Timestamp),
}

impl Running {
    async fn deliver(
        &mut self,
        mut told: mpsc::UnboundedReceiver<Told>,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = std::pin::pin!(stop);
        let mut heard = Vec::new();
        loop {
            let sweep_at = tokio::time::Instant::from_std(self.next_sweep);
            tokio::select! {
                () = &mut stop => break,
                news = self.handovers.next() => self.hear(news),
                _ = told.recv_many(&mut heard, 256) => {
                    heard.drain(..).for_each(|told| self.take_in(told));
                }
                () = tokio::time::sleep_until(sweep_at), if !self.is_sweeping => self.sweep(),
            }
            self.begin_ready();
            self.lease();
        }
        self.end(told).await;
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Handed(deliveries) => deliveries.into_iter().for_each(|d| self.queue(d)),
            News::Waiting(endpoints, stirred) => {
                for endpoint in endpoints {
                    match self.lanes.get_mut(&endpoint) {
                        Some(lane) => {
                            lane.has_more = true;
                            self.ask(endpoint);
                        }
                        // A sweep tells whose it is.
                        None => self.sweep_soon(),
                    }
                }
                if stirred {
                    self.sweep_soon();
                    self.look_up_queued();
                }
            }
        }
    }

    fn take_in(&mut self, told: Told) {
        match told {
            Told::Tried(delivery, tried) => self.settle(*delivery, tried),
            Told::Leased(asks, deliveries) => {
                self.is_leasing = false;
                for ask in &asks {
                    let got = deliveries.iter().filter(|d| d.target.endpoint == ask.endpoint);
                    let has_more = got.count() >= ask.limit;
                    self.lane(ask.workspace, ask.endpoint).has_more = has_more;
                    self.handovers.set_overflowed(ask.endpoint, has_more);
                }
                deliveries.into_iter().for_each(|delivery| self.queue(delivery));
            }
            Told::Swept(due) => {
                self.is_sweeping = false;
                self.pulse.beat();
                self.swept(due.unwrap_or_default());
            }
            // Lanes that had to wait for it begin behind this.
            Told::Written => {}
            Told::Disabled(endpoints) => {
                for endpoint in endpoints {
                    tracing::warn!(%endpoint, "a webhook endpoint was disabled");
                    self.empty(endpoint);
                }
            }
            Told::LookedUp(asked, found) => {
                for endpoint in asked {
                    match found.iter().find(|target| target.endpoint == endpoint) {
                        Some(target) => {
                            if let Some(lane) = self.lanes.get_mut(&endpoint) {
                                lane.readdress(target);
                            }
                        }
                        None => self.empty(endpoint),
                    }
                }
            }
        }
    }

    fn lane(&mut self, workspace: WorkspaceId, endpoint: EndpointId) -> &mut Lane {
        self.lanes.entry(endpoint).or_insert_with(|| Lane::new(workspace))
    }

    fn queue(&mut self, delivery: Delivery) {
        let (workspace, endpoint) = (delivery.target.workspace, delivery.target.endpoint);
        self.lane(workspace, endpoint).queue.push_back(delivery);
        self.begin(endpoint);
    }

    /// Begins what a lane may begin.
    fn begin(&mut self, endpoint: EndpointId) {
        let mut late = Vec::new();
        let Some(lane) = self.lanes.get_mut(&endpoint) else { return };
        while lane.may_begin() {
            if self.in_flight >= IN_FLIGHT || self.recorder.is_behind() {
                if !lane.is_ready {
                    lane.is_ready = true;
                    self.ready.push_back(endpoint);
                }
                break;
            }
            let Some(delivery) = lane.queue.pop_front() else { break };
            if delivery.lease_end.saturating_duration_since(Instant::now()) < NEEDED_LEASE {
                late.push(delivery);
                continue;
            }
            lane.in_flight += 1;
            self.in_flight += 1;
            let (sender, tell, clock) = (self.sender.clone(), self.tell.clone(), self.clock);
            tokio::spawn(async move {
                let tried = sender.send(&delivery, clock()).await;
                let _ = tell.send(Told::Tried(Box::new(delivery), tried));
            });
        }
        if !late.is_empty() {
            self.give_back(endpoint, late);
        }
    }

    /// Begins where there was no room before, in turns.
    fn begin_ready(&mut self) {
        for _ in 0..self.ready.len() {
            if self.in_flight >= IN_FLIGHT || self.recorder.is_behind() {
                break;
            }
            let Some(endpoint) = self.ready.pop_front() else { break };
            if let Some(lane) = self.lanes.get_mut(&endpoint) {
                lane.is_ready = false;
            }
            self.begin(endpoint);
        }
    }

    /// Gives up what could not be begun in time; it is due still, and found again.
    fn give_back(&mut self, endpoint: EndpointId, deliveries: Vec<Delivery>) {
        if let Some(lane) = self.lanes.get_mut(&endpoint) {
            lane.has_more = true;
        }
        self.handovers.set_overflowed(endpoint, true);
        let (store, now) = (self.store.clone(), self.now());
        // A lease that has ended may be another's by now.
        let ends_soon = Instant::now() + Duration::from_secs(1);
        let ids = names_of(deliveries.iter().filter(|delivery| delivery.lease_end > ends_soon));
        // Their places stay taken until the store knows, so that they are not had twice.
        tokio::spawn(async move {
            if let Err(error) = store.release(ids, now).await {
                tracing::debug!(%error, "leases were not given back; they end by themselves");
            }
            drop(deliveries);
        });
    }

    /// Drops what waits in a lane: its endpoint takes nothing now.
    fn empty(&mut self, endpoint: EndpointId) {
        let Some(lane) = self.lanes.get_mut(&endpoint) else { return };
        let queued: Vec<_> = lane.queue.drain(..).collect();
        if !queued.is_empty() {
            self.give_back(endpoint, queued);
        }
        if let Some(lane) = self.lanes.get_mut(&endpoint) {
            lane.has_more = false;
        }
    }

    fn settle(&mut self, delivery: Delivery, tried: Tried) {
        let endpoint = delivery.target.endpoint;
        self.in_flight -= 1;
        let now = self.now();
        let retry_after = tried.retry_after.as_deref();
        let next = schedule::next(delivery.tries, tried.status, retry_after, now, chance());
        if let Some(lane) = self.lanes.get_mut(&endpoint) {
            lane.in_flight -= 1;
            lane.adjust(next == Next::Delivered, tried.latency);
        }
        note(&delivery, &tried, next);
        self.recorder.record(Attempted {
            delivery: delivery.id,
            target: delivery.target.clone(),
            at: tried.at,
            ended: now,
            millis: u64::try_from(tried.latency.as_millis()).unwrap_or(u64::MAX),
            status: tried.status,
            error: tried.error,
            answer: tried.answer,
            next,
        });
        drop(delivery);
        self.begin(endpoint);
        self.ask(endpoint);
        if self.lanes.get(&endpoint).is_some_and(Lane::is_idle) {
            self.lanes.remove(&endpoint);
        }
    }

    /// Asks for more of an endpoint, where there is more and its lane runs dry.
    fn ask(&mut self, endpoint: EndpointId) {
        let Some(lane) = self.lanes.get_mut(&endpoint) else { return };
        let wanted = lane.wanted();
        if !lane.has_more || lane.is_asked || wanted == 0 {
            return;
        }
        let (room, overall) = self.handovers.room(endpoint);
        let limit = wanted.min(room).min(overall);
        if limit > 0 {
            lane.is_asked = true;
            self.asks.push(Ask { workspace: lane.workspace, endpoint, limit });
        }
    }

    /// Leases what was asked for, unless that is being done.
    fn lease(&mut self) {
        if self.is_leasing || self.asks.is_empty() {
            return;
        }
        self.is_leasing = true;
        let asks = std::mem::take(&mut self.asks);
        for ask in &asks {
            // Before the store is asked: whatever waits from here on is told anew.
            self.handovers.set_overflowed(ask.endpoint, false);
            if let Some(lane) = self.lanes.get_mut(&ask.endpoint) {
                (lane.is_asked, lane.has_more) = (false, false);
            }
        }
        let (store, tell, now) = (self.store.clone(), self.tell.clone(), self.now());
        tokio::spawn(async move {
            let leased = store.lease_deliveries(asks.clone(), now).await;
            let leased = leased.unwrap_or_else(|error| {
                tracing::warn!(%error, "deliveries that are due could not be leased");
                Vec::new()
            });
            let _ = tell.send(Told::Leased(asks, leased));
        });
    }

    fn sweep_soon(&mut self) {
        self.next_sweep = self.next_sweep.min(Instant::now() + SWEEP_AGAIN);
    }

    /// Asks the store what is due.
    fn sweep(&mut self) {
        self.is_sweeping = true;
        self.next_sweep = Instant::now() + SWEEP;
        self.sender.client.prune();
        let (store, tell, now) = (self.store.clone(), self.tell.clone(), self.now());
        tokio::spawn(async move {
            let due = store.due_endpoints(now).await;
            let due = due.inspect_err(|error| tracing::warn!(%error, "what is due is not known"));
            let _ = tell.send(Told::Swept(due.ok()));
        });
    }

    /// What the clock says. That it was set back since it was last looked at is written down; whatever
    /// the loop makes due, it makes due by what it saw here, so that no step goes unseen.
    fn now(&mut self) -> Timestamp {
        let now = (self.clock)();
        let (instant, then) = std::mem::replace(&mut self.last_look, (Instant::now(), now));
        let passed = i64::try_from(instant.elapsed().as_millis()).unwrap_or(i64::MAX);
        let set_back = then.as_millis().saturating_add(passed) - now.as_millis();
        if set_back > SET_BACK_MILLIS {
            self.recorder.set_back(set_back, now);
        }
        now
    }

    fn swept(&mut self, due: Vec<Due>) {
        for Due { workspace, endpoint, in_millis } in due {
            if in_millis <= 0 {
                self.lane(workspace, endpoint).has_more = true;
                self.ask(endpoint);
            } else {
                let wait = Duration::from_millis(u64::try_from(in_millis).unwrap_or(u64::MAX));
                if wait < SWEEP {
                    self.next_sweep = self.next_sweep.min(Instant::now() + wait);
                }
            }
        }
    }

    /// Looks up the endpoints of what is queued: they may be others now, or gone.
    fn look_up_queued(&self) {
        let queued = self.lanes.iter().filter(|(_, lane)| !lane.queue.is_empty());
        let asked: Vec<_> = queued.map(|(endpoint, lane)| (lane.workspace, *endpoint)).collect();
        if asked.is_empty() {
            return;
        }
        let (store, tell) = (self.store.clone(), self.tell.clone());
        tokio::spawn(async move {
            let endpoints = asked.iter().map(|(_, endpoint)| *endpoint).collect();
            if let Ok(found) = store.targets(asked).await {
                let _ = tell.send(Told::LookedUp(endpoints, found));
            }
        });
    }

    /// Lets what is under way end, gives back the rest, and waits until all is written down.
    async fn end(&mut self, mut told: mpsc::UnboundedReceiver<Told>) {
        let mut left = self.handovers.close();
        for lane in self.lanes.values_mut() {
            left.extend(lane.queue.drain(..));
            lane.has_more = false;
        }
        let deadline = tokio::time::Instant::now() + GRACE;
        while self.in_flight > 0 || self.is_leasing {
            match tokio::time::timeout_at(deadline, told.recv()).await {
                Ok(Some(Told::Tried(delivery, tried))) => self.settle(*delivery, tried),
                Ok(Some(Told::Leased(_, deliveries))) => {
                    self.is_leasing = false;
                    left.extend(deliveries);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let now = self.now();
        if let Err(error) = self.store.release(names_of(&left), now).await {
            tracing::warn!(%error, "leases were not given back; they end by themselves");
        }
        self.recorder.finish().await;
    }
}

fn names_of<'d>(
    deliveries: impl IntoIterator<Item = &'d Delivery>,
) -> Vec<(WorkspaceId, DeliveryId)> {
    deliveries.into_iter().map(|delivery| (delivery.target.workspace, delivery.id)).collect()
}

/// A number from 0 to 1.
fn chance() -> f64 {
    // Without randomness there is no spread, which is no harm.
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

/// Counts an attempt, and logs one that failed.
fn note(delivery: &Delivery, tried: &Tried, next: Next) {
    let outcome = match next {
        Next::Delivered => "delivered",
        Next::Again { .. } | Next::Gone { .. } => "retry",
        Next::Failed => "failed",
    };
    metrics::counter!("groma_webhook_attempts_total", "outcome" => outcome).increment(1);
    metrics::histogram!("groma_webhook_attempt_seconds").record(tried.latency.as_secs_f64());
    if delivery.tries == 0 && !delivery.is_test {
        let waited = tried.at.as_millis() - delivery.occurred_at.as_millis();
        metrics::histogram!("groma_webhook_wait_seconds").record(waited.max(0) as f64 / 1_000.0);
    }
    if next != Next::Delivered {
        tracing::debug!(
            delivery = %delivery.id,
            endpoint = %delivery.target.endpoint,
            status = tried.status,
            error = tried.error.as_deref(),
            outcome,
            "an attempt failed"
        );
    }
}

/// Clears away what is old and what is left of deleted endpoints, for ever, in small steps.
async fn clear_away(store: &Store, clock: fn() -> Timestamp) {
    loop {
        tokio::time::sleep(CLEAR).await;
        if let Err(error) = clear_once(store, clock).await {
            tracing::warn!(%error, "old deliveries were not cleared away");
        }
    }
}

async fn clear_once(store: &Store, clock: fn() -> Timestamp) -> Result<(), groma_store::Error> {
    while store.purge_deleted_endpoints().await? > 0 {
        tokio::time::sleep(BETWEEN_STEPS).await;
    }
    let before = clock().plus_millis(-KEPT_MILLIS);
    let mut after = None;
    loop {
        after = store.forget_deliveries(before, after).await?;
        if after.is_none() {
            return Ok(());
        }
        tokio::time::sleep(BETWEEN_STEPS).await;
    }
}
