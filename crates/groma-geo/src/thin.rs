//! From which zoom a feature is worth drawing: its band.
//!
//! At each zoom the map is a board of cells, 64 to a tile's side. Of the features whose centres lie
//! in a cell the one with the highest rank wins it: the larger one, then the one that a hash of its
//! number prefers. Cells nest, so who wins a cell wins all the smaller ones around its centre; the
//! band of a feature is the lowest zoom at which it wins. A feature that has become large on the
//! screen is drawn even where it does not win, and from the last zoom of its layer on all are.
//!
//! The bands that exist therefore depend on which features there are and on nothing else: not on the
//! order in which they came.
//!
//! Features of two neighbouring bands share a *shelf*, those of the last band have their own. A tile
//! reads whole shelves along the Morton curve; what it may meet in one is limited by the board.
//!
//! Near the ground a tile shows the features of many bands, a few of each. There what is small is
//! *gathered*: it stands once more on the shelf of zoom 14, beside those whose own shelf that is, so
//! that a tile finds all of it in one place.

/// A tile's side has 2⁶ cells.
const CELL_BITS: u32 = 6;
/// A feature is large on the screen from this part of a tile's side on: 1/2³.
const LARGE_BITS: u8 = 3;
/// The shelf of what is drawn only at the last zoom.
pub const LAST_SHELF: u8 = 31;

/// The zoom from which tiles read what is gathered: the first of its shelf.
const GATHERED_FROM: u8 = 14;
/// The band that a gathered feature is written with. Its own may change because of others who stand
/// far away; there it does not matter which it is.
pub const GATHERED: u8 = u8::MAX;

/// Where what is small stands once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    from: u8,
    /// On which shelf.
    pub shelf: u8,
}

impl Gathering {
    /// Of layers with this last zoom.
    #[must_use]
    pub fn of(max_zoom: u8) -> Self {
        let from = GATHERED_FROM.min(max_zoom);
        Self { from, shelf: shelf(from, max_zoom) }
    }

    /// Whether tiles of a zoom read it, in place of the shelves before it.
    #[must_use]
    pub fn serves(self, zoom: u8) -> bool {
        zoom >= self.from
    }

    /// Whether what is of this class on a shelf stands here too. What is larger does not: a tile would
    /// have to look for it far around.
    #[must_use]
    pub fn takes(self, shelf: u8, class: u8) -> bool {
        shelf < self.shelf && self.is_small(class)
    }

    /// The band in which the tiles that this serves see a feature of any shelf: what is gathered is drawn
    /// before all that are at home here. `None` for what they meet here and need not see again.
    #[must_use]
    pub fn band(self, band: u8, class: u8) -> Option<u8> {
        match band {
            GATHERED => Some(self.from.saturating_sub(1)),
            _ if band < self.from && self.is_small(class) => None,
            _ => Some(band),
        }
    }

    fn is_small(self, class: u8) -> bool {
        large_from(class) >= self.from
    }
}

/// A feature as the contest sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entrant {
    /// Morton code of its centre.
    pub centre: u64,
    /// What it wins by.
    pub rank: u64,
    /// The highest zoom at which it may stay hidden.
    pub cap: u8,
    /// From which zoom it is drawn.
    pub band: u8,
}

impl Entrant {
    /// Someone new, not placed yet. `class` is the size class (the larger side of the box is at least
    /// 2^class on the grid, and less than twice that), `seq` the number of the feature in its layer.
    #[must_use]
    pub fn new(centre: u64, class: u8, seq: u64, max_zoom: u8) -> Self {
        let cap = large_from(class).min(max_zoom);
        Self { centre, rank: rank(class, seq), cap, band: cap }
    }

    /// The first zoom at which the centres of the two lie in different cells.
    fn parts_from(&self, centre: u64) -> u8 {
        let shared_bits = (self.centre ^ centre).leading_zeros();
        // At zoom z a cell is named by the first 2 (z + 6) bits.
        u8::try_from((shared_bits / 2 + 1).saturating_sub(CELL_BITS)).unwrap_or(u8::MAX)
    }
}

/// Larger classes first, then a hash of the number, so that neighbours are thinned evenly.
#[must_use]
pub fn rank(class: u8, seq: u64) -> u64 {
    let mut hash = seq.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^= hash >> 32;
    u64::from(class) << 56 | hash >> 8
}

/// The zoom from which something of this size is large on the screen.
fn large_from(class: u8) -> u8 {
    // At zoom z a tile is 2^(32 - z) wide.
    (32 - LARGE_BITS).saturating_sub(class)
}

