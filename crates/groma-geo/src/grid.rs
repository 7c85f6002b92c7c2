//! The Web-Mercator grid on which shapes are drawn: 2³² steps across the world (about 1 cm), y
//! downwards as in tiles, and its Morton order, in which every tile is one run of codes.

use std::f64::consts::PI;

/// The latitude at which the square world of Web Mercator ends.
const MAX_LATITUDE: f64 = 85.051_128_779_806_6;
/// The steps of the grid, as a power of two.
const GRID_BITS: u32 = 32;
/// A tile is drawn with a margin of 1/64 of its side (64 of 4,096 units) around it.
const BUFFER_BITS: u32 = 6;
/// How often [`ranges`] may split for each range it may give. More was tried, and found no better
/// gaps to leave out.
const SPLITS: usize = 2;

/// The place of a position on the grid. What lies beyond the square world is put on its edge.
#[must_use]
pub fn project(longitude: f64, latitude: f64) -> (u32, u32) {
    let steps = f64::from(u32::MAX) + 1.0;
    let sine = latitude.clamp(-MAX_LATITUDE, MAX_LATITUDE).to_radians().sin();
    let x = longitude / 360.0 + 0.5;
    let y = 0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * PI);
    // `as` saturates: longitude 180 is the last step.
    ((x * steps) as u32, (y * steps) as u32)
}

/// The Morton code of a place: the bits of `x` and `y`, interleaved.
#[must_use]
pub fn morton(x: u32, y: u32) -> u64 {
    spread(x) | spread(y) << 1
}

/// The place of a Morton code.
#[must_use]
pub fn unmorton(code: u64) -> (u32, u32) {
    (gather(code), gather(code >> 1))
}

fn spread(value: u32) -> u64 {
    let mut bits = u64::from(value);
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

fn gather(code: u64) -> u32 {
    let mut bits = code & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) as u32
}

/// A tile that exists: zoom 0 to 24, column and row within 2^zoom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileId {
    z: u8,
    x: u32,
    y: u32,
}

impl TileId {
    /// The deepest zoom.
    pub const MAX_ZOOM: u8 = 24;

    /// The tile with this address; `None` where there is none.
    #[must_use]
    pub fn new(z: u8, x: u32, y: u32) -> Option<Self> {
        (z <= Self::MAX_ZOOM && x >> z == 0 && y >> z == 0).then_some(Self { z, x, y })
    }

    /// Its zoom.
    #[must_use]
    pub fn z(self) -> u8 {
        self.z
    }

    /// Its column, from the west.
    #[must_use]
    pub fn x(self) -> u32 {
        self.x
    }

    /// Its row, from the north.
    #[must_use]
    pub fn y(self) -> u32 {
        self.y
    }

    /// What it covers.
    #[must_use]
    pub fn bounds(self) -> GridBox {
        let bits = GRID_BITS - u32::from(self.z);
        let (min_x, min_y) = (i64::from(self.x) << bits, i64::from(self.y) << bits);
        let side = (1_i64 << bits) - 1;
        GridBox { min_x, min_y, max_x: min_x + side, max_y: min_y + side }
    }

    /// What it covers with the margin that is drawn around it; at the edge of the world that
    /// reaches beyond the grid.
    #[must_use]
    pub fn buffered(self) -> GridBox {
        self.bounds().grown(1 << (GRID_BITS - u32::from(self.z) - BUFFER_BITS))
    }
}

/// A box on the grid; its corners are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridBox {
    /// Its western edge.
    pub min_x: i64,
    /// Its northern edge.
    pub min_y: i64,
    /// Its eastern edge.
    pub max_x: i64,
    /// Its southern edge.
    pub max_y: i64,
}

impl GridBox {
    /// The box with a margin of `by` on every side.
    #[must_use]
    pub fn grown(self, by: i64) -> Self {
        Self {
            min_x: self.min_x - by,
            min_y: self.min_y - by,
            max_x: self.max_x + by,
            max_y: self.max_y + by,
        }
    }

    /// The box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min_x: self.min_x.min(other.min_x),
            min_y: self.min_y.min(other.min_y),
            max_x: self.max_x.max(other.max_x),
            max_y: self.max_y.max(other.max_y),
        }
    }

    /// Whether they have a place in common.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.min_x <= other.max_x
            && other.min_x <= self.max_x
            && self.min_y <= other.max_y
            && other.min_y <= self.max_y
    }

    /// Whether `other` lies wholly within.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.min_x <= other.min_x
            && other.max_x <= self.max_x
            && self.min_y <= other.min_y
            && other.max_y <= self.max_y
    }
}

