//! One search over everything: references, folders, assignments, expenses, budgets, people.

use super::{
    WebError,
    form::{Pairs, Query},
    page::{Meta, Nav},
    records::{
        self, Doc, Statuses,
        list::{Shown, columns},
    },
    shown,
    table::Table,
    visit::Desk,
};
use askama::Template;
use axum::response::Response;
use groma_domain::{Kind, Term, reference::Key, text::fold};
use groma_store::{Browse, Count};

#[derive(Template)]
#[template(path = "search.html")]
struct Found {
    term: String,
    exact: Vec<(String, String, String)>,
    people: Vec<(String, String, String)>,
    sections: Vec<Section>,
    is_empty: bool,
}

struct Section {
    title: String,
    note: String,
    href: String,
    table: Table,
}

pub(super) async fn page(desk: Desk, query: Query) -> Result<Response, WebError> {
    let sent: String = query.get("q").trim().chars().take(200).collect();
    let statuses = Statuses::read(&desk).await?;
    let mut found = Found {
        term: sent.clone(),
        exact: Vec::new(),
        people: Vec::new(),
        sections: Vec::new(),
        is_empty: false,
    };
    if let Some(term) = Term::parse(&sent).ok().flatten() {
        if let Some(reference) = records::typed_reference(&sent) {
            let key = Key::Reference(reference);
            for kind in Kind::ALL {
                if let Some(json) = desk.store().get(desk.id(), kind, &key).await? {
                    let doc = Doc::parse(&json.text)?;
                    let reference = doc.reference().to_owned();
                    found.exact.push((doc.path(kind), reference, doc.title(kind)));
                }
            }
        }
        let folded = fold(&sent);
        let people = desk.people().await?.into_iter().map(|known| known.person);
        let people = people.filter(|person| {
            fold(&person.name).contains(&folded) || person.email.key().contains(&folded)
        });
        found.people = people
            .take(8)
            .map(|person| {
                let who = Pairs::default().with(&[("person", &person.id.to_string())]).query();
                (format!("/assignments{who}"), person.name, person.email.to_string())
            })
            .collect();
        for kind in Kind::ALL {
            let browse = Browse { term: Some(term.clone()), limit: 8, ..Browse::all(kind) };
            let (docs, browsed) = desk.browse(browse).await?;
            if docs.is_empty() {
                continue;
            }
            let note = match browsed.count {
                Count::Exactly(count) => shown::grouped(count),
                Count::MoreThan(count) => format!("more than {}", shown::grouped(count)),
            };
            let rows = Shown::new(&desk, kind, &statuses, &docs).await?;
            let rows = docs.iter().map(|doc| rows.row(doc)).collect();
            let table = Table { caption: String::new(), columns: columns(kind), rows };
            let query = Pairs::default().with(&[("q", &sent)]).query();
            found.sections.push(Section {
                title: super::history::words(kind.plural()),
                note,
                href: format!("/{}{query}", kind.plural()),
                table,
            });
        }
    }
    found.is_empty = found.exact.is_empty() && found.people.is_empty() && found.sections.is_empty();
    desk.page(Meta::new("Search", Nav::None), &found).await
}
