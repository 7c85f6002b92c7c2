//! The QGIS style (QML) of a layer. Sizes are those at zoom 18, because QGIS does not scale them by zoom.

use crate::http::escape_html;
use groma_domain::{
    Layer,
    layer::{ColorBy, ColorClasses, GeometryCounts, RangeClass, STYLE_ZOOMS},
};
use std::fmt::Write;

/// The denominator of the scale at zoom 0 of MapLibre, on a screen of 96 dots per inch.
const SCALE_AT_ZOOM_0: f64 = 295_829_355.45;
/// The opacity of the parts of a symbol when that of the layer is 1, as on the map of the web application.
const AREA_ALPHA: u8 = 46;
const LINE_ALPHA: u8 = 242;
const POINT_ALPHA: u8 = 230;

/// What the symbols of a layer are for. A layer in QGIS has features of one type.
#[derive(Clone, Copy)]
enum SymbolKind {
    Marker,
    Line,
    Fill,
}

impl SymbolKind {
    /// The kind for most features of the layer.
    fn of(counts: &GeometryCounts) -> Self {
        let GeometryCounts { points, lines, polygons, .. } = *counts;
        if points > lines.max(polygons) {
            Self::Marker
        } else if lines > polygons {
            Self::Line
        } else {
            Self::Fill
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Marker => "marker",
            Self::Line => "line",
            Self::Fill => "fill",
        }
    }
}

/// The style as a QML document.
pub(super) fn qml(layer: &Layer) -> String {
    let style = &layer.style;
    let is_limited = style.min_zoom > *STYLE_ZOOMS.start() || style.max_zoom < *STYLE_ZOOMS.end();
    let mut xml = format!(
        "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n\
         <qgis version=\"3.22.0\" styleCategories=\"Symbology|Labeling|Rendering\" \
         hasScaleBasedVisibilityFlag=\"{}\" minScale=\"{}\" maxScale=\"{}\" labelsEnabled=\"{}\">\n",
        u8::from(is_limited),
        scale(style.min_zoom),
        scale(style.max_zoom + 1),
        u8::from(style.label.is_some()),
    );
    xml += &renderer(layer);
    if let Some(property) = &style.label {
        xml += &labeling(layer, property);
    }
    let _ = writeln!(xml, " <layerOpacity>{}</layerOpacity>\n</qgis>", style.opacity);
    xml
}

/// The denominator of the scale at a zoom.
fn scale(zoom: u8) -> f64 {
    (SCALE_AT_ZOOM_0 / f64::from(zoom).exp2()).round()
}

fn renderer(layer: &Layer) -> String {
    let Some(ColorBy { property, classes, other }) = &layer.style.color_by else {
        let symbols = symbols(layer, [layer.color.as_str()].into_iter());
        return format!(" <renderer-v2 type=\"singleSymbol\">\n{symbols} </renderer-v2>\n");
    };
    match classes {
        ColorClasses::Categories(categories) => {
            let mut list = String::new();
            for (index, category) in categories.iter().enumerate() {
                list += &category_element(index, &category.value, &category.value);
            }
            // An empty value stands for all others.
            list += &category_element(categories.len(), "", "");
            let colors = categories.iter().map(|category| category.color.as_str());
            let symbols = symbols(layer, colors.chain([other.as_str()]));
            let attribute = escape_html(property);
            format!(
                " <renderer-v2 type=\"categorizedSymbol\" attr=\"{attribute}\">\n  <categories>\n{list}  \
                 </categories>\n{symbols} </renderer-v2>\n"
            )
        }
        ColorClasses::Ranges(ranges) => {
            let mut rules = String::new();
            for (index, range) in ranges.iter().enumerate() {
                let end = ranges.get(index + 1).and_then(|next| next.from);
                rules += &rule(index, &range_filter(property, range, end));
            }
            rules += &rule(ranges.len(), "ELSE");
            let colors = ranges.iter().map(|range| range.color.as_str());
            let symbols = symbols(layer, colors.chain([other.as_str()]));
            format!(
                " <renderer-v2 type=\"RuleRenderer\">\n  <rules key=\"{{ranges}}\">\n{rules}  </rules>\n\
                 {symbols} </renderer-v2>\n"
            )
        }
    }
}

fn category_element(index: usize, value: &str, label: &str) -> String {
    let (value, label) = (escape_html(value), escape_html(label));
    format!(
        "   <category symbol=\"{index}\" value=\"{value}\" type=\"string\" label=\"{label}\" \
         render=\"true\"/>\n"
    )
}

fn rule(index: usize, filter: &str) -> String {
    let filter = escape_html(filter);
    let label = if filter == "ELSE" { String::new() } else { filter.clone() };
    format!(
        "   <rule symbol=\"{index}\" key=\"{{range-{index}}}\" filter=\"{filter}\" label=\"{label}\"/>\n"
    )
}

