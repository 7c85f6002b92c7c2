//! Compares features from a table with the stored ones. In a table, all features have the same columns in the
//! same order, and a number has no spelling: what only differs in that is no change.

use super::{StoredFeature, feature_spool::PreparedFeature};
use crate::Result;
use groma_geo::attributes;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// From this number of columns on, new features are stored without nulls: a feature can have only so many properties,
/// those that are null not counted.
const MANY: usize = 1_000;

/// Merges the features of a spool with the stored ones.
pub(super) struct ColumnMerge {
    /// The spool's numbers of the properties.
    numbers: HashMap<String, u32>,
}

impl ColumnMerge {
    pub(super) fn new(names: &[String]) -> Self {
        Self { numbers: names.iter().cloned().zip(0..).collect() }
    }

    /// Takes over what is stored where the feature says the same.
    pub(super) fn merge(&self, feature: &mut PreparedFeature, old: &StoredFeature) -> Result<()> {
        let before = serde_json::from_str(&old.properties)?;
        let merged = merged(before, serde_json::from_str(&feature.properties)?);
        self.replace(feature, &merged)
    }

    /// Drops the nulls of a new feature if the table has very many columns.
    pub(super) fn drop_nulls(&self, feature: &mut PreparedFeature) -> Result<()> {
        if self.numbers.len() <= MANY {
            return Ok(());
        }
        let properties = serde_json::from_str(&feature.properties)?;
        self.replace(feature, &merged(Map::new(), properties))
    }

    fn replace(
        &self,
        feature: &mut PreparedFeature,
        properties: &Map<String, Value>,
    ) -> Result<()> {
        feature.properties = serde_json::to_string(properties)?;
        let numbered = properties.iter();
        let numbered = numbered.filter_map(|(name, value)| Some((*self.numbers.get(name)?, value)));
        feature.attributes = attributes::encode(numbered);
        Ok(())
    }
}

fn merged(before: Map<String, Value>, mut after: Map<String, Value>) -> Map<String, Value> {
    let mut merged = Map::new();
    for (name, old) in before {
        if let Some(new) = after.remove(&name) {
            merged.insert(name, if is_same(&old, &new) { old } else { new });
        }
    }
    merged.extend(after.into_iter().filter(|(_, value)| !value.is_null()));
    merged
}

fn is_same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => match (old.as_i64(), new.as_i64()) {
            (Some(old), Some(new)) => old == new,
            _ => old.as_f64() == new.as_f64(),
        },
        _ => old == new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nulls_order_and_spelling_are_no_change() {
        let map = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let stored = r#"{"b":1.0,"a":null,"c":"x","d":12345678901234567890}"#;
        let sent = r#"{"a":null,"b":1,"c":"x","d":12345678901234567000.0,"other":null}"#;
        let same = merged(map(stored), map(sent));
        assert_eq!(serde_json::to_string(&same).unwrap(), stored);
        let changed = merged(map(stored), map(r#"{"a":2,"b":null,"c":"x","new":true}"#));
        assert_eq!(Value::Object(changed), json!({ "a": 2, "b": null, "c": "x", "new": true }));
    }
}
