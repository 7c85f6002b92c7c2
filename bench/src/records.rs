//! Records on SQLite: the whole stack beside a bare handler with the same bytes.

use crate::{
    Outcome, bare,
    load::{self, Sizes, mix},
    office::Office,
    wrk,
};
use std::net::SocketAddr;

/// Rounds, each with the order turned around.
const ROUNDS: usize = 3;
const SECONDS: u32 = 5;
const CONNECTIONS: u32 = 16;
/// How many different paths are asked for.
const PATHS: u64 = 2_000;

const DATABASE: &str = "sqlite:target/bench/groma.db";

pub(crate) async fn run(sizes: &Sizes) -> Outcome {
    load::run(&DATABASE.parse()?, sizes, load::BATCH).await?;
    let office = Office::start(DATABASE)?;
    println!(
        "\nSQLite, {} folders; wrk -t1 -c{CONNECTIONS}, median of {ROUNDS} rounds of {SECONDS} s",
        sizes.folders
    );
    compare(&office, "detail", &detail_paths(sizes.folders)).await?;
    compare(&office, "list of 50, any page", &page_paths(sizes.folders)).await?;
    let (all, own) = office.memory()?;
    println!(
        "memory after that: {all} MB resident, {own} MB of it its own (the rest is the file, mapped)"
    );

    println!("\nOne request at a time, milliseconds");
    let last = sizes.folders.div_ceil(50);
    for (name, path) in [
        ("first page", "/api/public/v1/folders?limit=50".to_owned()),
        ("middle page", format!("/api/public/v1/folders?limit=50&page={}", last / 2)),
        ("last page", format!("/api/public/v1/folders?limit=50&page={last}")),
        ("term, few hits", format!("/api/public/v1/folders?term=survey%20{}", sizes.folders / 2)),
        ("term, many hits", "/api/public/v1/folders?term=easement".to_owned()),
        ("term of two letters", "/api/public/v1/folders?term=ut".to_owned()),
        ("term of one letter", "/api/public/v1/folders?term=z".to_owned()),
    ] {
        let token = office.token()?;
        let total = total(&office.get(&path, &token)?);
        let rate = wrk::run(office.main, &token, &[path], 1, SECONDS)?;
        println!("  {name:<22} {:>9.3}   ({total} in all)", rate.millis);
    }
    Ok(())
}

/// Measures the program and a bare handler with the same bytes in turn.
async fn compare(office: &Office, name: &str, paths: &[String]) -> Outcome {
    let token = office.token()?;
    let sample = office.get(&paths[0], &token)?;
    let size = sample.len();
    let bare = bare::serve(sample).await?;
    let measure = |address: SocketAddr| -> Outcome<f64> {
        Ok(wrk::run(address, &office.token()?, paths, CONNECTIONS, SECONDS)?.per_second)
    };
    let (mut ours, mut limits) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            ours.push(measure(office.main)?);
            limits.push(measure(bare)?);
        } else {
            limits.push(measure(bare)?);
            ours.push(measure(office.main)?);
        }
    }
    let (ours, limit) = (median(ours), median(limits));
    println!(
        "  {name:<22} {ours:>9.0}/s   bare handler {limit:>9.0}/s   ratio {:.2}   ({size} bytes)",
        ours / limit
    );
    Ok(())
}

/// Details of records all over the workspace.
pub(crate) fn detail_paths(folders: u64) -> Vec<String> {
    (0..PATHS).map(|n| format!("/api/public/v1/folders/F-{:06}", mix(n) % folders + 1)).collect()
}

/// Pages all over the list.
pub(crate) fn page_paths(folders: u64) -> Vec<String> {
    let pages = (folders / 50).max(1);
    (0..PATHS)
        .map(|n| format!("/api/public/v1/folders?limit=50&page={}", mix(n) % pages + 1))
        .collect()
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn total(body: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(body);
    let digits = text.rsplit("\"total\":").next().unwrap_or_default();
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or_default()
}
