//! Imports of large layers by the real program: all or nothing, also when it is killed.

use crate::{backup::sqlite_path, on_both_engines};
use groma_testkit::{
    API, Engine, TestServer, postgres, server::NO_RATE_LIMIT, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};
use std::{
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime},
};

on_both_engines! {
    killed_import_of_a_new_layer_leaves_nothing_that_anyone_sees
    killed_import_into_a_layer_changes_nothing
    readers_never_see_a_part_of_a_new_layer
    readers_never_see_a_part_of_an_update
    failed_import_leaves_nothing
}

/// Several transactions of a load.
const COUNT: usize = 30_500;

/// Points with distinct places, one per line. All have this value.
fn points(count: usize, value: &str) -> String {
    let line = |n: usize| {
        let at = [(n % 200) as f64 / 100.0, (n / 200) as f64 / 100.0];
        let geometry = json!({ "type": "Point", "coordinates": at });
        let properties = json!({ "value": value, "text": "x".repeat(100) });
        let point =
            json!({ "type": "Feature", "id": n, "geometry": geometry, "properties": properties });
        format!("{point}\n")
    };
    (0..count).map(line).collect()
}

/// A server, a token and the database.
struct Setup {
    server: TestServer,
    token: String,
    database: Database,
}

impl Setup {
    fn new(engine: Engine) -> Self {
        let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
        let (token, database) = (server.create_full_token(), Database::open(&server, engine));
        Self { server, token, database }
    }

    fn get(&self, path: &str) -> Value {
        let path = format!("{API}{path}");
        let response = self.server.geo().request("GET", &path).token(&self.token).send();
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    }

    /// The number of features of each layer, as the list of layers says.
    fn counts(&self) -> Vec<u64> {
        let layers = self.get("/layers")["content"].as_array().unwrap().clone();
        layers.iter().map(|layer| layer["featureCount"].as_u64().unwrap()).collect()
    }

    /// The value of the first and of the last feature.
    fn values(&self) -> [Value; 2] {
        let value = |n: usize| {
            let (x, y) = ((n % 200) as f64 / 100.0, (n / 200) as f64 / 100.0);
            let (e, path) = (0.001, "/layers/lots/features");
            let bbox = format!("{},{},{},{}", x - e, y - e, x + e, y + e);
            let found = self.get(&format!("{path}?bbox={bbox}"));
            found["features"][0]["properties"]["value"].clone()
        };
        [value(0), value(COUNT - 1)]
    }

    /// The events of the change feed about layers and features.
    fn events(&self) -> Vec<String> {
        let (mut events, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/changes?kinds=layer,geometry&limit=1000{after}");
            let page = self.server.get(&path, &self.token).ok();
            events.extend(page["content"].as_array().unwrap().clone());
            if page["more"] == false {
                break;
            }
            after = format!("&after={}", page["next"].as_str().unwrap());
        }
        let line = |event: &Value| {
            let data = &event["data"];
            let counts = [&data["created"], &data["updated"], &data["deleted"]];
            match counts.into_iter().map(Value::as_u64).collect::<Option<Vec<_>>>() {
                Some(counts) => format!("{} {counts:?}", event["event"].as_str().unwrap()),
                None => event["event"].as_str().unwrap().to_owned(),
            }
        };
        events.iter().map(line).collect()
    }

    /// Imports the file, and waits until the server reads this revision of the layer.
    fn import(&self, revision: u64) -> Value {
        let report = self.server.run(&["import", "layer", "lots.geojsonl", "--json"]).json();
        until(&json!(revision), || self.get("/layers")["content"][0]["revision"].clone());
        report
    }

