//! Finds the features that a filter can match: by the values of declared fields, and by boxes.

use super::{
    Layers, StoredLayer,
    feature_query::Source,
    postgres, sqlite,
    value_index::{self, KeyRange},
};
use crate::{Result, engine::dispatch};
use groma_domain::{
    WorkspaceId,
    cql2::{Candidates, ValueRange},
    layer::LayerKey,
};
use groma_geo::Bbox;

/// From this number of features on, reading the layer in order is as fast.
const MAX_POSITIONS: usize = 100_000;
/// With this many features or less, it is not worth looking for fewer.
const FEW: usize = 500;

impl Layers {
    /// Where to read the candidates after a position from.
    pub(super) async fn candidate_source(
        &self,
        workspace: WorkspaceId,
        stored: &StoredLayer,
        candidates: &Candidates,
        after: u64,
    ) -> Result<Source> {
        let mut positions = match smallest(&candidates.boxes) {
            Some(bbox) => self.positions_in_box(workspace, stored, bbox).await?,
            None => None,
        };
        for ranges in &candidates.ranges {
            if positions.as_ref().is_some_and(|positions| positions.len() <= FEW) {
                break;
            }
            let found = self.positions_of_values(workspace, stored, ranges).await?;
            positions = match (positions, found) {
                (Some(one), Some(two)) => Some(intersection(one, &two)),
                (one, two) => one.or(two),
            };
        }
        let Some(mut positions) = positions else { return Ok(Source::Layer) };
        // The index belongs to the declared fields as they were before it was read.
        let current = dispatch!(&self.engine, layer(workspace, &LayerKey::Id(stored.layer.id)))?;
        let is_current = current
            .is_some_and(|current| current.layer.declared_fields == stored.layer.declared_fields);
        if !is_current && !candidates.ranges.is_empty() {
            return Ok(Source::Layer);
        }
        positions.retain(|position| *position > after);
        Ok(Source::Positions(positions))
    }

    /// The positions of features with a value in one of these ranges, in order; `None` if there are many.
    async fn positions_of_values(
        &self,
        workspace: WorkspaceId,
        stored: &StoredLayer,
        ranges: &[ValueRange],
    ) -> Result<Option<Vec<u64>>> {
        let range = |ValueRange { property, first, last }: &ValueRange| {
            let field = value_index::field_number(&stored.layer, property)?;
            Some(KeyRange { field, first: first.clone(), last: last.clone() })
        };
        // No feature has a field without a number.
        let ranges: Vec<KeyRange> = ranges.iter().filter_map(range).collect();
        let (no, most) = (stored.no, MAX_POSITIONS);
        let found = dispatch!(&self.engine, positions_of_values(workspace, no, ranges, most))?;
        Ok(found.map(|mut positions| {
            positions.sort_unstable();
            positions.dedup();
            positions
        }))
    }
}

fn smallest(boxes: &[Bbox]) -> Option<Bbox> {
    let area = |Bbox([west, south, east, north]): &Bbox| {
        let width = if west > east { east - west + 360.0 } else { east - west };
        width * (north - south)
    };
    boxes.iter().min_by(|one, two| area(one).total_cmp(&area(two))).copied()
}

/// What is in both lists, which are in order.
fn intersection(mut one: Vec<u64>, two: &[u64]) -> Vec<u64> {
    let mut rest = two.iter().copied().peekable();
    one.retain(|position| {
        while rest.next_if(|other| other < position).is_some() {}
        rest.peek() == Some(position)
    });
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersection_has_what_is_in_both_lists() {
        assert_eq!(intersection(vec![1, 3, 5, 7], &[0, 3, 4, 7, 9]), [3, 7]);
        assert_eq!(intersection(vec![1, 2], &[]), Vec::<u64>::new());
        assert_eq!(intersection(Vec::new(), &[1]), Vec::<u64>::new());
    }
}
