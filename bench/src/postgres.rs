//! Records on PostgreSQL, beside pgbench that sends the same statements to the same database, and beside
//! Directus on the same server.

use crate::{
    Outcome, directus,
    effort::{CONNECTIONS, Effort, HOME, psql, quiet, settle},
    folders::TERM,
    load::{self, Sizes},
    machine::said,
    office::Office,
    records::{Asked, Key, measure, terms},
    report::{Goal, Part, Row, Unit, in_turns},
    table::number,
    wrk,
};
use groma_domain::token::Token;
use groma_store::{HotReads, Store};
use std::process::Command;

/// The rate of the seed; there are so many tokens that none of them meets it.
const RATE_LIMIT: &str = "100";

pub(crate) async fn run(effort: &Effort) -> Outcome<Part> {
    let mut part = Part::new("postgres", "Records on PostgreSQL");
    let (folders, tokens) = (effort.postgres_folders, effort.tokens);
    let database = effort.postgres("records")?;
    let sizes = Sizes { folders, assignments: 0, expenses: 0, budgets: 0 };
    load::run(&database.parse()?, &sizes).await?;
    let store = Store::open(&database.parse()?).await?;
    load::mark(&store, folders, TERM).await?;
    let workspace = load::workspace(&store).await?;
    settle(&database)?;
    let home = directus::Home::Postgres(effort.postgres("directus")?);
    let directus = directus::start(effort, &home, &store, workspace).await?;
    let office =
        Office::start_with(&database, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", RATE_LIMIT)])?;
    directus.agrees_with(&office, &office.token()?, folders)?;
    part.note(format!(
        "{} folders, in Groma and Directus alike; {CONNECTIONS} connections, {tokens} tokens with the rate of \
         {RATE_LIMIT} a minute, which the program and pgbench count alike. Synced to the disk (fsync on).",
        number(folders as f64)
    ));
    let version = psql(&database, "SHOW server_version")?;
    part.peer("PostgreSQL", version, "as it comes, fsync on; one server for everybody");
    part.peer(
        "pgbench",
        said("pgbench", &["--version"])?.trim_start_matches("pgbench (PostgreSQL) ").to_owned(),
        "`-M prepared -j1 -c16`, the statements that the program sends for the same request",
    );
    part.peer("Directus", directus::version()?, directus::SETTINGS);

    let reads = HotReads::of_folders();
    let detail = format!(
        "\\set n random(1, {folders})\n{};\n",
        bound(reads.detail, &[&format!("'{workspace}'"), "'F-' || lpad((:n)::text, 6, '0')"])
    );
    let page = format!(
        "\\set n random(0, {})\n{};\n",
        folders / 50 - 1,
        bound(reads.page, &[&format!("'{workspace}'"), ":n * 50", "50", "0"])
    );
    let asked = Asked::of(folders);
    for (work, keys, statement) in [
        ("detail", &asked.details, Some(detail)),
        ("list of 50, any page", &asked.pages, Some(page)),
        ("list of 50, first pages", &asked.first_pages, None),
    ] {
        let made = load::tokens(&store, workspace, tokens).await?;
        let sent: Vec<&str> = made.iter().map(Token::reveal).collect();
        // As many paths as tokens, however few are asked for.
        let paths: Vec<String> = keys.iter().map(Key::ours).cycle().take(sent.len()).collect();
        let ours = || -> Outcome<f64> {
            Ok(wrk::run_with(office.main, &sent, &[], &paths, CONNECTIONS, effort.seconds)?
                .per_second)
        };
        let theirs = || -> Outcome<f64> {
            let rate = measure(&directus, keys, effort)?;
            quiet(&database)?;
            Ok(rate)
        };
        let (rates, figures) = if let Some(statement) = statement {
            let hashes: Vec<String> =
                load::tokens(&store, workspace, tokens).await?.iter().map(sql_hash).collect();
            let hash = format!("ARRAY[(ARRAY[{}])[:t]]", hashes.join(","));
            let limit = format!("ARRAY[{RATE_LIMIT}]");
            let admit = bound(reads.admit, &[&hash, "ARRAY[1]", &limit, "ARRAY[0]"]);
            let script = format!("\\set t random(1, {tokens})\n{admit};\n{statement}");
            let limit = || pgbench(&database, &script, effort.seconds);
            let [rates, limits, figures] = in_turns(effort.rounds, [&ours, &limit, &theirs])?;
            let row = Row::new(work, Unit::PerSecond, &rates).beside("pgbench, same SQL", &limits);
            part.row(row.goal(Goal::RatioAtLeast(0.7)));
            (rates, figures)
        } else {
            in_turns(effort.rounds, [&ours, &theirs])?.into()
        };
        part.row(Row::new(work, Unit::PerSecond, &rates).beside(directus.name, &figures));
    }
    terms(effort, &mut part, &office, std::slice::from_ref(&directus))?;
    let (all, own) = office.memory()?;
    part.row(
        Row::new("memory after that, its own", Unit::Megabytes, &[own as f64])
            .goal(Goal::AtMost(300.0)),
    );
    part.row(Row::new("memory after that, in all", Unit::Megabytes, &[all as f64]));
    Ok(part)
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

fn pgbench(database: &str, script: &str, seconds: u32) -> Outcome<f64> {
    let path = format!("{HOME}/pgbench.sql");
    std::fs::write(&path, script)?;
    let output = Command::new("pgbench")
        .args(["-n", "-M", "prepared", "-j1", &format!("-c{CONNECTIONS}"), &format!("-T{seconds}")])
        .args(["-f", &path, database])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split_whitespace().next());
    let complaint = || format!("pgbench: {}", String::from_utf8_lossy(&output.stderr));
    Ok(number.ok_or_else(complaint)?.parse()?)
}
