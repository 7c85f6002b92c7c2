//! The records a change works on, and how they are written when it is done.

use super::{Actor, Change, Command, Done, Reserved};
use crate::{
    Error, Result,
    tx::{self, BLOCK, Collection, Link, LogRow, MemberRow, Row, Stored, Tx, Write},
    webhooks::EventWrite,
};
use groma_domain::{
    DomainError, Event, Kind, Person, PersonId, Record, RecordId, Reference, Status, StatusId,
    Timestamp, WorkspaceId, event,
    person::{PersonRef, name_from_email},
    record::{self, PersonDirectory},
    reference::Key,
    workspace::Workspace,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, HashMap, HashSet};
use uuid::Uuid;

/// A record of the working set.
struct Entry {
    kind: Kind,
    /// Its place, once it has one.
    seq: Option<u64>,
    /// As it was; `None` when it is new.
    before: Option<Record>,
    /// As it is to be; `None` when it is to go.
    after: Option<Record>,
}

/// What a command touched, to be told when the change is settled.
#[derive(Clone, Copy)]
pub(super) enum Touched {
    Record(RecordId),
    Deleted { with: usize },
    Status { changed: bool, created: bool },
}

pub(super) struct Working<'t, T> {
    tx: &'t mut T,
    pub(super) workspace: Workspace,
    pub(super) actor: Actor,
    pub(super) now: Timestamp,
    entries: Vec<Entry>,
    by_id: HashMap<RecordId, usize>,
    by_reference: HashMap<(Kind, Reference), RecordId>,
    collections: BTreeMap<Kind, Collection>,
    /// References that commands of this change ask for, and those that are kept for others: none of
    /// them is made.
    asked_for: HashSet<Reference>,
    reserved: Reserved,
    statuses: Option<Statuses>,
    people: HashMap<PersonId, Person>,
    by_email: HashMap<String, PersonId>,
    new_people: Vec<Person>,
}

/// The workspace's statuses, as they were and as they are to be.
struct Statuses {
    before: Vec<Status>,
    now: Vec<Status>,
}

impl<'t, T: Tx> Working<'t, T> {
    pub(super) async fn begin(tx: &'t mut T, change: &Change, reserved: Reserved) -> Result<Self> {
        let not_found =
            || DomainError::NotFound { resource: "workspace", key: change.workspace.to_string() };
        let workspace = tx.lock_workspace(change.workspace).await?.ok_or_else(not_found)?;
        let asked_for = change.commands.iter().filter_map(Command::like_made).cloned().collect();
        Ok(Self {
            tx,
            workspace,
            actor: change.actor,
            now: change.now,
            entries: Vec::new(),
            by_id: HashMap::new(),
            by_reference: HashMap::new(),
            collections: BTreeMap::new(),
            asked_for,
            reserved,
            statuses: None,
            people: HashMap::new(),
            by_email: HashMap::new(),
            new_people: Vec::new(),
        })
    }

    fn id(&self) -> WorkspaceId {
        self.workspace.id
    }

    /// The record of this key, as it is to be.
    pub(super) async fn find(&mut self, kind: Kind, key: &Key) -> Result<Option<Record>> {
        let known = match key {
            Key::Id(id) => Some(*id),
            Key::Reference(reference) => self.by_reference.get(&(kind, reference.clone())).copied(),
        };
        let index = match known.and_then(|id| self.by_id.get(&id)) {
            Some(&index) => index,
            None => match self.tx.find(self.id(), kind, key).await? {
                Some(stored) => self.take_in(kind, stored),
                None => return Ok(None),
            },
        };
        // What is stored under a key may have another by now, or be gone.
        Ok(self.entries[index].after.clone().filter(|record| matches(record, kind, key)))
    }

