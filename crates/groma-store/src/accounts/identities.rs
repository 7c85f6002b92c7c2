//! Accounts of identity providers (OpenID Connect) that log users in.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{
    Account, Accounts, UserWrite,
    invitations::AcceptInvitation,
    members::{AddMember, NewUser, RemoveMember},
    second_factors::{FactorTx, check},
    sessions::find_user,
};
use crate::{
    Actor, Error, NewMail, NewSecurityEntry, Result,
    engine::{dispatch, impl_work},
    mail, workspaces,
};
use groma_domain::{
    DomainError, Email, Role, SessionId, Timestamp, UserId, Violation, WorkspaceId,
    secret::SecretHash,
};

/// An account of an identity provider, as the provider reports it at a login.
#[derive(Clone, Debug)]
pub struct ProviderAccount {
    /// The provider.
    pub issuer: String,
    /// The account, for ever.
    pub subject: String,
    /// Its address.
    pub email: Option<Email>,
    /// Whether the provider has verified the address.
    pub is_email_verified: bool,
    /// The name of its owner.
    pub name: Option<String>,
}

/// What the login by a provider gives access to.
#[derive(Clone, Debug)]
pub struct ProviderAccess {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The role; `None` for no access.
    pub role: Option<Role>,
    /// Whether the provider decides the role at every login, and not only at the first.
    pub is_managed: bool,
}

/// A login by an identity provider.
#[derive(Clone, Debug)]
pub struct ProviderLogin {
    /// The account at the provider.
    pub account: ProviderAccount,
    /// The invitation whose link the user opened.
    pub invitation: Option<SecretHash>,
    /// What it gives access to.
    pub access: Option<ProviderAccess>,
    /// The address of the client.
    pub address: String,
}

/// How a login by an identity provider ended.
#[derive(Clone, Debug)]
pub enum ProviderOutcome {
    /// The provider's account belongs to this user.
    Accepted(UserId),
    /// This user has another login, which must connect the provider's account first.
    OwnLoginRequired(UserId),
    /// The provider has not verified the address.
    EmailNotVerified,
    /// There is no user, and no invitation or rule that admits one.
    NotInvited,
}

/// An identity of a user.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// The account at the provider.
    pub subject: String,
    /// The address that the provider reported last.
    pub email: String,
    /// When it last logged the user in.
    pub last_used_at: Option<Timestamp>,
}

/// A change of the own identities.
#[derive(Clone, Debug)]
pub enum IdentityChange {
    /// Connects an account of a provider.
    Connect(ProviderAccount),
    /// Disconnects the account of a provider.
    Disconnect {
        /// The provider.
        issuer: String,
        /// The account.
        subject: String,
    },
}

/// Operations of a transaction on identities.
pub(crate) trait IdentityTx: FactorTx {
    /// The user of an identity. Locks names until the transaction ends.
    fn user_of_identity(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> impl Future<Output = Result<Option<UserId>>> + Send;

    /// A user's account.
    fn account_of_user(
        &mut self,
        user: UserId,
    ) -> impl Future<Output = Result<Option<Account>>> + Send;

    fn write_identity(&mut self, write: IdentityWrite) -> impl Future<Output = Result<()>> + Send;
}

/// A write to identities.
pub(crate) enum IdentityWrite {
    Insert {
        user: UserId,
        account: ProviderAccount,
        at: Timestamp,
    },
    /// Records that an identity was used.
    Touch {
        account: ProviderAccount,
        at: Timestamp,
    },
    Delete {
        user: UserId,
        issuer: String,
        subject: String,
    },
}

impl_work! {
    LogInWithProvider => ProviderOutcome;
    ChangeIdentity => ();
}

impl Accounts {
    /// The account of a user.
    pub(crate) async fn account_of_user(&self, user: UserId) -> Result<Option<Account>> {
        dispatch!(&self.engine, account_of_user(user))
    }

