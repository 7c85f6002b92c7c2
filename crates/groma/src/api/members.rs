//! Who the caller is, and the members of the workspace.

use super::{ApiState, envelope::Envelope, params::ListQuery};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::{self, Caller},
};
use axum::{Extension, extract::State, response::Response};
use groma_domain::{
    Currency, Email, PersonId, Role, Scope, Timestamp, TokenId, WorkspaceId, text::fold,
};
use groma_store::{KnownPerson, Page, WorkspaceFilter};
use serde::Serialize;
use utoipa::ToSchema;

/// A token with its owner, workspace and rate limit.
#[derive(Serialize, ToSchema)]
pub(super) struct Me {
    /// The token.
    token: TokenInfo,
    /// Its owner.
    user: MemberInfo,
    /// Its workspace.
    workspace: WorkspaceInfo,
    /// Its rate limit; null if there is none.
    rate: Option<Rate>,
}

/// A token.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenInfo {
    /// Identifier.
    id: TokenId,
    /// Name.
    name: String,
    /// Scopes.
    scopes: Vec<Scope>,
    /// Whether it cannot change anything.
    read_only: bool,
    /// When it expires.
    expires_at: Option<Timestamp>,
}

/// A member of the workspace.
#[derive(Serialize, ToSchema)]
#[schema(as = Member)]
pub(super) struct MemberInfo {
    /// Identifier of the person in this workspace.
    id: PersonId,
    /// Name.
    name: String,
    /// Email address.
    email: Email,
    /// Role: `viewer`, `editor`, `admin` or `owner`.
    #[schema(value_type = String, pattern = "^(viewer|editor|admin|owner)$", example = "editor")]
    role: &'static str,
}

/// A workspace.
#[derive(Serialize, ToSchema)]
pub(super) struct WorkspaceInfo {
    /// Identifier; the `workspaceKey` of records.
    key: WorkspaceId,
    /// Name.
    name: String,
    /// Default currency of folders.
    currency: Currency,
}

/// The state of a rate limit after this request.
#[derive(Serialize, ToSchema)]
pub(super) struct Rate {
    /// Requests accepted in any 60 seconds.
    #[schema(minimum = 0)]
    limit: u32,
    /// Requests left.
    #[schema(minimum = 0)]
    remaining: u32,
    /// Unix time in seconds when one more request is accepted.
    #[schema(minimum = 0)]
    reset: u64,
}

/// Get the token, its owner and its workspace.
#[utoipa::path(get, path = "/api/public/v1/me", tag = "Account",
    responses((status = 200, description = "The token, its owner and its workspace", body = Me)))]
pub(super) async fn get_me(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let token = &caller.token;
    let gone = || HttpError::unauthorized("Unknown or revoked token");
    let mut tokens = api.store.tokens(Some(token.workspace)).await?.into_iter();
    let name = tokens.find(|row| row.id == token.token).ok_or_else(gone)?.name;
    let mut people = api.store.people(token.workspace).await?.into_iter();
    let known = people.find(|known| known.person.id == token.person).ok_or_else(gone)?;
    let workspace = api.store.find_workspace(&WorkspaceFilter::Id(token.workspace)).await?;
    let me = Me {
        token: TokenInfo {
            id: token.token,
            name,
            scopes: token.scopes.iter().collect(),
            read_only: token.is_read_only,
            expires_at: token.expires_at,
        },
        user: MemberInfo::new(known, token.role),
        workspace: WorkspaceInfo {
            key: workspace.id,
            name: workspace.name.as_str().to_owned(),
            currency: workspace.currency,
        },
        rate: caller.rate.map(|rate| Rate {
            limit: rate.limit,
            remaining: rate.remaining,
            reset: token_auth::reset_seconds(rate),
        }),
    };
    let body = serde_json::to_vec(&me).map_err(|error| HttpError::internal(error.to_string()))?;
    Ok(options.json(body))
}

impl MemberInfo {
    fn new(KnownPerson { person, .. }: KnownPerson, role: Role) -> Self {
        Self { id: person.id, name: person.name, email: person.email, role: role.name() }
    }
}

/// List the members of the workspace.
#[utoipa::path(get, path = "/api/public/v1/members", tag = "Account",
    responses((status = 200, description = "A page of members, oldest first", body = Envelope<MemberInfo>)))]
pub(super) async fn list_members(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let people = api.store.people(workspace).await?.into_iter();
    let mut members: Vec<(u64, Vec<u8>)> = Vec::new();
    for known in people {
        let Some(role) = known.role else { continue };
        let member = MemberInfo::new(known, role);
        let text = fold(&format!("{}\n{}", member.name, member.email));
        if list.params.term.as_ref().is_none_or(|term| text.contains(term.as_str())) {
            let document = serde_json::to_vec(&member);
            let document = document.map_err(|error| HttpError::internal(error.to_string()))?;
            // Ids rise with time.
            members.push((member.id.0.as_u64_pair().0, document));
        }
    }
    members.sort();
    let page = Page::of(workspace, "members", &members, &list.params, Clone::clone)?;
    list.respond(&api.public_url, &page, options)
}
