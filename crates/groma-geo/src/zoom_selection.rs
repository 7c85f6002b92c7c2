//! Chooses the zoom from which each feature of a layer is drawn: its *min zoom*.
//!
//! At each zoom the world is divided into cells, 64 along the side of a tile. Features whose centres
//! lie in the same cell compete, and the one with the highest rank wins. Larger features rank higher;
//! among features of similar size a hash of the feature number decides. Lines compete only if their
//! ends lie in the same cells too, so the winners connect the same cells as all lines. Cells nest, so
//! a feature that wins at a zoom also wins at every higher one: its min zoom is the lowest zoom at
//! which it wins. A feature that is large on the screen is drawn even if it does not win, and at the
//! layer's max zoom all features are drawn.
//!
//! The result depends only on which features exist, not on the order in which they were added.
//! [`insert`] and [`remove`] keep it exact by looking at the neighbours of the changed feature.
//! [`crate::zoom_tier`] says where those neighbours are stored.

use std::cmp::Reverse;

/// A tile has 2⁶ cells along its side.
pub(crate) const CELL_BITS: u32 = 6;
/// A feature is large on the screen if it spans at least 1/2³ of a tile's side.
const LARGE_BITS: u8 = 3;

/// A feature with its rank and its min zoom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedFeature {
    /// Morton code of its centre.
    pub centre: u64,
    /// Morton codes of the ends of a line, the lower one first; of any other feature, its centre.
    pub ends: [u64; 2],
    /// The feature with the higher rank wins. See [`rank`].
    pub rank: u64,
    /// The zoom from which the feature is drawn even if it does not win.
    pub always_from: u8,
    /// The zoom from which the feature is drawn.
    pub min_zoom: u8,
}

impl RankedFeature {
    /// A feature that competes with no other yet. The larger side of its bounds measures at least
    /// 2^`size_class` grid steps and less than twice that. `seq` is its number in the layer. `ends`
    /// are those of a [line](crate::tile_shape::line_ends).
    #[must_use]
    pub fn new(
        centre: u64,
        ends: Option<[u64; 2]>,
        size_class: u8,
        seq: u64,
        max_zoom: u8,
    ) -> Self {
        let always_from = large_from(size_class).min(max_zoom);
        Self {
            centre,
            ends: ends.unwrap_or([centre; 2]),
            rank: rank(size_class, seq),
            always_from,
            min_zoom: always_from,
        }
    }

    /// The first zoom at which this feature does not compete with another.
    fn separates_at(&self, other: &Self) -> u8 {
        let [low, high] = self.ends;
        let [other_low, other_high] = other.ends;
        let differences = (self.centre ^ other.centre) | (low ^ other_low) | (high ^ other_high);
        let shared_bits = differences.leading_zeros();
        // The first 2 (z + 6) bits of a code identify its cell at zoom z.
        u8::try_from((shared_bits / 2 + 1).saturating_sub(CELL_BITS)).unwrap_or(u8::MAX)
    }
}

/// Ranks by size class first, then by a hash of the feature number. The hash spreads the features
/// that are left out evenly over the map.
#[must_use]
pub fn rank(size_class: u8, seq: u64) -> u64 {
    let mut hash = seq.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^= hash >> 32;
    u64::from(size_class) << 56 | hash >> 8
}

/// The size class in a [`rank`].
pub(crate) fn size_class(rank: u64) -> u8 {
    (rank >> 56) as u8
}

/// The zoom from which a feature of this size is large on the screen.
pub(crate) fn large_from(size_class: u8) -> u8 {
    // At zoom z a tile is 2^(32 - z) grid steps wide.
    (32 - LARGE_BITS).saturating_sub(size_class)
}

/// The first and last Morton code of the cell around `centre` at `zoom`.
pub(crate) fn cell(centre: u64, zoom: u8) -> (u64, u64) {
    let rest = 64 - 2 * (u32::from(zoom) + CELL_BITS);
    let mask = (1_u64 << rest) - 1;
    (centre & !mask, centre | mask)
}

/// Sets the min zoom of a new feature. `neighbours` must hold every feature in its
/// [affected ranges](crate::zoom_tier::affected_ranges). Calls `on_move` with the index and the new
/// min zoom of each neighbour that loses to it.
pub fn insert(
    new: &mut RankedFeature,
    neighbours: &[RankedFeature],
    max_zoom: u8,
    mut on_move: impl FnMut(usize, u8),
) {
    let wins_from = wins_from(new, neighbours, max_zoom);
    new.min_zoom = wins_from.min(new.always_from);
    for (index, other) in neighbours.iter().enumerate() {
        let separate = other.separates_at(new);
        let loses = other.min_zoom < other.always_from
            && other.min_zoom >= wins_from
            && other.min_zoom < separate;
        if loses {
            on_move(index, separate.min(other.always_from));
        }
    }
}

/// Lets other features win where a removed feature did. `neighbours` must hold every other feature in its
/// [affected ranges](crate::zoom_tier::affected_ranges). Calls `on_move` with the index and the new
/// min zoom of each neighbour that wins.
pub fn remove(
    removed: &RankedFeature,
    neighbours: &[RankedFeature],
    max_zoom: u8,
    mut on_move: impl FnMut(usize, u8),
) {
    let wins_from = wins_from(removed, neighbours, max_zoom);
    let separate: Vec<u8> = neighbours.iter().map(|other| other.separates_at(removed)).collect();
    // From the smallest cells outwards, the highest rank wins.
    let mut nearest_first: Vec<usize> = (0..neighbours.len()).collect();
    nearest_first.sort_unstable_by_key(|index| Reverse(separate[*index]));
    let mut remaining = nearest_first.into_iter().peekable();
    let mut best: Option<usize> = None;
    let mut winners: Vec<(usize, u8)> = Vec::new();
    for zoom in (wins_from..max_zoom).rev() {
        while let Some(index) = remaining.next_if(|index| separate[*index] > zoom) {
            if best.is_none_or(|best| neighbours[index].rank > neighbours[best].rank) {
                best = Some(index);
            }
        }
        let Some(best) = best else { continue };
        match winners.last_mut() {
            Some((last, min_zoom)) if *last == best => *min_zoom = zoom,
            _ => winners.push((best, zoom)),
        }
    }
    for (index, min_zoom) in winners {
        if min_zoom < neighbours[index].min_zoom {
            on_move(index, min_zoom);
        }
    }
}

/// The lowest zoom at which no competitor of `feature` ranks higher, or `max_zoom` if there is none.
fn wins_from(feature: &RankedFeature, others: &[RankedFeature], max_zoom: u8) -> u8 {
    let higher_ranked = others.iter().filter(|other| other.rank > feature.rank);
    let separate = higher_ranked.map(|other| other.separates_at(feature));
    separate.max().unwrap_or(0).min(max_zoom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_is_large_from_an_eighth_of_a_tile() {
        assert_eq!(large_from(0), 29);
        assert_eq!(large_from(31), 0);
        // A tile at zoom 14 is 2^18 grid steps wide; an eighth of it is 2^15.
        assert_eq!(large_from(14), 15);
        assert_eq!(large_from(15), 14);
    }
}
