//! Evaluates filters on items.

use super::{
    Comparison, Condition, Filter, Instant, Period, PropertyKind, Scalar, TemporalRelation,
    value::Value,
};
use crate::text::{fold_accents, fold_case};
use groma_geo::Relation;
use std::{borrow::Cow, cmp::Ordering};

/// What a filter is evaluated on.
pub trait Item {
    /// The value of a property.
    fn value(&self, name: &str) -> Value<'_>;

    /// Whether there is no geometry.
    fn has_no_geometry(&self) -> bool;

    /// Whether the geometry has a relation to that shape of the filter; `None` if there is no geometry.
    fn relation(&self, relation: Relation, shape: usize) -> Option<bool>;

    /// Whether the geometry has a relation to itself; `None` if there is no geometry.
    fn relation_to_itself(&self, relation: Relation) -> Option<bool>;
}

impl Filter {
    /// Whether an item matches.
    pub fn matches(&self, item: &impl Item) -> bool {
        self.condition.evaluate(item) == Some(true)
    }
}

impl Condition {
    /// `None` is unknown.
    fn evaluate(&self, item: &impl Item) -> Option<bool> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::And(parts) => all(parts.iter().map(|part| part.evaluate(item))),
            Self::Or(parts) => {
                all(parts.iter().map(|part| part.evaluate(item).map(|value| !value)))
                    .map(|value| !value)
            }
            Self::Not(part) => part.evaluate(item).map(|value| !value),
            Self::Compare { operator, left, right } => {
                let order = left.evaluate(item).compare(&right.evaluate(item))?;
                Some(operator.accepts(order))
            }
            Self::Between { value, low, high } => {
                let value = value.evaluate(item);
                let above = value.compare(&low.evaluate(item)).map(|order| order != Ordering::Less);
                let below =
                    value.compare(&high.evaluate(item)).map(|order| order != Ordering::Greater);
                all([above, below].into_iter())
            }
            Self::In { value, list } => {
                let value = value.evaluate(item);
                let is_other =
                    |entry: &Scalar| value.compare(&entry.evaluate(item)).map(Ordering::is_ne);
                all(list.iter().map(is_other)).map(|value| !value)
            }
            Self::Like { value, pattern } => match value.evaluate(item) {
                Value::Text(text) => Some(pattern.matches(&text)),
                _ => None,
            },
            Self::IsNull(scalar) => Some(scalar.evaluate(item) == Value::Null),
            Self::HasNoGeometry => Some(item.has_no_geometry()),
            Self::Spatial { relation, literal } => item.relation(*relation, *literal),
            Self::SpatialToItself(relation) => item.relation_to_itself(*relation),
            Self::Temporal { relation, left, right } => {
                relation.holds(left.evaluate(item)?, right.evaluate(item)?)
            }
        }
    }
}

/// AND of SQL: false if one is false, otherwise unknown if one is unknown.
fn all(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(true);
    for value in values {
        match value {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

impl Comparison {
    fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl Scalar {
    fn evaluate<'a>(&'a self, item: &'a impl Item) -> Value<'a> {
        match self {
            Self::Property(property) => match (item.value(&property.name), property.kind) {
                // What is no date in a property of dates is not null.
                (value @ Value::Text(_), PropertyKind::Instant) => {
                    match value.clone().into_instant() {
                        Value::Null => value,
                        instant => instant,
                    }
                }
                (value, _) => value,
            },
            Self::FoldCase(operand) => operand.evaluate(item).map_text(fold_case),
            Self::FoldAccents(operand) => operand.evaluate(item).map_text(fold_accents),
            literal => literal.literal().unwrap_or(Value::Null),
        }
    }

    /// The value, if it does not depend on an item.
    pub(super) fn literal(&self) -> Option<Value<'_>> {
        Some(match self {
            Self::Property(_) => return None,
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Number(number) => Value::Number(*number),
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Instant(instant) => Value::Instant(*instant),
            Self::FoldCase(operand) => operand.literal()?.map_text(fold_case),
            Self::FoldAccents(operand) => operand.literal()?.map_text(fold_accents),
        })
    }

    fn instant(&self, item: &impl Item) -> Option<Instant> {
        match self.evaluate(item).into_instant() {
            Value::Instant(instant) => Some(instant),
            _ => None,
        }
    }
}

impl<'a> Value<'a> {
    fn map_text(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Text(text) => Self::Text(Cow::Owned(change(&text))),
            Self::Null => Self::Null,
            _ => Self::Other,
        }
    }
}

/// The ends of a period. Open ends are before and after everything.
#[derive(Clone, Copy)]
struct Ends(Instant, Instant);

const PAST: Instant = Instant { first: i64::MIN, last: i64::MIN };
const FUTURE: Instant = Instant { first: i64::MAX, last: i64::MAX };

impl Period {
    fn evaluate(&self, item: &impl Item) -> Option<Ends> {
        match self {
            Self::Instant(scalar) => {
                let instant = scalar.instant(item)?;
                Some(Ends(instant, instant))
            }
            Self::Interval(start, end) => {
                let side = |side: &Option<Scalar>, open| match side {
                    None => Some(open),
                    Some(scalar) => scalar.instant(item),
                };
                Some(Ends(side(start, PAST)?, side(end, FUTURE)?))
            }
        }
    }
}

impl TemporalRelation {
    fn holds(self, Ends(a1, a2): Ends, Ends(b1, b2): Ends) -> Option<bool> {
        let starts = a1.compare(b1);
        let ends = a2.compare(b2);
        // The start of one against the end of the other.
        let (start_to_end, end_to_start) = (a1.compare(b2), a2.compare(b1));
        let is_apart = start_to_end.is_gt() || end_to_start.is_lt();
        Some(match self {
            Self::After => start_to_end.is_gt(),
            Self::Before => end_to_start.is_lt(),
            Self::Contains => starts.is_lt() && ends.is_gt(),
            Self::Disjoint => is_apart,
            Self::During => starts.is_gt() && ends.is_lt(),
            Self::Equals => starts.is_eq() && ends.is_eq(),
            Self::FinishedBy => starts.is_lt() && ends.is_eq(),
            Self::Finishes => starts.is_gt() && ends.is_eq(),
            Self::Intersects => !is_apart,
            Self::Meets => end_to_start.is_eq(),
            Self::MetBy => start_to_end.is_eq(),
            Self::OverlappedBy => starts.is_gt() && start_to_end.is_lt() && ends.is_gt(),
            Self::Overlaps => starts.is_lt() && end_to_start.is_gt() && ends.is_lt(),
            Self::StartedBy => starts.is_eq() && ends.is_gt(),
            Self::Starts => starts.is_eq() && ends.is_lt(),
        })
    }
}
