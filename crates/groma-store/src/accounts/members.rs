//! Members of a workspace.

use super::{
    AccountTx, Accounts, KnownPerson, MembershipWrite, StoredUser, UserWrite, entry,
    permission_to_grant, postgres, sqlite,
};
use crate::{
    Actor, Result,
    actor::AuthorizedActor,
    engine::{dispatch, impl_work, random},
    people::{PeopleWrite, StoredPerson},
    workspaces,
};
use groma_domain::{
    DomainError, Email, Permission, Person, PersonId, Role, Timestamp, UserId, Violation,
    WorkspaceId,
    person::{name_from_email, parse_name},
};

/// A user to be made a member.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// The email address.
    pub email: Email,
    /// The name in this workspace. `None` keeps a member's name; a new person's name is derived from the
    /// address.
    pub name: Option<String>,
    /// The hash of the password. An existing user keeps theirs.
    pub password_hash: Option<String>,
}

/// A member of a workspace.
#[derive(Clone, Debug)]
pub struct Member {
    /// The person.
    pub person: Person,
    /// The role.
    pub role: Role,
    /// Whether the user is new.
    pub is_new: bool,
}

impl_work! {
    AddMember => Member;
    RemoveMember => Person;
    RenameMember => Person;
    AddServiceAccount => Person;
}

impl Accounts {
    /// Adds a member, or changes the role of one.
    pub(crate) async fn add_member(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        user: NewUser,
        role: Role,
        now: Timestamp,
    ) -> Result<Member> {
        let add = AddMember { workspace, actor, user, role, now };
        let member = self.engine.transact(add).await?;
        self.authentication.clear_cache();
        Ok(member)
    }

    /// Adds a service account: a member without a login, who owns the tokens of a machine.
    pub(crate) async fn add_service_account(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        name: &str,
        role: Role,
        now: Timestamp,
    ) -> Result<Person> {
        let name = parse_name(name).map_err(|wrong| DomainError::invalid("name", wrong))?;
        self.engine.transact(AddServiceAccount { workspace, actor, name, role, now }).await
    }

    /// Everyone in a workspace, by name.
    pub(crate) async fn people(&self, workspace: WorkspaceId) -> Result<Vec<KnownPerson>> {
        let mut people = dispatch!(&self.engine, people(workspace))?;
        people.sort_by_cached_key(|known| {
            (groma_domain::text::fold(&known.person.name), known.person.id)
        });
        Ok(people)
    }

    /// Ends a membership and revokes the member's tokens. Members can leave by themselves.
    pub(crate) async fn remove_member(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        person: PersonId,
        now: Timestamp,
    ) -> Result<Person> {
        let remove = RemoveMember { workspace, actor, person, now };
        let removed = self.engine.transact(remove).await?;
        self.authentication.clear_cache();
        Ok(removed)
    }
}

impl Accounts {
    /// Changes the name of the acting member in a workspace. Records show it at once.
    pub(crate) async fn rename_member(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        name: &str,
        now: Timestamp,
    ) -> Result<Person> {
        let name = parse_name(name).map_err(|wrong| DomainError::invalid("name", wrong))?;
        self.engine.transact(RenameMember { workspace, actor, name, now }).await
    }
}

/// Adds a member, or changes the role of one.
#[derive(Clone)]
pub(super) struct AddMember {
    pub(super) workspace: WorkspaceId,
    pub(super) actor: Actor,
    pub(super) user: NewUser,
    pub(super) role: Role,
    pub(super) now: Timestamp,
}

