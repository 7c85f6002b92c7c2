//! `groma import`: the whole file is checked first, then written in batches, so that other writers
//! go on in between.

use super::{
    Failure,
    files::{self, Row},
    now, print, workspace_of,
};
use crate::cli::{FileKind, Import};
use groma_domain::{
    Refusal, WorkspaceId, input::Field, record::Draft, status::StatusInput, text::fold,
};
use groma_store::{Actor, Change, Command, Done, Store, Target};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use tokio::sync::mpsc;

/// How many rows are written in one transaction.
const BATCH: usize = 500;

pub(super) async fn run(store: &Store, import: Import) -> Result<(), Failure> {
    let workspace = workspace_of(store, &import.at).await?.id;
    let mut job = Job { store, workspace, import: &import, report: Report::default() };
    let total = job.check().await?;
    let clean = job.report.rejected.is_empty();
    if !import.dry_run && (clean || import.keep_good) {
        job.write(total).await?;
    }
    let report = job.report;
    for rejected in &report.rejected {
        eprintln!("{}:{}: {}", import.file.display(), rejected.line, rejected.message);
    }
    if import.json {
        print(&report.shown().to_string())?;
    } else if import.dry_run {
        print(&format!("{total} rows checked, {} rejected", report.rejected.len()))?;
    } else {
        print(&report.summary())?;
    }
    match report.rejected.len() {
        0 => Ok(()),
        _ if import.keep_good && !import.dry_run => Ok(()),
        1 => Err(Failure::new("1 row was rejected; nothing was kept")),
        rejected => Err(Failure::new(format!("{rejected} rows were rejected; nothing was kept"))),
    }
}

struct Job<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    import: &'a Import,
    report: Report,
}

#[derive(Default)]
struct Report {
    created: u64,
    updated: u64,
    unchanged: u64,
    rejected: Vec<Rejected>,
}

struct Rejected {
    line: u64,
    message: String,
}

/// A row that can be read.
struct Good {
    line: u64,
    command: Command,
}

