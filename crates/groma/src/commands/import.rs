//! `groma import`: the whole file is checked first, then written in batches, so that other writers
//! go on in between.

use super::{
    Failure,
    files::{Row, Source},
    print, workspace_of,
};
use crate::{
    cli::{FileKind, Import},
    clock::now,
};
use groma_domain::{
    Kind, Reference, Refusal, WorkspaceId,
    input::{Field, UNKNOWN_FIELD},
    record::Draft,
    status::StatusInput,
    text::fold,
};
use groma_store::{Actor, Change, Command, Done, Reserved, Store, Target};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tokio::sync::mpsc;

/// How many rows are written in one transaction.
const BATCH: usize = 500;

pub(super) async fn run(store: &Store, import: Import) -> Result<(), Failure> {
    let workspace = workspace_of(store, &import.at).await?.id;
    let (file, format) = (import.file.clone(), import.format);
    let opened = tokio::task::spawn_blocking(move || Source::open(&file, format)).await;
    let source = Arc::new(opened.map_err(Failure::new)??);
    refuse_unknown_columns(&source, &import)?;
    let mut job = Job { store, workspace, import: &import, source, report: Report::default() };
    let Checked { total, reserved, expected } = job.check().await?;
    let clean = job.report.rejected.is_empty();
    if import.dry_run {
        job.report.counts = expected;
    } else if clean || import.keep_good {
        job.write(total, Arc::new(reserved)).await?;
    }
    let report = job.report;
    for rejected in &report.rejected {
        eprintln!("{}:{}: {}", import.file.display(), rejected.line, rejected.message);
    }
    if import.json {
        print(&report.shown().to_string())?;
    } else if import.dry_run {
        let Counts { created, updated, unchanged } = report.counts;
        let rejected = report.rejected.len();
        print(&format!(
            "{total} rows checked, {rejected} rejected; {created} would be created, {updated} updated, {unchanged} unchanged"
        ))?;
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

/// Tells once what would be wrong with every row of a table.
fn refuse_unknown_columns(source: &Source, import: &Import) -> Result<(), Failure> {
    let Some(columns) = source.columns()? else { return Ok(()) };
    let empty = columns.into_iter().map(|name| (name, Value::Null)).collect();
    let Err(Refusal::Invalid(problems)) = read_command(import.kind, &empty) else { return Ok(()) };
    let unknown = problems.iter().filter(|problem| problem.message == UNKNOWN_FIELD);
    let unknown: Vec<_> = unknown.map(|problem| format!("`{}`", problem.field)).collect();
    let what = match unknown.len() {
        0 => return Ok(()),
        1 => "unknown column",
        _ => "unknown columns",
    };
    let (file, unknown) = (import.file.display(), unknown.join(", "));
    Err(Failure::new(format!("{file}: {what} {unknown}; nothing was kept")))
}

struct Job<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    import: &'a Import,
    source: Arc<Source>,
    report: Report,
}

/// What the check of a file tells.
#[derive(Default)]
struct Checked {
    /// How many rows there are.
    total: u64,
    /// References that rows ask for, and that must not be made for another row before.
    reserved: HashSet<Reference>,
    /// What would come of the good rows.
    expected: Counts,
}

#[derive(Default)]
struct Report {
    counts: Counts,
    rejected: Vec<Rejected>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    created: u64,
    updated: u64,
    unchanged: u64,
}

struct Rejected {
    /// Its place among the rows: several may stand on one line.
    index: u64,
    line: u64,
    message: String,
}

/// A row that can be read.
struct Good {
    index: u64,
    line: u64,
    command: Command,
}

impl Good {
    fn rejected(&self, refusal: &Refusal) -> Rejected {
        Rejected { index: self.index, line: self.line, message: refusal.to_string() }
    }
}

impl Job<'_> {
    /// Tries every row.
    async fn check(&mut self) -> Result<Checked, Failure> {
        let bar = progress(None, "checking");
        let mut checked = Checked::default();
        let mut seen = Seen::default();
        let mut rows = self.rows();
        while let Some(batch) = next_batch(&mut rows).await? {
            checked.total += batch.len() as u64;
            bar.inc(batch.len() as u64);
            let mut good = Vec::with_capacity(batch.len());
            for row in batch {
                match self.read(row, &mut seen) {
                    Ok(row) => good.push(row),
                    Err(rejected) => self.report.rejected.push(rejected),
                }
            }
            let commands: Vec<_> = good.iter().map(|good| good.command.clone()).collect();
            checked.reserved.extend(commands.iter().filter_map(Command::like_made).cloned());
            let outcomes = self.store.check(self.change(commands)).await?;
            for (good, outcome) in good.iter().zip(outcomes) {
                match outcome {
                    Ok(done) => checked.expected.count(&done),
                    Err(refusal) => self.report.rejected.push(good.rejected(&refusal)),
                }
            }
        }
        self.report.rejected.sort_by_key(|rejected| rejected.index);
        bar.finish_and_clear();
        Ok(checked)
    }

    /// Writes the rows that were not rejected.
    async fn write(&mut self, total: u64, reserved: Reserved) -> Result<(), Failure> {
        let bar = progress(Some(total), "writing");
        let skip: HashSet<u64> =
            self.report.rejected.iter().map(|rejected| rejected.index).collect();
        let mut seen = Seen::default();
        let mut rows = self.rows();
        while let Some(batch) = next_batch(&mut rows).await? {
            let size = batch.len() as u64;
            let wanted = batch.into_iter().filter(|row| !skip.contains(&row.index));
            let good: Vec<_> = wanted.filter_map(|row| self.read(row, &mut seen).ok()).collect();
            self.write_batch(good, &reserved).await?;
            bar.inc(size);
        }
        bar.finish_and_clear();
        Ok(())
    }

    async fn write_batch(&mut self, good: Vec<Good>, reserved: &Reserved) -> Result<(), Failure> {
        let commands: Vec<_> = good.iter().map(|good| good.command.clone()).collect();
        match self.store.apply_part(self.change(commands), reserved.clone()).await {
            Ok(applied) => applied.iter().for_each(|done| self.report.counts.count(done)),
            // Someone else changed what the check had seen: go row by row.
            Err(groma_store::Error::Refused { .. }) if self.import.keep_good => {
                for good in good {
                    let change = self.change(vec![good.command.clone()]);
                    match self.store.apply_part(change, reserved.clone()).await {
                        Ok(applied) => {
                            applied.iter().for_each(|done| self.report.counts.count(done));
                        }
                        Err(groma_store::Error::Refused { refusal, .. }) => {
                            self.report.rejected.push(good.rejected(&refusal));
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
        let Row { index, line, values } = row;
        let command = values.and_then(|values| {
            let command = read_command(self.import.kind, &values);
            let command = command.map_err(|refusal| refusal.to_string())?;
            seen.note(&command, line)?;
            Ok(command)
        });
        match command {
            Ok(command) => Ok(Good { index, line, command }),
            Err(message) => Err(Rejected { index, line, message }),
        }
    }

    /// The rows of the file, read on a thread of their own.
    fn rows(&self) -> mpsc::Receiver<Result<Row, Failure>> {
        let (send, rows) = mpsc::channel(BATCH * 2);
        let source = self.source.clone();
        tokio::task::spawn_blocking(move || {
            let outcome = source.read(&mut |row| {
                send.blocking_send(Ok(row))
                    .map_err(|_| Failure::new("nobody reads the rows any more"))
            });
            if let Err(failure) = outcome {
                let _ = send.blocking_send(Err(failure));
            }
        });
        rows
    }
}

/// What stood in the file already: a row that names it again is rejected, since which of the two
/// should win is a guess.
#[derive(Default)]
struct Seen {
    /// References, or kinds with names of statuses.
    lines: HashMap<String, u64>,
    /// Default statuses.
    defaults: HashMap<Kind, u64>,
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
        if let Some(first) = self.lines.get(&key) {
            return Err(format!("`{key}` stands on line {first} already"));
        }
        if let Command::SaveStatus { input, .. } = command
            && let (Field::Set(kind), Field::Set(true)) = (&input.applies_to, &input.is_default)
            && let Some(first) = self.defaults.insert(*kind, line)
        {
            self.defaults.insert(*kind, first);
            return Err(format!("isDefault is true for a {kind} on line {first} already"));
        }
        self.lines.insert(key, line);
        Ok(())
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

impl Counts {
    fn count(&mut self, done: &Done) {
        match done {
            Done::Created(..) | Done::Status { created: true, .. } => self.created += 1,
            Done::Unchanged(..) | Done::Status { changed: false, .. } => self.unchanged += 1,
            Done::Updated(..) | Done::Status { .. } | Done::Deleted { .. } => self.updated += 1,
        }
    }
}

impl Report {
    fn summary(&self) -> String {
        let Self { counts: Counts { created, updated, unchanged }, rejected } = self;
        format!(
            "{created} created, {updated} updated, {unchanged} unchanged, {} rejected",
            rejected.len()
        )
    }

    fn shown(&self) -> Value {
        let rejected: Vec<_> =
            self.rejected.iter().map(|r| json!({ "line": r.line, "message": r.message })).collect();
        json!({
            "created": self.counts.created,
            "updated": self.counts.updated,
            "unchanged": self.counts.unchanged,
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
