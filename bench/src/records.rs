//! Records on SQLite: the whole stack beside a bare handler with the same bytes, and beside Datasette and
//! Directus with the same folders.

use crate::{
    Outcome, bare, datasette, directus,
    effort::{CONNECTIONS, Effort},
    folders::{Peer, TERM},
    load::{self, mix},
    machine,
    office::Office,
    process,
    report::{Goal, Part, Row, Unit, in_turns},
    table::number,
    wrk,
};
use groma_store::Store;

/// How many different paths are asked for.
const PATHS: u64 = 2_000;
/// Who looks at a list looks at its first pages.
const FIRST_PAGES: u64 = 20;

pub(crate) const BARE: &str = "bare axum handler";
const LISTS: &str = "/api/public/v1/folders";

pub(crate) async fn run(effort: &Effort) -> Outcome<Part> {
    let mut part = Part::new("records", "Records on SQLite");
    let database = load(effort).await?;
    let folders = effort.sizes.folders;
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let home = directus::Home::Sqlite(format!("{}/directus.db", effort.folder()?));
    let peers = [
        datasette::start(effort, &store, workspace).await?,
        directus::start(effort, &home, &store, workspace).await?,
    ];
    drop(store);
    part.note(format!(
        "{} folders with all their fields, in Groma, Datasette and Directus alike; wrk with \
         {CONNECTIONS} connections. That ids, names and totals agree is checked before anything is measured.",
        number(folders as f64)
    ));
    part.peer(
        "axum",
        machine::locked("axum")?,
        "a handler that returns the same bytes, in the process of the bench",
    );
    part.peer("Datasette", datasette::version()?, datasette::SETTINGS);
    part.peer("Directus", directus::version()?, directus::SETTINGS);

    bring_to_memory(&database)?;
    let office = Office::start(&database)?;
    let token = office.token()?;
    for peer in &peers {
        peer.agrees_with(&office, &token, folders)?;
    }
    let asked = Asked::of(folders);
    let lists = Goals { bare: 0.55, peers: 100.0 };
    let details = Goals { bare: 0.6, peers: 50.0 };
    for (work, keys, goals) in [
        ("detail", &asked.details, &details),
        ("list of 50, any page", &asked.pages, &lists),
        ("list of 50, first pages", &asked.first_pages, &lists),
    ] {
        compare(effort, &mut part, &office, &peers, work, keys, goals).await?;
    }
    let (all, own) = office.memory()?;
    part.row(
        Row::new("memory after that, its own", Unit::Megabytes, &[own as f64])
            .goal(Goal::AtMost(300.0)),
    );
    part.row(Row::new("memory after that, with the mapped file", Unit::Megabytes, &[all as f64]));
    terms(effort, &mut part, &office, &peers)?;
    alone(effort, &office, &mut part)?;
    Ok(part)
}

/// Reads a database file once: another part may have emptied the system's memory of files, and what is
/// measured here is not the disk.
fn bring_to_memory(database: &str) -> Outcome {
    let path = database.strip_prefix("sqlite:").ok_or("no file")?;
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink())?;
    Ok(())
}

/// What is wanted of one kind of request, as ratios.
struct Goals {
    bare: f64,
    peers: f64,
}

/// Requests as fast as they go, beside a handler with the same bytes and beside the peers.
async fn compare(
    effort: &Effort,
    part: &mut Part,
    office: &Office,
    peers: &[Peer; 2],
    work: &str,
    keys: &[Key],
    goals: &Goals,
) -> Outcome {
    let token = office.token()?;
    let paths: Vec<String> = keys.iter().map(Key::ours).collect();
    let answer = office.get(&paths[0], &token)?;
    let bare = bare::serve(answer.clone()).await?;
    let ours = |seconds: u32| -> Outcome<f64> {
        Ok(wrk::run(office.main, &office.token()?, &paths, CONNECTIONS, seconds)?.per_second)
    };
    let limit = || Ok(wrk::run(bare, &token, &paths, CONNECTIONS, 1)?.per_second);
    let [rates, limits] = in_turns(effort.short_rounds, [&|| ours(1), &limit])?;
    let row = Row::new(work, Unit::PerSecond, &rates).beside(BARE, &limits);
    part.row(row.goal(Goal::RatioAtLeast(goals.bare)));
    let theirs = peers.each_ref().map(|peer| move || measure(peer, keys, effort));
    let [beside, first, second] =
        in_turns(effort.rounds, [&|| ours(effort.seconds), &theirs[0], &theirs[1]])?;
    for (peer, figures) in peers.iter().zip([first, second]) {
        let row = Row::new(work, Unit::PerSecond, &beside).beside(peer.name, &figures);
        part.row(row.goal(Goal::RatioAtLeast(goals.peers)));
    }
    if work == "list of 50, any page" {
        let bytes: Vec<f64> = rates.iter().map(|rate| rate * answer.len() as f64 / 1e6).collect();
        let copies: Vec<f64> = rates.iter().map(|_| machine::copy_rate(&answer)).collect();
        let row = Row::new("the same in bytes", Unit::MegabytesPerSecond, &bytes);
        part.row(row.beside("memory copy of the answer", &copies));
    }
    Ok(())
}

