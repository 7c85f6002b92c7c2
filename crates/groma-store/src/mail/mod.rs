//! The queue of mails. A mail is queued in the transaction of the change that it is about, and sent by a loop
//! outside this crate. A program leases the mails that it sends, so that replicas do not send one twice.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Error, Result,
    engine::{Engine, dispatch, impl_work, random},
    secret_encryption::SecretCipher,
};
use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use groma_domain::{Email, MailId, Timestamp, UserId, WorkspaceId};
use std::fmt;

/// How long a program may take to send a mail. Then another one may try.
pub const MAIL_LEASE_MILLIS: i64 = 2 * 60 * 1_000;

/// The time in which the mails to an address are counted. Sent mails are kept as long, without their text.
const LIMIT_WINDOW_MILLIS: i64 = 60 * 60 * 1_000;

/// What stored texts begin with that are encrypted, in base64. No mail begins with it.
const ENCRYPTED: &str = "\u{1}";

/// What a mail is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailKind {
    /// An invitation to a workspace.
    Invitation,
    /// A link that verifies the address.
    Verification,
    /// A link that sets a new password. Anyone can request it for any address.
    PasswordReset,
    /// A change that the owner of an account should know of.
    Notice,
}

impl MailKind {
    fn name(self) -> &'static str {
        match self {
            Self::Invitation => "invitation",
            Self::Verification => "verification",
            Self::PasswordReset => "reset",
            Self::Notice => "notice",
        }
    }

    /// How many mails of this kind an address receives within an hour. Each kind has its own limit, so that
    /// strangers who request links cannot suppress notices.
    fn hourly_limit(self) -> u64 {
        match self {
            Self::PasswordReset | Self::Verification => 3,
            Self::Invitation => 5,
            Self::Notice => 20,
        }
    }
}

/// A mail to be queued. `Debug` does not print its text, which may contain a secret.
#[derive(Clone)]
pub struct NewMail {
    /// What it is for.
    pub kind: MailKind,
    /// Whom it is sent to.
    pub recipient: Email,
    /// The user that it is about.
    pub user: Option<UserId>,
    /// The workspace that it is about.
    pub workspace: Option<WorkspaceId>,
    /// The subject.
    pub subject: String,
    /// The text.
    pub body: String,
    /// When it is no longer worth sending.
    pub expires_at: Timestamp,
}

impl NewMail {
    /// Encrypts the text, which contains a link that works once, if there is a key.
    pub(crate) fn encrypt(mut self, cipher: &SecretCipher) -> Result<Self> {
        self.body = encrypt_text(cipher, self.recipient.as_str(), &self.body)?;
        Ok(self)
    }
}

fn encrypt_text(cipher: &SecretCipher, recipient: &str, text: &str) -> Result<String> {
    if !cipher.has_key() {
        return Ok(text.to_owned());
    }
    let encrypted = cipher.encrypt(recipient.as_bytes(), text.as_bytes())?;
    Ok(format!("{ENCRYPTED}{}", BASE64.encode(encrypted)))
}

/// The text of a stored mail, which may be plain already.
fn decrypt_text(cipher: &SecretCipher, recipient: &str, stored: &str) -> Result<String> {
    let Some(encrypted) = stored.strip_prefix(ENCRYPTED) else { return Ok(stored.to_owned()) };
    let encrypted = BASE64.decode(encrypted).map_err(|_| Error::Undecryptable)?;
    let text = cipher.decrypt(recipient.as_bytes(), &encrypted)?;
    String::from_utf8(text).map_err(|_| Error::Undecryptable)
}

impl fmt::Debug for NewMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewMail({:?})", self.kind)
    }
}

/// A mail that this program has leased.
#[derive(Clone)]
pub struct Mail {
    /// Its id.
    pub id: MailId,
    /// Whom it is sent to.
    pub recipient: String,
    /// The subject.
    pub subject: String,
    /// The text.
    pub body: String,
    /// The number of attempts, with the one that begins now.
    pub tries: u32,
    /// When it was queued.
    pub created_at: Timestamp,
}

/// The text of a waiting mail, as it is stored.
struct StoredText {
    id: MailId,
    recipient: String,
    body: String,
}

/// How an attempt to send a mail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// The server accepted it, or never will.
    Done,
    /// It is tried again after this time.
    Retry {
        /// Milliseconds from now.
        after_millis: i64,
    },
}

