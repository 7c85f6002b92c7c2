//! Days that pass at once: an endpoint that fails for five days is disabled, and attempts are forgotten
//! after thirty. And an hour that is taken back.

use groma_domain::{
    Currency, Email, EndpointId, Timestamp, WorkspaceId,
    input::Field,
    record::{FolderInput, RecordInput},
    webhook::{EndpointInput, EndpointUrl},
    workspace::WorkspaceName,
};
use groma_store::{
    Actor, Change, Command, DatabaseUrl, DeliveryFilter, DeliveryRow, DeliveryState,
    EndpointChange, EndpointOutcome, NewEndpoint, NewUser, Redeliver, Store, Target,
};
use groma_testkit::{Receiver, postgres::PostgresDatabase};
use groma_webhooks::{AddressPolicy, Client, DeliveryLoop, DeliverySender, Resolver};
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, Instant},
};

const DAY: i64 = 86_400_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// How far the clock of these tests was moved. Each test is a process, or the only one that moves it.
static MOVED: AtomicI64 = AtomicI64::new(0);

fn clock() -> Timestamp {
    Timestamp::from(jiff::Timestamp::now()).plus_millis(MOVED.load(Ordering::SeqCst))
}

fn pass(millis: i64) {
    MOVED.fetch_add(millis, Ordering::SeqCst);
}

struct Desk {
    store: Store,
    workspace: WorkspaceId,
    endpoint: EndpointId,
}

impl Desk {
    async fn open(url: &DatabaseUrl, receiver: &Receiver) -> Self {
        let store = Store::open(url).await.unwrap();
        let owner = NewUser {
            email: Email::parse("owner@example.test").unwrap(),
            name: None,
            password_hash: None,
        };
        let name = WorkspaceName::parse("Office").unwrap();
        let workspace =
            store.create_workspace(name, Currency::EUR, owner, clock()).await.unwrap().id;
        let url = EndpointUrl::parse(&receiver.url("/"), true).unwrap();
        let draft = EndpointInput { url: Some(url), ..EndpointInput::default() };
        let new =
            NewEndpoint { workspace, actor: Actor::Operator, now: clock(), draft, request: None };
        let EndpointOutcome::Created(endpoint, _) = store.create_endpoint(new).await.unwrap()
        else {
            panic!("a new endpoint")
        };
        let policy = AddressPolicy::new(vec!["127.0.0.1/32".parse().unwrap()]);
        let client = Client::new(policy, Resolver::System, None, "test").unwrap();
        let sender = DeliverySender::new(client, "Service").unwrap();
        tokio::spawn(DeliveryLoop::new(store.clone(), sender, clock).run(std::future::pending()));
        Self { store, workspace, endpoint: endpoint.id }
    }

    async fn change(&self) {
        let input = FolderInput { name: Field::Set("x".to_owned()), ..FolderInput::default() };
        let save =
            Command::Save { target: Target::New, draft: Box::new(RecordInput::Folder(input)) };
        let change = Change {
            workspace: self.workspace,
            actor: Actor::Operator,
            now: clock(),
            commands: vec![save],
        };
        self.store.apply(change).await.unwrap();
    }

    async fn deliveries(&self) -> Vec<DeliveryRow> {
        let filter = DeliveryFilter {
            endpoint: self.endpoint,
            state: None,
            event: None,
            since: None,
            until: None,
            before: None,
            limit: 100,
        };
        self.store.deliveries(self.workspace, filter).await.unwrap()
    }

    async fn redeliver(&self, row: &DeliveryRow) {
        let which = Redeliver::One(row.id);
        self.store.redeliver(self.workspace, Actor::Operator, which, clock()).await.unwrap();
    }

