//! Lists of records and single records.

use super::filters::Filters;
use crate::{
    api::{
        ApiState,
        envelope::Envelope,
        params::{KeyPath, ListQuery},
    },
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{Extension, extract::State, response::Response};
use groma_domain::{
    Kind,
    record::{Assignment, Budget, Expense, Folder},
};

async fn read_list(
    api: ApiState,
    caller: Caller,
    kind: Kind,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let (workspace, person) = (caller.token.workspace, caller.token.person);
    let params = &list.params;
    let filters = Filters::parse(kind, list.query())?;
    let is_plain = filters.is_empty() && params.cursor.is_none();
    let _slot = match is_plain && params.term.is_none() {
        true => None,
        false => {
            let slot = Box::pin(api.search_slots.acquire(workspace, person)).await;
            Some(slot.ok_or_else(HttpError::too_many_searches)?)
        }
    };
    let page = match is_plain {
        true => api.store.list(workspace, kind, params).await?,
        // Boxed, because the future of a query is large, and that of every list would be.
        false => {
            let query = Box::pin(filters.resolve(&api, workspace, params)).await?;
            Box::pin(api.store.find_records(workspace, query, params.cursor.as_deref())).await?
        }
    };
    list.respond(&api.public_url, &page, options)
}

async fn get(
    api: ApiState,
    caller: Caller,
    kind: Kind,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let not_found = || HttpError::not_found(kind.name(), &path.text);
    let key = path.key.as_ref().ok_or_else(not_found)?;
    let document = api.store.get(caller.token.workspace, kind, key).await?.ok_or_else(not_found)?;
    Ok(options.json(document))
}

/// List folders.
#[utoipa::path(get, path = "/api/public/v1/folders", tag = "Folders",
    responses((status = 200, description = "A page of folders, oldest first", body = Envelope<Folder>)))]
pub(in crate::api) async fn list_folders(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    read_list(api, caller, Kind::Folder, list, options).await
}

/// Get one folder by id or reference.
#[utoipa::path(get, path = "/api/public/v1/folders/{key}", tag = "Folders",
    responses((status = 200, description = "The folder", body = Folder)))]
pub(in crate::api) async fn get_folder(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    get(api, caller, Kind::Folder, path, options).await
}

/// List assignments.
#[utoipa::path(get, path = "/api/public/v1/assignments", tag = "Assignments",
    responses((status = 200, description = "A page of assignments, oldest first", body = Envelope<Assignment>)))]
pub(in crate::api) async fn list_assignments(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    read_list(api, caller, Kind::Assignment, list, options).await
}

/// Get one assignment by id or reference.
#[utoipa::path(get, path = "/api/public/v1/assignments/{key}", tag = "Assignments",
    responses((status = 200, description = "The assignment", body = Assignment)))]
pub(in crate::api) async fn get_assignment(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    get(api, caller, Kind::Assignment, path, options).await
}

/// List expenses.
#[utoipa::path(get, path = "/api/public/v1/expenses", tag = "Expenses",
    responses((status = 200, description = "A page of expenses, oldest first", body = Envelope<Expense>)))]
pub(in crate::api) async fn list_expenses(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    read_list(api, caller, Kind::Expense, list, options).await
}

/// Get one expense by id or reference.
#[utoipa::path(get, path = "/api/public/v1/expenses/{key}", tag = "Expenses",
    responses((status = 200, description = "The expense", body = Expense)))]
pub(in crate::api) async fn get_expense(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    get(api, caller, Kind::Expense, path, options).await
}

/// List budgets.
#[utoipa::path(get, path = "/api/public/v1/budgets", tag = "Budgets",
    responses((status = 200, description = "A page of budgets, oldest first", body = Envelope<Budget>)))]
pub(in crate::api) async fn list_budgets(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    read_list(api, caller, Kind::Budget, list, options).await
}

/// Get one budget by id or reference.
#[utoipa::path(get, path = "/api/public/v1/budgets/{key}", tag = "Budgets",
    responses((status = 200, description = "The budget", body = Budget)))]
pub(in crate::api) async fn get_budget(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    get(api, caller, Kind::Budget, path, options).await
}
