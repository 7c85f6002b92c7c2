//! The delivery loop over days, with a clock that the tests move: retries, deleted endpoints, the
//! five days after which an endpoint is disabled, the retention of 30 days, and a clock that is set back.

use groma_domain::{
    Currency, Email, EndpointId, Timestamp, WorkspaceId,
    input::Field,
    record::{FolderInput, RecordInput},
    webhook::{EndpointInput, EndpointUrl},
    workspace::WorkspaceName,
};
use groma_store::{
    Actor, Change, Command, DatabaseUrl, DeliveryFilter, DeliveryRow, DeliveryState,
    EndpointChange, EndpointOutcome, NewEndpoint, NewUser, SaveTarget, Store,
};
use groma_testkit::{
    Receiver,
    postgres::{PostgresDatabase, execute},
};
use groma_webhooks::{
    AddressPolicy, Client, DeliveryLoop, DeliverySender, Resolver, schedule::RETRY_DELAYS,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 86_400_000;
/// A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The system clock plus an offset that the test sets.
#[derive(Clone, Default)]
struct TestClock(Arc<AtomicI64>);

impl TestClock {
    fn now(&self) -> Timestamp {
        system_time().plus_millis(self.0.load(Ordering::SeqCst))
    }

    fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

fn system_time() -> Timestamp {
    Timestamp::from(jiff::Timestamp::now())
}

/// A workspace with one endpoint, and a running delivery loop.
struct Fixture {
    store: Store,
    database: DatabaseUrl,
    workspace: WorkspaceId,
    endpoint: EndpointId,
    clock: TestClock,
}

impl Fixture {
    async fn start(database: DatabaseUrl, receiver: &Receiver) -> Self {
        let store = Store::open(&database).await.unwrap();
        let clock = TestClock::default();
        let owner = NewUser {
            email: Email::parse("owner@example.test").unwrap(),
            name: None,
            password_hash: None,
        };
        let name = WorkspaceName::parse("Office").unwrap();
        let workspace =
            store.create_workspace(name, Currency::EUR, owner, clock.now()).await.unwrap().id;
        let endpoint = create_endpoint(&store, workspace, receiver, clock.now()).await;
        let policy = AddressPolicy::new(vec!["127.0.0.1/32".parse().unwrap()]);
        let client = Client::new(policy, Resolver::System, None, "test").unwrap();
        let sender = DeliverySender::new(client, "Service").unwrap();
        let loop_clock = clock.clone();
        let delivery_loop = DeliveryLoop::new(store.clone(), sender, move || loop_clock.now())
            .with_sweep_interval(Duration::from_millis(20));
        tokio::spawn(delivery_loop.run(std::future::pending()));
        Self { store, database, workspace, endpoint, clock }
    }

    /// Lets time pass for the loop and for the waiting deliveries.
    fn advance(&self, millis: i64) {
        self.clock.advance(millis);
        // PostgreSQL compares due times with its own clock, which a test cannot move.
        if let DatabaseUrl::Postgres(url) = &self.database {
            let shift = format!("UPDATE deliveries SET due_at = due_at - {millis} WHERE state = 0");
            execute(url, &shift).unwrap();
        }
    }

    /// The time that the store compares due times with.
    fn store_time(&self) -> Timestamp {
        match self.database {
            DatabaseUrl::Postgres(_) => system_time(),
            DatabaseUrl::Sqlite(_) => self.clock.now(),
        }
    }

    async fn create_folder(&self) {
        let input = FolderInput { name: Field::Set("x".to_owned()), ..FolderInput::default() };
        let save =
            Command::Save { target: SaveTarget::New, draft: Box::new(RecordInput::Folder(input)) };
        let change = Change {
            workspace: self.workspace,
            actor: Actor::Operator,
            now: self.clock.now(),
            commands: vec![save],
        };
        self.store.apply(change).await.unwrap();
    }

    /// The deliveries, the newest first.
    async fn deliveries(&self) -> Vec<DeliveryRow> {
        let filter = DeliveryFilter { limit: 100, ..DeliveryFilter::of(self.endpoint) };
        self.store.deliveries(self.workspace, filter).await.unwrap()
    }

    async fn is_enabled(&self) -> bool {
        self.store.endpoint(self.workspace, self.endpoint).await.unwrap().endpoint.enabled
    }

    /// Waits until the newest delivery has this state after so many attempts.
    async fn wait_for_attempt(&self, attempts: u32, state: DeliveryState) -> DeliveryRow {
        self.wait(&format!("attempt {attempts}"), async || {
            let row = self.deliveries().await.into_iter().next()?;
            (row.attempts == attempts && row.state == state).then_some(row)
        })
        .await
    }

    async fn wait<T>(&self, what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = attempt().await {
                return found;
            }
            assert!(started.elapsed() < PATIENCE, "timed out waiting for: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn create_endpoint(
    store: &Store,
    workspace: WorkspaceId,
    receiver: &Receiver,
    now: Timestamp,
) -> EndpointId {
    let url = EndpointUrl::parse(&receiver.url("/"), true).unwrap();
    let draft = EndpointInput { url: Some(url), ..EndpointInput::default() };
    let new = NewEndpoint { workspace, actor: Actor::Operator, now, draft, request: None };
    match store.create_endpoint(new).await.unwrap() {
        EndpointOutcome::Created(endpoint, _) => endpoint.id,
        EndpointOutcome::Replayed(_) => panic!("the endpoint was not created"),
    }
}

async fn delivery_is_retried_along_the_whole_schedule(database: DatabaseUrl) {
    let receiver = Receiver::start();
    receiver.set_status(500);
    let fixture = Fixture::start(database, &receiver).await;
    fixture.create_folder().await;
    for (attempt, delay) in (1..).zip(RETRY_DELAYS) {
        let row = fixture.wait_for_attempt(attempt, DeliveryState::Waiting).await;
        let delay = i64::try_from(delay.as_millis()).unwrap();
        let wait = row.due_at.unwrap().as_millis() - fixture.store_time().as_millis();
        assert!(wait <= delay * 11 / 10, "attempt {attempt} is due in {wait} ms");
        fixture.advance(delay * 11 / 10 + SECOND);
    }
    let attempts = u32::try_from(RETRY_DELAYS.len()).unwrap() + 1;
    fixture.wait_for_attempt(attempts, DeliveryState::Failed).await;
    assert_eq!(receiver.requests().len(), RETRY_DELAYS.len() + 1);
}

async fn endpoint_is_disabled_after_five_days_without_success(database: DatabaseUrl) {
    let receiver = Receiver::start();
    receiver.set_status(500);
    let fixture = Fixture::start(database, &receiver).await;
    fixture.create_folder().await;
    let row = fixture.wait_for_attempt(1, DeliveryState::Waiting).await;
    let (workspace, endpoint) = (fixture.workspace, fixture.endpoint);
    fixture
        .wait("the failure of the endpoint is recorded", async || {
            let health = fixture.store.endpoint(workspace, endpoint).await.unwrap();
            health.failing_since.map(drop)
        })
        .await;
    assert!(fixture.is_enabled().await);
    fixture.advance(5 * DAY - 60 * SECOND);
    fixture.wait_for_attempt(2, DeliveryState::Waiting).await;
    assert!(fixture.is_enabled().await, "five days have not passed yet");
    fixture.advance(120 * SECOND);
    let disabled = fixture
        .wait("the endpoint is disabled", async || {
            let health = fixture.store.endpoint(workspace, endpoint).await.unwrap();
            (!health.endpoint.enabled).then_some(health)
        })
        .await;
    let reason = disabled.endpoint.disabled_reason.unwrap();
    assert_eq!(reason, "No delivery has succeeded for five days");
    let requests = receiver.requests().len();
    fixture.create_folder().await;
    assert_eq!(fixture.deliveries().await.len(), 1, "a disabled endpoint gets no new deliveries");

    // After the endpoint is enabled again, the waiting delivery continues.
    receiver.set_status(200);
    let (enable, now) = (EndpointChange::Enable, fixture.clock.now());
    fixture.store.change_endpoint(workspace, Actor::Operator, endpoint, enable, now).await.unwrap();
    fixture.advance(600 * SECOND);
    fixture
        .wait("the delivery", async || {
            (fixture.deliveries().await[0].state == DeliveryState::Delivered).then_some(())
        })
        .await;
    assert_eq!(receiver.requests().len(), requests + 1);
    fixture
        .wait("the success of the endpoint is recorded", async || {
            let health = fixture.store.endpoint(workspace, endpoint).await.unwrap();
            (health.failing_since.is_none() && health.last_success_at.is_some()).then_some(())
        })
        .await;

    // After 30 days, the delivery and its attempts are deleted.
    let delete_before = async |before: Timestamp| {
        let mut after = None;
        loop {
            after = fixture.store.delete_old_deliveries(before, after).await.unwrap();
            if after.is_none() {
                break;
            }
        }
    };
    delete_before(fixture.clock.now().plus_millis(-30 * DAY)).await;
    assert_eq!(fixture.store.delivery(workspace, row.id).await.unwrap().attempts.len(), 4);
    delete_before(fixture.clock.now().plus_millis(DAY)).await;
    assert!(fixture.deliveries().await.is_empty());
    assert!(fixture.store.delivery(workspace, row.id).await.is_err());
}

async fn deleting_an_endpoint_stops_a_delivery_that_waits_for_its_second_retry(
    database: DatabaseUrl,
) {
    let receiver = Receiver::start();
    receiver.set_status(500);
    let mut fixture = Fixture::start(database, &receiver).await;
    fixture.create_folder().await;
    fixture.wait_for_attempt(1, DeliveryState::Waiting).await;
    fixture.advance(6 * SECOND);
    fixture.wait_for_attempt(2, DeliveryState::Waiting).await;
    let (workspace, now) = (fixture.workspace, fixture.clock.now());
    let deleted = fixture.endpoint;
    fixture.store.delete_endpoint(workspace, Actor::Operator, deleted, now).await.unwrap();
    // The sweep that finds the retry of another endpoint would find that of the deleted one too.
    let other = Receiver::start();
    other.set_status(500);
    fixture.endpoint = create_endpoint(&fixture.store, workspace, &other, now).await;
    fixture.create_folder().await;
    fixture.wait_for_attempt(1, DeliveryState::Waiting).await;
    other.set_status(200);
    fixture.advance(HOUR);
    fixture.wait_for_attempt(2, DeliveryState::Delivered).await;
    assert_eq!((receiver.requests().len(), other.requests().len()), (2, 2));
}

async fn clock_set_back_does_not_delay_a_retry(database: DatabaseUrl) {
    let receiver = Receiver::start();
    let fixture = Fixture::start(database, &receiver).await;
    // The second round sets the clock forward first, so that the loop sees both steps within one
    // attempt.
    for round in 1..=2 {
        receiver.set_status(500);
        if round == 2 {
            fixture.clock.advance(HOUR);
        }
        fixture.create_folder().await;
        fixture.wait_for_attempt(1, DeliveryState::Waiting).await;
        receiver.set_status(200);
        fixture.clock.advance(-HOUR);
        fixture
            .wait("the due time follows the clock", async || {
                let due_at = fixture.deliveries().await.first()?.due_at?;
                let limit = fixture.store_time().plus_millis(10 * SECOND);
                (due_at <= limit).then_some(())
            })
            .await;
        fixture.advance(6 * SECOND);
        fixture.wait_for_attempt(2, DeliveryState::Delivered).await;
        assert_eq!(receiver.requests().len(), 2 * round);
    }
}

/// Defines a test per engine.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("groma.db");
                super::$name(super::DatabaseUrl::Sqlite(path)).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let database = super::PostgresDatabase::create().unwrap();
                super::$name(super::DatabaseUrl::Postgres(database.url())).await;
            }
        )*}
    };
}

on_both_engines! {
    delivery_is_retried_along_the_whole_schedule
    endpoint_is_disabled_after_five_days_without_success
    deleting_an_endpoint_stops_a_delivery_that_waits_for_its_second_retry
    clock_set_back_does_not_delay_a_retry
}
