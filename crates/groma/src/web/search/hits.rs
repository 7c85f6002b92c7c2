//! Search while the user types: the ten best hits: records of all kinds, people, clients, tags and pages. The
//! script adds the place of a typed coordinate.

use super::{people, records_with_reference};
use crate::web::{
    WebError,
    form::{Pairs, Query},
    i18n::{Localizer, Message},
    record_data::Doc,
    request_context::MemberContext,
    settings::SettingsNav,
};
use askama::Template;
use axum::response::Response;
use futures_util::future::try_join_all;
use groma_domain::{Kind, SearchTerm, record::LabelField, text::fold};
use groma_store::RecordQuery;

/// The number of hits, and of letters to type before there are any.
const MAX_HITS: usize = 10;
const MIN_LETTERS: usize = 3;

#[derive(Template)]
#[template(path = "search_hits.html")]
struct Hits {
    t: Localizer,
    hits: Vec<Hit>,
    /// Whether enough is typed.
    has_searched: bool,
}

struct Hit {
    href: String,
    reference: String,
    title: String,
    kind: String,
}

pub(in crate::web) async fn hits(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let typed: String = query.get("q").trim().chars().take(200).collect();
    let has_searched = typed.chars().count() >= MIN_LETTERS;
    let hits = if has_searched { find(&ctx, &typed).await? } else { Vec::new() };
    ctx.fragment(&Hits { t: ctx.t(), hits, has_searched })
}

async fn find(ctx: &MemberContext, typed: &str) -> Result<Vec<Hit>, WebError> {
    let t = ctx.t();
    let mut hits = Vec::new();
    let exact = records_with_reference(ctx, typed).await?.into_iter();
    hits.extend(exact.map(|link| {
        let kind = t.msg("search-exact").into();
        Hit { href: link.path, reference: link.reference, title: link.title, kind }
    }));
    hits.extend(pages(ctx, typed));
    hits.extend(people(ctx, typed).await?.into_iter().take(2).map(|person| {
        let kind = t.msg("search-hit-person").into();
        Hit { href: person.href, reference: String::new(), title: person.name, kind }
    }));
    for (field, name, kind) in [
        (LabelField::Client, "client", t.msg("column-client")),
        (LabelField::Tag, "tag", t.msg("filter-tag")),
    ] {
        let labels = ctx.store().labels(ctx.workspace_id(), field, typed, 2).await?;
        let kind = kind.to_string();
        hits.extend(labels.into_iter().map(|label| Hit {
            href: format!("/folders{}", Pairs::default().with(&[(name, &label.value)]).query()),
            reference: String::new(),
            title: label.value,
            kind: kind.clone(),
        }));
    }
    if let Some(term) = SearchTerm::parse(typed).ok().flatten() {
        let found = Kind::ALL.into_iter().map(async |kind| {
            let limit = u32::try_from(MAX_HITS).unwrap_or(u32::MAX);
            let query = RecordQuery { term: Some(term.clone()), limit, ..RecordQuery::all(kind) };
            Ok::<_, WebError>((kind, ctx.query_records(query).await?.0))
        });
        let found = try_join_all(found).await?;
        // One of each kind in turn, so that no kind hides the others.
        for index in 0..MAX_HITS {
            let nth = found.iter().filter_map(|(kind, docs)| Some((*kind, docs.get(index)?)));
            hits.extend(nth.map(|(kind, doc)| record(t, kind, doc)));
        }
    }
    let mut seen = std::collections::HashSet::new();
    hits.retain(|hit| seen.insert(hit.href.clone()));
    hits.truncate(MAX_HITS);
    Ok(hits)
}

fn record(t: Localizer, kind: Kind, doc: &Doc) -> Hit {
    Hit {
        href: doc.path(kind),
        reference: doc.reference().to_owned(),
        title: doc.title(kind),
        kind: t.msg("kind-singular").arg("kind", kind.name()).into(),
    }
}

/// The pages whose names contain a text.
fn pages(ctx: &MemberContext, typed: &str) -> Vec<Hit> {
    let t = ctx.t();
    let page = |href: &str, title: Message| (href.to_owned(), title.to_string());
    let mut pages = vec![
        page("/", t.msg("nav-dashboard")),
        page("/map", t.msg("nav-map")),
        page("/account", t.msg("menu-account")),
    ];
    pages.extend(Kind::ALL.map(|kind| (format!("/{}", kind.plural()), t.kind_title(kind))));
    pages.extend(SettingsNav::pages(ctx));
    let folded = fold(typed);
    let found = pages.into_iter().filter(|(_, title)| fold(title).contains(&folded));
    let kind = t.msg("search-hit-page").to_string();
    let hit = |(href, title)| Hit { href, reference: String::new(), title, kind: kind.clone() };
    found.take(2).map(hit).collect()
}
