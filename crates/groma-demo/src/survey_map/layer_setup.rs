//! The declared fields and the styles of the demo's layers.

use super::DemoLayer;
use groma_domain::{
    DomainError,
    layer::{LayerSetup, LayerStyle, parse_fields},
};
use serde_json::{Value, json};

impl DemoLayer {
    /// The fields and the style of a layer that the demo creates.
    pub(crate) fn setup(self) -> Result<LayerSetup, DomainError> {
        let (fields, style) = match self {
            Self::Parcels => (parcel_fields(), parcel_style()),
            Self::Utilities => (utility_fields(), utility_style()),
            Self::Points | Self::Submissions => (json!([]), json!({})),
        };
        Ok(LayerSetup {
            declared_fields: Some(parse_fields(&fields)?),
            style: Some(LayerStyle::parse(&style)?),
            ..LayerSetup::default()
        })
    }
}

fn parcel_fields() -> Value {
    json!([
        { "name": "commune", "type": "text", "required": true },
        { "name": "section", "type": "text", "required": true },
        { "name": "number", "type": "integer", "required": true },
        { "name": "area_m2", "type": "number", "unit": "m²" },
        { "name": "land_use", "type": "text", "required": true, "default": "vacant",
            "choices": ["residential", "mixed", "commercial", "public", "garden", "agricultural", "vacant"] },
        { "name": "surveyed_on", "type": "date" },
    ])
}

fn parcel_style() -> Value {
    json!({
        "colorBy": { "property": "land_use", "other": "#8a929e", "categories": [
            { "value": "residential", "color": "#ee6677" },
            { "value": "mixed", "color": "#aa3377" },
            { "value": "commercial", "color": "#4477aa" },
            { "value": "public", "color": "#66ccee" },
            { "value": "garden", "color": "#ccbb44" },
            { "value": "agricultural", "color": "#228833" },
            { "value": "vacant", "color": "#8a929e" },
        ] },
        "lineWidth": 1.5,
        "label": "number",
        "labelMinZoom": 17,
    })
}

fn utility_fields() -> Value {
    json!([
        { "name": "network", "type": "text", "required": true,
            "choices": ["water", "sewer", "gas", "power", "telecom"] },
        { "name": "depth_m", "type": "number", "unit": "m" },
    ])
}

fn utility_style() -> Value {
    json!({
        "colorBy": { "property": "network", "other": "#8a929e", "categories": [
            { "value": "water", "color": "#4477aa" },
            { "value": "sewer", "color": "#999933" },
            { "value": "gas", "color": "#ccbb44" },
            { "value": "power", "color": "#ee6677" },
            { "value": "telecom", "color": "#44aa99" },
        ] },
        "minZoom": 12,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_styles_are_valid() {
        for layer in [DemoLayer::Parcels, DemoLayer::Points, DemoLayer::Utilities] {
            layer.setup().unwrap();
        }
    }
}
