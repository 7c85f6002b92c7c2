//! The filter of an endpoint: of the events that it subscribes to, it receives those of some folders, layers
//! or an area.

use crate::{
    Event, FieldError, FieldErrors, LayerId, RecordId, Violation, event::EventScope, input::Field,
    json::pointer_segment,
};
use groma_geo::Bbox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::str::FromStr;
use utoipa::ToSchema;

/// The maximum number of folders, and of layers, in a filter.
pub const MAX_FILTER_IDS: usize = 100;

/// Which of the subscribed events an endpoint receives: those that meet every condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookFilter)]
pub struct EndpointFilter {
    /// Folders. Only events about them, their records and their features, before or after the change.
    #[schema(min_items = 1, max_items = 100)]
    pub folder_ids: Option<Vec<RecordId>>,
    /// Layers. Only events about their features and themselves; events about records always pass.
    #[schema(min_items = 1, max_items = 100)]
    pub layer_ids: Option<Vec<LayerId>>,
    /// West, south, east and north in degrees. Only features whose bounding box meets this box before or
    /// after the change; events about records always pass.
    pub bbox: Option<Bbox>,
}

impl EndpointFilter {
    /// Whether there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether an event meets every condition.
    #[must_use]
    pub fn matches(&self, event: Event, scope: &EventScope<'_>) -> bool {
        let in_folders = |ids: &Vec<RecordId>| scope.folders.iter().any(|id| ids.contains(id));
        let in_layers = |ids: &Vec<LayerId>| scope.layer.is_some_and(|id| ids.contains(&id));
        // A layer without changed features is nowhere.
        let in_box = |bbox: &Bbox| {
            scope.boxes.is_none_or(|boxes| {
                boxes.into_iter().flatten().any(|changed| changed.intersects(*bbox))
            })
        };
        self.folder_ids.as_ref().is_none_or(in_folders)
            && (event.is_of_record()
                || self.layer_ids.as_ref().is_none_or(in_layers)
                    && self.bbox.as_ref().is_none_or(in_box))
    }
}

/// The requested conditions of a filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointFilterInput {
    /// Folders.
    pub folder_ids: Field<Option<Vec<RecordId>>>,
    /// Layers.
    pub layer_ids: Field<Option<Vec<LayerId>>>,
    /// The area.
    pub bbox: Field<Option<Bbox>>,
}

impl EndpointFilterInput {
    /// Parses the member `filter` of a body. The field of an error is the path of the invalid value.
    pub(super) fn read(values: &Map<String, Value>, errors: &mut FieldErrors) -> Self {
        let known = ["folderIds", "layerIds", "bbox"];
        for name in values.keys().filter(|name| !known.contains(&name.as_str())) {
            errors.add(&format!("filter/{}", pointer_segment(name)), Violation::UnknownField);
        }
        let bbox = match values.get("bbox") {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(None),
            Some(value) => errors
                .check("filter/bbox", parse_bbox(value))
                .map_or(Field::Keep, |bbox| Field::Set(Some(bbox))),
        };
        Self {
            folder_ids: read_ids(values, "folderIds", errors),
            layer_ids: read_ids(values, "layerIds", errors),
            bbox,
        }
    }

    /// The filter after these conditions are set; `None` if there are no conditions.
    #[must_use]
    pub fn apply(self, current: Option<EndpointFilter>) -> Option<EndpointFilter> {
        let current = current.unwrap_or_default();
        let filter = EndpointFilter {
            folder_ids: self.folder_ids.or(current.folder_ids),
            layer_ids: self.layer_ids.or(current.layer_ids),
            bbox: self.bbox.or(current.bbox),
        };
        (!filter.is_empty()).then_some(filter)
    }
}

fn read_ids<T: FromStr>(
    values: &Map<String, Value>,
    name: &str,
    errors: &mut FieldErrors,
) -> Field<Option<Vec<T>>> {
    let path = format!("filter/{name}");
    let items = match values.get(name) {
        None => return Field::Keep,
        Some(Value::Null) => return Field::Set(None),
        Some(Value::Array(items)) if items.is_empty() => Err(Violation::Empty),
        Some(Value::Array(items)) if items.len() > MAX_FILTER_IDS => {
            Err(Violation::TooManyEntries { max: MAX_FILTER_IDS })
        }
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Violation::NotList),
    };
    let Some(items) = errors.check(&path, items) else { return Field::Keep };
    let mut ids = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item.as_str().map(str::parse) {
            Some(Ok(id)) => ids.push(id),
            _ => errors.extend([FieldError::new(format!("{path}/{index}"), Violation::NotId)]),
        }
    }
    if ids.len() == items.len() { Field::Set(Some(ids)) } else { Field::Keep }
}

