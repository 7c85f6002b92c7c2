//! Folders, assignments, expenses and budgets: the same routes for each kind.

mod archive;
mod bulk;
mod bulk_results;
mod bulk_stream;
mod filters;
mod problems;
mod read;
mod request;
mod write;

pub(super) use archive::*;
pub(super) use bulk::*;
pub(super) use bulk_results::NDJSON;
pub(super) use filters::{filters, sort_columns};
use problems::rejection;
pub(super) use read::*;
pub(super) use request::{JsonRequest, execute, precondition, receive_nothing, require_role};
pub(super) use write::*;
