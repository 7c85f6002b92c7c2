//! Builds conditions of both encodings, and checks the types of their operands.

use super::{
    Comparison, Condition, Context, Filter, GeometryOperand, Instant, Literal, MAX_POSITIONS,
    Pattern, Period, Property, PropertyKind, Scalar, TemporalRelation, geometry, value::Value,
};
use groma_geo::{Geometry, Relation, Shape};
use std::iter;

/// Builds the conditions of a filter. The errors are without a position.
pub(super) struct Builder<'a> {
    context: Context<'a>,
    geometries: Vec<Literal>,
    positions: usize,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Builder<'a> {
    pub(super) fn new(context: Context<'a>) -> Self {
        Self { context, geometries: Vec::new(), positions: 0 }
    }

    pub(super) fn finish(self, condition: Condition) -> Filter {
        Filter { condition, geometries: self.geometries }
    }

    pub(super) fn property(&self, name: &str) -> Result<&'a Property> {
        let found = self.context.properties.iter().find(|property| property.name == name);
        found.ok_or_else(|| format!("the property `{name}` is unknown"))
    }

    /// A property that is not a geometry.
    pub(super) fn scalar(&self, name: &str) -> Result<Scalar> {
        let property = self.property(name)?;
        match property.kind {
            PropertyKind::Geometry => Err(format!("the property `{name}` is a geometry")),
            _ => Ok(Scalar::Property(property.clone())),
        }
    }

    pub(super) fn geometry_property(&self, name: &str) -> Result<GeometryOperand> {
        match self.property(name)?.kind {
            PropertyKind::Geometry => Ok(GeometryOperand::Item),
            _ => Err(format!("the property `{name}` is not a geometry")),
        }
    }

    pub(super) fn is_null(&self, name: &str) -> Result<Condition> {
        let property = self.property(name)?;
        Ok(match property.kind {
            PropertyKind::Geometry => Condition::HasNoGeometry,
            _ => Condition::IsNull(Scalar::Property(property.clone())),
        })
    }

    pub(super) fn date(text: &str) -> Result<Scalar> {
        let date = Instant::parse_date(text).map(Scalar::Instant);
        date.ok_or_else(|| format!("`{text}` is not a date such as 2026-11-15"))
    }

    pub(super) fn timestamp(text: &str) -> Result<Scalar> {
        let time = Instant::parse_time(text).map(Scalar::Instant);
        time.ok_or_else(|| format!("`{text}` is not a time such as 2026-11-15T12:00:00Z"))
    }

    /// An end of an interval: a date, a time, or `..`.
    pub(super) fn interval_end(text: &str) -> Result<Option<Scalar>> {
        match text {
            ".." => Ok(None),
            text => Ok(Some(Self::timestamp(text).or_else(|_| Self::date(text))?)),
        }
    }

    pub(super) fn interval(start: Option<Scalar>, end: Option<Scalar>) -> Result<Period> {
        for side in [&start, &end].into_iter().flatten() {
            require_instant(side)?;
        }
        if let (Some(Scalar::Instant(start)), Some(Scalar::Instant(end))) = (&start, &end)
            && start.first > end.last
        {
            return Err("the interval ends before it begins".to_owned());
        }
        Ok(Period::Interval(start, end))
    }

    pub(super) fn instant(scalar: Scalar) -> Result<Period> {
        require_instant(&scalar)?;
        Ok(Period::Instant(scalar))
    }

    pub(super) fn temporal(relation: TemporalRelation, left: Period, right: Period) -> Condition {
        Condition::Temporal { relation, left, right }
    }

    pub(super) fn compare(
        operator: Comparison,
        mut left: Scalar,
        mut right: Scalar,
    ) -> Result<Condition> {
        unify(&mut left, &mut right)?;
        Ok(Condition::Compare { operator, left, right })
    }

    pub(super) fn between(
        mut value: Scalar,
        mut low: Scalar,
        mut high: Scalar,
    ) -> Result<Condition> {
        unify(&mut value, &mut low)?;
        unify(&mut value, &mut high)?;
        if value.kind() == PropertyKind::Boolean {
            return Err("booleans have no order".to_owned());
        }
        Ok(Condition::Between { value, low, high })
    }

    pub(super) fn within_list(mut value: Scalar, mut list: Vec<Scalar>) -> Result<Condition> {
        if list.is_empty() {
            return Err("the list is empty".to_owned());
        }
        for entry in &mut list {
            unify(&mut value, entry)?;
        }
        Ok(Condition::In { value, list })
    }

    pub(super) fn like(value: Scalar, pattern: &Scalar) -> Result<Condition> {
        if !matches!(value.kind(), PropertyKind::Text | PropertyKind::Any) {
            return Err("LIKE is for texts".to_owned());
        }
        match pattern.literal() {
            Some(Value::Text(text)) => Ok(Condition::Like { value, pattern: Pattern::new(&text) }),
            _ => Err("the pattern must be a text".to_owned()),
        }
    }

    pub(super) fn folded(
        operand: Scalar,
        fold: impl FnOnce(Box<Scalar>) -> Scalar,
    ) -> Result<Scalar> {
        match operand.kind() {
            PropertyKind::Text | PropertyKind::Any => Ok(fold(Box::new(operand))),
            _ => Err("CASEI and ACCENTI are for texts".to_owned()),
        }
    }

    /// A geometry of the filter, in the axis order of its reference system.
    pub(super) fn geometry(&mut self, mut geometry: Geometry) -> Result<GeometryOperand> {
        let mut count = 0;
        geometry.each_position(&mut |_| count += 1);
        self.positions += count;
        if self.positions > MAX_POSITIONS {
            return Err(format!("the geometries have more than {MAX_POSITIONS} positions"));
        }
        if self.context.is_northing_first {
            geometry.each_position_mut(&mut |at| (at.x, at.y) = (at.y, at.x));
        }
        geometry::check(&geometry, self.context.is_in_degrees)?;
        Ok(GeometryOperand::Literal(geometry))
    }

    /// A box of four or six numbers.
    pub(super) fn bbox(&mut self, numbers: &[f64]) -> Result<GeometryOperand> {
        let corners = match *numbers {
            [a, b, c, d] | [a, b, _, c, d, _] => [a, b, c, d],
            _ => return Err("a box has four or six numbers".to_owned()),
        };
        let [a, b, c, d] = corners;
        let corners = if self.context.is_northing_first { [b, a, d, c] } else { corners };
        self.positions += 5;
        Ok(GeometryOperand::Literal(geometry::of_box(corners, self.context.is_in_degrees)?))
    }

    pub(super) fn spatial(
        &mut self,
        relation: Relation,
        left: GeometryOperand,
        right: GeometryOperand,
    ) -> Condition {
        let (relation, literal) = match (left, right) {
            (GeometryOperand::Item, GeometryOperand::Item) => {
                return Condition::SpatialToItself(relation);
            }
            (GeometryOperand::Item, GeometryOperand::Literal(literal)) => (relation, literal),
            (GeometryOperand::Literal(literal), GeometryOperand::Item) => {
                (relation.reversed(), literal)
            }
            (GeometryOperand::Literal(one), GeometryOperand::Literal(two)) => {
                let (one, two) = (Shape::from(&one), Shape::from(&two));
                return Condition::Constant(two.prepare().is_related(&one, relation));
            }
        };
        let bounds = literal.bbox();
        self.geometries.push(Literal { shape: Shape::from(&literal), bounds });
        Condition::Spatial { relation, literal: self.geometries.len() - 1 }
    }
}

