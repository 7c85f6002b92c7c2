//! Checks that the identity providers can be reached.

use super::Finding;
use crate::{oidc::Provider, settings::Settings};

pub(super) async fn inspect(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for provider in &settings.oidc {
        let name = &provider.name;
        let checked = match Provider::new(provider.clone(), &settings.server.public_url()) {
            Ok(provider) => provider.check().await.map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        // A warning: users can log in in another way meanwhile.
        if let Err(problem) = checked {
            let remedy =
                "check the issuer, its certificate and the network; users cannot log in with it";
            findings.push(Finding::warning(format!("oidc.{name}: {problem}"), remedy));
        }
    }
    findings
}
