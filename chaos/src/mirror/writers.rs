//! Writers that change records and features by the API, the web application and commands.

use super::{Journal, Target};
use crate::{
    Result, ensure,
    fixture::Fixture,
    login::{form_token, log_in},
};
use groma_testkit::{
    API,
    http::{Request, percent_encode},
    server::{OWNER, PASSWORD},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// The pause of a writer between two requests.
const PAUSE: Duration = Duration::from_millis(5);
/// More features than get an event each.
const MANY: usize = 1_100;

pub(super) struct Writers {
    target: Target,
    disconnected: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<Result>>,
}

/// What writers have seen.
pub(super) struct Counts {
    /// Requests without a response.
    pub(super) disconnected: u64,
}

/// One writer, which sends one request at a time.
struct Writer {
    target: Target,
    journal: Arc<Journal>,
    disconnected: Arc<AtomicU64>,
    number: usize,
}

impl Writers {
    pub(super) async fn start(
        target: &Target,
        fixture: &Arc<Fixture>,
        journal: &Arc<Journal>,
    ) -> Result<Self> {
        let disconnected = Arc::new(AtomicU64::new(0));
        let writer = |number| Writer {
            target: target.clone(),
            journal: journal.clone(),
            disconnected: disconnected.clone(),
            number,
        };
        let cookies = log_in(target.address(0)[0], OWNER, PASSWORD.trim_end()).await?;
        let tasks = vec![
            tokio::spawn(writer(0).change_records()),
            tokio::spawn(writer(1).change_records()),
            tokio::spawn(writer(2).change_features()),
            tokio::spawn(writer(3).submit_forms(cookies)),
            tokio::spawn(run_commands(target.clone(), fixture.clone())),
        ];
        Ok(Self { target: target.clone(), disconnected, tasks })
    }

    pub(super) async fn stop(self) -> Result<Counts> {
        self.target.is_stopped.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await??;
        }
        Ok(Counts { disconnected: self.disconnected.load(Ordering::Relaxed) })
    }
}

impl Writer {
    /// Sends a request to the main (0) or geo (1) address of one of the processes. `None` without a response.
    async fn send(&self, turn: usize, address: usize, request: &Request) -> Result<Option<Value>> {
        tokio::time::sleep(PAUSE).await;
        let start = Instant::now();
        let Ok(response) = request.send(self.target.address(turn)[address]).await else {
            self.disconnected.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        };
        match response.status {
            200 => {
                let body = response.json();
                self.journal.acknowledge(&body, start);
                for result in body["results"].as_array().into_iter().flatten() {
                    self.journal.acknowledge(result, start);
                }
                Ok(Some(body))
            }
            204 | 303 => Ok(Some(Value::Null)),
            // The request was sent again after it had been done, or its folder was not created.
            400 | 404 | 409 => Ok(None),
            status => Err(format!("{status}: {}", response.text()).into()),
        }
    }

    /// Creates folders with records, changes them, archives them, and deletes most of them.
    async fn change_records(self) -> Result {
        let token = self.target.token.clone();
        for turn in 0.. {
            if self.target.is_stopped() {
                break;
            }
            let folder = format!("R{}-{turn}", self.number);
            let body = json!({ "reference": folder, "name": "New", "externalId": folder });
            self.send(turn, 0, &Request::post("/folders", &token, &body)).await?;
            let budget =
                json!({ "reference": folder, "folder": folder, "name": "Field", "amount": "900" });
            self.send(turn, 0, &Request::post("/budgets", &token, &budget)).await?;
            let path = format!("/folders/{folder}");
            let name = json!({ "name": format!("Changed {turn}"), "tags": ["a"] });
            self.send(turn, 0, &Request::patch(&path, &token, &name)).await?;
            let operations: Vec<Value> = (0..10).map(|n| operation(&folder, n)).collect();
            self.send(turn, 0, &Request::post("/bulk", &token, &json!(operations))).await?;
            let upsert = json!({ "externalId": folder, "name": "Upserted" });
            let upsert = Request::post("/folders?match=externalId", &token, &upsert);
            self.send(turn, 0, &upsert).await?;
            for action in ["archive", "unarchive"] {
                let path = format!("{API}{path}/{action}");
                self.send(turn, 0, &Request::new("POST", &path).token(&token)).await?;
            }
            if turn % 4 > 0 {
                self.send(turn, 0, &Request::delete(&path, &token)).await?;
            }
        }
        Ok(())
    }

