//! Who comes in: the first set-up, logging in, sessions, invitations, members. None of it is an
//! event; what changes a workspace is in its audit trail.

use crate::{
    Actor, Member, NewUser, Result, Store,
    admin::{AddMember, CreateWorkspace, lock},
    store::on_engine,
    tx::{self, InvitationRow, LogRow, MemberRow, Tx, Work, Write},
};
use groma_domain::{
    Currency, DomainError, Email, InvitationId, Permission, Person, PersonId, Role, SessionId,
    Timestamp, UserId, WorkspaceId,
    secret::SecretHash,
    workspace::{Workspace, WorkspaceName},
};

/// Someone who can log in, with what their password is checked against.
#[derive(Clone, Debug)]
pub struct Account {
    /// Who.
    pub user: UserId,
    /// The hash of their password; someone who has none cannot log in.
    pub password_hash: Option<String>,
}

/// A session to be opened.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The hash of its cookie.
    pub hash: SecretHash,
    /// Whose.
    pub user: UserId,
    /// What the browser calls itself.
    pub user_agent: String,
    /// Where it came from.
    pub address: String,
    /// When it begins.
    pub now: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
}

/// A session that is open, and where its user is a member.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose.
    pub user: UserId,
    /// Their address.
    pub email: Email,
    /// Their name.
    pub name: String,
    /// The workspace that is looked at, if one was chosen.
    pub workspace: Option<WorkspaceId>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, nearly.
    pub last_seen_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// The workspaces its user may enter, by name.
    pub memberships: Vec<Membership>,
}

/// What someone is in a workspace.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Where.
    pub workspace: Workspace,
    /// As it knows them.
    pub person: Person,
    /// What they may.
    pub role: Role,
}

/// A session as it is listed.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, nearly.
    pub last_seen_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// What the browser calls itself.
    pub user_agent: String,
    /// Where it came from.
    pub address: String,
}

/// What attempts are counted for, and how many of them may fail.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// How many may fail within the time.
    pub limit: u32,
}

/// For how long a failed attempt counts.
pub const ATTEMPT_COUNTS_FOR_MILLIS: i64 = 15 * 60 * 1_000;

/// For how long a device is known that nobody logs in with.
pub(crate) const DEVICE_IS_KNOWN_FOR_MILLIS: i64 = 400 * 24 * 60 * 60 * 1_000;

/// An invitation to be made.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    /// The hash of its link's secret.
    pub hash: SecretHash,
    /// What its holder becomes.
    pub role: Role,
    /// Whom it is for; `None` for anyone.
    pub email: Option<Email>,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// An invitation that is open.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Its id.
    pub id: InvitationId,
    /// What its holder becomes.
    pub role: Role,
    /// Whom it is for; `None` for anyone.
    pub email: Option<String>,
    /// Who made it; `None` for the command line.
    pub invited_by: Option<PersonId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl InvitationRow {
    pub(crate) fn shown(self) -> Invitation {
        let Self { id, role, email, invited_by, created_at, expires_at, .. } = self;
        Invitation { id, role, email, invited_by, created_at, expires_at }
    }
}

/// Someone known to a workspace.
#[derive(Clone, Debug)]
pub struct KnownPerson {
    /// Who.
    pub person: Person,
    /// What they may; `None` when they are no member.
    pub role: Option<Role>,
}

impl Store {
    /// Whether anybody can log in.
    pub async fn has_users(&self) -> Result<bool> {
        on_engine!(self, engine => engine.has_users().await)
    }

    /// Makes the first workspace with its owner; refused once there is a user.
    pub async fn set_up(
        &self,
        name: WorkspaceName,
        currency: Currency,
        owner: NewUser,
        now: Timestamp,
    ) -> Result<Workspace> {
        self.transact(SetUp(CreateWorkspace { name, currency, owner, now })).await
    }

    /// The account of this address.
    pub async fn account(&self, email: &Email) -> Result<Option<Account>> {
        on_engine!(self, engine => engine.account(email).await)
    }

