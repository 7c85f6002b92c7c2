//! User-defined fields of records, and their requested changes.

use super::Field;
use crate::{FieldErrors, Violation, json::is_same_value};
use serde_json::{Map, Value};

const MAX_CUSTOM_FIELDS: usize = 100;
const MAX_CUSTOM_FIELD_NAME: usize = 64;
const MAX_CUSTOM_FIELD_TEXT: usize = 2_000;
const MAX_CUSTOM_FIELD_NUMBER: usize = 40;

/// User-defined fields: strings, numbers, booleans and nulls.
pub type CustomFields = Map<String, Value>;

/// The requested change of the custom fields: all of them, single ones, or both; or a merge patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomFieldsInput {
    pub(super) all: Field<CustomFields>,
    pub(super) single: CustomFields,
    pub(super) patch: CustomFields,
}

impl CustomFieldsInput {
    /// Applies the change to the current custom fields.
    pub(crate) fn apply(
        self,
        current: Option<&CustomFields>,
        errors: &mut FieldErrors,
    ) -> CustomFields {
        let mut fields = self.all.or(current.cloned().unwrap_or_default());
        fields.extend(self.single);
        for (name, value) in self.patch {
            match fields.get(&name) {
                // A null in a patch removes a field. A stored null that a client sends back stays.
                Some(stored) if value.is_null() && !stored.is_null() => {
                    fields.shift_remove(&name);
                }
                None if value.is_null() && current.is_some() => {}
                _ => {
                    fields.insert(name, value);
                }
            }
        }
        // A number that comes back in another spelling is no change.
        for (name, stored) in current.into_iter().flatten() {
            if let Some(value) = fields.get_mut(name).filter(|value| is_same_value(stored, value)) {
                value.clone_from(stored);
            }
        }
        if fields.len() > MAX_CUSTOM_FIELDS {
            let violation = Violation::TooManyCustomFields { max: MAX_CUSTOM_FIELDS };
            errors.add("customFields", violation);
        }
        fields
    }
}

pub(super) fn check_custom_fields(fields: CustomFields) -> Result<CustomFields, Violation> {
    fields.iter().try_for_each(|(name, value)| check_custom_field(name, value))?;
    Ok(fields)
}

pub(super) fn check_custom_field(name: &str, value: &Value) -> Result<(), Violation> {
    let has_length = (1..=MAX_CUSTOM_FIELD_NAME).contains(&name.chars().count());
    if !has_length || name.chars().any(char::is_control) {
        return Err(Violation::WrongCustomFieldName { max: MAX_CUSTOM_FIELD_NAME });
    }
    let name = name.to_owned();
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        // Numbers are stored as written, so clients must be able to parse them.
        Value::Number(number)
            if number.as_f64().is_some_and(f64::is_finite)
                && number.as_str().len() <= MAX_CUSTOM_FIELD_NUMBER =>
        {
            Ok(())
        }
        Value::Number(_) => {
            Err(Violation::WrongCustomFieldNumber { name, max: MAX_CUSTOM_FIELD_NUMBER })
        }
        Value::String(text) if text.chars().count() > MAX_CUSTOM_FIELD_TEXT => {
            Err(Violation::CustomFieldTooLong { name, max: MAX_CUSTOM_FIELD_TEXT })
        }
        Value::String(text) if text.contains('\0') => {
            Err(Violation::CustomFieldControlCharacters { name })
        }
        Value::String(_) => Ok(()),
        Value::Array(_) | Value::Object(_) => Err(Violation::WrongCustomFieldType { name }),
    }
}
