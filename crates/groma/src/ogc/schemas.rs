//! The queryables, the sortables and the schema of collections.

use super::{
    Ogc, OgcState, field_schema::FieldSchema, fields::Fields, layer_items::layer_not_found,
    links::SCHEMA, parameters::Parameters,
};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    response::Response,
};
use groma_domain::{Kind, layer::LayerKey};

/// A schema of a layer.
pub(super) async fn get_of_layer(
    schema: FieldSchema,
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = ogc.store.layer(caller.token.workspace, &LayerKey::parse(&collection)).await?;
    let layer = layer.ok_or_else(|| layer_not_found(&collection))?;
    let names = (layer.slug.as_str(), layer.name.as_str());
    respond(schema, &ogc, names, &Fields::of_layer(&layer), query.as_deref(), options)
}

/// A schema of records.
pub(super) fn get_of_records(
    schema: FieldSchema,
    ogc: &Ogc,
    kind: Kind,
    query: Option<&str>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let names = (kind.plural(), kind.plural());
    respond(schema, ogc, names, &Fields::of_records(kind), query, options)
}

fn respond(
    schema: FieldSchema,
    ogc: &Ogc,
    (collection, title): (&str, &str),
    fields: &Fields,
    query: Option<&str>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query, &["f"])?;
    let url = format!("{}/collections/{collection}/{}", ogc.url, schema.name());
    let document = match schema {
        FieldSchema::Queryables => fields.queryables(&url, title),
        FieldSchema::Sortables => fields.sortables(&url, title),
        FieldSchema::Items => fields.schema(&url, title),
    };
    let body = serde_json::to_vec(&document);
    Ok(options.text(SCHEMA, body.map_err(|error| HttpError::internal(error.to_string()))?))
}
