//! Records on SQLite, compared with a bare handler that returns the same bytes, and with Datasette and
//! Directus on the same folders.

use crate::{
    Result, bare, datasette, directus,
    folders::{Peer, TERM},
    load::{self, mix},
    machine, process,
    profile::{CONNECTIONS, Profile},
    report::{Goal, Part, Row, Unit, in_turns},
    row::number,
    server::Server,
    wrk,
};
use groma_store::Store;

/// The number of different paths.
const PATHS: u64 = 2_000;
/// The pages that users usually read.
const FIRST_PAGES: u64 = 20;

pub(crate) const BARE: &str = "bare axum handler";
const LISTS: &str = "/api/public/v1/folders";

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("records", "Records on SQLite");
    let database = load(profile).await?;
    let folders = profile.sizes.folders;
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let home = directus::Home::Sqlite(format!("{}/directus.db", profile.directory()?));
    let peers = [
        datasette::start(profile, &store, workspace).await?,
        directus::start(profile, &home, &store, workspace).await?,
    ];
    drop(store);
    part.note(format!(
        "{} folders with all fields in Groma, Datasette and Directus; wrk with {CONNECTIONS} \
         connections. Ids, names and totals are compared before the measurement.",
        number(folders as f64)
    ));
    part.peer(
        "axum",
        machine::locked("axum")?,
        "a handler that returns the same bytes, in the benchmark process",
    );
    part.peer("Datasette", datasette::version()?, datasette::SETTINGS);
    part.peer("Directus", directus::version()?, directus::SETTINGS);

    warm_page_cache(&database)?;
    let server = Server::start(&database)?;
    let token = server.create_token()?;
    for peer in &peers {
        peer.check_agreement(&server, &token, folders)?;
    }
    let requested = Requested::of(folders);
    let lists = Goals { bare: 0.35, peers: 30.0 };
    let details = Goals { bare: 0.4, peers: 30.0 };
    for (work, keys, goals) in [
        ("detail", &requested.details, &details),
        ("list of 50, any page", &requested.pages, &lists),
        ("list of 50, first pages", &requested.first_pages, &lists),
    ] {
        compare(profile, &mut part, &server, &peers, work, keys, goals).await?;
    }
    let (all, own) = server.memory()?;
    part.row(
        Row::new("memory afterwards, private", Unit::Megabytes, &[own as f64])
            .goal(Goal::AtMost(200.0)),
    );
    part.row(Row::new("memory afterwards, with mapped files", Unit::Megabytes, &[all as f64]));
    measure_search(profile, &mut part, &server, &peers)?;
    measure_latency(profile, &server, &mut part)?;
    Ok(part)
}

/// Reads a database file into the page cache, because this part does not measure the disk.
pub(crate) fn warm_page_cache(database: &str) -> Result {
    let path = database.strip_prefix("sqlite:").ok_or("no file")?;
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink())?;
    Ok(())
}

/// The goals for one kind of request, as ratios.
struct Goals {
    bare: f64,
    peers: f64,
}

