//! `groma copy`: everything, into an empty database, or nothing.

use super::{copy, lived_in::LivedIn, names, path, rows};
use crate::{
    database::{self, Engine},
    office::{Office, WORKSPACE},
    on_both_engines, sample,
};
use rusqlite::Connection;

fn other(engine: Engine) -> Engine {
    match engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    }
}

on_both_engines! {
    fn only_an_empty_database_takes_a_copy(engine: Engine) {
        let from = Office::closed(engine, &[]);
        from.create_workspace(WORKSPACE);
        let to = Office::closed(other(engine), &[]);
        to.create_workspace("Another");
        let before = rows::of(&to);
        let message = copy(&from, &to, &[]).fails();
        assert!(message.ends_with("is not empty; a copy goes into an empty database"), "{message}");
        rows::are_equal(&rows::of(&to), &before);
        // One that nothing was put into is empty.
        let mut empty = Office::closed(other(engine), &[]);
        empty.open();
        let served = copy(&from, &empty, &[]).fails();
        assert!(served.contains("another groma"), "{served}");
        assert_eq!(empty.close(), Some(0));
        copy(&from, &empty, &[]).succeeds();
        assert_eq!(empty.groma(&["workspace", "list", "--json"]).json()[0]["name"], WORKSPACE);
    }

    fn a_database_in_use_is_copied_as_a_rehearsal_alone(engine: Engine) {
        let from = LivedIn::open(engine);
        let mut to = Office::closed(other(engine), &crate::keeping::lived_in::ENVIRONMENT);
        let message = copy(&from.office, &to, &[]).fails();
        assert!(message.contains("another groma"), "{message}");
        copy(&from.office, &to, &["--rehearsal"]).succeeds();
        let endpoints = to.groma(&["webhook", "list", "--workspace", WORKSPACE, "--json"]).json();
        let endpoints = endpoints.as_array().unwrap();
        assert_eq!(endpoints.len(), 3);
        for endpoint in endpoints {
            assert_eq!(endpoint["enabled"], false, "{endpoint}");
        }
        let reasons: Vec<_> = endpoints.iter().filter_map(|one| one["disabledReason"].as_str()).collect();
        assert!(reasons.contains(&"This database is a copy, made while the original was in use"), "{reasons:?}");
        to.open();
        from.is_known_to(&to);
    }

    fn what_cannot_be_copied_leaves_the_other_empty(engine: Engine) {
        let from = Office::closed(engine, &[]);
        from.create_workspace(WORKSPACE);
        sample::fill(&from);
        // A shape that is none, or an id that comes twice: noticed behind many rows that went well.
        from.file("one.geojson", r#"{"type":"Point","coordinates":[1,2]}"#);
        from.groma(&["import", "layer", "one.geojson"]).succeeds();
        match engine {
            Engine::Sqlite => {
                let connection = Connection::open(path(&from)).unwrap();
                assert_eq!(connection.execute("UPDATE features SET geometry = x'0101'", []).unwrap(), 1);
            }
            Engine::Postgres => {
                let repeat = "DROP INDEX features_by_external_id;
                    UPDATE features SET external_id = 'same';
                    INSERT INTO features SELECT workspace_id, layer, seq + 1, gen_random_uuid(), 'same', NULL, NULL,
                        geom, NULL, properties, 0, 0 FROM features";
                database::execute(from.database(), repeat);
            }
        }
        let to = Office::closed(other(engine), &[]);
        copy(&from, &to, &[]).fails();
        match other(engine) {
            Engine::Sqlite => {
                let left = names(to.folder());
                assert!(left.iter().all(|name| name.ends_with(".serving") || name.ends_with(".migrating")), "{left:?}");
            }
            Engine::Postgres => {
                let left: usize = rows::of(&to).iter().filter(|(name, _)| *name != "sequences").map(|(_, rows)| rows.len()).sum();
                assert_eq!(left, 0);
            }
        }
    }
}

#[test]
fn wrong_words_are_wrong_usage() {
    let office = Office::closed(Engine::Sqlite, &[]);
    let own = office.database();
    for words in [
        &["copy"][..],
        &["copy", "--from", own],
        &["copy", "--to", own],
        &["copy", "--from", own, "--to", own],
        &["copy", "--from", "mysql://x", "--to", own],
        &["backup"],
        &["restore"],
    ] {
        office.groma(words).is_wrong_usage();
    }
    assert_eq!(names(office.folder()), [""; 0]);
}
