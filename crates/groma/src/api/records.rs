//! Folders, assignments, expenses, budgets: list and detail.

use super::{
    Shared,
    admit::Caller,
    answer::Wishes,
    error::ApiError,
    params::{KeyPath, ListQuery},
};
use axum::{Extension, extract::State, response::Response};
use groma_domain::{
    Kind, ListParams,
    record::{Assignment, Budget, Expense, Folder},
};
use groma_store::Page;
use serde::Serialize;
use utoipa::ToSchema;

/// One page of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct Envelope<T: ToSchema> {
    /// Items of the requested page.
    content: Vec<T>,
    /// Total number of items.
    #[schema(minimum = 0)]
    total: u64,
    /// Current page number.
    #[schema(minimum = 1)]
    page: u32,
    /// Page size.
    #[schema(minimum = 1, maximum = 100)]
    size: u32,
    /// Total number of pages.
    #[schema(minimum = 0)]
    pages: u64,
}

/// What an envelope begins with; the store appends the items.
pub(super) fn envelope_start() -> Vec<u8> {
    let mut body = Vec::with_capacity(48 * 1024);
    body.extend_from_slice(b"{\"content\":[");
    body
}

/// The envelope around the items of a page.
pub(super) fn envelope(page: Page, params: &ListParams) -> Vec<u8> {
    let Page { mut body, total, .. } = page;
    let pages = total.div_ceil(u64::from(params.limit));
    let mut number = |name: &str, value: u64| {
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    };
    number("],\"total\":", total);
    number(",\"page\":", u64::from(params.page));
    number(",\"size\":", u64::from(params.limit));
    number(",\"pages\":", pages);
    body.push(b'}');
    body
}

async fn list(
    api: Shared,
    caller: Caller,
    kind: Kind,
    params: ListParams,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    let page = api.store.list(caller.0.workspace, kind, &params, envelope_start()).await?;
    Ok(wishes.json(envelope(page, &params)))
}

async fn detail(
    api: Shared,
    caller: Caller,
    kind: Kind,
    path: KeyPath,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    let not_found = || ApiError::not_found(kind.name(), &path.sent);
    let key = path.key.as_ref().ok_or_else(not_found)?;
    let document = api.store.get(caller.0.workspace, kind, key).await?.ok_or_else(not_found)?;
    Ok(wishes.json(document.text))
}

/// List folders.
#[utoipa::path(get, path = "/api/public/v1/folders", tag = "Folders",
    responses((status = 200, description = "A page of folders, oldest first", body = Envelope<Folder>)))]
pub(super) async fn list_folders(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    list(api, caller, Kind::Folder, params, wishes).await
}

/// Get one folder by id or reference.
#[utoipa::path(get, path = "/api/public/v1/folders/{key}", tag = "Folders",
    responses((status = 200, description = "The folder", body = Folder)))]
pub(super) async fn get_folder(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    detail(api, caller, Kind::Folder, path, wishes).await
}

/// List assignments.
#[utoipa::path(get, path = "/api/public/v1/assignments", tag = "Assignments",
    responses((status = 200, description = "A page of assignments, oldest first", body = Envelope<Assignment>)))]
pub(super) async fn list_assignments(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    list(api, caller, Kind::Assignment, params, wishes).await
}

/// Get one assignment by id or reference.
#[utoipa::path(get, path = "/api/public/v1/assignments/{key}", tag = "Assignments",
    responses((status = 200, description = "The assignment", body = Assignment)))]
pub(super) async fn get_assignment(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    detail(api, caller, Kind::Assignment, path, wishes).await
}

/// List expenses.
#[utoipa::path(get, path = "/api/public/v1/expenses", tag = "Expenses",
    responses((status = 200, description = "A page of expenses, oldest first", body = Envelope<Expense>)))]
pub(super) async fn list_expenses(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    list(api, caller, Kind::Expense, params, wishes).await
}

/// Get one expense by id or reference.
#[utoipa::path(get, path = "/api/public/v1/expenses/{key}", tag = "Expenses",
    responses((status = 200, description = "The expense", body = Expense)))]
pub(super) async fn get_expense(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    detail(api, caller, Kind::Expense, path, wishes).await
}

/// List budgets.
#[utoipa::path(get, path = "/api/public/v1/budgets", tag = "Budgets",
    responses((status = 200, description = "A page of budgets, oldest first", body = Envelope<Budget>)))]
pub(super) async fn list_budgets(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    list(api, caller, Kind::Budget, params, wishes).await
}

/// Get one budget by id or reference.
#[utoipa::path(get, path = "/api/public/v1/budgets/{key}", tag = "Budgets",
    responses((status = 200, description = "The budget", body = Budget)))]
pub(super) async fn get_budget(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    detail(api, caller, Kind::Budget, path, wishes).await
}
