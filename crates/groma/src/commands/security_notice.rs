//! Mails that tell the owner of an account what a command changed.

use crate::{
    settings::Settings,
    web::{
        i18n::Localizer,
        mail::{MailWriter, Notice, NoticeRecipient},
    },
};
use groma_domain::Timestamp;
use groma_store::{Account, NewMail};

/// The mail to the owner of an account, if there is a mail server.
pub(super) fn write(
    settings: &Settings,
    account: Account,
    notice: &Notice<'_>,
    now: Timestamp,
) -> Option<NewMail> {
    settings.smtp.as_ref()?;
    let writer = MailWriter {
        t: Localizer::for_language(account.language.as_deref().unwrap_or_default()),
        service: settings.service.display_name(),
        public_url: &settings.server.public_url(),
    };
    let recipient = NoticeRecipient { user: account.user, email: account.email };
    Some(writer.notice(recipient, notice, now))
}
