//! What a program does of all that Groma does, so that each part scales alone.

use std::fmt;

/// A part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The main API, on the main listener.
    Main,
    /// The Geo API, on its own.
    Geo,
    /// The loop that sends deliveries.
    Deliver,
    /// The web application, on the main listener.
    Web,
}

impl Role {
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

/// The parts that one program has taken on: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles(Vec<Role>);

impl Roles {
    /// Reads names; naming one twice is naming it.
    pub(crate) fn parse(names: &[String]) -> Result<Self, String> {
        let mut roles = Vec::new();
        for name in names {
            let known = Role::ALL.into_iter().find(|role| role.name() == name);
            let role = known.ok_or_else(|| {
                format!("`{name}` is no role; there are main, geo, deliver and web")
            })?;
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        if roles.is_empty() {
            return Err("must name at least one of main, geo, deliver and web".to_owned());
        }
        Ok(Self(roles))
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Whether anything is served on the main listener.
    pub(crate) fn have_main_listener(&self) -> bool {
        self.has(Role::Main) || self.has(Role::Web)
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, role) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}", role.name())?;
        }
        Ok(())
    }
}