/// The shelf on which features of a band stand.
#[must_use]
pub fn shelf(band: u8, max_zoom: u8) -> u8 {
    if band >= max_zoom { LAST_SHELF } else { band / 2 }
}

/// How far along the Morton curve no more than so many features stand on a shelf, however many there
/// are on the board; 0 for the last shelf, which no board limits.
#[must_use]
pub fn codes_of(shelf: u8, features: u64) -> u64 {
    // A cell of the shelf's higher band has one winner; what is large besides is fewer.
    let cells = 2 * (u32::from(shelf) * 2 + 1 + CELL_BITS);
    if shelf == LAST_SHELF {
        0
    } else {
        features.saturating_mul(1 << (64_u32.saturating_sub(cells).min(63)))
    }
}

/// The shelves that a tile at `zoom` reads, and the highest band that it draws.
#[must_use]
pub fn shelves_of_tile(zoom: u8, max_zoom: u8) -> (Vec<u8>, u8) {
    let highest = zoom.saturating_add(BANDS_AHEAD).min(max_zoom);
    let mut shelves: Vec<u8> = (0..=highest).map(|band| shelf(band, max_zoom)).collect();
    shelves.dedup();
    (shelves, highest)
}

/// How many bands beyond its zoom a tile shows, size permitting: cells of 1/256 of its side.
const BANDS_AHEAD: u8 = 2;

/// Where on each shelf those stand whom a change at `centre` can concern: first and last Morton code.
/// Those on the last shelf win nothing, so they concern only who leaves.
pub fn neighbourhoods(centre: u64, max_zoom: u8) -> impl Iterator<Item = (u8, (u64, u64))> {
    // Those of band b are met where they share a cell of the zoom before with the centre.
    let shelves = (0..max_zoom).step_by(2).map(move |band| (shelf(band, max_zoom), band));
    let last = std::iter::once((LAST_SHELF, max_zoom));
    shelves.chain(last).map(move |(shelf, band)| (shelf, cell(centre, band.saturating_sub(1))))
}

/// The Morton codes of the cell around `centre` at a zoom.
fn cell(centre: u64, zoom: u8) -> (u64, u64) {
    let rest = 64 - 2 * (u32::from(zoom) + CELL_BITS);
    let mask = (1_u64 << rest) - 1;
    (centre & !mask, centre | mask)
}

/// Finds the band of someone new. `neighbours` are all who stand in its neighbourhoods; `moved` is
/// called with the index and the new band of each that it pushes back.
pub fn enter(
    new: &mut Entrant,
    neighbours: &[Entrant],
    max_zoom: u8,
    mut moved: impl FnMut(usize, u8),
) {
    let won_from = won_from(new, neighbours.iter(), max_zoom);
    new.band = won_from.min(new.cap);
    for (index, other) in neighbours.iter().enumerate() {
        let parts = other.parts_from(new.centre);
        // It won a cell of its band that is now the new one's.
        let is_beaten = other.band < other.cap && other.band >= won_from && other.band < parts;
        if is_beaten {
            moved(index, parts.min(other.cap));
        }
    }
}

/// Finds who takes the places of someone who goes. `neighbours` are all others in its
/// neighbourhoods; `moved` is called with the index and the new band of each that comes forward.
pub fn leave(
    gone: &Entrant,
    neighbours: &[Entrant],
    max_zoom: u8,
    mut moved: impl FnMut(usize, u8),
) {
    let won_from = won_from(gone, neighbours.iter(), max_zoom);
    let parts: Vec<u8> = neighbours.iter().map(|other| other.parts_from(gone.centre)).collect();
    // From the smallest cell outwards: the best of each gets it.
    let mut by_parting: Vec<usize> = (0..neighbours.len()).collect();
    by_parting.sort_unstable_by_key(|index| std::cmp::Reverse(parts[*index]));
    let mut next = by_parting.into_iter().peekable();
    let mut best: Option<usize> = None;
    let mut bands: Vec<(usize, u8)> = Vec::new();
    for zoom in (won_from..max_zoom).rev() {
        while let Some(index) = next.next_if(|index| parts[*index] > zoom) {
            if best.is_none_or(|best| neighbours[index].rank > neighbours[best].rank) {
                best = Some(index);
            }
        }
        let Some(best) = best else { continue };
        match bands.last_mut() {
            Some((last, band)) if *last == best => *band = zoom,
            _ => bands.push((best, zoom)),
        }
    }
    for (index, band) in bands {
        if band < neighbours[index].band {
            moved(index, band);
        }
    }
}

