//! What other senders of webhooks have got wrong, each as a promise of ours.

use super::{
    Receiver, Reply, change, create, delete, id, names, open, receiver::PATIENCE, wait_for,
    webhook, webhook_json,
};
use crate::on_both_engines;
use serde_json::{Value, json};

on_both_engines! {
    fn a_success_whose_body_never_ends_is_a_success_once(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::Endless);
        create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let delivery = receiver.wait_for(1)[0].id();
        let shown = wait_for(&office, &delivery, |shown| shown["state"] == "delivered");
        assert_eq!((&shown["attempts"], &shown["lastStatus"]), (&json!(1), &json!(200)));
        // Another one goes through after it, and it is not among what came twice.
        receiver.answer(|_| Reply::status(200));
        change(&office, "G", "x");
        assert_eq!(receiver.wait_for(2).iter().filter(|hit| hit.id() == delivery).count(), 1);
    }

    fn an_endpoint_that_is_gone_is_disabled_and_not_asked_again(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::status(410));
        let endpoint = create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let delivery = receiver.wait_for(1)[0].id();
        let disabled = crate::office::wait_until(PATIENCE, || {
            let shown = webhook_json(&office, &["list"]);
            if shown[0]["enabled"] == false { Ok(shown[0].clone()) } else { Err(shown.to_string()) }
        });
        assert_eq!(disabled["disabledReason"], "The endpoint answered 410 Gone");
        // While it is disabled nothing is queued for it.
        change(&office, "G", "x");
        let shown = wait_for(&office, &delivery, |shown| shown["attempts"] == 1);
        assert_eq!(shown["state"], "waiting");
        webhook(&office, &["redeliver", &delivery]).succeeds();
        let other = Receiver::start();
        create(&office, &other.url("/"), &[]);
        change(&office, "H", "x");
        other.wait_for(1);
        assert_eq!(receiver.hits().len(), 1);
        // Enabled again, what waited goes on.
        receiver.answer(|_| Reply::status(200));
        webhook(&office, &["enable", id(&endpoint)]).succeeds();
        wait_for(&office, &delivery, |shown| shown["state"] == "delivered");
        change(&office, "I", "x");
        let hits = receiver.wait_for(3);
        assert_eq!(hits.len(), 3, "{:?}", names(&hits));
        assert_eq!(webhook_json(&office, &["list"])[0]["disabledReason"], Value::Null);
    }

    fn what_waits_for_a_deleted_endpoint_is_never_sent(engine: Engine) {
        let office = open(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let receiver = Receiver::answering(|_| Reply::status(500));
        let endpoint = create(&office, &receiver.url("/"), &[]);
        for n in 0..5 {
            change(&office, &format!("F{n}"), "x");
        }
        let hits = receiver.wait_for(5);
        wait_for(&office, &hits[4].id(), |shown| shown["attempts"] == 1);
        assert_eq!(delete(&office, &token, id(&endpoint)).status, 204);
        let gone = format!("delivery `{}` not found", hits[0].id());
        crate::office::wait_until(PATIENCE, || {
            let done = webhook(&office, &["redeliver", &hits[0].id()]);
            if done.code == Some(1) { done.fails_with(&gone); Ok(()) } else { Err(done.stdout) }
        });
        // Past the first wait of five seconds: another endpoint's second attempt tells the time.
        let clock = Receiver::answering(|_| Reply::status(500));
        create(&office, &clock.url("/"), &[]);
        change(&office, "Z", "x");
        clock.wait_for(2);
        assert_eq!(receiver.hits().len(), 5);
    }

    fn endpoints_that_hang_cost_the_others_nothing_and_are_cut_off(engine: Engine) {
        let office = open(engine);
        let dead = Receiver::answering(|_| Reply::Silence);
        for n in 0..10 {
            create(&office, &dead.url(&format!("/{n}")), &[]);
        }
        let live = Receiver::start();
        create(&office, &live.url("/"), &[]);
        let rows: Vec<_> = (0..300).map(|n| json!({ "name": format!("Folder {n}") })).collect();
        office.import("folders", &rows);
        // All of these arrive before the first attempt at a dead one can have ended.
        live.wait_for(300);
        let waiting = webhook_json(&office, &["deliveries", "--state", "delivered", "--limit", "10000"]);
        assert!(waiting.as_array().unwrap().len() <= 300);
        let first = dead.wait_for(1)[0].id();
        let shown = wait_for(&office, &first, |shown| shown["attempts"] == 1);
        assert_eq!(shown["lastError"], "no answer within 15 seconds");
        let took = shown["tried"][0]["millis"].as_u64().unwrap();
        assert!((15_000..20_000).contains(&took), "less than a lease: {took}");
    }

    fn a_receiver_that_drips_its_head_is_cut_off_too(engine: Engine) {
        let office = open(engine);
        // No HTTP at all, one byte at a time, for longer than an attempt may take.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || drip(stream));
            }
        });
        let endpoint = create(&office, &format!("http://{address}/"), &[]);
        change(&office, "F", "x");
        let shown = crate::office::wait_until(PATIENCE, || {
            let shown = webhook_json(&office, &["deliveries", id(&endpoint)]);
            if shown[0]["attempts"] == 1 { Ok(shown[0].clone()) } else { Err(shown.to_string()) }
        });
        assert_eq!(shown["lastError"], "no answer within 15 seconds");
    }
}

fn drip(mut stream: std::net::TcpStream) {
    use std::io::{Read, Write};
    // Not before something was asked: an answer to nothing is another fault.
    if stream.read(&mut [0; 1024]).is_err() {
        return;
    }
    let head = b"HTTP/1.1 200 OK\r\nX-Drip: ".iter().copied().chain(std::iter::repeat(b'x'));
    for byte in head {
        if stream.write_all(&[byte]).is_err() {
            return;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
}
