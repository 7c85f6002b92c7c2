//! Distributes leased deliveries to attempts.
//!
//! Each endpoint has a queue with its own limit of concurrent attempts. The limit grows while the
//! endpoint responds quickly and successfully, and falls to one when it does not. The overall limit is
//! far above what slow endpoints can occupy, so that a dead endpoint does not delay the others.
//!
//! All queued deliveries are leased. An attempt starts only if it can end before its lease does.
//!
//! The dispatcher itself never waits for the database: every call to the store runs in its own task and
//! reports back with a [`LoopMessage`].

use super::{
    Clock, DeliveryLoop, DeliverySender, Heartbeat, endpoint_queue::EndpointQueue,
    recorder::Recorder, sender::AttemptResult,
};
use crate::{client::RESPONSE_TIMEOUT, schedule};
use groma_domain::{DeliveryId, EndpointId, Timestamp, WorkspaceId};
use groma_store::{
    Attempt, Delivery, DeliveryFeed, DueEndpoint, FeedMessage, LeaseRequest, NextStep, Store,
    WebhookTarget,
};
use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// The maximum number of concurrent attempts.
const MAX_IN_FLIGHT: usize = 512;
/// The remaining lease time that an attempt needs to start.
const REQUIRED_LEASE: Duration = RESPONSE_TIMEOUT.saturating_add(Duration::from_secs(2));
/// The minimum time between two sweeps.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(20);
/// A smaller step back is an ordinary correction of the clock.
const CLOCK_TOLERANCE_MILLIS: i64 = 2_000;
/// How long a shutdown waits for running attempts.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);

/// A report of a task to the dispatcher.
pub(super) enum LoopMessage {
    /// An attempt has ended.
    Attempt(Box<Delivery>, AttemptResult),
    /// A lease request has ended with these deliveries, at most as many as were requested.
    Leased(Vec<LeaseRequest>, Vec<Delivery>),
    /// A sweep has ended with the due endpoints; `None` if it failed.
    Swept(Option<Vec<DueEndpoint>>),
    /// The store has disabled these endpoints.
    Disabled(Vec<EndpointId>),
    /// The recorder has caught up, so new attempts may start.
    CaughtUp,
    /// The current targets of the requested endpoints. Disabled and deleted endpoints have none.
    Targets(Vec<EndpointId>, Vec<Arc<WebhookTarget>>),
}

pub(super) struct Dispatcher {
    store: Store,
    sender: Arc<DeliverySender>,
    clock: Clock,
    sweep_interval: Duration,
    heartbeat: Heartbeat,
    handovers: DeliveryFeed,
    recorder: Recorder,
    messages: mpsc::UnboundedSender<LoopMessage>,
    queues: HashMap<EndpointId, EndpointQueue>,
    /// Endpoints that wait for the overall limit of attempts.
    ready: VecDeque<EndpointId>,
    in_flight: usize,
    /// The next lease request.
    lease_request: Vec<LeaseRequest>,
    is_leasing: bool,
    is_sweeping: bool,
    next_sweep: Instant,
    /// The last reading of the clock, to detect that it was set back.
    last_reading: (Instant, Timestamp),
}

impl Dispatcher {
    /// Starts the dispatcher of a loop. The receiver gets the reports of its tasks.
    pub(super) async fn start(
        config: DeliveryLoop,
    ) -> Result<(Self, mpsc::UnboundedReceiver<LoopMessage>), groma_store::Error> {
        let DeliveryLoop { store, sender, clock, sweep_interval, heartbeat } = config;
        let handovers = store.delivery_feed(clock()).await?;
        let (messages, received) = mpsc::unbounded_channel();
        let dispatcher = Self {
            recorder: Recorder::start(store.clone(), messages.clone()),
            last_reading: (Instant::now(), clock()),
            store,
            sender,
            clock,
            sweep_interval,
            heartbeat,
            handovers,
            messages,
            queues: HashMap::new(),
            ready: VecDeque::new(),
            in_flight: 0,
            lease_request: Vec::new(),
            is_leasing: false,
            is_sweeping: false,
            next_sweep: Instant::now(),
        };
        Ok((dispatcher, received))
    }

    pub(super) async fn run(
        &mut self,
        mut messages: mpsc::UnboundedReceiver<LoopMessage>,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = std::pin::pin!(stop);
        let mut received = Vec::new();
        loop {
            let next_sweep = tokio::time::Instant::from_std(self.next_sweep);
            tokio::select! {
                () = &mut stop => break,
                news = self.handovers.next() => self.handle_news(news),
                _ = messages.recv_many(&mut received, 256) => {
                    received.drain(..).for_each(|message| self.handle_message(message));
                }
                () = tokio::time::sleep_until(next_sweep), if !self.is_sweeping => self.sweep(),
            }
            self.start_ready();
            self.lease();
        }
        self.shut_down(messages).await;
    }

