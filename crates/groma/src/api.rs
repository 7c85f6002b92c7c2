//! The public API: the list of its routes, from which both the router and the OpenAPI document come.
//!
//! A request passes the [`edge`] (request id, CORS, panics), then its route, then [`admit`] (token,
//! rate, scope), then its handler. An unknown route never meets the token.

mod admit;
mod answer;
mod body;
mod edge;
mod error;
mod geometries;
mod layers;
mod linger;
mod openapi;
mod params;
mod records;
mod replay;
mod statuses;
mod tiles;
mod webhooks;

pub(crate) use answer::{Encoding, packed};
pub(crate) use edge::answer;
pub(crate) use error::Cause;
pub(crate) use openapi::{Facts, document};
pub(crate) use tiles::tile_answer;

use crate::{
    roles::{Role, Roles},
    settings::Settings,
    tally::Tally,
    web,
};
use admit::RateHeaders;
use axum::{
    Router,
    routing::{MethodFilter, MethodRouter, on},
};
use error::ApiError;
use groma_domain::{Scope, token::TokenPrefix};
use groma_store::Store;
use std::sync::Arc;
use tiles::TileCache;
use utoipa::openapi::{PathItem, Paths, RefOr, Schema};
use utoipa_axum::{router::UtoipaMethodRouter, routes};

/// What the handlers share.
pub(crate) struct Api {
    pub(crate) store: Store,
    pub(crate) token_prefix: TokenPrefix,
    pub(crate) requests_per_minute: u32,
    rate_headers: RateHeaders,
    /// The addresses as clients see them.
    pub(crate) public_url: String,
    pub(crate) geo_url: String,
    /// The largest body of GeoJSON.
    pub(crate) geojson_bytes: u64,
    pub(crate) tiles: TileCache,
    /// Whether webhook endpoints may have http addresses.
    pub(crate) allow_http_webhooks: bool,
    /// The service's name, in the headers of deliveries.
    pub(crate) service: String,
    /// What is counted, of pages too.
    pub(crate) tally: Arc<Tally>,
}

impl Api {
    /// As the settings say.
    pub(crate) fn new(settings: &Settings, store: Store) -> Self {
        let limits = &settings.limits;
        Self {
            store,
            token_prefix: settings.service.token_prefix.clone(),
            requests_per_minute: limits.requests_per_minute,
            rate_headers: RateHeaders::new(limits.requests_per_minute),
            public_url: settings.server.public_url(),
            geo_url: settings.server.geo_public_url(),
            geojson_bytes: limits.geojson_bytes,
            tiles: TileCache::new(limits.tile_cache_bytes),
            allow_http_webhooks: settings.webhooks.allow_http,
            service: settings.service.name.clone(),
            tally: Arc::default(),
        }
    }
}

pub(crate) type Shared = Arc<Api>;

/// A route: what the document says of it, and its handler behind token, rate and scope.
struct Route {
    scope: Option<Scope>,
    schemas: Vec<(String, RefOr<Schema>)>,
    paths: Paths,
    handler: MethodRouter<Shared>,
}

/// A route by the scope that it asks for and its handler.
macro_rules! route {
    ($scope:expr, $handler:path) => {{
        let (schemas, paths, _): UtoipaMethodRouter<Shared> = routes!($handler);
        let guarded = admit::Guarded { scope: $scope, handler: $handler };
        Route { scope: $scope, handler: on(method(&paths), guarded), schemas, paths }
    }};
}

/// The path that every public route begins with.
const PREFIX: &str = "/api/public/v1";

/// The routes of the main API.
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

/// The routes of the Geo API.
fn geo_routes() -> Vec<Route> {
    vec![
        route!(None, layers::list_layers),
        route!(None, layers::get_layer),
        route!(None, layers::get_layer_tilejson),
        route!(None, tiles::get_tile),
        route!(None, geometries::post_geojson),
    ]
}

/// The main listener: what the roles say of API and web application.
pub(crate) fn main_router(api: &Shared, web: &web::Shared, roles: &Roles) -> Router {
    let routes = if roles.has(Role::Main) { public_routes(api) } else { Router::new() };
    if !roles.has(Role::Web) {
        return routes.fallback(async || no_such_route());
    }
    routes.merge(web::router(web)).fallback({
        let web = web.clone();
        move |uri, headers| web::no_such_page(web, uri, headers)
    })
}

/// The main API, its document, its documentation page.
fn public_routes(api: &Shared) -> Router {
    let document = openapi::route(&document(&Facts {
        public_url: &api.public_url,
        geo_url: &api.geo_url,
        token_prefix: &api.token_prefix,
        requests_per_minute: api.requests_per_minute,
        service: &api.service,
        allow_http_webhooks: api.allow_http_webhooks,
    }));
    guarded_routes(main_routes())
        .route(&format!("{PREFIX}/openapi.json"), document)
        .with_state(api.clone())
        .merge(openapi::documentation_page(
            &format!("{PREFIX}/openapi.json"),
            &api.public_url,
            &api.geo_url,
        ))
}

/// The geo listener.
pub(crate) fn geo_router(api: &Shared) -> Router {
    let fallback = async || no_such_route();
    guarded_routes(geo_routes()).with_state(api.clone()).fallback(fallback)
}

fn guarded_routes(routes: Vec<Route>) -> Router<Shared> {
    let mut router = Router::new();
    for Route { paths, handler, .. } in routes {
        for path in paths.paths.keys() {
            // The wrong method is an unknown route.
            router = router.route(path, handler.clone());
        }
    }
    router
}

/// The method of a route, one of three.
fn method(paths: &Paths) -> MethodFilter {
    let is = |has: fn(&PathItem) -> bool| paths.paths.values().any(has);
    if is(|path| path.get.is_some()) {
        MethodFilter::GET
    } else if is(|path| path.delete.is_some()) {
        MethodFilter::DELETE
    } else {
        MethodFilter::POST
    }
}

/// The answer to a route that nobody knows.
pub(crate) fn no_such_route() -> ApiError {
    ApiError::no_such_route()
}
