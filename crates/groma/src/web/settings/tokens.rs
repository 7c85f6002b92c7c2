//! Settings > API tokens: creating, listing and revoking tokens. A new token is shown once.

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, attach_errors, focus_first},
    flash::Flash,
    form::Form,
    format::Moment,
    i18n::Localizer,
    mail::{Notice, NoticeRecipient},
    page::{Meta, Nav, forbid_storing},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    DomainError, Email, FieldError, Permission, Scope, Timestamp, TokenId,
    scope::Scopes,
    token::{self, Token},
};
use groma_store::{KnownPerson, NewMail, NewToken, TokenRow};

const PATH: &str = "/settings/tokens";
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;
/// The lifetimes to choose from, in days.
const LIFETIMES: [u32; 3] = [30, 90, 365];

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage {
    t: Localizer,
    nav: SettingsNav,
    new_token: Option<NewTokenView>,
    prefix: String,
    rows: Vec<TokenView>,
    sees_all: bool,
    /// The longest lifetime of tokens in days, and how many valid tokens it ends early.
    shortened: Option<(u32, usize)>,
}

/// A new token. Only the response that creates it contains the secret.
struct NewTokenView {
    name: String,
    secret: String,
    curl: String,
}

struct TokenView {
    id: String,
    name: String,
    owner: String,
    created: Moment,
    hint: String,
    scopes: Vec<&'static str>,
    is_read_only: bool,
    last_used: Option<Moment>,
    /// The address of the client that used it last.
    last_used_from: String,
    expires: Option<Moment>,
    expires_soon: bool,
    /// Whether the longest lifetime ends it earlier than it would by itself.
    is_shortened: bool,
    /// Why it is no longer valid; empty while it is.
    ended: String,
    can_revoke: bool,
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    show(&ctx, None).await
}

async fn show(ctx: &MemberContext, new_token: Option<NewTokenView>) -> Result<Response, WebError> {
    let t = ctx.t();
    // Write the latest uses, so that the page shows them.
    ctx.store().flush(ctx.now()).await?;
    let sees_all = ctx.can(Permission::Administer);
    let me = ctx.member.person.id;
    let mut tokens = ctx.store().tokens(Some(ctx.workspace_id())).await?;
    tokens.retain(|token| sees_all || token.person == me);
    tokens.sort_by_key(|token| {
        (ended(token, ctx.now()).is_some(), std::cmp::Reverse(token.created_at))
    });
    let rows: Vec<_> = tokens.into_iter().map(|token| view(ctx, token)).collect();
    let shortened = rows.iter().filter(|row| row.is_shortened && row.ended.is_empty()).count();
    let limit = ctx.store().token_limit(ctx.workspace_id()).await?;
    let content = TokensPage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        prefix: ctx.web.token_prefix.as_str().to_owned(),
        rows,
        sees_all,
        shortened: limit.filter(|_| shortened > 0).map(|limit| (limit, shortened)),
        new_token,
    };
    let mut response = ctx.page(Meta::new(t.msg("tokens-title"), Nav::Settings), &content).await?;
    if content.new_token.is_some() {
        forbid_storing(&mut response);
    }
    Ok(response)
}

fn ended(token: &TokenRow, now: Timestamp) -> Option<&'static str> {
    match token {
        TokenRow { revoked_at: Some(_), .. } => Some("revoked"),
        TokenRow { expires_at: Some(end), .. } if *end <= now => Some("expired"),
        _ => None,
    }
}

fn view(ctx: &MemberContext, token: TokenRow) -> TokenView {
    let t = ctx.t();
    let ended = ended(&token, ctx.now());
    let is_valid = ended.is_none();
    let ended = ended.map(|reason| t.msg("token-ended").arg("reason", reason).to_string());
    let soon = ctx.now().plus_millis(14 * DAY_MILLIS);
    TokenView {
        id: token.id.to_string(),
        created: ctx.moment(token.created_at),
        hint: token.hint.unwrap_or_default(),
        scopes: token.scopes.iter().map(Scope::name).collect(),
        is_read_only: token.is_read_only,
        last_used: token.last_used_at.map(|at| ctx.moment(at)),
        last_used_from: token.last_used_from.unwrap_or_default(),
        expires: token.expires_at.map(|at| ctx.moment(at)),
        expires_soon: token.expires_at.is_some_and(|end| end < soon) && is_valid,
        is_shortened: token.is_shortened && token.revoked_at.is_none(),
        can_revoke: is_valid
            && (token.person == ctx.member.person.id || ctx.can(Permission::Administer)),
        ended: ended.unwrap_or_default(),
        name: token.name,
        owner: token.owner_name,
    }
}

#[derive(Template)]
#[template(path = "token_form.html")]
struct TokenForm {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    /// The id of the new token: submitting the form twice creates one.
    once: String,
    name: Field,
    /// Whom the token acts for, if there is a choice.
    owner: Option<Field>,
    expiry: Field,
    read_only: Field,
    scopes: Vec<ScopeChoice>,
    scopes_error: String,
    problems: Vec<String>,
}