fn parse_bbox(value: &Value) -> Result<Bbox, Violation> {
    let numbers: Option<Vec<f64>> =
        value.as_array().and_then(|sides| sides.iter().map(Value::as_f64).collect());
    let Some([west, south, east, north]) = numbers.as_deref() else {
        return Err(Violation::NotBox);
    };
    let are_degrees = [west, east].iter().all(|longitude| longitude.abs() <= 180.0)
        && [south, north].iter().all(|latitude| latitude.abs() <= 90.0);
    match are_degrees && south <= north {
        true => Ok(Bbox([*west, *south, *east, *north])),
        false => Err(Violation::NotBox),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Kind,
        event::{EventAction, Topic},
    };
    use serde_json::json;
    use uuid::Uuid;

    fn read(value: &Value) -> Result<Option<EndpointFilter>, Vec<String>> {
        let mut errors = FieldErrors::default();
        let input = EndpointFilterInput::read(value.as_object().unwrap(), &mut errors);
        match errors.is_empty() {
            true => Ok(input.apply(None)),
            false => Err(errors.into_vec().into_iter().map(|error| error.field).collect()),
        }
    }

    #[test]
    fn filter_is_read_and_written_in_the_same_form() {
        let id = "0190b3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
        for value in [
            json!({ "folderIds": [id], "layerIds": null, "bbox": null }),
            json!({ "folderIds": null, "layerIds": [id, id], "bbox": [170.5, -20.0, -170.5, 20.0] }),
        ] {
            let filter = read(&value).unwrap().unwrap();
            assert_eq!(json!(filter), value);
            assert_eq!(serde_json::from_value::<EndpointFilter>(value).unwrap(), filter);
        }
        assert_eq!(read(&json!({})), Ok(None));
        assert_eq!(read(&json!({ "folderIds": null, "bbox": null })), Ok(None));
    }

    #[test]
    fn each_error_has_the_path_of_the_invalid_value() {
        let many = vec!["0190b3c4-5d6e-7f80-9a1b-2c3d4e5f6071"; MAX_FILTER_IDS + 1];
        for (value, paths) in [
            (json!({ "folders": [], "a/b": 1 }), vec!["filter/folders", "filter/a~1b"]),
            (json!({ "folderIds": [] }), vec!["filter/folderIds"]),
            (json!({ "folderIds": "x" }), vec!["filter/folderIds"]),
            (json!({ "folderIds": many }), vec!["filter/folderIds"]),
            (
                json!({ "layerIds": ["x", many[0], 1, null] }),
                vec!["filter/layerIds/0", "filter/layerIds/2", "filter/layerIds/3"],
            ),
            (json!({ "bbox": [1, 2, 3] }), vec!["filter/bbox"]),
            (json!({ "bbox": "1,2,3,4" }), vec!["filter/bbox"]),
            (json!({ "bbox": [1, 2, 3, "4"] }), vec!["filter/bbox"]),
            (json!({ "bbox": [0, 2, 1, 1] }), vec!["filter/bbox"]),
            (json!({ "bbox": [0, 0, 181, 1] }), vec!["filter/bbox"]),
            (json!({ "bbox": [0, -91, 1, 1] }), vec!["filter/bbox"]),
            (
                json!({ "layerIds": {}, "folderIds": 1, "bbox": {} }),
                vec!["filter/bbox", "filter/folderIds", "filter/layerIds"],
            ),
        ] {
            let mut found = read(&value).unwrap_err();
            found.sort();
            let mut paths: Vec<_> = paths.into_iter().map(str::to_owned).collect();
            paths.sort();
            assert_eq!(found, paths, "{value}");
        }
    }

    #[test]
    fn merge_keeps_the_conditions_that_are_not_named() {
        let current = EndpointFilter {
            folder_ids: Some(vec![RecordId(Uuid::from_u128(1))]),
            layer_ids: None,
            bbox: Some(Bbox([0.0, 0.0, 1.0, 1.0])),
        };
        let mut errors = FieldErrors::default();
        let value = json!({ "bbox": null });
        let input = EndpointFilterInput::read(value.as_object().unwrap(), &mut errors);
        let without_box = EndpointFilter { bbox: None, ..current.clone() };
        assert_eq!(input.apply(Some(current)), Some(without_box));
    }

    #[test]
    fn layers_and_areas_apply_to_events_about_features_and_layers_only() {
        let (folder, layer) = (RecordId(Uuid::from_u128(1)), LayerId(Uuid::from_u128(2)));
        let record = Event::of_record(Kind::Folder, EventAction::Updated);
        let geometry = Event { topic: Topic::Geometry, action: EventAction::Updated };
        let of_layer = Event { topic: Topic::Layer, action: EventAction::Updated };
        let here = Some(Bbox([5.0, 5.0, 6.0, 6.0]));
        let folders = [folder];
        let scope = EventScope { folders: &folders, layer: Some(layer), boxes: Some([None, here]) };
        let nowhere = EventScope { boxes: None, ..scope };
        let null = EventScope { boxes: Some([None, None]), ..scope };
        let elsewhere = EventScope { folders: &[], layer: None, ..scope };
        let by_folder = EndpointFilter { folder_ids: Some(vec![folder]), ..Default::default() };
        let by_layer = EndpointFilter { layer_ids: Some(vec![layer]), ..Default::default() };
        let area = |bbox| EndpointFilter { bbox: Some(Bbox(bbox)), ..Default::default() };
        let (near, far) = (area([0.0, 0.0, 5.0, 5.0]), area([7.0, 0.0, 5.5, 4.0]));
        for (filter, event, scope, expected) in [
            (&EndpointFilter::default(), geometry, elsewhere, true),
            (&by_folder, record, scope, true),
            (&by_folder, record, elsewhere, false),
            (&by_folder, geometry, elsewhere, false),
            (&by_layer, record, elsewhere, true),
            (&by_layer, geometry, scope, true),
            (&by_layer, geometry, elsewhere, false),
            (&near, geometry, scope, true),
            (&near, geometry, null, false),
            (&near, of_layer, nowhere, true),
            (&far, geometry, scope, false),
            (&far, record, elsewhere, true),
        ] {
            assert_eq!(filter.matches(event, &scope), expected, "{filter:?} {event} {scope:?}");
        }
    }
}
