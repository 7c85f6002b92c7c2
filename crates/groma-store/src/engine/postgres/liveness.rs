//! Detects a database that no longer responds.
//!
//! A closed connection fails at once. One whose other end has fallen silent does not: a caller would wait
//! as long as the network does. A statement timeout is no remedy, because a large post takes long, and so
//! does waiting for its lock. So one connection of its own pings the database again and again; while a
//! ping has no response, no caller waits for any other connection.

use super::{Server, sql};
use crate::{Error, Result};
use std::{future::Future, time::Duration};
use tokio::{sync::watch, task::JoinHandle};
use tokio_postgres::Client;

/// How long a ping may take.
const PING_TIMEOUT: Duration = Duration::from_millis(3_500);
/// The pause between pings. Together with the timeout it is shorter than a request may take to fail.
const PING_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct Liveness {
    is_silent: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Liveness {
    /// Watches the database from now on.
    pub(super) fn watch(server: Server) -> Self {
        let (sender, is_silent) = watch::channel(false);
        Self { is_silent, task: tokio::spawn(ping_forever(server, sender)) }
    }

    /// Runs `work`, and fails early if the database falls silent.
    pub(super) async fn guard<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut is_silent = self.is_silent.clone();
        tokio::select! {
            biased;
            outcome = work => outcome,
            Ok(_) = is_silent.wait_for(|is_silent| *is_silent) => {
                Err(Error::Pool("it does not respond".to_owned()))
            }
        }
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn ping_forever(server: Server, sender: watch::Sender<bool>) {
    let mut client = None;
    loop {
        let response = tokio::time::timeout(PING_TIMEOUT, ping(&server, &mut client)).await;
        // A connection that is closed or refused fails for every caller by itself.
        let is_silent = response.is_err();
        if sender.send_replace(is_silent) != is_silent {
            match is_silent {
                true => tracing::warn!("the database does not respond"),
                false => tracing::info!("the database responds again"),
            }
        }
        if !matches!(response, Ok(Ok(()))) {
            client = None;
        }
        tokio::time::sleep(PING_INTERVAL).await;
    }
}

async fn ping(server: &Server, idle: &mut Option<Client>) -> Result<(), tokio_postgres::Error> {
    let client = match idle.take() {
        Some(client) => client,
        None => {
            let (client, connection) = server.connect().await?;
            tokio::spawn(connection);
            client
        }
    };
    client.batch_execute(sql::PING).await?;
    *idle = Some(client);
    Ok(())
}
