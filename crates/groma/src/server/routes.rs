//! The routers of the two public listeners.

use crate::{
    api::{self, ApiState},
    http::HttpError,
    roles::{Roles, ServerRole},
    settings::Settings,
    web,
};
use axum::Router;
use serde_json::Value;

/// The router of the main listener: the API and the web application, as far as this server has the role.
pub(super) fn main_router(api: &ApiState, web: &web::Shared, roles: &Roles) -> Router {
    let router = if roles.has(ServerRole::Main) { api::main_router(api) } else { Router::new() };
    if !roles.has(ServerRole::Web) {
        return router.fallback(async || HttpError::route_not_found());
    }
    let web = web.clone();
    router.merge(web::router(&web)).fallback(move |request| web::no_such_page(web, request))
}

/// The router of the geo listener.
pub(super) fn geo_router(api: &ApiState) -> Router {
    api::geo_router(api).fallback(async || HttpError::route_not_found())
}

/// The OpenAPI document of an installation with these settings.
pub(crate) fn openapi_document(settings: &Settings) -> Value {
    api::openapi_document(settings)
}
