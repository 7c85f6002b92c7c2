//! Links in mails to users: they set a new password or verify the address. A link works once, and only its
//! hash is stored.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{
    Account, Accounts, UserWrite,
    user_tokens::{self, RevokedBy, UserTokenTx},
};
use crate::{
    NewMail, NewSecurityEntry, Result,
    engine::{dispatch, impl_work, random},
    mail::{self, MailKind},
};
use groma_domain::{DomainError, Email, MailId, Timestamp, UserId, secret::SecretHash};

/// What a link does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPurpose {
    /// Sets a new password.
    ResetPassword,
    /// Verifies the address.
    VerifyEmail,
}

impl LinkPurpose {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ResetPassword => "reset",
            Self::VerifyEmail => "verify",
        }
    }
}

/// A link to be sent.
#[derive(Clone, Debug)]
pub struct NewEmailLink {
    /// The hash of its secret.
    pub hash: SecretHash,
    /// Its user.
    pub user: UserId,
    /// What it does.
    pub purpose: LinkPurpose,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The mail that contains it.
    pub mail: NewMail,
}

/// A new password, set by a link.
#[derive(Clone, Debug)]
pub struct PasswordReset {
    /// The hash of the link's secret.
    pub link: SecretHash,
    /// The hash of the new password.
    pub password_hash: String,
    /// Whether to revoke the access tokens of the user in all workspaces.
    pub revoke_tokens: bool,
    /// The mail that tells the user.
    pub notice: NewMail,
    /// The address of the client.
    pub address: String,
}

/// Operations of a transaction on links.
pub(crate) trait EmailLinkTx: UserTokenTx {
    /// The account of a link that has not expired.
    fn email_link(
        &mut self,
        hash: &SecretHash,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Account>>> + Send;

    fn write_email_link(
        &mut self,
        write: EmailLinkWrite,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// A write to links and to what they change.
pub(crate) enum EmailLinkWrite {
    /// Inserts a link, and deletes those that have expired.
    Insert {
        hash: SecretHash,
        user: UserId,
        purpose: LinkPurpose,
        expires_at: Timestamp,
        now: Timestamp,
    },
    /// Deletes the links of a user.
    Delete { user: UserId, purpose: LinkPurpose },
    /// Forgets the browsers that a user has logged in with.
    ForgetDevices { user: UserId },
}

impl_work! {
    SendEmailLink => bool;
    ResetPassword => ();
    VerifyEmail => Email;
}

impl Accounts {
    /// Creates a link and queues its mail; `false` when the address has received too many.
    pub(crate) async fn send_email_link(&self, link: NewEmailLink, now: Timestamp) -> Result<bool> {
        let link = NewEmailLink { mail: link.mail.encrypt(self.webhooks.cipher())?, ..link };
        self.engine.transact(SendEmailLink { link, now }).await
    }

    /// The account of a link that has not expired.
    pub(crate) async fn email_link(
        &self,
        hash: &SecretHash,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<Option<Account>> {
        dispatch!(&self.engine, email_link(hash, purpose, now))
    }

    /// Sets the password of the user of a link. This ends all sessions of the user and verifies the address.
    pub(crate) async fn reset_password(&self, reset: PasswordReset, now: Timestamp) -> Result<()> {
        self.engine.transact(ResetPassword { reset, now }).await?;
        self.authentication.clear_cache();
        Ok(())
    }

    /// Verifies the address of the user of a link.
    pub(crate) async fn verify_email(&self, link: SecretHash, now: Timestamp) -> Result<Email> {
        self.engine.transact(VerifyEmail { link, now }).await
    }
}

/// The account of a link in a transaction.
async fn account_of<T: EmailLinkTx>(
    tx: &mut T,
    hash: &SecretHash,
    purpose: LinkPurpose,
    now: Timestamp,
) -> Result<Account> {
    let invalid = || DomainError::NotFound { resource: "link", key: "of this mail".to_owned() };
    Ok(tx.email_link(hash, purpose, now).await?.ok_or_else(invalid)?)
}

#[derive(Clone)]
struct SendEmailLink {
    link: NewEmailLink,
    now: Timestamp,
}

impl SendEmailLink {
    async fn run<T: EmailLinkTx>(self, tx: &mut T) -> Result<bool> {
        let Self { link: NewEmailLink { hash, user, purpose, expires_at, mail }, now } = self;
        if !mail::enqueue(tx, MailId::new(now, random()), mail, now).await? {
            return Ok(false);
        }
        let insert = EmailLinkWrite::Insert { hash, user, purpose, expires_at, now };
        tx.write_email_link(insert).await?;
        Ok(true)
    }
}

#[derive(Clone)]
struct ResetPassword {
    reset: PasswordReset,
    now: Timestamp,
}

impl ResetPassword {
    async fn run<T: EmailLinkTx>(self, tx: &mut T) -> Result<()> {
        let Self { reset, now } = self;
        let PasswordReset { link, password_hash, revoke_tokens, notice, address } = reset;
        let purpose = LinkPurpose::ResetPassword;
        let Account { user, email, .. } = account_of(tx, &link, purpose, now).await?;
        if revoke_tokens {
            user_tokens::revoke(tx, user, RevokedBy::User, now).await?;
        }
        delete_reset_links(tx, user).await?;
        tx.write_user(UserWrite::SetPassword { user, hash: password_hash }).await?;
        tx.write_user(UserWrite::EndSessions { user, except: None }).await?;
        tx.write_user(UserWrite::VerifyEmail { email, at: now }).await?;
        // Whoever knew the old password may have logged in with one of them.
        tx.write_email_link(EmailLinkWrite::ForgetDevices { user }).await?;
        let entry = NewSecurityEntry::new("password.reset", now).by(user).from_address(&address);
        tx.log_security(entry).await?;
        mail::enqueue_notice(tx, Some(notice), now).await
    }
}

/// Deletes the links with which a user could set a password.
pub(super) async fn delete_reset_links<T: EmailLinkTx>(tx: &mut T, user: UserId) -> Result<()> {
    let purpose = LinkPurpose::ResetPassword;
    tx.write_email_link(EmailLinkWrite::Delete { user, purpose }).await?;
    tx.strip_mails_to(user, MailKind::PasswordReset).await
}

#[derive(Clone)]
struct VerifyEmail {
    link: SecretHash,
    now: Timestamp,
}

impl VerifyEmail {
    async fn run<T: EmailLinkTx>(self, tx: &mut T) -> Result<Email> {
        let purpose = LinkPurpose::VerifyEmail;
        let Account { user, email, .. } = account_of(tx, &self.link, purpose, self.now).await?;
        tx.write_email_link(EmailLinkWrite::Delete { user, purpose }).await?;
        tx.write_user(UserWrite::VerifyEmail { email: email.clone(), at: self.now }).await?;
        Ok(email)
    }
}
