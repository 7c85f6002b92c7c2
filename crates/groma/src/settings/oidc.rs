//! The settings of identity providers.

use super::SettingsError;
use groma_domain::Role;
use serde::Deserialize;
use std::{collections::BTreeMap, fmt, path::PathBuf};
use url::{Host, Url};

/// An identity provider. `Debug` does not print its secret.
#[derive(Clone)]
pub(crate) struct OidcProvider {
    /// The name in settings and URLs.
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) extra_roots: Option<PathBuf>,
    pub(crate) enforces_second_factor: bool,
    pub(crate) membership: Option<OidcMembership>,
}

/// How users of a provider become members of a workspace.
#[derive(Clone, Debug)]
pub(crate) struct OidcMembership {
    /// The name or key of the workspace.
    pub(crate) workspace: String,
    /// The e-mail domains of those who join, in lower case; empty for all.
    pub(crate) domains: Vec<String>,
    /// The role without groups.
    pub(crate) role: Role,
    /// The roles of groups.
    pub(crate) groups: Vec<(String, Role)>,
    pub(crate) groups_claim: String,
}

impl fmt::Debug for OidcProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OidcProvider({}, {})", self.name, self.issuer)
    }
}

impl OidcMembership {
    /// The role of a user with this address and these groups; `None` for no access.
    pub(crate) fn role_of(&self, email: &str, groups: &[String]) -> Option<Role> {
        let domain = email.rsplit_once('@').map(|(_, domain)| domain.to_lowercase());
        let is_listed = domain.is_some_and(|domain| self.domains.contains(&domain));
        if !self.domains.is_empty() && !is_listed {
            return None;
        }
        if self.groups.is_empty() {
            return Some(self.role);
        }
        let matching = self.groups.iter().filter(|(group, _)| groups.contains(group));
        matching.map(|(_, role)| *role).max()
    }

    /// Whether the provider decides the role at every login.
    pub(crate) fn is_managed(&self) -> bool {
        !self.groups.is_empty()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvider {
    label: String,
    issuer: String,
    client_id: String,
    client_secret: String,
    scopes: Vec<String>,
    extra_roots: String,
    enforces_second_factor: bool,
    workspace: String,
    domains: Vec<String>,
    role: String,
    groups: Vec<String>,
    groups_claim: String,
}

pub(super) fn validate(
    providers: BTreeMap<String, RawProvider>,
) -> Result<Vec<OidcProvider>, SettingsError> {
    providers.into_iter().map(|(name, raw)| provider(name, raw)).collect()
}

fn provider(name: String, raw: RawProvider) -> Result<OidcProvider, SettingsError> {
    let wrong = |setting: &str, reason: String| {
        SettingsError::new(&format!("oidc.{name}.{setting}"), reason)
    };
    check_issuer(&raw.issuer).map_err(|reason| wrong("issuer", reason))?;
    let client_id = raw.client_id.trim().to_owned();
    if client_id.is_empty() {
        return Err(wrong("client_id", "is required by the issuer".to_owned()));
    }
    let label = Some(raw.label.trim()).filter(|label| !label.is_empty()).unwrap_or(&name);
    let secret = raw.client_secret.trim();
    let roots = raw.extra_roots.trim();
    Ok(OidcProvider {
        label: label.to_owned(),
        issuer: raw.issuer.trim().to_owned(),
        client_id,
        client_secret: (!secret.is_empty()).then(|| secret.to_owned()),
        extra_roots: (!roots.is_empty()).then(|| PathBuf::from(roots)),
        enforces_second_factor: raw.enforces_second_factor,
        membership: membership(&raw).map_err(|(setting, reason)| wrong(setting, reason))?,
        scopes: raw.scopes,
        name,
    })
}

/// The issuer must use https, unless it is on this machine.
fn check_issuer(issuer: &str) -> Result<(), String> {
    let url = Url::parse(issuer.trim());
    let url = url.map_err(|_| "must be a URL, for example https://login.example.com".to_owned())?;
    let is_local = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => return Err("must have a host name".to_owned()),
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_local => Ok(()),
        _ => Err("must start with https://".to_owned()),
    }
}

fn membership(raw: &RawProvider) -> Result<Option<OidcMembership>, (&'static str, String)> {
    let workspace = raw.workspace.trim();
    if workspace.is_empty() {
        return match (raw.domains.is_empty(), raw.groups.is_empty()) {
            (true, true) => Ok(None),
            (false, _) => Err(("workspace", "is required by domains".to_owned())),
            (true, false) => Err(("workspace", "is required by groups".to_owned())),
        };
    }
    if raw.domains.is_empty() && raw.groups.is_empty() {
        return Err(("domains", "is required by workspace, unless groups are given".to_owned()));
    }
    let group = |text: &String| {
        let (group, role) = text.rsplit_once('=').unwrap_or((text, ""));
        let role: Role = role.trim().parse().map_err(|_| {
            ("groups", format!("`{text}` must be a group and a role, for example gis-admins=admin"))
        })?;
        Ok((group.trim().to_owned(), role))
    };
    let domain = |text: &String| text.trim().trim_start_matches('@').to_lowercase();
    Ok(Some(OidcMembership {
        workspace: workspace.to_owned(),
        domains: raw.domains.iter().map(domain).collect(),
        role: raw.role.trim().parse().map_err(|reason| ("role", reason))?,
        groups: raw.groups.iter().map(group).collect::<Result<_, _>>()?,
        groups_claim: raw.groups_claim.trim().to_owned(),
    }))
}
