//! Records on PostgreSQL, beside pgbench that sends the same statements to the same database.

use crate::{
    Outcome,
    load::{self, Sizes},
    office::Office,
    records::{detail_paths, median, page_paths},
    wrk,
};
use groma_domain::token::Token;
use groma_store::{HotReads, Store};
use std::process::Command;

const ROUNDS: usize = 3;
const SECONDS: u32 = 5;
const CONNECTIONS: u32 = 16;

/// The rate of the seed, and so many scripts that none of them meets it in a round.
const RATE_LIMIT: &str = "100";
const TOKENS: u64 = 1_000;

/// On PostgreSQL a fifth of the records tells the same, in bearable time.
const SHARE: u64 = 5;

pub(crate) async fn run(sizes: &Sizes) -> Outcome {
    let Ok(server) = std::env::var("TEST_POSTGRES_URL") else {
        return Err("TEST_POSTGRES_URL is not set: run `make bench`".into());
    };
    let database = database_of_its_own(&server, "bench").await?;
    let sizes = Sizes { folders: sizes.folders / SHARE, assignments: 0, expenses: 0, budgets: 0 };
    load::run(&database.parse()?, &sizes, load::BATCH).await?;
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let office =
        Office::start_with(&database, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", RATE_LIMIT)])?;
    println!("\nPostgreSQL, {} folders; median of {ROUNDS} rounds of {SECONDS} s", sizes.folders);
    let reads = HotReads::of_folders();
    let detail = format!(
        "\\set n random(1, {})\n{};\n",
        sizes.folders,
        bound(reads.detail, &[&format!("'{workspace}'"), "'F-' || lpad((:n)::text, 6, '0')"])
    );
    let page = format!(
        "\\set n random(0, {})\n{};\n",
        sizes.folders / 50 - 1,
        bound(reads.page, &[&format!("'{workspace}'"), ":n * 50", "50", "0"])
    );
    for (name, statement, paths) in [
        ("detail", detail, detail_paths(sizes.folders)),
        ("list of 50, any page", page, page_paths(sizes.folders)),
    ] {
        let (mut ours, mut limits) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let tokens = load::tokens(&store, workspace, TOKENS).await?;
            let sent: Vec<&str> = tokens.iter().map(Token::reveal).collect();
            let paths = &paths;
            ours.push(
                wrk::run_with(office.main, &sent, &[], paths, CONNECTIONS, SECONDS)?.per_second,
            );
            let hashes: Vec<String> =
                load::tokens(&store, workspace, TOKENS).await?.iter().map(sql_hash).collect();
            let hash = format!("ARRAY[(ARRAY[{}])[:t]]", hashes.join(","));
            let limit = format!("ARRAY[{RATE_LIMIT}]");
            let admit = bound(reads.admit, &[&hash, "ARRAY[1]", &limit, "ARRAY[0]"]);
            let script = format!("\\set t random(1, {TOKENS})\n{admit};\n{statement}");
            limits.push(pgbench(&database, &script)?);
        }
        let (ours, limit) = (median(ours), median(limits));
        println!(
            "  {name:<22} {ours:>9.0}/s   pgbench, same SQL {limit:>8.0}/s   ratio {:.2}",
            ours / limit
        );
    }
    Ok(())
}

/// A database on the server, made when it is missing.
pub(crate) async fn database_of_its_own(server: &str, name: &str) -> Outcome<String> {
    let (base, _) = server.rsplit_once('/').ok_or("TEST_POSTGRES_URL names no database")?;
    let made =
        Command::new("psql").args([server, "-qc", &format!("CREATE DATABASE {name}")]).output()?;
    let complaint = String::from_utf8_lossy(&made.stderr);
    if !made.status.success() && !complaint.contains("already exists") {
        return Err(complaint.into());
    }
    Ok(format!("{base}/{name}"))
}

/// A statement with values in the places of its parameters; the highest first, so that `$1` does not
/// match the head of `$10`.
fn bound(sql: &str, values: &[&str]) -> String {
    let numbered = values.iter().enumerate().rev();
    let bound =
        numbered.fold(sql.to_owned(), |sql, (n, value)| sql.replace(&format!("${}", n + 1), value));
    bound.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sql_hash(token: &Token) -> String {
    let hex: String = token.hash().0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("'\\x{hex}'::bytea")
}

fn pgbench(database: &str, script: &str) -> Outcome<f64> {
    let path = "target/bench/pgbench.sql";
    std::fs::write(path, script)?;
    let output = Command::new("pgbench")
        .args([
            "-n",
            "-M",
            "prepared",
            "-j1",
            &format!("-c{CONNECTIONS}"),
            &format!("-T{SECONDS}"),
            "-f",
            path,
            database,
        ])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split_whitespace().next());
    let complaint = || format!("pgbench: {}", String::from_utf8_lossy(&output.stderr));
    Ok(number.ok_or_else(complaint)?.parse()?)
}
