//! The queryables, the sortables and the schema of collections.

use super::{
    Ogc, OgcState, fields::Fields, layer_items::layer_not_found, links::SCHEMA,
    parameters::Parameters,
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

/// A description of the fields of a collection.
#[derive(Clone, Copy)]
pub(super) enum FieldSchema {
    Queryables,
    Sortables,
    Items,
}

impl FieldSchema {
    pub(super) const ALL: [Self; 3] = [Self::Queryables, Self::Sortables, Self::Items];

    /// The last part of its path.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Queryables => "queryables",
            Self::Sortables => "sortables",
            Self::Items => "schema",
        }
    }

    /// The relation of links to it.
    pub(super) fn relation(self) -> &'static str {
        match self {
            Self::Queryables => "http://www.opengis.net/def/rel/ogc/1.0/queryables",
            Self::Sortables => "http://www.opengis.net/def/rel/ogc/1.0/sortables",
            Self::Items => "http://www.opengis.net/def/rel/ogc/1.0/schema",
        }
    }

    /// The title of links to it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Queryables => "What filters can use",
            Self::Sortables => "What features can be sorted by",
            Self::Items => "The schema of the features",
        }
    }

    fn respond(
        self,
        ogc: &Ogc,
        (collection, title): (&str, &str),
        fields: &Fields,
        query: Option<&str>,
        options: ResponseOptions,
    ) -> Result<Response, HttpError> {
        Parameters::parse(query, &["f"])?;
        let url = format!("{}/collections/{collection}/{}", ogc.url, self.name());
        let document = match self {
            Self::Queryables => fields.queryables(&url, title),
            Self::Sortables => fields.sortables(&url, title),
            Self::Items => fields.schema(&url, title),
        };
        let body = serde_json::to_vec(&document);
        Ok(options.text(SCHEMA, body.map_err(|error| HttpError::internal(error.to_string()))?))
    }
}

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
    schema.respond(&ogc, names, &Fields::of_layer(&layer), query.as_deref(), options)
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
    schema.respond(ogc, names, &Fields::of_records(kind), query, options)
}
