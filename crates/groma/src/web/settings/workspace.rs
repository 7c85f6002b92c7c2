//! Settings > Workspace: its name, its currency, the lifetime of its tokens, and deleting it.

use super::SettingsNav;
use crate::web::{
    WebError,
    fields::{Field, Input, attach_errors, focus_first, problems},
    flash::Flash,
    form::Form,
    i18n::Localizer,
    page::{Meta, Nav},
    records::delete::DeleteConfirm,
    request_context::MemberContext,
    setup::currency_choices,
};
use askama::Template;
use axum::{http::StatusCode, response::Response};
use groma_domain::{
    Currency, DomainError, FieldError, Kind, Permission,
    workspace::{OfferedCrs, WorkspaceName},
};
use groma_store::RecordCount;

const PATH: &str = "/settings/workspace";

#[derive(Template)]
#[template(path = "workspace.html")]
struct WorkspacePage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    fields: Vec<Field>,
    problems: Vec<String>,
    key: String,
    created: String,
    can_delete: bool,
}

fn content(
    ctx: &MemberContext,
    name: &str,
    currency: Currency,
    max_token_days: &str,
    offered_crs: &str,
    requires_second_factor: bool,
) -> WorkspacePage {
    let t = ctx.t();
    let workspace = ctx.workspace();
    WorkspacePage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        fields: vec![
            Field::line("name", t.msg("field-name-label")).value(name).required(),
            Field::new(
                "currency",
                t.msg("workspace-currency"),
                Input::Select(currency_choices(currency)),
            )
            .required()
            .hint(t.msg("workspace-currency-hint")),
            Field::line("maxTokenDays", t.msg("workspace-max-token-days"))
                .value(max_token_days)
                .hint(t.msg("workspace-max-token-days-hint")),
            Field::line("crs", t.msg("workspace-offered-crs"))
                .value(offered_crs)
                .hint(t.msg("workspace-offered-crs-hint")),
            Field::new(
                "requiresSecondFactor",
                t.msg("workspace-require-second-factor"),
                Input::Checkbox,
            )
            .value(if requires_second_factor { "true" } else { "" })
            .hint(t.msg("workspace-require-second-factor-hint")),
        ],
        problems: Vec::new(),
        key: workspace.id.to_string(),
        created: t.full_day(workspace.created_at.date()),
        can_delete: ctx.can(Permission::Own),
    }
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    let workspace = ctx.workspace();
    let days = ctx.store().max_token_days(workspace.id).await?;
    let days = days.map(|days| days.to_string()).unwrap_or_default();
    let crs = ctx.store().offered_crs(workspace.id).await?.to_string();
    let required = ctx.member.requires_second_factor;
    let name = workspace.name.as_str();
    let content = content(&ctx, name, workspace.currency, &days, &crs, required);
    ctx.page(Meta::new(ctx.t().msg("workspace-title"), Nav::Settings), &content).await
}

pub(in crate::web) async fn save(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut errors = Vec::new();
    let name = WorkspaceName::parse(form.get("name"));
    let name = name.map_err(|error| errors.extend(problems(&error))).ok();
    let currency: Result<Currency, _> = form.get("currency").parse();
    let currency = currency.map_err(|reason| errors.push(FieldError::new("currency", reason))).ok();
    let days = match form.given("maxTokenDays").map(str::parse) {
        None => Some(None),
        Some(Ok(days)) if (1..=36_500).contains(&days) => Some(Some(days)),
        Some(_) => {
            let reason = t.msg("workspace-max-token-days-invalid").to_string();
            errors.push(FieldError::new("maxTokenDays", reason));
            None
        }
    };
    let crs = OfferedCrs::parse(form.get("crs"));
    let crs = crs.map_err(|error| errors.extend(problems(&error))).ok();
    let required = form.has("requiresSecondFactor");
    if let (Some(name), Some(currency), Some(days), Some(crs)) = (name, currency, days, crs) {
        let (store, id, actor, now) = (ctx.store(), ctx.workspace_id(), ctx.actor(), ctx.now());
        let changed = async {
            store.change_workspace(id, actor, name, currency, now).await?;
            store.set_max_token_days(id, actor, days, now).await?;
            store.set_offered_crs(id, actor, crs, now).await?;
            store.require_second_factor(id, actor, required, now).await
        };
        match changed.await {
            Ok(()) => {
                return Ok(ctx.redirect_with_flash(PATH, &Flash::new(t.msg("workspace-saved"))));
            }
            Err(error) => match error.domain_error() {
                Some(error @ DomainError::Invalid(_)) => errors.extend(problems(error)),
                _ => return Err(error.into()),
            },
        }
    }
    let currency = currency.unwrap_or(ctx.workspace().currency);
    let days = form.get("maxTokenDays");
    let (name, crs) = (form.get("name"), form.get("crs"));
    let mut content = content(&ctx, name, currency, days, crs, required);
    content.problems = attach_errors(t, &mut content.fields, &errors);
    focus_first(&mut content.fields);
    let meta = Meta::new(t.msg("workspace-title"), Nav::Settings);
    ctx.page_with_status(StatusCode::BAD_REQUEST, meta, &content).await
}

pub(in crate::web) async fn delete_page(ctx: MemberContext) -> Result<Response, WebError> {
    confirm(&ctx, StatusCode::OK, "").await
}

/// Shows what is deleted, and asks for confirmation.
async fn confirm(
    ctx: &MemberContext,
    status: StatusCode,
    error: &str,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let totals = ctx.store().totals(ctx.workspace_id()).await?;
    let kinds = Kind::ALL.iter().zip(totals).filter(|(_, total)| *total > 0);
    let mut deleted_too: Vec<String> =
        kinds.map(|(kind, total)| t.record_count(*kind, RecordCount::Exactly(total))).collect();
    let layers = ctx.store().all_layers(ctx.workspace_id()).await?;
    if !layers.is_empty() {
        let shapes: u64 = layers.iter().map(|layer| layer.counts.total()).sum();
        let shapes = t.msg("shape-count").arg("count", shapes);
        let message = t.msg("workspace-delete-layers").arg("count", layers.len());
        deleted_too.push(message.arg("shapes", shapes).into());
    }
    deleted_too.push(t.msg("workspace-delete-access").into());
    let name = ctx.workspace().name.as_str().to_owned();
    let title = t.msg("delete-title").arg("name", &name);
    let content = DeleteConfirm {
        t,
        breadcrumbs: vec![(PATH.to_owned(), t.msg("workspace-title").into())],
        title: title.to_string(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/delete"),
        cancel: PATH.to_owned(),
        confirm: name,
        confirm_with: "name",
        deleted_too,
        kept: Vec::new(),
        version: 0,
        error: error.to_owned(),
    };
    ctx.page_with_status(status, Meta::new(title, Nav::Settings), &content).await
}

pub(in crate::web) async fn delete(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let name = ctx.workspace().name.as_str();
    if form.get("confirm").trim() != name {
        let error = ctx.t().msg("delete-wrong-confirmation").arg("confirm_with", "name");
        return confirm(&ctx, StatusCode::BAD_REQUEST, &error.to_string()).await;
    }
    let flash = Flash::new(ctx.t().msg("workspace-deleted").arg("name", name));
    // This can take long: finish even when the browser disconnects.
    let (store, id, actor) = (ctx.store().clone(), ctx.workspace_id(), ctx.actor());
    let now = ctx.now();
    let deleted = tokio::spawn(async move { store.delete_workspace(id, actor, now).await });
    deleted.await.map_err(|error| WebError::internal(error.to_string()))??;
    Ok(ctx.redirect_with_flash("/account", &flash))
}
