//! Imports rows of a file as records, in one transaction. A command can import more rows than one transaction should
//! have: it writes those in batches, so that it does not block other writers for long.

use super::{
    ImportError, MAX_ERRORS, Progress, Step, Unit,
    record_file::{RecordFile, Row},
    shortened,
};
use crate::{cli::RecordFileKind, clock};
use groma_domain::{
    DomainError, ImportJobId, Kind, Reference, Violation, WorkspaceId, input::Field,
    record::RecordInput, status::StatusInput, text::fold,
};
use groma_geo::{Message, message};
use groma_store::{
    Actor, Change, Command, ImportResult, ReservedReferences, SaveTarget, StatusTarget, Store,
};
use serde_json::{Map, Value};
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};
use tokio::{sync::mpsc, task::JoinHandle};

/// The number of rows that are checked, or written as a part of a large file, at a time: fewer if they are this large.
const BATCH_SIZE: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

/// The most rows that are written in one transaction, during which others wait.
pub(crate) const MAX_TRANSACTION_ROWS: u64 = 100_000;
/// The most bytes of such rows: all are in memory.
const MAX_TRANSACTION_BYTES: usize = 256 << 20;

/// Where the rows of a file go.
pub(crate) struct RecordImport {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) actor: Actor,
    pub(crate) kind: RecordFileKind,
    pub(crate) file: Arc<RecordFile>,
    /// The field of each column that has another name; `None` leaves the column out.
    pub(crate) columns: HashMap<String, Option<String>>,
    pub(crate) keep_good: bool,
    /// The check of a file with more rows stops.
    pub(crate) max_rows: u64,
    /// Says why a row is rejected, in the language of the reader.
    pub(crate) describe: Box<dyn Fn(&RowError) -> String + Send + Sync>,
    /// The job that ends with the import, in the same transaction.
    pub(crate) job: Option<ImportJobId>,
    pub(crate) progress: Arc<dyn Progress>,
}

/// A file that was read without writing anything.
#[derive(Default)]
pub(crate) struct CheckedRecords {
    /// Whether the file was read to the end: it can have too many rows, or too many that are rejected.
    pub(crate) is_complete: bool,
    /// The number of rows, valid or not.
    pub(crate) total: u64,
    /// About how many bytes of memory they take.
    bytes: usize,
    /// What importing the valid rows would do.
    pub(crate) expected: ImportResult,
    /// In the order of the file.
    pub(crate) rejected: Vec<RejectedRow>,
    /// References in the file, which must not be generated for an earlier row.
    reserved: HashSet<Reference>,
}

pub(crate) struct RejectedRow {
    /// Unlike the line, this is unique: a line can contain several rows.
    index: u64,
    pub(crate) line: u64,
    pub(crate) reason: String,
}

/// Why a row is rejected.
pub(crate) enum RowError {
    /// It breaks a rule.
    Domain(DomainError),
    /// It cannot be read, or repeats another one.
    Row(Message),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(error) => error.fmt(f),
            Self::Row(message) => message.fmt(f),
        }
    }
}

/// A row that can be read.
struct ValidRow {
    index: u64,
    line: u64,
    command: Command,
}

impl RecordImport {
    /// The columns that are no field of the records, so that they can be reported once instead of for every row.
    pub(crate) fn unknown_columns(&self) -> Result<Vec<String>, ImportError> {
        let Some(columns) = self.file.columns()? else { return Ok(Vec::new()) };
        let empty = columns.into_iter().map(|name| (name, Value::Null)).collect();
        let Err(DomainError::Invalid(problems)) = self.parse_command(empty) else {
            return Ok(Vec::new());
        };
        let unknown = problems.iter().filter(|one| one.violation == Violation::UnknownField);
        Ok(unknown.map(|problem| problem.field.to_string()).collect())
    }

