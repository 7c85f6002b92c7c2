//! The change set: the records that a change works on, and how they are written.

use super::{
    Link, RecordCounters, RecordRow, RecordTx, RecordWrite, StoredRecord,
    change::{Change, Command, CommandOutcome, ReservedReferences},
    page_index::BUCKET_SIZE,
    unlinked_features::{DeletedLinks, unlink_features},
};
use crate::{
    Error, Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    engine::random,
    people::{PeopleWrite, StoredPerson},
    webhooks::WebhookContext,
    workspaces::{self, LockedWorkspace},
};
use groma_domain::{
    DomainError, Event, Kind, Person, PersonId, Record, RecordId, Reference, Status, StatusId,
    Timestamp, Violation, WorkspaceId,
    event::{self, EventScope},
    person::{PersonRef, name_from_email},
    record::{self, LabelField, PersonDirectory},
    reference::Key,
    status::StatusGroup,
    text::fold,
    workspace::Workspace,
};
use rust_decimal::Decimal;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};
use uuid::Uuid;

/// A record of the change set.
struct Entry {
    kind: Kind,
    /// Its position in the order of creation; a new one has none yet.
    position: Option<u64>,
    /// Its state before the change; `None` for a new record.
    before: Option<Record>,
    /// Its state after the change; `None` for a deleted record.
    after: Option<Record>,
}

/// What a command did to the change set. The outcome follows when all commands are executed.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Record { id: RecordId, changed: bool, created: bool },
    Deleted { id: RecordId, with: usize },
    Status { id: StatusId, changed: bool, created: bool },
}

/// What a command that fails must leave as it was.
pub(super) struct Checkpoint {
    new_people: usize,
    counters: BTreeMap<Kind, RecordCounters>,
}

pub(super) struct ChangeSet<'t, T> {
    tx: &'t mut T,
    locked: LockedWorkspace,
    pub(super) actor: AuthorizedActor,
    pub(super) now: Timestamp,
    entries: Vec<Entry>,
    by_id: HashMap<RecordId, usize>,
    by_reference: HashMap<(Kind, Reference), RecordId>,
    counters: BTreeMap<Kind, RecordCounters>,
    /// References that commands of this change set, and those that other parts of it will: none of them
    /// is generated.
    given: HashSet<Reference>,
    reserved: ReservedReferences,
    statuses: Option<Statuses>,
    people: HashMap<PersonId, Person>,
    by_email: HashMap<String, PersonId>,
    new_people: Vec<Person>,
}

/// The statuses of the workspace, before and after the change.
struct Statuses {
    before: Vec<Status>,
    after: Vec<Status>,
}

impl<'t, T: RecordTx> ChangeSet<'t, T> {
    pub(super) async fn begin(
        tx: &'t mut T,
        change: &Change,
        reserved: ReservedReferences,
    ) -> Result<Self> {
        let (locked, actor) =
            workspaces::authorize(tx, change.workspace, change.actor, change.now).await?;
        let given =
            change.commands.iter().filter_map(Command::generated_reference).cloned().collect();
        Ok(Self {
            tx,
            locked,
            actor,
            now: change.now,
            entries: Vec::new(),
            by_id: HashMap::new(),
            by_reference: HashMap::new(),
            counters: BTreeMap::new(),
            given,
            reserved,
            statuses: None,
            people: HashMap::new(),
            by_email: HashMap::new(),
            new_people: Vec::new(),
        })
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.locked.workspace
    }

    pub(super) fn tx(&mut self) -> &mut T {
        self.tx
    }

    fn id(&self) -> WorkspaceId {
        self.locked.workspace.id
    }

    /// The record of this key, after the change so far.
    pub(super) async fn find(&mut self, kind: Kind, key: &Key) -> Result<Option<Record>> {
        let known = match key {
            Key::Id(id) => Some(*id),
            Key::Reference(reference) => self.by_reference.get(&(kind, reference.clone())).copied(),
        };
        let index = match known.and_then(|id| self.by_id.get(&id)) {
            Some(&index) => index,
            None => match self.tx.find(self.id(), kind, key).await? {
                Some(stored) => self.load(kind, stored),
                None => return Ok(None),
            },
        };
        // The stored record may have another key by now, or be deleted.
        Ok(self.entries[index].after.clone().filter(|record| matches(record, kind, key)))
    }

