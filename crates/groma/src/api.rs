//! The public API: the list of its routes, from which both the router and the OpenAPI document come.
//!
//! A request passes the [`edge`] (request id, CORS, panics), then its route, then [`admit`] (token,
//! rate, scope), then its handler. An unknown route never meets the token.

mod admit;
mod answer;
mod edge;
mod error;
mod openapi;
mod params;
mod records;
mod statuses;

pub(crate) use openapi::document;

use axum::{Router, middleware, routing::MethodRouter};
use error::ApiError;
use groma_domain::{Scope, token::TokenPrefix};
use groma_store::Store;
use std::sync::Arc;
use tower::Layer;
use utoipa_axum::{router::UtoipaMethodRouter, routes};

/// What the handlers share.
pub(crate) struct Api {
    pub(crate) store: Store,
    pub(crate) token_prefix: TokenPrefix,
    pub(crate) requests_per_minute: u32,
}

type Shared = Arc<Api>;

/// The path that every public route begins with.
const PREFIX: &str = "/api/public/v1";

/// The routes of the main API, each with the scope that it asks for.
fn main_routes() -> Vec<(Option<Scope>, UtoipaMethodRouter<Shared>)> {
    vec![
        (Some(Scope::ReadFolder), routes!(records::list_folders)),
        (Some(Scope::ReadFolder), routes!(records::get_folder)),
        (Some(Scope::ReadAssignment), routes!(records::list_assignments)),
        (Some(Scope::ReadAssignment), routes!(records::get_assignment)),
        (Some(Scope::ReadExpense), routes!(records::list_expenses)),
        (Some(Scope::ReadExpense), routes!(records::get_expense)),
        (Some(Scope::ReadBudget), routes!(records::list_budgets)),
        (Some(Scope::ReadBudget), routes!(records::get_budget)),
        (None, routes!(statuses::list_statuses)),
    ]
}

/// The main listener: API, its document, its documentation page.
pub(crate) fn main_router(api: Api, public_url: &str) -> Router {
    let api = Arc::new(api);
    let mut router = Router::new();
    for (scope, (_, paths, handler)) in main_routes() {
        for path in paths.paths.keys() {
            router = router.route(path, guarded(&api, scope, handler.clone()));
        }
    }
    let document = openapi::route(&document(public_url));
    let router = router
        .route(&format!("{PREFIX}/openapi.json"), document)
        .with_state(api)
        .merge(openapi::documentation_page(&format!("{PREFIX}/openapi.json")));
    edged(router)
}

/// The geo listener. It has no routes yet: every request is a 404 of the API's form.
pub(crate) fn geo_router() -> Router {
    edged(Router::new())
}

/// A route behind its token, rate and scope. The wrong method is an unknown route.
fn guarded(
    api: &Shared,
    scope: Option<Scope>,
    handler: MethodRouter<Shared>,
) -> MethodRouter<Shared> {
    let guard = admit::Guard { api: api.clone(), scope };
    handler.route_layer(middleware::from_fn_with_state(guard, admit::admit))
}

/// Puts the edge around a whole router, so that it sees what the framework itself answers too.
fn edged(router: Router) -> Router {
    let router = router.fallback(|| async { ApiError::no_such_route() });
    Router::new().fallback_service(middleware::from_fn(edge::edge).layer(router))
}