    fn handle_news(&mut self, news: FeedMessage) {
        match news {
            FeedMessage::Deliveries(deliveries) => {
                deliveries.into_iter().for_each(|d| self.enqueue(d));
            }
            FeedMessage::Waiting(endpoints, stirred) => {
                for endpoint in endpoints {
                    match self.queues.get_mut(&endpoint) {
                        Some(queue) => {
                            queue.has_more = true;
                            self.request_more(endpoint);
                        }
                        // A sweep finds the workspace of the endpoint.
                        None => self.sweep_soon(),
                    }
                }
                if stirred {
                    self.sweep_soon();
                    self.refresh_targets();
                }
            }
        }
    }

    fn handle_message(&mut self, message: LoopMessage) {
        match message {
            LoopMessage::Attempt(delivery, result) => self.finish_attempt(*delivery, result),
            LoopMessage::Leased(requests, deliveries) => {
                self.is_leasing = false;
                for request in &requests {
                    let leased =
                        deliveries.iter().filter(|d| d.target.endpoint == request.endpoint);
                    let has_more = leased.count() >= request.limit;
                    self.queue(request.workspace, request.endpoint).has_more = has_more;
                    self.handovers.set_overflowed(request.endpoint, has_more);
                }
                deliveries.into_iter().for_each(|delivery| self.enqueue(delivery));
            }
            LoopMessage::Swept(due) => {
                self.is_sweeping = false;
                self.heartbeat.beat();
                self.schedule_due(due.unwrap_or_default());
            }
            // The queues that waited for the recorder start after every message.
            LoopMessage::CaughtUp => {}
            LoopMessage::Disabled(endpoints) => {
                for endpoint in endpoints {
                    tracing::warn!(%endpoint, "webhook endpoint disabled");
                    self.clear(endpoint);
                }
            }
            LoopMessage::Targets(endpoints, targets) => {
                for endpoint in endpoints {
                    match targets.iter().find(|target| target.endpoint == endpoint) {
                        Some(target) => {
                            if let Some(queue) = self.queues.get_mut(&endpoint) {
                                queue.set_target(target);
                            }
                        }
                        None => self.clear(endpoint),
                    }
                }
            }
        }
    }

    fn queue(&mut self, workspace: WorkspaceId, endpoint: EndpointId) -> &mut EndpointQueue {
        self.queues.entry(endpoint).or_insert_with(|| EndpointQueue::new(workspace))
    }

    fn enqueue(&mut self, delivery: Delivery) {
        let (workspace, endpoint) = (delivery.target.workspace, delivery.target.endpoint);
        self.queue(workspace, endpoint).deliveries.push_back(delivery);
        self.start_attempts(endpoint);
    }

    /// Starts as many attempts as the limits of the endpoint and of the loop allow.
    fn start_attempts(&mut self, endpoint: EndpointId) {
        let mut too_late = Vec::new();
        let Some(queue) = self.queues.get_mut(&endpoint) else { return };
        while queue.can_start() {
            if self.in_flight >= MAX_IN_FLIGHT || self.recorder.is_behind() {
                if !queue.is_ready {
                    queue.is_ready = true;
                    self.ready.push_back(endpoint);
                }
                break;
            }
            let Some(delivery) = queue.deliveries.pop_front() else { break };
            if delivery.lease_end.saturating_duration_since(Instant::now()) < REQUIRED_LEASE {
                too_late.push(delivery);
                continue;
            }
            queue.in_flight += 1;
            self.in_flight += 1;
            let (sender, messages) = (self.sender.clone(), self.messages.clone());
            let clock = self.clock.clone();
            tokio::spawn(async move {
                let result = sender.send(&delivery, clock()).await;
                let _ = messages.send(LoopMessage::Attempt(Box::new(delivery), result));
            });
        }
        if !too_late.is_empty() {
            self.release(endpoint, too_late);
        }
    }

    /// Starts attempts of the endpoints that waited for the overall limit, in turn.
    fn start_ready(&mut self) {
        for _ in 0..self.ready.len() {
            if self.in_flight >= MAX_IN_FLIGHT || self.recorder.is_behind() {
                break;
            }
            let Some(endpoint) = self.ready.pop_front() else { break };
            if let Some(queue) = self.queues.get_mut(&endpoint) {
                queue.is_ready = false;
            }
            self.start_attempts(endpoint);
        }
    }