    /// The record of this external ID, after the change so far.
    pub(super) async fn find_by_external_id(
        &mut self,
        kind: Kind,
        external_id: &str,
    ) -> Result<Option<Record>> {
        // More than two, because those of the set may have another external ID by now.
        let limit = self.entries.len() + 2;
        for stored in self.tx.by_external_id(self.id(), kind, external_id, limit).await? {
            self.load(kind, stored);
        }
        let records = self.entries.iter().filter(|entry| entry.kind == kind);
        let mut found = records
            .filter_map(|entry| entry.after.as_ref())
            .filter(|record| record.external_id() == Some(external_id));
        let first = found.next().cloned();
        if found.next().is_some() {
            let several = Violation::SeveralMatch { value: external_id.to_owned() };
            return Err(DomainError::invalid("externalId", several).into());
        }
        Ok(first)
    }

    /// The state to return to if the next command fails.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { new_people: self.new_people.len(), counters: self.counters.clone() }
    }

    /// Undoes what a failed command did besides changing records, which commands do last.
    pub(super) fn roll_back(&mut self, to: Checkpoint) {
        for person in self.new_people.drain(to.new_people..) {
            self.people.remove(&person.id);
            self.by_email.remove(&person.email.key());
        }
        self.counters = to.counters;
    }

    /// The records of a kind that refer to `id`, after the change so far.
    pub(super) async fn linked(
        &mut self,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<Vec<RecordId>> {
        for stored in self.tx.linked(self.id(), kind, link, id).await? {
            self.load(kind, stored);
        }
        let records = self.entries.iter().filter(|entry| entry.kind == kind);
        let linked = records
            .filter_map(|entry| entry.after.as_ref())
            .filter(|record| link.target(record) == Some(id));
        Ok(linked.map(Record::id).collect())
    }

    /// Whether a record of a kind refers to `id`.
    pub(super) async fn is_linked(&mut self, kind: Kind, link: Link, id: Uuid) -> Result<bool> {
        let refers = |record: &Option<Record>| {
            record.as_ref().is_some_and(|r| r.kind() == kind && link.target(r) == Some(id))
        };
        if self.entries.iter().any(|entry| refers(&entry.after)) {
            return Ok(true);
        }
        // A stored reference may be removed by now; then the others are checked one by one.
        if self.entries.iter().any(|entry| refers(&entry.before)) {
            return Ok(!self.linked(kind, link, id).await?.is_empty());
        }
        self.tx.is_linked(self.id(), kind, link, id).await
    }

    /// Adds a stored record to the set, unless it is in it.
    fn load(&mut self, kind: Kind, stored: StoredRecord) -> usize {
        let StoredRecord { position, record } = stored;
        let id = record.id();
        if let Some(&index) = self.by_id.get(&id) {
            return index;
        }
        let index = self.entries.len();
        self.by_id.insert(id, index);
        self.by_reference.entry((kind, record.reference().clone())).or_insert(id);
        self.entries.push(Entry {
            kind,
            position: Some(position),
            before: Some(record.clone()),
            after: Some(record),
        });
        index
    }

    /// Sets the state of a record after the change.
    pub(super) fn put(&mut self, record: Record) {
        let (kind, id) = (record.kind(), record.id());
        self.by_reference.insert((kind, record.reference().clone()), id);
        match self.by_id.get(&id) {
            Some(&index) => self.entries[index].after = Some(record),
            None => {
                self.by_id.insert(id, self.entries.len());
                self.entries.push(Entry {
                    kind,
                    position: None,
                    before: None,
                    after: Some(record),
                });
            }
        }
    }

    /// Updates a record of the set.
    pub(super) fn update(&mut self, id: RecordId, update: impl FnOnce(&mut Record)) {
        let entry = self.by_id.get(&id).map(|&index| &mut self.entries[index]);
        if let Some(record) = entry.and_then(|entry| entry.after.as_mut()) {
            update(record);
        }
    }

    /// Deletes a record of the set.
    pub(super) fn remove(&mut self, id: RecordId) {
        if let Some(&index) = self.by_id.get(&id) {
            self.entries[index].after = None;
        }
    }

    /// The next unused reference.
    pub(super) async fn generate_reference(&mut self, kind: Kind) -> Result<Reference> {
        loop {
            let counters = self.counters(kind).await?;
            counters.last_reference += 1;
            let reference = Reference::generated(kind, counters.last_reference);
            if self.given.contains(&reference) || self.reserved.contains(&reference) {
                continue;
            }
            if self.find(kind, &Key::Reference(reference.clone())).await?.is_none() {
                return Ok(reference);
            }
        }
    }

    async fn counters(&mut self, kind: Kind) -> Result<&mut RecordCounters> {
        if !self.counters.contains_key(&kind) {
            let counters = self.tx.record_counters(self.id(), kind).await?;
            self.counters.insert(kind, counters);
        }
        self.counters.get_mut(&kind).ok_or(Error::Closed)
    }

    /// The statuses of the workspace, after the change so far.
    pub(super) async fn statuses(&mut self) -> Result<&mut Vec<Status>> {
        if self.statuses.is_none() {
            let before = self.tx.statuses(self.id()).await?;
            self.statuses = Some(Statuses { after: before.clone(), before });
        }
        self.statuses.as_mut().map(|statuses| &mut statuses.after).ok_or(Error::Closed)
    }

    /// The statuses after the change so far, if a command needed them.
    pub(super) fn loaded_statuses(&self) -> Option<&[Status]> {
        self.statuses.as_ref().map(|statuses| &statuses.after[..])
    }

    /// The person of a reference; an unknown address becomes a new person.
    pub(super) async fn resolve_person(
        &mut self,
        field: &str,
        reference: &PersonRef,
    ) -> Result<PersonId> {
        let email = match reference {
            PersonRef::Email(email) => email,
            PersonRef::Id(id) => match self.person(*id).await? {
                Some(person) => return Ok(person.id),
                None => return Err(DomainError::invalid(field, Violation::NoSuchPerson).into()),
            },
        };
        let key = email.key();
        if let Some(id) = self.by_email.get(&key) {
            return Ok(*id);
        }
        let person = match self.tx.person_by_email(self.id(), email).await? {
            Some(row) => row.person,
            None => {
                let id = PersonId::new(self.now, random());
                let person = Person { id, name: name_from_email(email), email: email.clone() };
                self.new_people.push(person.clone());
                person
            }
        };
        let id = person.id;
        self.by_email.insert(key, id);
        self.people.insert(id, person);
        Ok(id)
    }

    async fn person(&mut self, id: PersonId) -> Result<Option<Person>> {
        if let Some(person) = self.people.get(&id) {
            return Ok(Some(person.clone()));
        }
        let person = self.tx.person(self.id(), id).await?.map(|row| row.person);
        if let Some(person) = &person {
            self.people.insert(id, person.clone());
        }
        Ok(person)
    }

    /// Updates the spent amounts of budgets by the expenses that changed. Cancelled expenses do not count.
    pub(super) async fn update_budgets(&mut self) -> Result<()> {
        if self.entries.iter().any(|entry| entry.kind == Kind::Expense) {
            self.statuses().await?;
        }
        let Some(statuses) = &self.statuses else { return Ok(()) };
        let mut spent: BTreeMap<RecordId, Decimal> = BTreeMap::new();
        let mut count = |record: Option<&Record>, statuses: &[Status], sign: Decimal| {
            if let Some(Record::Expense(expense)) = record
                && let Some(budget) = expense.budget_id
                && !is_cancelled(expense.status_id, statuses)
            {
                *spent.entry(budget).or_default() += expense.amount.0 * sign;
            }
        };
        for entry in &self.entries {
            count(entry.before.as_ref(), &statuses.before, Decimal::NEGATIVE_ONE);
            count(entry.after.as_ref(), &statuses.after, Decimal::ONE);
        }
        for (budget, by) in spent {
            if !by.is_zero() && self.find(Kind::Budget, &Key::Id(budget)).await?.is_some() {
                self.update(budget, |record| {
                    if let Record::Budget(budget) = record {
                        budget.add_spent(by);
                    }
                });
            }
        }
        Ok(())
    }

    /// Gives every record that differs its next version.
    pub(super) fn increment_versions(&mut self) {
        for entry in &mut self.entries {
            if let (Some(before), Some(after)) = (&entry.before, &mut entry.after)
                && before != after
            {
                after.increment_version(self.now);
            }
        }
    }

    /// The state of a record after the change; of a deleted one before it.
    pub(super) fn record(&self, id: RecordId) -> Option<&Record> {
        let entry = &self.entries[*self.by_id.get(&id)?];
        entry.after.as_ref().or(entry.before.as_ref())
    }

    /// The public document of a record.
    pub(super) async fn document(&mut self, record: &Record) -> Result<String> {
        let mut book = PersonDirectory::default();
        for id in record.people() {
            if let Some(person) = self.person(id).await? {
                book.insert(&person);
            }
        }
        Ok(public_document(record, &book))
    }

    /// The outcome of a command.
    pub(super) fn outcome(&self, effect: Effect) -> CommandOutcome {
        let id = match effect {
            Effect::Deleted { with, .. } => return CommandOutcome::Deleted { with },
            Effect::Status { changed, created, .. } => {
                return CommandOutcome::Status { changed, created };
            }
            Effect::Record { id, .. } => id,
        };
        let entry = self.by_id.get(&id).map(|&index| &self.entries[index]);
        let (before, after) =
            entry.map_or((None, None), |entry| (entry.before.as_ref(), entry.after.as_ref()));
        let Some(reference) = after.map(|record| record.reference().clone()) else {
            return CommandOutcome::Deleted { with: 0 };
        };
        match Event::from_change(before, after).map(|event| event.action) {
            None => CommandOutcome::Unchanged(id, reference),
            Some(event::EventAction::Created) => CommandOutcome::Created(id, reference),
            Some(_) => CommandOutcome::Updated(id, reference),
        }
    }

    /// Writes every record that differs, with its event.
    pub(super) async fn write(mut self, webhooks: &Arc<WebhookContext>) -> Result<()> {
        let workspace = self.id();
        let book = self.people_book().await?;
        let version = self.locked.endpoints_version;
        let targets = webhooks.targets(self.tx, workspace, version).await?;
        self.write_people().await?;
        let mut writes = Vec::new();
        let status_entries = self.write_statuses(&mut writes);
        self.release_references(&mut writes);
        write_labels(&self.entries, &mut writes);
        let mut bucket_changes: BTreeMap<(Kind, u64), i64> = BTreeMap::new();
        let mut events = Vec::new();
        let mut deleted = DeletedLinks::default();
        for entry in std::mem::take(&mut self.entries) {
            let event = Event::from_change(entry.before.as_ref(), entry.after.as_ref());
            let Some(event) = event else { continue };
            let position = match entry.position {
                Some(position) => position,
                None => {
                    let counters = self.counters(entry.kind).await?;
                    counters.last_position += 1;
                    counters.last_position
                }
            };
            let difference = match event.action {
                event::EventAction::Created => 1,
                event::EventAction::Deleted => -1,
                event::EventAction::Updated | event::EventAction::Archived => 0,
            };
            if difference != 0 {
                let bucket = (entry.kind, position / BUCKET_SIZE);
                *bucket_changes.entry(bucket).or_default() += difference;
            }
            match (&entry.before, entry.after.is_some()) {
                (Some(Record::Folder(folder)), false) => deleted.folders.push(folder.id),
                (Some(Record::Assignment(gone)), false) => deleted.assignments.push(gone.id),
                _ => {}
            }
            let states = [&entry.before, &entry.after].into_iter().flatten();
            let folders: Vec<RecordId> = states.filter_map(Record::scope_folder).collect();
            let audit_entry = self.write_record(entry, event, position, &book, &mut writes);
            let scope = EventScope { folders: &folders, ..EventScope::default() };
            events.push(webhooks.event(audit_entry, event, &scope, &targets));
        }
        self.write_counters(bucket_changes, &mut writes).await?;
        if !writes.is_empty() {
            self.tx.write_records(workspace, writes).await?;
        }
        for entry in status_entries {
            self.tx.log(workspace, entry).await?;
        }
        let (actor, now) = (self.actor.into(), self.now);
        let unlinked =
            unlink_features(self.tx, workspace, &deleted, actor, now, webhooks, &targets).await?;
        events.extend(unlinked);
        if !events.is_empty() {
            self.tx.log_events(workspace, events, webhooks).await?;
        }
        Ok(())
    }

    /// Releases the references that move from one stored record to another, so that the order of the
    /// writes does not matter.
    fn release_references(&self, writes: &mut Vec<RecordWrite>) {
        for entry in &self.entries {
            let (Some(before), Some(position)) = (&entry.before, entry.position) else { continue };
            let differs = entry.after.as_ref().map(Record::reference) != Some(before.reference());
            let key = (entry.kind, before.reference().clone());
            if differs && self.by_reference.get(&key).is_some_and(|id| *id != before.id()) {
                let (kind, id) = (entry.kind, before.id());
                writes.push(RecordWrite::ReleaseReference { kind, position, id });
            }
        }
    }

    /// Writes a record; returns its audit entry.
    fn write_record(
        &self,
        entry: Entry,
        event: Event,
        position: u64,
        book: &PersonDirectory,
        writes: &mut Vec<RecordWrite>,
    ) -> NewAuditEntry {
        let Entry { kind, before, after, .. } = entry;
        let mut audit_entry = NewAuditEntry {
            at: self.now,
            actor: self.actor.into(),
            action: event.name(),
            subject: before.as_ref().or(after.as_ref()).map_or(Uuid::nil(), |r| r.id().0),
            before: before.as_ref().map(|before| public_document(before, book)),
            after: None,
        };
        match after {
            None => {
                writes.push(RecordWrite::Delete { kind, position });
            }
            Some(record) => {
                let document = public_document(&record, book);
                audit_entry.before = audit_entry.before.map(|before| {
                    let changed = record::changed_fields(before.as_bytes(), document.as_bytes());
                    serde_json::Value::Object(changed).to_string()
                });
                audit_entry.after = Some(document);
                let (title, search_text) = (fold(record.title()), record.search_text());
                let search_changed =
                    before.as_ref().is_none_or(|before| before.search_text() != search_text);
                let document = record.document();
                let reference_key = fold(record.reference().as_str());
                let row =
                    RecordRow { position, document, record, title, reference_key, search_text };
                writes.push(match before {
                    None => RecordWrite::Insert(row),
                    Some(_) => RecordWrite::Update { row, search_changed },
                });
            }
        }
        audit_entry
    }

    async fn write_counters(
        &mut self,
        bucket_changes: BTreeMap<(Kind, u64), i64>,
        writes: &mut Vec<RecordWrite>,
    ) -> Result<()> {
        let mut totals: BTreeMap<Kind, i64> = BTreeMap::new();
        for ((kind, _), difference) in &bucket_changes {
            *totals.entry(*kind).or_default() += difference;
        }
        let has_changed =
            |kind: Kind| bucket_changes.iter().any(|((of, _), n)| *of == kind && *n != 0);
        for (kind, difference) in totals {
            let has_changed = u64::from(has_changed(kind));
            let counters = self.counters(kind).await?;
            counters.total = counters.total.saturating_add_signed(difference);
            counters.generation += has_changed;
        }
        for ((kind, bucket), difference) in bucket_changes.into_iter().filter(|(_, n)| *n != 0) {
            let generation = self.counters(kind).await?.generation;
            writes.push(RecordWrite::AdjustBucket { kind, bucket, difference, generation });
        }
        for (kind, counters) in &self.counters {
            writes.push(RecordWrite::SaveCounters { kind: *kind, counters: *counters });
        }
        Ok(())
    }

    async fn write_people(&mut self) -> Result<()> {
        let new_people = std::mem::take(&mut self.new_people);
        if new_people.is_empty() {
            return Ok(());
        }
        let save = |person| PeopleWrite::Save {
            person: StoredPerson { person, user: None, role: None },
            at: self.now,
        };
        let mut writes: Vec<PeopleWrite> = new_people.into_iter().map(save).collect();
        writes.push(PeopleWrite::IncrementGeneration);
        let workspace = self.id();
        self.tx.write_people(workspace, writes).await
    }

    /// Writes the statuses that differ; returns their audit entries.
    fn write_statuses(&mut self, writes: &mut Vec<RecordWrite>) -> Vec<NewAuditEntry> {
        let Some(Statuses { before, after }) = self.statuses.take() else { return Vec::new() };
        let (at, actor) = (self.now, self.actor.into());
        let entry = |action, id: StatusId, before: Option<&Status>, after: Option<&Status>| {
            let (before, after) = (before.map(Status::document), after.map(Status::document));
            NewAuditEntry { at, actor, action, subject: id.0, before, after }
        };
        let mut entries = Vec::new();
        // Deleted first, so that a name can move from one status to another.
        for deleted in before.iter().filter(|old| !after.iter().any(|new| new.id == old.id)) {
            writes.push(RecordWrite::DeleteStatus(deleted.id));
            entries.push(entry("status.deleted", deleted.id, Some(deleted), None));
        }
        // Renamed statuses have their id for a name in between, so that names can be swapped.
        let is_renamed =
            |new: &&Status| before.iter().any(|old| old.id == new.id && old.name != new.name);
        for renamed in after.iter().filter(is_renamed) {
            writes.push(RecordWrite::ReleaseStatusName(renamed.id));
        }
        for status in after {
            let old = before.iter().find(|old| old.id == status.id);
            if old == Some(&status) {
                continue;
            }
            let action = if old.is_some() { "status.updated" } else { "status.created" };
            entries.push(entry(action, status.id, old, Some(&status)));
            writes.push(RecordWrite::SaveStatus(status));
        }
        entries
    }

    /// The people that the documents of this change name.
    async fn people_book(&mut self) -> Result<PersonDirectory> {
        let records = self.entries.iter().flat_map(|entry| entry.before.iter().chain(&entry.after));
        let mut named: Vec<PersonId> = records.flat_map(Record::people).collect();
        named.sort_unstable();
        named.dedup();
        let mut book = PersonDirectory::default();
        for id in named {
            if let Some(person) = self.person(id).await? {
                book.insert(&person);
            }
        }
        Ok(book)
    }
}

