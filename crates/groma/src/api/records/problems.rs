//! How a rejected change becomes a response: each problem with a pointer into the body.

use crate::http::{ErrorDetail, HttpError};
use groma_domain::{DomainError, FieldError, Violation};
use serde_json::{Map, Value};

/// The response to a change that was rejected. `body` has the fields that the client sent.
pub(in crate::api) fn rejection(error: DomainError, body: &Map<String, Value>) -> HttpError {
    match error {
        DomainError::Invalid(problems) => {
            let is_conflict = problems.iter().all(|problem| is_conflict(&problem.violation));
            if let [problem] = &problems[..]
                && problem.field == "replacement"
            {
                // A parameter, not a part of the body.
                return match is_conflict {
                    true => HttpError::conflict(problem.to_string()),
                    false => HttpError::bad_parameter(problem),
                };
            }
            let details = problems.into_iter().map(|problem| detail(problem, body)).collect();
            match is_conflict {
                true => HttpError::conflict_in_body(details),
                false => HttpError::bad_body(details),
            }
        }
        other => groma_store::Error::from(other).into(),
    }
}

/// Whether other data forbids the value, which is valid by itself.
fn is_conflict(violation: &Violation) -> bool {
    matches!(
        violation,
        Violation::Taken { .. }
            | Violation::SeveralMatch { .. }
            | Violation::AssignmentInUse
            | Violation::BudgetInUse
            | Violation::DefaultStatus
            | Violation::StatusInUse
    )
}

/// A problem with a pointer to the field that the client sent: a link can be given under two names.
pub(super) fn detail(problem: FieldError, body: &Map<String, Value>) -> ErrorDetail {
    let FieldError { field, violation } = problem;
    let id_field = format!("{field}Id");
    let is_by_id = !body.contains_key(&field) && body.contains_key(&id_field);
    let field = if is_by_id { id_field } else { field };
    ErrorDetail { pointer: format!("/{field}"), message: violation.to_string() }
}
