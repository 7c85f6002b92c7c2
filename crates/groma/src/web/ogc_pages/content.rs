//! The content of a page, from a document of the OGC API.

use super::sketch::Sketch;
use crate::web::i18n::Localizer;
use serde_json::Value;

/// What a page shows.
pub(super) enum Resource {
    Landing,
    Conformance,
    Collections,
    Collection,
    Items {
        collection: String,
    },
    Item {
        collection: String,
    },
    /// The OpenAPI document.
    Api,
    /// Another document, with its name.
    Other(String),
}

impl Resource {
    /// The resource at a path; `None` if it has no page.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let segments: Vec<_> = path.trim_matches('/').split('/').collect();
        Some(match segments.as_slice() {
            ["ogc"] => Self::Landing,
            ["ogc", "conformance"] => Self::Conformance,
            ["ogc", "collections"] => Self::Collections,
            ["ogc", "collections", _] => Self::Collection,
            ["ogc", "collections", id, "items"] => Self::Items { collection: (*id).to_owned() },
            ["ogc", "collections", id, "items", _] => Self::Item { collection: (*id).to_owned() },
            ["ogc", "api"] => Self::Api,
            ["ogc", "tileMatrixSets"]
            | ["ogc", "tileMatrixSets", _]
            | [
                "ogc",
                "collections",
                _,
                "tiles" | "styles" | "queryables" | "sortables" | "schema",
            ]
            | ["ogc", "collections", _, "tiles", _] => {
                Self::Other(segments.last().map(|name| (*name).to_owned()).unwrap_or_default())
            }
            _ => return None,
        })
    }
}

pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A row whose first cell is a link.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) href: String,
    pub(super) cells: Vec<String>,
}

#[derive(Default)]
pub(super) struct Content {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) ancestors: Vec<(String, String)>,
    pub(super) count: Option<u64>,
    pub(super) map: Option<Sketch>,
    pub(super) notice: Option<String>,
    pub(super) facts: Vec<(String, String)>,
    pub(super) table: Option<Table>,
    pub(super) next: Option<String>,
    pub(super) links: Vec<(String, String)>,
}

impl Content {
    /// In place of a document that is too large.
    pub(super) fn too_large(t: &Localizer, resource: &Resource) -> Self {
        let content = Self::new(t, resource, &Value::Null, None);
        let notice = Some(t.msg("ogc-too-large").to_string());
        Self { title: t.msg("ogc-items").to_string(), notice, table: None, ..content }
    }

    /// `crs` is the header `Content-Crs` of the document.
    pub(super) fn new(
        t: &Localizer,
        resource: &Resource,
        document: &Value,
        crs: Option<&str>,
    ) -> Self {
        let landing = || ("OGC API".to_owned(), "/ogc".to_owned());
        let collections = || (t.msg("ogc-collections").to_string(), "/ogc/collections".to_owned());
        let collection = |id: &str| (id.to_owned(), format!("/ogc/collections/{id}"));
        let items =
            |id: &str| (t.msg("ogc-items").to_string(), format!("/ogc/collections/{id}/items"));
        let links = links(document);
        match resource {
            Resource::Landing => Self {
                title: "OGC API".to_owned(),
                description: text(&document["description"]),
                links,
                ..Self::default()
            },
            Resource::Conformance => Self {
                title: t.msg("ogc-conformance").to_string(),
                ancestors: vec![landing()],
                links: list(&document["conformsTo"]).map(|uri| (text(uri), text(uri))).collect(),
                ..Self::default()
            },
            Resource::Collections => Self {
                title: t.msg("ogc-collections").to_string(),
                ancestors: vec![landing()],
                table: Some(collection_table(t, document)),
                ..Self::default()
            },
            Resource::Collection => Self {
                title: text(&document["title"]),
                description: text(&document["description"]),
                ancestors: vec![landing(), collections()],
                facts: collection_facts(document),
                links,
                ..Self::default()
            },
            Resource::Items { collection: id } => {
                let features: Vec<&Value> = list(&document["features"]).collect();
                Self {
                    title: t.msg("ogc-items").to_string(),
                    ancestors: vec![landing(), collections(), collection(id)],
                    count: document["numberMatched"].as_u64(),
                    map: Sketch::new(&features, crs),
                    notice: empty_geometry_notice(t, &features),
                    table: Some(item_table(id, &features)),
                    next: link(document, "next"),
                    ..Self::default()
                }
            }
            Resource::Item { collection: id } => Self {
                title: text(&document["id"]),
                ancestors: vec![landing(), collections(), collection(id), items(id)],
                map: Sketch::new(&[document], crs),
                notice: empty_geometry_notice(t, &[document]),
                facts: item_facts(document),
                ..Self::default()
            },
            Resource::Api => Self {
                title: text(&document["info"]["title"]),
                description: text(&document["info"]["description"]),
                ancestors: vec![landing()],
                facts: operations(document),
                ..Self::default()
            },
            Resource::Other(name) => Self {
                title: name.clone(),
                ancestors: vec![landing()],
                facts: members(document),
                links,
                ..Self::default()
            },
        }
    }
}

