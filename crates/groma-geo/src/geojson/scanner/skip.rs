//! Skipping values that are not used.

use super::{Expected, Scanner, ValueKind};
use crate::{
    Message,
    geojson::{
        MAX_KEYS,
        parse_error::{ParseError, ParseResult, excerpt},
    },
    message,
};
use std::collections::HashSet;
use twox_hash::XxHash3_128;

impl Scanner<'_> {
    /// Skips the next value. It must be as valid as a value that is used: no duplicate keys, no
    /// numbers out of range, no unpaired surrogates.
    pub(in crate::geojson) fn skip_value(&mut self) -> ParseResult<()> {
        let outer_depth = self.depth;
        let mut keys = SeenKeys::default();
        while self.depth > outer_depth || self.expected == Expected::Value {
            let depth = self.depth - outer_depth;
            match self.expected {
                Expected::Value => match self.kind()? {
                    ValueKind::Object => {
                        keys.begin_object(depth);
                        self.open_object()?;
                    }
                    ValueKind::Number => {
                        self.double()?;
                    }
                    ValueKind::String => self.skip_valid_string()?,
                    _ => self.skip_or_enter()?,
                },
                Expected::FirstOrEnd | Expected::CommaOrEnd if self.is_in_array() => {
                    self.next_item()?;
                }
                Expected::FirstOrEnd | Expected::CommaOrEnd => {
                    if let Some(key) = self.next_key()?
                        && let Err(message) = keys.add(depth, key)
                    {
                        return Err(self.invalid(message));
                    }
                }
            }
        }
        Ok(())
    }

    /// Skips everything up to the end of the value that began at this depth, wherever in it the
    /// scanner is. Only syntax errors count.
    pub(in crate::geojson) fn skip_to_depth(&mut self, depth: u32) -> ParseResult<()> {
        while self.depth > depth || self.expected == Expected::Value {
            match self.expected {
                Expected::Value => self.skip_or_enter()?,
                Expected::FirstOrEnd | Expected::CommaOrEnd if self.is_in_array() => {
                    self.next_item()?;
                }
                Expected::FirstOrEnd | Expected::CommaOrEnd => match self.next_key() {
                    Err(error) if matches!(*error, ParseError::Invalid(_)) => {}
                    other => {
                        other?;
                    }
                },
            }
        }
        Ok(())
    }

    fn is_in_array(&self) -> bool {
        self.array_bits & 1 == 1
    }

    /// Skips a scalar value, or enters an array or object.
    fn skip_or_enter(&mut self) -> ParseResult<()> {
        match self.kind()? {
            ValueKind::Object => self.open_object(),
            ValueKind::Array => self.open_array(),
            ValueKind::Number => self.number_text().map(drop),
            ValueKind::Bool => self.bool().map(drop),
            ValueKind::Null => self.null(),
            ValueKind::String => {
                let text = self.scan_string(0)?;
                self.expected = Expected::CommaOrEnd;
                self.string_error = None;
                self.string_at(text).map(drop)
            }
        }
    }
}

/// The keys of the open objects in a value, by depth.
#[derive(Default)]
struct SeenKeys(Vec<HashSet<u128>>);

impl SeenKeys {
    /// An object begins inside `depth` others.
    fn begin_object(&mut self, depth: u32) {
        self.0.truncate(depth as usize);
        self.0.resize_with(depth as usize + 1, HashSet::new);
    }

    /// Adds a key to the innermost of `depth` open objects.
    fn add(&mut self, depth: u32, key: &str) -> Result<(), Message> {
        let Some(keys) = self.0.get_mut((depth as usize).saturating_sub(1)) else { return Ok(()) };
        if !keys.insert(XxHash3_128::oneshot(key.as_bytes())) {
            return Err(message!(
                "contains the key `{key}` twice in one object",
                key = excerpt(key)
            ));
        }
        match keys.len() > MAX_KEYS {
            true => {
                Err(message!("contains an object with more than {limit} members", limit = MAX_KEYS))
            }
            false => Ok(()),
        }
    }
}