    fn spawn_import(&self) -> Import {
        let mut command = self.server.program().command(&["import", "layer", "lots.geojsonl"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Import(command.spawn().unwrap())
    }
}

/// Waits until the server, which may read a state of some milliseconds ago, answers this.
fn until<T: PartialEq + std::fmt::Debug>(expected: &T, mut read: impl FnMut() -> T) {
    wait_until(PATIENCE, || match read() {
        found if found == *expected => Ok(()),
        found => Err(format!("{found:?} instead of {expected:?}")),
    });
}

/// A running import, which is killed when dropped.
struct Import(Child);

impl Import {
    /// Suspends the process where it is.
    fn suspend(&self) {
        let stop = format!("kill -STOP {}", self.0.id());
        assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        let status = self.0.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "the import had ended before it was killed");
    }

    fn is_running(&mut self) -> bool {
        match self.0.try_wait().unwrap() {
            None => true,
            Some(status) => {
                assert!(status.success(), "{status}");
                false
            }
        }
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The database behind the program's back.
enum Database {
    Sqlite(PathBuf),
    Postgres(String),
}

impl Database {
    fn open(server: &TestServer, engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::Sqlite(sqlite_path(server)),
            Engine::Postgres => Self::Postgres(server.database_url().to_owned()),
        }
    }

    fn number(&self, query: &str) -> i64 {
        match self {
            Self::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.query_row(query, [], |row| row.get(0)).unwrap()
            }
            Self::Postgres(url) => {
                let texts = postgres::query_texts(url, &format!("SELECT ({query})::text"));
                texts.unwrap()[0].parse().unwrap()
            }
        }
    }

    fn execute(&self, statement: &str) {
        match self {
            Self::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(Duration::from_secs(10)).unwrap();
                connection.execute_batch(statement).unwrap();
            }
            Self::Postgres(url) => postgres::execute(url, statement).unwrap(),
        }
    }

    fn features(&self) -> i64 {
        self.number("SELECT count(*) FROM features")
    }

    fn staged_layers(&self) -> i64 {
        self.number("SELECT count(*) FROM staged_layers")
    }

