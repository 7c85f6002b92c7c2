//! Conditions of changes, for optimistic locking: `If-Match` and `If-None-Match`.

use super::{
    Ogc,
    crs::{self, CollectionCrs, ItemCrs},
    items::item_document,
    layer_items::feature_document,
};
use crate::http::{HttpError, IfMatch, IfNoneMatch};
use axum::http::HeaderMap;
use groma_domain::Layer;
use groma_store::{FeaturePrecondition, LayerFeature};

/// The condition of a request that changes a feature. Any current `ETag` of the feature is accepted: each
/// reference system and encoding has its own.
pub(super) fn precondition(
    ogc: &Ogc,
    systems: &CollectionCrs,
    headers: &HeaderMap,
) -> Result<Option<FeaturePrecondition>, HttpError> {
    let if_match = IfMatch::parse(headers);
    let if_none_match = IfNoneMatch::parse(headers);
    if if_match.is_none() && ogc.requires_if_match {
        return Err(HttpError::precondition_required());
    }
    if if_match.is_none() && if_none_match.is_none() {
        return Ok(None);
    }
    let (url, systems) = (ogc.url.clone(), systems.clone());
    Ok(Some(FeaturePrecondition::new(move |layer, feature| {
        let current = representations(&url, &systems, layer, feature);
        let matches = |body: &Vec<u8>| if_match.as_ref().is_none_or(|one| one.matches(body));
        let excludes = |body: &Vec<u8>| if_none_match.as_ref().is_some_and(|one| one.matches(body));
        current.iter().any(matches) && !current.iter().any(excludes)
    })))
}

/// The representations of a feature, in every reference system that its layer offers.
fn representations(
    url: &str,
    systems: &CollectionCrs,
    layer: &Layer,
    feature: &LayerFeature,
) -> Vec<Vec<u8>> {
    let document = |crs: ItemCrs| {
        let document = feature_document(feature, layer, &crs).ok()?;
        item_document(url, layer.slug.as_str(), (&feature.id.to_string(), document), &crs).ok()
    };
    crs::all_offered(systems).filter_map(document).collect()
}
