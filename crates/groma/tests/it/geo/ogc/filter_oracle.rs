//! Random filters find what a simple evaluation of them finds, with the index of declared fields and without.

use super::{Map, collection, external_ids, feature, features, open, point};
use crate::on_both_engines;
use groma_testkit::{Engine, http::percent_encode, server::WORKSPACE};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};

on_both_engines! {
    random_filters_find_what_they_describe
}

#[derive(Clone, Debug)]
enum Filter {
    Number(&'static str, f64),
    Text(&'static str, &'static str),
    Date(&'static str, &'static str),
    Between(f64, f64),
    In(Vec<&'static str>),
    Prefix(&'static str),
    IsNull(&'static str),
    Box([f64; 4]),
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
}

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
const TEXTS: [&str; 6] = [
    "",
    "a",
    "ab",
    "B",
    "é",
    "a much longer text than the index keeps of every value, beginning alike: one",
];
const LONG: &str = "a much longer text than the index keeps of every value, beginning alike: two";
const DATES: [&str; 4] = ["2025-12-31", "2026-01-01", "2026-01-02", "2026-06-30"];

fn compares(operator: &str, order: std::cmp::Ordering) -> bool {
    match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

impl Filter {
    fn text(&self) -> String {
        let list = |parts: &[Self], word: &str| {
            let parts: Vec<_> = parts.iter().map(|part| format!("({})", part.text())).collect();
            parts.join(word)
        };
        match self {
            Self::Number(operator, value) => format!("n {operator} {value}"),
            Self::Text(operator, value) => format!("t {operator} '{value}'"),
            Self::Date(operator, value) => format!("d {operator} DATE('{value}')"),
            Self::Between(low, high) => format!("n BETWEEN {low} AND {high}"),
            Self::In(values) => format!("t IN ('{}')", values.join("', '")),
            Self::Prefix(prefix) => format!("t LIKE '{prefix}%'"),
            Self::IsNull(name) => format!("{name} IS NULL"),
            Self::Box([w, s, e, n]) => format!("S_INTERSECTS(geometry, BBOX({w}, {s}, {e}, {n}))"),
            Self::And(parts) => list(parts, " AND "),
            Self::Or(parts) => list(parts, " OR "),
            Self::Not(part) => format!("NOT ({})", part.text()),
        }
    }

    /// Whether a feature matches; `None` is unknown.
    fn evaluate(&self, one: &Value) -> Option<bool> {
        let value = |name: &str| &one["properties"][name];
        match self {
            Self::Number(operator, other) => {
                Some(compares(operator, value("n").as_f64()?.partial_cmp(other)?))
            }
            Self::Text(operator, other) => {
                Some(compares(operator, value("t").as_str()?.cmp(other)))
            }
            Self::Date(operator, other) => {
                Some(compares(operator, value("d").as_str()?.cmp(other)))
            }
            Self::Between(low, high) => {
                let value = value("n").as_f64()?;
                Some(*low <= value && value <= *high)
            }
            Self::In(values) => Some(values.contains(&value("t").as_str()?)),
            Self::Prefix(prefix) => Some(value("t").as_str()?.starts_with(prefix)),
            Self::IsNull(name) => Some(value(name).is_null()),
            Self::Box([west, south, east, north]) => {
                let [x, y] = [0, 1].map(|index| one["geometry"]["coordinates"][index].as_f64());
                let (x, y) = (x?, y?);
                Some(*west <= x && x <= *east && *south <= y && y <= *north)
            }
            Self::And(parts) => {
                let values: Vec<_> = parts.iter().map(|part| part.evaluate(one)).collect();
                match values.contains(&Some(false)) {
                    true => Some(false),
                    false => (!values.contains(&None)).then_some(true),
                }
            }
            Self::Or(parts) => {
                let values: Vec<_> = parts.iter().map(|part| part.evaluate(one)).collect();
                match values.contains(&Some(true)) {
                    true => Some(true),
                    false => (!values.contains(&None)).then_some(false),
                }
            }
            Self::Not(part) => part.evaluate(one).map(|value| !value),
        }
    }
}

fn filter() -> impl Strategy<Value = Filter> {
    let operator = || select(OPERATORS.to_vec());
    let number = || (-4_i32..24).prop_map(|n| f64::from(n) / 2.0);
    let simple = prop_oneof![
        (operator(), number()).prop_map(|(op, value)| Filter::Number(op, value)),
        (operator(), select(TEXTS.to_vec())).prop_map(|(op, value)| Filter::Text(op, value)),
        (operator(), select(DATES.to_vec())).prop_map(|(op, value)| Filter::Date(op, value)),
        (number(), number()).prop_map(|(low, high)| Filter::Between(low, high)),
        prop::collection::vec(select(TEXTS.to_vec()), 1..3).prop_map(Filter::In),
        select(vec!["a", "ab", "é", "a much longer text than the index keeps of every value, be"])
            .prop_map(Filter::Prefix),
        select(vec!["n", "t", "d"]).prop_map(Filter::IsNull),
        (0_i32..10, 0_i32..10, 0_i32..4, 0_i32..4).prop_map(|(x, y, width, height)| {
            Filter::Box([x, y, x + width, y + height].map(f64::from))
        }),
    ];
    simple.prop_recursive(3, 12, 3, |inner| {
        let parts = || prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            2 => parts().prop_map(Filter::And),
            1 => parts().prop_map(Filter::Or),
            1 => inner.clone().prop_map(|part| Filter::Not(Box::new(part))),
        ]
    })
}

/// Three hundred features on a grid, some without a value or a geometry.
fn sample() -> Vec<Value> {
    let one = |n: u32| {
        let mut properties = json!({});
        if !n.is_multiple_of(5) {
            properties["n"] = json!(f64::from(n % 21) / 2.0);
        }
        if !n.is_multiple_of(7) {
            properties["t"] =
                json!(if n.is_multiple_of(11) { LONG } else { TEXTS[n as usize % TEXTS.len()] });
        }
        if !n.is_multiple_of(3) {
            properties["d"] = json!(DATES[n as usize % DATES.len()]);
        }
        let geometry = match n % 13 {
            0 => Value::Null,
            _ => point(f64::from(n % 10), f64::from(n / 10 % 10)),
        };
        feature(json!(n), geometry, properties)
    };
    (0..300).map(one).collect()
}

fn random_filters_find_what_they_describe(engine: Engine) {
    let map = open(engine);
    let sample = sample();
    for layer in ["Plain", "Indexed"] {
        map.create_layer(layer);
        map.post(&format!("?layer={}", layer.to_lowercase()), &collection(&sample));
    }
    let fields = json!([
        { "name": "n", "type": "number" },
        { "name": "t", "type": "text" },
        { "name": "d", "type": "date" },
    ]);
    map.server.write_file("fields.json", fields.to_string());
    map.server
        .run(&["layer", "update", "indexed", "--workspace", WORKSPACE, "--fields", "fields.json"])
        .expect_success();
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&filter(), |filter| {
        let expected: Vec<String> = sample
            .iter()
            .filter(|one| filter.evaluate(one) == Some(true))
            .map(|one| one["id"].to_string())
            .collect();
        for layer in ["plain", "indexed"] {
            prop_assert_eq!(&found(&map, layer, &filter), &expected, "{} {}", layer, filter.text());
        }
        Ok(())
    });
    outcome.unwrap();
}

#[track_caller]
fn found(map: &Map, layer: &str, filter: &Filter) -> Vec<String> {
    let filter = percent_encode(&filter.text());
    let items =
        features(&map.ogc(&format!("/collections/{layer}/items?limit=1000&filter={filter}")));
    external_ids(&items).into_iter().map(str::to_owned).collect()
}
