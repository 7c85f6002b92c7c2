//! Path and query parameters, parsed once.

use super::{envelope::envelope, links};
use crate::http::{HttpError, ResponseOptions};
use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{Uri, header, request::Parts},
    response::Response,
};
use groma_domain::{FieldError, ListParams, layer::LayerKey, list::MAX_TERM, reference::Key};
use groma_geo::grid::TileId;
use groma_store::Page;

/// The request of a list.
pub(super) struct ListQuery {
    pub(super) params: ListParams,
    uri: Uri,
}

impl ListQuery {
    /// The parameters as they were sent.
    pub(super) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// The response with a page, and links to those around it. `base` is the public address of the listener.
    pub(super) fn respond(
        &self,
        base: &str,
        page: &Page,
        options: ResponseOptions,
    ) -> Result<Response, HttpError> {
        let mut response = options.json(envelope(page, &self.params));
        let url = format!("{base}{}", self.uri.path());
        if let Some(links) = links::header(&url, self.query(), &self.params, page)? {
            response.headers_mut().insert(header::LINK, links);
        }
        Ok(response)
    }
}

impl<S: Sync> FromRequestParts<S> for ListQuery {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let uri = parts.uri.clone();
        let params = parse_list_query(uri.query().unwrap_or_default());
        let params = params.map_err(|problem| HttpError::bad_parameter(&problem))?;
        Ok(Self { params, uri })
    }
}

fn parse_list_query(query: &str) -> Result<ListParams, FieldError> {
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    if pairs.iter().any(|(name, value)| name == "term" && !is_valid_utf8(value)) {
        let message = format!("must have at most {MAX_TERM} characters, in valid UTF-8");
        return Err(FieldError::new("term", message));
    }
    ListParams::parse(pairs.iter().map(|(name, value)| (&**name, &**value)))
}

/// The values of these parameters, each given at most once. Other parameters are ignored.
pub(super) fn parse_query<const N: usize>(
    query: &str,
    names: [&str; N],
) -> Result<[Option<String>; N], FieldError> {
    let mut values = [const { None }; N];
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(index) = names.iter().position(|known| *known == name) else { continue };
        if !is_valid_utf8(&value) {
            return Err(FieldError::new(&*name, "must be valid UTF-8"));
        }
        if values[index].replace(value.into_owned()).is_some() {
            return Err(FieldError::new(name, "must be given once"));
        }
    }
    Ok(values)
}

/// Whether a decoded value was valid UTF-8. The decoder replaces invalid bytes by U+FFFD, which no
/// stored text contains for a good reason.
fn is_valid_utf8(value: &str) -> bool {
    !value.contains(char::REPLACEMENT_CHARACTER)
}

/// The `:key` of a record.
pub(super) struct KeyPath {
    /// As sent by the client, for error messages.
    pub(super) text: String,
    /// `None` if no record can have this key.
    pub(super) key: Option<Key>,
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let params = path_params(parts, state, "key").await?;
        let text = params.iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
        Ok(Self { key: Key::parse(&text), text })
    }
}

/// The `:key` of an endpoint and the `:id` of one of its deliveries.
pub(super) struct DeliveryPath {
    pub(super) endpoint: KeyPath,
    /// As sent by the client.
    pub(super) delivery: String,
}

impl<S: Send + Sync> FromRequestParts<S> for DeliveryPath {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let params = path_params(parts, state, "id").await?;
        let mut values = params.iter().map(|(_, value)| value.to_owned());
        let text = values.next().unwrap_or_default();
        let endpoint = KeyPath { key: Key::parse(&text), text };
        Ok(Self { endpoint, delivery: values.next().unwrap_or_default() })
    }
}

/// The `:id` of a layer: its id or its slug.
pub(super) struct LayerPath {
    /// As sent by the client, for error messages.
    text: String,
    pub(super) key: LayerKey,
}

impl LayerPath {
    fn parse(text: &str) -> Self {
        let id = text.parse().map(LayerKey::Id);
        Self { text: text.to_owned(), key: id.unwrap_or_else(|_| LayerKey::Slug(text.to_owned())) }
    }

    pub(super) fn not_found(&self) -> HttpError {
        HttpError::not_found("layer", &self.text)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LayerPath {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let params = path_params(parts, state, "id").await?;
        Ok(Self::parse(params.iter().next().map_or("", |(_, id)| id)))
    }
}

/// The `:id` of a layer and the `:feature` in it.
pub(super) struct FeaturePath {
    pub(super) layer: LayerPath,
    /// As sent by the client.
    pub(super) text: String,
}

impl<S: Send + Sync> FromRequestParts<S> for FeaturePath {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let params = path_params(parts, state, "feature").await?;
        let mut values = params.iter().map(|(_, value)| value);
        let layer = LayerPath::parse(values.next().unwrap_or_default());
        Ok(Self { layer, text: values.next().unwrap_or_default().to_owned() })
    }
}

/// The layer of `/maps/{layer}.json`.
pub(super) struct MapPath(pub(super) LayerPath);

impl<S: Send + Sync> FromRequestParts<S> for MapPath {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let params = path_params(parts, state, "layer").await?;
        let layer = params.iter().next().and_then(|(_, file)| file.strip_suffix(".json"));
        layer.map(LayerPath::parse).map(Self).ok_or_else(HttpError::route_not_found)
    }
}

/// The `:id` of a layer and `{z}/{x}/{y}`, where `.mvt` or `.pbf` may follow.
pub(super) struct TilePath {
    pub(super) layer: LayerPath,
    pub(super) tile: TileId,
}

impl<S: Send + Sync> FromRequestParts<S> for TilePath {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let params = path_params(parts, state, "id").await?;
        let mut values = params.iter().map(|(_, value)| value);
        let layer = LayerPath::parse(values.next().unwrap_or_default());
        let mut number = |name: &'static str, max: u32| -> Result<u32, HttpError> {
            let mut text = values.next().unwrap_or_default();
            if name == "y" {
                text = text.strip_suffix(".mvt").or(text.strip_suffix(".pbf")).unwrap_or(text);
            }
            let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|number| is_digits && *number <= max);
            number.ok_or_else(|| {
                let message = format!("must be a whole number from 0 to {max}");
                HttpError::bad_parameter(&FieldError::new(name, message))
            })
        };
        let z = number("z", u32::from(TileId::MAX_ZOOM))?;
        let max = (1 << z) - 1;
        let (x, y) = (number("x", max)?, number("y", max)?);
        let tile = u8::try_from(z).ok().and_then(|z| TileId::new(z, x, y));
        let tile = tile.ok_or_else(|| HttpError::bad_request("z, x and y do not name a tile"))?;
        Ok(Self { layer, tile })
    }
}

async fn path_params<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<RawPathParams, HttpError> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    params.map_err(|_| HttpError::bad_parameter(&FieldError::new(name, "must be valid UTF-8")))
}
