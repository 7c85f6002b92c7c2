//! Base maps: the maps of other servers that a workspace shows below its layers.

use crate::{
    BaseMapId, DomainError, FieldErrors, Violation,
    text::{fold, parse_line},
};
use serde::{Deserialize, Serialize};

pub mod presets;
mod source_url;

use source_url::{check_placeholders, check_text, origin, parse_url, with_key, wms_url};

/// The maximum number of base maps of a workspace.
pub const MAX_BASE_MAPS: usize = 20;
/// The highest zoom of the map.
pub const MAX_ZOOM: u8 = 24;

const MAX_NAME: usize = 100;
const MAX_KEY: usize = 200;
const MAX_LAYERS: usize = 500;
const MAX_ATTRIBUTION: usize = 300;
const MAX_HOSTS: usize = 10;

/// The servers that `{s}` in a URL stands for.
const SUBDOMAINS: [&str; 3] = ["a", "b", "c"];

/// What a base map's URL refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseMapKind {
    /// Tiles by zoom, column and row.
    Xyz,
    /// Tiles of a Web Map Tile Service.
    Wmts,
    /// Images of a Web Map Service.
    Wms,
    /// A MapLibre style.
    Style,
}

impl BaseMapKind {
    /// Every kind with its name.
    pub const NAMES: [(&'static str, Self); 4] =
        [("xyz", Self::Xyz), ("wmts", Self::Wmts), ("wms", Self::Wms), ("style", Self::Style)];

    /// The name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// The format of images from a Web Map Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// Lossless, with transparency.
    Png,
    /// Smaller for aerial images.
    Jpeg,
}

impl ImageFormat {
    /// Every format with its name.
    pub const NAMES: [(&'static str, Self); 2] = [("png", Self::Png), ("jpeg", Self::Jpeg)];

    /// The name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self == Self::Png { "png" } else { "jpeg" }
    }
}

/// A base map. Fields that its kind does not use are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaseMap {
    /// Identifier.
    pub id: BaseMapId,
    /// Name on the map's list of base maps.
    pub name: String,
    /// What the URL refers to.
    pub kind: BaseMapKind,
    /// The URL, with placeholders according to the kind.
    pub url: String,
    /// The key that replaces `{key}` in the URL. Browsers send it, so every member can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The layers of a Web Map Service, separated by commas.
    pub layers: String,
    /// The styles of these layers; the default styles if empty.
    pub styles: String,
    /// The format of the images of a Web Map Service.
    pub format: ImageFormat,
    /// Other origins that a MapLibre style loads from.
    pub hosts: Vec<String>,
    /// The source to credit on the map.
    pub attribution: String,
    /// The page that the credit links to.
    pub attribution_url: Option<String>,
    /// Lowest zoom with tiles.
    pub min_zoom: u8,
    /// Highest zoom with tiles. Beyond it, the tiles are enlarged.
    pub max_zoom: u8,
    /// Width and height of a tile in pixels: 256 or 512.
    pub tile_size: u16,
    /// Whether maps show it until the user chooses another one.
    pub is_default: bool,
}

/// A base map as a user enters it.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `BaseMap`")]
pub struct BaseMapInput {
    pub name: String,
    pub kind: String,
    pub url: String,
    pub key: String,
    pub layers: String,
    pub styles: String,
    pub format: String,
    /// URLs or origins, separated by white space.
    pub hosts: String,
    pub attribution: String,
    pub attribution_url: String,
    pub min_zoom: String,
    pub max_zoom: String,
    pub tile_size: String,
    pub is_default: bool,
}

impl BaseMap {
    /// Parses what a user entered, and reports all problems at once.
    pub fn parse(id: BaseMapId, input: &BaseMapInput) -> Result<Self, DomainError> {
        let mut errors = FieldErrors::default();
        let kind = one_of(&mut errors, "kind", &input.kind, &BaseMapKind::NAMES);
        let format = match input.format.trim() {
            "" => Some(ImageFormat::Png),
            format => one_of(&mut errors, "format", format, &ImageFormat::NAMES),
        };
        let name = errors.check("name", parse_line(&input.name, MAX_NAME));
        let url = parse_source_url(&mut errors, kind, input.url.trim());
        let key = parse_key(&mut errors, input);
        let attribution_url = optional(&input.attribution_url).and_then(|text| {
            errors.check("attributionUrl", parse_url(text)).map(|url| url.to_string())
        });
        let (min_zoom, max_zoom) = parse_zooms(&mut errors, input);
        let is_wms = kind == Some(BaseMapKind::Wms);
        let mut text = |field, text: &str, max, is_required| {
            errors.check(field, check_text(text, max, is_required)).unwrap_or_default()
        };
        let layers = text("layers", &input.layers, MAX_LAYERS, is_wms);
        let styles = text("styles", &input.styles, MAX_LAYERS, false);
        let attribution = text("attribution", &input.attribution, MAX_ATTRIBUTION, false);
        let hosts = parse_hosts(&mut errors, &input.hosts);
        let tile_size = match input.tile_size.trim() {
            "" | "256" => 256,
            "512" => 512,
            _ => {
                errors.add("tileSize", Violation::NotOneOf { values: "256, 512".to_owned() });
                256
            }
        };
        let parsed = name.zip(kind).zip(format).map(|((name, kind), format)| Self {
            id,
            name,
            kind,
            url,
            key,
            layers: if is_wms { layers } else { String::new() },
            styles: if is_wms { styles } else { String::new() },
            format,
            hosts: if kind == BaseMapKind::Style { hosts } else { Vec::new() },
            attribution,
            attribution_url,
            min_zoom,
            max_zoom,
            tile_size,
            is_default: input.is_default,
        });
        errors.finish(parsed)
    }

    /// The URLs of tiles for MapLibre, or of the style: with the key, one for each subdomain.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let url = with_key(&self.url, self.key.as_deref());
        let url = match self.kind {
            BaseMapKind::Wms => wms_url(&url, self),
            BaseMapKind::Wmts => wmts_placeholders(&url),
            BaseMapKind::Xyz => url.replace("{-y}", "{y}"),
            BaseMapKind::Style => url,
        };
        if !url.contains("{s}") {
            return vec![url];
        }
        SUBDOMAINS.iter().map(|subdomain| url.replace("{s}", subdomain)).collect()
    }

    /// Whether rows of tiles count from the south.
    #[must_use]
    pub fn is_tms(&self) -> bool {
        self.kind == BaseMapKind::Xyz && self.url.contains("{-y}")
    }

    /// The origins that browsers load from.
    #[must_use]
    pub fn origins(&self) -> Vec<String> {
        let urls = self.urls();
        let mut origins: Vec<String> = urls.iter().filter_map(|url| origin(url)).collect();
        origins.extend(self.hosts.iter().cloned());
        origins.dedup();
        origins
    }

    /// A copy for the audit log, which keeps no keys.
    #[must_use]
    pub fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }
}

