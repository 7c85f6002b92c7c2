//! The member `properties`: any JSON object, kept exactly as it was sent.

use super::{
    MAX_KEYS, MAX_PROPERTIES_BYTES,
    parse_error::{ErrorPath, ParseResult},
    scanner::{Scanner, ValueKind},
};
use crate::{Message, message};
use serde_json::{Map, Number, Value, map::Entry};

/// The message for a member that occurs twice in an object.
pub(super) fn duplicate_member() -> Message {
    message!("must not appear twice in the same object")
}

/// The message for an object with too many keys.
pub(super) fn too_many_keys(limit: usize) -> Message {
    message!("has more than {limit} keys", limit = limit)
}

/// Reads the next value, which must be an object.
pub(super) fn read_properties(json: &mut Scanner<'_>) -> ParseResult<Map<String, Value>> {
    read_object(json, &mut MemoryBudget(MAX_PROPERTIES_BYTES), MAX_KEYS)
}

/// Reads the next value, whatever it is.
pub(super) fn read_value(json: &mut Scanner<'_>) -> ParseResult<Value> {
    read_any(json, &mut MemoryBudget(MAX_PROPERTIES_BYTES))
}

/// How many bytes of memory the properties may still take.
struct MemoryBudget(usize);

impl MemoryBudget {
    fn spend(&mut self, json: &Scanner<'_>, bytes: usize) -> ParseResult<()> {
        self.0 = self.0.checked_sub(bytes + size_of::<Value>()).ok_or_else(|| {
            let limit = MAX_PROPERTIES_BYTES >> 20;
            json.invalid(message!(
                "`properties` exceed the limit of {limit} MiB per feature",
                limit = limit
            ))
        })?;
        Ok(())
    }
}

fn read_object(
    json: &mut Scanner<'_>,
    budget: &mut MemoryBudget,
    max_keys: usize,
) -> ParseResult<Map<String, Value>> {
    let mut object = Map::new();
    json.open_object()?;
    while let Some(name) = json.next_key()? {
        let name = name.to_owned();
        budget.spend(json, name.len())?;
        if object.len() == max_keys {
            return Err(json.invalid(too_many_keys(max_keys)));
        }
        match object.entry(name) {
            Entry::Occupied(entry) => {
                return Err(json.invalid(duplicate_member())).at_member(entry.key());
            }
            Entry::Vacant(entry) => {
                let value = read_any(json, budget).at_member(entry.key())?;
                entry.insert(value);
            }
        }
    }
    Ok(object)
}

fn read_any(json: &mut Scanner<'_>, budget: &mut MemoryBudget) -> ParseResult<Value> {
    let kind = json.kind()?;
    budget.spend(json, 0)?;
    Ok(match kind {
        ValueKind::Object => Value::Object(read_object(json, budget, usize::MAX)?),
        ValueKind::Array => {
            let mut items = Vec::new();
            json.open_array()?;
            while json.next_item()? {
                items.push(read_any(json, budget).at_index(items.len())?);
            }
            Value::Array(items)
        }
        ValueKind::String => {
            let text = json.string(budget.0)?.to_owned();
            budget.spend(json, text.len())?;
            Value::String(text)
        }
        ValueKind::Number => {
            let (number, length) =
                json.number(|text| Some((text.parse::<Number>().ok()?, text.len())))?;
            budget.spend(json, length)?;
            Value::Number(number)
        }
        ValueKind::Bool => Value::Bool(json.bool()?),
        ValueKind::Null => {
            json.null()?;
            Value::Null
        }
    })
}
