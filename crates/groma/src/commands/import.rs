//! `groma import`: checks the whole file first, then writes it in batches, so that it does not
//! block other writers.

use super::{
    CommandError, find_workspace, print, progress,
    record_file::{RecordFile, Row},
    rejected_rows,
};
use crate::{
    cli::{ImportRecords, RecordFileKind},
    clock,
};
use groma_domain::{
    DomainError, Kind, Reference, Violation, WorkspaceId, input::Field, record::RecordInput,
    status::StatusInput, text::fold,
};
use groma_store::{
    Actor, Change, Command, CommandOutcome, ReservedReferences, SaveTarget, StatusTarget, Store,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tokio::sync::mpsc;

/// The number of rows written in one transaction.
const BATCH_SIZE: usize = 500;

pub(super) async fn run(store: &Store, import: ImportRecords) -> Result<(), CommandError> {
    let workspace = find_workspace(store, &import.workspace).await?.id;
    let (path, format) = (import.file.clone(), import.format);
    let file = tokio::task::spawn_blocking(move || RecordFile::open(&path, format)).await;
    let file = Arc::new(file.map_err(CommandError::new)??);
    reject_unknown_columns(&file, &import)?;
    let mut job = ImportJob { store, workspace, import: &import, file, report: Report::default() };
    let CheckResult { total, reserved, expected } = job.check().await?;
    let is_valid = job.report.rejected.is_empty();
    if import.dry_run {
        job.report.counts = expected;
    } else if is_valid || import.keep_good {
        job.write(total, Arc::new(reserved)).await?;
    }
    let report = job.report;
    let rejected = report.rejected.iter().map(|row| (row.line, row.message.as_str()));
    for line in rejected_rows::lines(&import.file, rejected) {
        eprintln!("{line}");
    }
    if import.json {
        print(&report.to_json().to_string())?;
    } else if import.dry_run {
        let Counts { created, updated, unchanged } = report.counts;
        let rejected = report.rejected.len();
        print(&format!(
            "{total} rows checked, {rejected} rejected. The import would create {created} and \
             update {updated}; {unchanged} are unchanged."
        ))?;
    } else {
        print(&report.summary())?;
    }
    match report.rejected.len() {
        0 => Ok(()),
        _ if import.keep_good && !import.dry_run => Ok(()),
        1 => Err(CommandError::new("1 row was rejected; nothing was imported")),
        rejected => {
            Err(CommandError::new(format!("{rejected} rows were rejected; nothing was imported")))
        }
    }
}

/// Reports an unknown column once instead of for every row.
fn reject_unknown_columns(file: &RecordFile, import: &ImportRecords) -> Result<(), CommandError> {
    let Some(columns) = file.columns()? else { return Ok(()) };
    let empty = columns.into_iter().map(|name| (name, Value::Null)).collect();
    let Err(DomainError::Invalid(problems)) = parse_command(import.kind, &empty) else {
        return Ok(());
    };
    let unknown = problems.iter().filter(|problem| problem.violation == Violation::UnknownField);
    let unknown: Vec<_> = unknown.map(|problem| format!("`{}`", problem.field)).collect();
    let noun = match unknown.len() {
        0 => return Ok(()),
        1 => "unknown column",
        _ => "unknown columns",
    };
    let (file, unknown) = (import.file.display(), unknown.join(", "));
    Err(CommandError::new(format!("{file}: {noun} {unknown}; nothing was imported")))
}

struct ImportJob<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    import: &'a ImportRecords,
    file: Arc<RecordFile>,
    report: Report,
}

#[derive(Default)]
struct CheckResult {
    /// The number of rows.
    total: u64,
    /// References in the file, which must not be generated for an earlier row.
    reserved: HashSet<Reference>,
    /// What importing the valid rows would do.
    expected: Counts,
}

#[derive(Default)]
struct Report {
    counts: Counts,
    rejected: Vec<RejectedRow>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    created: u64,
    updated: u64,
    unchanged: u64,
}

struct RejectedRow {
    /// Unlike the line, this is unique: a line can contain several rows.
    index: u64,
    line: u64,
    message: String,
}

/// A row that can be read.
struct ValidRow {
    index: u64,
    line: u64,
    command: Command,
}

impl ValidRow {
    fn reject(&self, error: &DomainError) -> RejectedRow {
        RejectedRow { index: self.index, line: self.line, message: error.to_string() }
    }
}

