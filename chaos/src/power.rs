//! A power cut loses all unsynced writes, so a write must be synced before it is acknowledged. The
//! scenario traces the system calls of the process and of PostgreSQL, and checks that a sync ends
//! between every two responses.

use crate::{
    Result, Scale, ensure,
    fixture::Fixture,
    is_installed,
    ledger::{Ledger, feature},
    load::Load,
    report::ScenarioResult,
    trace::Trace,
};
use groma_testkit::{Engine, http::Request, postgres};
use std::sync::Arc;

const FAULT: &str = "power cut (unsynced writes lost)";

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let mut results = Vec::new();
    for engine in Engine::ALL {
        results.push(count_syncs(engine, scale.pick(20, 300)).await?);
    }
    Ok(results)
}

async fn count_syncs(engine: Engine, writes: u64) -> Result<ScenarioResult> {
    if !is_installed("strace") {
        return Ok(ScenarioResult::skipped(FAULT, &engine, "strace is not installed"));
    }
    if engine == Engine::Postgres
        && postgres::query_text(&postgres::server_url()?, "SHOW fsync")? != "on"
    {
        return Ok(ScenarioResult::skipped(FAULT, &engine, "this PostgreSQL runs with fsync off"));
    }
    let fixture = Fixture::new(engine);
    // No endpoint, because the syncs of deliveries could be mistaken for those of writes.
    let server = fixture.serve().await?;
    let ledger = Arc::new(Ledger::default());
    // Concurrent writes first, to open all database connections.
    let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
    ledger.wait_for(0, 60).await?;
    load.stop().await;
    let mut processes = vec![server.id()];
    if engine == Engine::Postgres {
        let backends = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
               OR backend_type IN ('walwriter', 'checkpointer', 'background writer')";
        let found = postgres::query_text(fixture.database_url(), backends)?;
        processes.extend(found.split(' ').filter_map(|pid| pid.parse::<u32>().ok()));
    }
    let file = fixture.directory().join("trace");
    let options = ["-s", "20", "-e", "trace=fsync,fdatasync,writev,sendto,write"];
    let trace = Trace::attach(&processes, &options, &file).await?;
    let before = ledger.acknowledged();
    for _ in 0..writes {
        let n = ledger.begin(0);
        let request =
            Request::post("/geometries/geojson?folder=F0", fixture.token(), &feature(0, n));
        let response = request.send(server.geo().address()).await?;
        ensure(response.status == 200, || response.text())?;
        ledger.acknowledge(0, n);
    }
    trace.detach()?;
    let (responses, unsynced, syncs) = count_trace(&std::fs::read_to_string(file)?);
    ensure(responses == writes, || format!("the trace has {responses} of {writes} responses"))?;
    ensure(unsynced == 0, || {
        format!("{unsynced} of {responses} writes were acknowledged without a sync")
    })?;
    ledger.check_acknowledged(&fixture)?;
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged() - before,
        details: format!("{syncs} syncs, at least one before each response"),
        ..ScenarioResult::new(FAULT, &engine, writes)
    })
}

/// The numbers of responses, of responses without a sync before them, and of syncs.
fn count_trace(trace: &str) -> (u64, u64, u64) {
    let (mut responses, mut unsynced, mut syncs, mut since) = (0, 0, 0, 0);
    for line in trace.lines() {
        let is_sync = line.contains("fsync") || line.contains("fdatasync");
        if is_sync && line.ends_with("= 0") {
            syncs += 1;
            since += 1;
        } else if line.contains("HTTP/1.1 200 OK") {
            responses += 1;
            unsynced += u64::from(since == 0);
            since = 0;
        }
    }
    (responses, unsynced, syncs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_without_a_finished_sync_is_counted() {
        let trace = "\
10 fdatasync(7)                     = 0
11 writev(9, [{iov_base=\"HTTP/1.1 200 OK\\r\\ncon\"..., iov_len=800}], 1) = 800
10 fdatasync(7 <unfinished ...>
11 writev(9, [{iov_base=\"HTTP/1.1 200 OK\\r\\ncon\"..., iov_len=800}], 1) = 800
10 <... fdatasync resumed>)         = 0
11 writev(9, [{iov_base=\"HTTP/1.1 200 OK\\r\\ncon\"..., iov_len=800}], 1) = 800
10 fdatasync(7)                     = -1 EIO (Input/output error)
11 writev(9, [{iov_base=\"HTTP/1.1 200 OK\\r\\ncon\"..., iov_len=800}], 1) = 800
";
        assert_eq!(count_trace(trace), (4, 2, 2));
    }
}
