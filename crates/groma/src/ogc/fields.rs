//! The fields of collections: what filters can use, what items can be sorted by, and the schema of items.

use groma_domain::{
    Kind, Layer,
    cql2::{Property, PropertyKind},
    layer::{DeclaredField, DeclaredType, FieldType, GeometryCounts},
};
use serde_json::{Map, Value, json};

/// The name of the geometry in filters.
const GEOMETRY: &str = "geometry";

/// The members of features of a layer that stand beside their properties.
const MEMBERS: [(&str, Format); 6] = [
    ("id", Format::Uuid),
    ("externalId", Format::Text),
    ("folderId", Format::Uuid),
    ("assignmentId", Format::Uuid),
    ("createdAt", Format::Time),
    ("updatedAt", Format::Time),
];

/// The format of values.
#[derive(Clone, Copy)]
enum Format {
    Text,
    Uuid,
    Number,
    Integer,
    Boolean,
    Date,
    Time,
    /// Values of several types.
    Any,
}

impl Format {
    fn kind(self) -> PropertyKind {
        match self {
            Self::Text | Self::Uuid => PropertyKind::Text,
            Self::Number | Self::Integer => PropertyKind::Number,
            Self::Boolean => PropertyKind::Boolean,
            Self::Date | Self::Time => PropertyKind::Instant,
            Self::Any => PropertyKind::Any,
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Uuid => json!({ "type": "string", "format": "uuid" }),
            Self::Number => json!({ "type": "number" }),
            Self::Integer => json!({ "type": "integer" }),
            Self::Boolean => json!({ "type": "boolean" }),
            Self::Date => json!({ "type": "string", "format": "date" }),
            Self::Time => json!({ "type": "string", "format": "date-time" }),
            Self::Any => json!({ "type": ["string", "number", "boolean"] }),
        }
    }
}

/// A field of a collection.
struct Field {
    property: Property,
    schema: Value,
    is_required: bool,
    /// Whether it is among the properties of items, not beside them.
    is_property: bool,
}

/// The fields of a collection.
pub(super) struct Fields {
    fields: Vec<Field>,
    /// The queryable properties: those of the fields, and the geometry.
    properties: Vec<Property>,
    /// The format of geometries in schemas.
    geometry: Option<&'static str>,
    /// The kind of records, unless they are features of a layer.
    kind: Option<Kind>,
}

impl Fields {
    /// The declared fields of a layer, and others that its features have.
    pub(super) fn of_layer(layer: &Layer) -> Self {
        let mut fields: Vec<Field> = layer.declared_fields.iter().map(declared).collect();
        let found = layer.fields.iter().filter_map(|field| {
            let format = match field.field_type()? {
                _ if (field.numbers > 0 || field.booleans > 0) && field.strings > 0 => Format::Any,
                FieldType::String if field.strings == 0 => Format::Any,
                FieldType::String => Format::Text,
                FieldType::Number => Format::Number,
                FieldType::Boolean => Format::Boolean,
            };
            Some((field.name.as_str(), format))
        });
        for (name, format) in found {
            if !fields.iter().any(|other| other.property.name == name) {
                fields.push(Field::new(name, format));
            }
        }
        for (name, format) in MEMBERS {
            if !fields.iter().any(|other| other.property.name == name) {
                fields.push(Field { is_property: false, ..Field::new(name, format) });
            }
        }
        Self::new(fields, Some(geometry_format(&layer.counts)), None)
    }

    /// The public fields of records, except for lists and `customFields`.
    pub(super) fn of_records(kind: Kind) -> Self {
        let own = record_fields(kind).iter();
        let first = RECORD_FIELDS.iter().chain(own);
        let fields = first.map(|(name, format)| Field::new(name, *format)).collect();
        let has_geometry = matches!(kind, Kind::Folder | Kind::Assignment);
        Self::new(fields, has_geometry.then_some("geometry-polygon"), Some(kind))
    }

    fn new(mut fields: Vec<Field>, geometry: Option<&'static str>, kind: Option<Kind>) -> Self {
        if geometry.is_some() {
            fields.retain(|field| field.property.name != GEOMETRY);
        }
        let mut properties: Vec<Property> =
            fields.iter().map(|field| field.property.clone()).collect();
        if geometry.is_some() {
            properties.push(Property { name: GEOMETRY.to_owned(), kind: PropertyKind::Geometry });
        }
        Self { fields, properties, geometry, kind }
    }

