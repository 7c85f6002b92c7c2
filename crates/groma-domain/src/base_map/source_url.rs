//! The URLs of base maps: which are accepted, and what their placeholders become.

use super::{BaseMap, BaseMapKind, ImageFormat};
use crate::Violation;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::net::Ipv4Addr;
use url::{Host, Url};

const MAX_URL: usize = 2_048;

/// The size of images from a Web Map Service is the tile size. These parameters are set by the map; a URL
/// that was copied from elsewhere may contain them.
const WMS_PARAMETERS: [&str; 12] = [
    "service",
    "version",
    "request",
    "layers",
    "styles",
    "crs",
    "srs",
    "bbox",
    "width",
    "height",
    "format",
    "transparent",
];

/// Parses a URL that browsers can load from a page with a Content-Security-Policy: https, or http in the
/// office's own network.
pub(super) fn parse_url(text: &str) -> Result<Url, Violation> {
    let text = text.trim();
    if text.chars().count() > MAX_URL {
        return Err(Violation::TooLong { max: MAX_URL });
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Violation::UrlWhitespace);
    }
    let not_url = || Violation::NotUrl { schemes: "https://".to_owned() };
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err(not_url());
    }
    let url = Url::parse(&text.replacen("{s}", "a", 1)).map_err(|_| not_url())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Violation::UrlCredentials);
    }
    if url.fragment().is_some() {
        return Err(Violation::UrlFragment);
    }
    let is_private = match url.host() {
        // Other characters, and addresses of version 6, cannot be written in a policy.
        Some(Host::Domain(name)) if is_host_name(name) => is_private_name(name),
        Some(Host::Ipv4(address)) => is_private_address(address),
        _ => return Err(Violation::UrlWithoutHost),
    };
    if url.port() == Some(0) {
        return Err(Violation::UrlWithoutHost);
    }
    if url.scheme() == "http" && !is_private {
        return Err(Violation::HttpNotPrivate);
    }
    Ok(url)
}

fn is_host_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

fn is_private_name(name: &str) -> bool {
    !name.contains('.') || [".local", ".internal", ".lan"].iter().any(|end| name.ends_with(end))
}

fn is_private_address(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_private() || address.is_link_local()
}

/// The origin of a URL with placeholders.
pub(super) fn origin(url: &str) -> Option<String> {
    parse_url(url).ok().map(|url| url.origin().ascii_serialization())
}

/// Checks that the placeholders that the kind requires are there, and no others.
pub(super) fn check_placeholders(kind: Option<BaseMapKind>, url: &str) -> Result<(), Violation> {
    let found: Vec<&str> = placeholders(url).collect();
    let has = |names: &[&str]| names.iter().all(|name| found.contains(name));
    let z_x_y = ["{z}", "{x}", "{y}"];
    let (is_complete, names, allowed): (bool, &str, &[&str]) = match kind {
        Some(BaseMapKind::Xyz) => (
            has(&z_x_y) || has(&["{z}", "{x}", "{-y}"]),
            "{z}, {x}, {y}",
            &["{z}", "{x}", "{y}", "{-y}", "{s}", "{key}"],
        ),
        Some(BaseMapKind::Wmts) => (
            has(&z_x_y) || has(&["{TileMatrix}", "{TileRow}", "{TileCol}"]),
            "{TileMatrix}, {TileRow}, {TileCol}",
            &["{z}", "{x}", "{y}", "{TileMatrix}", "{TileRow}", "{TileCol}", "{s}", "{key}"],
        ),
        Some(_) => (true, "", &["{key}"]),
        None => return Ok(()),
    };
    if let Some(unknown) = found.iter().find(|name| !allowed.contains(name)) {
        return Err(Violation::UnknownPlaceholder { name: (*unknown).to_owned() });
    }
    if is_complete {
        return Ok(());
    }
    Err(Violation::MissingPlaceholders { names: names.to_owned() })
}

/// The placeholders of a URL with their braces.
fn placeholders(url: &str) -> impl Iterator<Item = &str> {
    url.match_indices('{').map(|(start, _)| {
        let end = url[start..].find('}').map_or(url.len(), |at| start + at + 1);
        &url[start..end]
    })
}

/// Parses text on one line that may be empty.
pub(super) fn check_text(text: &str, max: usize, is_required: bool) -> Result<String, Violation> {
    match crate::text::parse_line(text, max) {
        Err(Violation::Empty) if is_required => Err(Violation::Required),
        Err(Violation::Empty) => Ok(String::new()),
        parsed => parsed,
    }
}

pub(super) fn with_key(url: &str, key: Option<&str>) -> String {
    let key = utf8_percent_encode(key.unwrap_or_default(), NON_ALPHANUMERIC).to_string();
    url.replace("{key}", &key)
}

/// The URL of an image of a Web Map Service. MapLibre replaces the bounding box.
pub(super) fn wms_url(url: &str, map: &BaseMap) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let is_own = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !pair.is_empty() && !WMS_PARAMETERS.contains(&name.as_str())
    };
    let own: String = query.split('&').filter(is_own).map(|pair| format!("{pair}&")).collect();
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let (layers, styles, size) = (encode(&map.layers), encode(&map.styles), map.tile_size);
    let (format, transparent) = match map.format {
        ImageFormat::Png => ("image/png", "true"),
        ImageFormat::Jpeg => ("image/jpeg", "false"),
    };
    format!(
        "{base}?{own}service=WMS&version=1.3.0&request=GetMap&layers={layers}&styles={styles}\
         &crs=EPSG:3857&bbox={{bbox-epsg-3857}}&width={size}&height={size}&format={format}\
         &transparent={transparent}"
    )
}