    /// Counts an attempt to log in before it is tried; `false` when one of the buckets is full, and
    /// then it is not to be tried.
    pub async fn begin_attempt(&self, buckets: Vec<Bucket>, now: Timestamp) -> Result<bool> {
        on_engine!(self, engine => engine.begin_attempt(buckets, now).await)
    }

    /// Takes back what was counted at `at`: the attempt succeeded. The first bucket is emptied.
    pub async fn forget_attempt(&self, buckets: Vec<Bucket>, at: Timestamp) -> Result<()> {
        on_engine!(self, engine => engine.forget_attempt(buckets, at).await)
    }

    /// Whether this user has logged in with this device.
    pub async fn knows_device(&self, user: UserId, device: &SecretHash) -> Result<bool> {
        on_engine!(self, engine => engine.knows_device(user, device).await)
    }

    /// Opens a session, and remembers the device it is on.
    pub async fn open_session(
        &self,
        session: NewSession,
        device: Option<SecretHash>,
    ) -> Result<SessionId> {
        let id = SessionId::new(session.now, tx::random());
        on_engine!(self, engine => engine.open_session(id, session, device).await?);
        Ok(id)
    }

    /// The open session of this cookie.
    pub async fn session(&self, hash: &SecretHash, now: Timestamp) -> Result<Option<Session>> {
        on_engine!(self, engine => engine.session(hash, now).await)
    }

    /// Notes that a session is used, and when it then ends.
    pub async fn touch_session(
        &self,
        session: SessionId,
        now: Timestamp,
        ends_at: Timestamp,
    ) -> Result<()> {
        on_engine!(self, engine => engine.touch_session(session, now, ends_at).await)
    }

    /// Lets a session look at another workspace.
    pub async fn enter_workspace(
        &self,
        session: SessionId,
        user: UserId,
        workspace: WorkspaceId,
    ) -> Result<()> {
        on_engine!(self, engine => engine.enter_workspace(session, user, workspace).await)
    }

    /// The open sessions of a user, the latest used first.
    pub async fn sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRow>> {
        on_engine!(self, engine => engine.sessions(user, now).await)
    }

    /// Ends a session of a user, at once.
    pub async fn end_session(&self, user: UserId, session: SessionId) -> Result<()> {
        on_engine!(self, engine => engine.end_session(user, session).await)
    }

    /// Gives a user another password and ends all their sessions but `keep`.
    pub async fn change_password(&self, user: UserId, hash: String, keep: SessionId) -> Result<()> {
        self.transact(ChangePassword { user, hash, keep }).await
    }

    /// Makes an invitation.
    pub async fn invite(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        invitation: NewInvitation,
        now: Timestamp,
    ) -> Result<InvitationId> {
        self.transact(Invite { workspace, actor, invitation, now }).await
    }

