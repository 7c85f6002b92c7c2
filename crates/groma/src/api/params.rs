//! Parameters of a request, read once.

use super::error::ApiError;
use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use groma_domain::{LayerId, ListParams, Problem, list::MAX_TERM, reference::Key};
use groma_geo::grid::TileId;
use percent_encoding::percent_decode;
use std::borrow::Cow;

/// `page`, `limit` and `term` of a list.
pub(super) struct ListQuery(pub(super) ListParams);

impl<S: Sync> FromRequestParts<S> for ListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        read_list(parts.uri.query().unwrap_or_default())
            .map(Self)
            .map_err(|problem| ApiError::bad_parameter(&problem))
    }
}

/// The values of some parameters of a query: each at most once, others passed over.
pub(super) fn read_query<const N: usize>(
    query: &str,
    names: [&str; N],
) -> Result<[Option<String>; N], Problem> {
    let mut values = [const { None }; N];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(name) = decode(name) else { continue };
        let Some(index) = names.iter().position(|known| *known == name) else { continue };
        let value = decode(value).ok_or_else(|| Problem::new(&*name, "must be valid UTF-8"))?;
        if values[index].replace(value.into_owned()).is_some() {
            return Err(Problem::new(name, "must be given once"));
        }
    }
    Ok(values)
}

fn read_list(query: &str) -> Result<ListParams, Problem> {
    if query.is_empty() {
        return Ok(ListParams::default());
    }
    let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // A name that is not text is a stranger, and those are passed over.
        let Some(name) = decode(name) else { continue };
        match decode(value) {
            Some(value) => pairs.push((name, value)),
            // No number, whatever it is.
            None if matches!(&*name, "page" | "limit") => pairs.push((name, "\u{fffd}".into())),
            None if name == "term" => {
                let message = format!("must have at most {MAX_TERM} characters, in valid UTF-8");
                return Err(Problem::new(name, message));
            }
            None => {}
        }
    }
    ListParams::parse(pairs.iter().map(|(name, value)| (&**name, &**value)))
}

/// Percent-encoding and `+` undone; `None` when what remains is not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let spaced = text.replace('+', " ");
    percent_decode(spaced.as_bytes()).decode_utf8().ok().map(|text| Cow::Owned(text.into_owned()))
}

/// The `:key` of a record.
pub(super) struct KeyPath {
    /// As it was sent, for the message.
    pub(super) sent: String,
    /// What it names; `None` when it can name nothing.
    pub(super) key: Option<Key>,
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = path_params(parts, state, "key").await?;
        let sent = params.iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
        Ok(Self { key: Key::parse(&sent), sent })
    }
}

/// The `:id` of a layer.
pub(super) struct LayerPath {
    /// As it was sent, for the message.
    sent: String,
    id: Option<LayerId>,
}

impl LayerPath {
    fn read(sent: &str) -> Self {
        Self { sent: sent.to_owned(), id: sent.parse().ok() }
    }

    /// The id, or the answer that there is no such layer.
    pub(super) fn id(&self) -> Result<LayerId, ApiError> {
        self.id.ok_or_else(|| self.not_found())
    }

    /// The answer that there is no such layer.
    pub(super) fn not_found(&self) -> ApiError {
        ApiError::not_found("layer", &self.sent)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LayerPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = path_params(parts, state, "id").await?;
        Ok(Self::read(params.iter().next().map_or("", |(_, id)| id)))
    }
}

/// The `:id` of a layer with `{z}/{x}/{y}`.
pub(super) struct TilePath {
    pub(super) layer: LayerPath,
    pub(super) tile: TileId,
}

impl<S: Send + Sync> FromRequestParts<S> for TilePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = path_params(parts, state, "id").await?;
        let mut values = params.iter().map(|(_, value)| value);
        let layer = LayerPath::read(values.next().unwrap_or_default());
        let mut number = |name: &'static str, most: u32| -> Result<u32, ApiError> {
            let text = values.next().unwrap_or_default();
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|number| is_plain && *number <= most);
            number.ok_or_else(|| {
                let message = format!("must be a whole number from 0 to {most}");
                ApiError::bad_parameter(&Problem::new(name, message))
            })
        };
        let z = number("z", u32::from(TileId::MAX_ZOOM))?;
        let most = (1 << z) - 1;
        let (x, y) = (number("x", most)?, number("y", most)?);
        let tile = u8::try_from(z).ok().and_then(|z| TileId::new(z, x, y));
        let tile = tile.ok_or_else(|| ApiError::bad_request("no such tile"))?;
        Ok(Self { layer, tile })
    }
}

async fn path_params<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<RawPathParams, ApiError> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    params.map_err(|_| ApiError::bad_parameter(&Problem::new(name, "must be valid UTF-8")))
}