/// The filter of a property parameter.
pub(super) fn equals(property: &Property, text: &str) -> Result<Filter> {
    let number = || text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    let not = |what: &str| format!("must be {what}");
    let has =
        |value| Builder::compare(Comparison::Equal, Scalar::Property(property.clone()), value);
    let value = match property.kind {
        PropertyKind::Any => {
            let boolean = text.parse().ok().map(Scalar::Boolean);
            let others = [number().map(Scalar::Number), boolean].into_iter().flatten();
            let values = iter::once(Scalar::Text(text.to_owned())).chain(others);
            let condition = Condition::Or(values.map(has).collect::<Result<_>>()?);
            return Ok(Filter { condition, geometries: Vec::new() });
        }
        PropertyKind::Text => Scalar::Text(text.to_owned()),
        PropertyKind::Number => Scalar::Number(number().ok_or_else(|| not("a number"))?),
        PropertyKind::Boolean => Scalar::Boolean(text.parse().map_err(|_| not("true or false"))?),
        PropertyKind::Instant => {
            Scalar::Instant(Instant::parse(text).ok_or_else(|| not("a date or a time"))?)
        }
        PropertyKind::Geometry => return Err(not("used in a filter")),
    };
    Ok(Filter { condition: has(value)?, geometries: Vec::new() })
}

fn require_instant(scalar: &Scalar) -> Result<()> {
    match scalar.kind() {
        PropertyKind::Instant | PropertyKind::Any | PropertyKind::Text => Ok(()),
        _ => Err("must be a date or a time".to_owned()),
    }
}

/// Checks that two operands can be compared. A text beside a date is read as one.
fn unify(left: &mut Scalar, right: &mut Scalar) -> Result<()> {
    let kinds = [left.kind(), right.kind()];
    for (one, other) in [(&mut *left, kinds[1]), (&mut *right, kinds[0])] {
        if let (Scalar::Text(text), PropertyKind::Instant) = (&one, other) {
            let instant = Instant::parse(text);
            *one = Scalar::Instant(
                instant.ok_or_else(|| format!("`{text}` is not a date or a time"))?,
            );
        }
    }
    match (left.kind(), right.kind()) {
        (PropertyKind::Any, _) | (_, PropertyKind::Any) => Ok(()),
        (PropertyKind::Instant, PropertyKind::Text)
        | (PropertyKind::Text, PropertyKind::Instant) => Ok(()),
        (one, other) if one == other => Ok(()),
        (one, other) => Err(format!("{} cannot be compared with {}", one.noun(), other.noun())),
    }
}

impl PropertyKind {
    fn noun(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Instant => "a date or time",
            Self::Any => "a value",
            Self::Geometry => "a geometry",
        }
    }
}

impl Scalar {
    pub(super) fn kind(&self) -> PropertyKind {
        match self {
            Self::Property(property) => property.kind,
            Self::Text(_) | Self::FoldCase(_) | Self::FoldAccents(_) => PropertyKind::Text,
            Self::Number(_) => PropertyKind::Number,
            Self::Boolean(_) => PropertyKind::Boolean,
            Self::Instant(_) => PropertyKind::Instant,
        }
    }
}