fn one_of<T: Copy>(
    errors: &mut FieldErrors,
    field: &str,
    text: &str,
    names: &[(&'static str, T)],
) -> Option<T> {
    let found = names.iter().find(|(name, _)| *name == text.trim());
    if found.is_none() {
        let values: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        errors.add(field, Violation::NotOneOf { values: values.join(", ") });
    }
    found.map(|(_, value)| *value)
}

fn optional(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

fn parse_source_url(errors: &mut FieldErrors, kind: Option<BaseMapKind>, text: &str) -> String {
    let checked = match text {
        "" => Err(Violation::Required),
        _ => parse_url(text).and_then(|_| check_placeholders(kind, text)),
    };
    errors.check("url", checked);
    text.to_owned()
}

fn parse_key(errors: &mut FieldErrors, input: &BaseMapInput) -> Option<String> {
    let has_placeholder = input.url.contains("{key}");
    match optional(&input.key) {
        None if has_placeholder => errors.add("key", Violation::Required),
        Some(_) if !has_placeholder => errors.add("key", Violation::KeyWithoutPlaceholder),
        key => return errors.check("key", parse_line(key?, MAX_KEY)),
    }
    None
}

fn parse_zooms(errors: &mut FieldErrors, input: &BaseMapInput) -> (u8, u8) {
    let mut zoom = |field, text: &str, default| match optional(text) {
        None => default,
        Some(text) => match text.parse() {
            Ok(zoom) if zoom <= MAX_ZOOM => zoom,
            _ => {
                errors.add(field, Violation::NotInteger { min: 0, max: u32::from(MAX_ZOOM) });
                default
            }
        },
    };
    let min = zoom("minZoom", &input.min_zoom, 0);
    let max = zoom("maxZoom", &input.max_zoom, 19);
    if max < min {
        errors.add("maxZoom", Violation::NotInteger { min: min.into(), max: MAX_ZOOM.into() });
    }
    (min, max)
}

fn parse_hosts(errors: &mut FieldErrors, text: &str) -> Vec<String> {
    let mut hosts = Vec::new();
    for text in text.split_whitespace() {
        let url = errors.check("hosts", parse_url(text));
        let host = url.map(|url| url.origin().ascii_serialization());
        hosts.extend(host.filter(|host| !hosts.contains(host)));
    }
    if hosts.len() > MAX_HOSTS {
        errors.add("hosts", Violation::TooManyHosts { max: MAX_HOSTS });
    }
    hosts
}

/// MapLibre's names of the placeholders of a Web Map Tile Service.
fn wmts_placeholders(url: &str) -> String {
    url.replace("{TileMatrix}", "{z}").replace("{TileRow}", "{y}").replace("{TileCol}", "{x}")
}

/// The base maps of a workspace in the order of the map's list. At most one is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BaseMaps(Vec<BaseMap>);

impl BaseMaps {
    /// The base maps in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[BaseMap] {
        &self.0
    }

    /// A base map by its ID.
    pub fn get(&self, id: BaseMapId) -> Result<&BaseMap, DomainError> {
        Ok(&self.0[self.position(id)?])
    }

    fn position(&self, id: BaseMapId) -> Result<usize, DomainError> {
        let found = self.0.iter().position(|map| map.id == id);
        let key = id.to_string();
        found.ok_or(DomainError::NotFound { resource: "base map", key })
    }

    /// Adds a base map at the end.
    pub fn add(&mut self, map: BaseMap) -> Result<(), DomainError> {
        if self.0.len() >= MAX_BASE_MAPS {
            let violation = Violation::TooManyBaseMaps { max: MAX_BASE_MAPS };
            return Err(DomainError::invalid("name", violation));
        }
        self.check_name(&map)?;
        self.0.push(map);
        self.keep_one_default(self.0.len() - 1);
        Ok(())
    }

    /// Replaces the base map that has the same ID.
    pub fn replace(&mut self, map: BaseMap) -> Result<(), DomainError> {
        let index = self.position(map.id)?;
        self.check_name(&map)?;
        self.0[index] = map;
        self.keep_one_default(index);
        Ok(())
    }

    /// Removes a base map.
    pub fn remove(&mut self, id: BaseMapId) -> Result<BaseMap, DomainError> {
        let index = self.position(id)?;
        Ok(self.0.remove(index))
    }

    /// Moves a base map one place up or down. The first and the last one stay.
    pub fn shift(&mut self, id: BaseMapId, up: bool) -> Result<(), DomainError> {
        let index = self.position(id)?;
        let other = if up { index.checked_sub(1) } else { Some(index + 1) };
        if let Some(other) = other.filter(|other| *other < self.0.len()) {
            self.0.swap(index, other);
        }
        Ok(())
    }

    fn check_name(&self, map: &BaseMap) -> Result<(), DomainError> {
        let name = fold(&map.name);
        if self.0.iter().any(|other| other.id != map.id && fold(&other.name) == name) {
            let value = map.name.clone();
            return Err(DomainError::invalid("name", Violation::Taken { value }));
        }
        Ok(())
    }

    fn keep_one_default(&mut self, saved: usize) {
        if self.0[saved].is_default {
            for (index, map) in self.0.iter_mut().enumerate() {
                map.is_default = index == saved;
            }
        }
    }
}

#[cfg(test)]
mod tests;
