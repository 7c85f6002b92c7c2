//! The reference systems of coordinates in requests and responses, with the axis order of their authority.

use super::{Ogc, parameters::invalid};
use crate::http::HttpError;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use groma_domain::{WorkspaceId, layer::LayerCrs, workspace::OfferedCrs};
use groma_geo::{Bbox, Crs, Geometry};
use std::borrow::Cow;

/// Longitude and latitude in WGS 84, the default.
pub(super) const CRS84: &str = "http://www.opengis.net/def/crs/OGC/1.3/CRS84";
/// The prefix of the URIs of systems in the EPSG register.
const EPSG: &str = "http://www.opengis.net/def/crs/EPSG/0/";
/// The systems that every collection offers besides CRS84: latitude and longitude, and Web Mercator.
const COMMON_CODES: [u32; 2] = [4326, 3857];

pub(super) const CONTENT_CRS: HeaderName = HeaderName::from_static("content-crs");

/// The systems that a collection offers besides the common ones: its own, and those of the workspace.
#[derive(Clone)]
pub(super) struct CollectionCrs {
    own: LayerCrs,
    of_workspace: OfferedCrs,
}

impl CollectionCrs {
    pub(super) async fn of(
        ogc: &Ogc,
        workspace: WorkspaceId,
        own: LayerCrs,
    ) -> Result<Self, HttpError> {
        Ok(Self { own, of_workspace: ogc.store.offered_crs(workspace).await? })
    }

    /// Those of another collection of the workspace.
    pub(super) fn with_own(&self, own: LayerCrs) -> Self {
        Self { own, of_workspace: self.of_workspace.clone() }
    }
}

/// The URIs of the systems that a collection offers.
pub(super) fn offered(crs: &CollectionCrs) -> Vec<String> {
    let codes = crs.own.code().into_iter().chain(COMMON_CODES).chain(crs.of_workspace.iter());
    let mut uris = vec![CRS84.to_owned()];
    for uri in codes.map(|code| format!("{EPSG}{code}")) {
        if !uris.contains(&uri) {
            uris.push(uri);
        }
    }
    uris
}

/// Every system that a collection offers.
pub(super) fn all_offered(crs: &CollectionCrs) -> impl Iterator<Item = ItemCrs> {
    offered(crs).into_iter().filter_map(|uri| ItemCrs::parse("crs", Some(&uri), crs).ok())
}

/// The URI of the system in which a layer keeps its coordinates.
pub(super) fn storage_uri(own: LayerCrs) -> String {
    own.code().map_or_else(|| CRS84.to_owned(), |code| format!("{EPSG}{code}"))
}

/// A system that a collection offers.
#[derive(Clone)]
pub(super) struct ItemCrs {
    pub(super) system: Crs,
    uri: String,
    /// Whether latitude or northing comes first.
    is_northing_first: bool,
}

impl ItemCrs {
    pub(super) fn crs84() -> Self {
        Self { system: Crs::WGS84, uri: CRS84.to_owned(), is_northing_first: false }
    }

    /// Parses a parameter: the URI of an offered system, or its short name such as `EPSG:3857`.
    pub(super) fn parse(
        parameter: &str,
        value: Option<&str>,
        crs: &CollectionCrs,
    ) -> Result<Self, HttpError> {
        let Some(value) = value else { return Ok(Self::crs84()) };
        let offered = offered(crs);
        let name =
            value.trim_matches(['[', ']']).to_ascii_lowercase().replacen("https:", "http:", 1);
        let is_named = |uri: &&String| {
            let code = uri.strip_prefix(EPSG).unwrap_or_default();
            uri.to_ascii_lowercase() == name || name == format!("epsg:{code}")
        };
        if name == "ogc:crs84" || name == CRS84.to_ascii_lowercase() {
            return Ok(Self::crs84());
        }
        let message = || format!("must be one of {}", offered.join(", "));
        let uri = offered.iter().find(is_named).ok_or_else(|| invalid(parameter, message()))?;
        let short_name = uri.replacen(EPSG, "EPSG:", 1);
        let system =
            Crs::parse(&short_name).map_err(|error| invalid(parameter, error.to_string()))?;
        let is_northing_first = system.info().is_northing_first;
        Ok(Self { system, uri: uri.clone(), is_northing_first })
    }

    /// The value of the header `Content-Crs`.
    pub(super) fn header(&self) -> HeaderValue {
        // A URI is always a valid header value.
        HeaderValue::try_from(format!("<{}>", self.uri)).unwrap_or(HeaderValue::from_static(""))
    }

    /// The system that the header `Content-Crs` of a request names; `None` if there is none.
    pub(super) fn of_content(
        headers: &HeaderMap,
        crs: &CollectionCrs,
    ) -> Result<Option<Self>, HttpError> {
        let Some(value) = headers.get(CONTENT_CRS) else { return Ok(None) };
        let uri = value.to_str().unwrap_or_default().trim().trim_matches(['<', '>']);
        Self::parse("Content-Crs", Some(uri), crs).map(Some)
    }

    pub(super) fn is_northing_first(&self) -> bool {
        self.is_northing_first
    }

    pub(super) fn is_default(&self) -> bool {
        self.uri == CRS84
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// A geometry in this system, easting first, as this API writes it.
    pub(super) fn in_axis_order<'a>(&self, mut geometry: Cow<'a, Geometry>) -> Cow<'a, Geometry> {
        if self.is_northing_first {
            geometry.to_mut().each_position_mut(&mut |at| (at.x, at.y) = (at.y, at.x));
        }
        geometry
    }

    /// A box in the axis order of this system, easting first.
    pub(super) fn easting_first(&self, [a, b, c, d]: [f64; 4]) -> Bbox {
        Bbox(if self.is_northing_first { [b, a, d, c] } else { [a, b, c, d] })
    }
}
