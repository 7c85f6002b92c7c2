//! Pages of features with filters: they find what a comparison with every feature finds.

use crate::{
    Fixture, on_both_engines,
    sample_geometries::{FeatureGenerator, shape},
};
use groma_domain::{Timestamp, layer::LayerKey};
use groma_geo::Bbox;
use groma_store::{FeatureQuery, LayerFeature};

on_both_engines! {
    box_finds_the_features_that_meet_it
    pages_continue_after_deletions
}

/// The positions of all features that a query finds, read in pages of seven.
async fn found(fixture: &Fixture, query: FeatureQuery) -> Vec<u64> {
    let key = LayerKey::parse("submissions");
    let mut query = FeatureQuery { limit: 7, ..query };
    let mut positions = Vec::new();
    loop {
        let page = fixture.store.find_features(fixture.workspace_id, &key, &query).await;
        let page = page.unwrap().unwrap();
        assert!(page.features.len() <= 7);
        positions.extend(page.features.iter().map(|feature| feature.position));
        match page.next {
            Some(next) => query.after = next,
            None => return positions,
        }
    }
}

fn positions<'f>(features: impl Iterator<Item = &'f LayerFeature>) -> Vec<u64> {
    features.map(|feature| feature.position).collect()
}

async fn box_finds_the_features_that_meet_it(fixture: Fixture) {
    let mut generator = FeatureGenerator::new(7);
    for _ in 0..12 {
        fixture.post(&generator.collection(60)).await;
    }
    let all = fixture.features("submissions").await;
    let mut random = fastrand::Rng::with_seed(8);
    let mut boxes = vec![Bbox([-180.0, -90.0, 180.0, 90.0]), Bbox([170.0, -80.0, -170.0, 80.0])];
    // Boxes of all sizes, most of them around features.
    let places: Vec<_> = all.iter().filter_map(|feature| shape(feature)?.bbox()).collect();
    for _ in 0..150 {
        let Bbox([west, south, east, north]) = places[random.usize(..places.len())];
        let size = 10_f64.powf(random.f64() * 8.0 - 6.0);
        let west = (west - size * random.f64()).max(-180.0);
        let south = (south - size * random.f64()).max(-90.0);
        let east = (if random.bool() { west } else { east } + size).min(180.0);
        let north = (if random.bool() { south } else { north } + size).clamp(south, 90.0);
        boxes.push(Bbox([west, south, east, north]));
    }
    let (mut hits, mut misses) = (0, 0);
    for bbox in boxes {
        let meets =
            |feature: &&LayerFeature| shape(feature).is_some_and(|it| it.intersects_box(bbox));
        let expected = positions(all.iter().filter(meets));
        hits += expected.len();
        misses += all.len() - expected.len();
        let query = FeatureQuery { bbox: Some(bbox), ..FeatureQuery::default() };
        assert_eq!(found(&fixture, query).await, expected, "{bbox:?}");
    }
    assert!(hits > 1_000 && misses > 10_000, "{hits} {misses}");
    let since = all.iter().map(|feature| feature.updated_at).max();
    let expected = positions(all.iter().filter(|feature| Some(feature.updated_at) == since));
    let query = FeatureQuery { updated_since: since, ..FeatureQuery::default() };
    assert_eq!(found(&fixture, query).await, expected);
    let query = FeatureQuery { updated_since: Some(Timestamp::from_millis(0)), ..query };
    assert_eq!(found(&fixture, query).await, positions(all.iter()));
}

async fn pages_continue_after_deletions(fixture: Fixture) {
    fixture.post(&FeatureGenerator::new(9).collection(60)).await;
    let all = fixture.features("submissions").await;
    let key = LayerKey::parse("submissions");
    let first = FeatureQuery { limit: 5, ..FeatureQuery::default() };
    let page = fixture.store.find_features(fixture.workspace_id, &key, &first).await;
    let next = page.unwrap().unwrap().next.unwrap();
    for feature in &all[3..6] {
        let (workspace, actor) = (fixture.workspace_id, fixture.actor);
        fixture.store.delete_geometry(workspace, actor, feature.id, fixture.tick()).await.unwrap();
    }
    let rest = FeatureQuery { after: next, ..FeatureQuery::default() };
    assert_eq!(found(&fixture, rest).await, positions(all[6..].iter()));
}
