//! Workspaces, users, members and tokens: what is changed seldom, and is no event.

use crate::{
    Result,
    change::Actor,
    tx::{self, LogRow, MemberRow, TokenWrite, Tx, UserRow, Work, Write},
};
use groma_domain::{
    Currency, DomainError, Email, Kind, Permission, Person, PersonId, Role, Status, StatusId,
    Timestamp, TokenId, UserId, WorkspaceId,
    person::{name_from_email, parse_name},
    scope::Scopes,
    status,
    token::{TokenHash, check_grantable},
    workspace::{Workspace, WorkspaceName},
};

/// How a workspace is named on the command line.
#[derive(Clone, Debug)]
pub enum WorkspaceFilter {
    /// By its key.
    Id(WorkspaceId),
    /// By its name.
    Name(WorkspaceName),
}

/// Someone to be made a member.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Their address.
    pub email: Email,
    /// Their name in this workspace. Without it a member keeps theirs, and someone new gets one made
    /// from the address.
    pub name: Option<String>,
    /// The hash of their password. Someone who is known already keeps theirs.
    pub password_hash: Option<String>,
}

/// A member of a workspace.
#[derive(Clone, Debug)]
pub struct Member {
    /// As the workspace knows them.
    pub person: Person,
    /// What they may.
    pub role: Role,
    /// Whether they were not known before.
    pub is_new: bool,
}

/// A token to be made.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The id it is to have, when whoever asks may ask twice: of two with the same id one is made.
    pub id: Option<TokenId>,
    /// The workspace it opens.
    pub workspace: WorkspaceId,
    /// Its owner, a member.
    pub owner: Email,
    /// Its name.
    pub name: String,
    /// Its hash.
    pub hash: TokenHash,
    /// Its last characters.
    pub hint: String,
    /// What it may.
    pub scopes: Scopes,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// A token as it is listed.
#[derive(Clone, Debug)]
pub struct TokenRow {
    /// The token's id.
    pub id: TokenId,
    /// Its workspace's name.
    pub workspace: String,
    /// Its name.
    pub name: String,
    /// Its last characters; none of those made before they were kept.
    pub hint: Option<String>,
    /// Its owner.
    pub person: PersonId,
    /// Its owner's name.
    pub owner_name: String,
    /// Its owner's address.
    pub owner: String,
    /// What it may.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
}

/// Makes a workspace with its owner and its first statuses.
#[derive(Clone)]
pub(crate) struct CreateWorkspace {
    pub(crate) name: WorkspaceName,
    pub(crate) currency: Currency,
    pub(crate) owner: NewUser,
    pub(crate) now: Timestamp,
}

impl Work for CreateWorkspace {
    type Output = Workspace;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Workspace> {
        let Self { name, currency, owner, now } = self;
        if tx.workspace_named(&name.key()).await? {
            return Err(
                DomainError::invalid("name", format!("`{}` is taken", name.as_str())).into()
            );
        }
        let workspace =
            Workspace { id: WorkspaceId::new(now, tx::random()), name, currency, created_at: now };
        let mut writes = vec![Write::InsertWorkspace(workspace.clone())];
        for (position, (kind, name, group, color)) in (0..).zip(status::INITIAL_STATUSES) {
            writes.push(Write::SaveStatus(Status {
                id: StatusId::new(now, tx::random()),
                name: name.to_owned(),
                applies_to: kind,
                group,
                color: color.to_owned(),
                position,
                is_default: is_first_of(kind, name),
                created_at: now,
                updated_at: now,
            }));
        }
        tx.write(workspace.id, writes).await?;
        AddMember {
            workspace: workspace.id,
            actor: Actor::Operator,
            user: owner,
            role: Role::Owner,
            now,
        }
        .run(tx)
        .await?;
        Ok(workspace)
    }
}

fn is_first_of(kind: Kind, name: &str) -> bool {
    status::INITIAL_STATUSES
        .iter()
        .find(|initial| initial.0 == kind)
        .is_some_and(|first| first.1 == name)
}

/// Makes someone a member, or gives a member another role.
#[derive(Clone)]
pub(crate) struct AddMember {
    pub(crate) workspace: WorkspaceId,
    pub(crate) actor: Actor,
    pub(crate) user: NewUser,
    pub(crate) role: Role,
    pub(crate) now: Timestamp,
}

