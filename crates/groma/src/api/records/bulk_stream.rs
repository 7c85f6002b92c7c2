//! Bulk operations each in a transaction of its own. Their results can be sent as soon as they are known: while the
//! client does not read them, or when it is gone, no further operation begins.

use super::bulk_results::{Entry, NDJSON, invalid_operation, line, operation_error, with_counts};
use crate::{
    api::ApiState,
    clock,
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use groma_store::{BatchOutcome, Operation, OperationBatch, OperationResult};
use std::{io, iter::Enumerate, sync::Arc, vec};

/// Executes operations while the response is sent. `operations` are those of the entries that were readable.
pub(super) async fn respond(
    api: ApiState,
    caller: Caller,
    operations: Vec<Operation>,
    entries: Vec<Entry>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let (operations, entries) = (operations.into_iter(), entries.into_iter().enumerate());
    let mut bulk = BulkStream { api, caller, operations, entries, failed: 0 };
    // Before the response begins, an error still has a status.
    let first = bulk.next().await?;
    let rest = stream::try_unfold(bulk, async |mut bulk| {
        let line = bulk.next().await.map_err(|error| {
            tracing::error!(?error, "the results of bulk operations end early");
            io::Error::other("an operation cannot be executed")
        })?;
        Ok(line.map(|line| (line, bulk)))
    });
    Ok(options.stream(NDJSON, None, stream::iter(first.map(Ok)).chain(rest)))
}

/// Executes operations one after the other, and returns their results as [`render`](super::bulk_results::render)
/// does.
pub(super) async fn execute(
    api: ApiState,
    caller: Caller,
    operations: Vec<Operation>,
    entries: Vec<Entry>,
) -> Result<Vec<u8>, HttpError> {
    let (operations, entries) = (operations.into_iter(), entries.into_iter().enumerate());
    let mut bulk = BulkStream { api, caller, operations, entries, failed: 0 };
    let total = bulk.entries.len();
    let mut lines = Vec::new();
    loop {
        match bulk.next().await {
            Ok(Some(line)) => lines.extend_from_slice(&line),
            Ok(None) => break,
            Err(error) if lines.is_empty() => return Err(error),
            // What was stored before stays, so the client must learn of it: the rest has failed.
            Err(error) => {
                tracing::error!(?error, "bulk operations end early");
                let first = total - bulk.entries.len() - 1;
                bulk.failed += total - first;
                (first..total).for_each(|index| lines.append(&mut line(index, Err(error.clone()))));
                break;
            }
        }
    }
    Ok(with_counts(total - bulk.failed, bulk.failed, &lines))
}

struct BulkStream {
    api: ApiState,
    caller: Caller,
    operations: vec::IntoIter<Operation>,
    entries: Enumerate<vec::IntoIter<Entry>>,
    failed: usize,
}

impl BulkStream {
    /// The result of the next operation; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        let Some((index, entry)) = self.entries.next() else { return Ok(None) };
        let result = match entry {
            Ok(data) => {
                let result = self.execute_next().await?;
                result.map_err(|error| operation_error(index, error, &data))
            }
            Err(problems) => Err(invalid_operation(index, &problems)),
        };
        self.failed += usize::from(result.is_err());
        let line = match result {
            Ok(outcome) => line(index, Ok(&outcome)),
            Err(error) => line(index, Err(error)),
        };
        Ok(Some(line.into()))
    }

    async fn execute_next(&mut self) -> Result<OperationResult, HttpError> {
        let batch = OperationBatch {
            workspace: self.caller.token.workspace,
            actor: self.caller.actor(),
            now: clock::now(),
            operations: self.operations.next().into_iter().collect(),
            is_atomic: false,
            with_documents: false,
            request: None,
            respond: Arc::new(|_| Vec::new()),
        };
        let result = match self.api.store.execute(batch).await? {
            BatchOutcome::Executed { mut results, .. } => results.pop(),
            BatchOutcome::Rejected(_) | BatchOutcome::Replayed(_) => None,
        };
        result.ok_or_else(|| HttpError::internal("an operation has no result"))
    }
}
