//! Files of layers and of records, imported and exported by the commands on both engines, while a program writes
//! to the same database through the API.

mod command;
mod ogr2ogr;
mod writer;

use crate::{
    Result,
    dataset::{Cover, Dataset},
    layers,
    load::{self, Sizes},
    profile::Profile,
    report::{Goal, Part, Row, Unit},
    row::number,
    server::Server,
};
use command::Finished;
use groma_store::Store;
use serde_json::Value;
use std::time::Duration;
use writer::Writer;

/// The formats of layers that are measured, and their extensions.
const FORMATS: [(&str, &str); 2] = [("GeoPackage", "gpkg"), ("FlatGeobuf", "fgb")];
/// The folders of the expenses.
const FOLDERS: u64 = 1_000;
/// How long before the end of an import its publish step may have begun, besides its own length.
const EXIT: Duration = Duration::from_millis(200);

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("files", "Files in and out");
    part.note(format!(
        "The commands `groma import` and `groma export`, on {} parcels in a new layer and on {} expenses. Meanwhile, \
         a client of a server on the same database creates one folder after the other; each row with its wait is the \
         longest one. The memory is the highest private memory of the command. ogr2ogr copies the same file into a \
         new table of PostGIS with a GiST index.",
        number(profile.parcels as f64),
        number(profile.sizes.expenses as f64),
    ));
    part.peer("ogr2ogr", ogr2ogr::version()?, "`-f PostgreSQL`, with COPY, its default");
    let sources = Sources::write(profile).await?;
    let engines =
        [("SQLite", profile.new_sqlite("files")?), ("PostgreSQL", profile.new_postgres("files")?)];
    for (engine, database) in engines {
        let sizes = Sizes { folders: FOLDERS, assignments: 0, expenses: 0, budgets: 0 };
        load::run(&database.parse()?, &sizes).await?;
        let store = Store::open(&database.parse()?).await?;
        let workspace = load::workspace(&store).await?;
        let tokens = load::tokens(&store, workspace, 1).await?;
        drop(store);
        // Without a limit, because the window of a token on PostgreSQL is one row with the times of all requests.
        let server = Server::start_with(&database, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "0")])?;
        let bench = FileBench { profile, engine, database, server, token: tokens[0].reveal() };
        for format in FORMATS {
            bench.layer(&mut part, &sources, format)?;
        }
        bench.expenses(&mut part, &sources)?;
    }
    Ok(part)
}

/// The files to import.
struct Sources {
    directory: String,
}

impl Sources {
    /// Exports them from databases that the next run reuses.
    async fn write(profile: &Profile) -> Result<Self> {
        let sources = Self { directory: profile.directory()? };
        let parcels = profile.sqlite("tiles")?;
        layers::load(&parcels.parse()?, &Dataset::new(), profile.parcels).await?;
        for (_, extension) in FORMATS {
            export_layer(&parcels, Cover::Parcels.name(), &sources.parcels(extension))?;
        }
        let expenses = profile.sqlite("expenses")?;
        let sizes = Sizes { assignments: 0, budgets: 0, folders: FOLDERS, ..profile.sizes.clone() };
        load::run(&expenses.parse()?, &sizes).await?;
        groma(&expenses, &["export", "expenses", &sources.expenses()])?;
        Ok(sources)
    }

    fn parcels(&self, extension: &str) -> String {
        format!("{}/parcels.{extension}", self.directory)
    }

    fn expenses(&self) -> String {
        format!("{}/expenses.xlsx", self.directory)
    }
}

fn groma(database: &str, arguments: &[&str]) -> Result<Finished> {
    let workspace = ["--workspace", load::WORKSPACE];
    command::groma(&[&["--database", database], arguments, &workspace].concat())
}

fn export_layer(database: &str, layer: &str, file: &str) -> Result<Finished> {
    groma(database, &["export", "layer", file, "--layer", layer])
}

/// A server on an engine, beside which the commands run.
struct FileBench<'a> {
    profile: &'a Profile,
    engine: &'static str,
    database: String,
    server: Server,
    token: &'a str,
}

impl FileBench<'_> {
    /// Imports the parcels, and exports them again.
    fn layer(
        &self,
        part: &mut Part,
        sources: &Sources,
        (format, extension): (&str, &str),
    ) -> Result {
        let (file, engine) = (sources.parcels(extension), self.engine);
        let peer = ogr2ogr::into_postgis(self.profile, &file)?;
        let row = |work: &str, unit, figure: f64| {
            Row::new(format!("{work}, {format}, {engine}"), unit, &[figure])
        };
        let idle = self.idle_wait()?;
        let writer = Writer::start(self.server.main, self.token);
        let import =
            groma(&self.database, &["import", "layer", &file, "--layer", extension, "--json"]);
        let waits = writer.stop()?;
        let import = import?;
        let report: Value = serde_json::from_str(&import.stdout)?;
        if report["created"] != self.profile.parcels {
            return Err(format!("unexpected import: {report}").into());
        }
        let publish = Duration::from_millis(report["publishMillis"].as_u64().unwrap_or_default());
        let published = import.ended - publish - EXIT;
        let seconds = row("parcels imported", Unit::Seconds, import.seconds);
        part.row(seconds.compared_with("ogr2ogr", &[peer]).goal(Goal::AtMost(60.0)));
        part.row(
            row("memory of the import", Unit::Megabytes, import.megabytes)
                .goal(Goal::AtMost(300.0)),
        );
        part.row(
            row("wait while it loads", Unit::Millis, waits.longest_before(published))
                .compared_with("no import", &[idle])
                .goal(Goal::AtMost(100.0)),
        );
        part.row(row("publish step", Unit::Millis, publish.as_secs_f64() * 1_000.0));
        part.row(row("wait for it", Unit::Millis, waits.longest_after(published)));

        let export = export_layer(
            &self.database,
            extension,
            &format!("{}/out.{extension}", sources.directory),
        )?;
        part.row(row("parcels exported", Unit::Seconds, export.seconds).goal(Goal::AtMost(30.0)));
        part.row(row("memory of the export", Unit::Megabytes, export.megabytes));
        Ok(())
    }

    /// Imports the expenses.
    fn expenses(&self, part: &mut Part, sources: &Sources) -> Result {
        let row = |work: &str, unit, figure: f64| {
            Row::new(format!("{work}, XLSX, {}", self.engine), unit, &[figure])
        };
        let idle = self.idle_wait()?;
        let writer = Writer::start(self.server.main, self.token);
        let import = groma(&self.database, &["import", "expenses", &sources.expenses()]);
        let waits = writer.stop()?;
        let import = import?;
        part.row(row("expenses imported", Unit::Seconds, import.seconds).goal(Goal::AtMost(20.0)));
        part.row(row("memory of the import", Unit::Megabytes, import.megabytes));
        part.row(
            row("wait meanwhile", Unit::Millis, waits.longest_before(import.ended))
                .compared_with("no import", &[idle]),
        );
        Ok(())
    }

    /// The longest wait of the client while nothing is imported.
    fn idle_wait(&self) -> Result<f64> {
        let writer = Writer::start(self.server.main, self.token);
        std::thread::park_timeout(Duration::from_secs(self.profile.seconds.into()));
        let waits = writer.stop()?;
        Ok(waits.longest_before(std::time::Instant::now()))
    }
}