/// The numbers of a range, as a QGIS expression.
fn range_filter(property: &str, range: &RangeClass, end: Option<f64>) -> String {
    let property = format!("\"{}\"", property.replace('"', "\"\""));
    match (range.from, end) {
        (Some(from), Some(end)) => format!("{property} >= {from} AND {property} < {end}"),
        (Some(from), None) => format!("{property} >= {from}"),
        (None, Some(end)) => format!("{property} < {end}"),
        (None, None) => format!("{property} IS NOT NULL"),
    }
}

/// A symbol for each color.
fn symbols<'a>(layer: &Layer, colors: impl Iterator<Item = &'a str>) -> String {
    let kind = SymbolKind::of(&layer.counts);
    let mut xml = "  <symbols>\n".to_owned();
    for (index, color) in colors.enumerate() {
        let (class, options) = symbol(layer, kind, color);
        let _ = writeln!(
            xml,
            "   <symbol type=\"{}\" name=\"{index}\" alpha=\"1\">\n    <layer class=\"{class}\" \
             enabled=\"1\" locked=\"0\" pass=\"0\">\n     <Option type=\"Map\">",
            kind.name()
        );
        for (name, value) in options {
            let _ =
                writeln!(xml, "      <Option type=\"QString\" name=\"{name}\" value=\"{value}\"/>");
        }
        xml += "     </Option>\n    </layer>\n   </symbol>\n";
    }
    xml + "  </symbols>\n"
}

/// The class of a symbol layer, with its options.
fn symbol(
    layer: &Layer,
    kind: SymbolKind,
    color: &str,
) -> (&'static str, Vec<(&'static str, String)>) {
    let pixel = "Pixel".to_owned();
    let width = layer.style.line_width.to_string();
    match kind {
        SymbolKind::Marker => (
            "SimpleMarker",
            vec![
                ("name", "circle".to_owned()),
                ("color", rgba(color, POINT_ALPHA)),
                ("size", layer.style.point_size.to_string()),
                ("size_unit", pixel.clone()),
                ("outline_color", rgba("#ffffff", u8::MAX)),
                ("outline_style", "solid".to_owned()),
                ("outline_width", "1".to_owned()),
                ("outline_width_unit", pixel),
            ],
        ),
        SymbolKind::Line => (
            "SimpleLine",
            vec![
                ("line_color", rgba(color, LINE_ALPHA)),
                ("line_style", "solid".to_owned()),
                ("line_width", width),
                ("line_width_unit", pixel),
            ],
        ),
        SymbolKind::Fill => (
            "SimpleFill",
            vec![
                ("color", rgba(color, AREA_ALPHA)),
                ("style", "solid".to_owned()),
                ("outline_color", rgba(color, LINE_ALPHA)),
                ("outline_style", "solid".to_owned()),
                ("outline_width", width),
                ("outline_width_unit", pixel),
            ],
        ),
    }
}

/// A color such as `#2b6cb0` as QGIS writes it.
fn rgba(color: &str, alpha: u8) -> String {
    let number = u32::from_str_radix(color.trim_start_matches('#'), 16).unwrap_or_default();
    let [_, red, green, blue] = number.to_be_bytes();
    format!("{red},{green},{blue},{alpha}")
}

fn labeling(layer: &Layer, property: &str) -> String {
    // Below points, horizontal along lines, over the middle of areas.
    let (placement, quadrant, offset) = match SymbolKind::of(&layer.counts) {
        SymbolKind::Marker => (1, 7, layer.style.point_size / 2.0 + 2.0),
        SymbolKind::Line => (4, 4, 0.0),
        SymbolKind::Fill => (1, 4, 0.0),
    };
    format!(
        " <labeling type=\"simple\">\n  <settings>\n   <text-style fieldName=\"{}\" isExpression=\"0\" \
         fontFamily=\"Sans Serif\" fontSize=\"12\" fontSizeUnit=\"Pixel\" textColor=\"31,41,51,255\">\n    \
         <text-buffer bufferDraw=\"1\" bufferSize=\"2\" bufferSizeUnits=\"Pixel\" \
         bufferColor=\"255,255,255,255\"/>\n   </text-style>\n   <placement placement=\"{placement}\" \
         quadOffset=\"{quadrant}\" yOffset=\"{offset}\" offsetUnits=\"Pixel\"/>\n   <rendering \
         scaleVisibility=\"1\" scaleMin=\"1\" scaleMax=\"{}\"/>\n  </settings>\n </labeling>\n",
        escape_html(property),
        scale(layer.style.label_min_zoom.max(layer.style.min_zoom)),
    )
}
