//! The values of a record's form, and their conversion to the input of the domain.

use crate::web::{
    WebError,
    fields::CustomField,
    form::Pairs,
    format,
    i18n::{Localizer, Message},
    record_data::Doc,
    request_context::MemberContext,
};
use groma_domain::{FieldError, Kind, reference::Key};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The values of a form: from a record, or as typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) texts: BTreeMap<String, String>,
    pub(super) assignees: Vec<String>,
    pub(super) custom_fields: Vec<CustomField>,
}

impl Values {
    pub(super) fn get(&self, name: &str) -> &str {
        self.texts.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn of_form(form: &Pairs) -> Self {
        let fields = sent_custom_fields(form).map(|(name, kind, value)| CustomField {
            name: name.to_owned(),
            value: value.to_owned(),
            kind: known_type(kind),
        });
        Self {
            texts: form.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            assignees: form.all("assignees").map(str::to_owned).collect(),
            custom_fields: fields.filter(|field| !field.name.is_empty()).collect(),
        }
    }

    pub(super) async fn of_record(
        ctx: &MemberContext,
        kind: Kind,
        doc: &Doc,
    ) -> Result<Self, WebError> {
        let t = ctx.t();
        let mut texts = BTreeMap::new();
        let object = doc.0.as_object().cloned().unwrap_or_default();
        for (name, value) in &object {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Array(_) => format::plain_text(t, value),
                Value::Object(person) => {
                    person.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                _ => continue,
            };
            texts.insert(name.clone(), text);
        }
        texts.insert("status".into(), doc.text("statusId").to_owned());
        for (field, link, linked) in [
            ("folder", "folderId", Kind::Folder),
            ("assignment", "assignmentId", Kind::Assignment),
            ("budget", "budgetId", Kind::Budget),
        ] {
            if linked != kind
                && let Some(id) = doc.link(link)
                && let Some(json) =
                    ctx.store().get(ctx.workspace_id(), linked, &Key::Id(id)).await?
            {
                texts.insert(field.into(), Doc::parse(&json)?.reference().to_owned());
            }
        }
        let people = doc.0["assignees"].as_array().cloned().unwrap_or_default();
        let assignees = people.iter().filter_map(|person| person["id"].as_str());
        let custom = doc.0["customFields"].as_object().cloned().unwrap_or_default();
        let custom_fields = custom.iter().map(|(name, value)| CustomField {
            name: name.clone(),
            value: match value {
                Value::Bool(flag) => flag.to_string(),
                other => format::plain_text(t, other),
            },
            kind: match value {
                Value::Number(_) => "number",
                Value::Bool(_) => "boolean",
                Value::Null => "null",
                _ => "text",
            },
        });
        Ok(Self {
            texts,
            assignees: assignees.map(str::to_owned).collect(),
            custom_fields: custom_fields.collect(),
        })
    }
}

/// The name, type and value of each custom field of a form.
fn sent_custom_fields(form: &Pairs) -> impl Iterator<Item = (&str, &str, &str)> {
    let named = form.all("cf_name").zip(form.all("cf_kind").zip(form.all("cf_value")));
    named.map(|(name, (kind, value))| (name.trim(), kind, value.trim()))
}

fn known_type(kind: &str) -> &'static str {
    match kind {
        "number" => "number",
        "boolean" => "boolean",
        "null" => "null",
        _ => "text",
    }
}

/// The fields with decimal numbers.
const DECIMAL_FIELDS: [&str; 5] =
    ["amount", "unitAmount", "quantity", "estimatedHours", "spentHours"];

/// `12,50` as `12.50`. `None` when the comma may separate thousands, as in `1,234`.
fn decimal_point(text: &str) -> Option<String> {
    let (whole, part) = text.split_once(',')?;
    let digits = whole.trim_start_matches('-');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_thousands = part.len() == 3 && digits.len() <= 3 && !digits.starts_with('0');
    (is_number(digits) && is_number(part) && !is_thousands).then(|| format!("{whole}.{part}"))
}