    /// Releases deliveries whose attempt could not start in time. They are still due, so a later lease
    /// finds them again.
    fn release(&mut self, endpoint: EndpointId, deliveries: Vec<Delivery>) {
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.has_more = true;
        }
        self.handovers.set_overflowed(endpoint, true);
        let (store, now) = (self.store.clone(), self.now());
        // An expired lease may already belong to another loop.
        let min_lease_end = Instant::now() + Duration::from_secs(1);
        let leased = deliveries.iter().filter(|delivery| delivery.lease_end > min_lease_end);
        let ids = ids_of(leased);
        tokio::spawn(async move {
            if let Err(error) = store.release(ids, now).await {
                tracing::debug!(%error, "failed to release leases; they will expire");
            }
            // Dropping a delivery frees its slot. Until the store has released the lease, a free slot
            // could be filled with the same delivery.
            drop(deliveries);
        });
    }

    /// Releases the queued deliveries of an endpoint that does not accept deliveries at present.
    fn clear(&mut self, endpoint: EndpointId) {
        let Some(queue) = self.queues.get_mut(&endpoint) else { return };
        let deliveries: Vec<_> = queue.deliveries.drain(..).collect();
        if !deliveries.is_empty() {
            self.release(endpoint, deliveries);
        }
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.has_more = false;
        }
    }

    fn finish_attempt(&mut self, delivery: Delivery, result: AttemptResult) {
        let endpoint = delivery.target.endpoint;
        self.in_flight -= 1;
        let now = self.now();
        let retry_after = result.retry_after.as_deref();
        let next = schedule::next_step(delivery.tries, result.status, retry_after, now, jitter());
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.in_flight -= 1;
            queue.adjust_concurrency(next == NextStep::Delivered, result.latency);
        }
        report_attempt(&delivery, &result, next);
        self.recorder.record(Attempt {
            delivery: delivery.id,
            target: delivery.target.clone(),
            at: result.started_at,
            ended: now,
            millis: u64::try_from(result.latency.as_millis()).unwrap_or(u64::MAX),
            status: result.status,
            error: result.error,
            response: result.response_body,
            next,
        });
        drop(delivery);
        self.start_attempts(endpoint);
        self.request_more(endpoint);
        if self.queues.get(&endpoint).is_some_and(EndpointQueue::is_idle) {
            self.queues.remove(&endpoint);
        }
    }

    /// Adds the endpoint to the next lease request if its queue runs low and the store has more.
    fn request_more(&mut self, endpoint: EndpointId) {
        let Some(queue) = self.queues.get_mut(&endpoint) else { return };
        let refill_size = queue.refill_size();
        if !queue.has_more || queue.is_requested || refill_size == 0 {
            return;
        }
        let (room, overall) = self.handovers.room(endpoint);
        let limit = refill_size.min(room).min(overall);
        if limit > 0 {
            queue.is_requested = true;
            self.lease_request.push(LeaseRequest { workspace: queue.workspace, endpoint, limit });
        }
    }

    /// Sends the lease request, unless another one is running.
    fn lease(&mut self) {
        if self.is_leasing || self.lease_request.is_empty() {
            return;
        }
        self.is_leasing = true;
        let requests = std::mem::take(&mut self.lease_request);
        for request in &requests {
            // Cleared before the query, so that deliveries created during the query are reported again.
            self.handovers.set_overflowed(request.endpoint, false);
            if let Some(queue) = self.queues.get_mut(&request.endpoint) {
                (queue.is_requested, queue.has_more) = (false, false);
            }
        }
        let (store, messages, now) = (self.store.clone(), self.messages.clone(), self.now());
        tokio::spawn(async move {
            let leased = store.lease_deliveries(requests.clone(), now).await;
            let leased = leased.unwrap_or_else(|error| {
                tracing::warn!(%error, "failed to lease due deliveries");
                Vec::new()
            });
            let _ = messages.send(LoopMessage::Leased(requests, leased));
        });
    }

    fn sweep_soon(&mut self) {
        self.next_sweep = self.next_sweep.min(Instant::now() + MIN_SWEEP_INTERVAL);
    }

    /// Asks the store which endpoints have due deliveries.
    fn sweep(&mut self) {
        self.is_sweeping = true;
        self.next_sweep = Instant::now() + self.sweep_interval;
        self.sender.prune();
        let (store, messages, now) = (self.store.clone(), self.messages.clone(), self.now());
        tokio::spawn(async move {
            let due = store.due_endpoints(now).await;
            let due =
                due.inspect_err(|error| tracing::warn!(%error, "failed to find due deliveries"));
            let _ = messages.send(LoopMessage::Swept(due.ok()));
        });
    }

    /// The current time. Reports to the recorder if the clock was set back since the last reading. Every
    /// due time derives from a reading made here, so that no step of the clock is missed.
    fn now(&mut self) -> Timestamp {
        let now = (self.clock)();
        let (instant, then) = std::mem::replace(&mut self.last_reading, (Instant::now(), now));
        let elapsed = i64::try_from(instant.elapsed().as_millis()).unwrap_or(i64::MAX);
        let set_back = then.as_millis().saturating_add(elapsed) - now.as_millis();
        if set_back > CLOCK_TOLERANCE_MILLIS {
            self.recorder.clock_set_back(set_back, now);
        }
        now
    }

    fn schedule_due(&mut self, due: Vec<DueEndpoint>) {
        for DueEndpoint { workspace, endpoint, in_millis } in due {
            if in_millis <= 0 {
                self.queue(workspace, endpoint).has_more = true;
                self.request_more(endpoint);
            } else {
                let wait = Duration::from_millis(u64::try_from(in_millis).unwrap_or(u64::MAX));
                if wait < self.sweep_interval {
                    self.next_sweep = self.next_sweep.min(Instant::now() + wait);
                }
            }
        }
    }

    /// Looks up the endpoints of the queued deliveries, which may have been changed or deleted.
    fn refresh_targets(&self) {
        let queued = self.queues.iter().filter(|(_, queue)| !queue.deliveries.is_empty());
        let keys: Vec<_> = queued.map(|(endpoint, queue)| (queue.workspace, *endpoint)).collect();
        if keys.is_empty() {
            return;
        }
        let (store, messages) = (self.store.clone(), self.messages.clone());
        tokio::spawn(async move {
            let endpoints = keys.iter().map(|(_, endpoint)| *endpoint).collect();
            if let Ok(targets) = store.targets(keys).await {
                let _ = messages.send(LoopMessage::Targets(endpoints, targets));
            }
        });
    }

    /// Waits for the running attempts, releases the other deliveries, and records all results.
    async fn shut_down(&mut self, mut messages: mpsc::UnboundedReceiver<LoopMessage>) {
        let mut unstarted = self.handovers.close();
        for queue in self.queues.values_mut() {
            unstarted.extend(queue.deliveries.drain(..));
            queue.has_more = false;
        }
        let deadline = tokio::time::Instant::now() + SHUTDOWN_TIMEOUT;
        while self.in_flight > 0 || self.is_leasing {
            match tokio::time::timeout_at(deadline, messages.recv()).await {
                Ok(Some(LoopMessage::Attempt(delivery, result))) => {
                    self.finish_attempt(*delivery, result);
                }
                Ok(Some(LoopMessage::Leased(_, deliveries))) => {
                    self.is_leasing = false;
                    unstarted.extend(deliveries);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let now = self.now();
        if let Err(error) = self.store.release(ids_of(&unstarted), now).await {
            tracing::warn!(%error, "failed to release leases; they will expire");
        }
        self.recorder.finish().await;
    }
}

fn ids_of<'d>(
    deliveries: impl IntoIterator<Item = &'d Delivery>,
) -> Vec<(WorkspaceId, DeliveryId)> {
    deliveries.into_iter().map(|delivery| (delivery.target.workspace, delivery.id)).collect()
}

/// A random number from 0 to 1, or the middle if there is no source of randomness.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

/// Updates the metrics, and logs a failed attempt.
fn report_attempt(delivery: &Delivery, result: &AttemptResult, next: NextStep) {
    let outcome = match next {
        NextStep::Delivered => "delivered",
        NextStep::Retry { .. } | NextStep::Gone { .. } => "retry",
        NextStep::Failed => "failed",
    };
    metrics::counter!("groma_webhook_attempts_total", "outcome" => outcome).increment(1);
    metrics::histogram!("groma_webhook_attempt_seconds").record(result.latency.as_secs_f64());
    if delivery.tries == 0 && !delivery.is_test {
        let waited = result.started_at.as_millis() - delivery.occurred_at.as_millis();
        metrics::histogram!("groma_webhook_wait_seconds").record(waited.max(0) as f64 / 1_000.0);
    }
    if next != NextStep::Delivered {
        tracing::debug!(
            delivery = %delivery.id,
            endpoint = %delivery.target.endpoint,
            status = result.status,
            error = result.error.as_deref(),
            outcome,
            "webhook attempt failed"
        );
    }
}
