//! The query of a page of items.

use super::{
    bbox::BoxFilter,
    crs::{CollectionCrs, ItemCrs},
    cursor::Cursor,
    fields::Fields,
    filter::ItemFilter,
    parameters::{Parameters, invalid},
    sort::SortOrder,
    time_range::TimeRange,
};
use crate::http::HttpError;
use std::sync::Arc;

/// The default and the largest number of items of a page.
pub(super) const DEFAULT_LIMIT: u32 = 100;
pub(super) const MAX_LIMIT: u32 = 10_000;

const PARAMETERS: [&str; 11] = [
    "f",
    "limit",
    "cursor",
    "bbox",
    "bbox-crs",
    "crs",
    "datetime",
    "filter",
    "filter-lang",
    "filter-crs",
    "sortby",
];

/// Which items of a collection to return, and how.
pub(super) struct ItemQuery {
    pub(super) parameters: Parameters,
    pub(super) limit: u32,
    /// Where the page begins.
    pub(super) cursor: Cursor,
    pub(super) crs: ItemCrs,
    pub(super) bbox: Option<BoxFilter>,
    pub(super) datetime: Option<TimeRange>,
    pub(super) filter: Option<Arc<ItemFilter>>,
    /// The order of creation if there is none.
    pub(super) order: Option<SortOrder>,
}

impl ItemQuery {
    /// Parses the query of a collection with these reference systems and fields.
    pub(super) fn parse(
        query: Option<&str>,
        collection: &CollectionCrs,
        fields: &Fields,
    ) -> Result<Self, HttpError> {
        let mut known = PARAMETERS.to_vec();
        let properties = fields.parameters().map(|property| property.name.as_str());
        known.extend(properties.filter(|name| !PARAMETERS.contains(name)));
        let parameters = Parameters::parse(query, &known)?;
        let cursor = match parameters.get("cursor") {
            None => Cursor::default(),
            Some(text) => Cursor::parse(text)
                .ok_or_else(|| invalid("cursor", "must come from the link to the next page"))?,
        };
        let order = parameters.get("sortby").map(|text| SortOrder::parse(text, fields));
        let order = order.transpose()?;
        if order.is_none() && cursor.key.is_some() {
            return Err(invalid("cursor", "belongs to pages in another order"));
        }
        let filter = ItemFilter::parse(&parameters, &PARAMETERS, fields, collection)?;
        let bbox_crs = ItemCrs::parse("bbox-crs", parameters.get("bbox-crs"), collection)?;
        let bbox =
            parameters.get("bbox").map(|text| BoxFilter::parse(text, bbox_crs)).transpose()?;
        Ok(Self {
            limit: parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), parse_limit)?,
            cursor,
            crs: ItemCrs::parse("crs", parameters.get("crs"), collection)?,
            bbox,
            datetime: parameters.get("datetime").map(TimeRange::parse).transpose()?,
            filter: filter.map(Arc::new),
            order,
            parameters,
        })
    }

    /// Whether some items may be left out.
    pub(super) fn is_filtered(&self) -> bool {
        self.bbox.is_some() || self.datetime.is_some() || self.filter.is_some()
    }
}

/// A larger number than the maximum means the maximum.
fn parse_limit(text: &str) -> Result<u32, HttpError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let limit = text.parse::<u128>().unwrap_or(u128::MAX).min(MAX_LIMIT.into());
    let limit = u32::try_from(limit).ok().filter(|limit| is_number && *limit > 0);
    limit.ok_or_else(|| invalid("limit", "must be a whole number from 1"))
}
