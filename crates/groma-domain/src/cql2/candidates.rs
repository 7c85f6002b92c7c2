//! What an index can look up for a filter: values and boxes outside of which nothing matches.

use super::{
    Comparison, Condition, Filter, Instant, Period, Property, PropertyKind, Scalar,
    TemporalRelation,
    like::Pattern,
    value::{BOOLEAN, MAX_KEY_TEXT, NUMBER, TEXT, Value, text_key, value_key},
};
use crate::Timestamp;
use groma_geo::{Bbox, Relation};

const MILLIS_PER_DAY: i64 = 86_400_000;
/// The most ranges of a condition. More are not worth looking up.
const MAX_RANGES: usize = 200;

/// Values of a property, by their keys; both ends are included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRange {
    /// The name of the property.
    pub property: String,
    /// The key of the first value.
    pub first: Vec<u8>,
    /// The key of the last value.
    pub last: Vec<u8>,
}

/// Conditions that every match of a filter fulfils.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// A match has a value in one of the ranges of each of these lists.
    pub ranges: Vec<Vec<ValueRange>>,
    /// The geometry of a match meets each of these boxes, easting first.
    pub boxes: Vec<Bbox>,
}

impl Filter {
    /// What can be looked up in an index of these properties.
    pub fn candidates(&self, is_indexed: impl Fn(&str) -> bool) -> Candidates {
        let mut candidates = Candidates::default();
        self.add_candidates(&self.condition, &is_indexed, &mut candidates);
        candidates
    }

    fn add_candidates(
        &self,
        condition: &Condition,
        is_indexed: &impl Fn(&str) -> bool,
        candidates: &mut Candidates,
    ) {
        match condition {
            Condition::And(parts) => {
                for part in parts {
                    self.add_candidates(part, is_indexed, candidates);
                }
            }
            Condition::Spatial { relation, literal } if *relation != Relation::Disjoint => {
                candidates.boxes.extend(self.geometries.get(*literal).and_then(|one| one.bounds));
            }
            other => {
                let ranges = ranges(other, is_indexed);
                candidates.ranges.extend(ranges.filter(|ranges| ranges.len() <= MAX_RANGES));
            }
        }
    }
}

/// The values that a condition can be true for; `None` if an index is of no use.
fn ranges(condition: &Condition, is_indexed: &impl Fn(&str) -> bool) -> Option<Vec<ValueRange>> {
    let property = |scalar: &Scalar| match scalar {
        Scalar::Property(property) if is_indexed(&property.name) => Some(property.clone()),
        _ => None,
    };
    match condition {
        Condition::Or(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(|part| ranges(part, is_indexed)).collect();
            Some(parts?.into_iter().flatten().collect())
        }
        // One part is enough.
        Condition::And(parts) => parts.iter().find_map(|part| ranges(part, is_indexed)),
        Condition::Compare { operator, left, right } => {
            let (property, operator, value) = match (property(left), property(right)) {
                (Some(property), None) => (property, *operator, right.literal()?),
                (None, Some(property)) => (property, operator.reversed(), left.literal()?),
                _ => return None,
            };
            Some(vec![compared(property, operator, &value)?])
        }
        Condition::Between { value, low, high } => {
            let property = property(value)?;
            let first = compared(property.clone(), Comparison::AtLeast, &low.literal()?)?.first;
            let last = compared(property.clone(), Comparison::AtMost, &high.literal()?)?.last;
            Some(vec![ValueRange { property: property.name, first, last }])
        }
        Condition::In { value, list } => {
            let property = property(value)?;
            let range =
                |entry: &Scalar| compared(property.clone(), Comparison::Equal, &entry.literal()?);
            list.iter().map(range).collect()
        }
        Condition::Like { value, pattern } => Some(vec![like(property(value)?, pattern)?]),
        Condition::Temporal { relation, left, right } => {
            let Period::Instant(scalar) = left else { return None };
            let property = property(scalar)?;
            Some(vec![temporal(property, *relation, right)?])
        }
        _ => None,
    }
}

fn compared(property: Property, operator: Comparison, value: &Value<'_>) -> Option<ValueRange> {
    let (first, last) = match value {
        Value::Instant(instant) => (date_key(instant.first, -1), date_key(instant.last, 1)),
        // Texts are compared as dates.
        Value::Text(_) if property.kind == PropertyKind::Instant => return None,
        value => (value_key(value)?, value_key(value)?),
    };
    let kind = *first.first()?;
    let (first, last) = match operator {
        Comparison::Equal => (first, last),
        Comparison::Less | Comparison::AtMost => (vec![kind], last),
        Comparison::Greater | Comparison::AtLeast => (first, vec![kind + 1]),
        Comparison::NotEqual => return None,
    };
    debug_assert!([NUMBER, TEXT, BOOLEAN].contains(&kind), "keys begin with their type");
    Some(ValueRange { property: property.name, first, last })
}

/// A key before (`-1`) or after (`1`) every text of a time. Texts have any time zone, so a day is added.
fn date_key(millis: i64, side: i64) -> Vec<u8> {
    let date = Timestamp::from_millis(millis).plus_millis(side * MILLIS_PER_DAY).date();
    let mut key = text_key(&date.to_string());
    if side > 0 {
        key.push(0xff);
    }
    key
}

fn like(property: Property, pattern: &Pattern) -> Option<ValueRange> {
    let (prefix, is_open) = pattern.prefix();
    if prefix.is_empty() {
        return None;
    }
    let first = text_key(&prefix);
    let mut last = first.clone();
    if is_open && prefix.len() < MAX_KEY_TEXT {
        last.push(0xff);
    }
    Some(ValueRange { property: property.name, first, last })
}

fn temporal(property: Property, relation: TemporalRelation, period: &Period) -> Option<ValueRange> {
    let instant = |scalar: &Scalar| match scalar {
        Scalar::Instant(instant) => Some(*instant),
        _ => None,
    };
    let (start, end): (Option<Instant>, Option<Instant>) = match period {
        Period::Instant(scalar) => (Some(instant(scalar)?), Some(instant(scalar)?)),
        Period::Interval(start, end) => {
            let side = |side: &Option<Scalar>| match side {
                None => Some(None),
                Some(scalar) => instant(scalar).map(Some),
            };
            (side(start)?, side(end)?)
        }
    };
    let (start, end) = match relation {
        TemporalRelation::After => (end?.into(), None),
        TemporalRelation::Before => (None, start?.into()),
        TemporalRelation::Disjoint => return None,
        _ => (start, end),
    };
    let first = start.map_or(vec![TEXT], |start| date_key(start.first, -1));
    let last = end.map_or(vec![TEXT + 1], |end| date_key(end.last, 1));
    Some(ValueRange { property: property.name, first, last })
}