    /// Dry-runs every row.
    pub(crate) async fn check(&self) -> Result<CheckedRecords, ImportError> {
        self.progress.begin(Step::Checking, None, Unit::Rows);
        let mut checked = CheckedRecords::default();
        let mut duplicates = DuplicateCheck::default();
        let mut batches = self.batches();
        checked.is_complete = loop {
            if checked.total > self.max_rows || checked.rejected.len() > MAX_ERRORS {
                break false;
            }
            let Some(batch) = batches.next().await? else { break true };
            checked.total += batch.len() as u64;
            checked.bytes += batch.iter().map(size).sum::<usize>();
            self.progress.advance(batch.len() as u64);
            self.stop_if_cancelled()?;
            let mut valid = Vec::with_capacity(batch.len());
            for row in batch {
                match self.parse(row, &mut duplicates) {
                    Ok(row) => valid.push(row),
                    Err(rejected) => checked.rejected.push(rejected),
                }
            }
            let commands = commands(&valid);
            let references = commands.iter().filter_map(Command::generated_reference).cloned();
            checked.reserved.extend(references);
            let outcomes = self.store.check(self.change(commands)).await?;
            for (row, outcome) in valid.iter().zip(outcomes) {
                match outcome {
                    Ok(done) => checked.expected.count(&done),
                    Err(error) => {
                        let error = RowError::Domain(error);
                        checked.rejected.push(self.reject(row.index, row.line, &error));
                    }
                }
            }
        };
        checked.rejected.sort_by_key(|row| row.index);
        self.progress.end();
        Ok(checked)
    }

    /// Writes the rows that were not rejected: all of them or none, unless the file has too many rows for one
    /// transaction. Rows that are rejected only now are added to them.
    pub(crate) async fn write(
        &self,
        checked: &mut CheckedRecords,
    ) -> Result<ImportResult, ImportError> {
        let is_small =
            checked.total <= MAX_TRANSACTION_ROWS && checked.bytes <= MAX_TRANSACTION_BYTES;
        let is_one_transaction = self.job.is_some() || is_small;
        let step = if is_one_transaction { Step::Reading } else { Step::Writing };
        self.progress.begin(step, Some(checked.total), Unit::Rows);
        let reserved = Arc::new(std::mem::take(&mut checked.reserved));
        let rejected: HashSet<u64> = checked.rejected.iter().map(|row| row.index).collect();
        let mut duplicates = DuplicateCheck::default();
        let mut writer = RowWriter {
            import: self,
            reserved,
            counts: ImportResult::default(),
            rejected: &mut checked.rejected,
        };
        let (mut batches, mut all) = (self.batches(), Vec::new());
        while let Some(batch) = batches.next().await? {
            let size = batch.len() as u64;
            let batch = batch.into_iter().filter(|row| !rejected.contains(&row.index));
            let valid = batch.filter_map(|row| self.parse(row, &mut duplicates).ok());
            match is_one_transaction {
                true => all.extend(valid),
                false => writer.write(valid.collect()).await?,
            }
            self.progress.advance(size);
            self.stop_if_cancelled()?;
        }
        self.progress.end();
        if is_one_transaction {
            self.progress.begin(Step::Publishing, None, Unit::Rows);
            writer.write(all).await?;
            self.progress.end();
        }
        Ok(writer.counts)
    }

    fn stop_if_cancelled(&self) -> Result<(), ImportError> {
        if self.progress.is_cancelled() { Err(ImportError::Cancelled) } else { Ok(()) }
    }

    fn change(&self, commands: Vec<Command>) -> Change {
        Change { workspace: self.workspace, actor: self.actor, now: clock::now(), commands }
    }

    fn parse(&self, row: Row, duplicates: &mut DuplicateCheck) -> Result<ValidRow, RejectedRow> {
        let Row { index, line, values } = row;
        let command = values.map_err(RowError::Row).and_then(|values| {
            let command = self.parse_command(values).map_err(RowError::Domain)?;
            duplicates.check(&command, line).map_err(RowError::Row)?;
            Ok(command)
        });
        match command {
            Ok(command) => Ok(ValidRow { index, line, command }),
            Err(error) => Err(self.reject(index, line, &error)),
        }
    }

    fn reject(&self, index: u64, line: u64, error: &RowError) -> RejectedRow {
        RejectedRow { index, line, reason: shortened((self.describe)(error)) }
    }

