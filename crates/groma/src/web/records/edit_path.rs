//! The fields that lists edit in place, and where their forms are.

use crate::web::{form::encode, record_data::Doc};
use groma_domain::Kind;

/// The address of the form for one value of a record.
pub(super) fn cell_path(kind: Kind, doc: &Doc, field: &str) -> String {
    format!("/lists/{}/{}/{field}", kind.plural(), encode(doc.text("id")))
}

/// The field with the person of a record.
pub(super) fn person_field(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Folder => Some("owner"),
        Kind::Assignment => Some("assignees"),
        Kind::Expense => Some("submittedBy"),
        Kind::Budget => None,
    }
}
