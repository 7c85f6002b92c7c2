//! What each command does to the change set. The rules are the domain's; this module looks up what they
//! need.

use super::{
    Link, RecordTx,
    change::{Command, SaveTarget},
    change_set::{ChangeSet, Effect},
};
use crate::{Result, engine::random};
use groma_domain::{
    DomainError, Kind, Permission, PersonId, Record, RecordId, Status, StatusId, Violation,
    input::{Field, StatusRef},
    person::PersonRef,
    record::{
        Assignment, AssignmentInput, AssignmentLinks, Budget, BudgetInput, BudgetLinks, Expense,
        ExpenseInput, ExpenseLinks, Folder, FolderInput, FolderLinks, RecordInput, RecordMetadata,
    },
    reference::Key,
    status::{StatusGroup, StatusInput},
};

impl<T: RecordTx> ChangeSet<'_, T> {
    pub(super) async fn execute(&mut self, command: Command) -> Result<Effect> {
        let permission = match command {
            Command::Save { .. } | Command::Delete { .. } | Command::SetFolderBbox { .. } => {
                Permission::ChangeRecords
            }
            Command::SaveStatus { .. } | Command::DeleteStatus { .. } => Permission::Administer,
        };
        self.actor.require(permission)?;
        match command {
            Command::Save { target, draft } => self.save(target, *draft).await,
            Command::Delete { kind, key, version } => self.delete(kind, &key, version).await,
            Command::SetFolderBbox { folder, bbox } => {
                self.existing(Kind::Folder, &Key::Id(folder), None).await?;
                self.update(folder, |record| {
                    if let Record::Folder(folder) = record {
                        folder.bbox = bbox;
                    }
                });
                Ok(Effect::Record(folder))
            }
            Command::SaveStatus { target, input } => self.save_status(target, input).await,
            Command::DeleteStatus { kind, status, replacement } => {
                self.delete_status(kind, &status, replacement.as_ref()).await
            }
        }
    }

    async fn save(&mut self, target: SaveTarget, draft: RecordInput) -> Result<Effect> {
        let kind = draft.kind();
        let prior = match target {
            SaveTarget::New => None,
            SaveTarget::Existing { key, version } => {
                Some(self.existing(kind, &key, version).await?)
            }
            SaveTarget::ByReference => match draft.reference() {
                Some(reference) => self.find(kind, &Key::Reference(reference.clone())).await?,
                None => None,
            },
        };
        let identity = self.identity(kind, prior.as_ref(), &draft).await?;
        let record = match draft {
            RecordInput::Folder(input) => {
                Record::Folder(self.folder(prior, identity, input).await?)
            }
            RecordInput::Assignment(input) => {
                Record::Assignment(self.assignment(prior, identity, input).await?)
            }
            RecordInput::Expense(input) => {
                Record::Expense(self.expense(prior, identity, input).await?)
            }
            RecordInput::Budget(input) => {
                Record::Budget(self.budget(prior, identity, input).await?)
            }
        };
        let id = record.id();
        self.put(record);
        Ok(Effect::Record(id))
    }

    async fn existing(&mut self, kind: Kind, key: &Key, version: Option<u64>) -> Result<Record> {
        let (resource, name) = (kind.name(), || key.to_string());
        let record = self.find(kind, key).await?;
        let record = record.ok_or_else(|| DomainError::NotFound { resource, key: name() })?;
        let current = record.version();
        match version {
            Some(expected) if expected != current => {
                Err(DomainError::Conflict { resource, key: name(), expected, current }.into())
            }
            _ => Ok(record),
        }
    }

    /// The identity of a record: that of the existing one, or a new one, with the given reference or a
    /// generated one.
    async fn identity(
        &mut self,
        kind: Kind,
        prior: Option<&Record>,
        draft: &RecordInput,
    ) -> Result<RecordMetadata> {
        let given = draft.reference().cloned();
        if let Some(given) = &given
            && prior.map(Record::reference) != Some(given)
            && self.find(kind, &Key::Reference(given.clone())).await?.is_some()
        {
            let taken = Violation::Taken { value: given.to_string() };
            return Err(DomainError::invalid("reference", taken).into());
        }
        if let Some(prior) = prior {
            let identity = prior.metadata();
            return Ok(RecordMetadata {
                reference: given.unwrap_or(identity.reference),
                ..identity
            });
        }
        Ok(RecordMetadata {
            id: RecordId::new(self.now, random()),
            reference: match given {
                Some(given) => given,
                None => self.generate_reference(kind).await?,
            },
            workspace: self.workspace().id,
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        })
    }

    async fn folder(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: FolderInput,
    ) -> Result<Folder> {
        let prior = prior.and_then(Record::into_folder);
        let prior = prior.as_ref();
        let status = prior.map(|prior| prior.status_id);
        let links = FolderLinks {
            status: self.choose_status_id(Kind::Folder, status, &input.status).await?,
            owner: self.choose_person("owner", prior.and_then(|p| p.owner), &input.owner).await?,
            default_currency: self.workspace().currency,
        };
        Ok(Folder::from_input(prior, identity, input, &links)?)
    }

    async fn assignment(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: AssignmentInput,
    ) -> Result<Assignment> {
        let prior = prior.and_then(Record::into_assignment);
        let prior = prior.as_ref();
        let folder = self.choose_folder(prior.map(|p| p.folder_id), &input.folder).await?;
        if let (Some(prior), Some(folder)) = (prior, &folder)
            && prior.folder_id != folder.id
            && self.is_linked(Kind::Expense, Link::Assignment, prior.id.0).await?
        {
            return Err(DomainError::invalid("folder", Violation::AssignmentInUse).into());
        }
        let status = prior.map(|prior| prior.status_id);
        let status = self.choose_status(Kind::Assignment, status, &input.status).await?;
        let mut assignees = prior.map(|p| p.assignees.clone()).unwrap_or_default();
        if let Field::Set(named) = &input.assignees {
            assignees.clear();
            for named in named {
                let person = self.resolve_person("assignees", named).await?;
                if !assignees.contains(&person) {
                    assignees.push(person);
                }
            }
        }
        let links = AssignmentLinks { folder: folder.as_ref(), status: status.as_ref(), assignees };
        Ok(Assignment::from_input(prior, identity, input, links, self.now)?)
    }

    async fn expense(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: ExpenseInput,
    ) -> Result<Expense> {
        let prior = prior.and_then(Record::into_expense);
        let prior = prior.as_ref();
        let folder = self.choose_folder(prior.map(|p| p.folder_id), &input.folder).await?;
        let assignment = prior.and_then(|p| p.assignment_id);
        let assignment =
            self.choose_link(Kind::Assignment, "assignment", assignment, &input.assignment).await?;
        let assignment = assignment.and_then(Record::into_assignment);
        let budget = prior.and_then(|p| p.budget_id);
        let budget = self.choose_link(Kind::Budget, "budget", budget, &input.budget).await?;
        let budget = budget.and_then(Record::into_budget);
        let status = prior.map(|p| p.status_id);
        let status = self.choose_status_id(Kind::Expense, status, &input.status).await?;
        let submitted_by = prior.and_then(|p| p.submitted_by);
        let links = ExpenseLinks {
            folder: folder.as_ref(),
            assignment: assignment.as_ref(),
            budget: budget.as_ref(),
            status,
            submitted_by: self
                .choose_person("submittedBy", submitted_by, &input.submitted_by)
                .await?,
        };
        Ok(Expense::from_input(prior, identity, input, &links)?)
    }

    async fn budget(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: BudgetInput,
    ) -> Result<Budget> {
        let prior = prior.and_then(Record::into_budget);
        let prior = prior.as_ref();
        let folder = self.choose_folder(prior.map(|p| p.folder_id), &input.folder).await?;
        let status = prior.map(|p| p.status_id);
        let status = self.choose_status_id(Kind::Budget, status, &input.status).await?;
        let has_expenses = match prior {
            Some(prior) => self.is_linked(Kind::Expense, Link::Budget, prior.id.0).await?,
            None => false,
        };
        let links = BudgetLinks { folder: folder.as_ref(), status, has_expenses };
        Ok(Budget::from_input(prior, identity, input, &links)?)
    }

    async fn choose_folder(
        &mut self,
        current: Option<RecordId>,
        given: &Field<Key>,
    ) -> Result<Option<Folder>> {
        let given = match given {
            Field::Keep => Field::Keep,
            Field::Set(key) => Field::Set(Some(key.clone())),
        };
        let record = self.choose_link(Kind::Folder, "folder", current, &given).await?;
        Ok(record.and_then(Record::into_folder))
    }

    async fn choose_link(
        &mut self,
        kind: Kind,
        field: &str,
        current: Option<RecordId>,
        given: &Field<Option<Key>>,
    ) -> Result<Option<Record>> {
        let Some(key) = given.clone().or(current.map(Key::Id)) else { return Ok(None) };
        match self.find(kind, &key).await? {
            Some(record) => Ok(Some(record)),
            None => {
                let not_found = Violation::NotFound { key: key.to_string() };
                Err(DomainError::invalid(field, not_found).into())
            }
        }
    }

    /// The status of a record: the given one, the current one, or the default for a new record.
    async fn choose_status(
        &mut self,
        kind: Kind,
        current: Option<Option<StatusId>>,
        given: &Field<Option<StatusRef>>,
    ) -> Result<Option<Status>> {
        match (given, current) {
            (Field::Set(None), _) => Ok(None),
            (Field::Set(Some(named)), _) => {
                Ok(Some(self.named_status(kind, "status", named).await?))
            }
            (Field::Keep, Some(current)) => {
                let statuses = self.statuses().await?;
                Ok(statuses.iter().find(|status| Some(status.id) == current).cloned())
            }
            (Field::Keep, None) => {
                let statuses = self.statuses().await?;
                Ok(statuses.iter().find(|s| s.applies_to == kind && s.is_default).cloned())
            }
        }
    }

    /// The id of the status of a record.
    async fn choose_status_id(
        &mut self,
        kind: Kind,
        current: Option<Option<StatusId>>,
        given: &Field<Option<StatusRef>>,
    ) -> Result<Option<StatusId>> {
        match (given, current) {
            // It exists: deleting a status gives its records another.
            (Field::Keep, Some(current)) => Ok(current),
            _ => Ok(self.choose_status(kind, current, given).await?.map(|status| status.id)),
        }
    }

    async fn named_status(&mut self, kind: Kind, field: &str, named: &StatusRef) -> Result<Status> {
        let mut statuses = self.statuses().await?.iter();
        let found = statuses.find(|status| status.applies_to == kind && status.matches(named));
        found.cloned().ok_or_else(|| {
            let not_status = Violation::NotStatus { name: named.to_string(), kinds: kind.plural() };
            DomainError::invalid(field, not_status).into()
        })
    }

    async fn choose_person(
        &mut self,
        field: &str,
        current: Option<PersonId>,
        given: &Field<Option<PersonRef>>,
    ) -> Result<Option<PersonId>> {
        match given {
            Field::Keep => Ok(current),
            Field::Set(None) => Ok(None),
            Field::Set(Some(named)) => self.resolve_person(field, named).await.map(Some),
        }
    }

    async fn delete(&mut self, kind: Kind, key: &Key, version: Option<u64>) -> Result<Effect> {
        let id = self.existing(kind, key, version).await?.id();
        let mut contained = 0;
        match kind {
            Kind::Folder => {
                for held in [Kind::Assignment, Kind::Expense, Kind::Budget] {
                    for record in self.linked(held, Link::Folder, id.0).await? {
                        self.remove(record);
                        contained += 1;
                    }
                }
            }
            Kind::Assignment => {
                self.unlink_expenses(Link::Assignment, id, |e| e.assignment_id = None).await?;
            }
            Kind::Budget => {
                self.unlink_expenses(Link::Budget, id, |e| e.budget_id = None).await?;
            }
            Kind::Expense => {}
        }
        self.remove(id);
        Ok(Effect::Deleted { with: contained })
    }

    async fn unlink_expenses(
        &mut self,
        link: Link,
        id: RecordId,
        unlink: impl Fn(&mut Expense) + Send,
    ) -> Result<()> {
        for expense in self.linked(Kind::Expense, link, id.0).await? {
            self.update(expense, |record| {
                if let Record::Expense(expense) = record {
                    unlink(expense);
                }
            });
        }
        Ok(())
    }

    async fn save_status(
        &mut self,
        target: Option<StatusRef>,
        input: StatusInput,
    ) -> Result<Effect> {
        let now = self.now;
        let statuses = self.statuses().await?;
        let index = find_status(statuses, target, &input)?;
        let prior = index.map(|index| statuses[index].clone());
        let id = prior.as_ref().map_or_else(|| StatusId::new(now, random()), |prior| prior.id);
        let next_position = statuses.iter().map(|status| status.position + 1).max().unwrap_or(0);
        let status = Status::from_input(prior.as_ref(), id, input, next_position, now)?;
        let named = StatusRef::Name(status.name.clone());
        let beside = |other: &Status| other.applies_to == status.applies_to && other.id != id;
        if statuses.iter().any(|other| beside(other) && other.matches(&named)) {
            let taken = Violation::Taken { value: status.name };
            return Err(DomainError::invalid("name", taken).into());
        }
        if status.is_default {
            for other in statuses.iter_mut().filter(|other| beside(other) && other.is_default) {
                other.is_default = false;
                other.updated_at = now;
            }
        }
        match index {
            Some(index) => statuses[index] = status.clone(),
            None => statuses.push(status.clone()),
        }
        // Assignments complete with a status of group done, and cancelled expenses do not count against
        // their budgets.
        let decisive_group = match status.applies_to {
            Kind::Assignment => Some(StatusGroup::Done),
            Kind::Expense => Some(StatusGroup::Cancelled),
            Kind::Folder | Kind::Budget => None,
        };
        let is_decisive = |status: &Status| Some(status.group) == decisive_group;
        if prior.as_ref().is_some_and(|prior| is_decisive(prior) != is_decisive(&status)) {
            self.replace_status(status.applies_to, id, &status).await?;
        }
        let changed = prior.as_ref() != Some(&status);
        Ok(Effect::Status { changed, created: prior.is_none() })
    }

    async fn delete_status(
        &mut self,
        kind: Kind,
        status: &StatusRef,
        replacement: Option<&StatusRef>,
    ) -> Result<Effect> {
        let deleted = self.named_status(kind, "status", status).await?;
        let successor = match replacement {
            Some(named) => Some(self.named_status(kind, "replacement", named).await?),
            None => None,
        };
        let reject = |violation| Err(DomainError::invalid("replacement", violation).into());
        match &successor {
            Some(successor) if successor.id == deleted.id => {
                return reject(Violation::SameStatus);
            }
            Some(successor) => self.replace_status(kind, deleted.id, successor).await?,
            None if deleted.is_default => return reject(Violation::DefaultStatus),
            None if self.is_linked(kind, Link::Status, deleted.id.0).await? => {
                return reject(Violation::StatusInUse);
            }
            None => {}
        }
        let now = self.now;
        let statuses = self.statuses().await?;
        statuses.retain(|status| status.id != deleted.id);
        if let Some(successor) = successor.filter(|_| deleted.is_default)
            && let Some(successor) = statuses.iter_mut().find(|status| status.id == successor.id)
        {
            successor.is_default = true;
            successor.updated_at = now;
        }
        Ok(Effect::Status { changed: true, created: false })
    }

    /// Rejects a change that leaves a kind without a default status. Checked after the last command, so
    /// that commands can move the default in any order.
    pub(super) fn check_default_statuses(&self) -> Result<()> {
        let Some(statuses) = self.loaded_statuses() else { return Ok(()) };
        for kind in Kind::ALL {
            let mut of_kind = statuses.iter().filter(|status| status.applies_to == kind).peekable();
            if of_kind.peek().is_some() && !of_kind.any(|status| status.is_default) {
                let message = format!("is required: no status of a {kind} would be the default");
                return Err(DomainError::invalid("isDefault", message).into());
            }
        }
        Ok(())
    }

    /// Gives every record of one status another.
    async fn replace_status(&mut self, kind: Kind, from: StatusId, status: &Status) -> Result<()> {
        let now = self.now;
        for id in self.linked(kind, Link::Status, from.0).await? {
            self.update(id, |record| record.set_status(Some(status), now));
        }
        Ok(())
    }
}

/// The index of a status: the named one, else the one of the input's kind and name.
fn find_status(
    statuses: &[Status],
    target: Option<StatusRef>,
    input: &StatusInput,
) -> Result<Option<usize>> {
    let kind = input.applies_to.clone().into_option();
    let is = |status: &Status, named: &StatusRef| {
        status.matches(named) && kind.is_none_or(|kind| kind == status.applies_to)
    };
    match (target, &input.name) {
        (Some(named), _) => match statuses.iter().position(|status| is(status, &named)) {
            Some(index) => Ok(Some(index)),
            None => {
                Err(DomainError::NotFound { resource: "status", key: named.to_string() }.into())
            }
        },
        (None, Field::Set(name)) if kind.is_some() => {
            let named = StatusRef::Name(name.clone());
            Ok(statuses.iter().position(|status| is(status, &named)))
        }
        (None, _) => Ok(None),
    }
}
