//! The guarded client: addresses at every attempt, kept connections, certificates.

use bytes::Bytes;
use groma_testkit::{Receiver, tls::issue_certificate};
use groma_webhooks::{AddressPolicy, Client, Resolver, client::SendError};
use std::{
    net::IpAddr,
    path::Path,
    sync::{Arc, Mutex},
};

/// A name service that a test can change at any moment.
#[derive(Clone)]
struct Names(Arc<Mutex<Vec<IpAddr>>>);

impl Names {
    fn of(addresses: &[&str]) -> Self {
        let names = Self(Arc::default());
        names.set(addresses);
        names
    }

    fn set(&self, addresses: &[&str]) {
        *self.0.lock().unwrap() = addresses.iter().map(|text| text.parse().unwrap()).collect();
    }

    fn resolver(&self) -> Resolver {
        let names = self.0.clone();
        Resolver::Function(Arc::new(move |_| names.lock().unwrap().clone()))
    }
}

fn client(resolver: Resolver, networks: &[&str], roots: Option<&Path>) -> Client {
    let networks = networks.iter().map(|text| text.parse().unwrap()).collect();
    Client::new(AddressPolicy::new(networks), resolver, roots, "test").unwrap()
}

async fn post(client: &Client, url: &str) -> Result<u16, SendError> {
    let (answer, _) = client.post(url, Vec::new(), Bytes::from_static(b"{}")).await;
    answer.map(|answer| answer.status)
}

fn is_refused<T: std::fmt::Debug>(outcome: &Result<T, SendError>) -> bool {
    matches!(outcome, Err(SendError::Forbidden(_)))
}

#[tokio::test]
async fn a_name_that_changes_between_two_attempts_changes_nothing() {
    let receiver = Receiver::start();
    let url = format!("http://hooks.example.test:{}/", receiver.port());
    // What is allowed here stands for the internet; the other address for the inside.
    let names = Names::of(&["127.0.0.1"]);
    let client = client(names.resolver(), &["127.0.0.1/32"], None);
    assert_eq!(post(&client, &url).await.unwrap(), 200);
    assert_eq!(receiver.connections(), 1);
    // Rebound, the kept connection does not carry it either: its name is another's now.
    names.set(&["127.0.0.2"]);
    assert!(is_refused(&post(&client, &url).await));
    names.set(&["10.0.0.1", "169.254.169.254", "::1"]);
    assert!(is_refused(&post(&client, &url).await));
    names.set(&["127.0.0.1"]);
    assert_eq!(post(&client, &url).await.unwrap(), 200);
    assert_eq!(receiver.requests().len(), 2);
}

#[tokio::test]
async fn of_several_addresses_only_those_that_are_allowed_are_tried() {
    let receiver = Receiver::start();
    let port = receiver.port();
    let url = format!("http://both.example.test:{port}/");
    let names = Names::of(&["::1", "10.0.0.1", "127.0.0.1"]);
    let client = client(names.resolver(), &["127.0.0.1/32"], None);
    assert_eq!(post(&client, &url).await.unwrap(), 200);
    // A global address with a private one beside it: the private one is never gone to. Nothing
    // listens at the global one, which is the receiver's network turned around.
    let guarded = Client::new(
        AddressPolicy::new(vec!["127.0.0.9/32".parse().unwrap()]),
        Names::of(&["127.0.0.9", "127.0.0.1"]).resolver(),
        None,
        "test",
    )
    .unwrap();
    let outcome = post(&guarded, &url).await;
    assert!(matches!(outcome, Err(SendError::Connect { .. })), "{outcome:?}");
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_literal_address_is_checked_although_nothing_resolves_it() {
    let receiver = Receiver::start();
    let port = receiver.port();
    let never = Resolver::Function(Arc::new(|name| panic!("{name} is no name")));
    let client = client(never, &[], None);
    for host in
        ["127.0.0.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.1", "[::ffff:7f00:1]", "①②⑦.0.0.1"]
    {
        let outcome = post(&client, &format!("http://{host}:{port}/")).await;
        assert!(is_refused(&outcome), "{host}: {outcome:?}");
    }
    for scheme in ["ftp", "file", "gopher", "ws"] {
        let outcome = post(&client, &format!("{scheme}://127.0.0.1:{port}/")).await;
        assert!(matches!(outcome, Err(SendError::Url(_))), "{scheme}: {outcome:?}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_delivery_and_made_anew_when_it_ended() {
    let receiver = Receiver::start();
    let url = receiver.url("/");
    let client = client(Resolver::System, &["127.0.0.1/32"], None);
    for _ in 0..5 {
        assert_eq!(post(&client, &url).await.unwrap(), 200);
    }
    assert_eq!((receiver.connections(), receiver.requests().len()), (1, 5));
    let unknown = Names::of(&[]);
    let lost = self::client(unknown.resolver(), &[], None);
    assert!(matches!(post(&lost, "http://nowhere.test/").await, Err(SendError::Name(_))));
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_of_that_name() {
    let certificate = issue_certificate("hooks.example.test");
    let receiver = Receiver::with_tls(certificate.server_config);
    let port = receiver.port();
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, certificate.authority_pem).unwrap();
    let names = Names::of(&["127.0.0.1"]);
    let trusting = client(names.resolver(), &["127.0.0.1/32"], Some(&roots));
    assert_eq!(post(&trusting, &format!("https://hooks.example.test:{port}/")).await.unwrap(), 200);
    assert_eq!(
        post(&trusting, &format!("https://hooks.example.test.:{port}/")).await.unwrap(),
        200
    );
    let other = post(&trusting, &format!("https://other.example.test:{port}/")).await;
    assert!(matches!(other, Err(SendError::Tls(_))), "{other:?}");
    let doubting = client(names.resolver(), &["127.0.0.1/32"], None);
    let unknown = post(&doubting, &format!("https://hooks.example.test:{port}/")).await;
    assert!(matches!(unknown, Err(SendError::Tls(_))), "{unknown:?}");
    // Plain HTTP where TLS is expected is no answer.
    let plain = Receiver::start();
    let outcome = post(&trusting, &format!("https://hooks.example.test:{}/", plain.port())).await;
    assert!(outcome.is_err());
    assert_eq!((receiver.requests().len(), plain.requests().len()), (2, 0));
}
