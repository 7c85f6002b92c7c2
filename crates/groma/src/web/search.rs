//! The search over all records and people.

mod hits;

pub(super) use hits::hits;

use super::{
    WebError,
    export_menu::RecordMenu,
    form::{Pairs, Query},
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::{self, Doc, RecordLink, Statuses},
    records::rows::record_table,
    request_context::MemberContext,
    table::Table,
};
use askama::Template;
use axum::response::Response;
use groma_domain::{Kind, SearchTerm, reference::Key, text::fold};
use groma_store::RecordQuery;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    t: Localizer,
    term: String,
    /// The records with exactly this reference.
    exact: Vec<RecordLink>,
    people: Vec<PersonLink>,
    sections: Vec<Section>,
    export: Option<RecordMenu>,
}

impl SearchPage {
    fn has_results(&self) -> bool {
        !self.exact.is_empty() || !self.people.is_empty() || !self.sections.is_empty()
    }
}

struct PersonLink {
    href: String,
    name: String,
    email: String,
}

struct Section {
    kind: Kind,
    title: String,
    count: String,
    href: String,
    table: Table,
}

pub(super) async fn page(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let t = ctx.t();
    let typed: String = query.get("q").trim().chars().take(200).collect();
    let mut page = SearchPage {
        t,
        term: typed.clone(),
        exact: Vec::new(),
        people: Vec::new(),
        sections: Vec::new(),
        export: None,
    };
    if let Some(term) = SearchTerm::parse(&typed).ok().flatten() {
        page.exact = records_with_reference(&ctx, &typed).await?;
        page.people = people(&ctx, &typed).await?;
        page.sections = sections(&ctx, &term, &typed).await?;
        let kinds: Vec<_> = page.sections.iter().map(|section| section.kind).collect();
        page.export = (!kinds.is_empty()).then(|| RecordMenu {
            hidden: vec![("q", typed)],
            ..RecordMenu::new(t, "/search/export".to_owned(), &kinds)
        });
    }
    ctx.page(Meta::new(t.msg("search-title"), Nav::None), &page).await
}

async fn records_with_reference(
    ctx: &MemberContext,
    typed: &str,
) -> Result<Vec<RecordLink>, WebError> {
    let mut found = Vec::new();
    let Some(reference) = record_data::parse_reference(typed) else { return Ok(found) };
    let key = Key::Reference(reference);
    for kind in Kind::ALL {
        if let Some(json) = ctx.store().get(ctx.workspace_id(), kind, &key).await? {
            found.push(Doc::parse(&json)?.record_link(kind));
        }
    }
    Ok(found)
}

/// The people whose name or email contains a text, with a link to their assignments.
async fn people(ctx: &MemberContext, typed: &str) -> Result<Vec<PersonLink>, WebError> {
    let folded = fold(typed);
    let people = ctx.people().await?.into_iter().map(|known| known.person);
    let found = people.filter(|person| {
        fold(&person.name).contains(&folded) || person.email.key().contains(&folded)
    });
    let link = |person: groma_domain::Person| {
        let query = Pairs::default().with(&[("person", &person.id.to_string())]).query();
        let href = format!("/assignments{query}");
        PersonLink { href, name: person.name, email: person.email.to_string() }
    };
    Ok(found.take(8).map(link).collect())
}

async fn sections(
    ctx: &MemberContext,
    term: &SearchTerm,
    typed: &str,
) -> Result<Vec<Section>, WebError> {
    let t = ctx.t();
    let statuses = Statuses::read(ctx).await?;
    let mut sections = Vec::new();
    for kind in Kind::ALL {
        let query = RecordQuery { term: Some(term.clone()), limit: 8, ..RecordQuery::all(kind) };
        let (docs, page) = ctx.query_records(query).await?;
        if docs.is_empty() {
            continue;
        }
        let query = Pairs::default().with(&[("q", typed)]).query();
        sections.push(Section {
            kind,
            title: t.kind_title(kind),
            count: t.count(page.count),
            href: format!("/{}{query}", kind.plural()),
            table: record_table(ctx, kind, &statuses, &docs).await?,
        });
    }
    Ok(sections)
}
