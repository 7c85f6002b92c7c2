//! The field that identifies features, in files whose fields are only known once they were read.

use groma_geo::{
    Message,
    geojson::{DocumentError, ReadError},
    message,
};
use serde_json::{Map, Value};
use std::io;

/// How many fields the message for a file without the field names, and how much of each.
const MAX_SHOWN: usize = 50;
const MAX_SHOWN_CHARACTERS: usize = 100;

/// Finds the features of a file that have no value for the field.
pub(crate) struct IdField<'f> {
    name: Option<&'f str>,
    max_errors: usize,
    /// Whether a feature before had the field.
    is_found: bool,
    /// Some fields of the features before, as long as the field is not among them.
    others: Vec<String>,
    /// The first features without a value.
    without: Vec<DocumentError>,
}

impl<'f> IdField<'f> {
    /// `name` is that of the field; `None` if no field identifies the features.
    pub(crate) fn new(name: Option<&'f str>, max_errors: usize) -> Self {
        Self { name, max_errors, is_found: false, others: Vec::new(), without: Vec::new() }
    }

    /// Notes that the file has the field.
    pub(crate) fn set_found(&mut self) {
        self.is_found = true;
    }

    /// Whether a feature can be recognised. `id` is its value; `has_field` tells whether it has the field, be it null.
    pub(crate) fn check(
        &mut self,
        line: u64,
        id: Option<&str>,
        has_field: bool,
        properties: &Map<String, Value>,
    ) -> bool {
        let Some(name) = self.name else { return true };
        self.is_found |= has_field;
        if !self.is_found {
            for name in properties.keys() {
                let name: String = name.chars().take(MAX_SHOWN_CHARACTERS).collect();
                if self.others.len() < MAX_SHOWN && !self.others.contains(&name) {
                    self.others.push(name);
                }
            }
        }
        if id.is_some() {
            return true;
        }
        if self.without.len() < self.max_errors {
            let message =
                message!("has no value for the field `{field}`, which identifies it", field = name);
            self.without.push(DocumentError::at(line, message));
        }
        false
    }

    /// Whether reading goes on after this many other errors. If no feature has the field, that is the only error; so
    /// features without it do not count before one has it.
    pub(crate) fn has_room(&self, errors: usize) -> bool {
        let without = if self.is_found { self.without.len() } else { 0 };
        errors + without < self.max_errors
    }

    /// The outcome of reading a file with this number of features and these other errors.
    pub(crate) fn finish<E>(
        self,
        count: u64,
        mut errors: Vec<DocumentError>,
    ) -> Result<u64, ReadError<E>> {
        match self.name {
            Some(name) if !self.is_found && !self.without.is_empty() => {
                let message = unknown_field(name, &self.others.join(", "));
                let Some(last) = errors.last() else {
                    return Err(ReadError::Input(io::Error::other(message)));
                };
                let unknown = DocumentError::at(last.line, message);
                errors.push(DocumentError { is_fatal: true, ..unknown });
            }
            _ => errors.extend(self.without),
        }
        if errors.is_empty() { Ok(count) } else { Err(ReadError::Invalid(errors)) }
    }
}

/// The message for a file without the field that was chosen.
pub(crate) fn unknown_field(name: &str, others: &str) -> Message {
    message!("there is no field `{field}`; the fields are {names}", field = name, names = others)
}
