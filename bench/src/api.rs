//! The public API as programs use it: writes, bulk writes and the change feed, over HTTP on both engines.

mod feed;
mod lists;
mod stream;
mod writes;

use crate::{
    Result,
    load::{self, Sizes},
    profile::{Profile, vacuum},
    records,
    report::Part,
    row::number,
    server::Server,
};
use groma_domain::token::Token;
use groma_store::Store;

/// The folders of the database that is written to.
const FOLDERS: u64 = 10_000;

/// What both engines measure, and the goals that differ.
struct Engine {
    name: &'static str,
    writes: f64,
    bulk: Option<f64>,
}

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("api", "Programs that write and follow");
    part.note(format!(
        "Writes: half of the requests create a folder and half change one, with {} tokens in a workspace of \
         {} folders; each is synced before the response. Bulk: the same operations, {} in a request, one request \
         at a time. fdatasync: sequential appends of 4 KB with a sync each. Streams: {} clients of {} tokens \
         follow {} changes per round at 100 per second, timed from the moment the PATCH is sent to the arrival of \
         the event at each client. Feed: one consumer reads the changes of the loaded records in pages of 1,000 and \
         parses the JSON. Lists: one request at a time for a page of 50 of the loaded folders, of which at most \
         10,000 match.",
        number(profile.tokens as f64),
        number(FOLDERS as f64),
        number(writes::OPERATIONS as f64),
        stream::TOKENS * stream::STREAMS_PER_TOKEN,
        stream::TOKENS,
        number(profile.paced_changes as f64),
    ));
    let sqlite = Engine { name: "SQLite", writes: 5_000.0, bulk: Some(15_000.0) };
    let postgres = Engine { name: "PostgreSQL", writes: 1_500.0, bulk: None };

    write(profile, &mut part, &sqlite, &profile.new_sqlite("api")?).await?;
    write(profile, &mut part, &postgres, &profile.new_postgres("api")?).await?;

    let database = records::load(profile).await?;
    records::warm_page_cache(&database)?;
    read(&mut part, &sqlite, &database, profile.sizes.all())?;

    let database = profile.postgres("feed")?;
    let folders = profile.sizes.folders;
    let sizes = Sizes { folders, assignments: 0, expenses: 0, budgets: 0 };
    load::run(&database.parse()?, &sizes).await?;
    vacuum(&database)?;
    read(&mut part, &postgres, &database, folders)?;
    Ok(part)
}

/// Writes to a new database.
async fn write(profile: &Profile, part: &mut Part, engine: &Engine, database: &str) -> Result {
    let sizes = Sizes { folders: FOLDERS, assignments: 0, expenses: 0, budgets: 0 };
    load::run(&database.parse()?, &sizes).await?;
    let store = Store::open(&database.parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let tokens = load::tokens(&store, workspace, profile.tokens).await?;
    let tokens: Vec<&str> = tokens.iter().map(Token::reveal).collect();
    drop(store);
    let server = Server::start(database)?;
    writes::measure(profile, part, engine, &server, &tokens)?;
    stream::measure(profile, part, engine, &server, &tokens).await
}

/// Reads the feed and lists of a database with this number of changes.
fn read(part: &mut Part, engine: &Engine, database: &str, changes: u64) -> Result {
    let server = Server::start(database)?;
    let token = server.create_token()?;
    feed::measure(part, engine, &server, &token, changes)?;
    lists::measure(part, engine, &server, &token)
}
