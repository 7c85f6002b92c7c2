//! The values of a record's form, and their conversion to the input of the domain.

use crate::web::{
    WebError,
    fields::{CUSTOM_FIELD, CustomField},
    form::Pairs,
    format,
    i18n::Localizer,
    record_data::Doc,
    request_context::MemberContext,
};
use groma_domain::{FieldError, Kind, Violation, reference::Key};
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
            error: None,
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
                Value::String(text) if DECIMAL_FIELDS.contains(&name.as_str()) => {
                    t.decimal_input(text)
                }
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
                Value::Bool(true) => t.msg("yes").into(),
                Value::Bool(false) => t.msg("no").into(),
                Value::Number(number) => t.decimal_input(&number.to_string()),
                other => format::plain_text(t, other),
            },
            kind: match value {
                Value::Number(_) => "number",
                Value::Bool(_) => "boolean",
                Value::Null => "null",
                _ => "text",
            },
            error: None,
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

/// The typed values as the domain reads them, and what is wrong with them.
pub(super) fn to_input(
    t: Localizer,
    kind: Kind,
    form: &Pairs,
) -> (Map<String, Value>, Vec<FieldError>) {
    let (mut values, mut problems) = (Map::new(), Vec::new());
    for name in text_fields(kind).iter().filter(|name| form.has(name)) {
        let mut text = form.get(name).replace("\r\n", "\n");
        if DECIMAL_FIELDS.contains(name) && !text.trim().is_empty() {
            match t.parse_decimal(&text) {
                Some(decimal) => text = decimal,
                None => {
                    problems.push(FieldError::new(*name, Violation::NotNumber));
                    continue;
                }
            }
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
        let fields = custom_fields_input(t, form, &mut problems);
        values.insert("customFields".into(), Value::Object(fields));
    }
    (values, problems)
}

/// The custom fields of a form. A problem names its field: `customFields.NAME`.
fn custom_fields_input(
    t: Localizer,
    form: &Pairs,
    problems: &mut Vec<FieldError>,
) -> Map<String, Value> {
    let mut fields = Map::new();
    for (name, kind, text) in sent_custom_fields(form).filter(|(name, ..)| !name.is_empty()) {
        let value = match kind {
            "number" => t.parse_number(text).map(Value::Number).ok_or(t.msg("form-custom-number")),
            "boolean" => t.parse_boolean(text).map(Value::Bool).ok_or(t.msg("form-custom-boolean")),
            "null" => Ok(Value::Null),
            _ => Ok(Value::String(text.to_owned())),
        };
        let is_repeated = fields.contains_key(name);
        let value = if is_repeated { Err(t.msg("form-custom-twice")) } else { value };
        let value = value.unwrap_or_else(|message| {
            let field = format!("{CUSTOM_FIELD}{name}");
            problems.push(FieldError::new(field, message.arg("name", name).to_string()));
            Value::Null
        });
        fields.insert(name.to_owned(), value);
    }
    fields
}
