//! The query parameters of a request.

use super::cursor::Cursor;
use crate::http::HttpError;
use groma_domain::FieldError;

/// Query parameters, each known and given once.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query string. Unknown parameters are rejected, as the standard requires.
    pub(super) fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, HttpError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&&*name) {
                return Err(invalid(&name, format!("is unknown; known are {}", known.join(", "))));
            }
            // The decoder replaces invalid bytes by U+FFFD.
            if value.contains(char::REPLACEMENT_CHARACTER) {
                return Err(invalid(&name, "must be valid UTF-8"));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(invalid(&name, "must be given once"));
            }
            pairs.push((name.into_owned(), value.into_owned()));
        }
        let parameters = Self(pairs);
        match parameters.get("f") {
            None | Some("json" | "geojson") => Ok(parameters),
            Some(_) => Err(invalid("f", "must be json or html")),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The query string with another cursor, or without one.
    pub(super) fn query_string(&self, cursor: &Cursor) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.0.iter().filter(|(name, _)| name != "cursor"));
        if !cursor.is_start() {
            query.append_pair("cursor", &cursor.to_string());
        }
        query.finish()
    }
}

/// The error for an invalid value of a parameter.
pub(super) fn invalid(name: &str, message: impl Into<String>) -> HttpError {
    let message: String = message.into();
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    HttpError::bad_parameter(&FieldError::new(name, message))
}