/// Operations of a transaction on mails.
pub(crate) trait MailTx: Send {
    /// The number of mails of this kind to an address since a time. Locks the address until the transaction
    /// ends.
    fn count_mails(
        &mut self,
        recipient: &Email,
        kind: MailKind,
        since: Timestamp,
    ) -> impl Future<Output = Result<u64>> + Send;

    fn insert_mail(
        &mut self,
        id: MailId,
        mail: NewMail,
        now: Timestamp,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Removes the text of a mail, which is then not sent.
    fn strip_mail(&mut self, id: MailId) -> impl Future<Output = Result<()>> + Send;

    /// Removes the text of all mails of this kind to a user.
    fn strip_mails_to(
        &mut self,
        user: UserId,
        kind: MailKind,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Queues a mail; `false` when the address has received too many.
pub(crate) async fn enqueue<T: MailTx>(
    tx: &mut T,
    id: MailId,
    mail: NewMail,
    now: Timestamp,
) -> Result<bool> {
    let since = now.plus_millis(-LIMIT_WINDOW_MILLIS);
    if tx.count_mails(&mail.recipient, mail.kind, since).await? >= mail.kind.hourly_limit() {
        tracing::warn!(kind = mail.kind.name(), "a mail was not queued: too many to one address");
        return Ok(false);
    }
    tx.insert_mail(id, mail, now).await?;
    Ok(true)
}

/// Queues a notice with a change. The change succeeds even if the address has received too many.
pub(crate) async fn enqueue_notice<T: MailTx>(
    tx: &mut T,
    notice: Option<NewMail>,
    now: Timestamp,
) -> Result<()> {
    if let Some(notice) = notice {
        enqueue(tx, MailId::new(now, random()), notice, now).await?;
    }
    Ok(())
}

impl_work! {
    QueueMail => bool;
}

/// Mails of a database.
#[derive(Clone)]
pub(crate) struct Mails {
    engine: Engine,
}

impl Mails {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// Queues a mail that belongs to no other change; `false` when the address has received too many.
    pub(crate) async fn queue(&self, mail: NewMail, now: Timestamp) -> Result<bool> {
        self.engine.transact(QueueMail { id: MailId::new(now, random()), mail, now }).await
    }

    /// Leases up to `limit` due mails to this program. On PostgreSQL the clock of the database counts. A mail
    /// that cannot be decrypted waits for the key until it expires.
    pub(crate) async fn claim(
        &self,
        cipher: &SecretCipher,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Mail>> {
        let claimed: Vec<Mail> = dispatch!(&self.engine, claim(limit, now))?;
        let decrypt = |mail: Mail| match decrypt_text(cipher, &mail.recipient, &mail.body) {
            Ok(body) => Some(Mail { body, ..mail }),
            Err(error) => {
                tracing::error!(mail = %mail.id, %error, "a mail cannot be sent");
                None
            }
        };
        Ok(claimed.into_iter().filter_map(decrypt).collect())
    }

    /// Encrypts the encrypted texts of waiting mails again, with the current key.
    pub(crate) async fn reencrypt(&self, cipher: &SecretCipher) -> Result<()> {
        let waiting: Vec<StoredText> = dispatch!(&self.engine, waiting_texts())?;
        for StoredText { id, recipient, body } in waiting {
            if !body.starts_with(ENCRYPTED) {
                continue;
            }
            // One with a key that is lost will never be sent, and must not keep the key from being changed.
            let Ok(text) = decrypt_text(cipher, &recipient, &body) else { continue };
            let body = encrypt_text(cipher, &recipient, &text)?;
            dispatch!(&self.engine, set_text(id, body))?;
        }
        Ok(())
    }

    /// Records how an attempt ended.
    pub(crate) async fn finish(
        &self,
        mail: &Mail,
        outcome: MailOutcome,
        now: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, finish(mail, outcome, now))
    }

    /// Drops mails that could not be sent in time, and forgets old ones. Returns the number dropped.
    pub(crate) async fn clean_up(&self, now: Timestamp) -> Result<u64> {
        let before = now.plus_millis(-LIMIT_WINDOW_MILLIS);
        dispatch!(&self.engine, clean_up(before, now))
    }

    /// The number of mails that wait to be sent.
    pub(crate) async fn count_waiting(&self) -> Result<u64> {
        dispatch!(&self.engine, count_waiting())
    }
}

#[derive(Clone)]
struct QueueMail {
    id: MailId,
    mail: NewMail,
    now: Timestamp,
}

impl QueueMail {
    async fn run<T: MailTx>(self, tx: &mut T) -> Result<bool> {
        enqueue(tx, self.id, self.mail, self.now).await
    }
}
