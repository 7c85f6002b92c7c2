//! The drill: an office moves from one engine to the other and back, and nothing is lost on the way:
//! every row is the same, and so is every answer.

use super::{copy, lived_in, lived_in::LivedIn, rows};
use crate::{
    database::Engine,
    office::Office,
    on_both_engines,
    webhooks::receiver::{Hit, Reply},
};
use serde_json::Value;

fn other(engine: Engine) -> Engine {
    match engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    }
}

/// Moves a closed office there and back; gives both copies.
#[track_caller]
fn there_and_back(office: &Office, engine: Engine) -> [Office; 2] {
    let [there, back] =
        [other(engine), engine].map(|engine| Office::closed(engine, &lived_in::ENVIRONMENT));
    copy(office, &there, &[]).succeeds();
    copy(&there, &back, &[]).succeeds();
    rows::are_equal(&rows::of(office), &rows::of(&back));
    // And once more, so that the other engine is compared with itself too.
    let again = Office::closed(other(engine), &lived_in::ENVIRONMENT);
    copy(&back, &again, &[]).succeeds();
    rows::are_equal(&rows::of(&there), &rows::of(&again));
    [there, back]
}

on_both_engines! {
    fn an_office_moves_there_and_back(engine: Engine) {
        let mut life = LivedIn::open(engine);
        let answers = life.answers();
        let waiting = life.receiver.wait_for(1);
        assert_eq!(life.office.close(), Some(0));
        let tried = Office::closed(other(engine), &[]);
        let report = copy(&life.office, &tried, &["--json"]).json();
        for (table, rows) in report["tables"].as_object().unwrap() {
            assert_ne!(rows, &Value::from(0), "nothing of {table} was tried");
        }
        for mut copied in there_and_back(&life.office, engine) {
            life.receiver.answer(|_| Reply::status(500));
            let seen = life.receiver.hits().len();
            copied.open();
            lived_in::are_equal(&answers, &lived_in::answers(&copied, &life.token));
            life.is_known_to(&copied);
            // What waited goes on, the same to the letter and signed with the same secret.
            copied.groma(&["webhook", "redeliver", &waiting[0].id()]).succeeds();
            let hits = life.receiver.wait_for(seen + 1);
            let said = |hit: &Hit| (hit.path.clone(), hit.id(), hit.body.clone(), hit.header("x-service-signature").map(str::to_owned));
            assert_eq!(said(&hits[seen]), said(&waiting[0]));
            // Numbers and places go on behind those that were given.
            copied.import("folders", &[serde_json::json!({ "reference": "LATER", "name": "Later" })]);
            let folders = copied.get("/folders?limit=100", &life.token).column("reference");
            assert_eq!(folders.last().map(String::as_str), Some("LATER"));
            copied.groma(&["layer", "create", "Later"]).succeeds();
            assert_eq!(copied.close(), Some(0));
        }
    }
}

#[test]
fn the_demonstration_is_backed_up_and_restored_and_moves_there_and_back() {
    let mut office = Office::closed(Engine::Sqlite, &lived_in::ENVIRONMENT);
    let token = office.open_demo();
    let answers = lived_in::answers(&office, &token);
    let file = office.folder().join("backup.db");
    super::backup(&office, &file, &[]).succeeds();
    assert_eq!(office.close(), Some(0));
    let mut restored = Office::closed(Engine::Sqlite, &lived_in::ENVIRONMENT);
    super::restore(&restored, &file, &[]).succeeds();
    rows::are_equal(&rows::of_sqlite(&file), &rows::of(&restored));
    restored.open();
    lived_in::are_equal(&answers, &lived_in::answers(&restored, &token));
    for mut copied in there_and_back(&office, Engine::Sqlite) {
        copied.open();
        lived_in::are_equal(&answers, &lived_in::answers(&copied, &token));
    }
}
