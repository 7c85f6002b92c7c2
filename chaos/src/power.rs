//! A power cut takes what was not synced. So what is acknowledged has to be synced before: the system
//! calls of the program, and of PostgreSQL's own processes, are listed in their order, and between two
//! answers there has to be a sync that has ended.

use crate::{
    Outcome, Scale, ensure,
    http::Ask,
    is_installed,
    ledger::{Ledger, feature},
    load::Load,
    office::{self, Engine, Office},
    report::Proof,
    trace::Trace,
};
use std::sync::Arc;

const FAULT: &str = "power cut (unsynced writes lost)";

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let mut proofs = Vec::new();
    for engine in Engine::BOTH {
        proofs.push(count_syncs(engine, scale.pick(20, 300)).await?);
    }
    Ok(proofs)
}

async fn count_syncs(engine: Engine, writes: u64) -> Outcome<Proof> {
    if !is_installed("strace") {
        return Ok(Proof::skipped(FAULT, &engine, "strace is not installed"));
    }
    if engine == Engine::Postgres && office::text(&office::server()?, "SHOW fsync").await? != "on" {
        return Ok(Proof::skipped(FAULT, &engine, "this PostgreSQL is set to sync nothing"));
    }
    let office = Office::open(engine).await?;
    // No endpoint: what is written about deliveries is synced too, and would be taken for a change.
    let program = office.serve().await?;
    let ledger = Arc::new(Ledger::default());
    // A crowd first, so that every connection there will be is there.
    let load = Load::start(&ledger, office.token(), &[program.geo]);
    ledger.wait_for(0, 60).await?;
    load.stop().await;
    let mut processes = vec![program.id()];
    if engine == Engine::Postgres {
        let backends = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
               OR backend_type IN ('walwriter', 'checkpointer', 'background writer')";
        let found = office::text(office.database(), backends).await?;
        processes.extend(found.split(' ').filter_map(|pid| pid.parse::<u32>().ok()));
    }
    let file = office.folder().join("trace");
    let options = ["-s", "20", "-e", "trace=fsync,fdatasync,writev,sendto,write"];
    let trace = Trace::attach(&processes, &options, &file).await?;
    let before = ledger.acknowledged();
    for _ in 0..writes {
        let n = ledger.begin(0);
        let ask = Ask::post("/geometries/geojson?folder=F0", office.token(), &feature(0, n));
        let answer = ask.send(program.geo).await?;
        ensure(answer.status == 200, || answer.text())?;
        ledger.acknowledge(0, n);
    }
    trace.detach()?;
    let (answers, unsynced, syncs) = read(&std::fs::read_to_string(file)?);
    ensure(answers == writes, || format!("{answers} answers were seen of {writes}"))?;
    ensure(unsynced == 0, || format!("{unsynced} of {answers} were acknowledged without a sync"))?;
    ledger.find_all(&office)?;
    Ok(Proof {
        acknowledged: ledger.acknowledged() - before,
        seen: format!("{syncs} syncs, at least one ended before each answer began"),
        ..Proof::new(FAULT, &engine, writes)
    })
}

/// How many answers there were, how many without a sync before them, and how many syncs.
fn read(trace: &str) -> (u64, u64, u64) {
    let (mut answers, mut unsynced, mut syncs, mut since) = (0, 0, 0, 0);
    for line in trace.lines() {
        let is_sync = line.contains("fsync") || line.contains("fdatasync");
        if is_sync && line.ends_with("= 0") {
            syncs += 1;
            since += 1;
        } else if line.contains("HTTP/1.1 200 OK") {
            answers += 1;
            unsynced += u64::from(since == 0);
            since = 0;
        }
    }
    (answers, unsynced, syncs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_a_sync_that_has_ended_before_it_is_seen() {
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
        assert_eq!(read(trace), (4, 2, 2));
    }
}
