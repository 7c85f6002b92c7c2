//! The size limit of a tile.

use super::*;

/// Encodes equal features with these min zooms and ranks into a tile with room for `room` of them.
/// Returns the indexes of the features in the tile.
fn encode_limited(z: u8, features: &[(u8, u64)], room: usize) -> Vec<u64> {
    let shape = TileShape::from_geometry(&polygon_in_tile(&[&SQUARE])).unwrap().bytes;
    let candidates = |count: usize| {
        let number = |(id, &(min_zoom, rank)): (u64, &(u8, u64))| Candidate {
            id: 4 * id,
            is_polygon: false,
            min_zoom,
            rank,
            shape: &shape,
            attributes: &[],
        };
        (0..).zip(&features[..count]).map(number).collect::<Vec<_>>()
    };
    let tile = TileId::new(z, 512 >> (10 - z), 340 >> (10 - z)).unwrap();
    let none = [""; 0];
    let one = encode(tile, "x", &none, candidates(1), None).len();
    let two = encode(tile, "x", &none, candidates(2), None).len();
    let max_bytes = one + (two - one) * (room - 1) + 3;
    let bytes = encode(tile, "x", &none, candidates(features.len()), Some(max_bytes));
    assert!(bytes.len() <= max_bytes);
    decode::tile(&bytes).unwrap().features.iter().map(|feature| feature.id / 4).collect()
}

#[test]
fn lower_min_zoom_then_higher_rank_then_lower_id_comes_first() {
    let features = [(3, 1), (0, 1), (3, 2), (0, 1), (0, 9 << 60), (2, 0)];
    assert_eq!(encode_limited(9, &features, 6), [4, 1, 3, 5, 2, 0]);
    assert_eq!(encode_limited(9, &features, 5), [4, 1, 3, 5, 2]);
    assert_eq!(encode_limited(9, &features, 2), [4, 1]);
}

#[test]
fn points_of_a_min_zoom_above_the_tile_are_added_completely_or_not_at_all() {
    let features = [(4, 0), (5, 0), (5, 0), (6, 0), (6, 0), (6, 0), (7, 0)];
    assert_eq!(encode_limited(5, &features, 7).len(), 7);
    assert_eq!(encode_limited(5, &features, 6).len(), 6);
    assert_eq!(encode_limited(5, &features, 5).len(), 3);
    assert_eq!(encode_limited(5, &features, 4).len(), 3);
    assert_eq!(encode_limited(5, &features, 3).len(), 3);
    assert_eq!(encode_limited(5, &features, 2).len(), 2);
}

#[test]
fn lines_of_a_min_zoom_above_the_tile_are_added_as_far_as_they_fit() {
    const LINE: u64 = 1 << 56;
    let features = [(4, LINE), (6, 0), (6, 0), (6, LINE), (6, LINE), (7, LINE)];
    assert_eq!(encode_limited(5, &features, 6), [0, 3, 4, 1, 2, 5]);
    assert_eq!(encode_limited(5, &features, 5), [0, 3, 4, 1, 2]);
    // The points do not fit.
    assert_eq!(encode_limited(5, &features, 4), [0, 3, 4]);
    assert_eq!(encode_limited(5, &features, 2), [0, 3]);
}

#[test]
fn limit_never_makes_a_tile_empty() {
    assert_eq!(encode_limited(5, &[(6, 0), (6, 0), (6, 0)], 2).len(), 2);
    let shape = TileShape::from_geometry(&polygon_in_tile(&[&SQUARE])).unwrap().bytes;
    let candidates = vec![candidate(4, &shape, &[]), candidate(8, &shape, &[])];
    let bytes = encode(test_tile(), "x", &[""; 0], candidates, Some(1));
    assert_eq!(decode::tile(&bytes).unwrap().features.len(), 1);
}

#[test]
fn dropped_features_leave_no_keys_or_values() {
    let shape = TileShape::from_geometry(&polygon_in_tile(&[&SQUARE])).unwrap().bytes;
    let all: Vec<_> = (0..3)
        .map(|i| attributes::encode([(i, &json!(format!("value {i}")))].into_iter()))
        .collect();
    let encode_first = |count: usize, max_bytes: Option<usize>| {
        let candidates = (1..).zip(&all[..count]).map(|(id, it)| candidate(4 * id, &shape, it));
        encode(test_tile(), "x", &["a", "b", "c"], candidates.collect(), max_bytes)
    };
    let two = encode_first(2, None);
    assert_eq!(encode_first(3, Some(two.len())), two);
    assert_ne!(encode_first(3, Some(two.len() - 1)), two);
}