    /// The identities of a user, oldest first.
    pub(crate) async fn identities(&self, user: UserId) -> Result<Vec<Identity>> {
        dispatch!(&self.engine, identities(user))
    }

    /// Finds or creates the user of an account of an identity provider.
    pub(crate) async fn log_in_with_provider(
        &self,
        login: ProviderLogin,
        now: Timestamp,
    ) -> Result<ProviderOutcome> {
        let outcome = self.engine.transact(LogInWithProvider { login, now }).await?;
        self.authentication.clear_cache();
        Ok(outcome)
    }

    /// Connects or disconnects an identity of the user of a session.
    pub(crate) async fn change_identity(
        &self,
        session: SessionId,
        change: IdentityChange,
        notice: Option<NewMail>,
        address: &str,
        now: Timestamp,
    ) -> Result<()> {
        let address = address.to_owned();
        self.engine.transact(ChangeIdentity { session, change, notice, address, now }).await
    }
}

#[derive(Clone)]
struct LogInWithProvider {
    login: ProviderLogin,
    now: Timestamp,
}

impl LogInWithProvider {
    async fn run<T: IdentityTx>(self, tx: &mut T) -> Result<ProviderOutcome> {
        let Self { login: ProviderLogin { account, invitation, access, address }, now } = self;
        // One workspace is locked, and before names are, as in other changes.
        let access = access.filter(|_| invitation.is_none());
        if let Some(access) = &access {
            workspaces::lock(tx, access.workspace).await?;
        }
        let known = tx.user_of_identity(&account.issuer, &account.subject).await?;
        let is_new = known.is_none();
        let user = match known {
            Some(user) => user,
            None => match find_user_to_connect(tx, &account).await? {
                Ok(Some(user)) => user,
                Ok(None) => match create_user(tx, &account, invitation, &access, now).await? {
                    Some(user) => user,
                    None => return Ok(ProviderOutcome::NotInvited),
                },
                Err(outcome) => return Ok(outcome),
            },
        };
        if is_new {
            let insert = IdentityWrite::Insert { user, account: account.clone(), at: now };
            tx.write_identity(insert).await?;
            let entry = NewSecurityEntry::new("identity.connected", now);
            tx.log_security(entry.by(user).from_address(&address)).await?;
        }
        tx.write_identity(IdentityWrite::Touch { account: account.clone(), at: now }).await?;
        let Some(stored) = tx.account_of_user(user).await? else {
            return Ok(ProviderOutcome::NotInvited);
        };
        if account.is_email_verified && account.email.as_ref() == Some(&stored.email) {
            let verify = UserWrite::VerifyEmail { email: stored.email.clone(), at: now };
            tx.write_user(verify).await?;
        }
        if let Some(access) = access {
            grant_access(tx, &stored, access, now).await?;
        }
        Ok(ProviderOutcome::Accepted(user))
    }
}

/// The user with the address of a new identity, if the provider alone may log them in.
async fn find_user_to_connect<T: IdentityTx>(
    tx: &mut T,
    account: &ProviderAccount,
) -> Result<Result<Option<UserId>, ProviderOutcome>> {
    let Some(email) = account.email.as_ref().filter(|_| account.is_email_verified) else {
        return Ok(Err(ProviderOutcome::EmailNotVerified));
    };
    let Some(user) = tx.user_by_email(email).await? else { return Ok(Ok(None)) };
    let methods = tx.login_methods(user.id).await?;
    // Whoever controls the address at the provider must not take over an account that has its own login.
    if methods.can_log_in() {
        return Ok(Err(ProviderOutcome::OwnLoginRequired(user.id)));
    }
    Ok(Ok(Some(user.id)))
}

/// Creates the user of an identity by an invitation or by the access that its provider gives.
async fn create_user<T: IdentityTx>(
    tx: &mut T,
    account: &ProviderAccount,
    invitation: Option<SecretHash>,
    access: &Option<ProviderAccess>,
    now: Timestamp,
) -> Result<Option<UserId>> {
    let Some(email) = account.email.clone() else { return Ok(None) };
    let user = NewUser { email: email.clone(), name: account.name.clone(), password_hash: None };
    if let Some(hash) = invitation {
        AcceptInvitation { hash, user, is_new_user: true, now }.run(tx).await?;
    } else if let Some(ProviderAccess { workspace, role: Some(role), .. }) = access {
        let (workspace, role, actor) = (*workspace, *role, Actor::Operator);
        AddMember { workspace, actor, user, role, now }.run(tx).await?;
    } else {
        return Ok(None);
    }
    Ok(tx.user_by_email(&email).await?.map(|user| user.id))
}

/// Gives a user the role that the provider decides.
async fn grant_access<T: IdentityTx>(
    tx: &mut T,
    account: &Account,
    access: ProviderAccess,
    now: Timestamp,
) -> Result<()> {
    let ProviderAccess { workspace, role, is_managed } = access;
    let prior = tx.person_by_email(workspace, &account.email).await?;
    let prior_role = prior.as_ref().and_then(|prior| prior.role);
    let was_removed =
        prior.as_ref().is_some_and(|prior| prior.user.is_some() && prior.role.is_none());
    let actor = Actor::Operator;
    let changed = match (role, prior_role) {
        // An address in the right domain does not bring back a member whom an administrator removed.
        (Some(_), None) if was_removed && !is_managed => Ok(()),
        (Some(role), None) => {
            let email = account.email.clone();
            let user = NewUser { email, name: None, password_hash: None };
            AddMember { workspace, actor, user, role, now }.run(tx).await.map(drop)
        }
        (Some(role), Some(prior)) if is_managed && prior != role => {
            let email = account.email.clone();
            let user = NewUser { email, name: None, password_hash: None };
            AddMember { workspace, actor, user, role, now }.run(tx).await.map(drop)
        }
        (None, Some(_)) if is_managed => match prior {
            Some(prior) => {
                let person = prior.person.id;
                RemoveMember { workspace, actor, person, now }.run(tx).await.map(drop)
            }
            None => Ok(()),
        },
        _ => Ok(()),
    };
    match changed {
        // The last owner stays, whatever the provider says.
        Err(Error::Domain { error: DomainError::Invalid(_), .. }) => Ok(()),
        changed => changed,
    }
}

#[derive(Clone)]
struct ChangeIdentity {
    session: SessionId,
    change: IdentityChange,
    notice: Option<NewMail>,
    address: String,
    now: Timestamp,
}

impl ChangeIdentity {
    async fn run<T: IdentityTx>(self, tx: &mut T) -> Result<()> {
        let Self { session, change, notice, address, now } = self;
        let user = find_user(tx, session, now).await?;
        let before = tx.login_methods(user).await?;
        let (write, action) = match change {
            IdentityChange::Connect(account) => {
                match tx.user_of_identity(&account.issuer, &account.subject).await? {
                    Some(owner) if owner == user => return Ok(()),
                    Some(_) => {
                        let taken = Violation::IdentityTaken;
                        return Err(DomainError::invalid("identity", taken).into());
                    }
                    None => {}
                }
                (IdentityWrite::Insert { user, account, at: now }, "identity.connected")
            }
            IdentityChange::Disconnect { issuer, subject } => {
                if tx.user_of_identity(&issuer, &subject).await? != Some(user) {
                    return Ok(());
                }
                let mut after = before;
                after.identities = after.identities.saturating_sub(1);
                check(before, after)?;
                (IdentityWrite::Delete { user, issuer, subject }, "identity.disconnected")
            }
        };
        tx.write_identity(write).await?;
        let entry = NewSecurityEntry::new(action, now).by(user).from_address(&address);
        tx.log_security(entry).await?;
        mail::enqueue_notice(tx, notice, now).await
    }
}