/// Adds the labels that records gain and subtracts those that they lose.
fn write_labels(entries: &[Entry], writes: &mut Vec<RecordWrite>) {
    let mut differences: BTreeMap<(LabelField, &str), i64> = BTreeMap::new();
    for entry in entries {
        for (record, sign) in [(&entry.before, -1), (&entry.after, 1)] {
            for label in record.iter().flat_map(Record::labels) {
                *differences.entry(label).or_default() += sign;
            }
        }
    }
    for ((field, value), difference) in differences.into_iter().filter(|(_, n)| *n != 0) {
        writes.push(RecordWrite::AdjustLabel { field, value: value.to_owned(), difference });
    }
}

/// The public document of a record.
fn public_document(record: &Record, book: &PersonDirectory) -> String {
    let document = record.document();
    let mut json = Vec::with_capacity(document.json.len() + 256);
    record::render(document.json.as_bytes(), &document.person_offsets, book, &mut json);
    // A document is made of strings, so it is valid UTF-8.
    String::from_utf8(json).unwrap_or_default()
}

fn is_cancelled(id: Option<StatusId>, statuses: &[Status]) -> bool {
    let status = statuses.iter().find(|status| Some(status.id) == id);
    status.is_some_and(|status| status.group == StatusGroup::Cancelled)
}

fn matches(record: &Record, kind: Kind, key: &Key) -> bool {
    record.kind() == kind
        && match key {
            Key::Id(id) => record.id() == *id,
            Key::Reference(reference) => record.reference() == reference,
        }
}
