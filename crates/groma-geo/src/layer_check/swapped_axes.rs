//! Features far from the rest of the layer that would lie among the others if x and y were swapped.

use super::{
    Feature,
    grid::{Coarse, Grid},
};
use rustc_hash::FxHashSet;

/// In a smaller layer, it is not clear where the others lie.
const MIN_FEATURES: usize = 4;
/// The others lie between the quartiles, and up to this many times their distance beside them.
const QUARTILE_DISTANCES: i64 = 3;
/// The others lie at least up to this far beside the quartiles, in meters.
const MIN_MARGIN: f64 = 10_000.0;

/// The indexes of features whose axes are likely swapped.
pub(super) fn find(features: &[Feature], outside: &FxHashSet<u32>, grid: &Grid) -> Vec<usize> {
    let Some([middle_x, middle_y]) =
        quartiles(features, |at| at.x).zip(quartiles(features, |at| at.y)).map(|(x, y)| [x, y])
    else {
        return Vec::new();
    };
    let center = Coarse { x: middle_x[0], y: middle_y[0] };
    let [meters_x, meters_y] = grid.meters_per_coarse_step(center);
    let range = |[first, third]: [i32; 2], meters: f64| {
        let distance = i64::from(third) - i64::from(first);
        let margin = (distance * QUARTILE_DISTANCES).max((MIN_MARGIN / meters) as i64);
        i64::from(first) - margin..=i64::from(third) + margin
    };
    let (range_x, range_y) = (range(middle_x, meters_x), range(middle_y, meters_y));
    let is_among = |x: i32, y: i32| range_x.contains(&x.into()) && range_y.contains(&y.into());
    let is_swapped = |at: Coarse| !is_among(at.x, at.y) && is_among(at.y, at.x);
    let is_outside =
        |index: usize| u32::try_from(index).is_ok_and(|index| outside.contains(&index));
    (0..features.len())
        .filter(|index| is_swapped(features[*index].anchor) && !is_outside(*index))
        .collect()
}

/// The first and the third quartile of a coordinate.
fn quartiles(features: &[Feature], coordinate: fn(Coarse) -> i32) -> Option<[i32; 2]> {
    if features.len() < MIN_FEATURES {
        return None;
    }
    let mut values: Vec<i32> = features.iter().map(|feature| coordinate(feature.anchor)).collect();
    let mut nth = |index: usize| *values.select_nth_unstable(index).1;
    Some([nth(features.len() / 4), nth(features.len() * 3 / 4)])
}