/// The text fields of a kind.
fn text_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Folder => &[
            "reference",
            "externalId",
            "name",
            "description",
            "clientName",
            "status",
            "owner",
            "startDate",
            "dueDate",
            "currency",
            "tags",
        ],
        Kind::Assignment => &[
            "reference",
            "externalId",
            "folder",
            "title",
            "description",
            "status",
            "priority",
            "startDate",
            "dueDate",
            "estimatedHours",
            "spentHours",
        ],
        Kind::Expense => &[
            "reference",
            "externalId",
            "folder",
            "assignment",
            "budget",
            "status",
            "category",
            "description",
            "vendor",
            "quantity",
            "unitAmount",
            "currency",
            "incurredOn",
            "submittedBy",
        ],
        Kind::Budget => &[
            "reference",
            "externalId",
            "folder",
            "name",
            "description",
            "status",
            "category",
            "amount",
            "currency",
            "startDate",
            "endDate",
        ],
    }
}

/// The typed values as the domain reads them.
pub(super) fn to_input(
    t: Localizer,
    kind: Kind,
    form: &Pairs,
) -> Result<Map<String, Value>, FieldError> {
    let mut values = Map::new();
    for name in text_fields(kind).iter().filter(|name| form.has(name)) {
        let mut text = form.get(name).replace("\r\n", "\n");
        if DECIMAL_FIELDS.contains(name) && text.contains(',') {
            let ambiguous = || FieldError::new(*name, t.msg("form-decimal-comma").to_string());
            text = decimal_point(text.trim()).ok_or_else(ambiguous)?;
        }
        values.insert((*name).to_owned(), Value::String(text));
    }
    // An unchecked box and an empty list send nothing, so the full form says that it is one.
    let is_full_form = form.has("_whole");
    if kind == Kind::Assignment && is_full_form {
        let people = form.all("assignees").filter(|id| !id.is_empty());
        let people = people.map(|id| Value::String(id.to_owned())).collect();
        values.insert("assignees".into(), Value::Array(people));
    }
    if kind == Kind::Expense && is_full_form {
        values.insert("billable".into(), Value::Bool(form.get("billable") == "true"));
    }
    if form.has("cf_name") {
        values.insert("customFields".into(), Value::Object(custom_fields_input(t, form)?));
    }
    Ok(values)
}

fn custom_fields_input(t: Localizer, form: &Pairs) -> Result<Map<String, Value>, FieldError> {
    let mut fields = Map::new();
    for (name, kind, value) in sent_custom_fields(form).filter(|(name, ..)| !name.is_empty()) {
        let error = |message: Message| {
            FieldError::new("customFields", message.arg("name", name).to_string())
        };
        let value = match kind {
            "number" => {
                let number: Result<serde_json::Number, _> = serde_json::from_str(value);
                number.map(Value::Number).map_err(|_| error(t.msg("form-custom-number")))?
            }
            "boolean" => match value.to_lowercase().as_str() {
                "true" | "yes" | "1" => Value::Bool(true),
                "false" | "no" | "0" => Value::Bool(false),
                _ => return Err(error(t.msg("form-custom-boolean"))),
            },
            "null" => Value::Null,
            _ => Value::String(value.to_owned()),
        };
        if fields.insert(name.to_owned(), value).is_some() {
            return Err(error(t.msg("form-custom-twice")));
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma_is_accepted_only_as_a_decimal_separator() {
        let accepted =
            [("12,50", "12.50"), ("-3,5", "-3.5"), ("0,125", "0.125"), ("1234,567", "1234.567")];
        for (typed, read) in accepted {
            assert_eq!(decimal_point(typed).as_deref(), Some(read));
        }
        for typed in ["1,234", "1,234.50", "1.234,50", "1,234,567", ",5", "12,", "a,5"] {
            assert_eq!(decimal_point(typed), None, "{typed}");
        }
    }
}
