//! Pages of a layer's features, in the order of creation, with filters.

use super::{
    LayerFeature, Layers, Link, StoredFeature, StoredLayer, postgres, sqlite,
    tile_index::TierRanges,
};
use crate::{Error, Result, engine::dispatch};
use groma_domain::{Layer, RecordId, Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::{
    Bbox, coverage,
    grid::{self, GridBox},
    wkb,
};

/// The number of features that are read at a time.
pub(super) const CHUNK: u32 = 1_000;

/// A box that covers less than this share of the layer's bounding box is looked up in the tile index. In a
/// larger one, most features match, and a page is soon full.
const MAX_INDEXED_SHARE: f64 = 1.0 / 16.0;

/// Which features of a layer to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureQuery {
    /// Only features after this position.
    pub after: u64,
    /// The most features.
    pub limit: u32,
    /// Only features that meet this box. West is greater than east if it crosses the antimeridian.
    pub bbox: Option<Bbox>,
    /// Only features of this folder.
    pub folder: Option<RecordId>,
    /// Only features of this assignment.
    pub assignment: Option<RecordId>,
    /// Only features that changed at this time or later.
    pub updated_since: Option<Timestamp>,
}

/// A page of features.
#[derive(Clone, Debug)]
pub struct FeaturePage {
    /// The layer.
    pub layer: Layer,
    /// The features.
    pub features: Vec<LayerFeature>,
    /// The position after which the next page begins; `None` if this is the last page.
    pub next: Option<u64>,
}

/// Where the features to be filtered are read from.
pub(super) enum Source {
    /// The whole layer.
    Layer,
    Link(Link),
    /// These positions, in order.
    Positions(Vec<u64>),
}

impl Layers {
    /// A page of the features of a layer; `None` when there is no such layer.
    pub(crate) async fn find_features(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
        query: &FeatureQuery,
    ) -> Result<Option<FeaturePage>> {
        let stored = dispatch!(&self.engine, layer(workspace, key))?;
        let Some(stored) = stored else { return Ok(None) };
        let mut source = self.source(workspace, &stored, query).await?;
        // One more shows whether there is another page.
        let wanted = query.limit as usize + 1;
        let mut features = Vec::new();
        let mut after = query.after;
        while features.len() < wanted {
            let chunk = self.read_chunk(workspace, stored.no, &mut source, after, CHUNK).await?;
            let Some(last) = chunk.last() else { break };
            after = last.position;
            for feature in chunk {
                if query.matches(&feature)? {
                    features.push(LayerFeature::from(feature));
                }
            }
        }
        let has_more = features.len() >= wanted;
        features.truncate(wanted - 1);
        let next = features.last().filter(|_| has_more).map(|feature| feature.position);
        Ok(Some(FeaturePage { layer: stored.layer, features, next }))
    }

    pub(super) async fn source(
        &self,
        workspace: WorkspaceId,
        stored: &StoredLayer,
        query: &FeatureQuery,
    ) -> Result<Source> {
        if let Some(assignment) = query.assignment {
            return Ok(Source::Link(Link::Assignment(assignment)));
        }
        if let Some(folder) = query.folder {
            return Ok(Source::Link(Link::Folder(folder)));
        }
        let Some(bbox) = query.bbox else { return Ok(Source::Layer) };
        let Some(mut positions) = self.positions_in_box(workspace, stored, bbox).await? else {
            return Ok(Source::Layer);
        };
        positions.retain(|position| *position > query.after);
        Ok(Source::Positions(positions))
    }

    /// The positions of features that a box can contain, in order; `None` if the box is large.
    pub(super) async fn positions_in_box(
        &self,
        workspace: WorkspaceId,
        stored: &StoredLayer,
        bbox: Bbox,
    ) -> Result<Option<Vec<u64>>> {
        if !is_small(bbox, stored.layer.bounds) {
            return Ok(None);
        }
        let mut positions = Vec::new();
        for area in grid_boxes(bbox) {
            let (no, ranges) = (stored.no, ranges_in_area(&stored.layer, area));
            if !ranges.is_empty() {
                let found =
                    dispatch!(&self.engine, positions_in_area(workspace, no, ranges, area))?;
                positions.extend(found);
            }
        }
        positions.sort_unstable();
        positions.dedup();
        Ok(Some(positions))
    }

    pub(super) async fn read_chunk(
        &self,
        workspace: WorkspaceId,
        layer: u64,
        source: &mut Source,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredFeature>> {
        match source {
            Source::Layer => dispatch!(&self.engine, features(workspace, layer, after, limit)),
            Source::Link(link) => {
                let link = *link;
                dispatch!(&self.engine, linked_features(workspace, layer, link, after, limit))
            }
            Source::Positions(positions) => loop {
                let count = positions.len().min(limit as usize);
                let next: Vec<u64> = positions.drain(..count).collect();
                let found = dispatch!(&self.engine, features_at(workspace, layer, &next))?;
                // Features may have been deleted since.
                if !found.is_empty() || next.is_empty() {
                    return Ok(found);
                }
            },
        }
    }
}

impl FeatureQuery {
    /// Whether features that do not match may have to be read.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        self.bbox.is_some() || self.updated_since.is_some()
    }

    pub(super) fn matches(&self, feature: &StoredFeature) -> Result<bool> {
        let is_linked = self.folder.is_none_or(|folder| feature.folder == Some(folder))
            && self.assignment.is_none_or(|id| feature.assignment == Some(id));
        let is_recent = self.updated_since.is_none_or(|since| feature.updated_at >= since);
        if !is_linked || !is_recent {
            return Ok(false);
        }
        let Some(bbox) = self.bbox else { return Ok(true) };
        let Some(geometry) = &feature.geometry else { return Ok(false) };
        let geometry =
            wkb::from_wkb(geometry).map_err(|error| Error::Damaged(error.to_string()))?;
        Ok(geometry.intersects_box(bbox))
    }
}

/// Whether a box covers little of a layer.
fn is_small(bbox: Bbox, layer: Option<Bbox>) -> bool {
    let area = |Bbox([west, south, east, north]): Bbox| {
        let width = if west > east { east - west + 360.0 } else { east - west };
        width * (north - south)
    };
    layer.is_some_and(|layer| area(bbox) < area(layer) * MAX_INDEXED_SHARE)
}

/// A box on the grid: two if it crosses the antimeridian.
fn grid_boxes(Bbox([west, south, east, north]): Bbox) -> Vec<GridBox> {
    if west > east {
        let parts = [Bbox([west, south, 180.0, north]), Bbox([-180.0, south, east, north])];
        return parts.into_iter().flat_map(grid_boxes).collect();
    }
    let (min_x, min_y) = grid::project(west, north);
    let (max_x, max_y) = grid::project(east, south);
    let area = GridBox {
        min_x: min_x.into(),
        min_y: min_y.into(),
        max_x: max_x.into(),
        max_y: max_y.into(),
    };
    // Coordinates on the grid are rounded.
    vec![area.expanded(1)]
}

/// The ranges of the tile index in which the features of an area are.
fn ranges_in_area(layer: &Layer, area: GridBox) -> TierRanges {
    let tiers = layer.max_size_class.iter();
    let tiers = tiers.filter(|(tier, _)| coverage::zoom_of_tier(**tier).is_none());
    let ranges = tiers.flat_map(|(tier, size_class)| {
        let ranges = grid::morton_ranges(area.expanded(1 << size_class), 4).into_iter();
        ranges.map(|range| (*tier, range))
    });
    ranges.collect()
}
