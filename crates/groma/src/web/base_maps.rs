//! The base maps of a page with a map: their configuration for the script, and the origins that the page's
//! Content-Security-Policy allows.

use super::{WebError, request_context::MemberContext};
use groma_domain::{BaseMap, Permission, base_map::BaseMapKind};
use serde_json::{Value, json};

/// The ID of the style that the operator configured.
const SERVER_STYLE: &str = "server";
/// The page that lists the base maps.
pub(super) const SETTINGS_PATH: &str = "/settings/base-maps";

pub(super) struct PageBaseMaps {
    /// For the script of the map.
    pub(super) config: Value,
    /// The origins that the map may load from.
    pub(super) origins: Vec<String>,
}

pub(super) async fn read(ctx: &MemberContext) -> Result<PageBaseMaps, WebError> {
    let maps = ctx.store().base_maps(ctx.workspace_id()).await?;
    let maps = maps.as_slice();
    let has_default = maps.iter().any(|map| map.is_default);
    let mut list = Vec::new();
    let mut origins = Vec::new();
    if let Some(style) = &ctx.web.map_style {
        list.push(json!({
            "id": SERVER_STYLE,
            "name": ctx.t().msg("base-map-server").to_string(),
            "type": "style",
            "url": style,
            "attribution": "",
            "attributionUrl": null,
            "isDefault": !has_default,
        }));
        origins.extend(ctx.web.map_hosts.iter().cloned());
    }
    for map in maps {
        list.push(map_config(map));
        for origin in map.origins() {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
    }
    let settings = ctx.can(Permission::Administer).then_some(SETTINGS_PATH);
    Ok(PageBaseMaps { config: json!({ "list": list, "settings": settings }), origins })
}

fn map_config(map: &BaseMap) -> Value {
    let urls = map.urls();
    let is_style = map.kind == BaseMapKind::Style;
    let mut config = json!({
        "id": map.id,
        "name": map.name,
        "type": if is_style { "style" } else { "raster" },
        "attribution": map.attribution,
        "attributionUrl": map.attribution_url,
        "isDefault": map.is_default,
    });
    if is_style {
        config["url"] = json!(urls.first());
    } else {
        config["tiles"] = json!(urls);
        config["scheme"] = json!(if map.is_tms() { "tms" } else { "xyz" });
        config["minZoom"] = json!(map.min_zoom);
        config["maxZoom"] = json!(map.max_zoom);
        config["tileSize"] = json!(map.tile_size);
    }
    config
}
