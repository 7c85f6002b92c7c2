//! `groma token create|list|revoke`

use super::{Failure, print, print_table, workspace_of};
use crate::{cli::TokenCommand, clock::now, settings::Settings};
use groma_domain::{
    Email, Timestamp, WorkspaceId,
    scope::Scopes,
    token::{self, Token},
};
use groma_store::{Actor, NewToken, Store, TokenRow};
use serde_json::{Value, json};

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: TokenCommand,
) -> Result<(), Failure> {
    match command {
        TokenCommand::Create { at, user, name, scopes, expires, json } => {
            let workspace = workspace_of(store, &at).await?;
            let expires_at = expires.map(|millis| now().plus_millis(millis));
            let wanted =
                Wanted { workspace: workspace.id, owner: user, name: &name, scopes, expires_at };
            let (id, token) = create(settings, store, wanted).await?;
            if !json {
                return print(token.reveal());
            }
            print(&json!({ "id": id, "name": name, "token": token.reveal() }).to_string())
        }
        TokenCommand::List { at, json } => {
            let workspace = match at.workspace {
                Some(_) => Some(workspace_of(store, &at).await?.id),
                None => None,
            };
            let tokens = store.tokens(workspace).await?;
            if json {
                return print(&Value::from_iter(tokens.iter().map(shown)).to_string());
            }
            let moment = |moment: Option<Timestamp>| {
                moment.map_or("-".to_owned(), |moment| moment.to_string())
            };
            let rows: Vec<_> = tokens
                .iter()
                .map(|t| {
                    let state = if t.revoked_at.is_some() {
                        "revoked".to_owned()
                    } else {
                        moment(t.expires_at)
                    };
                    let (scopes, used) = (t.scopes.to_string(), moment(t.last_used_at));
                    vec![
                        t.id.to_string(),
                        t.name.clone(),
                        t.owner.clone(),
                        t.workspace.clone(),
                        scopes,
                        state,
                        used,
                    ]
                })
                .collect();
            print_table(
                &["ID", "NAME", "OWNER", "WORKSPACE", "SCOPES", "EXPIRES", "LAST USED"],
                &rows,
            )
        }
        TokenCommand::Revoke { id } => {
            let workspace = store.workspace_of_token(id).await?;
            Ok(store.revoke_token(workspace, id, Actor::Operator, now()).await?)
        }
    }
}

/// A token to be made.
pub(crate) struct Wanted<'a> {
    pub(crate) workspace: WorkspaceId,
    pub(crate) owner: Email,
    pub(crate) name: &'a str,
    pub(crate) scopes: Scopes,
    pub(crate) expires_at: Option<Timestamp>,
}

/// Makes a token and stores its hash.
pub(crate) async fn create(
    settings: &Settings,
    store: &Store,
    wanted: Wanted<'_>,
) -> Result<(groma_domain::TokenId, Token), Failure> {
    let name = token::parse_name(wanted.name)
        .map_err(|reason| Failure::new(format!("--name {reason}")))?;
    let mut random = [0; 24];
    getrandom::fill(&mut random).map_err(Failure::new)?;
    let token = Token::new(&settings.service.token_prefix, random);
    let new = NewToken {
        id: None,
        workspace: wanted.workspace,
        owner: wanted.owner,
        name,
        hash: token.hash(),
        hint: token.hint(),
        scopes: wanted.scopes,
        expires_at: wanted.expires_at,
    };
    Ok((store.create_token(new, Actor::Operator, now()).await?, token))
}

fn shown(token: &TokenRow) -> Value {
    json!({
        "id": token.id,
        "name": token.name,
        "workspace": token.workspace,
        "owner": token.owner,
        "scopes": Vec::from_iter(token.scopes.iter()),
        "createdAt": token.created_at,
        "expiresAt": token.expires_at,
        "revokedAt": token.revoked_at,
        "lastUsedAt": token.last_used_at,
    })
}
