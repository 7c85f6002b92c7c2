//! Filters in CQL2, the query language of the OGC API, as text and as JSON.
//!
//! A filter is parsed against the properties that it may use, and evaluated on one item after another. The
//! outcome is true, false or unknown, by the rules of SQL for nulls.

mod builder;
mod candidates;
mod evaluate;
mod geometry;
mod json;
mod lexer;
mod like;
mod properties;
mod text;
mod value;

pub use candidates::{Candidates, ValueRange};
pub use evaluate::Item;
pub use properties::Properties;
pub use value::{Instant, Value, sort_key, value_key};

use groma_geo::{Bbox, Geometry, Relation, Shape};
use like::Pattern;
use std::fmt;

/// Filters that are nested deeper are rejected.
pub const MAX_DEPTH: usize = 64;
/// The most positions of the geometries of a filter.
pub const MAX_POSITIONS: usize = 10_000;

/// A property that filters can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: PropertyKind,
}

/// The type of a property's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// Texts.
    Text,
    /// Numbers.
    Number,
    /// Booleans.
    Boolean,
    /// Dates and times.
    Instant,
    /// Values of any type.
    Any,
    /// The geometry of the item.
    Geometry,
}

/// What a filter is parsed with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The properties that it may use.
    pub properties: &'a [Property],
    /// Whether its coordinates have the northing first.
    pub is_northing_first: bool,
    /// Whether its coordinates are degrees in WGS 84.
    pub is_in_degrees: bool,
}

/// Why a filter is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where: a character of the text, counted from 1, or a JSON pointer.
    pub position: Place,
    /// What is wrong.
    pub message: String,
}

/// A place in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A character of the text, counted from 1.
    Character(usize),
    /// A JSON pointer.
    Pointer(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.position {
            Place::Character(position) => write!(f, "at character {position}: {}", self.message),
            Place::Pointer(pointer) if pointer.is_empty() => f.write_str(&self.message),
            Place::Pointer(pointer) => write!(f, "at `{pointer}`: {}", self.message),
        }
    }
}

/// A filter.
#[derive(Clone, Debug)]
pub struct Filter {
    condition: Condition,
    geometries: Vec<Literal>,
}

/// A part of a filter that is true, false or unknown.
#[derive(Clone, Debug)]
enum Condition {
    Constant(bool),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        operator: Comparison,
        left: Scalar,
        right: Scalar,
    },
    Between {
        value: Scalar,
        low: Scalar,
        high: Scalar,
    },
    In {
        value: Scalar,
        list: Vec<Scalar>,
    },
    Like {
        value: Scalar,
        pattern: Pattern,
    },
    IsNull(Scalar),
    HasNoGeometry,
    /// The relation of the item's geometry to a geometry of the filter.
    Spatial {
        relation: Relation,
        literal: usize,
    },
    /// The relation of the item's geometry to itself.
    SpatialToItself(Relation),
    Temporal {
        relation: TemporalRelation,
        left: Period,
        right: Period,
    },
}

/// An operator of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    const NAMES: [(&str, Self); 6] = [
        ("=", Self::Equal),
        ("<>", Self::NotEqual),
        ("<", Self::Less),
        ("<=", Self::AtMost),
        (">", Self::Greater),
        (">=", Self::AtLeast),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(other, _)| *other == name).map(|(_, operator)| *operator)
    }

    /// The operator with its sides swapped.
    fn reversed(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            other => other,
        }
    }
}

/// An expression with a value.
#[derive(Clone, Debug)]
enum Scalar {
    Property(Property),
    Text(String),
    Number(f64),
    Boolean(bool),
    Instant(Instant),
    FoldCase(Box<Scalar>),
    FoldAccents(Box<Scalar>),
}

/// An instant or an interval.
#[derive(Clone, Debug)]
enum Period {
    Instant(Scalar),
    /// `None` is an open end.
    Interval(Option<Scalar>, Option<Scalar>),
}

/// A relation of two periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemporalRelation {
    After,
    Before,
    Contains,
    Disjoint,
    During,
    Equals,
    FinishedBy,
    Finishes,
    Intersects,
    Meets,
    MetBy,
    OverlappedBy,
    Overlaps,
    StartedBy,
    Starts,
}

impl TemporalRelation {
    const NAMES: [(&str, Self); 15] = [
        ("after", Self::After),
        ("before", Self::Before),
        ("contains", Self::Contains),
        ("disjoint", Self::Disjoint),
        ("during", Self::During),
        ("equals", Self::Equals),
        ("finishedby", Self::FinishedBy),
        ("finishes", Self::Finishes),
        ("intersects", Self::Intersects),
        ("meets", Self::Meets),
        ("metby", Self::MetBy),
        ("overlappedby", Self::OverlappedBy),
        ("overlaps", Self::Overlaps),
        ("startedby", Self::StartedBy),
        ("starts", Self::Starts),
    ];
}

/// A geometry of a filter, easting first.
#[derive(Clone, Debug)]
struct Literal {
    shape: Shape,
    bounds: Option<Bbox>,
}

/// A geometry, or that of the item.
#[derive(Clone, Debug)]
enum GeometryOperand {
    Item,
    Literal(Geometry),
}

/// The relation that a function of this name tests, such as `s_within`.
fn spatial_relation(name: &str) -> Option<Relation> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("s_")?;
    Relation::NAMES.iter().find(|(other, _)| *other == name).map(|(_, relation)| *relation)
}

/// The relation that a function of this name tests, such as `t_during`.
fn temporal_relation(name: &str) -> Option<TemporalRelation> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("t_")?;
    TemporalRelation::NAMES.iter().find(|(other, _)| *other == name).map(|(_, relation)| *relation)
}

impl Filter {
    /// Parses CQL2 text.
    pub fn parse_text(text: &str, context: Context<'_>) -> Result<Self, ParseError> {
        text::parse(text, context)
    }

    /// Parses CQL2 JSON.
    pub fn parse_json(json: &str, context: Context<'_>) -> Result<Self, ParseError> {
        json::parse(json, context)
    }

    /// That a property has a value. One with values of any type can have it as a text, a number or a boolean.
    pub fn parse_value(property: &Property, value: &str) -> Result<Self, String> {
        builder::equals(property, value)
    }

    /// Whether it depends on geometries.
    #[must_use]
    pub fn is_spatial(&self) -> bool {
        self.condition.is_spatial()
    }

    /// Its geometries, which [`Item::relation`] names by their index.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.geometries.iter().map(|literal| &literal.shape)
    }
}

impl Condition {
    fn is_spatial(&self) -> bool {
        match self {
            Self::Spatial { .. } | Self::SpatialToItself(_) | Self::HasNoGeometry => true,
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::is_spatial),
            Self::Not(part) => part.is_spatial(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