impl ImportJob<'_> {
    /// Dry-runs every row.
    async fn check(&mut self) -> Result<CheckResult, CommandError> {
        let bar = progress::counter("Checking", "rows");
        let mut result = CheckResult::default();
        let mut duplicates = DuplicateCheck::default();
        let mut rows = self.rows();
        while let Some(batch) = next_batch(&mut rows).await? {
            result.total += batch.len() as u64;
            bar.inc(batch.len() as u64);
            let mut valid = Vec::with_capacity(batch.len());
            for row in batch {
                match self.parse(row, &mut duplicates) {
                    Ok(row) => valid.push(row),
                    Err(rejected) => self.report.rejected.push(rejected),
                }
            }
            let commands: Vec<_> = valid.iter().map(|row| row.command.clone()).collect();
            result
                .reserved
                .extend(commands.iter().filter_map(Command::generated_reference).cloned());
            let outcomes = self.store.check(self.change(commands)).await?;
            for (row, outcome) in valid.iter().zip(outcomes) {
                match outcome {
                    Ok(done) => result.expected.count(&done),
                    Err(error) => self.report.rejected.push(row.reject(&error)),
                }
            }
        }
        self.report.rejected.sort_by_key(|row| row.index);
        bar.finish_and_clear();
        Ok(result)
    }

    /// Writes the rows that were not rejected.
    async fn write(
        &mut self,
        total: u64,
        reserved: ReservedReferences,
    ) -> Result<(), CommandError> {
        let bar = progress::bar("Writing", "rows");
        bar.set_length(total);
        let rejected: HashSet<u64> = self.report.rejected.iter().map(|row| row.index).collect();
        let mut duplicates = DuplicateCheck::default();
        let mut rows = self.rows();
        while let Some(batch) = next_batch(&mut rows).await? {
            let size = batch.len() as u64;
            let rows = batch.into_iter().filter(|row| !rejected.contains(&row.index));
            let rows = rows.filter_map(|row| self.parse(row, &mut duplicates).ok()).collect();
            self.write_batch(rows, &reserved).await?;
            bar.inc(size);
        }
        bar.finish_and_clear();
        Ok(())
    }

    async fn write_batch(
        &mut self,
        rows: Vec<ValidRow>,
        reserved: &ReservedReferences,
    ) -> Result<(), CommandError> {
        let commands: Vec<_> = rows.iter().map(|row| row.command.clone()).collect();
        match self.store.apply_part(self.change(commands), reserved.clone()).await {
            Ok(applied) => applied.iter().for_each(|done| self.report.counts.count(done)),
            // The data changed since the check: find the rows that are no longer valid.
            Err(groma_store::Error::Domain { .. }) if self.import.keep_good => {
                for row in rows {
                    let change = self.change(vec![row.command.clone()]);
                    match self.store.apply_part(change, reserved.clone()).await {
                        Ok(applied) => {
                            applied.iter().for_each(|done| self.report.counts.count(done));
                        }
                        Err(groma_store::Error::Domain { error, .. }) => {
                            self.report.rejected.push(row.reject(&error));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Err(groma_store::Error::Domain { error, index }) => {
                let line = rows.get(index).map_or(0, |row| row.line);
                let summary = self.report.summary();
                return Err(CommandError::new(format!(
                    "line {line}: {error}; the data changed after the check, and the import \
                     stopped after {summary}; run it again"
                )));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn change(&self, commands: Vec<Command>) -> Change {
        Change { workspace: self.workspace, actor: Actor::Operator, now: clock::now(), commands }
    }

    fn parse(&self, row: Row, duplicates: &mut DuplicateCheck) -> Result<ValidRow, RejectedRow> {
        let Row { index, line, values } = row;
        let command = values.and_then(|values| {
            let command = parse_command(self.import.kind, &values);
            let command = command.map_err(|error| error.to_string())?;
            duplicates.check(&command, line)?;
            Ok(command)
        });
        match command {
            Ok(command) => Ok(ValidRow { index, line, command }),
            Err(message) => Err(RejectedRow { index, line, message }),
        }
    }

    /// The rows of the file, read on a separate thread.
    fn rows(&self) -> mpsc::Receiver<Result<Row, CommandError>> {
        let (sender, rows) = mpsc::channel(BATCH_SIZE * 2);
        let file = self.file.clone();
        tokio::task::spawn_blocking(move || {
            let result = file.read(&mut |row| {
                sender.blocking_send(Ok(row)).map_err(|_| CommandError::new("import stopped"))
            });
            if let Err(error) = result {
                let _ = sender.blocking_send(Err(error));
            }
        });
        rows
    }
}

/// Rejects rows that repeat a record of an earlier row, because it is unclear which one should win.
#[derive(Default)]
struct DuplicateCheck {
    /// The line of each reference, or of each kind and name of a status.
    lines: HashMap<String, u64>,
    /// The line of the default status of each kind.
    defaults: HashMap<Kind, u64>,
}

impl DuplicateCheck {
    fn check(&mut self, command: &Command, line: u64) -> Result<(), String> {
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
            return Err(format!("`{key}` is already on line {first}"));
        }
        if let Command::SaveStatus { input, .. } = command
            && let (Field::Set(kind), Field::Set(true)) = (&input.applies_to, &input.is_default)
            && let Some(first) = self.defaults.insert(*kind, line)
        {
            self.defaults.insert(*kind, first);
            return Err(format!("line {first} already sets isDefault for the kind {kind}"));
        }
        self.lines.insert(key, line);
        Ok(())
    }
}

fn parse_command(
    kind: RecordFileKind,
    values: &Map<String, Value>,
) -> Result<Command, DomainError> {
    match kind.record_kind() {
        Some(kind) => {
            let draft = Box::new(RecordInput::read(kind, values)?);
            Ok(Command::Save { target: SaveTarget::ByReference, draft })
        }
        None => Ok(Command::SaveStatus {
            target: StatusTarget::ByName,
            input: StatusInput::read(values)?,
        }),
    }
}

async fn next_batch(
    rows: &mut mpsc::Receiver<Result<Row, CommandError>>,
) -> Result<Option<Vec<Row>>, CommandError> {
    let mut batch = Vec::with_capacity(BATCH_SIZE);
    while batch.len() < BATCH_SIZE {
        match rows.recv().await {
            Some(row) => batch.push(row?),
            None => break,
        }
    }
    Ok((!batch.is_empty()).then_some(batch))
}

impl Counts {
    fn count(&mut self, done: &CommandOutcome) {
        match done {
            CommandOutcome::Created(..) | CommandOutcome::Status { created: true, .. } => {
                self.created += 1;
            }
            CommandOutcome::Unchanged(..) | CommandOutcome::Status { changed: false, .. } => {
                self.unchanged += 1;
            }
            CommandOutcome::Updated(..)
            | CommandOutcome::Status { .. }
            | CommandOutcome::Deleted { .. } => self.updated += 1,
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

    fn to_json(&self) -> Value {
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