    async fn wait<T>(&self, what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = attempt().await {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn five_days_without_a_success_disable_an_endpoint(url: DatabaseUrl) {
    let receiver = Receiver::start();
    receiver.set_status(500);
    let desk = Desk::open(&url, &receiver).await;
    desk.change().await;
    let tried = async |attempts: u32| {
        desk.wait("an attempt", async || {
            let row = desk.deliveries().await.into_iter().next()?;
            (row.attempts == attempts && row.state == DeliveryState::Waiting).then_some(row)
        })
        .await
    };
    let row = tried(1).await;
    let health = desk
        .wait("the endpoint is known to fail", async || {
            let health = desk.store.endpoint(desk.workspace, desk.endpoint).await.unwrap();
            health.failing_since.is_some().then_some(health)
        })
        .await;
    assert!(health.endpoint.enabled);
    // Not quite five days.
    pass(5 * DAY - 60_000);
    desk.redeliver(&row).await;
    tried(2).await;
    assert!(desk.store.endpoint(desk.workspace, desk.endpoint).await.unwrap().endpoint.enabled);
    pass(120_000);
    desk.redeliver(&row).await;
    let disabled = desk
        .wait("the endpoint is disabled", async || {
            let health = desk.store.endpoint(desk.workspace, desk.endpoint).await.unwrap();
            (!health.endpoint.enabled).then_some(health)
        })
        .await;
    let reason = disabled.endpoint.disabled_reason.unwrap();
    assert_eq!(reason, "No delivery has succeeded for five days");
    let came = receiver.requests().len();
    desk.change().await;
    assert_eq!(desk.deliveries().await.len(), 1, "while disabled nothing is queued");
    // Enabled again, what waited goes on, and the five days begin anew.
    receiver.set_status(200);
    let (workspace, endpoint) = (desk.workspace, desk.endpoint);
    let enable = EndpointChange::Enable;
    desk.store
        .change_endpoint(workspace, Actor::Operator, endpoint, enable, clock())
        .await
        .unwrap();
    desk.redeliver(&row).await;
    desk.wait("the delivery", async || {
        (desk.deliveries().await[0].state == DeliveryState::Delivered).then_some(())
    })
    .await;
    assert_eq!(receiver.requests().len(), came + 1);
    desk.wait("the endpoint is known to do well", async || {
        let health = desk.store.endpoint(workspace, endpoint).await.unwrap();
        (health.failing_since.is_none() && health.last_success_at.is_some()).then_some(())
    })
    .await;
    // After thirty days the delivery and its attempts are forgotten, in small steps.
    let forget = async |before: Timestamp| {
        let mut after = None;
        loop {
            after = desk.store.forget_deliveries(before, after).await.unwrap();
            if after.is_none() {
                break;
            }
        }
    };
    forget(clock().plus_millis(-30 * DAY)).await;
    assert_eq!(desk.store.delivery(workspace, row.id).await.unwrap().attempts.len(), 4);
    forget(clock().plus_millis(DAY)).await;
    assert!(desk.deliveries().await.is_empty());
    assert!(desk.store.delivery(workspace, row.id).await.is_err());
}

/// On PostgreSQL the clock of the database counts, which nobody moves here.
async fn a_clock_that_is_set_back_does_not_hold_up_a_retry(url: DatabaseUrl) {
    let receiver = Receiver::start();
    receiver.set_status(500);
    let desk = Desk::open(&url, &receiver).await;
    desk.change().await;
    desk.wait("the first attempt", async || {
        let row = desk.deliveries().await.into_iter().next()?;
        (row.attempts == 1 && row.state == DeliveryState::Waiting).then_some(())
    })
    .await;
    receiver.set_status(200);
    pass(-DAY / 24);
    desk.wait("the second attempt", async || {
        let row = desk.deliveries().await.into_iter().next()?;
        (row.attempts == 2 && row.state == DeliveryState::Delivered).then_some(())
    })
    .await;
    assert_eq!(receiver.requests().len(), 2);
    a_clock_that_goes_forth_and_back_at_once_does_not_either(&desk, &receiver).await;
}

/// Sooner than the loop looks by itself.
async fn a_clock_that_goes_forth_and_back_at_once_does_not_either(
    desk: &Desk,
    receiver: &Receiver,
) {
    receiver.set_status(500);
    pass(DAY / 24);
    desk.change().await;
    desk.wait("a first attempt", async || {
        let rows = desk.deliveries().await;
        rows.iter()
            .any(|row| row.state == DeliveryState::Waiting && row.attempts == 1)
            .then_some(())
    })
    .await;
    pass(-DAY / 24);
    receiver.set_status(200);
    desk.wait("another", async || {
        let rows = desk.deliveries().await;
        rows.iter().all(|row| row.state == DeliveryState::Delivered).then_some(())
    })
    .await;
}

/// Both engines in one test: there is one clock to be moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_pass_on_both_engines() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = DatabaseUrl::Sqlite(folder.path().join("groma.db"));
    five_days_without_a_success_disable_an_endpoint(sqlite).await;
    let database = PostgresDatabase::create().unwrap();
    five_days_without_a_success_disable_an_endpoint(DatabaseUrl::Postgres(database.url())).await;
    let sqlite = DatabaseUrl::Sqlite(folder.path().join("again.db"));
    a_clock_that_is_set_back_does_not_hold_up_a_retry(sqlite).await;
    let database = PostgresDatabase::create().unwrap();
    a_clock_that_is_set_back_does_not_hold_up_a_retry(DatabaseUrl::Postgres(database.url())).await;
}
