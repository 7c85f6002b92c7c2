//! What commands on statuses do to the change set.

use super::{
    Link, RecordTx,
    change::StatusTarget,
    change_set::{ChangeSet, Effect},
};
use crate::{Result, engine::random};
use groma_domain::{
    DomainError, FieldErrors, Kind, Status, StatusId, Violation,
    input::{Field, StatusRef},
    status::{StatusGroup, StatusInput},
};

impl<T: RecordTx> ChangeSet<'_, T> {
    pub(super) async fn save_status(
        &mut self,
        target: StatusTarget,
        input: StatusInput,
    ) -> Result<Effect> {
        let now = self.now;
        let statuses = self.statuses().await?;
        let index = find_status(statuses, target, &input)?;
        let prior = index.map(|index| statuses[index].clone());
        let id = prior.as_ref().map_or_else(|| StatusId::new(now, random()), |prior| prior.id);
        let next_position = statuses.iter().map(|status| status.position + 1).max().unwrap_or(0);
        let kind = prior.as_ref().map(|prior| prior.applies_to);
        let kind = kind.or(input.applies_to.clone().into_option());
        let beside = |other: &Status| Some(other.applies_to) == kind && other.id != id;
        let mut errors = FieldErrors::default();
        if let Field::Set(name) = &input.name {
            let named = StatusRef::Name(name.clone());
            if statuses.iter().any(|other| beside(other) && other.matches(&named)) {
                errors.add("name", Violation::Taken { value: name.clone() });
            }
        }
        let status = Status::from_input(prior.as_ref(), id, input, next_position, now);
        let status = errors.merge(status)?;
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
        Ok(Effect::Status { id, changed, created: prior.is_none() })
    }

    pub(super) async fn delete_status(
        &mut self,
        kind: Kind,
        status: &StatusRef,
        replacement: Option<&StatusRef>,
    ) -> Result<Effect> {
        if let StatusRef::Id(id) = status
            && !self.statuses().await?.iter().any(|known| known.id == *id)
        {
            let (resource, key) = ("status", id.to_string());
            return Err(DomainError::NotFound { resource, key }.into());
        }
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
        Ok(Effect::Status { id: deleted.id, changed: true, created: false })
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

/// The index of the status that an input is for; `None` for a new one.
fn find_status(
    statuses: &[Status],
    target: StatusTarget,
    input: &StatusInput,
) -> Result<Option<usize>> {
    let kind = input.applies_to.clone().into_option();
    let is = |status: &Status, named: &StatusRef| {
        status.matches(named) && kind.is_none_or(|kind| kind == status.applies_to)
    };
    match (target, &input.name) {
        (StatusTarget::Existing(id @ StatusRef::Id(_)), _) => {
            // Its kind cannot be changed, which is another error than a wrong ID.
            let index = statuses.iter().position(|status| status.matches(&id));
            let not_found = || DomainError::NotFound { resource: "status", key: id.to_string() };
            Ok(Some(index.ok_or_else(not_found)?))
        }
        (StatusTarget::Existing(named), _) => {
            let index = statuses.iter().position(|status| is(status, &named));
            let not_found = || DomainError::NotFound { resource: "status", key: named.to_string() };
            Ok(Some(index.ok_or_else(not_found)?))
        }
        (StatusTarget::ByName, Field::Set(name)) if kind.is_some() => {
            let named = StatusRef::Name(name.clone());
            Ok(statuses.iter().position(|status| is(status, &named)))
        }
        (StatusTarget::New | StatusTarget::ByName, _) => Ok(None),
    }
}