    /// Posts features to two layers and folders, moves and deletes them, one by one or many at once.
    async fn change_features(self) -> Result {
        let token = self.target.token.clone();
        for turn in 0.. {
            if self.target.is_stopped() {
                break;
            }
            let folder = format!("F{}", turn % 3);
            let x = turn as f64 / 1000.0;
            let many = turn % 25 == 24;
            let layer = if many || turn % 2 == 0 { "?layer=survey-points&" } else { "?" };
            let count = if many { MANY } else { 1 + turn % 3 };
            let features: Vec<Value> =
                (0..count).map(|n| point((turn * 2 + n) % 1500, x)).collect();
            let body = json!({ "type": "FeatureCollection", "features": features });
            let path = format!("/geometries/geojson{layer}folder={folder}");
            let posted = self.send(turn, 1, &Request::post(&path, &token, &body)).await?;
            let geometry = posted
                .filter(|_| turn % 5 == 0)
                .map(|posted| posted["geometries"][0]["id"].clone());
            if let Some(id) = geometry.as_ref().and_then(Value::as_str) {
                let path = format!("/geometries/{id}");
                self.send(turn, 1, &Request::delete(&path, &token)).await?;
            }
        }
        Ok(())
    }

    /// Creates folders in the web application.
    async fn submit_forms(self, cookies: String) -> Result {
        for turn in 0.. {
            if self.target.is_stopped() {
                break;
            }
            let page = Request::new("GET", "/folders/new").header("Cookie", &cookies);
            let Ok(page) = page.send(self.target.address(turn)[0]).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let form = percent_encode(&form_token(&page.text())?);
            let save = Request::new("POST", "/folders/new")
                .header("Cookie", &cookies)
                .header("Origin", "http://test")
                .header("Content-Type", "application/x-www-form-urlencoded")
                .body(format!("_csrf={form}&name=Web+{turn}"));
            self.send(turn, 0, &save).await?;
        }
        Ok(())
    }
}

/// An operation of a bulk request on the records of a folder.
fn operation(folder: &str, n: usize) -> Value {
    let reference = format!("{folder}-{}", n / 2);
    match n % 2 {
        0 => {
            json!({ "op": "create", "kind": "expense", "data": { "reference": reference, "folder": folder,
            "budget": folder, "unitAmount": "12.50", "incurredOn": "2026-05-04" } })
        }
        _ => json!({ "op": "upsert", "kind": "assignment", "match": "reference", "data": {
            "reference": reference, "folder": folder, "title": format!("Stake out {n}") } }),
    }
}

fn point(id: usize, x: f64) -> Value {
    json!({ "type": "Feature", "id": id, "properties": { "x": x },
        "geometry": { "type": "Point", "coordinates": [x, 48.0] } })
}

/// Imports and archives folders by commands.
async fn run_commands(target: Target, fixture: Arc<Fixture>) -> Result {
    let run = move || -> Result {
        for turn in 0_u32.. {
            if target.is_stopped() {
                break;
            }
            let rows = [
                json!({ "reference": "C1", "name": format!("Imported {turn}") }),
                json!({ "reference": format!("C-{turn}"), "name": "Imported" }),
            ];
            let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
            let file = fixture.write_file("mirror.ndjson", lines);
            let file = file.to_str().ok_or("a path that is no text")?;
            fixture.run_in_workspace(&["import", "folders", file])?;
            fixture.run_in_workspace(&["archive", "folder", &format!("C-{turn}")])?;
            ensure(turn < 100_000, || "too many commands".to_owned())?;
        }
        Ok(())
    };
    tokio::task::spawn_blocking(run).await?
}
