//! Saved views of a list.

use super::{Column, parse_plural};
use crate::web::{
    WebError,
    flash::Flash,
    form::{Form, Pairs, Query, local_path},
    request_context::MemberContext,
};
use axum::{extract::Path, response::Response};
use groma_domain::{DomainError, Kind, Permission};
use groma_store::{NewSavedView, SavedView};

/// The saved views of a list, and what saving this one needs.
pub(super) struct ViewMenu {
    pub(super) views: Vec<ViewLink>,
    /// The name of the view that is open.
    pub(super) current: Option<String>,
    /// The query string of this list.
    pub(super) query: String,
    pub(super) can_share: bool,
}

pub(super) struct ViewLink {
    pub(super) name: String,
    pub(super) href: String,
    pub(super) is_current: bool,
    pub(super) is_shared: bool,
    /// Where the view is deleted, if the member may.
    pub(super) delete: Option<String>,
}

impl ViewMenu {
    pub(super) async fn new(
        ctx: &MemberContext,
        kind: Kind,
        query: &Pairs,
        columns: &[Column],
    ) -> Result<Self, WebError> {
        let keys: Vec<_> = columns.iter().map(|column| column.key()).collect();
        let query = query.with(&[("page", ""), ("columns", &keys.join(","))]).query();
        let person = ctx.member.person.id;
        let views = ctx.store().saved_views(ctx.workspace_id(), person).await?;
        let link = |view: SavedView| {
            let can_delete = view.owner == person || ctx.can(Permission::Administer);
            ViewLink {
                href: format!("/{}{}", kind.plural(), view.query),
                is_current: view.query == query,
                is_shared: view.is_shared,
                delete: can_delete.then(|| format!("/views/{}/delete", view.id)),
                name: view.name,
            }
        };
        let views: Vec<_> = views.into_iter().filter(|view| view.kind == kind).map(link).collect();
        let current = views.iter().find(|view| view.is_current).map(|view| view.name.clone());
        Ok(Self { views, current, query, can_share: ctx.can(Permission::ChangeRecords) })
    }
}

/// Saves a list under a name, or a deleted view again.
pub(in crate::web) async fn save(
    ctx: MemberContext,
    Path(plural): Path<String>,
    undo: Query,
    form: Form,
) -> Result<Response, WebError> {
    let kind = parse_plural(&plural)?;
    let t = ctx.t();
    // Undo has the deleted view in its address.
    let form = if undo.has("name") { &undo.0 } else { &form.0 };
    let query = Pairs::parse(form.get("query").trim_start_matches('?').as_bytes()).query();
    let view = NewSavedView {
        kind,
        is_shared: form.has("shared") && ctx.can(Permission::ChangeRecords),
        name: form.get("name").to_owned(),
        query: query.clone(),
    };
    let to = format!("/{}{query}", kind.plural());
    let saved = ctx.store().save_view(ctx.workspace_id(), ctx.actor(), view, ctx.now()).await;
    let flash = match saved {
        Ok(view) => Flash::new(t.msg("view-saved").arg("name", view.name)),
        Err(error) => match error.domain_error() {
            Some(DomainError::Invalid(problems)) => {
                let problems = problems.iter().map(|problem| t.problem(problem));
                Flash::error(problems.collect::<Vec<_>>().join(" "))
            }
            _ => return Err(error.into()),
        },
    };
    Ok(ctx.redirect_with_flash(local_path(&to), &flash))
}

pub(in crate::web) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let id = id.parse().map_err(|_| WebError::not_found())?;
    let view = ctx.store().delete_view(ctx.workspace_id(), ctx.actor(), id, ctx.now()).await?;
    let shared = if view.is_shared { "1" } else { "" };
    let values = [("name", view.name.as_str()), ("query", &view.query), ("shared", shared)];
    let values = Pairs::default().with(&values).query();
    let undo = format!("/lists/{}/views{values}", view.kind.plural());
    let flash = Flash::new(ctx.t().msg("view-deleted").arg("name", view.name)).with_undo(undo);
    Ok(ctx.redirect_with_flash(local_path(form.get("next")), &flash))
}