struct ScopeChoice {
    name: &'static str,
    grants: String,
    is_selected: bool,
    /// Why it cannot be chosen; empty when it can.
    hint: String,
}

/// The lifetimes to choose from, in days, and whether a token can last for ever.
async fn lifetimes(ctx: &MemberContext) -> Result<(Vec<u32>, bool), WebError> {
    let limit = ctx.store().token_limit(ctx.workspace_id()).await?;
    let Some(limit) = limit else { return Ok((LIFETIMES.to_vec(), true)) };
    let mut days: Vec<u32> = LIFETIMES.into_iter().filter(|days| *days < limit).collect();
    days.push(limit);
    Ok((days, false))
}

/// The service accounts of the workspace, for administrators.
async fn service_accounts(ctx: &MemberContext) -> Result<Vec<KnownPerson>, WebError> {
    if !ctx.can(Permission::Administer) {
        return Ok(Vec::new());
    }
    let mut people = ctx.people().await?;
    people.retain(|known| known.is_service_account);
    Ok(people)
}

async fn form_page(ctx: &MemberContext, form: &Form, is_new: bool) -> Result<TokenForm, WebError> {
    let t = ctx.t();
    let (days, can_last) = lifetimes(ctx).await?;
    let expiry = match form.get("expires") {
        "" => days.iter().rfind(|days| **days <= 90).or(days.first()).map(u32::to_string),
        sent => Some(sent.to_owned()),
    };
    let expiry = expiry.unwrap_or_default();
    let choice = |days: u32| {
        let label = t.msg("token-expires-days").arg("days", u64::from(days));
        Choice::new(days.to_string(), label, days.to_string() == expiry)
    };
    let never = Choice::new("none", t.msg("token-expires-never"), expiry == "none");
    let expiries = days.into_iter().map(choice).chain(can_last.then_some(never)).collect();
    let accounts = service_accounts(ctx).await?;
    let owner = (!accounts.is_empty()).then(|| {
        let me = Choice::new("", t.msg("token-owner-me"), form.get("owner").is_empty());
        let account = |known: KnownPerson| {
            let id = known.person.id.to_string();
            let is_selected = form.get("owner") == id;
            Choice::new(id, known.person.name, is_selected)
        };
        let choices = std::iter::once(me).chain(accounts.into_iter().map(account)).collect();
        Field::new("owner", t.msg("token-owner"), Input::Select(choices))
    });
    let chosen: Vec<&str> = if is_new { vec!["READ_FOLDER"] } else { form.all("scope").collect() };
    let is_read_only = if form.has("readOnly") { "true" } else { "" };
    Ok(TokenForm {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        once: uuid::Uuid::now_v7().to_string(),
        name: Field::line("name", t.msg("field-name-label"))
            .value(form.get("name"))
            .required()
            .hint(t.msg("token-name-hint")),
        owner,
        read_only: Field::new("readOnly", t.msg("token-read-only"), Input::Checkbox)
            .value(is_read_only)
            .hint(t.msg("token-read-only-hint")),
        expiry: Field::new("expires", t.msg("token-expires-after"), Input::Select(expiries))
            .required(),
        scopes: Scope::ALL
            .into_iter()
            .map(|scope| ScopeChoice {
                name: scope.name(),
                grants: t.msg("scope-description").arg("scope", scope.name()).into(),
                is_selected: chosen.contains(&scope.name()),
                hint: match token::check_grantable([scope].into_iter().collect(), ctx.member.role) {
                    Ok(()) => String::new(),
                    Err(_) if scope.permission() == Permission::Administer => {
                        t.msg("token-scope-needs-admin").into()
                    }
                    Err(_) => t.msg("token-scope-needs-editor").into(),
                },
            })
            .collect(),
        scopes_error: String::new(),
        problems: Vec::new(),
    })
}

pub(in crate::web) async fn new_page(ctx: MemberContext) -> Result<Response, WebError> {
    let mut content = form_page(&ctx, &Form::default(), true).await?;
    focus_first(std::slice::from_mut(&mut content.name));
    ctx.page(Meta::new(ctx.t().msg("token-new"), Nav::Settings), &content).await
}

