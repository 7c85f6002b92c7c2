//! HTTP code that the API and the web application share. It imports neither of them.

pub(crate) mod body;
pub(crate) mod client_address;
mod drain_body;
mod encoding;
mod error;
mod html;
mod middleware;
mod problem;
mod response;
pub(crate) mod security_headers;

pub(crate) use encoding::{Encoding, compress};
pub(crate) use error::{ErrorBody, ErrorCause, ErrorDetail, HttpError};
pub(crate) use html::{DocumentOfPage, escape_html};
pub(crate) use middleware::{FinalResponse, RequestId, is_preflight, ogc_preflight, respond};
pub(crate) use response::{
    EncodedBody, IfMatch, IfNoneMatch, NO_STORE, ResponseOptions, unencoded_etag,
};
