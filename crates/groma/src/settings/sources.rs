//! The sources of settings, merged into one table. The defaults contain every setting, so they also
//! decide which names exist and which type each has. Only identity providers have names of their own: the
//! defaults of `oidc.NAME` are those of each of them.

use super::SettingsError;
use std::path::Path;
use toml::{Table, Value};

const DEFAULTS: &str = include_str!("../settings.toml");
const DEFAULT_FILE: &str = "groma.toml";
const ENVIRONMENT_PREFIX: &str = "GROMA_";
/// The group of tables with names of their own, and the name that the defaults have there.
const NAMED_GROUP: &str = "oidc";
const ANY_NAME: &str = "NAME";

/// The defaults, overridden by the file, the environment and flags.
pub(super) fn merged(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &[(&str, String)],
) -> Result<Table, SettingsError> {
    let mut settings = parse("embedded defaults", DEFAULTS)?;
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    if file.is_some() || path.exists() {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| SettingsError::File {
            path: name.clone(),
            reason: error.to_string(),
        })?;
        merge(&mut settings, parse(&name, &text)?, "")?;
    }
    for (variable, value) in environment {
        if let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX) {
            let dotted = name.to_lowercase().replace("__", ".");
            set(&mut settings, &dotted, &value, &variable)?;
        }
    }
    for (dotted, value) in flags {
        set(&mut settings, dotted, value, dotted)?;
    }
    if let Some(Value::Table(named)) = settings.get_mut(NAMED_GROUP) {
        named.remove(ANY_NAME);
    }
    Ok(settings)
}

fn parse(path: &str, text: &str) -> Result<Table, SettingsError> {
    text.parse().map_err(|error: toml::de::Error| SettingsError::File {
        path: path.to_owned(),
        reason: error.message().replace('\n', " "),
    })
}

/// Overrides the settings in `base`, which has every known name.
fn merge(base: &mut Table, overrides: Table, prefix: &str) -> Result<(), SettingsError> {
    for (name, value) in overrides {
        let dotted = format!("{prefix}{name}");
        if prefix.strip_suffix('.') == Some(NAMED_GROUP) {
            add_named(base, &name);
        }
        match (base.get_mut(&name), value) {
            (None, _) => return Err(unknown(&dotted)),
            (Some(Value::Table(base)), Value::Table(overrides)) => {
                merge(base, overrides, &format!("{dotted}."))?;
            }
            (Some(base), value) if base.same_type(&value) => *base = value,
            (Some(base), _) => return Err(wrong_type(&dotted, base)),
        }
    }
    Ok(())
}

/// Sets one value from text, by the type of the default. `name` is how the source calls the setting.
fn set(settings: &mut Table, dotted: &str, text: &str, name: &str) -> Result<(), SettingsError> {
    let (groups, key) = dotted.rsplit_once('.').ok_or_else(|| unknown(name))?;
    if let Some((NAMED_GROUP, added)) = groups.split_once('.')
        && let Some(Value::Table(named)) = settings.get_mut(NAMED_GROUP)
    {
        add_named(named, added);
    }
    let table =
        groups.split('.').try_fold(settings, |table, group| table.get_mut(group)?.as_table_mut());
    let value = table.and_then(|table| table.get_mut(key)).filter(|value| !value.is_table());
    let value = value.ok_or_else(|| unknown(name))?;
    let parsed = match value {
        Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
        Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Some(Value::String(text.to_owned())),
    };
    *value = parsed.ok_or_else(|| wrong_type(name, value))?;
    Ok(())
}

/// Adds the defaults of a table with a name of its own, unless it exists or the name is malformed.
fn add_named(group: &mut Table, name: &str) {
    let is_valid = (1..=32).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    if is_valid
        && !group.contains_key(name)
        && let Some(defaults) = group.get(ANY_NAME).cloned()
    {
        group.insert(name.to_owned(), defaults);
    }
}

fn unknown(name: &str) -> SettingsError {
    SettingsError::new(name, "is not a setting; check the spelling")
}

fn wrong_type(name: &str, expected: &Value) -> SettingsError {
    let expected = match expected {
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table of settings",
        _ => "a string",
    };
    SettingsError::new(name, format!("must be {expected}"))
}