    fn parse_command(&self, values: Map<String, Value>) -> Result<Command, DomainError> {
        let mut fields = Map::new();
        for (column, value) in values {
            match self.columns.get(&column) {
                None => fields.insert(column, value),
                Some(Some(field)) => fields.insert(field.clone(), value),
                Some(None) => None,
            };
        }
        match self.kind.record_kind() {
            Some(kind) => {
                let draft = Box::new(RecordInput::read(kind, &fields)?);
                Ok(Command::Save { target: SaveTarget::ByReference, draft })
            }
            None => Ok(Command::SaveStatus {
                target: StatusTarget::ByName,
                input: StatusInput::read(&fields)?,
            }),
        }
    }

    /// The rows of the file in batches, read on a separate thread.
    fn batches(&self) -> RowBatches {
        let file = self.file.clone();
        RowBatches::read(move |on_row| file.read(on_row))
    }
}

/// The rows of a file in batches, read by a thread of its own.
struct RowBatches {
    batches: mpsc::Receiver<Vec<Row>>,
    /// `None` once it has ended.
    reader: Option<JoinHandle<Result<(), ImportError>>>,
}

impl RowBatches {
    fn read(
        read: impl FnOnce(&mut dyn FnMut(Row) -> Result<(), ImportError>) -> Result<(), ImportError>
        + Send
        + 'static,
    ) -> Self {
        let (sender, batches) = mpsc::channel(1);
        let reader = tokio::task::spawn_blocking(move || {
            let send = |batch| sender.blocking_send(batch).map_err(|_| ImportError::Cancelled);
            let (mut batch, mut bytes) = (Vec::new(), 0);
            read(&mut |row| {
                bytes += size(&row);
                batch.push(row);
                if batch.len() < BATCH_SIZE && bytes < BATCH_BYTES {
                    return Ok(());
                }
                bytes = 0;
                send(std::mem::take(&mut batch))
            })?;
            if batch.is_empty() { Ok(()) } else { send(batch) }
        });
        Self { batches, reader: Some(reader) }
    }

    /// The next batch; `None` at the end of the file.
    async fn next(&mut self) -> Result<Option<Vec<Row>>, ImportError> {
        if let Some(batch) = self.batches.recv().await {
            return Ok(Some(batch));
        }
        // The file is at its end, or the reader has failed.
        if let Some(reader) = self.reader.take() {
            reader.await??;
        }
        Ok(None)
    }
}

/// About how many bytes of memory a row takes.
fn size(row: &Row) -> usize {
    fn size(value: &Value) -> usize {
        size_of::<Value>()
            + match value {
                Value::String(text) => text.len(),
                Value::Array(items) => items.iter().map(size).sum(),
                Value::Object(fields) => size_of_fields(fields),
                Value::Number(number) => number.as_str().len(),
                Value::Null | Value::Bool(_) => 0,
            }
    }
    fn size_of_fields(fields: &Map<String, Value>) -> usize {
        let field = |(name, value)| size_of::<String>() + String::len(name) + size(value);
        fields.iter().map(field).sum()
    }
    row.values.as_ref().map_or(0, size_of_fields)
}

/// Writes rows, each call in one transaction.
struct RowWriter<'i> {
    import: &'i RecordImport,
    reserved: ReservedReferences,
    counts: ImportResult,
    rejected: &'i mut Vec<RejectedRow>,
}

