//! `groma token create|list|revoke`

use super::{CommandError, find_workspace, print, print_table, security_notice, time_cell};
use crate::{cli::TokenCommand, clock, settings::Settings, web::mail::Notice};
use groma_domain::{
    Email, Timestamp, TokenId, WorkspaceId,
    scope::Scopes,
    token::{self, Token},
};
use groma_store::{Actor, NewMail, NewToken, Store, TokenRow, WorkspaceFilter};
use serde_json::{Value, json};

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: TokenCommand,
) -> Result<(), CommandError> {
    match command {
        TokenCommand::Create { workspace, user, name, read_only, scopes, expires, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let expires_at = expires.map(|millis| clock::now().plus_millis(millis));
            let request = TokenRequest {
                workspace,
                owner: user,
                name: &name,
                scopes,
                expires_at,
                is_read_only: read_only,
            };
            let (id, token) = create(settings, store, request).await?;
            if !json {
                return print(token.reveal());
            }
            print(&json!({ "id": id, "name": name, "token": token.reveal() }).to_string())
        }
        TokenCommand::List { workspace, json } => {
            let workspace = match workspace.name_or_key {
                Some(_) => Some(find_workspace(store, &workspace).await?.id),
                None => None,
            };
            let tokens = store.tokens(workspace).await?;
            if json {
                return print(&Value::from_iter(tokens.iter().map(to_json)).to_string());
            }
            let rows: Vec<_> = tokens.iter().map(row).collect();
            print_table(
                &["ID", "NAME", "OWNER", "WORKSPACE", "SCOPES", "EXPIRES", "LAST USED"],
                &rows,
            )
        }
        TokenCommand::Revoke { id } => {
            let workspace = store.workspace_of_token(id).await?;
            Ok(store.revoke_token(workspace, id, Actor::Operator, clock::now()).await?)
        }
    }
}

fn row(token: &TokenRow) -> Vec<String> {
    let expires = match token.revoked_at {
        Some(_) => "revoked".to_owned(),
        None => time_cell(token.expires_at),
    };
    vec![
        token.id.to_string(),
        token.name.clone(),
        token.owner.clone(),
        token.workspace.clone(),
        if token.is_read_only {
            format!("{} (read-only)", token.scopes).trim_start().to_owned()
        } else {
            token.scopes.to_string()
        },
        expires,
        time_cell(token.last_used_at),
    ]
}

/// A token to create.
pub(super) struct TokenRequest<'a> {
    pub(super) workspace: WorkspaceId,
    pub(super) owner: Email,
    pub(super) name: &'a str,
    pub(super) scopes: Scopes,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) is_read_only: bool,
}

/// Generates a token and stores its hash.
pub(super) async fn create(
    settings: &Settings,
    store: &Store,
    request: TokenRequest<'_>,
) -> Result<(TokenId, Token), CommandError> {
    let name = token::parse_name(request.name)
        .map_err(|reason| CommandError::new(format!("--name {reason}")))?;
    let mut random = [0; 24];
    getrandom::fill(&mut random).map_err(CommandError::new)?;
    let token = Token::new(&settings.service.token_prefix, random);
    let now = clock::now();
    let notice = notice(settings, store, &request, &name, now).await?;
    let new = NewToken {
        id: None,
        workspace: request.workspace,
        owner: request.owner,
        name,
        hash: token.hash(),
        hint: token.hint(),
        scopes: request.scopes,
        expires_at: request.expires_at,
        is_read_only: request.is_read_only,
        notice,
    };
    Ok((store.create_token(new, Actor::Operator, now).await?, token))
}

/// The mail that tells the owner of a new token, if there is a mail server.
async fn notice(
    settings: &Settings,
    store: &Store,
    request: &TokenRequest<'_>,
    name: &str,
    now: Timestamp,
) -> Result<Option<NewMail>, CommandError> {
    if settings.smtp.is_none() {
        return Ok(None);
    }
    let Some(account) = store.account(&request.owner).await? else { return Ok(None) };
    let workspace = store.find_workspace(&WorkspaceFilter::Id(request.workspace)).await?;
    let (workspace, at) = (workspace.name.as_str(), now.to_string());
    let notice = Notice::NewToken { name, workspace, at: &at };
    let mail = security_notice::write(settings, account, &notice, now);
    Ok(mail.map(|mail| NewMail { workspace: Some(request.workspace), ..mail }))
}

fn to_json(token: &TokenRow) -> Value {
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
        "lastUsedFrom": token.last_used_from,
        "readOnly": token.is_read_only,
    })
}
