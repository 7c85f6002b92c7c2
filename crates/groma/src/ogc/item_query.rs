//! The query of a page of items.

use super::{
    bbox::BoxFilter,
    crs::ItemCrs,
    parameters::{Parameters, invalid},
    time_range::TimeRange,
};
use crate::http::HttpError;
use groma_domain::layer::LayerCrs;

/// The default and the largest number of items of a page.
pub(super) const DEFAULT_LIMIT: u32 = 100;
pub(super) const MAX_LIMIT: u32 = 10_000;

const PARAMETERS: [&str; 7] = ["f", "limit", "cursor", "bbox", "bbox-crs", "crs", "datetime"];

/// Which items of a collection to return, and how.
pub(super) struct ItemQuery {
    pub(super) parameters: Parameters,
    pub(super) limit: u32,
    /// Only items after this position.
    pub(super) after: u64,
    pub(super) crs: ItemCrs,
    pub(super) bbox: Option<BoxFilter>,
    pub(super) datetime: Option<TimeRange>,
}

impl ItemQuery {
    /// Parses the query of a collection whose coordinates are kept in `own`.
    pub(super) fn parse(query: Option<&str>, own: LayerCrs) -> Result<Self, HttpError> {
        let parameters = Parameters::parse(query, &PARAMETERS)?;
        let after = match parameters.get("cursor") {
            None => 0,
            Some(text) => text
                .parse()
                .map_err(|_| invalid("cursor", "must come from the link to the next page"))?,
        };
        let bbox_crs = ItemCrs::parse("bbox-crs", parameters.get("bbox-crs"), own)?;
        let bbox =
            parameters.get("bbox").map(|text| BoxFilter::parse(text, bbox_crs)).transpose()?;
        Ok(Self {
            limit: parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), parse_limit)?,
            after,
            crs: ItemCrs::parse("crs", parameters.get("crs"), own)?,
            bbox,
            datetime: parameters.get("datetime").map(TimeRange::parse).transpose()?,
            parameters,
        })
    }

    /// Whether some items may be left out.
    pub(super) fn is_filtered(&self) -> bool {
        self.bbox.is_some() || self.datetime.is_some()
    }
}

/// A larger number than the maximum means the maximum.
fn parse_limit(text: &str) -> Result<u32, HttpError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let limit = text.parse::<u128>().unwrap_or(u128::MAX).min(MAX_LIMIT.into());
    let limit = u32::try_from(limit).ok().filter(|limit| is_number && *limit > 0);
    limit.ok_or_else(|| invalid("limit", "must be a whole number from 1"))
}
