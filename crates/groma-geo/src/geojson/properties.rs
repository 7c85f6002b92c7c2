//! The member `properties`: any JSON object, kept as it was sent.

use super::{
    MAX_KEYS, MAX_PROPERTIES,
    fault::{At, Read},
    number::checked_number,
    scan::{Kind, Scanner},
};
use serde_json::{Map, Number, Value, map::Entry};

/// Reads the object that comes.
pub(super) fn properties(json: &mut Scanner<'_>) -> Read<Map<String, Value>> {
    object(json, &mut Budget(MAX_PROPERTIES), MAX_KEYS)
}

/// Reads the value that comes.
pub(super) fn value(json: &mut Scanner<'_>) -> Read<Value> {
    any(json, &mut Budget(MAX_PROPERTIES))
}

/// How many bytes of memory the values of a feature may still take.
struct Budget(usize);

impl Budget {
    fn take(&mut self, json: &Scanner<'_>, bytes: usize) -> Read<()> {
        self.0 = self.0.checked_sub(bytes + size_of::<Value>()).ok_or_else(|| {
            json.wrong(format!("`properties` take more than {} MiB", MAX_PROPERTIES >> 20))
        })?;
        Ok(())
    }
}

fn object(
    json: &mut Scanner<'_>,
    budget: &mut Budget,
    max_keys: usize,
) -> Read<Map<String, Value>> {
    let mut object = Map::new();
    json.open_object()?;
    while let Some(name) = json.next_key()? {
        let name = name.to_owned();
        budget.take(json, name.len())?;
        if object.len() == max_keys {
            return Err(json.wrong(format!("has more than {max_keys} keys")));
        }
        match object.entry(name) {
            Entry::Occupied(entry) => return Err(json.wrong(TWICE)).within(entry.key()),
            Entry::Vacant(entry) => {
                let value = any(json, budget).within(entry.key())?;
                entry.insert(value);
            }
        }
    }
    Ok(object)
}

fn any(json: &mut Scanner<'_>, budget: &mut Budget) -> Read<Value> {
    let kind = json.kind()?;
    budget.take(json, 0)?;
    Ok(match kind {
        Kind::Object => Value::Object(object(json, budget, usize::MAX)?),
        Kind::Array => {
            let mut items = Vec::new();
            json.open_array()?;
            while json.next_item()? {
                items.push(any(json, budget).at(items.len())?);
            }
            Value::Array(items)
        }
        Kind::String => {
            let text = json.string(budget.0)?.to_owned();
            budget.take(json, text.len())?;
            Value::String(text)
        }
        Kind::Number => {
            let (number, length) =
                checked_number(json, |text| Some((text.parse::<Number>().ok()?, text.len())))?;
            budget.take(json, length)?;
            Value::Number(number)
        }
        Kind::Bool => Value::Bool(json.bool()?),
        Kind::Null => {
            json.null()?;
            Value::Null
        }
    })
}

pub(super) const TWICE: &str = "is given twice";
