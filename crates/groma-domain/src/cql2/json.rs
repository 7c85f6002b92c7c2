//! Parses CQL2 JSON.

use super::{
    Comparison, Condition, Context, Filter, GeometryOperand, MAX_DEPTH, ParseError, Period, Place,
    Scalar, builder::Builder, geometry, spatial_relation, temporal_relation,
};
use serde_json::{Map, Value};

pub(super) fn parse(json: &str, context: Context<'_>) -> Result<Filter> {
    let value: Value = serde_json::from_str(json).map_err(|error| ParseError {
        position: Place::Pointer(String::new()),
        message: format!("must be valid JSON: {error}"),
    })?;
    let mut parser = Parser { builder: Builder::new(context), depth: 0 };
    let condition = parser.condition(&value, &Pointer::Root)?;
    Ok(parser.builder.finish(condition))
}

/// Where a value stands.
enum Pointer<'a> {
    Root,
    Argument(&'a Pointer<'a>, usize),
    Entry(&'a Pointer<'a>, usize),
    Member(&'a Pointer<'a>, &'static str, usize),
}

impl Pointer<'_> {
    fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Argument(parent, index) => format!("{}/args/{index}", parent.text()),
            Self::Entry(parent, index) => format!("{}/{index}", parent.text()),
            Self::Member(parent, name, index) => format!("{}/{name}/{index}", parent.text()),
        }
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { position: Place::Pointer(self.text()), message: message.into() }
    }

    fn at<T>(&self, result: std::result::Result<T, String>) -> Result<T> {
        result.map_err(|message| self.error(message))
    }
}

type Result<T> = std::result::Result<T, ParseError>;

struct Parser<'a> {
    builder: Builder<'a>,
    depth: usize,
}

/// An operation: its name in lower case and its arguments.
fn operation<'v>(value: &'v Value, at: &Pointer<'_>) -> Result<Option<(String, &'v [Value])>> {
    let Some(name) = value.get("op") else { return Ok(None) };
    let name = name.as_str().ok_or_else(|| at.error("`op` must be a text"))?;
    let arguments = value.get("args").and_then(Value::as_array);
    let arguments = arguments.ok_or_else(|| at.error("`args` must be a list"))?;
    Ok(Some((name.to_ascii_lowercase(), arguments)))
}

/// The arguments of an operation that takes this many.
fn exactly<'v, const N: usize>(arguments: &'v [Value], at: &Pointer<'_>) -> Result<&'v [Value; N]> {
    arguments.try_into().map_err(|_| at.error(format!("must have {N} arguments")))
}

fn property_name(value: &Value) -> Option<&str> {
    value.get("property").and_then(Value::as_str)
}

