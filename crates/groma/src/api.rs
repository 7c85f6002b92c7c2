//! The public API: the list of its routes, which is the source of both the router and the OpenAPI
//! document.
//!
//! A request passes its route, then [`crate::token_auth`] (token, rate limit, scope), then its handler. An unknown
//! route is rejected before the token is checked.

mod changes;
mod envelope;
mod features;
mod geometries;
mod layers;
mod links;
mod lookup;
mod maps;
mod members;
mod openapi;
mod params;
mod records;
mod statuses;
mod tiles;
mod webhooks;

pub(crate) use openapi::document as openapi_document;

use crate::{
    http::HttpError,
    member_slots::MemberSlots,
    quota::Quota,
    settings::Settings,
    tiles::TileCache,
    token_auth::{Access, Authenticated, Caller, TokenAuth, TokenAuthState},
    uploads::Uploads,
};
use axum::{
    Router,
    body::Body,
    http::HeaderMap,
    routing::{MethodFilter, MethodRouter, on},
};
use groma_domain::{Scope, TokenId};
use groma_store::Store;
use groma_webhooks::EndpointPolicy;
use serde_json::Value;
use std::{io::Read, sync::Arc};
use tokio::sync::watch;
use utoipa::openapi::{PathItem, Paths, RefOr, Schema};
use utoipa_axum::{router::UtoipaMethodRouter, routes};

/// What the handlers share.
pub(crate) struct Api {
    store: Store,
    token_auth: Arc<TokenAuth>,
    public_url: String,
    geo_url: String,
    max_geojson_bytes: u64,
    uploads: Arc<Uploads>,
    tiles: Arc<TileCache>,
    endpoint_policy: EndpointPolicy,
    search_slots: MemberSlots,
    /// The open streams of changes.
    change_streams: Arc<Quota<TokenId>>,
    /// How many days back the change feed reads; `None` for all.
    feed_days: Option<u32>,
    /// Whether the server is stopping.
    stopping: watch::Receiver<bool>,
    openapi_document: Value,
}

/// The number of change streams that a token can have open.
const MAX_STREAMS_PER_TOKEN: u64 = 10;

pub(crate) type ApiState = Arc<Api>;

impl Api {
    pub(crate) fn new(
        settings: &Settings,
        store: Store,
        token_auth: Arc<TokenAuth>,
        uploads: Arc<Uploads>,
        tiles: Arc<TileCache>,
        search_slots: MemberSlots,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let limits = &settings.limits;
        Self {
            store,
            token_auth,
            public_url: settings.server.public_url(),
            geo_url: settings.server.geo_public_url(),
            max_geojson_bytes: limits.geojson_bytes,
            uploads,
            tiles,
            endpoint_policy: settings.webhooks.endpoint_policy(),
            search_slots,
            change_streams: Quota::new(u64::MAX, MAX_STREAMS_PER_TOKEN),
            feed_days: settings.changes.feed_days,
            stopping,
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
        self.uploads.read(headers, body, limit, caller.token.token, parse).await
    }
}

impl TokenAuthState for ApiState {
    fn token_auth(&self) -> &TokenAuth {
        &self.token_auth
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
        let handler = Authenticated { scope: $scope, access: Access::Api, handler: $handler };
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
        route!(Some(Scope::WriteFolder), records::create_folder),
        route!(Some(Scope::WriteFolder), records::update_folder),
        route!(Some(Scope::WriteFolder), records::delete_folder),
        route!(Some(Scope::WriteFolder), records::archive_folder),
        route!(Some(Scope::WriteFolder), records::unarchive_folder),
        route!(Some(Scope::WriteAssignment), records::create_assignment),
        route!(Some(Scope::WriteAssignment), records::update_assignment),
        route!(Some(Scope::WriteAssignment), records::delete_assignment),
        route!(Some(Scope::WriteExpense), records::create_expense),
        route!(Some(Scope::WriteExpense), records::update_expense),
        route!(Some(Scope::WriteExpense), records::delete_expense),
        route!(Some(Scope::WriteBudget), records::create_budget),
        route!(Some(Scope::WriteBudget), records::update_budget),
        route!(Some(Scope::WriteBudget), records::delete_budget),
        route!(None, statuses::list_statuses),
        route!(None, statuses::get_status),
        route!(Some(Scope::ManageStatus), statuses::create_status),
        route!(Some(Scope::ManageStatus), statuses::update_status),
        route!(Some(Scope::ManageStatus), statuses::delete_status),
        route!(None, records::execute_bulk),
        route!(None, changes::list_changes),
        route!(None, changes::stream::stream_changes),
        route!(None, members::get_me),
        route!(Some(Scope::ReadMember), members::list_members),
        route!(Some(Scope::ManageWebhook), webhooks::create_webhook_endpoint),
        route!(Some(Scope::ManageWebhook), webhooks::delete_webhook_endpoint),
        route!(Some(Scope::ManageWebhook), webhooks::manage::list_webhook_endpoints),
        route!(Some(Scope::ManageWebhook), webhooks::manage::get_webhook_endpoint),
        route!(Some(Scope::ManageWebhook), webhooks::manage::update_webhook_endpoint),
        route!(Some(Scope::ManageWebhook), webhooks::manage::rotate_webhook_secret),
        route!(Some(Scope::ManageWebhook), webhooks::manage::test_webhook_endpoint),
        route!(Some(Scope::ManageWebhook), webhooks::deliveries::list_webhook_deliveries),
        route!(Some(Scope::ManageWebhook), webhooks::deliveries::get_webhook_delivery),
        route!(Some(Scope::ManageWebhook), webhooks::deliveries::redeliver_webhook_delivery),
        route!(Some(Scope::ManageWebhook), webhooks::deliveries::redeliver_webhook_deliveries),
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
    } else if any(|path| path.patch.is_some()) {
        ("patch", MethodFilter::PATCH)
    } else {
        ("post", MethodFilter::POST)
    }
}
