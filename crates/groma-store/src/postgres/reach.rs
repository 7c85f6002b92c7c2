//! Whether the database answers at all.
//!
//! A connection that was cut says so. One whose other end has fallen silent does not, and who waits for
//! an answer would wait for as long as the network does. No statement can be given a time limit instead:
//! a large post takes long, and so does waiting for one. So one connection of its own is asked again and
//! again for nothing in particular; while that has no answer, nobody waits for any other.

use super::sql;
use crate::{Error, Result};
use std::{future::Future, time::Duration};
use tokio::{sync::watch, task::JoinHandle};
use tokio_postgres::{Client, Config, NoTls};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_millis(3_500);
/// How long after an answer it is asked again. Together they are less than a request may take to fail.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) struct Reach {
    is_lost: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Reach {
    /// Watches the database from now on.
    pub(super) fn watch(config: Config) -> Self {
        let (tell, is_lost) = watch::channel(false);
        Self { is_lost, task: tokio::spawn(ask_again_and_again(config, tell)) }
    }

    /// Does the work, unless the database falls silent.
    pub(super) async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut is_lost = self.is_lost.clone();
        tokio::select! {
            biased;
            outcome = work => outcome,
            Ok(_) = is_lost.wait_for(|is_lost| *is_lost) => {
                Err(Error::Pool("it does not answer".to_owned()))
            }
        }
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn ask_again_and_again(config: Config, tell: watch::Sender<bool>) {
    let mut client = None;
    loop {
        let answered = tokio::time::timeout(PATIENCE, ask(&config, &mut client)).await;
        // One that was cut, or is refused, is told to everyone by their own connections.
        let is_lost = answered.is_err();
        if tell.send_replace(is_lost) != is_lost {
            tracing::warn!(is_lost, "whether the database answers");
        }
        if !matches!(answered, Ok(Ok(()))) {
            client = None;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn ask(config: &Config, kept: &mut Option<Client>) -> Result<(), tokio_postgres::Error> {
    let client = match kept.take() {
        Some(client) => client,
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            client
        }
    };
    client.batch_execute(sql::PING).await?;
    *kept = Some(client);
    Ok(())
}