/// At most `max` (but one at least) runs of Morton codes, first and last included, sorted and
/// apart, that hold every place of `area`; what they hold besides is kept small.
#[must_use]
pub fn ranges(area: GridBox, max: usize) -> Vec<(u64, u64)> {
    let Some(whole) = Block::within_world(area) else { return Vec::new() };
    let max = max.max(1);
    let mut blocks = Vec::with_capacity(SPLITS * max + 1);
    blocks.push(whole);
    // In Morton order throughout: the halves of a block take its place.
    for _ in 0..SPLITS * (max - 1) {
        let worst = blocks.iter().enumerate().max_by_key(|(_, block)| block.excess);
        let Some((index, &block)) = worst.filter(|(_, block)| block.excess > 0) else { break };
        let (low, high) = block.halves();
        blocks[index] = low;
        blocks.insert(index + 1, high);
    }
    joined(&blocks, max)
}

/// The runs of the blocks, with all but the `max - 1` largest gaps between them filled.
fn joined(blocks: &[Block], max: usize) -> Vec<(u64, u64)> {
    let gap = |pair: &[Block]| pair[1].first - pair[0].last - 1;
    let mut gaps: Vec<u64> = blocks.windows(2).map(gap).filter(|gap| *gap > 0).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    gaps.truncate(max - 1);
    // Of several gaps as wide as the narrowest that stays, so many stay as there is room for.
    let narrowest = gaps.last().copied().unwrap_or(u64::MAX);
    let mut room = gaps.iter().filter(|gap| **gap == narrowest).count();
    let mut runs: Vec<(u64, u64)> = Vec::with_capacity(max);
    for block in blocks {
        if let Some(run) = runs.last_mut() {
            let gap = block.first - run.1 - 1;
            let stays = gap > narrowest || (gap == narrowest && room > 0);
            if !stays {
                run.1 = block.last;
                continue;
            }
            room -= usize::from(gap == narrowest);
        }
        runs.push((block.first, block.last));
    }
    runs
}

/// A box on the grid with the Morton codes of its first and last place: its north-western and its
/// south-eastern corner.
#[derive(Clone, Copy)]
struct Block {
    min: (u32, u32),
    max: (u32, u32),
    first: u64,
    last: u64,
    /// How many of the codes from `first` to `last` lie outside the box.
    excess: u64,
}

impl Block {
    fn within_world(area: GridBox) -> Option<Self> {
        let world = i64::from(u32::MAX);
        if area.min_x > area.max_x.min(world) || area.min_y > area.max_y.min(world) {
            return None;
        }
        let low = |value: i64| u32::try_from(value.max(0)).ok();
        let high = |value: i64| u32::try_from(value.min(world)).ok();
        Some(Self::new(
            (low(area.min_x)?, low(area.min_y)?),
            (high(area.max_x)?, high(area.max_y)?),
        ))
    }

    fn new(min: (u32, u32), max: (u32, u32)) -> Self {
        let (first, last) = (morton(min.0, min.1), morton(max.0, max.1));
        let (wide, high) = (u64::from(max.0 - min.0), u64::from(max.1 - min.1));
        // One less than the number of places, which may be 2⁶⁴.
        let places = wide * (high + 1) + high;
        Self { min, max, first, last, excess: last - first - places }
    }