impl AddMember {
    pub(super) async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Member> {
        let Self { workspace, actor, user: NewUser { email, name, password_hash }, role, now } =
            self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(permission_to_grant(role))?;
        let invalid = |wrong| DomainError::invalid("name", wrong);
        let given_name = name.as_deref().map(parse_name).transpose().map_err(invalid)?;
        let prior = tx.person_by_email(workspace, &email).await?;
        if let Some(account) = prior.as_ref().filter(|prior| prior.is_service_account()) {
            return change_service_account(tx, workspace, actor, account, role, now).await;
        }
        let known = tx.user_by_email(&email).await?;
        let is_new = known.is_none();
        let user = match known {
            Some(user) => user,
            None => {
                let name = given_name.clone().unwrap_or_else(|| name_from_email(&email));
                let id = UserId::new(now, random());
                let user = StoredUser { id, email: email.clone(), name, disabled_at: None };
                tx.write_user(UserWrite::Save { user: user.clone(), at: now }).await?;
                user
            }
        };
        if let Some(hash) = password_hash.filter(|_| is_new) {
            tx.write_user(UserWrite::SetPassword { user: user.id, hash }).await?;
        }
        if let Some(owner) = prior.as_ref().filter(|prior| prior.role == Some(Role::Owner))
            && role != Role::Owner
        {
            actor.require(Permission::Own)?;
            if !tx.has_other_owner(workspace, owner.person.id).await? {
                return Err(DomainError::invalid("role", Violation::LastOwner).into());
            }
        }
        let id =
            prior.as_ref().map_or_else(|| PersonId::new(now, random()), |prior| prior.person.id);
        let name = match (given_name, &prior) {
            (Some(name), _) => name,
            // A member keeps their name.
            (None, Some(StoredPerson { user: Some(_), person, .. })) => person.name.clone(),
            (None, _) => user.name,
        };
        let person = Person { id, name, email: user.email };
        let action = if prior.as_ref().is_some_and(|prior| prior.role.is_some()) {
            "member.updated"
        } else {
            "member.added"
        };
        let json = |role: Role| format!(r#"{{"role":"{role}"}}"#);
        let before = prior.and_then(|prior| prior.role).map(json);
        let entry = entry(actor, now, action, id.0, before, Some(json(role)));
        let stored = StoredPerson { person: person.clone(), user: Some(user.id), role: Some(role) };
        let save = PeopleWrite::Save { person: stored, at: now };
        tx.write_people(workspace, vec![save, PeopleWrite::IncrementGeneration]).await?;
        tx.log(workspace, entry).await?;
        Ok(Member { person, role, is_new })
    }
}

/// Ends a membership and revokes the member's tokens.
#[derive(Clone)]
pub(super) struct RemoveMember {
    pub(super) workspace: WorkspaceId,
    pub(super) actor: Actor,
    pub(super) person: PersonId,
    pub(super) now: Timestamp,
}

impl RemoveMember {
    pub(super) async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Person> {
        let Self { workspace, actor, person, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        let not_found = || DomainError::NotFound { resource: "member", key: person.to_string() };
        let member = tx.person(workspace, person).await?.ok_or_else(not_found)?;
        let role = member.role.ok_or_else(not_found)?;
        if actor.person != Some(person) {
            actor.require(permission_to_grant(role))?;
        }
        if role == Role::Owner && !tx.has_other_owner(workspace, person).await? {
            return Err(DomainError::invalid("role", Violation::LastOwner).into());
        }
        let before = Some(format!(r#"{{"role":"{role}"}}"#));
        let entry = entry(actor, now, "member.removed", person.0, before, None);
        let stored = StoredPerson { role: None, ..member.clone() };
        let save = PeopleWrite::Save { person: stored, at: now };
        tx.write_people(workspace, vec![save]).await?;
        let revoke = MembershipWrite::RevokeTokensOf { person, at: now };
        tx.write_membership(workspace, revoke).await?;
        tx.log(workspace, entry).await?;
        Ok(member.person)
    }
}

#[derive(Clone)]
struct RenameMember {
    workspace: WorkspaceId,
    actor: Actor,
    name: String,
    now: Timestamp,
}

impl RenameMember {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Person> {
        let Self { workspace, actor, name, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        let person = actor.member()?;
        let not_found = || DomainError::NotFound { resource: "member", key: person.to_string() };
        let mut member = tx.person(workspace, person).await?.ok_or_else(not_found)?;
        if member.person.name == name {
            return Ok(member.person);
        }
        let json = |name: &str| Some(serde_json::json!({ "name": name }).to_string());
        let before = json(&member.person.name);
        let entry = entry(actor, now, "member.renamed", person.0, before, json(&name));
        member.person.name = name;
        let save = PeopleWrite::Save { person: member.clone(), at: now };
        tx.write_people(workspace, vec![save, PeopleWrite::IncrementGeneration]).await?;
        tx.log(workspace, entry).await?;
        Ok(member.person)
    }
}

#[derive(Clone)]
struct AddServiceAccount {
    workspace: WorkspaceId,
    actor: Actor,
    name: String,
    role: Role,
    now: Timestamp,
}

impl AddServiceAccount {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Person> {
        let Self { workspace, actor, name, role, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Administer)?;
        check_service_role(role)?;
        let id = PersonId::new(now, random());
        // People have an address. No mail reaches this one, and it is unique.
        let email = Email::parse(&format!("{}@service.invalid", id.0.simple()))
            .map_err(|wrong| DomainError::invalid("email", wrong))?;
        let person = Person { id, name, email };
        let stored = StoredPerson { person: person.clone(), user: None, role: Some(role) };
        let save = PeopleWrite::Save { person: stored, at: now };
        let after = Some(format!(r#"{{"role":"{role}"}}"#));
        let entry = entry(actor, now, "member.added", id.0, None, after);
        tx.write_people(workspace, vec![save, PeopleWrite::IncrementGeneration]).await?;
        tx.log(workspace, entry).await?;
        Ok(person)
    }
}

/// A service account cannot log in, so it cannot own a workspace.
fn check_service_role(role: Role) -> Result<()> {
    if role == Role::Owner {
        return Err(DomainError::invalid("role", Violation::ServiceOwner).into());
    }
    Ok(())
}

/// Changes the role of a service account.
async fn change_service_account<T: AccountTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: AuthorizedActor,
    account: &StoredPerson,
    role: Role,
    now: Timestamp,
) -> Result<Member> {
    check_service_role(role)?;
    let json = |role: Role| Some(format!(r#"{{"role":"{role}"}}"#));
    let before = account.role.and_then(json);
    let entry = entry(actor, now, "member.updated", account.person.id.0, before, json(role));
    let stored = StoredPerson { role: Some(role), ..account.clone() };
    let save = PeopleWrite::Save { person: stored, at: now };
    tx.write_people(workspace, vec![save]).await?;
    tx.log(workspace, entry).await?;
    Ok(Member { person: account.person.clone(), role, is_new: false })
}