impl RowWriter<'_> {
    async fn write(&mut self, mut rows: Vec<ValidRow>) -> Result<(), ImportError> {
        loop {
            let (error, index) = match self.apply(commands(&rows)).await {
                Ok(()) => return Ok(()),
                // These are not about a row.
                Err(
                    error @ groma_store::Error::Domain {
                        error:
                            DomainError::AccessEnded
                            | DomainError::Forbidden { .. }
                            | DomainError::ImportEnded,
                        ..
                    },
                ) => return Err(error.into()),
                Err(groma_store::Error::Domain { error, index }) => (error, index),
                Err(error) => return Err(error.into()),
            };
            // The data changed since the check.
            if !self.import.keep_good || self.import.job.is_some() || index >= rows.len() {
                return Err(ImportError::DataChanged {
                    line: rows.get(index).map_or(0, |row| row.line),
                    reason: (self.import.describe)(&RowError::Domain(error)),
                    written: summary(&self.counts),
                });
            }
            // The rule about default statuses is about all rows, so each is tried alone.
            if self.import.kind.record_kind().is_none() && rows.len() > 1 {
                for row in rows {
                    Box::pin(self.write(vec![row])).await?;
                }
                return Ok(());
            }
            let row = rows.remove(index);
            self.reject(&row, error);
            rows = self.still_valid(rows).await?;
        }
    }

    /// The rows that are still valid. The others are rejected.
    async fn still_valid(&mut self, rows: Vec<ValidRow>) -> Result<Vec<ValidRow>, ImportError> {
        let mut outcomes = Vec::with_capacity(rows.len());
        for batch in rows.chunks(BATCH_SIZE) {
            let change = self.import.change(commands(batch));
            outcomes.extend(self.import.store.check(change).await?);
        }
        let mut valid = Vec::with_capacity(rows.len());
        for (row, outcome) in rows.into_iter().zip(outcomes) {
            match outcome {
                Ok(_) => valid.push(row),
                Err(error) => self.reject(&row, error),
            }
        }
        Ok(valid)
    }

    fn reject(&mut self, row: &ValidRow, error: DomainError) {
        let error = RowError::Domain(error);
        self.rejected.push(self.import.reject(row.index, row.line, &error));
    }

    async fn apply(&mut self, commands: Vec<Command>) -> groma_store::Result<()> {
        let (import, reserved) = (self.import, self.reserved.clone());
        let change = import.change(commands);
        let applied = import.store.apply_import(change, reserved, import.job).await?;
        applied.iter().for_each(|done| self.counts.count(done));
        Ok(())
    }
}

fn commands(rows: &[ValidRow]) -> Vec<Command> {
    rows.iter().map(|row| row.command.clone()).collect()
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
    fn check(&mut self, command: &Command, line: u64) -> Result<(), Message> {
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
            return Err(message!("`{key}` is already on line {line}", key = key, line = *first));
        }
        if let Command::SaveStatus { input, .. } = command
            && let (Field::Set(kind), Field::Set(true)) = (&input.applies_to, &input.is_default)
            && let Some(first) = self.defaults.insert(*kind, line)
        {
            self.defaults.insert(*kind, first);
            return Err(message!(
                "line {line} already sets isDefault for the kind {kind}",
                line = first,
                kind = kind.to_string()
            ));
        }
        self.lines.insert(key, line);
        Ok(())
    }
}