impl Parser<'_> {
    fn condition(&mut self, value: &Value, at: &Pointer<'_>) -> Result<Condition> {
        if let Some(value) = value.as_bool() {
            return Ok(Condition::Constant(value));
        }
        if self.depth == MAX_DEPTH {
            return Err(at.error(format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let condition = self.operation(value, at);
        self.depth -= 1;
        condition
    }

    fn operation(&mut self, value: &Value, at: &Pointer<'_>) -> Result<Condition> {
        let Some((name, arguments)) = operation(value, at)? else {
            return Err(at.error("must be an operation with `op` and `args`, or a boolean"));
        };
        if let Some(operator) = Comparison::parse(&name) {
            let [left, right] = self.scalars(arguments, at)?;
            return at.at(Builder::compare(operator, left, right));
        }
        if let Some(relation) = spatial_relation(&name) {
            let [left, right] = exactly(arguments, at)?;
            let left = self.geometry(left, &Pointer::Argument(at, 0))?;
            let right = self.geometry(right, &Pointer::Argument(at, 1))?;
            return Ok(self.builder.spatial(relation, left, right));
        }
        if let Some(relation) = temporal_relation(&name) {
            let [left, right] = exactly(arguments, at)?;
            let left = self.period(left, &Pointer::Argument(at, 0))?;
            let right = self.period(right, &Pointer::Argument(at, 1))?;
            return Ok(Builder::temporal(relation, left, right));
        }
        match name.as_str() {
            "and" => Ok(Condition::And(self.conditions(arguments, at)?)),
            "or" => Ok(Condition::Or(self.conditions(arguments, at)?)),
            "not" => {
                let [part] = exactly(arguments, at)?;
                let part = self.condition(part, &Pointer::Argument(at, 0))?;
                Ok(Condition::Not(Box::new(part)))
            }
            "like" => {
                let [value, pattern] = self.scalars(arguments, at)?;
                at.at(Builder::like(value, &pattern))
            }
            "between" => {
                let [value, low, high] = self.scalars(arguments, at)?;
                at.at(Builder::between(value, low, high))
            }
            "in" => self.in_list(arguments, at),
            "isnull" => {
                let [operand] = exactly(arguments, at)?;
                let at = Pointer::Argument(at, 0);
                let name = property_name(operand).ok_or_else(|| at.error("must be a property"))?;
                at.at(self.builder.is_null(name))
            }
            name => Err(at.error(format!("the operation `{name}` is unknown"))),
        }
    }

    fn conditions(&mut self, arguments: &[Value], at: &Pointer<'_>) -> Result<Vec<Condition>> {
        if arguments.len() < 2 {
            return Err(at.error("must have two or more arguments"));
        }
        let arguments = arguments.iter().enumerate();
        arguments.map(|(index, part)| self.condition(part, &Pointer::Argument(at, index))).collect()
    }

    fn in_list(&mut self, arguments: &[Value], at: &Pointer<'_>) -> Result<Condition> {
        let [value, list] = exactly(arguments, at)?;
        let value = self.scalar(value, &Pointer::Argument(at, 0))?;
        let of_list = Pointer::Argument(at, 1);
        let list = list.as_array().ok_or_else(|| of_list.error("must be a list"))?;
        let entries = list.iter().enumerate();
        let entries =
            entries.map(|(index, entry)| self.scalar(entry, &Pointer::Entry(&of_list, index)));
        let list = entries.collect::<Result<_>>()?;
        at.at(Builder::within_list(value, list))
    }

    fn scalars<const N: usize>(
        &mut self,
        arguments: &[Value],
        at: &Pointer<'_>,
    ) -> Result<[Scalar; N]> {
        let arguments: &[Value; N] = exactly(arguments, at)?;
        let scalars = arguments.iter().enumerate();
        let scalars = scalars.map(|(index, one)| self.scalar(one, &Pointer::Argument(at, index)));
        let scalars = scalars.collect::<Result<Vec<_>>>()?;
        scalars.try_into().map_err(|_| at.error(format!("must have {N} arguments")))
    }

    fn scalar(&mut self, value: &Value, at: &Pointer<'_>) -> Result<Scalar> {
        match value {
            Value::String(text) => Ok(Scalar::Text(text.clone())),
            Value::Bool(value) => Ok(Scalar::Boolean(*value)),
            Value::Number(number) => {
                let number = number.as_f64().filter(|number| number.is_finite());
                Ok(Scalar::Number(number.ok_or_else(|| at.error("is not a number"))?))
            }
            Value::Object(object) => self.scalar_object(value, object, at),
            Value::Null | Value::Array(_) => Err(at.error("must be a property or a value")),
        }
    }

    fn scalar_object(
        &mut self,
        value: &Value,
        object: &Map<String, Value>,
        at: &Pointer<'_>,
    ) -> Result<Scalar> {
        let text = |member: &str| object.get(member).and_then(Value::as_str);
        if let Some(name) = text("property") {
            return at.at(self.builder.scalar(name));
        }
        if let Some(date) = text("date") {
            return at.at(Builder::date(date));
        }
        if let Some(time) = text("timestamp") {
            return at.at(Builder::timestamp(time));
        }
        let Some((name, arguments)) = operation(value, at)? else {
            return Err(at.error("must be a property or a value"));
        };
        let fold = match name.as_str() {
            "casei" => Scalar::FoldCase,
            "accenti" => Scalar::FoldAccents,
            _ => return Err(at.error(format!("the function `{name}` is unknown"))),
        };
        if self.depth == MAX_DEPTH {
            return Err(at.error(format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let [operand] = exactly(arguments, at)?;
        let operand = self.scalar(operand, &Pointer::Argument(at, 0))?;
        self.depth -= 1;
        at.at(Builder::folded(operand, fold))
    }

    fn period(&mut self, value: &Value, at: &Pointer<'_>) -> Result<Period> {
        let Some(interval) = value.get("interval") else {
            let instant = self.scalar(value, at)?;
            return at.at(Builder::instant(instant));
        };
        let ends = interval.as_array().map(Vec::as_slice);
        let Some([start, end]) = ends else {
            return Err(at.error("`interval` must be a list of two ends"));
        };
        let mut end_of = |value: &Value, index| {
            let at = Pointer::Member(at, "interval", index);
            match self.scalar(value, &at)? {
                Scalar::Text(text) => at.at(Builder::interval_end(&text)),
                scalar => Ok(Some(scalar)),
            }
        };
        let (start, end) = (end_of(start, 0)?, end_of(end, 1)?);
        at.at(Builder::interval(start, end))
    }

    fn geometry(&mut self, value: &Value, at: &Pointer<'_>) -> Result<GeometryOperand> {
        if let Some(name) = property_name(value) {
            return at.at(self.builder.geometry_property(name));
        }
        if let Some(numbers) = value.get("bbox").filter(|_| value.get("type").is_none()) {
            let numbers = numbers.as_array().map(|list| list.iter().map(Value::as_f64).collect());
            let numbers: Option<Option<Vec<f64>>> = numbers;
            let numbers = numbers.flatten().filter(|list| list.iter().all(|n| n.is_finite()));
            let numbers = numbers.ok_or_else(|| at.error("`bbox` must be a list of numbers"))?;
            return at.at(self.builder.bbox(&numbers));
        }
        let object = value.as_object().ok_or_else(|| at.error("must be a geometry"))?;
        let geometry = at.at(geometry::from_geojson(object, 0))?;
        at.at(self.builder.geometry(geometry))
    }
}