/// Loads what is missing; the address of the database.
pub(crate) async fn load(effort: &Effort) -> Outcome<String> {
    let database = effort.sqlite("groma")?;
    load::run(&database.parse()?, &effort.sizes).await?;
    let store = Store::open(&database.parse()?).await?;
    load::mark(&store, effort.sizes.folders, TERM).await?;
    Ok(database)
}

/// One request at a time.
fn alone(effort: &Effort, office: &Office, part: &mut Part) -> Outcome {
    let last = effort.sizes.folders.div_ceil(50);
    let paths = [
        format!("{LISTS}?limit=50"),
        format!("{LISTS}?limit=50&page={}", last / 2),
        format!("{LISTS}?limit=50&page={last}"),
        format!("{LISTS}?term=easement"),
        format!("{LISTS}?term=ut"),
    ];
    let measure = |path: &String| -> Outcome<f64> {
        let paths = std::slice::from_ref(path);
        Ok(wrk::run(office.main, &office.token()?, paths, 1, effort.seconds.min(2))?.millis)
    };
    let [first, middle, last, many, two_letters] = in_turns(
        effort.rounds,
        [
            &|| measure(&paths[0]),
            &|| measure(&paths[1]),
            &|| measure(&paths[2]),
            &|| measure(&paths[3]),
            &|| measure(&paths[4]),
        ],
    )?;
    let row = |work: &str, figures: &[f64]| {
        Row::new(format!("{work}, one at a time"), Unit::Millis, figures)
    };
    part.row(row("middle page", &middle).beside("first page", &first));
    part.row(row("last page", &last).beside("first page", &first).goal(Goal::RatioAtMost(2.0)));
    part.row(row("term, an eighth of all", &many));
    part.row(row("term of two letters", &two_letters));
    Ok(())
}

/// A term, one request at a time: sixteen at once would keep a peer that reads all its records busy for
/// long after the round.
pub(crate) fn terms(effort: &Effort, part: &mut Part, office: &Office, peers: &[Peer]) -> Outcome {
    let ours = || process::millis(office.main, &Key::Term.ours(), &office.token()?);
    for peer in peers {
        let theirs = || process::millis(peer.process.address, &Key::Term.theirs(peer), peer.token);
        let [ours, theirs] = in_turns(effort.rounds, [&ours, &theirs])?;
        let row = Row::new("term, 50 hits, one at a time", Unit::Millis, &ours);
        part.row(row.beside(peer.name, &theirs).goal(Goal::AtMost(5.0)));
    }
    Ok(())
}

pub(crate) fn measure(peer: &Peer, keys: &[Key], effort: &Effort) -> Outcome<f64> {
    let paths: Vec<String> = keys.iter().map(|key| key.theirs(peer)).collect();
    let address = peer.process.address;
    let rate = wrk::run(address, peer.token, &paths, CONNECTIONS, effort.seconds)?.per_second;
    // It goes on with what nobody waits for any more; the next one is measured when that is done.
    process::get(address, &paths[0], peer.token)?;
    Ok(rate)
}

/// What everybody is asked for.
pub(crate) struct Asked {
    pub(crate) details: Vec<Key>,
    pub(crate) pages: Vec<Key>,
    pub(crate) first_pages: Vec<Key>,
}

impl Asked {
    pub(crate) fn of(folders: u64) -> Self {
        let pages = (folders / 50).max(1);
        Self {
            details: (0..PATHS)
                .map(|n| Key::Detail(format!("F-{:06}", mix(n) % folders + 1)))
                .collect(),
            pages: (0..PATHS).map(|n| Key::Page(mix(n) % pages + 1)).collect(),
            first_pages: (1..=FIRST_PAGES).map(Key::Page).collect(),
        }
    }
}

pub(crate) enum Key {
    Detail(String),
    Page(u64),
    Term,
}

impl Key {
    pub(crate) fn ours(&self) -> String {
        match self {
            Self::Detail(reference) => format!("{LISTS}/{reference}"),
            Self::Page(page) => format!("{LISTS}?limit=50&page={page}"),
            Self::Term => format!("{LISTS}?limit=50&term={TERM}"),
        }
    }

    fn theirs(&self, peer: &Peer) -> String {
        match self {
            Self::Detail(reference) => (peer.detail)(reference),
            Self::Page(page) => (peer.page)(*page),
            Self::Term => (peer.term)(TERM),
        }
    }
}
