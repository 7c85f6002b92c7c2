//! Killed in the middle, again and again: a ledger at the writer and one at the receiver agree.
//!
//! The writer posts points that each make a folder's box grow, which is one version of the folder and
//! one event. Every version that there is at the end has to have come.

use super::{Hit, Receiver, create, open, receiver::PATIENCE};
use crate::{
    client::API,
    office::{Office, wait_until},
    on_both_engines,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

const FOLDERS: usize = 4;

/// How often it is killed: fewer times by default, so that everyone's tests stay quick.
fn rounds() -> usize {
    let asked = std::env::var("WEBHOOK_CRASHES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Posts until the program is gone; counts what was acknowledged.
fn write(office: &Office, token: &str, folder: usize, from: usize, acknowledged: &AtomicUsize) {
    let address = office.geo().authority();
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent: ureq::Agent = config.into();
    let url = format!("http://{address}{API}/geometries/geojson?folder=F{folder}");
    for n in from.. {
        let point = json!({ "type": "Point", "coordinates": [n as f64 * 0.000_1, folder] });
        let ask = agent.post(&url).header("Authorization", format!("Bearer {token}"));
        match ask.header("Content-Type", "application/json").send(point.to_string()) {
            Ok(answer) if answer.status() == 200 => acknowledged.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
    }
}

on_both_engines! {
    fn every_committed_event_is_delivered(engine: Engine) {
        let mut office = open(engine);
        let receiver = Receiver::start();
        let token = office.master_token();
        let rows: Vec<_> = (0..FOLDERS).map(|n| json!({ "reference": format!("F{n}"), "name": "x" })).collect();
        office.import("folders", &rows);
        create(&office, &receiver.url("/"), &["--events", "folder.updated"]);
        let acknowledged = AtomicUsize::new(0);
        let rounds = rounds();
        for round in 0..rounds {
            let (shared, counted) = (&office, &acknowledged);
            let before = counted.load(Ordering::Relaxed);
            std::thread::scope(|scope| {
                for folder in 0..FOLDERS {
                    let token = token.as_str();
                    scope.spawn(move || write(shared, token, folder, round * 10_000, counted));
                }
                // In the middle, at another point each round.
                wait_until(PATIENCE, || {
                    let now = counted.load(Ordering::Relaxed) - before;
                    if now >= 5 + round % 23 { Ok(()) } else { Err(format!("{now} acknowledged")) }
                });
                shared.program().signal("KILL");
            });
            office.kill();
            office.open();
        }
        let versions: Vec<u64> = (0..FOLDERS)
            .map(|n| office.get(&format!("/folders/F{n}"), &token).ok()["version"].as_u64().unwrap())
            .collect();
        let committed: u64 = versions.iter().map(|version| version - 1).sum();
        let acknowledged = acknowledged.load(Ordering::Relaxed) as u64;
        assert!(committed >= acknowledged, "{acknowledged} acknowledged, {committed} there");
        let version = |hit: &Hit| {
            let data = &hit.json()["data"];
            (data["reference"].as_str().unwrap().to_owned(), data["version"].as_u64().unwrap())
        };
        let expected: BTreeSet<_> = versions
            .iter()
            .enumerate()
            .flat_map(|(n, last)| (2..=*last).map(move |version| (format!("F{n}"), version)))
            .collect();
        let hits = receiver.wait_until("every version", |hits| {
            hits.iter().map(version).collect::<BTreeSet<_>>().is_superset(&expected)
        });
        let came: BTreeSet<_> = hits.iter().map(version).collect();
        assert_eq!(came, expected, "nothing came that was not committed");
        let ids: BTreeSet<_> = hits.iter().map(Hit::id).collect();
        assert_eq!(ids.len() as u64, committed, "one delivery for each event");
        println!(
            "{engine:?}: {rounds} kills, {acknowledged} acknowledged, {committed} committed, {} repeats",
            hits.len() - ids.len()
        );
    }
}
