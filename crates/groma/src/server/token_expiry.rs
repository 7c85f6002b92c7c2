//! The task that tells people by mail that a token expires within a week.

use crate::{
    clock,
    settings::Settings,
    web::{
        i18n::Localizer,
        mail::{MailWriter, Notice, NoticeRecipient},
    },
};
use groma_domain::Timestamp;
use groma_store::{ExpiringToken, NewMail, Store};
use std::{future::Future, pin::pin, time::Duration};

/// How often the task looks for tokens.
const INTERVAL: Duration = Duration::from_secs(60);

/// Queues notices until `stop` completes.
pub(super) async fn run(store: &Store, notices: &ExpiryNotices, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    loop {
        if let Err(error) = notices.queue(store, clock::now()).await {
            tracing::warn!(%error, "failed to queue notices of tokens that expire soon");
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = &mut stop => return,
        }
    }
}

/// Writes the notices.
pub(super) struct ExpiryNotices {
    service: String,
    public_url: String,
}

impl ExpiryNotices {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            service: settings.service.display_name().to_owned(),
            public_url: settings.server.public_url(),
        }
    }

    async fn queue(&self, store: &Store, now: Timestamp) -> groma_store::Result<()> {
        for token in store.expiring_tokens(now).await? {
            let mails = self.mails(&token, now);
            if store.notify_token_expiry(&token, mails, now).await? {
                tracing::info!(token = %token.id, "queued the notice that a token expires soon");
            }
        }
        Ok(())
    }

    fn mails(&self, token: &ExpiringToken, now: Timestamp) -> Vec<NewMail> {
        let mail = |recipient: &groma_store::TokenRecipient| {
            let t = Localizer::for_language(recipient.language.as_deref().unwrap_or_default());
            let writer = MailWriter { t, service: &self.service, public_url: &self.public_url };
            let notice = Notice::TokenExpires {
                name: &token.name,
                workspace: &token.workspace_name,
                at: &token.expires_at.to_string(),
            };
            let to = NoticeRecipient { user: recipient.user, email: recipient.email.clone() };
            let mail = writer.notice(to, &notice, now);
            NewMail { workspace: Some(token.workspace), ..mail }
        };
        token.recipients.iter().map(mail).collect()
    }
}
