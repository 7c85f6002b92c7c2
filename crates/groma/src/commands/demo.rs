//! `groma serve --demo`: seeds an empty database and prints how to use it.

use super::{
    CommandError, print,
    token::{self, TokenRequest},
};
use crate::{clock, password, settings::Settings};
use groma_demo::Summary;
use groma_domain::{Scope, password::Password, token::Token};
use groma_store::Store;
use indicatif::HumanCount;

/// Seeds a database that has no workspace and prints the login, the token and sample requests.
/// Leaves any other database unchanged. Returns `false` if `cancelled` completed first.
pub(super) async fn seed_if_empty(
    settings: &Settings,
    store: &Store,
    cancelled: impl Future<Output = ()>,
) -> Result<bool, CommandError> {
    let workspaces = store.workspaces().await?.len();
    if workspaces > 0 {
        let count = HumanCount(workspaces as u64);
        let noun = if workspaces == 1 { "workspace" } else { "workspaces" };
        let address = settings.server.public_url();
        print(&format!(
            "The database already has {count} {noun}, so --demo changed nothing. Web app: {address}"
        ))?;
        return Ok(true);
    }
    tracing::info!("seeding the empty database with the demo office");
    let password = password::generate()?;
    let hash = password::hash(Password::new(&password, &[]).map_err(CommandError::new)?).await?;
    let seeded =
        groma_demo::seed(store, hash, clock::now(), cancelled).await.map_err(CommandError::new)?;
    let Some(summary) = seeded else { return Ok(false) };
    let request = TokenRequest {
        workspace: summary.workspace,
        owner: summary.owner.clone(),
        name: "Demo token",
        scopes: Scope::ALL.into_iter().collect(),
        expires_at: settings
            .security
            .max_token_days
            .map(|days| clock::now().plus_millis(i64::from(days) * 86_400_000)),
        is_read_only: false,
    };
    let (_, token) = token::create(settings, store, request).await?;
    print(&welcome(settings, &summary, &password, &token))?;
    Ok(true)
}

fn welcome(settings: &Settings, summary: &Summary, password: &str, token: &Token) -> String {
    let (address, geo_address) = (settings.server.public_url(), settings.server.geo_public_url());
    let token = token.reveal();
    let mut counts: Vec<_> = summary
        .record_counts
        .iter()
        .map(|(kind, count)| format!("{} {}", HumanCount(*count), kind.plural()))
        .collect();
    let features = summary.layers.iter().map(|layer| layer.counts.total()).sum();
    counts.push(format!("{} layers with {} features", summary.layers.len(), HumanCount(features)));
    let curl = |address: &str, path: &str| {
        format!("  curl -H 'Authorization: Bearer {token}' '{address}/api/public/v1/{path}'")
    };
    let lines = [
        String::new(),
        format!("{} is ready: {}.", groma_demo::WORKSPACE_NAME, counts.join(", ")),
        String::new(),
        format!("  Web app:  {address}"),
        format!("  API docs: {address}/docs"),
        format!("  Geo API:  {geo_address}"),
        format!("  Login:    {}", summary.owner),
        format!("  Password: {password}"),
        format!("  Token:    {token}"),
        String::new(),
        "The password and the token are not shown again. Try:".to_owned(),
        String::new(),
        curl(&address, "folders?term=chene"),
        curl(&address, &format!("budgets/{}", summary.sample_budget)),
        curl(&geo_address, "layers"),
        String::new(),
    ];
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::{Currency, Email, workspace::WorkspaceName};
    use groma_store::NewUser;

    #[tokio::test]
    async fn demo_leaves_a_database_in_use_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("groma.db").display());
        let store = Store::open(&url.parse().unwrap()).await.unwrap();
        let name = WorkspaceName::parse("Existing").unwrap();
        let email = Email::parse("owner@example.test").unwrap();
        let owner = NewUser { email, name: None, password_hash: None };
        store.create_workspace(name, Currency::EUR, owner, clock::now()).await.unwrap();
        let settings = Settings::load(None, [], &[]).unwrap();
        assert!(seed_if_empty(&settings, &store, std::future::pending()).await.unwrap());
        assert_eq!(store.workspaces().await.unwrap().len(), 1);
        assert!(store.tokens(None).await.unwrap().is_empty());
    }
}