impl Job<'_> {
    /// Tries every row; tells how many there are.
    async fn check(&mut self) -> Result<u64, Failure> {
        let bar = progress(None, "checking");
        let mut seen = Seen::default();
        let mut rows = self.rows();
        let mut total = 0;
        while let Some(batch) = next_batch(&mut rows).await? {
            total += batch.len() as u64;
            bar.inc(batch.len() as u64);
            let mut good = Vec::with_capacity(batch.len());
            for row in batch {
                match self.read(row, &mut seen) {
                    Ok(row) => good.push(row),
                    Err(rejected) => self.report.rejected.push(rejected),
                }
            }
            let commands = good.iter().map(|good| good.command.clone()).collect();
            for (index, refusal) in self.store.check(self.change(commands)).await? {
                let line = good[index].line;
                self.report.rejected.push(Rejected { line, message: refusal.to_string() });
            }
        }
        self.report.rejected.sort_by_key(|rejected| rejected.line);
        bar.finish_and_clear();
        Ok(total)
    }

    /// Writes the rows that were not rejected.
    async fn write(&mut self, total: u64) -> Result<(), Failure> {
        let bar = progress(Some(total), "writing");
        let skip: HashSet<u64> =
            self.report.rejected.iter().map(|rejected| rejected.line).collect();
        let mut seen = Seen::default();
        let mut rows = self.rows();
        while let Some(batch) = next_batch(&mut rows).await? {
            let size = batch.len() as u64;
            let wanted = batch.into_iter().filter(|row| !skip.contains(&row.line));
            let good: Vec<_> = wanted.filter_map(|row| self.read(row, &mut seen).ok()).collect();
            self.write_batch(good).await?;
            bar.inc(size);
        }
        bar.finish_and_clear();
        Ok(())
    }

    async fn write_batch(&mut self, good: Vec<Good>) -> Result<(), Failure> {
        let commands: Vec<_> = good.iter().map(|good| good.command.clone()).collect();
        match self.store.apply(self.change(commands)).await {
            Ok(applied) => applied.iter().for_each(|done| self.report.count(done)),
            // Someone else changed what the check had seen: go row by row.
            Err(groma_store::Error::Refused { .. }) if self.import.keep_good => {
                for Good { line, command } in good {
                    match self.store.apply(self.change(vec![command])).await {
                        Ok(applied) => applied.iter().for_each(|done| self.report.count(done)),
                        Err(groma_store::Error::Refused { refusal, .. }) => {
                            self.report
                                .rejected
                                .push(Rejected { line, message: refusal.to_string() });
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Err(groma_store::Error::Refused { refusal, index }) => {
                let line = good.get(index).map_or(0, |good| good.line);
                let kept = self.report.summary();
                return Err(Failure::new(format!(
                    "line {line}: {refusal}; it passed the check, so something changed meanwhile; kept so far: {kept}"
                )));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn change(&self, commands: Vec<Command>) -> Change {
        Change { workspace: self.workspace, actor: Actor::Operator, now: now(), commands }
    }

    fn read(&self, row: Row, seen: &mut Seen) -> Result<Good, Rejected> {
        let line = row.line;
        let command = row.values.and_then(|values| {
            let command = read_command(self.import.kind, &values);
            let command = command.map_err(|refusal| refusal.to_string())?;
            seen.note(&command, line)?;
            Ok(command)
        });
        command.map(|command| Good { line, command }).map_err(|message| Rejected { line, message })
    }

    /// The rows of the file, read on a thread of their own.
    fn rows(&self) -> mpsc::Receiver<Result<Row, Failure>> {
        let (send, rows) = mpsc::channel(BATCH * 2);
        let (path, format) = (self.import.file.clone(), self.import.format);
        tokio::task::spawn_blocking(move || {
            let outcome = files::format_of(&path, format).and_then(|format| {
                files::read(&path, format, &mut |row| {
                    send.blocking_send(Ok(row))
                        .map_err(|_| Failure::new("nobody reads the rows any more"))
                })
            });
            if let Err(failure) = outcome {
                let _ = send.blocking_send(Err(failure));
            }
        });
        rows
    }
}

/// References that stood in the file already: a row that names one again is rejected, since which of
/// the two should win is a guess.
#[derive(Default)]
struct Seen {
    lines: HashMap<String, u64>,
}

impl Seen {
    fn note(&mut self, command: &Command, line: u64) -> Result<(), String> {
        let key = match command {
            Command::Save { draft, .. } => draft.reference().map(ToString::to_string),
            Command::SaveStatus { input, .. } => match (&input.applies_to, &input.name) {
                (Field::Set(kind), Field::Set(name)) => Some(format!("{kind} {}", fold(name))),
                _ => None,
            },
            _ => None,
        };
        let Some(key) = key else { return Ok(()) };
        match self.lines.get(&key) {
            Some(first) => Err(format!("`{key}` stands on line {first} already")),
            None => {
                self.lines.insert(key, line);
                Ok(())
            }
        }
    }
}

fn read_command(kind: FileKind, values: &Map<String, Value>) -> Result<Command, Refusal> {
    match kind.record() {
        Some(kind) => {
            let draft = Box::new(Draft::read(kind, values)?);
            Ok(Command::Save { target: Target::ByReference, draft })
        }
        None => Ok(Command::SaveStatus { target: None, input: StatusInput::read(values)? }),
    }
}

async fn next_batch(
    rows: &mut mpsc::Receiver<Result<Row, Failure>>,
) -> Result<Option<Vec<Row>>, Failure> {
    let mut batch = Vec::with_capacity(BATCH);
    while batch.len() < BATCH {
        match rows.recv().await {
            Some(row) => batch.push(row?),
            None => break,
        }
    }
    Ok((!batch.is_empty()).then_some(batch))
}

impl Report {
    fn count(&mut self, done: &Done) {
        match done {
            Done::Created(..) | Done::Status { created: true, .. } => self.created += 1,
            Done::Unchanged(..) | Done::Status { changed: false, .. } => self.unchanged += 1,
            Done::Updated(..) | Done::Status { .. } | Done::Deleted { .. } => self.updated += 1,
        }
    }

    fn summary(&self) -> String {
        let Self { created, updated, unchanged, rejected } = self;
        format!(
            "{created} created, {updated} updated, {unchanged} unchanged, {} rejected",
            rejected.len()
        )
    }

    fn shown(&self) -> Value {
        let rejected: Vec<_> =
            self.rejected.iter().map(|r| json!({ "line": r.line, "message": r.message })).collect();
        json!({
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "rejected": rejected,
        })
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress(total: Option<u64>, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{msg} {wide_bar} {human_pos} of {human_len} rows, {eta} left",
        None => "{msg} {human_pos} rows, {per_sec}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}