    /// The records of a kind that point at `id`, as they are to be.
    pub(super) async fn linked(
        &mut self,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<Vec<RecordId>> {
        for stored in self.tx.linked(self.id(), kind, link, id).await? {
            self.take_in(kind, stored);
        }
        let records = self.entries.iter().filter(|entry| entry.kind == kind);
        let linked = records
            .filter_map(|entry| entry.after.as_ref())
            .filter(|record| link.target(record) == Some(id));
        Ok(linked.map(Record::id).collect())
    }

    /// Whether a record of a kind points at `id`.
    pub(super) async fn is_linked(&mut self, kind: Kind, link: Link, id: Uuid) -> Result<bool> {
        let points = |record: &Option<Record>| {
            record.as_ref().is_some_and(|r| r.kind() == kind && link.target(r) == Some(id))
        };
        if self.entries.iter().any(|entry| points(&entry.after)) {
            return Ok(true);
        }
        // What is stored may have been given up by now; then the others are asked one by one.
        if self.entries.iter().any(|entry| points(&entry.before)) {
            return Ok(!self.linked(kind, link, id).await?.is_empty());
        }
        self.tx.is_linked(self.id(), kind, link, id).await
    }

    /// Takes a stored record into the set, unless it is there.
    fn take_in(&mut self, kind: Kind, stored: Stored) -> usize {
        let Stored { seq, record } = stored;
        let id = record.id();
        if let Some(&index) = self.by_id.get(&id) {
            return index;
        }
        let index = self.entries.len();
        self.by_id.insert(id, index);
        self.by_reference.entry((kind, record.reference().clone())).or_insert(id);
        self.entries.push(Entry {
            kind,
            seq: Some(seq),
            before: Some(record.clone()),
            after: Some(record),
        });
        index
    }

    /// Sets how a record is to be.
    pub(super) fn put(&mut self, record: Record) {
        let (kind, id) = (record.kind(), record.id());
        self.by_reference.insert((kind, record.reference().clone()), id);
        match self.by_id.get(&id) {
            Some(&index) => self.entries[index].after = Some(record),
            None => {
                self.by_id.insert(id, self.entries.len());
                self.entries.push(Entry { kind, seq: None, before: None, after: Some(record) });
            }
        }
    }

    /// Changes a record of the set.
    pub(super) fn alter(&mut self, id: RecordId, alter: impl FnOnce(&mut Record)) {
        let entry = self.by_id.get(&id).map(|&index| &mut self.entries[index]);
        if let Some(record) = entry.and_then(|entry| entry.after.as_mut()) {
            alter(record);
        }
    }

    /// Takes a record of the set away.
    pub(super) fn drop_record(&mut self, id: RecordId) {
        if let Some(&index) = self.by_id.get(&id) {
            self.entries[index].after = None;
        }
    }

    /// The next reference that is free.
    pub(super) async fn make_reference(&mut self, kind: Kind) -> Result<Reference> {
        loop {
            let collection = self.collection(kind).await?;
            collection.last_reference += 1;
            let reference = Reference::generated(kind, collection.last_reference);
            if self.asked_for.contains(&reference) || self.reserved.contains(&reference) {
                continue;
            }
            if self.find(kind, &Key::Reference(reference.clone())).await?.is_none() {
                return Ok(reference);
            }
        }
    }

    async fn collection(&mut self, kind: Kind) -> Result<&mut Collection> {
        if !self.collections.contains_key(&kind) {
            let collection = self.tx.collection(self.id(), kind).await?;
            self.collections.insert(kind, collection);
        }
        self.collections.get_mut(&kind).ok_or(Error::Closed)
    }

    /// The workspace's statuses, as they are to be.
    pub(super) async fn statuses(&mut self) -> Result<&mut Vec<Status>> {
        if self.statuses.is_none() {
            let before = self.tx.statuses(self.id()).await?;
            self.statuses = Some(Statuses { now: before.clone(), before });
        }
        self.statuses.as_mut().map(|statuses| &mut statuses.now).ok_or(Error::Closed)
    }

    /// The statuses as they are to be, if a command asked for them.
    pub(super) fn touched_statuses(&self) -> Option<&[Status]> {
        self.statuses.as_ref().map(|statuses| &statuses.now[..])
    }

    /// The person meant; someone new when the address is not known yet.
    pub(super) async fn resolve_person(
        &mut self,
        field: &str,
        named: &PersonRef,
    ) -> Result<PersonId> {
        let email = match named {
            PersonRef::Email(email) => email,
            PersonRef::Id(id) => match self.person(*id).await? {
                Some(person) => return Ok(person.id),
                None => return Err(DomainError::invalid(field, "names nobody here").into()),
            },
        };
        let key = email.key();
        if let Some(id) = self.by_email.get(&key) {
            return Ok(*id);
        }
        let person = match self.tx.person_by_email(self.id(), email).await? {
            Some(row) => row.person,
            None => {
                let id = PersonId::new(self.now, tx::random());
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

    /// Moves what was spent along with the expenses that changed.
    pub(super) async fn settle_budgets(&mut self) -> Result<()> {
        let mut spent: BTreeMap<RecordId, Decimal> = BTreeMap::new();
        let mut count = |record: Option<&Record>, sign: Decimal| {
            if let Some(Record::Expense(expense)) = record
                && let Some(budget) = expense.budget_id
            {
                *spent.entry(budget).or_default() += expense.amount.0 * sign;
            }
        };
        for entry in &self.entries {
            count(entry.before.as_ref(), Decimal::NEGATIVE_ONE);
            count(entry.after.as_ref(), Decimal::ONE);
        }
        for (budget, by) in spent {
            if !by.is_zero() && self.find(Kind::Budget, &Key::Id(budget)).await?.is_some() {
                self.alter(budget, |record| {
                    if let Record::Budget(budget) = record {
                        budget.add_spent(by);
                    }
                });
            }
        }
        Ok(())
    }

    /// What came of a command.
    pub(super) fn done(&self, touched: Touched) -> Done {
        let id = match touched {
            Touched::Deleted { with } => return Done::Deleted { with },
            Touched::Status { changed, created } => return Done::Status { changed, created },
            Touched::Record(id) => id,
        };
        let entry = self.by_id.get(&id).map(|&index| &self.entries[index]);
        let (before, after) =
            entry.map_or((None, None), |entry| (entry.before.as_ref(), entry.after.as_ref()));
        let Some(reference) = after.map(|record| record.reference().clone()) else {
            return Done::Deleted { with: 0 };
        };
        match Event::from_change(before, after).map(|event| event.action) {
            None => Done::Unchanged(id, reference),
            Some(event::EventAction::Created) => Done::Created(id, reference),
            Some(_) => Done::Updated(id, reference),
        }
    }

    /// Writes every record that differs, with all that goes with it.
    pub(super) async fn write(mut self) -> Result<()> {
        let book = self.people_book().await?;
        let targets = self.tx.targets(self.id()).await?;
        let mut writes = Vec::new();
        self.write_people(&mut writes);
        self.write_statuses(&mut writes);
        self.free_references(&mut writes);
        let mut counts: BTreeMap<(Kind, u64), i64> = BTreeMap::new();
        for entry in std::mem::take(&mut self.entries) {
            let event = Event::from_change(entry.before.as_ref(), entry.after.as_ref());
            let Some(event) = event else { continue };
            let seq = match entry.seq {
                Some(seq) => seq,
                None => {
                    let collection = self.collection(entry.kind).await?;
                    collection.last_seq += 1;
                    collection.last_seq
                }
            };
            let by = match event.action {
                event::EventAction::Created => 1,
                event::EventAction::Deleted => -1,
                event::EventAction::Updated | event::EventAction::Archived => 0,
            };
            if by != 0 {
                *counts.entry((entry.kind, seq / BLOCK)).or_default() += by;
            }
            let log = self.write_record(entry, event, seq, &book, &mut writes);
            let reserve = |endpoint, bytes| self.tx.reserve(endpoint, bytes);
            writes.push(Write::LogEvent(EventWrite::new(log, event, &targets, reserve)));
        }
        self.write_counts(counts, &mut writes).await?;
        let workspace = self.id();
        if writes.is_empty() { Ok(()) } else { self.tx.write(workspace, writes).await }
    }

    /// Lets go of the references that pass from one stored record to another, so that no order of
    /// the writes that follow finds one taken.
    fn free_references(&self, writes: &mut Vec<Write>) {
        for entry in &self.entries {
            let (Some(before), Some(seq)) = (&entry.before, entry.seq) else { continue };
            let left = entry.after.as_ref().map(Record::reference) != Some(before.reference());
            let key = (entry.kind, before.reference().clone());
            if left && self.by_reference.get(&key).is_some_and(|id| *id != before.id()) {
                writes.push(Write::FreeReference { kind: entry.kind, seq, id: before.id() });
            }
        }
    }

    /// Writes a record; its line of the audit trail is left to be written behind it.
    fn write_record(
        &self,
        entry: Entry,
        event: Event,
        seq: u64,
        book: &PersonDirectory,
        writes: &mut Vec<Write>,
    ) -> LogRow {
        let Entry { kind, before, after, .. } = entry;
        let mut log = LogRow {
            at: self.now,
            actor: self.actor.person(),
            action: event.name(),
            subject: before.as_ref().or(after.as_ref()).map_or(Uuid::nil(), |r| r.id().0),
            before: before.as_ref().map(|before| shown(before, book)),
            after: None,
        };
        match after {
            None => {
                writes.push(Write::RemoveRecord { kind, seq });
                if let (Kind::Folder | Kind::Assignment, Some(gone)) = (kind, &before) {
                    writes.push(Write::UnlinkFeatures { kind, id: gone.id() });
                }
            }
            Some(mut record) => {
                if before.is_some() {
                    record.increment_version(self.now);
                }
                let after_shown = shown(&record, book);
                log.before = log.before.map(|before| {
                    let changed = record::changed_fields(before.as_bytes(), after_shown.as_bytes());
                    serde_json::Value::Object(changed).to_string()
                });
                log.after = Some(after_shown);
                let search = record.search_text();
                let search_changed =
                    before.as_ref().is_none_or(|before| before.search_text() != search);
                let row = Row { seq, document: record.document(), record, search };
                writes.push(match before {
                    None => Write::InsertRecord(row),
                    Some(_) => Write::UpdateRecord { row, search_changed },
                });
            }
        }
        log
    }

    async fn write_counts(
        &mut self,
        counts: BTreeMap<(Kind, u64), i64>,
        writes: &mut Vec<Write>,
    ) -> Result<()> {
        let mut totals: BTreeMap<Kind, i64> = BTreeMap::new();
        for ((kind, _), by) in &counts {
            *totals.entry(*kind).or_default() += by;
        }
        let moved = |kind: Kind| counts.iter().any(|((of, _), by)| *of == kind && *by != 0);
        for (kind, by) in totals {
            let moved = u64::from(moved(kind));
            let collection = self.collection(kind).await?;
            collection.total = collection.total.saturating_add_signed(by);
            collection.generation += moved;
        }
        for ((kind, block), by) in counts.into_iter().filter(|(_, by)| *by != 0) {
            let generation = self.collection(kind).await?.generation;
            writes.push(Write::AdjustBlock { kind, block, by, generation });
        }
        for (kind, collection) in &self.collections {
            writes.push(Write::SaveCollection { kind: *kind, collection: *collection });
        }
        Ok(())
    }

    fn write_people(&mut self, writes: &mut Vec<Write>) {
        for person in std::mem::take(&mut self.new_people) {
            let row = MemberRow { person, user: None, role: None };
            writes.push(Write::SavePerson { row, at: self.now });
        }
        if !writes.is_empty() {
            writes.push(Write::PeopleChanged);
        }
    }

    fn write_statuses(&mut self, writes: &mut Vec<Write>) {
        let Some(Statuses { before, now }) = self.statuses.take() else { return };
        let (at, actor) = (self.now, self.actor.person());
        let log = |action, id: StatusId, before: Option<&Status>, after: Option<&Status>| {
            let (before, after) = (before.map(Status::document), after.map(Status::document));
            Write::LogChange(LogRow { at, actor, action, subject: id.0, before, after })
        };
        // Removed first, so that a name that moves from one to another is free.
        for gone in before.iter().filter(|old| !now.iter().any(|new| new.id == old.id)) {
            writes.push(Write::RemoveStatus(gone.id));
            writes.push(log("status.deleted", gone.id, Some(gone), None));
        }
        // What is renamed has its id for a name in between, so that names can be swapped.
        let moved =
            |new: &&Status| before.iter().any(|old| old.id == new.id && old.name != new.name);
        for renamed in now.iter().filter(moved) {
            writes.push(Write::FreeStatusName(renamed.id));
        }
        for status in now {
            let old = before.iter().find(|old| old.id == status.id);
            if old == Some(&status) {
                continue;
            }
            let action = if old.is_some() { "status.updated" } else { "status.created" };
            writes.push(log(action, status.id, old, Some(&status)));
            writes.push(Write::SaveStatus(status));
        }
    }

    /// The people whom the documents of this change show.
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

/// The public document.
fn shown(record: &Record, book: &PersonDirectory) -> String {
    let document = record.document();
    let mut json = Vec::with_capacity(document.json.len() + 256);
    record::render(document.json.as_bytes(), &document.person_offsets, book, &mut json);
    // Documents are made of strings.
    String::from_utf8(json).unwrap_or_default()
}

fn matches(record: &Record, kind: Kind, key: &Key) -> bool {
    record.kind() == kind
        && match key {
            Key::Id(id) => record.id() == *id,
            Key::Reference(reference) => record.reference() == reference,
        }
}
