//! Creating, changing and deleting records.

use super::request::{JsonRequest, execute, precondition, require_role};
use crate::{
    api::{
        ApiState,
        params::{KeyPath, parse_query},
    },
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use groma_domain::{
    FieldError, FieldErrors, Kind, Scope, Violation,
    input::ParsedInput,
    record::{Assignment, Budget, Expense, Folder, RecordInput},
};
use groma_store::{Command, Operation, SaveTarget};
use serde_json::{Map, Value};

/// The field by which an upsert finds the record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Match {
    ExternalId,
    Reference,
}

impl Match {
    pub(in crate::api) const NAMES: [(&'static str, Self); 2] =
        [("externalId", Self::ExternalId), ("reference", Self::Reference)];

    pub(in crate::api) fn parse(text: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(name, _)| *name == text).map(|(_, field)| field)
    }

    pub(in crate::api) fn target(self) -> SaveTarget {
        match self {
            Self::ExternalId => SaveTarget::ByExternalId,
            Self::Reference => SaveTarget::ByReference,
        }
    }

    /// Adds an error if the value to be found is not in the body.
    pub(in crate::api) fn require_value(self, input: &RecordInput, errors: &mut FieldErrors) {
        let (name, is_given) = match self {
            Self::ExternalId => ("externalId", input.external_id().is_some()),
            Self::Reference => ("reference", input.reference().is_some()),
        };
        if !is_given {
            errors.extend_fields([FieldError::new(name, Violation::Required)]);
        }
    }
}

async fn create(
    api: ApiState,
    caller: Caller,
    kind: Kind,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let scope = Scope::write(kind);
    require_role(&caller, scope)?;
    let found_by = parse_match(request.uri().query().unwrap_or_default())?;
    let request = JsonRequest::receive(&api, &caller, request).await?;
    let ParsedInput { input, mut errors } = RecordInput::read_json(kind, &request.fields);
    if let Some(found_by) = found_by {
        found_by.require_value(&input, &mut errors);
    }
    let target = found_by.map_or(SaveTarget::New, Match::target);
    let command = Command::Save { target, draft: Box::new(input) };
    let operation = Operation { command, scope, precondition: None };
    let written = execute(&api, &caller, operation, request, errors).await?;
    Ok(match found_by {
        Some(_) => written.upsert_response(options),
        None => written.response(options),
    })
}

/// The `match` parameter of an upsert.
fn parse_match(query: &str) -> Result<Option<Match>, HttpError> {
    let [found_by] =
        parse_query(query, ["match"]).map_err(|problem| HttpError::bad_parameter(&problem))?;
    let Some(text) = found_by else { return Ok(None) };
    Match::parse(&text).map(Some).ok_or_else(|| {
        let values = Match::NAMES.map(|(name, _)| name).join(", ");
        HttpError::bad_parameter(&FieldError::new("match", Violation::NotOneOf { values }))
    })
}

async fn update(
    api: ApiState,
    caller: Caller,
    kind: Kind,
    path: KeyPath,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let scope = Scope::write(kind);
    require_role(&caller, scope)?;
    let precondition = precondition(request.headers());
    let request = JsonRequest::receive(&api, &caller, request).await?;
    let ParsedInput { input, errors } = RecordInput::read_json(kind, &request.fields);
    let key = path.key.ok_or_else(|| HttpError::not_found(kind.name(), &path.text))?;
    let target = SaveTarget::Existing { key, version: None };
    let command = Command::Save { target, draft: Box::new(input) };
    let operation = Operation { command, scope, precondition };
    Ok(execute(&api, &caller, operation, request, errors).await?.response(options))
}

async fn delete(
    api: ApiState,
    caller: Caller,
    kind: Kind,
    path: KeyPath,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let scope = Scope::write(kind);
    require_role(&caller, scope)?;
    let key = path.key.ok_or_else(|| HttpError::not_found(kind.name(), &path.text))?;
    let command = Command::Delete { kind, key, version: None };
    let operation = Operation { command, scope, precondition: precondition(&headers) };
    let request = JsonRequest { fields: Map::<String, Value>::new(), idempotent: None };
    execute(&api, &caller, operation, request, FieldErrors::default()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Defines the routes that write the records of one kind.
macro_rules! write_routes {
    ($kind:expr, $record:ty, $tag:literal, $list:literal, $detail:literal,
        $create:ident $create_text:literal, $update:ident $update_text:literal,
        $delete:ident $delete_text:literal) => {
        #[doc = $create_text]
        #[utoipa::path(post, path = $list, tag = $tag,
                    request_body(content((serde_json::Value = "application/json"))),
                    responses((status = 200, description = "The record", body = $record)))]
        pub(in crate::api) async fn $create(
            State(api): State<ApiState>,
            Extension(caller): Extension<Caller>,
            options: ResponseOptions,
            request: Request,
        ) -> Result<Response, HttpError> {
            create(api, caller, $kind, options, request).await
        }

        #[doc = $update_text]
        #[utoipa::path(patch, path = $detail, tag = $tag,
                    request_body(content((serde_json::Value = "application/merge-patch+json"),
                        (serde_json::Value = "application/json"))),
                    responses((status = 200, description = "The record", body = $record)))]
        pub(in crate::api) async fn $update(
            State(api): State<ApiState>,
            Extension(caller): Extension<Caller>,
            path: KeyPath,
            options: ResponseOptions,
            request: Request,
        ) -> Result<Response, HttpError> {
            update(api, caller, $kind, path, options, request).await
        }

        #[doc = $delete_text]
        #[utoipa::path(delete, path = $detail, tag = $tag,
                    responses((status = 204, description = "The record is deleted")))]
        pub(in crate::api) async fn $delete(
            State(api): State<ApiState>,
            Extension(caller): Extension<Caller>,
            path: KeyPath,
            headers: HeaderMap,
        ) -> Result<Response, HttpError> {
            delete(api, caller, $kind, path, headers).await
        }
    };
}

write_routes!(
    Kind::Folder, Folder, "Folders", "/api/public/v1/folders", "/api/public/v1/folders/{key}",
    create_folder "Create a folder, or update the one with the same external id or reference.",
    update_folder "Change a folder.",
    delete_folder "Delete a folder with its assignments, expenses and budgets."
);
write_routes!(
    Kind::Assignment, Assignment, "Assignments", "/api/public/v1/assignments",
    "/api/public/v1/assignments/{key}",
    create_assignment "Create an assignment, or update the one with the same external id or reference.",
    update_assignment "Change an assignment.",
    delete_assignment "Delete an assignment. Its expenses stay."
);
write_routes!(
    Kind::Expense, Expense, "Expenses", "/api/public/v1/expenses", "/api/public/v1/expenses/{key}",
    create_expense "Create an expense, or update the one with the same external id or reference.",
    update_expense "Change an expense.",
    delete_expense "Delete an expense."
);
write_routes!(
    Kind::Budget, Budget, "Budgets", "/api/public/v1/budgets", "/api/public/v1/budgets/{key}",
    create_budget "Create a budget, or update the one with the same external id or reference.",
    update_budget "Change a budget.",
    delete_budget "Delete a budget. Its expenses stay."
);
