//! Zoom tiers: features are stored by the zoom from which they are drawn, so that a tile reads only
//! the tiers it can show.
//!
//! Features of two consecutive min zooms share a tier. Features drawn only at the layer's max zoom
//! have [`LAST_TIER`] to themselves. Within a tier, features are sorted by the Morton code of their
//! centre. [`crate::zoom_selection`] limits how many features of a tier can lie in an area.
//!
//! Tiles at high zooms would have to read a few features from each of many tiers. To avoid that,
//! small features are stored a second time in the [`SmallFeatureTier`].

use crate::zoom_selection::{CELL_BITS, cell, large_from};
use std::iter;

/// The tier of the features that are drawn only at the layer's max zoom.
pub const LAST_TIER: u8 = 31;
/// A tile shows points and lines of this many zooms beyond its own if there is room: the winners of
/// cells of 1/256 of its side.
pub const ZOOMS_AHEAD: u8 = 2;
/// The lowest zoom whose tiles read the copies of small features.
const SMALL_FEATURES_FROM: u8 = 14;
/// Stored as the min zoom of a copy in the [`SmallFeatureTier`]. The actual value is not stored
/// there: it can change because of features far away, and then the copy would have to be rewritten.
pub const COPY_MIN_ZOOM: u8 = u8::MAX;

/// The tier of features with this min zoom.
#[must_use]
pub fn tier_of(min_zoom: u8, max_zoom: u8) -> u8 {
    if min_zoom >= max_zoom { LAST_TIER } else { min_zoom / 2 }
}

/// The tiers that a tile at `zoom` reads, and the highest min zoom that it draws.
#[must_use]
pub fn tiers_for_tile(zoom: u8, max_zoom: u8, zooms_ahead: u8) -> (Vec<u8>, u8) {
    let highest = zoom.saturating_add(zooms_ahead).min(max_zoom);
    let mut tiers: Vec<u8> = (0..=highest).map(|min_zoom| tier_of(min_zoom, max_zoom)).collect();
    tiers.dedup();
    (tiers, highest)
}

/// A number of consecutive Morton codes that holds about `features` features of a tier at most,
/// however many the layer has; 0 for the last tier, whose density is not limited.
#[must_use]
pub fn code_span(tier: u8, features: u64) -> u64 {
    // Each cell of the tier's higher min zoom has one winner, or a few if there are lines. The
    // features that are drawn only because they are large are fewer.
    let cell_bits = 2 * (u32::from(tier) * 2 + 1 + CELL_BITS);
    if tier == LAST_TIER {
        0
    } else {
        features.saturating_mul(1 << (64_u32.saturating_sub(cell_bits).min(63)))
    }
}

/// For each tier, the first and last Morton code of the features whose min zoom a change at `centre`
/// can affect. Features of the last tier never win, so only a removal can affect them.
pub fn affected_ranges(centre: u64, max_zoom: u8) -> impl Iterator<Item = (u8, (u64, u64))> {
    let tiers =
        (0..max_zoom).step_by(2).map(move |min_zoom| (tier_of(min_zoom, max_zoom), min_zoom));
    let last = iter::once((LAST_TIER, max_zoom));
    // A feature competes with `centre` if both lie in the same cell one zoom before its min zoom.
    tiers.chain(last).map(move |(tier, min_zoom)| (tier, cell(centre, min_zoom.saturating_sub(1))))
}

/// The tier that also holds a copy of each small feature of the tiers below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFeatureTier {
    /// The lowest zoom whose tiles read the copies.
    from_zoom: u8,
    /// Its number.
    pub tier: u8,
}

impl SmallFeatureTier {
    /// The small-feature tier of a layer with this max zoom.
    #[must_use]
    pub fn new(max_zoom: u8) -> Self {
        let from_zoom = SMALL_FEATURES_FROM.min(max_zoom);
        Self { from_zoom, tier: tier_of(from_zoom, max_zoom) }
    }

    /// Whether tiles at this zoom read the copies instead of the small features of lower tiers.
    #[must_use]
    pub fn serves_zoom(self, zoom: u8) -> bool {
        zoom >= self.from_zoom
    }

    /// Whether a feature of this tier and size has a copy here. Larger features have none: to find
    /// them, a tile would have to search far around itself.
    #[must_use]
    pub fn includes(self, tier: u8, size_class: u8) -> bool {
        tier < self.tier && self.is_small(size_class)
    }

    /// The min zoom to draw an entry with in a tile that this tier [serves](Self::serves_zoom).
    /// Copies come before the features that belong to this tier. `None` for an original that has a
    /// copy here, because the tile reads the copy.
    #[must_use]
    pub fn effective_min_zoom(self, min_zoom: u8, size_class: u8) -> Option<u8> {
        match min_zoom {
            COPY_MIN_ZOOM => Some(self.from_zoom.saturating_sub(1)),
            _ if min_zoom < self.from_zoom && self.is_small(size_class) => None,
            _ => Some(min_zoom),
        }
    }

