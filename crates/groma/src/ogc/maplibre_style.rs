//! The MapLibre style of a layer: the style layers of the map of the web application (`web/src/map/layers.ts`).

use super::tile_matrix_set::ID;
use groma_domain::{
    Layer,
    layer::{ColorBy, ColorClasses, LayerStyle},
};
use serde_json::{Value, json};

/// The opacity of each style layer when that of the layer is 1.
const AREA_OPACITY: f64 = 0.18;
const LINE_OPACITY: f64 = 0.95;
const POINT_OPACITY: f64 = 0.9;
/// As dark as polygons of a few pixels with their outlines.
const AGGREGATE_OPACITY: f64 = 0.4;
/// MapLibre overzooms tiles beyond this zoom.
const MAX_SOURCE_ZOOM: u8 = 22;
const MAX_STYLE_ZOOM: u8 = 24;
const SOURCE: &str = "layer";
const LABEL_TEXT: &str = "#1f2933";
const LABEL_HALO: &str = "#ffffff";

/// The style, whose tiles are those of the OGC API at `url`.
pub(super) fn style(url: &str, layer: &Layer) -> Value {
    let tiles = format!("{url}/collections/{}/tiles/{ID}/{{z}}/{{y}}/{{x}}", layer.slug.as_str());
    let mut source = json!({
        "type": "vector",
        "tiles": [tiles],
        "minzoom": layer.min_zoom,
        "maxzoom": layer.max_zoom.min(MAX_SOURCE_ZOOM),
    });
    if let Some(bounds) = layer.bounds {
        source["bounds"] = json!(bounds);
    }
    if let Some(attribution) = &layer.attribution {
        source["attribution"] = json!(crate::http::escape_html(attribution));
    }
    let mut layers = vec![aggregates(layer), areas(layer), lines(layer), points(layer)];
    layers.extend(labels(layer));
    json!({
        "version": 8,
        "name": layer.name,
        "sources": { SOURCE: source },
        "layers": layers,
    })
}

/// A style layer with what all have in common.
fn style_layer(layer: &Layer, id: &str, kind: &str, filter: &Value) -> Value {
    let LayerStyle { min_zoom, max_zoom, .. } = layer.style;
    json!({
        "id": id,
        "type": kind,
        "source": SOURCE,
        "source-layer": layer.slug.as_str(),
        "minzoom": min_zoom,
        "maxzoom": (max_zoom + 1).min(MAX_STYLE_ZOOM),
        "filter": filter,
    })
}

fn is_feature() -> Value {
    json!(["!", ["has", "groma_count"]])
}

/// A filter for geometries of these types and the matching multi-types.
fn is_one_of(types: &[&str]) -> Value {
    let types: Vec<String> =
        types.iter().flat_map(|kind| [(*kind).to_owned(), format!("Multi{kind}")]).collect();
    json!(["match", ["geometry-type"], types, true, false])
}

fn aggregates(layer: &Layer) -> Value {
    let mut aggregates = style_layer(layer, "aggregates", "fill", &json!(["has", "groma_count"]));
    aggregates["paint"] = json!({
        "fill-color": layer.color,
        // Antialiasing would show lines between adjacent rectangles.
        "fill-antialias": false,
        "fill-opacity": AGGREGATE_OPACITY * layer.style.opacity,
    });
    aggregates
}

fn areas(layer: &Layer) -> Value {
    let filter = json!(["all", is_feature(), is_one_of(&["Polygon"])]);
    let mut areas = style_layer(layer, "areas", "fill", &filter);
    areas["paint"] =
        json!({ "fill-color": color(layer), "fill-opacity": AREA_OPACITY * layer.style.opacity });
    areas
}

fn lines(layer: &Layer) -> Value {
    let filter = json!(["all", is_feature(), is_one_of(&["Polygon", "LineString"])]);
    let width = layer.style.line_width;
    let mut lines = style_layer(layer, "lines", "line", &filter);
    lines["paint"] = json!({
        "line-color": color(layer),
        "line-width":
            ["interpolate", ["linear"], ["zoom"], 8, width * 0.3, 14, width * 0.6, 18, width],
        "line-opacity": LINE_OPACITY * layer.style.opacity,
    });
    lines
}

fn points(layer: &Layer) -> Value {
    let size = layer.style.point_size;
    let mut points = style_layer(layer, "points", "circle", &is_one_of(&["Point"]));
    points["paint"] = json!({
        "circle-color": color(layer),
        "circle-radius":
            ["interpolate", ["linear"], ["zoom"], 6, size / 8.0, 12, size / 4.0, 18, size / 2.0],
        "circle-opacity": POINT_OPACITY * layer.style.opacity,
        "circle-stroke-color": "#ffffff",
        "circle-stroke-width": ["interpolate", ["linear"], ["zoom"], 10, 0, 14, 1],
        "circle-stroke-opacity": layer.style.opacity,
    });
    points
}

/// The labels. There is no font server: MapLibre draws them with fonts of the device.
fn labels(layer: &Layer) -> Vec<Value> {
    let Some(property) = &layer.style.label else { return Vec::new() };
    let places = [("area", "Polygon"), ("line", "LineString"), ("point", "Point")];
    let label = |(place, kind): (&str, &str)| {
        let filter = json!(["all", is_feature(), ["has", property], is_one_of(&[kind])]);
        let mut label = style_layer(layer, &format!("labels-{place}"), "symbol", &filter);
        let min_zoom = layer.style.min_zoom.max(layer.style.label_min_zoom);
        label["minzoom"] = json!(min_zoom.min(MAX_STYLE_ZOOM));
        let is_point = place == "point";
        label["layout"] = json!({
            "symbol-placement": if place == "line" { "line-center" } else { "point" },
            "text-field": ["to-string", ["get", property]],
            "text-font": ["sans-serif"],
            "text-size": 12,
            "text-rotation-alignment": "viewport",
            "text-anchor": if is_point { "top" } else { "center" },
            "text-offset": if is_point { [0.0, 0.5] } else { [0.0, 0.0] },
        });
        label["paint"] = json!({
            "text-color": LABEL_TEXT, "text-halo-color": LABEL_HALO, "text-halo-width": 2,
            "text-opacity": layer.style.opacity,
        });
        label
    };
    places.into_iter().map(label).collect()
}

/// The color of features, by a property or not (`colorExpression` in `web/src/map/layer-style.ts`).
fn color(layer: &Layer) -> Value {
    let Some(ColorBy { property, classes, other }) = &layer.style.color_by else {
        return json!(layer.color);
    };
    let value = json!(["get", property]);
    match classes {
        ColorClasses::Categories(categories) if categories.is_empty() => json!(other),
        ColorClasses::Categories(categories) => {
            // Features have numbers and texts; categories are compared as texts.
            let mut expression = vec![json!("match"), json!(["to-string", value])];
            for category in categories {
                expression.extend([json!(category.value), json!(category.color)]);
            }
            expression.push(json!(other));
            json!(expression)
        }
        ColorClasses::Ranges(ranges) => {
            let Some((lowest, others)) = ranges.split_first() else { return json!(other) };
            let mut steps = vec![json!("step"), value.clone(), json!(lowest.color)];
            for range in others {
                steps.extend([json!(range.from.unwrap_or_default()), json!(range.color)]);
            }
            let steps = if others.is_empty() { json!(lowest.color) } else { json!(steps) };
            json!(["case", ["==", ["typeof", value], "number"], steps, other])
        }
    }
}