/// What to say if large geometries were replaced by empty ones.
fn empty_geometry_notice(t: &Localizer, features: &[&Value]) -> Option<String> {
    let is_empty =
        |feature: &&Value| feature["geometry"]["geometries"].as_array().is_some_and(Vec::is_empty);
    features.iter().any(is_empty).then(|| t.msg("ogc-large-geometry").to_string())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A value as text; JSON for objects and lists.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The links to other resources.
fn links(document: &Value) -> Vec<(String, String)> {
    list(&document["links"])
        .filter(|link| !["self", "alternate"].contains(&link["rel"].as_str().unwrap_or_default()))
        .filter(|link| link["type"] != "text/html")
        .map(|link| (text(&link["title"]), text(&link["href"])))
        .collect()
}

fn link(document: &Value, rel: &str) -> Option<String> {
    list(&document["links"]).find(|link| link["rel"] == rel).map(|link| text(&link["href"]))
}

fn collection_table(t: &Localizer, document: &Value) -> Table {
    let row = |collection: &Value| {
        let id = text(&collection["id"]);
        Row {
            name: text(&collection["title"]),
            href: format!("/ogc/collections/{id}"),
            cells: vec![id, text(&collection["description"])],
        }
    };
    let columns = [t.msg("ogc-title"), t.msg("ogc-id"), t.msg("ogc-description")];
    Table {
        columns: columns.into_iter().map(String::from).collect(),
        rows: list(&document["collections"]).map(row).collect(),
    }
}

fn collection_facts(document: &Value) -> Vec<(String, String)> {
    let members = ["id", "attribution", "storageCrs", "crs"];
    let bbox = &document["extent"]["spatial"]["bbox"][0];
    let facts = members.into_iter().flat_map(|name| match &document[name] {
        Value::Array(values) => values.iter().map(|one| (name.to_owned(), text(one))).collect(),
        value => vec![(name.to_owned(), text(value))],
    });
    facts.chain([("bbox".to_owned(), text(bbox))]).filter(|(_, value)| !value.is_empty()).collect()
}

/// The properties of features, in the order in which they first occur.
fn item_table(collection: &str, features: &[&Value]) -> Table {
    let mut columns: Vec<String> = Vec::new();
    for feature in features {
        for name in feature["properties"].as_object().into_iter().flat_map(|map| map.keys()) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
    }
    let row = |feature: &&Value| {
        let id = text(&feature["id"]);
        Row {
            href: format!("/ogc/collections/{collection}/items/{id}"),
            name: id,
            cells: columns.iter().map(|name| text(&feature["properties"][name])).collect(),
        }
    };
    let rows = features.iter().map(row).collect();
    columns.insert(0, "id".to_owned());
    Table { columns, rows }
}

/// The operations of an OpenAPI document, with their summaries.
fn operations(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        let operations = item.as_object().into_iter().flatten();
        let operations = operations.filter(|(_, operation)| operation["operationId"].is_string());
        operations.map(move |(method, operation)| {
            (format!("{} {path}", method.to_uppercase()), text(&operation["summary"]))
        })
    });
    operations.collect()
}

/// The members of a document besides its links.
fn members(document: &Value) -> Vec<(String, String)> {
    let members = document.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| *name != "links");
    members.map(|(name, value)| (name.clone(), text(value))).collect()
}

fn item_facts(document: &Value) -> Vec<(String, String)> {
    let properties = document["properties"].as_object().into_iter().flatten();
    let properties = properties.map(|(name, value)| (name.clone(), text(value)));
    let members = ["externalId", "folderId", "assignmentId", "createdAt", "updatedAt"];
    let members = members.into_iter().map(|name| (name.to_owned(), text(&document[name])));
    properties.chain(members.filter(|(_, value)| !value.is_empty())).collect()
}
