//! Erasing a former member, or a person without login: the name and the address go, the records stay.

use super::{super::Confirm, PATH, SettingsNav};
use crate::web::{WebError, flash::Flash, request_context::MemberContext};
use axum::{extract::Path, response::Response};
use groma_domain::PersonId;
use groma_store::KnownPerson;

/// Whether there is something left to erase of someone who is not a member.
pub(super) fn can_be_erased(known: &KnownPerson) -> bool {
    known.role.is_none() && !known.person.is_erased()
}

async fn person(ctx: &MemberContext, id: &str) -> Result<KnownPerson, WebError> {
    let id: PersonId = id.parse().map_err(|_| WebError::not_found())?;
    let mut people = ctx.people().await?.into_iter();
    let found = people.find(|known| known.person.id == id && can_be_erased(known));
    found.ok_or_else(WebError::not_found)
}

pub(in crate::web) async fn page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let known = person(&ctx, &id).await?;
    let t = ctx.t();
    let content = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: t.msg("person-erase-title").arg("name", &known.person.name).into(),
        text: t.msg("person-erase-text").arg("name", &known.person.name).into(),
        csrf: ctx.request.csrf_token(),
        action: format!("/settings/people/{}/erase", known.person.id),
        cancel: PATH.to_owned(),
        button: t.msg("person-erase").into(),
    };
    content.show(&ctx).await
}

pub(in crate::web) async fn erase(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let person = person(&ctx, &id).await?.person.id;
    ctx.store().erase_person(ctx.workspace_id(), person, ctx.actor(), ctx.now()).await?;
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(ctx.t().msg("person-erased"))))
}
