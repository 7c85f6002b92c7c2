//! The bodies of requests with tokens: how many are on their way at the same time, and how fast they must
//! arrive.

use crate::{
    http::{
        ErrorDetail, HttpError,
        body::{self, Pace},
    },
    quota::Quota,
    settings::Limits,
};
use axum::{body::Body, http::HeaderMap};
use groma_domain::TokenId;
use groma_geo::geojson::{DocumentError, ReadError};
use std::{fmt::Display, io::Read, sync::Arc};

/// The limits of bodies, which all routes share.
pub(crate) struct Uploads {
    pace: Pace,
    /// The bodies on their way.
    quota: Arc<Quota<TokenId>>,
}

impl Uploads {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            pace: Pace::Steady(limits.body_timeout, limits.min_upload_rate),
            quota: Quota::new(limits.uploads, limits.uploads_per_token),
        }
    }

    /// Receives the body of a request, if its token does not send too many at the same time. Returns the hash
    /// of the body, too.
    pub(crate) async fn read<R: Send + 'static>(
        &self,
        headers: &HeaderMap,
        body: Body,
        limit: u64,
        token: TokenId,
        parse: impl Fn(&mut dyn Read) -> R + Clone + Send + 'static,
    ) -> Result<(R, [u8; 16]), HttpError> {
        let place = || self.quota.take(Some(token), 1).ok_or_else(HttpError::too_many_uploads);
        body::read(headers, body, (limit, self.pace), place, parse).await
    }
}

/// The error for a body that is not the GeoJSON that it should be.
pub(crate) fn geojson_error<E: Display>(error: ReadError<E>, limit: u64) -> HttpError {
    let detail = |DocumentError { pointer, message, .. }| ErrorDetail {
        pointer,
        message: message.to_string(),
    };
    match error {
        ReadError::Invalid(errors) => HttpError::bad_body(errors.into_iter().map(detail).collect()),
        ReadError::Input(error) => body::read_error(&error, limit),
        ReadError::Stopped(error) => HttpError::internal(error.to_string()),
    }
}