    /// What filters can use.
    pub(super) fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// What parameters can use.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &Property> {
        self.fields.iter().map(|field| &field.property)
    }

    /// What items can be sorted by.
    pub(super) fn sortable(&self, name: &str) -> Option<&Property> {
        self.fields.iter().map(|field| &field.property).find(|property| property.name == name)
    }

    /// Whether a field stands beside the properties of an item.
    pub(super) fn is_member(&self, name: &str) -> bool {
        self.fields.iter().any(|field| !field.is_property && field.property.name == name)
    }

    /// The kind of a field's values.
    pub(super) fn kind(&self, name: &str) -> Option<PropertyKind> {
        self.sortable(name).map(|property| property.kind)
    }

    /// The JSON Schema of what filters can use.
    pub(super) fn queryables(&self, url: &str, title: &str) -> Value {
        let mut properties = self.schemas(|_| true);
        if let Some(format) = self.geometry {
            properties.insert(GEOMETRY.to_owned(), geometry_schema(format));
        }
        document(url, title, &properties)
    }

    /// The JSON Schema of what items can be sorted by.
    pub(super) fn sortables(&self, url: &str, title: &str) -> Value {
        document(url, title, &self.schemas(|_| true))
    }

    /// The JSON Schema of the properties of items.
    pub(super) fn schema(&self, url: &str, title: &str) -> Value {
        let mut properties = Map::new();
        // A property of a layer that is called `id` is not the ID of its features.
        let has_other_id =
            self.fields.iter().any(|field| field.is_property && field.property.name == "id");
        if self.kind.is_some() || !has_other_id {
            let id =
                json!({ "type": "string", "format": "uuid", "x-ogc-role": "id", "readOnly": true });
            properties.insert("id".to_owned(), id);
        }
        if let Some(format) = self.geometry {
            properties.insert(GEOMETRY.to_owned(), geometry_schema(format));
        }
        match self.kind {
            None => properties.extend(self.schemas(|field| field.is_property)),
            Some(kind) => {
                for (name, schema) in document_schemas(kind, self.schemas(|_| true)) {
                    properties.entry(name).or_insert(schema)["readOnly"] = json!(true);
                }
            }
        }
        for (sequence, schema) in properties.values_mut().enumerate() {
            schema["x-ogc-propertySeq"] = json!(sequence + 1);
        }
        let required = self.fields.iter().filter(|field| field.is_required);
        let required: Vec<&str> = required.map(|field| field.property.name.as_str()).collect();
        let mut document = document(url, title, &properties);
        // Properties that are not declared can have any value.
        document["additionalProperties"] = json!(true);
        if !required.is_empty() {
            document["required"] = json!(required);
        }
        document
    }

    fn schemas(&self, is_included: impl Fn(&Field) -> bool) -> Map<String, Value> {
        let fields = self.fields.iter().filter(|field| is_included(field));
        fields.map(|field| (field.property.name.clone(), field.schema.clone())).collect()
    }
}

impl Field {
    fn new(name: &str, format: Format) -> Self {
        Self {
            property: Property { name: name.to_owned(), kind: format.kind() },
            schema: titled(name, format.schema()),
            is_required: false,
            is_property: true,
        }
    }
}

fn declared(field: &DeclaredField) -> Field {
    let format = match field.field_type {
        DeclaredType::Text => Format::Text,
        DeclaredType::Number => Format::Number,
        DeclaredType::Integer => Format::Integer,
        DeclaredType::Boolean => Format::Boolean,
        DeclaredType::Date => Format::Date,
    };
    let mut result = Field { is_required: field.required, ..Field::new(&field.name, format) };
    if !field.choices.is_empty() {
        result.schema["enum"] = json!(field.choices);
    }
    if let Some(default) = &field.default {
        result.schema["default"] = default.clone();
    }
    if let Some(unit) = &field.unit {
        result.schema["x-ogc-unit"] = json!(unit);
    }
    result
}

fn document(url: &str, title: &str, properties: &Map<String, Value>) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": url,
        "type": "object",
        "title": title,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn geometry_schema(format: &str) -> Value {
    json!({ "title": "Geometry", "format": format, "x-ogc-role": "primary-geometry" })
}