    fn is_small(self, size_class: u8) -> bool {
        large_from(size_class) >= self.from_zoom
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoom_selection::{RankedFeature, insert, remove};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MAX_ZOOM: u8 = 18;

    /// The cells of a feature's centre and ends. Features with the same cells compete.
    fn cells(one: &RankedFeature, zoom: u8) -> [(u64, u64); 3] {
        [one.centre, one.ends[0], one.ends[1]].map(|code| cell(code, zoom))
    }

    /// Every min zoom computed by definition: the lowest zoom at which no competitor ranks higher.
    fn recomputed(all: &[RankedFeature]) -> Vec<u8> {
        let min_zoom = |one: &RankedFeature| {
            let wins = |zoom: &u8| {
                let competes = |other: &&RankedFeature| cells(other, *zoom) == cells(one, *zoom);
                all.iter().filter(competes).all(|other| other.rank <= one.rank)
            };
            (0..MAX_ZOOM).find(wins).unwrap_or(MAX_ZOOM).min(one.always_from)
        };
        all.iter().map(min_zoom).collect()
    }

    /// How far the ends of a line are from its centre, and from each other, at any scale.
    fn line_ends() -> impl Strategy<Value = Option<(u64, u64)>> {
        let offset = || (any::<u64>(), 1_u32..64).prop_map(|(bits, shift)| bits >> shift);
        prop::option::of((offset(), offset()))
    }

    /// The pairs of cells that features connect at a zoom.
    fn connected_cells<'f>(
        features: impl Iterator<Item = &'f RankedFeature>,
        zoom: u8,
    ) -> BTreeSet<[(u64, u64); 2]> {
        features.map(|one| one.ends.map(|code| cell(code, zoom))).collect()
    }

    /// The indexes of the features in the affected ranges.
    fn neighbours(all: &[RankedFeature], centre: u64, with_last_tier: bool) -> Vec<usize> {
        let ranges: Vec<_> = affected_ranges(centre, MAX_ZOOM)
            .filter(|(tier, _)| with_last_tier || *tier != LAST_TIER)
            .collect();
        let is_affected = |one: &RankedFeature| {
            ranges.iter().any(|(tier, (first, last))| {
                tier_of(one.min_zoom, MAX_ZOOM) == *tier && (*first..=*last).contains(&one.centre)
            })
        };
        (0..all.len()).filter(|index| is_affected(&all[*index])).collect()
    }

    fn apply(all: &mut [RankedFeature], chosen: &[usize], moves: &[(usize, u8)]) {
        for (index, min_zoom) in moves {
            all[chosen[*index]].min_zoom = *min_zoom;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn neighbours_in_affected_ranges_suffice_to_keep_min_zooms_exact(
            changes in prop::collection::vec(
                (0_u64..1 << 20, 0_u32..64, 0_u8..30, any::<bool>(), line_ends()), 1..120,
            ),
        ) {
            let mut all: Vec<RankedFeature> = Vec::new();
            for (seq, change) in changes.into_iter().enumerate() {
                let (position, spread, size_class, is_removal, line) = change;
                if is_removal && !all.is_empty() {
                    let removed = all.swap_remove(usize::try_from(position).unwrap() % all.len());
                    let chosen = neighbours(&all, removed.centre, true);
                    let near: Vec<_> = chosen.iter().map(|index| all[*index]).collect();
                    let mut moves = Vec::new();
                    remove(&removed, &near, MAX_ZOOM, |index, min_zoom| moves.push((index, min_zoom)));
                    apply(&mut all, &chosen, &moves);
                } else {
                    // Clustered at every scale.
                    let centre = position << 20 >> (spread % 24) << (spread % 40);
                    let ends = line.map(|(low, bits)| [centre ^ low, (centre ^ low) | bits]);
                    let mut new =
                        RankedFeature::new(centre, ends, size_class, seq as u64, MAX_ZOOM);
                    let chosen = neighbours(&all, centre, false);
                    let near: Vec<_> = chosen.iter().map(|index| all[*index]).collect();
                    let mut moves = Vec::new();
                    insert(&mut new, &near, MAX_ZOOM, |index, min_zoom| moves.push((index, min_zoom)));
                    apply(&mut all, &chosen, &moves);
                    all.push(new);
                }
                let min_zooms: Vec<u8> = all.iter().map(|one| one.min_zoom).collect();
                prop_assert_eq!(min_zooms, recomputed(&all));
                for zoom in 0..MAX_ZOOM {
                    let all_pairs = connected_cells(all.iter(), zoom);
                    let drawn = all.iter().filter(|one| one.min_zoom <= zoom);
                    prop_assert_eq!(connected_cells(drawn, zoom), all_pairs);
                }
            }
        }
    }

    #[test]
    fn density_of_a_tier_is_limited_by_its_cells() {
        // At zoom 9 there are 2^15 cells across the world, so one in 2^34 codes.
        assert_eq!(code_span(4, 1), 1 << 34);
        assert_eq!(code_span(4, 256), 1 << 42);
        assert_eq!(code_span(0, u64::MAX), u64::MAX);
        assert_eq!(code_span(LAST_TIER, 256), 0);
    }

    #[test]
    fn tile_reads_two_zooms_ahead_and_everything_near_the_max_zoom() {
        assert_eq!(tiers_for_tile(0, 18, ZOOMS_AHEAD), (vec![0, 1], 2));
        assert_eq!(tiers_for_tile(5, 18, ZOOMS_AHEAD), (vec![0, 1, 2, 3], 7));
        assert_eq!(tiers_for_tile(16, 18, ZOOMS_AHEAD).0.last(), Some(&LAST_TIER));
        assert_eq!(tiers_for_tile(18, 18, ZOOMS_AHEAD).1, 18);
    }
}
