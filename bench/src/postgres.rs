//! Records on PostgreSQL, compared with pgbench on the same database with the same statements, and with
//! Directus on the same server.

use crate::{
    Result, directus,
    folders::TERM,
    load::{self, Sizes},
    machine::first_line,
    profile::{CONNECTIONS, DIRECTORY, Profile, psql, vacuum, wait_until_idle},
    records::{Key, Requested, measure, measure_search},
    report::{Goal, Part, Row, Unit, in_turns},
    row::number,
    server::Server,
    wrk,
};
use groma_domain::token::Token;
use groma_store::{HotReads, Store};
use std::process::Command;

/// The default rate limit. There are so many tokens that none reaches it.
const RATE_LIMIT: &str = "100";

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("postgres", "Records on PostgreSQL");
    let (folders, tokens) = (profile.postgres_folders, profile.tokens);
    let database = profile.postgres("records")?;
    let sizes = Sizes { folders, assignments: 0, expenses: 0, budgets: 0 };
    load::run(&database.parse()?, &sizes).await?;
    let store = Store::open(&database.parse()?).await?;
    load::mark(&store, folders, TERM).await?;
    let workspace = load::workspace(&store).await?;
    vacuum(&database)?;
    let home = directus::Home::Postgres(profile.postgres("directus")?);
    let directus = directus::start(profile, &home, &store, workspace).await?;
    let server =
        Server::start_with(&database, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", RATE_LIMIT)])?;
    directus.check_agreement(&server, &server.create_token()?, folders)?;
    part.note(format!(
        "{} folders in Groma and Directus; {CONNECTIONS} connections, {tokens} tokens with a limit of \
         {RATE_LIMIT} requests per minute, which Groma and pgbench both count; fsync is on.",
        number(folders as f64)
    ));
    let version = psql(&database, "SHOW server_version")?;
    part.peer("PostgreSQL", version, "default settings, fsync on; one server for all");
    part.peer(
        "pgbench",
        first_line("pgbench", &["--version"])?
            .trim_start_matches("pgbench (PostgreSQL) ")
            .to_owned(),
        "`-M prepared -j1 -c16`, the statements that Groma sends for the same request",
    );
    part.peer("Directus", directus::version()?, directus::SETTINGS);

    let reads = HotReads::new();
    let detail = format!(
        "\\set n random(1, {folders})\n{};\n",
        bound(reads.detail, &[&format!("'{workspace}'"), "'F-' || lpad((:n)::text, 6, '0')"])
    );
    let page = format!(
        "\\set n random(0, {})\n{};\n",
        folders / 50 - 1,
        bound(reads.page, &[&format!("'{workspace}'"), ":n * 50", "50", "0"])
    );
    let requested = Requested::of(folders);
    for (work, keys, statement) in [
        ("detail", &requested.details, Some(detail)),
        ("list of 50, any page", &requested.pages, Some(page)),
        ("list of 50, first pages", &requested.first_pages, None),
    ] {
        let made = load::tokens(&store, workspace, tokens).await?;
        let sent: Vec<&str> = made.iter().map(Token::reveal).collect();
        // At least as many paths as tokens.
        let paths: Vec<String> = keys.iter().map(Key::ours).cycle().take(sent.len()).collect();
        let ours = || -> Result<f64> {
            Ok(wrk::run_with(server.main, &sent, &[], &paths, CONNECTIONS, profile.seconds)?
                .per_second)
        };
        let theirs = || -> Result<f64> {
            let rate = measure(&directus, keys, profile)?;
            wait_until_idle(&database)?;
            Ok(rate)
        };
        let (rates, figures) = if let Some(statement) = statement {
            let hashes: Vec<String> =
                load::tokens(&store, workspace, tokens).await?.iter().map(sql_hash).collect();
            let hash = format!("ARRAY[(ARRAY[{}])[:t]]", hashes.join(","));
            let limit = format!("ARRAY[{RATE_LIMIT}]");
            let admit = bound(reads.authenticate, &[&hash, "ARRAY[1]", &limit, "ARRAY[0]"]);
            let script = format!("\\set t random(1, {tokens})\n{admit};\n{statement}");
            let limit = || pgbench(&database, &script, profile.seconds);
            let [rates, limits, figures] = in_turns(profile.rounds, [&ours, &limit, &theirs])?;
            let row =
                Row::new(work, Unit::PerSecond, &rates).compared_with("pgbench, same SQL", &limits);
            part.row(row.goal(Goal::RatioAtLeast(0.7)));
            (rates, figures)
        } else {
            in_turns(profile.rounds, [&ours, &theirs])?.into()
        };
        part.row(Row::new(work, Unit::PerSecond, &rates).compared_with(directus.name, &figures));
    }
    measure_search(profile, &mut part, &server, std::slice::from_ref(&directus))?;
    let (all, own) = server.memory()?;
    part.row(
        Row::new("memory afterwards, private", Unit::Megabytes, &[own as f64])
            .goal(Goal::AtMost(200.0)),
    );
    part.row(Row::new("memory afterwards, all", Unit::Megabytes, &[all as f64]));
    Ok(part)
}

/// A statement with its parameters replaced, the highest first, because `$1` is a prefix of `$10`.
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

fn pgbench(database: &str, script: &str, seconds: u32) -> Result<f64> {
    let path = format!("{DIRECTORY}/pgbench.sql");
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