    /// Grows with what a transaction writes, before it commits. Reads do not change it.
    fn written(&self) -> Written {
        match self {
            // A large transaction writes to the log before it commits.
            Self::Sqlite(path) => {
                let log = PathBuf::from(format!("{}-wal", path.display()));
                Written::At(log.metadata().unwrap().modified().unwrap())
            }
            Self::Postgres(_) => Written::Bytes(self.number("SELECT pg_relation_size('features')")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    At(SystemTime),
    Bytes(i64),
}

impl Written {
    /// Whether much was written since.
    fn is_far_behind(self, now: Self) -> bool {
        match (self, now) {
            (Self::Bytes(before), Self::Bytes(now)) => now > before + before / 2,
            (before, now) => before != now,
        }
    }
}

fn killed_import_of_a_new_layer_leaves_nothing_that_anyone_sees(engine: Engine) {
    let setup = Setup::new(engine);
    setup.server.write_file("lots.geojsonl", points(COUNT, "old"));
    let import = setup.spawn_import();
    wait_until(PATIENCE, || {
        match setup.database.features() {
            0 => Err("nothing was written yet"),
            _ => Ok(()),
        }
        .map_err(str::to_owned)
    });
    import.suspend();
    let assert_nothing_is_visible = || {
        assert_eq!((setup.counts(), setup.events()), (vec![], vec![]));
        let found = setup.server.run(&["layer", "list", "--json"]).json();
        assert_eq!(found, json!([]));
        let missing = setup.server.run(&["export", "layer", "-", "--layer", "lots"]);
        missing.expect_error("layer `lots` not found");
    };
    assert_nothing_is_visible();
    import.kill();
    assert_nothing_is_visible();
    assert!(setup.database.features() > 0 && setup.database.staged_layers() == 1);
    // The lease of the dead import has not ended, but that does not matter to the next one.
    let report = setup.import(2);
    assert_eq!((&report["created"], &report["rejected"]), (&json!(COUNT), &json!([])));
    assert!(report["publishMillis"].is_u64(), "{report}");
    assert_eq!(setup.counts(), [COUNT as u64]);
    let created = format!("layer.updated [{COUNT}, 0, 0]");
    assert_eq!(setup.events(), ["layer.created", &created]);
    assert!(setup.database.features() > COUNT as i64);
    // As if ten minutes had passed: the next import of a new layer deletes what the dead one has left.
    setup.database.execute("UPDATE staged_layers SET lease_until = 1");
    setup.server.write_file("more.geojsonl", points(1, "old"));
    setup.server.run(&["import", "layer", "more.geojsonl"]).expect_success();
    assert_eq!(setup.database.staged_layers(), 0);
    assert_eq!(setup.database.features(), COUNT as i64 + 1);
}

fn killed_import_into_a_layer_changes_nothing(engine: Engine) {
    let setup = Setup::new(engine);
    setup.server.write_file("lots.geojsonl", points(COUNT, "old"));
    setup.import(2);
    let layer = setup.get("/layers/lots");
    let events = setup.events();
    setup.server.write_file("lots.geojsonl", points(COUNT, "new"));
    let before = setup.database.written();
    let import = setup.spawn_import();
    // All features are compared before the first is written.
    wait_until(PATIENCE * 3, || match setup.database.written() {
        now if before.is_far_behind(now) => Ok(()),
        now => Err(format!("from {before:?} to {now:?}")),
    });
    import.suspend();
    let assert_nothing_changed = || {
        assert_eq!(setup.get("/layers/lots"), layer);
        assert_eq!(
            (setup.values(), setup.events()),
            ([json!("old"), json!("old")], events.clone())
        );
    };
    assert_nothing_changed();
    import.kill();
    assert_nothing_changed();
    let report = setup.import(3);
    assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(COUNT)));
    assert_eq!(setup.values(), ["new", "new"]);
    let updated = format!("layer.updated [0, {COUNT}, 0]");
    assert_eq!(setup.events(), [events, vec![updated]].concat());
}

fn readers_never_see_a_part_of_a_new_layer(engine: Engine) {
    let setup = Setup::new(engine);
    setup.server.write_file("lots.geojsonl", points(COUNT, "old"));
    let mut import = setup.spawn_import();
    while import.is_running() {
        let counts = setup.counts();
        assert!(counts.is_empty() || counts == [COUNT as u64], "{counts:?}");
    }
    until(&vec![COUNT as u64], || setup.counts());
}

fn readers_never_see_a_part_of_an_update(engine: Engine) {
    let setup = Setup::new(engine);
    setup.server.write_file("lots.geojsonl", points(COUNT, "old"));
    setup.import(2);
    // The first half stays and changes, the second half is deleted, and one feature is new.
    let changed = points(COUNT / 2, "new");
    let added = points(COUNT + 1, "new").lines().last().unwrap().to_owned();
    setup.server.write_file("lots.geojsonl", format!("{changed}{added}\n"));
    let replace = ["import", "layer", "lots.geojsonl", "--mode", "replace", "--json"];
    let mut command = setup.server.program().command(&replace);
    let mut import = Import(command.stdout(Stdio::null()).spawn().unwrap());
    while import.is_running() {
        // The last one is read after the first one.
        let [first, last] = setup.values();
        assert!(first == "old" || last.is_null(), "{first} {last}");
        let counts = setup.counts();
        let (before, after) = (COUNT as u64, COUNT as u64 / 2 + 1);
        assert!(counts == [before] || counts == [after], "{counts:?}");
    }
    until(&[json!("new"), Value::Null], || setup.values());
    let counts = format!("layer.updated [1, {}, {}]", COUNT / 2, COUNT - COUNT / 2);
    assert_eq!(setup.events().last(), Some(&counts));
}

fn failed_import_leaves_nothing(engine: Engine) {
    let setup = Setup::new(engine);
    setup.server.write_file("lots.geojsonl", points(COUNT, "old"));
    let import = setup.spawn_import();
    wait_until(PATIENCE, || match setup.database.staged_layers() {
        0 => Err("the import has not begun".to_owned()),
        _ => Ok(()),
    });
    // Another layer takes the name meanwhile.
    setup.server.run(&["layer", "create", "Lots"]).expect_success();
    let mut import = import;
    let status = import.0.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    until(&vec![0], || setup.counts());
    assert_eq!((setup.database.features(), setup.database.staged_layers()), (0, 0));
    assert_eq!(setup.events(), ["layer.created"]);
}