impl Work for AddMember {
    type Output = Member;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Member> {
        let Self { workspace, actor, user: NewUser { email, name, password_hash }, role, now } =
            self;
        let needs = if role == Role::Owner { Permission::Own } else { Permission::Administer };
        actor.role().require(needs)?;
        lock(tx, workspace).await?;
        let mut writes = Vec::new();
        let invalid = |wrong| DomainError::invalid("name", wrong);
        let given = name.as_deref().map(parse_name).transpose().map_err(invalid)?;
        let known = tx.user_by_email(&email).await?;
        let is_new = known.is_none();
        let user = match known {
            Some(user) => user,
            None => {
                let name = given.clone().unwrap_or_else(|| name_from_email(&email));
                let user =
                    UserRow { id: UserId::new(now, tx::random()), email: email.clone(), name };
                writes.push(Write::SaveUser { user: user.clone(), at: now });
                user
            }
        };
        if let Some(hash) = password_hash.filter(|_| is_new) {
            writes.push(Write::SetPassword { user: user.id, hash });
        }
        let prior = tx.person_by_email(workspace, &email).await?;
        if prior.as_ref().and_then(|prior| prior.role) == Some(Role::Owner) && role != Role::Owner {
            actor.role().require(Permission::Own)?;
            if tx.owners(workspace).await? == 1 {
                return Err(
                    DomainError::invalid("role", "cannot change: the last owner stays").into()
                );
            }
        }
        let id = prior
            .as_ref()
            .map_or_else(|| PersonId::new(now, tx::random()), |prior| prior.person.id);
        let name = match (given, &prior) {
            (Some(name), _) => name,
            // A member keeps the name that they have here.
            (None, Some(MemberRow { user: Some(_), person, .. })) => person.name.clone(),
            (None, _) => user.name,
        };
        let person = Person { id, name, email: user.email };
        let action = if prior.as_ref().is_some_and(|prior| prior.role.is_some()) {
            "member.updated"
        } else {
            "member.added"
        };
        writes.push(Write::LogChange(LogRow {
            at: now,
            actor: actor.person(),
            action,
            subject: id.0,
            before: prior
                .and_then(|prior| prior.role)
                .map(|role| format!(r#"{{"role":"{role}"}}"#)),
            after: Some(format!(r#"{{"role":"{role}"}}"#)),
        }));
        let row = MemberRow { person: person.clone(), user: Some(user.id), role: Some(role) };
        writes.push(Write::SavePerson { row, at: now });
        writes.push(Write::PeopleChanged);
        tx.write(workspace, writes).await?;
        Ok(Member { person, role, is_new })
    }
}

/// Gives a user another password.
#[derive(Clone)]
pub(crate) struct SetPassword {
    pub(crate) email: Email,
    pub(crate) hash: String,
}

impl Work for SetPassword {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        let Some(user) = tx.user_by_email(&self.email).await? else {
            return Err(
                DomainError::NotFound { resource: "user", key: self.email.to_string() }.into()
            );
        };
        let set = Write::SetPassword { user: user.id, hash: self.hash };
        // Whoever knew the old one is out.
        let end = Write::EndSessions { user: user.id, except: None };
        tx.write(WorkspaceId(uuid::Uuid::nil()), vec![set, end]).await
    }
}

/// Makes a token.
#[derive(Clone)]
pub(crate) struct CreateToken {
    pub(crate) token: NewToken,
    pub(crate) actor: Actor,
    pub(crate) now: Timestamp,
}

impl Work for CreateToken {
    type Output = TokenId;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<TokenId> {
        let Self { token, actor, now } = self;
        lock(tx, token.workspace).await?;
        let not_found =
            || DomainError::NotFound { resource: "member", key: token.owner.to_string() };
        let owner =
            tx.person_by_email(token.workspace, &token.owner).await?.ok_or_else(not_found)?;
        // Nobody makes a token that speaks for someone else.
        if actor.person().is_some_and(|person| person != owner.person.id) {
            return Err(not_found().into());
        }
        check_grantable(token.scopes, owner.role.ok_or_else(not_found)?)?;
        let id = token.id.unwrap_or_else(|| TokenId::new(now, tx::random()));
        if tx.token_owner(token.workspace, id).await?.is_some() {
            return Err(DomainError::invalid("id", "has been made already").into());
        }
        let log = Write::LogChange(LogRow {
            at: now,
            actor: Some(owner.person.id),
            action: "token.created",
            subject: id.0,
            before: None,
            after: Some(
                serde_json::json!({ "name": token.name, "scopes": token.scopes.to_string() })
                    .to_string(),
            ),
        });
        let insert = Write::InsertToken(TokenWrite {
            id,
            person: owner.person.id,
            name: token.name,
            hash: token.hash,
            hint: token.hint,
            scopes: token.scopes,
            created_at: now,
            expires_at: token.expires_at,
        });
        tx.write(token.workspace, vec![insert, log]).await?;
        Ok(id)
    }
}

/// Ends a token.
#[derive(Clone)]
pub(crate) struct RevokeToken {
    pub(crate) workspace: WorkspaceId,
    pub(crate) token: TokenId,
    pub(crate) actor: Actor,
    pub(crate) now: Timestamp,
}

impl Work for RevokeToken {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        lock(tx, self.workspace).await?;
        let owner = tx.token_owner(self.workspace, self.token).await?;
        let not_found = || DomainError::NotFound { resource: "token", key: self.token.to_string() };
        // One's own, or as an administrator anybody's.
        if Some(owner.ok_or_else(not_found)?) != self.actor.person() {
            self.actor.role().require(Permission::Administer)?;
        }
        let log = LogRow {
            at: self.now,
            actor: self.actor.person(),
            action: "token.revoked",
            subject: self.token.0,
            before: None,
            after: None,
        };
        let revoke = Write::RevokeToken { token: self.token, at: self.now };
        tx.write(self.workspace, vec![revoke, Write::LogChange(log)]).await
    }
}

pub(crate) async fn lock<T: Tx>(tx: &mut T, workspace: WorkspaceId) -> Result<Workspace> {
    let not_found =
        || DomainError::NotFound { resource: "workspace", key: workspace.to_string() }.into();
    tx.lock_workspace(workspace).await?.ok_or_else(not_found)
}
