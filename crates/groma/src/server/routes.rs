//! The routers of the two public listeners.

use crate::{
    api::{self, ApiState},
    http::HttpError,
    ogc::{self, OgcState},
    roles::{Roles, ServerRole},
    settings::{Server, Settings},
    web,
};
use axum::{Router, extract::Request, http::uri::PathAndQuery, response::Redirect};
use serde_json::Value;

/// The router of the main listener: the API with its documentation and the web application, as far as
/// this server has the role.
pub(super) fn main_router(api: &ApiState, web: &web::Shared, roles: &Roles) -> Router {
    let has_application = roles.has(ServerRole::Web);
    let mut router = Router::new();
    if roles.has(ServerRole::Main) {
        let (document, path) = (api.openapi_document(), api::openapi_path());
        let documentation = web::documentation::router(web, document, path, has_application);
        router = api::main_router(api).merge(documentation);
    }
    if !has_application {
        // The documentation needs the style sheet and the fonts.
        let router = router.merge(web::assets::router());
        return router.fallback(async || HttpError::route_not_found());
    }
    let web = web.clone();
    router.merge(web::router(&web)).fallback(move |request| web::no_such_page(web, request))
}

/// The router of the geo listener. The pages of the OGC API need the style sheet and the fonts.
pub(super) fn geo_router(api: &ApiState, ogc: &OgcState, web: &web::Shared) -> Router {
    api::geo_router(api)
        .merge(web::ogc_pages::with_pages(web, ogc::router(ogc)))
        .merge(web::assets::router())
        .fallback(async || HttpError::route_not_found())
}

/// The router that redirects every http request to the public URL of the main listener. The new URL does
/// not come from the request, so that no one can make it lead elsewhere.
pub(super) fn redirect_router(server: &Server) -> Router {
    let url = server.public_url();
    Router::new().fallback(async move |request: Request| {
        let path = request.uri().path_and_query().map(PathAndQuery::as_str);
        // The path of a request can be `*`.
        let path = path.filter(|path| path.starts_with('/')).unwrap_or("/");
        Redirect::permanent(&format!("{url}{path}"))
    })
}

/// The OpenAPI document of an installation with these settings.
pub(crate) fn openapi_document(settings: &Settings) -> Value {
    api::openapi_document(settings)
}