    /// The two parts on either side of the highest line of the quadtree that crosses it. It must
    /// have more than one place.
    fn halves(self) -> (Self, Self) {
        let bit = 63 - (self.first ^ self.last).leading_zeros();
        let step = 1_u32 << (bit / 2);
        let start = |value: u32| value & !(step - 1);
        let (mut low, mut high) = (self.max, self.min);
        if bit % 2 == 1 {
            high.1 = start(self.max.1);
            low.1 = high.1 - 1;
        } else {
            high.0 = start(self.max.0);
            low.0 = high.0 - 1;
        }
        (Self::new(self.min, low), Self::new(high, self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_corners_of_the_world_are_the_corners_of_the_grid() {
        assert_eq!(project(-180.0, 90.0), (0, 0));
        assert_eq!(project(180.0, -90.0), (u32::MAX, u32::MAX));
        assert_eq!(project(0.0, 0.0), (1 << 31, 1 << 31));
        assert_eq!(project(-90.0, MAX_LATITUDE).0, 1 << 30);
        assert!(project(0.0, MAX_LATITUDE).1 < 10);
        assert!(project(0.0, -MAX_LATITUDE).1 > u32::MAX - 10);
    }

    #[test]
    fn a_known_place_is_in_its_known_tile() {
        // The Eiffel tower.
        let (x, y) = project(2.294_481, 48.858_37);
        assert_eq!((x >> (32 - 18), y >> (32 - 18)), (132_742, 90_183));
    }

    #[test]
    fn only_tiles_of_the_pyramid_have_an_address() {
        assert!(TileId::new(0, 0, 0).is_some());
        assert!(TileId::new(24, (1 << 24) - 1, (1 << 24) - 1).is_some());
        for (z, x, y) in
            [(0, 1, 0), (0, 0, 1), (3, 8, 0), (24, 1 << 24, 0), (25, 0, 0), (255, 0, 0)]
        {
            assert_eq!(TileId::new(z, x, y), None, "{z}/{x}/{y}");
        }
    }

    #[test]
    fn a_tile_is_one_run_of_codes() {
        for (z, x, y) in [(0, 0, 0), (1, 1, 0), (14, 8_300, 5_630), (24, 77, 16_777_215)] {
            let tile = TileId::new(z, x, y).unwrap();
            let first = morton(x, y) << (64 - 2 * u32::from(z)).min(63);
            let runs = ranges(tile.bounds(), 4);
            assert_eq!(runs.len(), 1, "{tile:?}");
            assert!(z == 0 || runs[0].0 == first);
            assert!(runs[0].1 - runs[0].0 == u64::MAX >> (2 * z).min(63) || z == 0);
        }
        assert_eq!(ranges(TileId::new(0, 0, 0).unwrap().buffered(), 1), [(0, u64::MAX)]);
    }

    #[test]
    fn what_is_read_besides_a_buffered_tile_shrinks_with_the_number_of_runs() {
        let read = |max: usize| {
            let tiles = (0..400).map(|i| TileId::new(14, 8_000 + i * 7, 5_000 + i * 11).unwrap());
            let over = tiles.map(|tile| {
                let codes: u64 = ranges(tile.buffered(), max).iter().map(|run| run.1 - run.0).sum();
                codes as f64 / 2_f64.powi(2 * (32 - 14))
            });
            over.sum::<f64>() / 400.0
        };
        let (four, eight, thirty_two) = (read(4), read(8), read(32));
        assert!(four < 8.0 && eight < 3.5 && thirty_two < 1.6, "{four} {eight} {thirty_two}");
    }

    fn corner() -> impl Strategy<Value = i64> {
        prop_oneof![0..=i64::from(u32::MAX), 0_i64..300, (1_i64 << 32) - 300..1 << 32]
    }

    fn side() -> impl Strategy<Value = i64> {
        (0_u32..32).prop_flat_map(|bits| 0..=1_i64 << bits)
    }

    proptest! {
        #[test]
        fn a_code_leads_back_to_its_place(x: u32, y: u32) {
            prop_assert_eq!(unmorton(morton(x, y)), (x, y));
        }

        #[test]
        fn few_sorted_runs_hold_every_place_of_a_box(
            min in (corner(), corner()),
            side in (side(), side()),
            max in 1_usize..12,
            spots in prop::collection::vec((0.0..=1.0, 0.0..=1.0), 40),
        ) {
            let area = GridBox {
                min_x: min.0, min_y: min.1, max_x: min.0 + side.0, max_y: min.1 + side.1,
            };
            let runs = ranges(area, max);
            prop_assert!(!runs.is_empty() && runs.len() <= max);
            prop_assert!(runs.iter().all(|run| run.0 <= run.1));
            prop_assert!(runs.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            let world = i64::from(u32::MAX);
            let at = |min: i64, side: i64, part: f64| {
                u32::try_from((min + (side as f64 * part) as i64).min(world)).unwrap()
            };
            for (across, down) in spots {
                let code = morton(at(min.0, side.0, across), at(min.1, side.1, down));
                prop_assert!(runs.iter().any(|run| (run.0..=run.1).contains(&code)));
            }
        }

        #[test]
        fn with_room_enough_a_small_box_is_read_alone(
            min in (0_u32..1 << 20, 0_u32..1 << 20), wide in 0_u32..7, high in 0_u32..7,
        ) {
            let (x, y) = (i64::from(min.0), i64::from(min.1));
            let area = GridBox {
                min_x: x, min_y: y, max_x: x + i64::from(wide), max_y: y + i64::from(high),
            };
            let held: u64 = ranges(area, 64).iter().map(|run| run.1 - run.0 + 1).sum();
            prop_assert_eq!(held, u64::from((wide + 1) * (high + 1)));
        }

        #[test]
        fn a_box_beyond_the_world_has_no_codes(by in 1_i64..1 << 40) {
            let side = i64::from(u32::MAX);
            let area = GridBox { min_x: 0, min_y: -by - 5, max_x: side, max_y: -by };
            prop_assert_eq!(ranges(area, 4), []);
            let area = GridBox { min_x: side + by, min_y: 0, max_x: side + by + 5, max_y: side };
            prop_assert_eq!(ranges(area, 4), []);
        }
    }
}