pub(in crate::web) async fn create(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let chosen: Vec<&str> = form.all("scope").collect();
    let t = ctx.t();
    let mut page = form_page(&ctx, &form, false).await?;
    let (lifetimes, can_last) = lifetimes(&ctx).await?;
    let mut errors = Vec::new();
    let name = token::parse_name(form.get("name"));
    let name = name.map_err(|reason| errors.push(FieldError::new("name", reason))).ok();
    let scopes = Scopes::parse(&chosen.join(","));
    let scopes = scopes.map_err(|reason| errors.push(FieldError::new("scope", reason))).ok();
    let days: Option<u32> = match form.get("expires") {
        "none" if can_last => None,
        days => {
            let days = days.parse().ok().filter(|days| lifetimes.contains(days));
            if days.is_none() {
                errors.push(FieldError::new("expires", t.msg("token-expires-invalid").to_string()));
            }
            days
        }
    };
    if let (Some(name), Some(scopes), true) = (name, scopes, errors.is_empty()) {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|error| WebError::internal(error.to_string()))?;
        let token = Token::new(&ctx.web.token_prefix, random);
        let new = NewToken {
            id: form.get("once").parse().ok(),
            workspace: ctx.workspace_id(),
            owner: owner(&ctx, &form).await?,
            name: name.clone(),
            hash: token.hash(),
            hint: token.hint(),
            scopes,
            expires_at: days.map(|days| ctx.now().plus_millis(i64::from(days) * DAY_MILLIS)),
            is_read_only: form.has("readOnly"),
            notice: ctx.web.sends_mail.then(|| notice(&ctx, &name)),
        };
        match ctx.store().create_token(new, ctx.actor(), ctx.now()).await {
            Ok(_) => {
                let curl = curl(&ctx.web.public_url, token.reveal(), scopes);
                let new = NewTokenView { name, secret: token.reveal().to_owned(), curl };
                return show(&ctx, Some(new)).await;
            }
            Err(error) => match error.domain_error() {
                Some(DomainError::Invalid(_)) => {
                    let flash = Flash::new(t.msg("token-already-created"));
                    return Ok(ctx.redirect_with_flash(PATH, &flash));
                }
                Some(DomainError::Forbidden { .. }) => {
                    page.scopes_error = t.msg("token-scope-forbidden").into();
                }
                _ => return Err(error.into()),
            },
        }
    }
    let mut fields = [page.name, page.expiry];
    page.problems = attach_errors(t, &mut fields, &errors);
    focus_first(&mut fields);
    [page.name, page.expiry] = fields;
    let meta = Meta::new(t.msg("token-new"), Nav::Settings);
    ctx.page_with_status(StatusCode::BAD_REQUEST, meta, &page).await
}

/// Whom the new token acts for: the user, or a service account.
async fn owner(ctx: &MemberContext, form: &Form) -> Result<Email, WebError> {
    let Some(id) = form.given("owner") else { return Ok(ctx.session.email.clone()) };
    let mut accounts = service_accounts(ctx).await?.into_iter();
    let found = accounts.find(|known| known.person.id.to_string() == id);
    Ok(found.ok_or_else(WebError::not_found)?.person.email)
}

/// The mail that tells the member of their new token.
fn notice(ctx: &MemberContext, token: &str) -> NewMail {
    let (workspace, at) = (ctx.workspace().name.as_str(), ctx.request.exact_now());
    let notice = Notice::NewToken { name: token, workspace, at: &at };
    let recipient = NoticeRecipient { user: ctx.session.user, email: ctx.session.email.clone() };
    let mail = ctx.web.mail_writer(ctx.t()).notice(recipient, &notice, ctx.now());
    NewMail { workspace: Some(ctx.workspace_id()), ..mail }
}

/// A command that works as pasted.
fn curl(address: &str, token: &str, scopes: Scopes) -> String {
    // Reading scopes come first.
    let path = match scopes.iter().next() {
        Some(Scope::ReadFolder) => "folders",
        Some(Scope::ReadAssignment) => "assignments",
        Some(Scope::ReadExpense) => "expenses",
        Some(Scope::ReadBudget) => "budgets",
        Some(Scope::ReadMember) => "members",
        _ => "statuses",
    };
    format!(
        "curl -H \"Authorization: Bearer {token}\" \\\n     \"{address}/api/public/v1/{path}?limit=5\""
    )
}

/// The token with this id, if the member may revoke it.
async fn revocable_token(ctx: &MemberContext, id: &str) -> Result<(TokenId, TokenRow), WebError> {
    let id: TokenId = id.parse().map_err(|_| WebError::not_found())?;
    let tokens = ctx.store().tokens(Some(ctx.workspace_id())).await?;
    let found = tokens.into_iter().find(|token| token.id == id);
    let can_revoke =
        |token: &TokenRow| token.person == ctx.member.person.id || ctx.can(Permission::Administer);
    Ok((id, found.filter(can_revoke).ok_or_else(WebError::not_found)?))
}

pub(in crate::web) async fn revoke_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (id, token) = revocable_token(&ctx, &id).await?;
    let t = ctx.t();
    let content = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: t.msg("token-revoke-title").arg("name", token.name).into(),
        text: t.msg("token-revoke-text").into(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{id}/revoke"),
        cancel: PATH.to_owned(),
        button: t.msg("token-revoke").into(),
    };
    content.show(&ctx).await
}

pub(in crate::web) async fn revoke(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (id, token) = revocable_token(&ctx, &id).await?;
    ctx.store().revoke_token(ctx.workspace_id(), id, ctx.actor(), ctx.now()).await?;
    let message = ctx.t().msg("token-revoked").arg("name", token.name);
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
}