/// Measures throughput, compared with a bare handler and with the peers.
async fn compare(
    profile: &Profile,
    part: &mut Part,
    server: &Server,
    peers: &[Peer; 2],
    work: &str,
    keys: &[Key],
    goals: &Goals,
) -> Result {
    let token = server.create_token()?;
    let paths: Vec<String> = keys.iter().map(Key::ours).collect();
    let body = server.get(&paths[0], &token)?;
    let bare = bare::serve(body.clone()).await?;
    let ours = |seconds: u32| -> Result<f64> {
        Ok(wrk::run(server.main, &server.create_token()?, &paths, CONNECTIONS, seconds)?.per_second)
    };
    let limit = || Ok(wrk::run(bare, &token, &paths, CONNECTIONS, 1)?.per_second);
    let [rates, limits] = in_turns(profile.short_rounds, [&|| ours(1), &limit])?;
    let row = Row::new(work, Unit::PerSecond, &rates).compared_with(BARE, &limits);
    part.row(row.goal(Goal::RatioAtLeast(goals.bare)));
    let theirs = peers.each_ref().map(|peer| move || measure(peer, keys, profile));
    let [long_rates, first, second] =
        in_turns(profile.rounds, [&|| ours(profile.seconds), &theirs[0], &theirs[1]])?;
    for (peer, figures) in peers.iter().zip([first, second]) {
        let row = Row::new(work, Unit::PerSecond, &long_rates).compared_with(peer.name, &figures);
        part.row(row.goal(Goal::RatioAtLeast(goals.peers)));
    }
    if work == "list of 50, any page" {
        let bytes: Vec<f64> = rates.iter().map(|rate| rate * body.len() as f64 / 1e6).collect();
        let copies: Vec<f64> = rates.iter().map(|_| machine::copy_rate(&body)).collect();
        let row = Row::new("list of 50, bytes", Unit::MegabytesPerSecond, &bytes);
        part.row(row.compared_with("memory copy of the response", &copies));
    }
    Ok(())
}

/// Loads the missing records and returns the URL of the database.
pub(crate) async fn load(profile: &Profile) -> Result<String> {
    let database = profile.sqlite("groma")?;
    load::run(&database.parse()?, &profile.sizes).await?;
    let store = Store::open(&database.parse()?).await?;
    load::mark(&store, profile.sizes.folders, TERM).await?;
    Ok(database)
}

/// Measures single requests.
fn measure_latency(profile: &Profile, server: &Server, part: &mut Part) -> Result {
    let last = profile.sizes.folders.div_ceil(50);
    let paths = [
        format!("{LISTS}?limit=50"),
        format!("{LISTS}?limit=50&page={}", last / 2),
        format!("{LISTS}?limit=50&page={last}"),
        format!("{LISTS}?term=easement"),
        format!("{LISTS}?term=ut"),
    ];
    let measure = |path: &String| -> Result<f64> {
        let paths = std::slice::from_ref(path);
        Ok(wrk::run(server.main, &server.create_token()?, paths, 1, profile.seconds.min(2))?.millis)
    };
    let [first, middle, last, many, two_letters] = in_turns(
        profile.rounds,
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
    part.row(row("middle page", &middle).compared_with("first page", &first));
    part.row(
        row("last page", &last).compared_with("first page", &first).goal(Goal::RatioAtMost(2.0)),
    );
    part.row(row("term, an eighth of all", &many));
    part.row(row("term of two letters", &two_letters));
    Ok(())
}

/// Measures single searches. Sixteen at once would keep a peer that scans all records busy after the
/// round.
pub(crate) fn measure_search(
    profile: &Profile,
    part: &mut Part,
    server: &Server,
    peers: &[Peer],
) -> Result {
    let ours = || process::millis(server.main, &Key::Term.ours(), &server.create_token()?);
    for peer in peers {
        let theirs = || process::millis(peer.process.address, &Key::Term.theirs(peer), peer.token);
        let [ours, theirs] = in_turns(profile.rounds, [&ours, &theirs])?;
        let row = Row::new("term, 50 hits, one at a time", Unit::Millis, &ours);
        part.row(row.compared_with(peer.name, &theirs).goal(Goal::AtMost(5.0)));
    }
    Ok(())
}

pub(crate) fn measure(peer: &Peer, keys: &[Key], profile: &Profile) -> Result<f64> {
    let paths: Vec<String> = keys.iter().map(|key| key.theirs(peer)).collect();
    let address = peer.process.address;
    let rate = wrk::run(address, peer.token, &paths, CONNECTIONS, profile.seconds)?.per_second;
    // A peer may continue to work on cancelled requests; wait until it is idle.
    process::get(address, &paths[0], peer.token)?;
    Ok(rate)
}

/// The requested records.
pub(crate) struct Requested {
    pub(crate) details: Vec<Key>,
    pub(crate) pages: Vec<Key>,
    pub(crate) first_pages: Vec<Key>,
}

impl Requested {
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
