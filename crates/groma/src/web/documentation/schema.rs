//! Schemas of the OpenAPI document as tables of fields.

use crate::http::escape_html;
use serde_json::Value;

/// The OpenAPI document.
#[derive(Clone, Copy)]
pub(super) struct Document<'a>(pub(super) &'a Value);

/// A schema with a name.
pub(super) struct Schema {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: String,
    pub(super) limits: Limits,
    pub(super) fields: Vec<Field>,
}

/// A field of an object. The texts are HTML.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) is_required: bool,
    pub(super) description: String,
    pub(super) limits: Limits,
}

/// What a schema requires of a value beyond its type.
#[derive(Default)]
pub(super) struct Limits {
    pub(super) values: Vec<String>,
    pub(super) default: Option<String>,
    pub(super) range: Option<String>,
    pub(super) length: Option<String>,
    pub(super) pattern: Option<String>,
    pub(super) example: Option<String>,
}

impl<'a> Document<'a> {
    /// The value that a reference leads to, or the value itself.
    pub(super) fn resolve(self, value: &'a Value) -> &'a Value {
        let target = value["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
        target.and_then(|pointer| self.0.pointer(pointer)).unwrap_or(value)
    }

    pub(super) fn schemas(self) -> Vec<Schema> {
        let schemas = self.0["components"]["schemas"].as_object().into_iter().flatten();
        let mut schemas: Vec<_> = schemas.map(|(name, schema)| self.schema(name, schema)).collect();
        schemas.sort_by(|one, other| one.name.cmp(&other.name));
        schemas
    }

    fn schema(self, name: &str, schema: &Value) -> Schema {
        Schema {
            name: name.to_owned(),
            description: prose(&schema["description"]),
            kind: kind(schema),
            limits: Limits::new(schema),
            fields: self.schema_fields(name),
        }
    }

    /// The fields of a schema of this name.
    pub(super) fn schema_fields(self, name: &str) -> Vec<Field> {
        fields(&self.0["components"]["schemas"][name])
    }
}

fn fields(schema: &Value) -> Vec<Field> {
    let is_required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |(name, property): (&String, &Value)| Field {
        name: name.clone(),
        kind: kind(property),
        is_required: is_required(name),
        description: description(property),
        limits: Limits::new(property),
    };
    properties.map(field).collect()
}

/// The description of a property, which may be at one of its alternatives.
fn description(property: &Value) -> String {
    let alternatives = property["oneOf"].as_array().into_iter().flatten();
    let mut all = std::iter::once(property).chain(alternatives);
    all.find(|schema| schema["description"].is_string())
        .map(|schema| prose(&schema["description"]))
        .unwrap_or_default()
}

/// The type of a value as HTML, in a notation that reads the same in every language:
/// `string (uuid) | null`, `Folder[]`. Names of schemas are links.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        let name = escape_html(target.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    if let Some(alternatives) = schema["oneOf"].as_array() {
        return alternatives.iter().map(kind).collect::<Vec<_>>().join(" | ");
    }
    let names = match &schema["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    };
    let format = schema["format"].as_str().filter(|format| !format.starts_with("int"));
    let one = |name: &str| match (name, format) {
        ("array", _) => format!("{}[]", kind(&schema["items"])),
        ("null", _) | (_, None | Some("double")) => escape_html(name),
        (_, Some(format)) => format!("{} ({})", escape_html(name), escape_html(format)),
    };
    names.into_iter().map(one).collect::<Vec<_>>().join(" | ")
}

impl Limits {
    pub(super) fn new(schema: &Value) -> Self {
        let items = &schema["items"];
        let values = schema["enum"].as_array().or_else(|| items["enum"].as_array());
        let values = values.into_iter().flatten().map(plain).collect();
        let between = |least: &str, most: &str| match (&schema[least], &schema[most]) {
            (Value::Null, Value::Null) => None,
            (least, Value::Null) => Some(format!("≥ {}", plain(least))),
            (Value::Null, most) => Some(format!("≤ {}", plain(most))),
            (least, most) if least == most => Some(plain(least)),
            (least, most) => Some(format!("{}–{}", plain(least), plain(most))),
        };
        let given = |name: &str| Some(&schema[name]).filter(|value| !value.is_null()).map(plain);
        // Zero as the smallest number only says that it is unsigned.
        let is_unsigned = schema["minimum"] == 0 && schema["maximum"].is_null();
        Self {
            values,
            default: given("default"),
            range: between("minimum", "maximum").filter(|_| !is_unsigned),
            length: between("minLength", "maxLength").or_else(|| between("minItems", "maxItems")),
            pattern: given("pattern"),
            example: given("example"),
        }
    }
}

/// A text as it is, any other value as JSON.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A description as HTML: text between backquotes is code.
pub(super) fn prose(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default().replace("[`", "`").replace("`]", "`");
    let parts = text.split('`').enumerate();
    let html = parts.map(|(index, part)| match index % 2 {
        0 => escape_html(part),
        _ => format!("<code>{}</code>", escape_html(part)),
    });
    html.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn type_of_a_value_is_readable_and_links_to_schemas() {
        assert_eq!(
            kind(&json!({ "type": ["string", "null"], "format": "date" })),
            "string (date) | null"
        );
        assert_eq!(
            kind(&json!({ "type": "array", "items": { "$ref": "#/components/schemas/Folder" } })),
            "<a href=\"#schema-Folder\">Folder</a>[]"
        );
        assert_eq!(kind(&json!({ "type": "integer", "format": "int64" })), "integer");
    }

    #[test]
    fn descriptions_are_escaped_and_backquotes_become_code() {
        assert_eq!(
            prose(&json!("Send `a<b>` & more")),
            "Send <code>a&#60;b&#62;</code> &#38; more"
        );
    }

    #[test]
    fn limits_name_range_length_and_values() {
        let limits = Limits::new(&json!({ "minimum": 1, "maximum": 100, "default": 50 }));
        assert_eq!(
            (limits.range.as_deref(), limits.default.as_deref()),
            (Some("1–100"), Some("50"))
        );
        assert_eq!(Limits::new(&json!({ "minimum": 0 })).range, None);
        assert_eq!(Limits::new(&json!({ "maxLength": 200 })).length.as_deref(), Some("≤ 200"));
        assert_eq!(Limits::new(&json!({ "items": { "enum": ["a", "b"] } })).values, ["a", "b"]);
    }
}