/// The lowest zoom at which `one` has the highest rank of its cell; the last one if at none.
fn won_from<'e>(one: &Entrant, others: impl Iterator<Item = &'e Entrant>, max_zoom: u8) -> u8 {
    // It loses as long as it shares its cell with someone better.
    let parts =
        others.filter(|other| other.rank > one.rank).map(|other| other.parts_from(one.centre));
    parts.max().unwrap_or(0).min(max_zoom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX_ZOOM: u8 = 18;

    /// All bands from scratch: for each feature the lowest zoom at which nobody in its cell is better.
    fn recomputed(all: &[Entrant]) -> Vec<u8> {
        let band = |one: &Entrant| {
            let is_won = |zoom: &u8| {
                let (first, last) = cell(one.centre, *zoom);
                let inside = |other: &&Entrant| (first..=last).contains(&other.centre);
                all.iter().filter(inside).all(|other| other.rank <= one.rank)
            };
            (0..MAX_ZOOM).find(is_won).unwrap_or(MAX_ZOOM).min(one.cap)
        };
        all.iter().map(band).collect()
    }

    fn neighbours(all: &[Entrant], centre: u64, with_last: bool) -> Vec<usize> {
        let areas: Vec<_> = neighbourhoods(centre, MAX_ZOOM)
            .filter(|(shelf, _)| with_last || *shelf != LAST_SHELF)
            .collect();
        let stands = |one: &Entrant| {
            areas.iter().any(|(on, (first, last))| {
                shelf(one.band, MAX_ZOOM) == *on && (*first..=*last).contains(&one.centre)
            })
        };
        (0..all.len()).filter(|index| stands(&all[*index])).collect()
    }

    fn apply(all: &mut [Entrant], chosen: &[usize], moves: &[(usize, u8)]) {
        for (index, band) in moves {
            all[chosen[*index]].band = *band;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn bands_after_many_changes_are_those_of_a_fresh_count(
            changes in prop::collection::vec((0_u64..1 << 20, 0_u32..64, 0_u8..30, any::<bool>()), 1..120),
        ) {
            let mut all: Vec<Entrant> = Vec::new();
            for (seq, (place, spread, class, goes)) in changes.into_iter().enumerate() {
                if goes && !all.is_empty() {
                    let gone = all.swap_remove(usize::try_from(place).unwrap() % all.len());
                    let chosen = neighbours(&all, gone.centre, true);
                    let near: Vec<_> = chosen.iter().map(|index| all[*index]).collect();
                    let mut moves = Vec::new();
                    leave(&gone, &near, MAX_ZOOM, |index, band| moves.push((index, band)));
                    apply(&mut all, &chosen, &moves);
                } else {
                    // Clustered at every scale.
                    let centre = place << 20 >> (spread % 24) << (spread % 40);
                    let mut new = Entrant::new(centre, class, seq as u64, MAX_ZOOM);
                    let chosen = neighbours(&all, centre, false);
                    let near: Vec<_> = chosen.iter().map(|index| all[*index]).collect();
                    let mut moves = Vec::new();
                    enter(&mut new, &near, MAX_ZOOM, |index, band| moves.push((index, band)));
                    apply(&mut all, &chosen, &moves);
                    all.push(new);
                }
                let bands: Vec<u8> = all.iter().map(|one| one.band).collect();
                prop_assert_eq!(bands, recomputed(&all));
            }
        }
    }

    #[test]
    fn a_feature_is_large_from_an_eighth_of_a_tile_on() {
        assert_eq!(large_from(0), 29);
        assert_eq!(large_from(31), 0);
        // A tile at zoom 14 is 2^18 wide, an eighth of it 2^15.
        assert_eq!(large_from(14), 15);
        assert_eq!(large_from(15), 14);
    }

    #[test]
    fn a_shelf_is_as_dense_as_its_board_allows() {
        // Band 9 has 2^15 cells across the world, so one in 2^34 codes.
        assert_eq!(codes_of(4, 1), 1 << 34);
        assert_eq!(codes_of(4, 256), 1 << 42);
        assert_eq!(codes_of(0, u64::MAX), u64::MAX);
        assert_eq!(codes_of(LAST_SHELF, 256), 0);
    }

    #[test]
    fn a_tile_reads_two_bands_beyond_its_zoom_and_all_near_the_last() {
        assert_eq!(shelves_of_tile(0, 18), (vec![0, 1], 2));
        assert_eq!(shelves_of_tile(5, 18), (vec![0, 1, 2, 3], 7));
        assert_eq!(shelves_of_tile(16, 18).0.last(), Some(&LAST_SHELF));
        assert_eq!(shelves_of_tile(18, 18).1, 18);
    }
}
