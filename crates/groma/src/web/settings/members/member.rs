//! The page of a member. Owners of all workspaces of a user can disable, enable and delete the account.

use super::{super::Confirm, PATH, SettingsNav};
use crate::web::{
    WebError,
    fields::{Field, Input, problems},
    flash::Flash,
    form::Form,
    format::Moment,
    i18n::Localizer,
    page::{Meta, Nav},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{DomainError, Permission, Role};
use groma_store::{AccountAuthority, DisableUser, KnownPerson, TokenRow, UserFilter, UserRow};

#[derive(Template)]
#[template(path = "member.html")]
struct MemberPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    id: String,
    name: String,
    email: String,
    role: String,
    /// The account; `None` for a service account.
    account: Option<AccountView>,
    tokens: Vec<TokenView>,
    /// What the viewer may do with the account.
    access: AccountAccess,
    revoke_tokens: Field,
    problems: Vec<String>,
}

struct AccountView {
    is_verified: bool,
    created: Moment,
    last_seen: Option<Moment>,
    disabled: Option<Moment>,
    sessions: usize,
}

struct TokenView {
    name: String,
    created: Moment,
    last_used: Option<Moment>,
    expires: Option<Moment>,
}

/// What the viewer may do with an account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccountAccess {
    /// Disable, enable and delete it.
    Full,
    /// Nothing: it is their own.
    Own,
    /// Nothing: they are not an owner.
    NotOwner,
    /// Nothing: its user belongs to a workspace that they do not own.
    Elsewhere,
}

impl AccountAccess {
    fn of(ctx: &MemberContext, known: &KnownPerson, account: Option<&UserRow>) -> Self {
        if known.person.id == ctx.member.person.id {
            return Self::Own;
        }
        if !ctx.can(Permission::Own) {
            return Self::NotOwner;
        }
        let is_owned = |workspace| {
            let mut memberships = ctx.session.memberships.iter();
            memberships.any(|own| own.workspace.id == workspace && own.role == Role::Owner)
        };
        let mut workspaces = account.into_iter().flat_map(|account| &account.workspaces);
        if workspaces.all(|workspace| is_owned(workspace.id)) {
            Self::Full
        } else {
            Self::Elsewhere
        }
    }

    /// Its name in the texts.
    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Own => "own",
            Self::NotOwner => "not-owner",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// The member with this id, and their account.
async fn find(ctx: &MemberContext, id: &str) -> Result<(KnownPerson, Option<UserRow>), WebError> {
    let known = super::member(ctx, id).await?;
    let account = match known.user {
        Some(user) => ctx.store().users(UserFilter::User(user)).await?.pop(),
        None => None,
    };
    Ok((known, account))
}

pub(in crate::web) async fn page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (known, account) = find(&ctx, &id).await?;
    show(&ctx, StatusCode::OK, known, account, Vec::new()).await
}

async fn show(
    ctx: &MemberContext,
    status: StatusCode,
    known: KnownPerson,
    account: Option<UserRow>,
    problems: Vec<String>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let sessions = match known.user {
        Some(user) => ctx.store().sessions(user, ctx.now()).await?.len(),
        None => 0,
    };
    let mut tokens = ctx.store().tokens(Some(ctx.workspace_id())).await?;
    let is_valid = |token: &TokenRow| {
        token.revoked_at.is_none() && token.expires_at.is_none_or(|end| end > ctx.now())
    };
    tokens.retain(|token| token.person == known.person.id && is_valid(token));
    let access = AccountAccess::of(ctx, &known, account.as_ref());
    let content = MemberPage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        id: known.person.id.to_string(),
        email: known.person.email.to_string(),
        role: known.role.map(|role| t.role(role)).unwrap_or_default(),
        account: account.map(|account| AccountView {
            is_verified: account.email_verified_at.is_some(),
            created: ctx.moment(account.created_at),
            last_seen: account.last_seen_at.map(|at| ctx.moment(at)),
            disabled: account.disabled_at.map(|at| ctx.moment(at)),
            sessions,
        }),
        tokens: tokens.into_iter().map(|token| token_view(ctx, token)).collect(),
        access,
        revoke_tokens: Field::new("revoke_tokens", t.msg("member-revoke-tokens"), Input::Checkbox)
            .value("true")
            .hint(t.msg("member-revoke-tokens-hint")),
        problems,
        name: known.person.name,
    };
    let meta = Meta::new(content.name.clone(), Nav::Settings);
    ctx.page_with_status(status, meta, &content).await
}

fn token_view(ctx: &MemberContext, token: TokenRow) -> TokenView {
    TokenView {
        created: ctx.moment(token.created_at),
        last_used: token.last_used_at.map(|at| ctx.moment(at)),
        expires: token.expires_at.map(|at| ctx.moment(at)),
        name: token.name,
    }
}

/// The member with this id, if the viewer may change their account.
async fn changeable(ctx: &MemberContext, id: &str) -> Result<(KnownPerson, UserRow), WebError> {
    let (known, account) = find(ctx, id).await?;
    let access = AccountAccess::of(ctx, &known, account.as_ref());
    let account = account.filter(|_| access == AccountAccess::Full);
    Ok((known, account.ok_or_else(WebError::not_found)?))
}

pub(in crate::web) async fn disable(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let (known, account) = changeable(&ctx, &id).await?;
    let disable = DisableUser {
        user: account.id,
        actor: ctx.actor(),
        revoke_tokens: form.has("revoke_tokens"),
        now: ctx.now(),
    };
    match ctx.store().disable_user(disable).await {
        Ok(()) => {
            let message = ctx.t().msg("member-disabled").arg("name", known.person.name);
            Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}"), &Flash::new(message)))
        }
        Err(error) => show_rejection(&ctx, known, account, error).await,
    }
}

pub(in crate::web) async fn enable(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (known, account) = changeable(&ctx, &id).await?;
    ctx.store().enable_user(account.id, ctx.actor(), ctx.now()).await?;
    let message = ctx.t().msg("member-enabled").arg("name", known.person.name);
    Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}"), &Flash::new(message)))
}

pub(in crate::web) async fn delete_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (known, _) = changeable(&ctx, &id).await?;
    let t = ctx.t();
    let content = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: t.msg("member-delete-title").arg("name", &known.person.name).into(),
        text: t.msg("member-delete-text").arg("name", &known.person.name).into(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{}/delete", known.person.id),
        cancel: PATH.to_owned(),
        button: t.msg("member-delete").into(),
    };
    content.show(&ctx).await
}

pub(in crate::web) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (known, account) = changeable(&ctx, &id).await?;
    let authority = AccountAuthority::Actor(ctx.actor());
    match ctx.store().delete_user(account.id, authority, ctx.now()).await {
        Ok(()) => Ok(ctx.redirect_with_flash(PATH, &Flash::new(ctx.t().msg("member-deleted")))),
        Err(error) => show_rejection(&ctx, known, account, error).await,
    }
}

/// Shows the page with the rule that rejected a change.
async fn show_rejection(
    ctx: &MemberContext,
    known: KnownPerson,
    account: UserRow,
    error: groma_store::Error,
) -> Result<Response, WebError> {
    let Some(rule @ DomainError::Invalid(_)) = error.domain_error() else {
        return Err(error.into());
    };
    let problems = problems(rule).iter().map(|problem| ctx.t().problem(problem)).collect();
    show(ctx, StatusCode::BAD_REQUEST, known, Some(account), problems).await
}
