//! OPTIONS on items: the methods that a token may use. GIS programs offer editing only if they are told.

use super::{
    OgcState,
    layer_items::layer_not_found,
    write_body::{ACCEPT_PATCH, ACCEPT_POST, FEATURE_TYPES, PATCH_TYPES},
};
use crate::{
    http::{HttpError, is_preflight, ogc_preflight},
    token_auth::{Authenticated, Caller},
};
use axum::{
    Extension,
    extract::{Path, Request, State},
    handler::Handler,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use groma_domain::{Permission, layer::LayerKey};

const READ: &str = "GET, HEAD, OPTIONS";

/// A handler of OPTIONS. A CORS preflight request, which carries no token, does not reach it.
#[derive(Clone)]
pub(super) struct Options<H>(pub(super) Authenticated<H>);

impl<T, H: Handler<T, OgcState>> Handler<T, OgcState> for Options<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: OgcState) -> Self::Future {
        match is_preflight(&request) {
            true => Box::pin(async { ogc_preflight() }),
            false => self.0.call(request, state),
        }
    }
}

/// OPTIONS of `/ogc/collections/{collection}/items`
pub(super) async fn layer_items(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
) -> Result<Response, HttpError> {
    Ok(match can_write(&ogc, &caller, &collection).await? {
        true => with_headers("GET, HEAD, OPTIONS, POST", Some((ACCEPT_POST, &FEATURE_TYPES))),
        false => with_headers(READ, None),
    })
}

/// OPTIONS of `/ogc/collections/{collection}/items/{item}`. The item need not exist: QGIS asks about one with an
/// invented ID if a layer is empty.
pub(super) async fn layer_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, _)): Path<(String, String)>,
) -> Result<Response, HttpError> {
    let methods = "GET, HEAD, OPTIONS, PUT, PATCH, DELETE";
    Ok(match can_write(&ogc, &caller, &collection).await? {
        true => with_headers(methods, Some((ACCEPT_PATCH, &PATCH_TYPES))),
        false => with_headers(READ, None),
    })
}

/// OPTIONS of items that are only read.
pub(super) async fn read_only() -> Response {
    with_headers(READ, None)
}

/// Whether the caller may change the features of a layer.
async fn can_write(ogc: &OgcState, caller: &Caller, collection: &str) -> Result<bool, HttpError> {
    let token = &caller.token;
    let layer = ogc.store.layer(token.workspace, &LayerKey::parse(collection)).await?;
    let layer = layer.ok_or_else(|| layer_not_found(collection))?;
    Ok(token.role.can(Permission::ChangeRecords) && !token.is_read_only && !layer.is_locked)
}

fn with_headers(methods: &'static str, accepted: Option<(HeaderName, &[&str])>) -> Response {
    let mut response = ().into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(methods));
    if let Some((name, types)) = accepted {
        // Media types are always valid header values.
        let types = HeaderValue::try_from(types.join(", "));
        headers.insert(name, types.unwrap_or(HeaderValue::from_static("")));
    }
    response
}
