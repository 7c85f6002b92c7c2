//! The public API: the list of its routes, which is the source of both the router and the OpenAPI
//! document.
//!
//! A request passes its route, then [`auth`] (token, rate limit, scope), then its handler. An unknown
//! route is rejected before the token is checked.

mod auth;
mod envelope;
mod features;
mod geometries;
mod idempotency;
mod layers;
mod maps;
mod openapi;
mod params;
mod records;
mod statuses;
mod tiles;
mod webhooks;

pub(crate) use openapi::document as openapi_document;

use crate::{
    http::{
        HttpError,
        body::{self, Pace},
    },
    quota::Quota,
    rate_windows::RateWindows,
    search_slots::SearchSlots,
    settings::Settings,
    tiles::TileCache,
};
use auth::{Caller, RateLimitHeaders};
use axum::{
    Router,
    body::Body,
    http::HeaderMap,
    routing::{MethodFilter, MethodRouter, on},
};
use groma_domain::{Scope, TokenId, token::TokenPrefix};
use groma_store::Store;
use groma_webhooks::EndpointPolicy;
use serde_json::Value;
use std::{io::Read, sync::Arc};
use utoipa::openapi::{PathItem, Paths, RefOr, Schema};
use utoipa_axum::{router::UtoipaMethodRouter, routes};

/// What the handlers share.
pub(crate) struct Api {
    store: Store,
    token_prefix: TokenPrefix,
    requests_per_minute: u32,
    rate_limit_headers: RateLimitHeaders,
    map_windows: RateWindows<TokenId>,
    map_rate_limit_headers: RateLimitHeaders,
    geo_url: String,
    max_geojson_bytes: u64,
    upload_pace: Pace,
    /// The bodies on their way.
    uploads: Arc<Quota<TokenId>>,
    tiles: Arc<TileCache>,
    endpoint_policy: EndpointPolicy,
    search_slots: SearchSlots,
    openapi_document: Value,
}

pub(crate) type ApiState = Arc<Api>;

impl Api {
    pub(crate) fn new(
        settings: &Settings,
        store: Store,
        tiles: Arc<TileCache>,
        search_slots: SearchSlots,
    ) -> Self {
        let limits = &settings.limits;
        Self {
            store,
            token_prefix: settings.service.token_prefix.clone(),
            requests_per_minute: limits.requests_per_minute,
            rate_limit_headers: RateLimitHeaders::new(limits.requests_per_minute),
            map_windows: RateWindows::new(limits.map_requests_per_minute),
            map_rate_limit_headers: RateLimitHeaders::new(limits.map_requests_per_minute),
            geo_url: settings.server.geo_public_url(),
            max_geojson_bytes: limits.geojson_bytes,
            upload_pace: Pace::Steady(limits.body_timeout, limits.min_upload_rate),
            uploads: Quota::new(limits.uploads, limits.uploads_per_token),
            tiles,
            endpoint_policy: settings.webhooks.endpoint_policy(),
            search_slots,
            openapi_document: openapi_document(settings),
        }
    }

    /// The OpenAPI document of this installation.
    pub(crate) fn openapi_document(&self) -> &Value {
        &self.openapi_document
    }

    /// Receives the body of a request, if the caller's token does not send too many at the same time.
    async fn read_body<R: Send + 'static>(
        &self,
        headers: &HeaderMap,
        body: Body,
        limit: u64,
        caller: &Caller,
        parse: impl Fn(&mut dyn Read) -> R + Clone + Send + 'static,
    ) -> Result<(R, [u8; 16]), HttpError> {
        let place = || {
            let place = self.uploads.take(Some(caller.token.token), 1);
            place.ok_or_else(HttpError::too_many_uploads)
        };
        body::read(headers, body, (limit, self.upload_pace), place, parse).await
    }
}

/// A route: its part of the OpenAPI document, and its handler behind authentication.
struct Route {
    /// In lower case, as OpenAPI writes it.
    method: &'static str,
    scope: Option<Scope>,
    schemas: Vec<(String, RefOr<Schema>)>,
    paths: Paths,
    handler: MethodRouter<ApiState>,
}

/// A route from the scope that it requires and its handler.
macro_rules! route {
    ($scope:expr, $handler:path) => {{
        let (schemas, paths, _): UtoipaMethodRouter<ApiState> = routes!($handler);
        let handler =
            auth::Authenticated { scope: $scope, access: auth::Access::Api, handler: $handler };
        let (method, filter) = method(&paths);
        Route { method, scope: $scope, handler: on(filter, handler), schemas, paths }
    }};
}

/// The prefix of every public route.
const PREFIX: &str = "/api/public/v1";

fn main_routes() -> Vec<Route> {
    vec![
        route!(Some(Scope::ReadFolder), records::list_folders),
        route!(Some(Scope::ReadFolder), records::get_folder),
        route!(Some(Scope::ReadAssignment), records::list_assignments),
        route!(Some(Scope::ReadAssignment), records::get_assignment),
        route!(Some(Scope::ReadExpense), records::list_expenses),
        route!(Some(Scope::ReadExpense), records::get_expense),
        route!(Some(Scope::ReadBudget), records::list_budgets),
        route!(Some(Scope::ReadBudget), records::get_budget),
        route!(None, statuses::list_statuses),
        route!(Some(Scope::ManageWebhook), webhooks::create_webhook_endpoint),
        route!(Some(Scope::ManageWebhook), webhooks::delete_webhook_endpoint),
    ]
}

fn geo_routes() -> Vec<Route> {
    vec![
        route!(None, layers::list_layers),
        route!(None, layers::get_layer),
        route!(None, layers::get_layer_tilejson),
        route!(None, tiles::get_tile),
        route!(None, features::list_features),
        route!(None, features::get_feature),
        route!(None, geometries::post_geojson),
        route!(None, features::get_geometry),
        route!(None, features::delete_geometry),
    ]
}

/// The path of the OpenAPI document.
pub(crate) fn openapi_path() -> String {
    format!("{PREFIX}/openapi.json")
}

/// The main API with its OpenAPI document.
pub(crate) fn main_router(api: &ApiState) -> Router {
    router(main_routes())
        .route(&openapi_path(), openapi::document_route(&api.openapi_document))
        .with_state(api.clone())
}

/// The Geo API.
pub(crate) fn geo_router(api: &ApiState) -> Router {
    router(geo_routes()).merge(maps::router()).with_state(api.clone())
}

fn router(routes: Vec<Route>) -> Router<ApiState> {
    let mut router = Router::new();
    for Route { paths, handler, .. } in routes {
        for path in paths.paths.keys() {
            router = router.route(path, handler.clone());
        }
    }
    router
}

/// The one method of a route.
fn method(paths: &Paths) -> (&'static str, MethodFilter) {
    let any = |has: fn(&PathItem) -> bool| paths.paths.values().any(has);
    if any(|path| path.get.is_some()) {
        ("get", MethodFilter::GET)
    } else if any(|path| path.delete.is_some()) {
        ("delete", MethodFilter::DELETE)
    } else {
        ("post", MethodFilter::POST)
    }
}