fn geometry_format(counts: &GeometryCounts) -> &'static str {
    match (counts.points > 0, counts.lines > 0, counts.polygons > 0, counts.mixed > 0) {
        (true, false, false, false) => "geometry-point-or-multipoint",
        (false, true, false, false) => "geometry-linestring-or-multilinestring",
        (false, false, true, false) => "geometry-polygon-or-multipolygon",
        _ => "geometry-any",
    }
}

/// The schemas of the members of a record's document. In the document, decimal numbers are texts, and the fields
/// of a person are in an object.
fn document_schemas(kind: Kind, fields: Map<String, Value>) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, mut schema) in fields {
        match name.split_once('.') {
            Some((person, _)) => {
                members.insert(person.to_owned(), titled(person, person_schema()));
            }
            None => {
                if schema["type"] == "number" {
                    schema["type"] = json!("string");
                    schema["format"] = json!("decimal");
                }
                members.insert(name, schema);
            }
        }
    }
    let list = |items: Value| json!({ "type": "array", "items": items });
    let others = match kind {
        Kind::Folder => vec![
            ("tags", list(json!({ "type": "string" }))),
            ("bbox", list(json!({ "type": "number" }))),
        ],
        Kind::Assignment => vec![("assignees", list(person_schema()))],
        Kind::Expense | Kind::Budget => Vec::new(),
    };
    let common =
        [("workspaceKey", Format::Uuid.schema()), ("customFields", json!({ "type": "object" }))];
    for (name, schema) in others.into_iter().chain(common) {
        members.insert(name.to_owned(), titled(name, schema));
    }
    members
}

fn person_schema() -> Value {
    let text = || Format::Text.schema();
    let properties = json!({ "id": Format::Uuid.schema(), "name": text(), "email": text() });
    json!({ "type": "object", "properties": properties })
}

fn titled(name: &str, mut schema: Value) -> Value {
    schema["title"] = json!(name);
    schema
}

/// The fields of every record.
const RECORD_FIELDS: [(&str, Format); 6] = [
    ("id", Format::Uuid),
    ("reference", Format::Text),
    ("externalId", Format::Text),
    ("createdAt", Format::Time),
    ("updatedAt", Format::Time),
    ("version", Format::Integer),
];

fn record_fields(kind: Kind) -> &'static [(&'static str, Format)] {
    match kind {
        Kind::Folder => &[
            ("name", Format::Text),
            ("description", Format::Text),
            ("clientName", Format::Text),
            ("statusId", Format::Uuid),
            ("owner.name", Format::Text),
            ("owner.email", Format::Text),
            ("startDate", Format::Date),
            ("dueDate", Format::Date),
            ("currency", Format::Text),
            ("archivedAt", Format::Time),
        ],
        Kind::Assignment => &[
            ("folderId", Format::Uuid),
            ("title", Format::Text),
            ("description", Format::Text),
            ("statusId", Format::Uuid),
            ("priority", Format::Text),
            ("startDate", Format::Date),
            ("dueDate", Format::Date),
            ("estimatedHours", Format::Number),
            ("spentHours", Format::Number),
            ("completedAt", Format::Time),
        ],
        Kind::Expense => &[
            ("folderId", Format::Uuid),
            ("assignmentId", Format::Uuid),
            ("budgetId", Format::Uuid),
            ("statusId", Format::Uuid),
            ("category", Format::Text),
            ("description", Format::Text),
            ("vendor", Format::Text),
            ("quantity", Format::Number),
            ("unitAmount", Format::Number),
            ("amount", Format::Number),
            ("currency", Format::Text),
            ("incurredOn", Format::Date),
            ("submittedBy.name", Format::Text),
            ("submittedBy.email", Format::Text),
            ("billable", Format::Boolean),
        ],
        Kind::Budget => &[
            ("folderId", Format::Uuid),
            ("name", Format::Text),
            ("description", Format::Text),
            ("statusId", Format::Uuid),
            ("category", Format::Text),
            ("amount", Format::Number),
            ("currency", Format::Text),
            ("startDate", Format::Date),
            ("endDate", Format::Date),
            ("spent", Format::Number),
            ("remaining", Format::Number),
            ("percentUsed", Format::Number),
        ],
    }
}
