//! The integer Web Mercator grid: 2³² steps across the world (a step is about 1 cm), with y pointing
//! down as in tiles.
//!
//! Points on the grid have a Morton code (Z-order curve). In Morton order every tile is one
//! contiguous range, and [`morton_ranges`] covers any other box with a few ranges, which a plain
//! B-tree can scan.

use std::f64::consts::PI;

/// The latitude at which the square world of Web Mercator ends.
const MAX_LATITUDE: f64 = 85.051_128_779_806_6;
/// The grid has 2^`GRID_BITS` steps along each side.
const GRID_BITS: u32 = 32;
/// A tile is 2^`EXTENT_BITS` units wide.
pub(crate) const EXTENT_BITS: u32 = 12;
/// The side of a tile, in its units.
pub(crate) const EXTENT: i64 = 1 << EXTENT_BITS;
/// A tile is drawn with a buffer of 1/2^`BUFFER_BITS` of its side around it.
const BUFFER_BITS: u32 = 6;
/// The width of the buffer, in units of a tile.
pub(crate) const BUFFER: i64 = EXTENT >> BUFFER_BITS;
/// How often [`morton_ranges`] may split per requested range. More splits do not find better gaps.
const SPLITS_PER_RANGE: usize = 2;

/// Projects a position to the grid. Latitudes beyond the square world are clamped to its edge.
#[must_use]
pub fn project(longitude: f64, latitude: f64) -> (u32, u32) {
    let steps = f64::from(u32::MAX) + 1.0;
    let sine = latitude.clamp(-MAX_LATITUDE, MAX_LATITUDE).to_radians().sin();
    let x = longitude / 360.0 + 0.5;
    let y = 0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * PI);
    // `as` saturates: longitude 180 is the last step, which tiles round to their edge.
    ((x * steps).round() as u32, (y * steps).round() as u32)
}

/// The Morton code of a grid point: the bits of `x` and `y`, interleaved.
pub(crate) fn morton(x: u32, y: u32) -> u64 {
    interleave(x) | interleave(y) << 1
}

/// The grid point of a Morton code.
pub(crate) fn unmorton(code: u64) -> (u32, u32) {
    (deinterleave(code), deinterleave(code >> 1))
}

fn interleave(value: u32) -> u64 {
    let mut bits = u64::from(value);
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

fn deinterleave(code: u64) -> u32 {
    let mut bits = code & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) as u32
}

/// A valid tile address: zoom 0 to 24, column and row below 2^zoom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileId {
    z: u8,
    x: u32,
    y: u32,
}

impl TileId {
    /// The highest zoom.
    pub const MAX_ZOOM: u8 = 24;

    /// The tile with this address; `None` if the address is invalid.
    #[must_use]
    pub fn new(z: u8, x: u32, y: u32) -> Option<Self> {
        (z <= Self::MAX_ZOOM && x >> z == 0 && y >> z == 0).then_some(Self { z, x, y })
    }

    /// The zoom.
    #[must_use]
    pub fn z(self) -> u8 {
        self.z
    }

    /// The column, counted from the west.
    #[must_use]
    pub fn x(self) -> u32 {
        self.x
    }

    /// The row, counted from the north.
    #[must_use]
    pub fn y(self) -> u32 {
        self.y
    }

    /// The area it covers, without the buffer.
    #[must_use]
    pub fn bounds(self) -> GridBox {
        let bits = GRID_BITS - u32::from(self.z);
        let (min_x, min_y) = (i64::from(self.x) << bits, i64::from(self.y) << bits);
        let side = (1_i64 << bits) - 1;
        GridBox { min_x, min_y, max_x: min_x + side, max_y: min_y + side }
    }

    /// The area it covers with its buffer. At the edge of the world this reaches beyond the grid.
    #[must_use]
    pub fn buffered(self) -> GridBox {
        self.bounds().expanded(1 << (GRID_BITS - u32::from(self.z) - BUFFER_BITS))
    }
}

/// A box on the grid, edges included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridBox {
    /// The western edge.
    pub min_x: i64,
    /// The northern edge.
    pub min_y: i64,
    /// The eastern edge.
    pub max_x: i64,
    /// The southern edge.
    pub max_y: i64,
}

impl GridBox {
    /// The box expanded by `by` on every side.
    #[must_use]
    pub fn expanded(self, by: i64) -> Self {
        Self {
            min_x: self.min_x - by,
            min_y: self.min_y - by,
            max_x: self.max_x + by,
            max_y: self.max_y + by,
        }
    }

