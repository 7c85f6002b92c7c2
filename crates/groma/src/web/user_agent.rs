//! The names of browsers, from their user agents.

use super::i18n::Localizer;

/// The browser and its system. An unknown browser is shown by the beginning of its user agent.
pub(super) fn browser_name(t: Localizer, user_agent: &str) -> String {
    known_browser(t, user_agent).unwrap_or_else(|| match user_agent.is_empty() {
        true => t.msg("account-unknown-browser").into(),
        false => user_agent.chars().take(40).collect(),
    })
}

/// The browser and its system, without any text that the browser chose.
pub(super) fn browser_family(t: Localizer, user_agent: &str) -> String {
    known_browser(t, user_agent).unwrap_or_else(|| t.msg("account-unknown-browser").into())
}

fn known_browser(t: Localizer, user_agent: &str) -> Option<String> {
    let names = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    let systems = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    match (find(&names), find(&systems)) {
        (Some(name), Some(system)) => {
            Some(t.msg("account-browser-on").arg("browser", name).arg("system", system).into())
        }
        (Some(name), None) => Some(name.to_owned()),
        (None, Some(system)) => {
            Some(t.msg("account-unknown-browser-on").arg("system", system).into())
        }
        (None, None) => None,
    }
}
