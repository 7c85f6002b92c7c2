//! The OGC API at `/ogc` on the Geo API's listener: layers, which clients can edit, and records as
//! collections of features, for GIS clients.
//!
//! Collections of layers count against the rate limit of maps, those of records against that of the API.

mod bbox;
mod collections;
mod conditions;
mod crs;
mod cursor;
mod field_schema;
mod fields;
mod filter;
mod item_query;
mod items;
mod landing;
mod layer_items;
mod links;
mod maplibre_style;
mod methods;
mod openapi;
mod openapi_writes;
mod page;
mod parameters;
mod qgis_style;
mod record_items;
mod schemas;
mod sort;
mod sorted_items;
mod styles;
mod tile_matrix_set;
mod tiles;
mod time_range;
mod write;
mod write_body;

use crate::{
    member_slots::MemberSlots,
    settings::Settings,
    tiles::TileCache,
    token_auth::{Access, Authenticated, Caller, TokenAuth, TokenAuthState},
    uploads::Uploads,
};
use axum::{
    Extension, Router,
    extract::{Path, RawQuery, State},
    routing::{MethodRouter, get},
};
use field_schema::FieldSchema;
use groma_domain::{Kind, Scope};
use groma_store::Store;
use std::sync::Arc;

/// What the handlers share.
pub(crate) struct Ogc {
    store: Store,
    token_auth: Arc<TokenAuth>,
    uploads: Arc<Uploads>,
    tiles: Arc<TileCache>,
    search_slots: MemberSlots,
    max_body_bytes: u64,
    requires_if_match: bool,
    /// The URL of the landing page.
    url: String,
}

pub(crate) type OgcState = Arc<Ogc>;

impl Ogc {
    pub(crate) fn new(
        settings: &Settings,
        store: Store,
        token_auth: Arc<TokenAuth>,
        uploads: Arc<Uploads>,
        tiles: Arc<TileCache>,
        search_slots: MemberSlots,
    ) -> Self {
        Self {
            store,
            token_auth,
            uploads,
            tiles,
            search_slots,
            max_body_bytes: settings.limits.geojson_bytes,
            requires_if_match: settings.ogc.require_if_match,
            url: format!("{}/ogc", settings.server.geo_public_url().trim_end_matches('/')),
        }
    }
}

impl TokenAuthState for OgcState {
    fn token_auth(&self) -> &TokenAuth {
        &self.token_auth
    }
}

/// A handler on a route within the rate limit of maps.
fn map_route<H>(handler: H) -> Authenticated<H> {
    Authenticated { scope: None, access: Access::Map, handler }
}

pub(crate) fn router(ogc: &OgcState) -> Router {
    let mut router = Router::new()
        .route("/ogc", get(map_route(landing::get_landing_page)))
        .route("/ogc/", get(map_route(landing::get_landing_page)))
        .route("/ogc/conformance", get(map_route(landing::get_conformance)))
        .route("/ogc/api", get(openapi::get_document))
        .route("/ogc/collections", get(map_route(collections::list_collections)))
        .route("/ogc/collections/{collection}", get(map_route(collections::get_layer)))
        .merge(tile_routes())
        .route("/ogc/collections/{collection}/styles", get(map_route(styles::list_styles)))
        .route("/ogc/collections/{collection}/styles/default", get(map_route(styles::get_style)))
        .route("/ogc/collections/{collection}/items", items_route())
        .route("/ogc/collections/{collection}/items/{item}", item_route());
    for schema in FieldSchema::ALL {
        let handler = move |ogc, caller, collection, query, options| {
            schemas::get_of_layer(schema, ogc, caller, collection, query, options)
        };
        let path = format!("/ogc/collections/{{collection}}/{}", schema.name());
        router = router.route(&path, get(map_route(handler)));
    }
    for kind in Kind::ALL {
        router = record_routes(router, kind);
    }
    router.with_state(ogc.clone())
}

/// The tiles of layers.
fn tile_routes() -> Router<OgcState> {
    let tileset = "/ogc/collections/{collection}/tiles/WebMercatorQuad";
    Router::new()
        .route("/ogc/tileMatrixSets", get(map_route(tile_matrix_set::list_tile_matrix_sets)))
        .route(
            "/ogc/tileMatrixSets/WebMercatorQuad",
            get(map_route(tile_matrix_set::get_tile_matrix_set)),
        )
        .route("/ogc/collections/{collection}/tiles", get(map_route(tiles::list_tilesets)))
        .route(tileset, get(map_route(tiles::get_tileset)))
        .route(&format!("{tileset}/{{matrix}}/{{row}}/{{column}}"), get(map_route(tiles::get_tile)))
}

/// The items of a layer.
fn items_route() -> MethodRouter<OgcState> {
    get(map_route(layer_items::list_items))
        .post(map_route(write::create_item))
        .options(methods::Options(map_route(methods::layer_items)))
}

/// An item of a layer.
fn item_route() -> MethodRouter<OgcState> {
    get(map_route(layer_items::get_item))
        .put(map_route(write::replace_item))
        .patch(map_route(write::update_item))
        .delete(map_route(write::delete_item))
        .options(methods::Options(map_route(methods::layer_item)))
}

/// The routes of a collection of records. They take precedence over those of layers.
fn record_routes(router: Router<OgcState>, kind: Kind) -> Router<OgcState> {
    let path = format!("/ogc/collections/{}", kind.plural());
    let collection = move |State(ogc): State<OgcState>,
                           Extension(caller): Extension<Caller>,
                           RawQuery(query): RawQuery,
                           options| async move {
        let workspace = caller.token.workspace;
        collections::get_records(&ogc, workspace, kind, query.as_deref(), options).await
    };
    let items =
        move |State(ogc), Extension(caller): Extension<Caller>, RawQuery(query), options| {
            record_items::list_items(ogc, caller, kind, query, options)
        };
    let item =
        move |State(ogc),
              Extension(caller): Extension<Caller>,
              Path(item),
              RawQuery(query),
              options| { record_items::get_item(ogc, caller, kind, item, query, options) };
    let scope = Some(Scope::read(kind));
    let access = Access::MapRecords;
    let options = || methods::Options(Authenticated { scope, access, handler: methods::read_only });
    let mut router = router;
    for schema in FieldSchema::ALL {
        let handler = move |State(ogc): State<OgcState>, RawQuery(query): RawQuery, options| async move {
            schemas::get_of_records(schema, &ogc, kind, query.as_deref(), options)
        };
        let path = format!("{path}/{}", schema.name());
        router = router.route(&path, get(Authenticated { scope, access, handler }));
    }
    router
        .route(&path, get(Authenticated { scope, access, handler: collection }))
        .route(
            &format!("{path}/items"),
            get(Authenticated { scope, access, handler: items }).options(options()),
        )
        .route(
            &format!("{path}/items/{{item}}"),
            get(Authenticated { scope, access, handler: item }).options(options()),
        )
}
