//! Settings > Webhooks, with a local receiver.

use super::Browser;
use crate::{on_both_engines, webhooks::LOCAL_RECEIVERS};
use groma_domain::webhook::SigningSecret;
use groma_testkit::{
    Receiver, TestServer, receiver::ReceivedRequest, receiver::Reply, wait::PATIENCE, wait_until,
};
use groma_webhooks::signature;

const PATH: &str = "/settings/webhooks";

/// Creates an endpoint; returns the path of its page and its secret, which is shown once.
#[track_caller]
fn create_endpoint(browser: &Browser, url: &str, events: &[&str]) -> (String, String) {
    let new = format!("{PATH}/new");
    let mut fields = vec![("url", url), ("description", "Accounting")];
    fields.extend(events.iter().map(|event| ("event", *event)));
    let path = browser.submit(&new, &new, &fields);
    let page = browser.page(&path);
    page.shows("Copy this secret now");
    assert_eq!(page.response.header("cache-control"), Some("no-store"));
    let secret = page.between("<code id=\"secret\">", "</code>").unwrap().to_owned();
    browser.page(&path).hides(&secret);
    (path, secret)
}

fn new_folder(browser: &Browser, name: &str) {
    browser.submit("/folders/new", "/folders/new", &[("name", name)]);
}

/// Waits until a page shows something.
#[track_caller]
fn wait_for(browser: &Browser, path: &str, wanted: &str) -> String {
    wait_until(PATIENCE, || {
        let text = browser.page(path).text;
        if text.contains(wanted) { Ok(text) } else { Err(text) }
    })
}

fn delivery_in(path: &str, text: &str) -> String {
    let mark = format!("{path}/deliveries/");
    let id = text.split(&mark).nth(1).unwrap().split('"').next().unwrap();
    format!("{mark}{id}")
}

on_both_engines! {
    fn endpoint_receives_an_event_and_its_page_shows_the_delivery(engine: Engine) {
        let server = TestServer::start_with(engine, &LOCAL_RECEIVERS);
        let browser = Browser::of_owner(&server);
        browser.page(PATH).shows("No endpoints yet");
        let receiver = Receiver::start();
        let (path, secret) = create_endpoint(&browser, &receiver.url("/hook"), &["folder.created"]);
        assert!(secret.starts_with("whsec_"), "{secret}");
        new_folder(&browser, "Chêne");
        let request = &receiver.wait_for(1)[0];
        assert_eq!(request.header("X-Service-Signature"), Some(&*signature::service_signature(&SigningSecret::parse(&secret).unwrap(), &request.body)));
        assert_eq!(request.json()["data"]["name"], "Chêne");
        // The attempt is recorded after the receiver has responded.
        let delivery = delivery_in(&path, &browser.page(&path).text);
        wait_for(&browser, &delivery, "received");
        let page = browser.page(&delivery);
        for shown in ["folder.created", &*request.id(), "Chêne", "delivered"] {
            page.shows(shown);
        }
        wait_for(&browser, PATH, "Delivering");
    }

    fn failed_delivery_is_shown_with_its_response_and_resent(engine: Engine) {
        let server = TestServer::start_with(engine, &LOCAL_RECEIVERS);
        let browser = Browser::of_owner(&server);
        let receiver = Receiver::with_handler(|_| Reply::with_body(503, "out for lunch"));
        let (path, _) = create_endpoint(&browser, &receiver.url("/hook"), &["*"]);
        new_folder(&browser, "Oak");
        let text = wait_for(&browser, &path, "503");
        wait_for(&browser, PATH, "Failing");
        let delivery = delivery_in(&path, &text);
        wait_for(&browser, &delivery, "out for lunch");
        receiver.set_handler(|_| Reply::status(200));
        browser.submit(&delivery, &format!("{delivery}/again"), &[]);
        wait_for(&browser, &delivery, "delivered");
        let ids: Vec<_> = receiver.wait_for(2).iter().map(ReceivedRequest::id).collect();
        assert_eq!(ids[0], ids[1], "resending keeps the id of the delivery");
        browser.submit(&path, &format!("{path}/redeliver"), &[("hours", "24")]);
        browser.page(&path).shows("No delivery has failed in that time.");
    }

    fn endpoint_is_tested_rotated_disabled_enabled_edited_and_deleted(engine: Engine) {
        let server = TestServer::start_with(engine, &LOCAL_RECEIVERS);
        let browser = Browser::of_owner(&server);
        let receiver = Receiver::start();
        let (path, old) = create_endpoint(&browser, &receiver.url("/hook"), &["budget.created", "budget.deleted"]);
        let delivery = browser.submit(&path, &format!("{path}/test"), &[]);
        assert_eq!(receiver.wait_for(1)[0].header("X-Service-Test"), Some("true"));
        wait_for(&browser, &delivery, "delivered");
        let rotate = format!("{path}/rotate");
        assert_eq!(browser.submit(&rotate, &rotate, &[("overlap", "24")]), path);
        let page = browser.page(&path);
        let new = page.between("<code id=\"secret\">", "</code>").unwrap().to_owned();
        page.shows("Old secret valid until");
        assert_eq!(page.response.header("cache-control"), Some("no-store"));
        assert_eq!(browser.page(&path).response.header("cache-control"), Some("private, no-cache"));
        assert_ne!(new, old);
        browser.submit(&path, &format!("{path}/disable"), &[]);
        browser.page(PATH).shows("Disabled");
        browser.submit(&path, &format!("{path}/enable"), &[]);
        browser.page(PATH).hides("Disabled");
        let edit = format!("{path}/edit");
        let fields = [("url", &*receiver.url("/hook2")), ("event", "folder.created"), ("event", "folder.updated")];
        browser.submit(&edit, &edit, &fields);
        let page = browser.page(&path);
        page.shows("/hook2");
        page.shows("folder.created, folder.updated");
        page.hides("Accounting");
        let delete = format!("{path}/delete");
        assert_eq!(browser.submit(&delete, &delete, &[]), PATH);
        assert_eq!(browser.get(&path).response.status, 404);
        browser.page(PATH).shows("No endpoints yet");
    }

    fn errors_of_an_endpoint_are_beside_their_fields(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        let new = format!("{PATH}/new");
        let fields = [("url", "http://receiver.test/x"), ("secret", "short"), ("description", "kept")];
        let wrong = browser.send_form(&new, &new, &fields);
        assert_eq!(wrong.response.status, 400);
        assert_eq!(wrong.response.header("cache-control"), Some("no-store"), "it repeats the secret");
        assert_eq!(wrong.error_of("url"), Some("Must be a URL that starts with https://"));
        assert_eq!(wrong.error_of("secret"), Some("Must have 16 to 256 characters"));
        wrong.shows("Choose at least one event, or all events.");
        wrong.shows("value=\"kept\"");
    }
}
