//! Parses CQL2 text by recursive descent.

use super::{
    Comparison, Condition, Context, Filter, GeometryOperand, MAX_DEPTH, ParseError, Period,
    PropertyKind, Scalar,
    builder::Builder,
    geometry::{MAX_COLLECTIONS, from_numbers},
    lexer::{self, Token},
    spatial_relation, temporal_relation,
};
use groma_geo::{Geometry, Line, Position, Rings};

pub(super) fn parse(text: &str, context: Context<'_>) -> Result<Filter> {
    let tokens = lexer::tokens(text)?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0, builder: Builder::new(context) };
    let condition = parser.condition()?;
    match parser.peek() {
        Token::End => Ok(parser.builder.finish(condition)),
        _ => Err(parser.error("expected AND, OR or the end of the filter")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
    builder: Builder<'a>,
}

type Result<T> = std::result::Result<T, ParseError>;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(token, _)| token)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    /// The byte where the next token begins.
    fn place(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |(_, at)| *at)
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        lexer::error(self.text, self.place(), message)
    }

    /// The same result, with an error about what begins at a byte of the text.
    fn at<T>(&self, place: usize, result: std::result::Result<T, String>) -> Result<T> {
        result.map_err(|message| lexer::error(self.text, place, message))
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn accept_keyword(&mut self, keyword: &str) -> bool {
        let is_keyword = self.is_keyword(keyword);
        self.next += usize::from(is_keyword);
        is_keyword
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let is_symbol = matches!(self.peek(), Token::Symbol(other) if *other == symbol);
        self.next += usize::from(is_symbol);
        is_symbol
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        match self.accept(symbol) {
            true => Ok(()),
            false => Err(self.error(format!("expected `{symbol}`"))),
        }
    }

    /// The name of the function that is called next, in lower case.
    fn function(&self) -> Option<String> {
        let is_call = matches!(self.tokens.get(self.next + 1), Some((Token::Symbol("("), _)));
        match self.peek() {
            Token::Word(word) if is_call => Some(word.to_ascii_lowercase()),
            _ => None,
        }
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn condition(&mut self) -> Result<Condition> {
        let mut parts = vec![self.conjunction()?];
        while self.accept_keyword("or") {
            parts.push(self.conjunction()?);
        }
        Ok(single(parts, Condition::Or))
    }

    fn conjunction(&mut self) -> Result<Condition> {
        let mut parts = vec![self.negation()?];
        while self.accept_keyword("and") {
            parts.push(self.negation()?);
        }
        Ok(single(parts, Condition::And))
    }

    fn negation(&mut self) -> Result<Condition> {
        if self.accept_keyword("not") {
            let part = self.nested(Self::negation)?;
            return Ok(Condition::Not(Box::new(part)));
        }
        if self.accept("(") {
            let condition = self.nested(Self::condition)?;
            self.expect(")")?;
            return Ok(condition);
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Result<Condition> {
        if let Some(name) = self.function() {
            if let Some(relation) = spatial_relation(&name) {
                let (left, right) = self.arguments(Self::geometry)?;
                return Ok(self.builder.spatial(relation, left, right));
            }
            if let Some(relation) = temporal_relation(&name) {
                let (left, right) = self.arguments(Self::period)?;
                return Ok(Builder::temporal(relation, left, right));
            }
        }
        if let Some(condition) = self.null_test()? {
            return Ok(condition);
        }
        let place = self.place();
        let value = self.scalar()?;
        let is_negated = self.accept_keyword("not");
        let condition = if self.accept_keyword("like") {
            let pattern = self.scalar()?;
            self.at(place, Builder::like(value, &pattern))?
        } else if self.accept_keyword("between") {
            let low = self.scalar()?;
            if !self.accept_keyword("and") {
                return Err(self.error("expected AND"));
            }
            let high = self.scalar()?;
            self.at(place, Builder::between(value, low, high))?
        } else if self.accept_keyword("in") {
            let list = self.list(Self::scalar)?;
            self.at(place, Builder::within_list(value, list))?
        } else if is_negated {
            return Err(self.error("expected LIKE, BETWEEN or IN"));
        } else {
            return self.comparison(place, value);
        };
        Ok(if is_negated { Condition::Not(Box::new(condition)) } else { condition })
    }

    fn comparison(&mut self, place: usize, value: Scalar) -> Result<Condition> {
        let operator = match self.peek() {
            Token::Symbol(symbol) => Comparison::parse(symbol),
            _ => None,
        };
        match (operator, value) {
            (Some(operator), value) => {
                self.next += 1;
                let right = self.scalar()?;
                self.at(place, Builder::compare(operator, value, right))
            }
            (None, Scalar::Boolean(value)) => Ok(Condition::Constant(value)),
            // A property alone, as QGIS sends it for a box that is ticked.
            (None, value) if value.kind() == PropertyKind::Boolean => {
                self.at(place, Builder::compare(Comparison::Equal, value, Scalar::Boolean(true)))
            }
            (None, _) => Err(self.error("expected a comparison such as `=`, LIKE or IS NULL")),
        }
    }

    /// `name IS NULL`, where the property can be a geometry.
    fn null_test(&mut self) -> Result<Option<Condition>> {
        let is_test = matches!(self.tokens.get(self.next + 1), Some((Token::Word(word), _)) if word.eq_ignore_ascii_case("is"));
        let name = match self.peek() {
            Token::Word(name) | Token::QuotedName(name) if is_test => name.clone(),
            _ => return Ok(None),
        };
        let test = self.at(self.place(), self.builder.is_null(&name))?;
        self.next += 2;
        let is_negated = self.accept_keyword("not");
        if !self.accept_keyword("null") {
            return Err(self.error("expected NULL"));
        }
        Ok(Some(if is_negated { Condition::Not(Box::new(test)) } else { test }))
    }

    fn scalar(&mut self) -> Result<Scalar> {
        let place = self.place();
        if let Some(name) = self.function() {
            self.next += 2;
            let scalar = match name.as_str() {
                "date" | "timestamp" => {
                    let Token::Text(text) = self.take() else {
                        self.next -= 1;
                        return Err(self.error("expected a text"));
                    };
                    let parse = if name == "date" { Builder::date } else { Builder::timestamp };
                    self.at(place, parse(&text))?
                }
                "casei" | "accenti" => {
                    let operand = self.nested(Self::scalar)?;
                    let fold = if name == "casei" { Scalar::FoldCase } else { Scalar::FoldAccents };
                    self.at(place, Builder::folded(operand, fold))?
                }
                _ => {
                    return Err(lexer::error(
                        self.text,
                        place,
                        format!("the function `{name}` is unknown"),
                    ));
                }
            };
            self.expect(")")?;
            return Ok(scalar);
        }
        match self.take() {
            Token::Text(text) => Ok(Scalar::Text(text)),
            Token::Number(number) => Ok(Scalar::Number(number)),
            Token::Symbol("-") => match self.take() {
                Token::Number(number) => Ok(Scalar::Number(-number)),
                _ => Err(lexer::error(self.text, place, "expected a number")),
            },
            Token::QuotedName(name) => self.at(place, self.builder.scalar(&name)),
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Ok(Scalar::Boolean(true)),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Ok(Scalar::Boolean(false)),
            Token::Word(name) => self.at(place, self.builder.scalar(&name)),
            Token::Symbol(_) | Token::End => {
                Err(lexer::error(self.text, place, "expected a property or a value"))
            }
        }
    }

    fn list<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect("(")?;
        let mut list = vec![parse(self)?];
        while self.accept(",") {
            list.push(parse(self)?);
        }
        self.expect(")")?;
        Ok(list)
    }

    /// The two arguments of a function.
    fn arguments<T>(&mut self, parse: impl Fn(&mut Self) -> Result<T>) -> Result<(T, T)> {
        self.next += 1;
        self.expect("(")?;
        let left = parse(self)?;
        self.expect(",")?;
        let right = parse(self)?;
        self.expect(")")?;
        Ok((left, right))
    }

    fn period(&mut self) -> Result<Period> {
        let place = self.place();
        if self.function().as_deref() != Some("interval") {
            let instant = self.scalar()?;
            return self.at(place, Builder::instant(instant));
        }
        let (start, end) = self.arguments(|parser| {
            let place = parser.place();
            match parser.scalar()? {
                Scalar::Text(text) => parser.at(place, Builder::interval_end(&text)),
                scalar => Ok(Some(scalar)),
            }
        })?;
        self.at(place, Builder::interval(start, end))
    }

    fn geometry(&mut self) -> Result<GeometryOperand> {
        let place = self.place();
        if self.function().as_deref() == Some("bbox") {
            self.next += 1;
            let numbers = self.list(Self::number)?;
            let geometry = self.builder.bbox(&numbers);
            return self.at(place, geometry);
        }
        let is_name = !matches!(self.tokens.get(self.next + 1), Some((Token::Symbol("("), _)))
            && !matches!(self.tokens.get(self.next + 2), Some((Token::Symbol("("), _)));
        match self.peek().clone() {
            Token::QuotedName(name) => {
                self.next += 1;
                self.at(place, self.builder.geometry_property(&name))
            }
            Token::Word(name) if is_name => {
                self.next += 1;
                self.at(place, self.builder.geometry_property(&name))
            }
            _ => {
                let geometry = self.well_known_text(0)?;
                let geometry = self.builder.geometry(geometry);
                self.at(place, geometry)
            }
        }
    }

    fn well_known_text(&mut self, depth: usize) -> Result<Geometry> {
        let place = self.place();
        if depth > MAX_COLLECTIONS {
            return Err(self.error("the geometry collections are nested too deeply"));
        }
        let Token::Word(name) = self.take() else {
            return Err(lexer::error(self.text, place, "expected a geometry"));
        };
        self.accept_keyword("z");
        Ok(match name.to_ascii_uppercase().as_str() {
            "POINT" => {
                self.expect("(")?;
                let position = self.position()?;
                self.expect(")")?;
                Geometry::Point(position)
            }
            "LINESTRING" => Geometry::LineString(self.line()?),
            "POLYGON" => Geometry::Polygon(self.polygon()?),
            "MULTIPOINT" => Geometry::MultiPoint(self.list(Self::point)?),
            "MULTILINESTRING" => Geometry::MultiLineString(self.list(Self::line)?),
            "MULTIPOLYGON" => Geometry::MultiPolygon(self.list(Self::polygon)?),
            "GEOMETRYCOLLECTION" => {
                Geometry::Collection(self.list(|parser| parser.well_known_text(depth + 1))?)
            }
            _ => return Err(lexer::error(self.text, place, "expected a geometry")),
        })
    }

    /// A point of a multipoint, with or without parentheses.
    fn point(&mut self) -> Result<Position> {
        let has_parentheses = self.accept("(");
        let position = self.position()?;
        if has_parentheses {
            self.expect(")")?;
        }
        Ok(position)
    }

    fn line(&mut self) -> Result<Line> {
        self.list(Self::position)
    }

    fn polygon(&mut self) -> Result<Rings> {
        self.list(Self::line)
    }

    fn position(&mut self) -> Result<Position> {
        let place = self.place();
        let mut numbers = Vec::new();
        while matches!(self.peek(), Token::Number(_) | Token::Symbol("-")) {
            numbers.push(self.number()?);
        }
        self.at(place, from_numbers(&numbers))
    }

    fn number(&mut self) -> Result<f64> {
        let place = self.place();
        let is_negative = self.accept("-");
        match self.take() {
            Token::Number(number) => Ok(if is_negative { -number } else { number }),
            _ => Err(lexer::error(self.text, place, "expected a number")),
        }
    }
}

fn single(mut parts: Vec<Condition>, join: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}
