//! The texts of mails, in the language of the recipient.

use super::i18n::{Localizer, Message};
use groma_domain::{Email, Role, Timestamp, UserId, WorkspaceId};
use groma_store::{MailKind, NewMail};

/// How long a notice is worth sending.
const NOTICE_MILLIS: i64 = 3 * 24 * 60 * 60 * 1_000;

/// Writes mails in one language.
#[derive(Clone, Copy)]
pub(crate) struct MailWriter<'a> {
    pub(crate) t: Localizer,
    /// The name of the service.
    pub(crate) service: &'a str,
    pub(crate) public_url: &'a str,
}

/// Whom a notice is for.
pub(crate) struct NoticeRecipient {
    pub(crate) user: UserId,
    pub(crate) email: Email,
}

/// A change that the owner of an account should know of. `at` is the time as the owner reads it.
pub(crate) enum Notice<'a> {
    /// A login with a browser that the account has not been used with.
    NewSignIn { browser: &'a str, address: &'a str, at: &'a str },
    /// A new access token.
    NewToken { name: &'a str, workspace: &'a str, at: &'a str },
    /// A token that expires soon.
    TokenExpires { name: &'a str, workspace: &'a str, at: &'a str },
    /// A new password.
    PasswordChanged { at: &'a str },
    /// A change of second factors, passkeys or connected accounts.
    FactorChanged { at: &'a str },
}

/// An invitation to be sent.
pub(crate) struct InvitationMail<'a> {
    pub(crate) recipient: Email,
    pub(crate) workspace: WorkspaceId,
    pub(crate) workspace_name: &'a str,
    pub(crate) inviter: &'a str,
    pub(crate) role: Role,
    pub(crate) link: &'a str,
    pub(crate) expires_at: Timestamp,
}

impl MailWriter<'_> {
    pub(crate) fn notice(
        self,
        recipient: NoticeRecipient,
        notice: &Notice<'_>,
        now: Timestamp,
    ) -> NewMail {
        let t = self.t;
        let (subject, body) = match notice {
            Notice::NewSignIn { browser, address, at } => (
                t.msg("mail-sign-in-subject"),
                t.msg("mail-sign-in-body")
                    .arg("browser", *browser)
                    .arg("address", *address)
                    .arg("at", *at),
            ),
            Notice::NewToken { name, workspace, at } => (
                t.msg("mail-token-subject"),
                t.msg("mail-token-body")
                    .arg("name", *name)
                    .arg("workspace", *workspace)
                    .arg("at", *at),
            ),
            Notice::TokenExpires { name, workspace, at } => (
                t.msg("mail-token-expires-subject").arg("name", *name),
                t.msg("mail-token-expires-body")
                    .arg("name", *name)
                    .arg("workspace", *workspace)
                    .arg("at", *at)
                    .arg("tokens", format!("{}/settings/tokens", self.public_url)),
            ),
            Notice::PasswordChanged { at } => {
                (t.msg("mail-password-subject"), t.msg("mail-password-body").arg("at", *at))
            }
            Notice::FactorChanged { at } => {
                (t.msg("mail-factor-subject"), t.msg("mail-factor-body").arg("at", *at))
            }
        };
        let account = format!("{}/account", self.public_url);
        let body = body.arg("email", recipient.email.as_str()).arg("account", account);
        NewMail {
            user: Some(recipient.user),
            ..self.mail(
                MailKind::Notice,
                recipient.email,
                subject,
                body,
                now.plus_millis(NOTICE_MILLIS),
            )
        }
    }

    pub(crate) fn invitation(self, invitation: InvitationMail<'_>) -> NewMail {
        let InvitationMail { recipient, workspace, workspace_name, inviter, role, .. } = invitation;
        let subject = self.t.msg("mail-invitation-subject").arg("workspace", workspace_name);
        let body = self.t.msg("mail-invitation-body").arg("workspace", workspace_name);
        let body = body.arg("inviter", inviter).arg("role", self.t.role(role));
        let body = body.arg("expires", self.t.full_day(invitation.expires_at.date()));
        let body = body.arg("link", invitation.link);
        let mail = self.mail(MailKind::Invitation, recipient, subject, body, invitation.expires_at);
        NewMail { workspace: Some(workspace), ..mail }
    }

    pub(crate) fn password_reset(
        self,
        user: UserId,
        email: Email,
        link: &str,
        expires_at: Timestamp,
    ) -> NewMail {
        let subject = self.t.msg("mail-reset-subject");
        let body = self.t.msg("mail-reset-body").arg("email", email.as_str()).arg("link", link);
        let mail = self.mail(MailKind::PasswordReset, email, subject, body, expires_at);
        NewMail { user: Some(user), ..mail }
    }

    pub(crate) fn verification(
        self,
        user: UserId,
        email: Email,
        link: &str,
        expires_at: Timestamp,
    ) -> NewMail {
        let subject = self.t.msg("mail-verification-subject");
        let body = self.t.msg("mail-verification-body");
        let body = body.arg("email", email.as_str()).arg("link", link);
        let mail = self.mail(MailKind::Verification, email, subject, body, expires_at);
        NewMail { user: Some(user), ..mail }
    }

    /// The subject and text of a mail that tests the settings.
    pub(crate) fn test(self) -> (String, String) {
        let subject = self.t.msg("mail-test-subject").arg("service", self.service);
        (subject.into(), self.with_footer(self.t.msg("mail-test-body")))
    }

    fn mail(
        self,
        kind: MailKind,
        recipient: Email,
        subject: Message,
        body: Message,
        expires_at: Timestamp,
    ) -> NewMail {
        NewMail {
            kind,
            recipient,
            user: None,
            workspace: None,
            subject: subject.arg("service", self.service).into(),
            body: self.with_footer(body),
            expires_at,
        }
    }

    fn with_footer(self, body: Message) -> String {
        let body = body.arg("service", self.service);
        let footer = self.t.msg("mail-footer").arg("service", self.service);
        format!("{body}\n\n-- \n{}\n", footer.arg("url", self.public_url))
    }
}
