//! The loop that sends queued mails.

use super::{MailError, Mailer, OutgoingMail};
use crate::{
    clock,
    metrics::{self, MailResult},
};
use futures_util::future::join_all;
use groma_store::{Mail, MailOutcome, Store};
use std::{future::Future, pin::pin, time::Duration};

/// How often the loop looks for due mails.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many mails are sent at once.
const BATCH: u32 = 10;
/// The loop cleans up once in so many intervals.
const CLEAN_UP_EVERY: u64 = 60;
/// How long the mails being sent may take after shutdown begins.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The delay after the first failed attempt. It doubles with each attempt, up to the longest.
const FIRST_DELAY_MILLIS: i64 = 5_000;
const LONGEST_DELAY_MILLIS: i64 = 2 * 60 * 60 * 1_000;

/// Sends mails until `stop` completes.
pub(crate) async fn run(store: &Store, mailer: &Mailer, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    for count in 0_u64.. {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = &mut stop => return,
        }
        let mut work = pin!(async {
            if let Err(error) = send_due(store, mailer).await {
                tracing::warn!(%error, "failed to read queued mails");
            }
            if count.is_multiple_of(CLEAN_UP_EVERY) {
                clean_up(store).await;
            }
        });
        tokio::select! {
            () = &mut work => {}
            () = &mut stop => {
                // A mail that is not finished by then is sent again when its lease ends.
                let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, work).await;
                return;
            }
        }
    }
}

async fn send_due(store: &Store, mailer: &Mailer) -> groma_store::Result<()> {
    let mails = store.claim_mails(BATCH, clock::now()).await?;
    join_all(mails.iter().map(|mail| send(store, mailer, mail))).await;
    Ok(())
}

async fn send(store: &Store, mailer: &Mailer, mail: &Mail) {
    let Mail { id, recipient, subject, body, created_at, .. } = mail;
    let outgoing = OutgoingMail { id: *id, recipient, subject, body, at: *created_at };
    let outcome = outcome(mail, mailer.send(&outgoing).await);
    if let Err(error) = store.finish_mail(mail, outcome, clock::now()).await {
        tracing::warn!(%error, mail = %mail.id, "failed to record that a mail was sent");
    }
}

/// Counts and logs the result of an attempt, and decides what follows.
fn outcome(mail: &Mail, result: Result<(), MailError>) -> MailOutcome {
    let Err(error) = result else {
        metrics::mail(MailResult::Sent);
        return MailOutcome::Done;
    };
    let (tries, reason) = (mail.tries, error.without_addresses());
    if error.is_final() {
        metrics::mail(MailResult::Dropped);
        tracing::warn!(mail = %mail.id, tries, reason, "a mail was rejected and is not sent");
        return MailOutcome::Done;
    }
    metrics::mail(MailResult::Failed);
    let after_millis = retry_delay(tries);
    tracing::warn!(mail = %mail.id, tries, reason, "failed to send a mail; it is tried again");
    MailOutcome::Retry { after_millis }
}

fn retry_delay(tries: u32) -> i64 {
    let doubled = 1_i64.checked_shl(tries.saturating_sub(1).min(20)).unwrap_or(i64::MAX);
    FIRST_DELAY_MILLIS.saturating_mul(doubled).min(LONGEST_DELAY_MILLIS)
}

async fn clean_up(store: &Store) {
    match store.clean_up_mails(clock::now()).await {
        Ok(0) => {}
        Ok(count) => {
            (0..count).for_each(|_| metrics::mail(MailResult::Dropped));
            tracing::warn!(count, "mails could not be sent in time and are not sent");
        }
        Err(error) => tracing::warn!(%error, "failed to delete old mails"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_two_hours() {
        let seconds: Vec<_> = (1..=5).map(|tries| retry_delay(tries) / 1_000).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 80]);
        assert_eq!(retry_delay(12), LONGEST_DELAY_MILLIS);
        assert_eq!(retry_delay(u32::MAX), LONGEST_DELAY_MILLIS);
    }
}
