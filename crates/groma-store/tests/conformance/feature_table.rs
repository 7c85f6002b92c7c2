//! The feature table: filters and orders over properties of mixed types.

use crate::{Fixture, on_both_engines};
use groma_domain::layer::LayerKey;
use groma_geo::Bbox;
use groma_store::{
    Comparison, FeatureSort, FeatureTablePage, FeatureTableQuery, PropertyCondition, RecordCount,
};
use serde_json::{Value, json};

on_both_engines! {
    numbers_sort_before_text_and_missing_values_come_last
    text_and_conditions_filter_features
    box_combines_with_filters_and_order
    pages_of_a_large_table_follow_its_order
}

async fn table(fixture: &Fixture, query: FeatureTableQuery) -> FeatureTablePage {
    let key = LayerKey::parse("submissions");
    let query = FeatureTableQuery { limit: query.limit.max(100), count_limit: 5_000, ..query };
    fixture.store.feature_table(fixture.workspace_id, &key, &query).await.unwrap().unwrap()
}

/// The external ids of the features that a query finds, joined.
async fn ids(fixture: &Fixture, query: FeatureTableQuery) -> String {
    let page = table(fixture, query).await;
    assert_eq!(page.count, RecordCount::Exactly(page.features.len() as u64));
    let ids = page.features.into_iter().map(|feature| feature.external_id.unwrap());
    ids.collect::<Vec<_>>().join(" ")
}

/// Posts a point for each of these values of `v`; their ids are `a`, `b` and so on, from west to east.
async fn post_values(fixture: &Fixture, values: &[Value]) {
    let feature = |(index, value): (usize, &Value)| {
        let id = char::from(b'a' + u8::try_from(index).unwrap());
        json!({
            "type": "Feature", "id": id, "properties": value,
            "geometry": { "type": "Point", "coordinates": [index, 10] },
        })
    };
    let features: Vec<_> = values.iter().enumerate().map(feature).collect();
    fixture.post(&json!({ "type": "FeatureCollection", "features": features })).await;
}

fn by(property: &str) -> FeatureTableQuery {
    FeatureTableQuery {
        sort: FeatureSort::Property(property.to_owned()),
        ..FeatureTableQuery::default()
    }
}

fn with_term(term: &str) -> FeatureTableQuery {
    FeatureTableQuery { term: Some(term.to_owned()), ..FeatureTableQuery::default() }
}

fn with_condition(property: &str, comparison: Comparison, value: &str) -> FeatureTableQuery {
    let (property, value) = (property.to_owned(), value.to_owned());
    FeatureTableQuery {
        conditions: vec![PropertyCondition { property, comparison, value }],
        ..FeatureTableQuery::default()
    }
}

async fn numbers_sort_before_text_and_missing_values_come_last(fixture: Fixture) {
    let values = [
        json!({ "v": "chêne" }),
        json!({ "v": 10 }),
        json!({ "v": null }),
        json!({ "v": 9.5 }),
        json!({ "v": "CHARME" }),
        json!({ "v": "Ελλάς" }),
        json!({ "v": -1e3 }),
        json!({}),
        json!({ "v": true }),
        json!({ "v": "" }),
        json!({ "v": 10 }),
        json!({ "v": "\"quoted\" \u{1f333}" }),
        json!({ "v": ["list"] }),
    ];
    post_values(&fixture, &values).await;
    let ascending = ids(&fixture, by("v")).await;
    assert_eq!(ascending, "g d b k l m e a i f c h j");
    let descending = ids(&fixture, FeatureTableQuery { is_descending: true, ..by("v") }).await;
    assert_eq!(descending, "f i a e m l b k d g c h j");
    assert_eq!(ids(&fixture, by("unknown")).await, "a b c d e f g h i j k l m");
    let by_id = FeatureTableQuery { sort: FeatureSort::ExternalId, is_descending: true, ..by("") };
    assert_eq!(ids(&fixture, by_id).await, "m l k j i h g f e d c b a");
    let newest = FeatureTableQuery { sort: FeatureSort::Created, is_descending: true, ..by("") };
    assert_eq!(ids(&fixture, newest).await, "m l k j i h g f e d c b a");
    // The last change comes first.
    let changed = json!({
        "type": "Feature", "id": "e", "properties": { "v": 1 },
        "geometry": { "type": "Point", "coordinates": [4, 10] },
    });
    fixture.tick();
    fixture.post(&changed).await;
    let updated = FeatureTableQuery { sort: FeatureSort::Updated, is_descending: true, ..by("") };
    assert_eq!(ids(&fixture, updated).await, "e a b c d f g h i j k l m");
}

