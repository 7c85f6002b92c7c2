//! What each command does to the change set. The rules are the domain's; this module looks up what they
//! need.

use super::{
    Link, RecordTx,
    change::{Command, SaveTarget},
    change_set::{ChangeSet, Effect},
};
use crate::{Error, Result, engine::random};
use groma_domain::{
    DomainError, FieldErrors, Kind, Permission, PersonId, Record, RecordId, Status, StatusId,
    Violation,
    input::{Field, StatusRef},
    person::PersonRef,
    record::{
        Assignment, AssignmentInput, AssignmentLinks, Budget, BudgetInput, BudgetLinks, Expense,
        ExpenseInput, ExpenseLinks, Folder, FolderInput, FolderLinks, RecordInput, RecordMetadata,
    },
    reference::Key,
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
                Ok(Effect::Record { id: folder, changed: true, created: false })
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
            SaveTarget::ByExternalId => match draft.external_id() {
                Some(external_id) => self.find_by_external_id(kind, external_id).await?,
                None => None,
            },
        };
        // Links that do not resolve are reported together with the other problems.
        let mut errors = FieldErrors::default();
        let identity = self.identity(kind, prior.as_ref(), &draft, &mut errors).await?;
        let before = prior.clone();
        let record = match draft {
            RecordInput::Folder(input) => {
                Record::Folder(self.folder(prior, identity, input, errors).await?)
            }
            RecordInput::Assignment(input) => {
                Record::Assignment(self.assignment(prior, identity, input, errors).await?)
            }
            RecordInput::Expense(input) => {
                Record::Expense(self.expense(prior, identity, input, errors).await?)
            }
            RecordInput::Budget(input) => {
                Record::Budget(self.budget(prior, identity, input, errors).await?)
            }
        };
        let (id, changed) = (record.id(), before.as_ref() != Some(&record));
        self.put(record);
        Ok(Effect::Record { id, changed, created: before.is_none() })
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
        errors: &mut FieldErrors,
    ) -> Result<RecordMetadata> {
        let given = draft.reference().cloned();
        if let Some(given) = &given
            && prior.map(Record::reference) != Some(given)
            && self.find(kind, &Key::Reference(given.clone())).await?.is_some()
        {
            errors.add("reference", Violation::Taken { value: given.to_string() });
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
        mut errors: FieldErrors,
    ) -> Result<Folder> {
        let prior = prior.and_then(Record::into_folder);
        let prior = prior.as_ref();
        let status = prior.map(|prior| prior.status_id);
        let chosen = self.choose_status_id(Kind::Folder, status, &input.status).await;
        let owner = self.choose_person("owner", prior.and_then(|p| p.owner), &input.owner).await;
        let links = FolderLinks {
            status: collect(&mut errors, chosen)?,
            owner: collect(&mut errors, owner)?,
            default_currency: self.workspace().currency,
        };
        Ok(errors.merge(Folder::from_input(prior, identity, input, &links))?)
    }

    async fn assignment(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: AssignmentInput,
        mut errors: FieldErrors,
    ) -> Result<Assignment> {
        let prior = prior.and_then(Record::into_assignment);
        let prior = prior.as_ref();
        let folder = self.choose_folder(prior.map(|p| p.folder_id), &input.folder).await;
        let folder = collect(&mut errors, folder)?;
        if let (Some(prior), Some(folder)) = (prior, &folder)
            && prior.folder_id != folder.id
            && self.is_linked(Kind::Expense, Link::Assignment, prior.id.0).await?
        {
            errors.add("folder", Violation::AssignmentInUse);
        }
        let status = prior.map(|prior| prior.status_id);
        let status = self.choose_status(Kind::Assignment, status, &input.status).await;
        let status = collect(&mut errors, status)?;
        let mut assignees = prior.map(|p| p.assignees.clone()).unwrap_or_default();
        if let Field::Set(named) = &input.assignees {
            assignees.clear();
            for (index, named) in named.iter().enumerate() {
                let field = format!("assignees/{index}");
                let person = self.resolve_person(&field, named).await.map(Some);
                if let Some(person) = collect(&mut errors, person)?
                    && !assignees.contains(&person)
                {
                    assignees.push(person);
                }
            }
        }
        let links = AssignmentLinks { folder: folder.as_ref(), status: status.as_ref(), assignees };
        Ok(errors.merge(Assignment::from_input(prior, identity, input, links, self.now))?)
    }

    async fn expense(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: ExpenseInput,
        mut errors: FieldErrors,
    ) -> Result<Expense> {
        let prior = prior.and_then(Record::into_expense);
        let prior = prior.as_ref();
        let folder = self.choose_folder(prior.map(|p| p.folder_id), &input.folder).await;
        let folder = collect(&mut errors, folder)?;
        let assignment = prior.and_then(|p| p.assignment_id);
        let assignment =
            self.choose_link(Kind::Assignment, "assignment", assignment, &input.assignment).await;
        let assignment = collect(&mut errors, assignment)?.and_then(Record::into_assignment);
        let budget = prior.and_then(|p| p.budget_id);
        let budget = self.choose_link(Kind::Budget, "budget", budget, &input.budget).await;
        let budget = collect(&mut errors, budget)?.and_then(Record::into_budget);
        let status = prior.map(|p| p.status_id);
        let status = self.choose_status_id(Kind::Expense, status, &input.status).await;
        let submitted_by = prior.and_then(|p| p.submitted_by);
        let submitted_by =
            self.choose_person("submittedBy", submitted_by, &input.submitted_by).await;
        let links = ExpenseLinks {
            folder: folder.as_ref(),
            assignment: assignment.as_ref(),
            budget: budget.as_ref(),
            status: collect(&mut errors, status)?,
            submitted_by: collect(&mut errors, submitted_by)?,
        };
        Ok(errors.merge(Expense::from_input(prior, identity, input, &links))?)
    }

    async fn budget(
        &mut self,
        prior: Option<Record>,
        identity: RecordMetadata,
        input: BudgetInput,
        mut errors: FieldErrors,
    ) -> Result<Budget> {
        let prior = prior.and_then(Record::into_budget);
        let prior = prior.as_ref();
        let folder = self.choose_folder(prior.map(|p| p.folder_id), &input.folder).await;
        let folder = collect(&mut errors, folder)?;
        let status = prior.map(|p| p.status_id);
        let status = self.choose_status_id(Kind::Budget, status, &input.status).await;
        let status = collect(&mut errors, status)?;
        let has_expenses = match prior {
            Some(prior) => self.is_linked(Kind::Expense, Link::Budget, prior.id.0).await?,
            None => false,
        };
        let links = BudgetLinks { folder: folder.as_ref(), status, has_expenses };
        Ok(errors.merge(Budget::from_input(prior, identity, input, &links))?)
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

    pub(super) async fn named_status(
        &mut self,
        kind: Kind,
        field: &str,
        named: &StatusRef,
    ) -> Result<Status> {
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
        let deleted = self.existing(kind, key, version).await?;
        let id = deleted.id();
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
        Ok(Effect::Deleted { id, with: contained })
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
}

/// Keeps the problems of a field, to report them with those of the others.
fn collect<V: Default>(errors: &mut FieldErrors, result: Result<V>) -> Result<V> {
    match result {
        Err(Error::Domain { error: DomainError::Invalid(problems), .. }) => {
            errors.extend_fields(problems);
            Ok(V::default())
        }
        other => other,
    }
}