    /// The bounding box of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min_x: self.min_x.min(other.min_x),
            min_y: self.min_y.min(other.min_y),
            max_x: self.max_x.max(other.max_x),
            max_y: self.max_y.max(other.max_y),
        }
    }

    /// Whether the boxes have a point in common.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.min_x <= other.max_x
            && other.min_x <= self.max_x
            && self.min_y <= other.max_y
            && other.min_y <= self.max_y
    }

    /// Whether `other` lies entirely within this box.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.min_x <= other.min_x
            && other.max_x <= self.max_x
            && self.min_y <= other.min_y
            && other.max_y <= self.max_y
    }
}

/// Covers `area` with at most `max` (at least one) ranges of Morton codes. The ranges are inclusive,
/// sorted and disjoint, and cover as little outside the area as possible. They are empty if the area
/// lies outside the world.
#[must_use]
pub fn morton_ranges(area: GridBox, max: usize) -> Vec<(u64, u64)> {
    let Some(whole) = MortonBox::clamped_to_world(area) else { return Vec::new() };
    let max = max.max(1);
    let mut boxes = Vec::with_capacity(SPLITS_PER_RANGE * max + 1);
    boxes.push(whole);
    // The two parts replace the box they were split from, so `boxes` stays in Morton order.
    for _ in 0..SPLITS_PER_RANGE * (max - 1) {
        let worst = boxes.iter().enumerate().max_by_key(|(_, part)| part.excess);
        let Some((index, &part)) = worst.filter(|(_, part)| part.excess > 0) else { break };
        let (low, high) = part.split();
        boxes[index] = low;
        boxes.insert(index + 1, high);
    }
    join_ranges(&boxes, max)
}

/// The ranges of the boxes, joined across all but the `max - 1` largest gaps.
fn join_ranges(boxes: &[MortonBox], max: usize) -> Vec<(u64, u64)> {
    let gap = |pair: &[MortonBox]| pair[1].first - pair[0].last - 1;
    let mut gaps: Vec<u64> = boxes.windows(2).map(gap).filter(|gap| *gap > 0).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    gaps.truncate(max - 1);
    // Several gaps can be as wide as the narrowest one that is kept. Keep only as many as `gaps` has.
    let narrowest = gaps.last().copied().unwrap_or(u64::MAX);
    let mut narrowest_left = gaps.iter().filter(|gap| **gap == narrowest).count();
    let mut ranges: Vec<(u64, u64)> = Vec::with_capacity(max);
    for part in boxes {
        if let Some(range) = ranges.last_mut() {
            let gap = part.first - range.1 - 1;
            let is_kept = gap > narrowest || (gap == narrowest && narrowest_left > 0);
            if !is_kept {
                range.1 = part.last;
                continue;
            }
            narrowest_left -= usize::from(gap == narrowest);
        }
        ranges.push((part.first, part.last));
    }
    ranges
}

/// A box on the grid with the range of its Morton codes.
#[derive(Clone, Copy)]
struct MortonBox {
    min: (u32, u32),
    max: (u32, u32),
    /// The code of the north-western corner.
    first: u64,
    /// The code of the south-eastern corner.
    last: u64,
    /// How many codes from `first` to `last` lie outside the box.
    excess: u64,
}

impl MortonBox {
    fn clamped_to_world(area: GridBox) -> Option<Self> {
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
        let (width, height) = (u64::from(max.0 - min.0), u64::from(max.1 - min.1));
        // One less than the number of points, which can be 2⁶⁴.
        let points = width * (height + 1) + height;
        Self { min, max, first, last, excess: last - first - points }
    }