    /// The open invitations of a workspace, oldest first.
    pub async fn invitations(
        &self,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Invitation>> {
        on_engine!(self, engine => engine.invitations(workspace, now).await)
    }

    /// Takes an invitation back.
    pub async fn cancel_invitation(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        invitation: InvitationId,
        now: Timestamp,
    ) -> Result<()> {
        self.transact(CancelInvitation { workspace, actor, invitation, now }).await
    }

    /// The open invitation of a link, and where it leads.
    pub async fn invitation(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<(Workspace, Invitation)>> {
        on_engine!(self, engine => engine.invitation(hash, now).await)
    }

    /// Makes the holder of a link a member. A `stranger` must not be known yet: whoever is proves it
    /// by logging in.
    pub async fn accept_invitation(
        &self,
        hash: SecretHash,
        user: NewUser,
        is_stranger: bool,
        now: Timestamp,
    ) -> Result<(WorkspaceId, Member)> {
        let accepted = self.transact(AcceptInvitation { hash, user, is_stranger, now }).await?;
        self.forget_tokens();
        Ok(accepted)
    }

    /// Everybody whom a workspace knows, by name.
    pub async fn people(&self, workspace: WorkspaceId) -> Result<Vec<KnownPerson>> {
        let mut people = on_engine!(self, engine => engine.known_people(workspace).await?);
        people.sort_by_cached_key(|known| {
            (groma_domain::text::fold(&known.person.name), known.person.id)
        });
        Ok(people)
    }

    /// Ends a membership, and with it the member's tokens. Members may leave by themselves.
    pub async fn remove_member(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        person: PersonId,
        now: Timestamp,
    ) -> Result<Person> {
        let removed = self.transact(RemoveMember { workspace, actor, person, now }).await?;
        self.forget_tokens();
        Ok(removed)
    }

    /// Gives a workspace another name or currency.
    pub async fn change_workspace(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        name: WorkspaceName,
        currency: Currency,
        now: Timestamp,
    ) -> Result<Workspace> {
        self.transact(ChangeWorkspace { workspace, actor, name, currency, now }).await
    }
}

#[derive(Clone)]
struct SetUp(CreateWorkspace);

impl Work for SetUp {
    type Output = Workspace;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Workspace> {
        if tx.has_users().await? {
            return Err(DomainError::invalid("code", "is used up: someone has set this up").into());
        }
        self.0.run(tx).await
    }
}

#[derive(Clone)]
struct ChangePassword {
    user: UserId,
    hash: String,
    keep: SessionId,
}

impl Work for ChangePassword {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        let Self { user, hash, keep } = self;
        let writes = vec![
            Write::SetPassword { user, hash },
            Write::EndSessions { user, except: Some(keep) },
        ];
        tx.write(WorkspaceId(uuid::Uuid::nil()), writes).await
    }
}

#[derive(Clone)]
struct Invite {
    workspace: WorkspaceId,
    actor: Actor,
    invitation: NewInvitation,
    now: Timestamp,
}

impl Work for Invite {
    type Output = InvitationId;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<InvitationId> {
        let Self { workspace, actor, invitation, now } = self;
        actor.role().require(needed_for(invitation.role))?;
        lock(tx, workspace).await?;
        // Asked twice for the same link, one is made.
        if let Some(made) = tx.invitation(&invitation.hash).await? {
            return Ok(made.id);
        }
        let id = InvitationId::new(now, tx::random());
        let email = invitation.email.map(|email| email.as_str().to_owned());
        let told = serde_json::json!({ "role": invitation.role.name(), "email": email });
        let row = InvitationRow {
            id,
            workspace,
            hash: invitation.hash,
            role: invitation.role,
            email,
            invited_by: actor.person(),
            created_at: now,
            expires_at: invitation.expires_at,
        };
        let log = log(actor, now, "invitation.created", id.0, None, Some(told.to_string()));
        tx.write(workspace, vec![Write::InsertInvitation(row), log]).await?;
        Ok(id)
    }
}

#[derive(Clone)]
struct CancelInvitation {
    workspace: WorkspaceId,
    actor: Actor,
    invitation: InvitationId,
    now: Timestamp,
}

impl Work for CancelInvitation {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, invitation, now } = self;
        actor.role().require(Permission::Administer)?;
        lock(tx, workspace).await?;
        let log = log(actor, now, "invitation.cancelled", invitation.0, None, None);
        tx.write(workspace, vec![Write::RemoveInvitation(invitation), log]).await
    }
}

#[derive(Clone)]
struct AcceptInvitation {
    hash: SecretHash,
    user: NewUser,
    is_stranger: bool,
    now: Timestamp,
}

