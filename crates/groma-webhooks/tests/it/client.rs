//! The guarded client: address checks at every attempt, idle connections, certificates, time limits.

use bytes::Bytes;
use groma_testkit::{
    Receiver,
    receiver::Reply,
    tls::issue_certificate,
    wait::{PATIENCE, wait_until_true},
};
use groma_webhooks::{
    AddressPolicy, Client, Resolver,
    client::{RESPONSE_TIMEOUT, SendError},
};
use std::{
    net::IpAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

/// A resolver whose addresses the test can change.
#[derive(Clone)]
struct TestResolver(Arc<Mutex<Vec<IpAddr>>>);

impl TestResolver {
    fn new(addresses: &[&str]) -> Self {
        let resolver = Self(Arc::default());
        resolver.set(addresses);
        resolver
    }

    fn set(&self, addresses: &[&str]) {
        *self.0.lock().unwrap() = addresses.iter().map(|text| text.parse().unwrap()).collect();
    }

    fn resolver(&self) -> Resolver {
        let addresses = self.0.clone();
        Resolver::Function(Arc::new(move |_| addresses.lock().unwrap().clone()))
    }
}

fn client(resolver: Resolver, networks: &[&str], roots: Option<&Path>) -> Client {
    let networks = networks.iter().map(|text| text.parse().unwrap()).collect();
    Client::new(AddressPolicy::new(networks), resolver, roots, "test").unwrap()
}

async fn post(client: &Client, url: &str) -> Result<u16, SendError> {
    let (response, _) = client.post(url, Vec::new(), Bytes::from_static(b"{}")).await;
    response.map(|response| response.status)
}

fn is_forbidden<T: std::fmt::Debug>(outcome: &Result<T, SendError>) -> bool {
    matches!(outcome, Err(SendError::Forbidden))
}

#[tokio::test]
async fn dns_rebinding_cannot_reach_a_forbidden_address() {
    let receiver = Receiver::start();
    let url = format!("http://hooks.example.test:{}/", receiver.port());
    // 127.0.0.1 stands for the internet, all other addresses for the internal network.
    let resolver = TestResolver::new(&["127.0.0.1"]);
    let client = client(resolver.resolver(), &["127.0.0.1/32"], None);
    assert_eq!(post(&client, &url).await.unwrap(), 200);
    assert_eq!(receiver.connections(), 1);
    // The idle connection is not reused either, because the name has another address now.
    resolver.set(&["127.0.0.2"]);
    assert!(is_forbidden(&post(&client, &url).await));
    resolver.set(&["10.0.0.1", "169.254.169.254", "::1"]);
    assert!(is_forbidden(&post(&client, &url).await));
    resolver.set(&["127.0.0.1"]);
    assert_eq!(post(&client, &url).await.unwrap(), 200);
    assert_eq!(receiver.requests().len(), 2);
}

#[tokio::test]
async fn only_allowed_addresses_of_a_name_are_tried() {
    let receiver = Receiver::start();
    let port = receiver.port();
    let url = format!("http://both.example.test:{port}/");
    let resolver = TestResolver::new(&["::1", "10.0.0.1", "127.0.0.1"]);
    let client = client(resolver.resolver(), &["127.0.0.1/32"], None);
    assert_eq!(post(&client, &url).await.unwrap(), 200);
    // Here 127.0.0.9 is allowed, where nothing listens, and the receiver's address is not.
    let guarded = Client::new(
        AddressPolicy::new(vec!["127.0.0.9/32".parse().unwrap()]),
        TestResolver::new(&["127.0.0.9", "127.0.0.1"]).resolver(),
        None,
        "test",
    )
    .unwrap();
    let outcome = post(&guarded, &url).await;
    assert!(matches!(outcome, Err(SendError::Connect(_))), "{outcome:?}");
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn ip_literal_is_checked_without_resolution() {
    let receiver = Receiver::start();
    let port = receiver.port();
    let unused = Resolver::Function(Arc::new(|name| panic!("{name} was resolved")));
    let client = client(unused, &[], None);
    for host in
        ["127.0.0.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "[::ffff:7f00:1]", "①②⑦.0.0.1"]
    {
        let outcome = post(&client, &format!("http://{host}:{port}/")).await;
        assert!(is_forbidden(&outcome), "{host}: {outcome:?}");
    }
    for scheme in ["ftp", "file", "gopher", "ws"] {
        let outcome = post(&client, &format!("{scheme}://127.0.0.1:{port}/")).await;
        assert!(matches!(outcome, Err(SendError::Url(_))), "{scheme}: {outcome:?}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn idle_connection_is_reused_and_unknown_name_is_an_error() {
    let receiver = Receiver::start();
    let url = receiver.url("/");
    let client = client(Resolver::System, &["127.0.0.1/32"], None);
    for _ in 0..5 {
        assert_eq!(post(&client, &url).await.unwrap(), 200);
    }
    assert_eq!((receiver.connections(), receiver.requests().len()), (1, 5));
    let empty = TestResolver::new(&[]);
    let client = self::client(empty.resolver(), &[], None);
    assert!(matches!(post(&client, "http://nowhere.test/").await, Err(SendError::Name(_))));
}

#[tokio::test]
async fn certificate_must_be_trusted_and_match_the_name() {
    let certificate = issue_certificate("hooks.example.test");
    let receiver = Receiver::with_tls(certificate.server_config);
    let port = receiver.port();
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, certificate.authority_pem).unwrap();
    let resolver = TestResolver::new(&["127.0.0.1"]);
    let trusting = client(resolver.resolver(), &["127.0.0.1/32"], Some(&roots));
    assert_eq!(post(&trusting, &format!("https://hooks.example.test:{port}/")).await.unwrap(), 200);
    assert_eq!(
        post(&trusting, &format!("https://hooks.example.test.:{port}/")).await.unwrap(),
        200
    );
    let other = post(&trusting, &format!("https://other.example.test:{port}/")).await;
    assert!(matches!(other, Err(SendError::Tls(_))), "{other:?}");
    let untrusting = client(resolver.resolver(), &["127.0.0.1/32"], None);
    let unknown = post(&untrusting, &format!("https://hooks.example.test:{port}/")).await;
    assert!(matches!(unknown, Err(SendError::Tls(_))), "{unknown:?}");
    // A plain HTTP response to a TLS handshake is an error.
    let plain = Receiver::start();
    let outcome = post(&trusting, &format!("https://hooks.example.test:{}/", plain.port())).await;
    assert!(outcome.is_err());
    assert_eq!((receiver.requests().len(), plain.requests().len()), (2, 0));
}

/// Posts to a receiver that replies like this. Returns the outcome and the time that it took, on a
/// clock that jumps to the next timeout once the receiver has the request.
async fn post_on_a_paused_clock(reply: Reply) -> (Result<u16, SendError>, Duration) {
    let receiver = Receiver::with_handler(move |_| reply.clone());
    let url = receiver.url("/");
    let client = client(Resolver::System, &["127.0.0.1/32"], None);
    let started = tokio::time::Instant::now();
    let jump = async {
        let has_request = async || !receiver.requests().is_empty();
        wait_until_true(PATIENCE, "the receiver has the request", has_request).await;
        tokio::time::pause();
    };
    let (outcome, ()) = tokio::join!(post(&client, &url), jump);
    (outcome, started.elapsed())
}

#[tokio::test]
async fn hanging_and_slow_responses_time_out() {
    for reply in [Reply::Hang, Reply::SlowHead] {
        let (outcome, elapsed) = post_on_a_paused_clock(reply.clone()).await;
        tokio::time::resume();
        let error = outcome.unwrap_err().to_string();
        assert_eq!(error, "no response within 15 seconds", "{reply:?}");
        assert!(elapsed >= RESPONSE_TIMEOUT, "{reply:?}: {elapsed:?}");
        assert!(elapsed < RESPONSE_TIMEOUT + Duration::from_secs(5), "{reply:?}: {elapsed:?}");
    }
}

#[tokio::test]
async fn endless_body_is_a_success_that_ends_after_a_second() {
    let (outcome, elapsed) = post_on_a_paused_clock(Reply::Endless).await;
    assert_eq!(outcome.unwrap(), 200);
    assert!(elapsed < RESPONSE_TIMEOUT, "{elapsed:?}");
}