    /// Splits the box along the highest line of the quadtree that crosses it. The box must have more
    /// than one point.
    fn split(self) -> (Self, Self) {
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
    fn corners_of_the_world_project_to_corners_of_the_grid() {
        assert_eq!(project(-180.0, 90.0), (0, 0));
        assert_eq!(project(180.0, -90.0), (u32::MAX, u32::MAX));
        assert_eq!(project(0.0, 0.0), (1 << 31, 1 << 31));
        assert_eq!(project(-90.0, MAX_LATITUDE).0, 1 << 30);
        assert!(project(0.0, MAX_LATITUDE).1 < 10);
        assert!(project(0.0, -MAX_LATITUDE).1 > u32::MAX - 10);
    }

    #[test]
    fn known_position_projects_into_its_tile() {
        // The Eiffel Tower.
        let (x, y) = project(2.294_481, 48.858_37);
        assert_eq!((x >> (32 - 18), y >> (32 - 18)), (132_742, 90_183));
    }

    #[test]
    fn tile_ids_outside_the_pyramid_are_rejected() {
        assert!(TileId::new(0, 0, 0).is_some());
        assert!(TileId::new(24, (1 << 24) - 1, (1 << 24) - 1).is_some());
        for (z, x, y) in
            [(0, 1, 0), (0, 0, 1), (3, 8, 0), (24, 1 << 24, 0), (25, 0, 0), (255, 0, 0)]
        {
            assert_eq!(TileId::new(z, x, y), None, "{z}/{x}/{y}");
        }
    }

    #[test]
    fn tile_is_one_range_of_codes() {
        for (z, x, y) in [(0, 0, 0), (1, 1, 0), (14, 8_300, 5_630), (24, 77, 16_777_215)] {
            let tile = TileId::new(z, x, y).unwrap();
            let first = morton(x, y) << (64 - 2 * u32::from(z)).min(63);
            let ranges = morton_ranges(tile.bounds(), 4);
            assert_eq!(ranges.len(), 1, "{tile:?}");
            assert!(z == 0 || ranges[0].0 == first);
            assert!(ranges[0].1 - ranges[0].0 == u64::MAX >> (2 * z).min(63) || z == 0);
        }
        assert_eq!(morton_ranges(TileId::new(0, 0, 0).unwrap().buffered(), 1), [(0, u64::MAX)]);
    }

    #[test]
    fn more_ranges_cover_a_buffered_tile_more_tightly() {
        let coverage = |max: usize| {
            let tiles = (0..400).map(|i| TileId::new(14, 8_000 + i * 7, 5_000 + i * 11).unwrap());
            let ratios = tiles.map(|tile| {
                let codes: u64 =
                    morton_ranges(tile.buffered(), max).iter().map(|range| range.1 - range.0).sum();
                codes as f64 / 2_f64.powi(2 * (32 - 14))
            });
            ratios.sum::<f64>() / 400.0
        };
        let (four, eight, thirty_two) = (coverage(4), coverage(8), coverage(32));
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
        fn morton_code_round_trips(x: u32, y: u32) {
            prop_assert_eq!(unmorton(morton(x, y)), (x, y));
        }

        #[test]
        fn ranges_are_sorted_and_cover_every_point_of_a_box(
            min in (corner(), corner()),
            side in (side(), side()),
            max in 1_usize..12,
            samples in prop::collection::vec((0.0..=1.0, 0.0..=1.0), 40),
        ) {
            let area = GridBox {
                min_x: min.0, min_y: min.1, max_x: min.0 + side.0, max_y: min.1 + side.1,
            };
            let ranges = morton_ranges(area, max);
            prop_assert!(!ranges.is_empty() && ranges.len() <= max);
            prop_assert!(ranges.iter().all(|range| range.0 <= range.1));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            let world = i64::from(u32::MAX);
            let at = |min: i64, side: i64, part: f64| {
                u32::try_from((min + (side as f64 * part) as i64).min(world)).unwrap()
            };
            for (across, down) in samples {
                let code = morton(at(min.0, side.0, across), at(min.1, side.1, down));
                prop_assert!(ranges.iter().any(|range| (range.0..=range.1).contains(&code)));
            }
        }

        #[test]
        fn enough_ranges_cover_a_small_box_exactly(
            min in (0_u32..1 << 20, 0_u32..1 << 20), width in 0_u32..7, height in 0_u32..7,
        ) {
            let (x, y) = (i64::from(min.0), i64::from(min.1));
            let area = GridBox {
                min_x: x, min_y: y, max_x: x + i64::from(width), max_y: y + i64::from(height),
            };
            let covered: u64 = morton_ranges(area, 64).iter().map(|range| range.1 - range.0 + 1).sum();
            prop_assert_eq!(covered, u64::from((width + 1) * (height + 1)));
        }

        #[test]
        fn box_outside_the_world_has_no_ranges(by in 1_i64..1 << 40) {
            let side = i64::from(u32::MAX);
            let area = GridBox { min_x: 0, min_y: -by - 5, max_x: side, max_y: -by };
            prop_assert_eq!(morton_ranges(area, 4), []);
            let area = GridBox { min_x: side + by, min_y: 0, max_x: side + by + 5, max_y: side };
            prop_assert_eq!(morton_ranges(area, 4), []);
        }
    }
}