impl Work for AcceptInvitation {
    type Output = (WorkspaceId, Member);

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Self::Output> {
        let Self { hash, user, is_stranger, now } = self;
        let void =
            || DomainError::NotFound { resource: "invitation", key: "of this link".to_owned() };
        let found = tx.invitation(&hash).await?.ok_or_else(void)?;
        let workspace = found.workspace;
        lock(tx, workspace).await?;
        // Once more behind the lock: of two who hold the link one comes first.
        let open = tx.invitation(&hash).await?.filter(|open| open.expires_at > now);
        let InvitationRow { id, role, email, invited_by, .. } = open.ok_or_else(void)?;
        if let Some(wanted) = email.as_deref().and_then(|email| Email::parse(email).ok())
            && wanted != user.email
        {
            let message = format!("must be {wanted}: the invitation is for that address");
            return Err(DomainError::invalid("email", message).into());
        }
        if is_stranger && tx.user_by_email(&user.email).await?.is_some() {
            let message = "is known here: log in, then open the link again";
            return Err(DomainError::invalid("email", message).into());
        }
        let known = tx.person_by_email(workspace, &user.email).await?;
        if known.is_some_and(|known| known.role.is_some()) {
            return Err(DomainError::invalid("email", "is a member already").into());
        }
        // It is worth what the one who made it may give now.
        let actor = match invited_by {
            None => Actor::Operator,
            Some(person) => {
                let inviter = tx.person(workspace, person).await?;
                let role = inviter.and_then(|inviter| inviter.role).ok_or_else(void)?;
                Actor::Member { person, role }
            }
        };
        actor.role().require(needed_for(role)).map_err(|_| void())?;
        let member = AddMember { workspace, actor, user, role, now }.run(tx).await?;
        tx.write(workspace, vec![Write::RemoveInvitation(id)]).await?;
        Ok((workspace, member))
    }
}

/// What it takes to make someone a member with this role.
fn needed_for(role: Role) -> Permission {
    if role == Role::Owner { Permission::Own } else { Permission::Administer }
}

#[derive(Clone)]
struct RemoveMember {
    workspace: WorkspaceId,
    actor: Actor,
    person: PersonId,
    now: Timestamp,
}

impl Work for RemoveMember {
    type Output = Person;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Person> {
        let Self { workspace, actor, person, now } = self;
        lock(tx, workspace).await?;
        let not_found = || DomainError::NotFound { resource: "member", key: person.to_string() };
        let member = tx.person(workspace, person).await?.ok_or_else(not_found)?;
        let role = member.role.ok_or_else(not_found)?;
        if actor.person() != Some(person) {
            actor.role().require(needed_for(role))?;
        }
        if role == Role::Owner && tx.owners(workspace).await? == 1 {
            return Err(DomainError::invalid("role", "cannot change: the last owner stays").into());
        }
        let before = Some(format!(r#"{{"role":"{role}"}}"#));
        let log = log(actor, now, "member.removed", person.0, before, None);
        let row = MemberRow { person: member.person.clone(), user: None, role: None };
        let writes = vec![
            Write::SavePerson { row, at: now },
            Write::RevokeTokensOf { person, at: now },
            log,
        ];
        tx.write(workspace, writes).await?;
        Ok(member.person)
    }
}

#[derive(Clone)]
struct ChangeWorkspace {
    workspace: WorkspaceId,
    actor: Actor,
    name: WorkspaceName,
    currency: Currency,
    now: Timestamp,
}

impl Work for ChangeWorkspace {
    type Output = Workspace;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Workspace> {
        let Self { workspace, actor, name, currency, now } = self;
        actor.role().require(Permission::Administer)?;
        let before = lock(tx, workspace).await?;
        if before.name.key() != name.key() && tx.workspace_named(&name.key()).await? {
            return Err(
                DomainError::invalid("name", format!("`{}` is taken", name.as_str())).into()
            );
        }
        let after = Workspace { name, currency, ..before.clone() };
        if after.name == before.name && after.currency == before.currency {
            return Ok(after);
        }
        let shown = |workspace: &Workspace| {
            let (name, currency) = (workspace.name.as_str(), workspace.currency);
            Some(serde_json::json!({ "name": name, "currency": currency }).to_string())
        };
        let log = log(actor, now, "workspace.updated", workspace.0, shown(&before), shown(&after));
        tx.write(workspace, vec![Write::SaveWorkspace(after.clone()), log]).await?;
        Ok(after)
    }
}

fn log(
    actor: Actor,
    at: Timestamp,
    action: &'static str,
    subject: uuid::Uuid,
    before: Option<String>,
    after: Option<String>,
) -> Write {
    Write::LogChange(LogRow { at, actor: actor.person(), action, subject, before, after })
}
