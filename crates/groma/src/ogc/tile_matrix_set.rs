//! The tile matrix set WebMercatorQuad (OGC Two Dimensional Tile Matrix Set, 2.0).

use super::{
    OgcState,
    landing::json_response,
    links::{JSON, Link},
    parameters::Parameters,
};
use crate::http::{HttpError, ResponseOptions};
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use groma_geo::{Bbox, grid::TileId};
use serde_json::{Value, json};
use std::f64::consts::PI;

pub(super) const ID: &str = "WebMercatorQuad";
pub(super) const TITLE: &str = "Google Maps Compatible for the World";
pub(super) const URI: &str = "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad";
pub(super) const WEB_MERCATOR: &str = "http://www.opengis.net/def/crs/EPSG/0/3857";

/// Half of the width of the world, in metres.
const HALF_WORLD: f64 = 20_037_508.342_789_244;
const TILE_PIXELS: u32 = 256;
/// The size of a pixel that the standard assumes, in metres.
const PIXEL_METRES: f64 = 0.000_28;
/// The latitude at which the map ends.
const MAX_LATITUDE: f64 = 85.051_128_779_806_59;

/// `/ogc/tileMatrixSets`
pub(super) async fn list_tile_matrix_sets(
    State(ogc): State<OgcState>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query.as_deref(), &["f"])?;
    let url = format!("{}/tileMatrixSets", ogc.url);
    let definition = Link::new("self", JSON, format!("{url}/{ID}"), TITLE);
    let set = json!({ "id": ID, "title": TITLE, "uri": URI, "links": [definition] });
    let links = [Link::new("self", JSON, url, "This list")];
    json_response(&json!({ "links": links, "tileMatrixSets": [set] }), options)
}

/// `/ogc/tileMatrixSets/WebMercatorQuad`
pub(super) async fn get_tile_matrix_set(
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query.as_deref(), &["f"])?;
    let matrices: Vec<Value> = (0..=TileId::MAX_ZOOM).map(matrix).collect();
    let document = json!({
        "id": ID,
        "title": TITLE,
        "uri": URI,
        "crs": WEB_MERCATOR,
        "orderedAxes": ["X", "Y"],
        "wellKnownScaleSet": "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible",
        "tileMatrices": matrices,
    });
    json_response(&document, options)
}

/// The tiles of a zoom.
fn matrix(zoom: u8) -> Value {
    let side = 1_u32 << zoom;
    let cell_size = 2.0 * HALF_WORLD / f64::from(TILE_PIXELS) / f64::from(side);
    json!({
        "id": zoom.to_string(),
        "scaleDenominator": cell_size / PIXEL_METRES,
        "cellSize": cell_size,
        "cornerOfOrigin": "topLeft",
        "pointOfOrigin": [-HALF_WORLD, HALF_WORLD],
        "tileWidth": TILE_PIXELS,
        "tileHeight": TILE_PIXELS,
        "matrixWidth": side,
        "matrixHeight": side,
    })
}

/// The rows and columns of a zoom that have features.
#[derive(Debug, PartialEq)]
pub(super) struct TileLimits {
    zoom: u8,
    rows: [u32; 2],
    columns: [u32; 2],
}

impl TileLimits {
    pub(super) fn document(self) -> Value {
        json!({
            "tileMatrix": self.zoom.to_string(),
            "minTileRow": self.rows[0], "maxTileRow": self.rows[1],
            "minTileCol": self.columns[0], "maxTileCol": self.columns[1],
        })
    }
}

/// The limits of a box in degrees, for every zoom.
pub(super) fn limits(
    Bbox([west, south, east, north]): Bbox,
    min_zoom: u8,
    max_zoom: u8,
) -> impl Iterator<Item = TileLimits> {
    (min_zoom..=max_zoom.min(TileId::MAX_ZOOM)).map(move |zoom| {
        let column = |longitude: f64| tile_number((longitude + 180.0) / 360.0, zoom);
        let row = |latitude: f64| {
            let sine = latitude.clamp(-MAX_LATITUDE, MAX_LATITUDE).to_radians().sin();
            tile_number(0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * PI), zoom)
        };
        // A box across the antimeridian can touch every column.
        let columns = match west <= east {
            true => [column(west), column(east)],
            false => [0, (1 << zoom) - 1],
        };
        TileLimits { zoom, rows: [row(north), row(south)], columns }
    })
}

/// The number of the tile at a part of the width or height of the world.
fn tile_number(part: f64, zoom: u8) -> u32 {
    let side = 1_u32 << zoom;
    // In the range of the type, because it is clamped.
    (part.clamp(0.0, 1.0) * f64::from(side)).min(f64::from(side - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_contain_the_tiles_of_the_box() {
        let limits: Vec<_> = limits(Bbox([2.0, 48.0, 2.5, 49.0]), 0, 8).collect();
        assert_eq!(limits[0], TileLimits { zoom: 0, rows: [0, 0], columns: [0, 0] });
        assert_eq!(limits[8], TileLimits { zoom: 8, rows: [87, 88], columns: [129, 129] });
        let world = super::limits(Bbox([-180.0, -90.0, 180.0, 90.0]), 1, 1).next();
        assert_eq!(world, Some(TileLimits { zoom: 1, rows: [0, 1], columns: [0, 1] }));
    }
}