/// What became of the rows of a file, in one line.
pub(crate) fn summary(counts: &ImportResult) -> String {
    let ImportResult { created, updated, unchanged, .. } = counts;
    format!("{created} created, {updated} updated, {unchanged} unchanged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::RecordFormat;
    use groma_domain::{Currency, Email, reference::Key, workspace::WorkspaceName};
    use groma_store::NewUser;
    use serde_json::json;
    use std::io::Write;
    use tempfile::TempDir;

    /// Passes on this many rows.
    fn pass(
        count: u64,
        on_row: &mut dyn FnMut(Row) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        (0..count)
            .try_for_each(|index| on_row(Row { index, line: index + 1, values: Ok(Map::new()) }))
    }

    #[tokio::test]
    async fn reader_that_fails_is_not_the_end_of_the_file() {
        let mut batches = RowBatches::read(|on_row| {
            pass(BATCH_SIZE as u64 + 1, on_row)?;
            panic!("a bug");
        });
        assert_eq!(batches.next().await.unwrap().unwrap().len(), BATCH_SIZE);
        let failed = batches.next().await.err();
        assert!(matches!(failed, Some(ImportError::Panicked)), "{failed:?}");
    }

    #[tokio::test]
    async fn batches_contain_all_rows() {
        let mut batches = RowBatches::read(|on_row| pass(BATCH_SIZE as u64 + 1, on_row));
        for size in [Some(BATCH_SIZE), Some(1), None, None] {
            assert_eq!(batches.next().await.unwrap().map(|batch| batch.len()), size);
        }
    }

    struct NoProgress;

    impl Progress for NoProgress {
        fn begin(&self, _: Step, _: Option<u64>, _: Unit) {}

        fn advance(&self, _: u64) {}

        fn end(&self) {}
    }

    /// An import of folders into a new database in this directory.
    async fn import_of(directory: &TempDir, format: RecordFormat, rows: &str) -> RecordImport {
        let url = format!("sqlite:{}", directory.path().join("groma.db").display());
        let store = Store::open(&url.parse().unwrap()).await.unwrap();
        let name = WorkspaceName::parse("Office").unwrap();
        let email = Email::parse("owner@office.test").unwrap();
        let owner = NewUser { email, name: None, password_hash: None };
        let created = store.create_workspace(name, Currency::EUR, owner, clock::now()).await;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(rows.as_bytes()).unwrap();
        RecordImport {
            store,
            workspace: created.unwrap().id,
            actor: Actor::Operator,
            kind: RecordFileKind::Folders,
            file: Arc::new(RecordFile::new(file, format, None)),
            columns: HashMap::new(),
            keep_good: false,
            max_rows: u64::MAX,
            describe: Box::new(|_| "é".repeat(1_000)),
            job: None,
            progress: Arc::new(NoProgress),
        }
    }

    /// Checks a CSV file of folders.
    async fn check_folders(rows: &str, max_rows: u64) -> CheckedRecords {
        let directory = tempfile::tempdir().unwrap();
        let import = import_of(&directory, RecordFormat::Csv, rows).await;
        RecordImport { max_rows, ..import }.check().await.unwrap()
    }

    #[tokio::test]
    async fn rows_that_become_invalid_after_the_check_are_left_out_or_prevent_the_import() {
        let row = |n| format!("{{\"reference\":\"R{n}\",\"name\":\"A\"}}\n");
        let rows: String = (0..2 * BATCH_SIZE).map(row).collect();
        let rows = format!("{rows}{{\"reference\":\"X\",\"description\":\"new\"}}\n");
        let count = 2 * BATCH_SIZE as u64;
        for keep_good in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let import = import_of(&directory, RecordFormat::Ndjson, &rows).await;
            let import = RecordImport { keep_good, ..import };
            let existing = json!({ "reference": "X", "name": "X" });
            let existing = import.parse_command(existing.as_object().unwrap().clone()).unwrap();
            import.store.apply(import.change(vec![existing])).await.unwrap();
            let mut checked = import.check().await.unwrap();
            assert_eq!((checked.expected.created, checked.expected.updated), (count, 1));
            // The row for it cannot create it.
            let key = Key::parse("X").unwrap();
            let delete = Command::Delete { kind: Kind::Folder, key, version: None };
            import.store.apply(import.change(vec![delete])).await.unwrap();
            let written = import.write(&mut checked).await;
            let stored = import.store.export(import.workspace, Kind::Folder, 0, 10_000).await;
            let rejected: Vec<_> = checked.rejected.iter().map(|row| row.line).collect();
            match written {
                Ok(counts) => {
                    assert!(keep_good);
                    assert_eq!((counts.created, counts.updated), (count, 0));
                    assert_eq!((stored.unwrap().len() as u64, rejected), (count, vec![count + 1]));
                }
                Err(ImportError::DataChanged { line, .. }) => {
                    assert!(!keep_good);
                    assert_eq!((line, stored.unwrap().len(), rejected), (count + 1, 0, vec![]));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[tokio::test]
    async fn file_with_too_many_rows_is_not_checked_to_its_end() {
        let rows = format!("name\n{}", "A\n".repeat(3 * BATCH_SIZE));
        let size = BATCH_SIZE as u64;
        let checked = check_folders(&rows, size - 1).await;
        assert_eq!((checked.is_complete, checked.total), (false, size));
        let checked = check_folders(&rows, 3 * size).await;
        assert_eq!((checked.is_complete, checked.expected.created), (true, 3 * size));
    }

    #[tokio::test]
    async fn long_reasons_are_cut() {
        let rejected = check_folders("name\n\"\"\n", u64::MAX).await.rejected;
        assert_eq!(rejected[0].reason, format!("{}…", "é".repeat(250)));
    }

    #[tokio::test]
    async fn check_stops_after_too_many_rejected_rows() {
        let rows = |count| format!("name,code\n{}", "A\n".repeat(count));
        let checked = check_folders(&rows(MAX_ERRORS + 3 * BATCH_SIZE), u64::MAX).await;
        assert!(!checked.is_complete);
        assert_eq!(checked.rejected.len(), MAX_ERRORS + BATCH_SIZE);
        assert!(check_folders(&rows(10), u64::MAX).await.is_complete);
    }
}
