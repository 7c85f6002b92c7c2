//! The roles of a server: the parts of Groma that one process runs, so that each part scales alone.

use std::fmt;

/// One part of Groma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerRole {
    /// The main API, on the main listener.
    Main,
    /// The Geo API, on the geo listener.
    Geo,
    /// The loop that sends webhook deliveries.
    Deliver,
    /// The web application, on the main listener.
    Web,
}

impl ServerRole {
    pub(crate) const ALL: [Self; 4] = [Self::Main, Self::Geo, Self::Deliver, Self::Web];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Geo => "geo",
            Self::Deliver => "deliver",
            Self::Web => "web",
        }
    }
}

/// The roles of one server: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles(Vec<ServerRole>);

impl Roles {
    /// Parses role names. A name may be repeated.
    pub(crate) fn parse(names: &[String]) -> Result<Self, String> {
        let mut roles = Vec::new();
        for name in names {
            let role = ServerRole::ALL.into_iter().find(|role| role.name() == name);
            let role = role
                .ok_or_else(|| format!("`{name}` is not a role; use main, geo, deliver or web"))?;
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        if roles.is_empty() {
            return Err("must contain at least one of main, geo, deliver and web".to_owned());
        }
        Ok(Self(roles))
    }

    pub(crate) fn has(&self, role: ServerRole) -> bool {
        self.0.contains(&role)
    }

    /// Whether a role uses the main listener.
    pub(crate) fn have_main_listener(&self) -> bool {
        self.has(ServerRole::Main) || self.has(ServerRole::Web)
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|role| role.name()).collect();
        f.write_str(&names.join(","))
    }
}
