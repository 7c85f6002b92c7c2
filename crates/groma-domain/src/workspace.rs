//! Workspaces.

use crate::{
    Currency, DomainError, Timestamp, Violation, WorkspaceId,
    layer::LayerCrs,
    text::{fold, parse_line},
};
use std::fmt;

/// A workspace: an organisation with its records, people and tokens.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Identifier, the `workspaceKey` of records and events.
    pub id: WorkspaceId,
    /// Name, unique without regard to case and accents.
    pub name: WorkspaceName,
    /// Default currency of new folders.
    pub currency: Currency,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Reference systems that the OGC API offers for every collection of a workspace, besides the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedCrs(Vec<LayerCrs>);

impl OfferedCrs {
    /// The most systems.
    const MAX: usize = 20;

    /// Parses EPSG codes, such as `EPSG:2154`, that are separated by commas or spaces.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let invalid = |violation| DomainError::invalid("crs", violation);
        let names = text.split([',', ' ', ';', '\n', '\r']).filter(|name| !name.is_empty());
        let mut systems: Vec<LayerCrs> = Vec::new();
        for name in names {
            let crs = LayerCrs::parse(name)?;
            if crs != LayerCrs::CRS84 && !systems.contains(&crs) {
                systems.push(crs);
            }
        }
        match systems.len() > Self::MAX {
            true => Err(invalid(Violation::TooManyEntries { max: Self::MAX })),
            false => Ok(Self(systems)),
        }
    }

    /// Reads stored codes. They need not be supported any more, for example without a grid file.
    #[must_use]
    pub fn from_codes(text: &str) -> Self {
        Self(text.split(',').filter_map(|code| code.parse().ok()).map(LayerCrs::of_code).collect())
    }

    /// The EPSG codes, separated by commas.
    #[must_use]
    pub fn codes(&self) -> String {
        let codes = self.iter().map(|code| code.to_string());
        codes.collect::<Vec<_>>().join(",")
    }

    /// The EPSG codes.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|crs| crs.code())
    }
}

impl fmt::Display for OfferedCrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join(", "))
    }
}

/// A workspace's name: 1 to 100 characters, not a UUID, because commands accept a name or an ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceName(String);

impl WorkspaceName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let invalid = |violation| DomainError::invalid("name", violation);
        let text = parse_line(text, 100).map_err(invalid)?;
        match uuid::Uuid::try_parse(&text) {
            Ok(_) => Err(invalid(Violation::LooksLikeUuid)),
            Err(_) => Ok(Self(text)),
        }
    }

    /// The normalized name, used for comparison and uniqueness.
    #[must_use]
    pub fn key(&self) -> String {
        fold(&self.0)
    }

    /// The name as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