async fn text_and_conditions_filter_features(fixture: Fixture) {
    let values = [
        json!({ "species": "Chêne", "height": 12, "note": "say \"hi\"" }),
        json!({ "species": "CHENE vert", "height": 12.5 }),
        json!({ "species": "Hêtre", "height": "12", "chene": null }),
        json!({ "species": "Straße", "height": 100, "planted": "2024-05-01", "dead": false }),
    ];
    post_values(&fixture, &values).await;
    for (term, expected) in [
        ("chene", "a b"),
        ("  CHÊNE ", "a b"),
        ("strasse", "d"),
        ("12", "a b c"),
        ("12.5", "b"),
        ("\"hi\"", "a"),
        ("false", "d"),
        ("null", ""),
        ("", "a b c d"),
        ("%", ""),
    ] {
        assert_eq!(ids(&fixture, with_term(term)).await, expected, "{term}");
    }
    let relevance = FeatureTableQuery { sort: FeatureSort::Relevance, ..with_term("hetre") };
    assert_eq!(ids(&fixture, relevance).await, "c");
    let relevance = FeatureTableQuery { sort: FeatureSort::Relevance, ..with_term("12") };
    assert_eq!(ids(&fixture, relevance).await, "a c b");
    let whole_id = table(&fixture, with_term("chene vert")).await.features[0].id.to_string();
    assert_eq!(ids(&fixture, with_term(&whole_id)).await, "b");
    assert_eq!(ids(&fixture, with_term(&whole_id[..30])).await, "");
    for (property, comparison, value, expected) in [
        ("species", Comparison::Contains, "être", "c"),
        ("species", Comparison::Contains, "12", ""),
        ("species", Comparison::Equal, "chene", "a"),
        ("height", Comparison::Equal, "12", "a c"),
        ("height", Comparison::Equal, "12.0", "a"),
        ("height", Comparison::AtLeast, "12.5", "b d"),
        ("height", Comparison::AtMost, "12.5", "a b"),
        ("planted", Comparison::AtLeast, "2024-01-01", "d"),
        ("planted", Comparison::AtMost, "2024-01-01", ""),
        ("missing", Comparison::AtMost, "1", ""),
    ] {
        let query = with_condition(property, comparison, value);
        assert_eq!(ids(&fixture, query).await, expected, "{property} {comparison:?} {value}");
    }
    let both = FeatureTableQuery {
        term: Some("chene".to_owned()),
        is_descending: true,
        sort: FeatureSort::Property("height".to_owned()),
        ..with_condition("height", Comparison::AtLeast, "1")
    };
    assert_eq!(ids(&fixture, both).await, "b a");
}

async fn box_combines_with_filters_and_order(fixture: Fixture) {
    let values: Vec<_> = (0..20).map(|index| json!({ "v": -index, "odd": index % 2 })).collect();
    post_values(&fixture, &values).await;
    let no_shape = json!({ "type": "Feature", "id": "z", "properties": {}, "geometry": null });
    fixture.post(&no_shape).await;
    for (bbox, expected) in [
        // A small box is looked up in the tile index.
        (Bbox([2.5, 9.999, 4.5, 10.001]), "d"),
        (Bbox([-180.0, -90.0, 180.0, 90.0]), "t r p n l j h f d b"),
    ] {
        let query = FeatureTableQuery {
            bbox: Some(bbox),
            sort: FeatureSort::Property("v".to_owned()),
            ..with_condition("odd", Comparison::Equal, "1")
        };
        assert_eq!(ids(&fixture, query).await, expected, "{bbox:?}");
    }
    let everywhere = Some(Bbox([-180.0, -90.0, 180.0, 90.0]));
    let all = FeatureTableQuery { bbox: everywhere, ..FeatureTableQuery::default() };
    assert_eq!(table(&fixture, all).await.count, RecordCount::Exactly(20));
}

async fn pages_of_a_large_table_follow_its_order(fixture: Fixture) {
    let feature = |index: u32| {
        let place = [f64::from(index % 100) / 100.0, f64::from(index / 100) / 100.0];
        json!({
            "type": "Feature", "properties": { "v": index * 7_919 % 1_000 },
            "geometry": { "type": "Point", "coordinates": place },
        })
    };
    let features: Vec<_> = (0..6_600).map(feature).collect();
    fixture.post(&json!({ "type": "FeatureCollection", "features": features })).await;
    let total = table(&fixture, FeatureTableQuery::default()).await.count;
    assert_eq!(total, RecordCount::Exactly(6_600));
    for query in [FeatureTableQuery::default(), by("v")] {
        let whole = FeatureTableQuery { limit: 10_000, ..query.clone() };
        let expected: Vec<_> =
            table(&fixture, whole).await.features.iter().map(|feature| feature.id).collect();
        assert_eq!(expected.len(), 6_600);
        for skip in [0, 100, 999, 5_000, 6_550, 7_000] {
            let page = table(&fixture, FeatureTableQuery { skip, ..query.clone() }).await;
            let found: Vec<_> = page.features.iter().map(|feature| feature.id).collect();
            let from = expected.len().min(usize::try_from(skip).unwrap());
            let until = expected.len().min(from + 100);
            assert_eq!(found, expected[from..until], "{skip}");
            assert_eq!((page.count, page.reachable), (total, 6_600));
        }
    }
    // Counting stops if the order does not require reading everything.
    let many = with_condition("v", Comparison::AtLeast, "1");
    assert_eq!(table(&fixture, many.clone()).await.count, RecordCount::MoreThan(5_000));
    let sorted = FeatureTableQuery { sort: FeatureSort::Property("v".to_owned()), ..many };
    assert!(matches!(table(&fixture, sorted).await.count, RecordCount::Exactly(6_500..6_600)));
}
