//! Forms inside a folder's page that add an assignment, a budget or an expense to it.

use super::form_fields::person_choice;
use crate::web::{
    WebError,
    fields::{Choice, Field, Input},
    form::Pairs,
    record_data::Doc,
    request_context::MemberContext,
};
use groma_domain::Kind;

/// A short form for a new record of a folder.
pub(super) struct QuickAdd {
    pub(super) kind: &'static str,
    pub(super) label: String,
    pub(super) action: String,
    /// The reference of the folder.
    pub(super) folder: String,
    /// The status of new records.
    pub(super) status: String,
    /// The id of the member who adds it.
    pub(super) member: String,
    /// The page of the folder, to return to.
    pub(super) next: String,
    /// The form with all fields.
    pub(super) all_fields: String,
    pub(super) fields: Vec<Field>,
}

impl QuickAdd {
    pub(super) async fn new(
        ctx: &MemberContext,
        kind: Kind,
        folder: &Doc,
        default_status: Option<String>,
        budgets: &[Doc],
    ) -> Result<Self, WebError> {
        let t = ctx.t();
        let query = Pairs::default().with(&[("folder", folder.reference())]).query();
        let decimal = |name, label| Field::new(name, label, Input::Decimal).required();
        let fields = match kind {
            Kind::Assignment => {
                let people = ctx.people().await?;
                let people = people.iter().filter_map(|known| person_choice(known, |_| false));
                let no_one = Choice::new("", "—", true);
                let people = std::iter::once(no_one).chain(people).collect();
                vec![
                    Field::line("title", t.msg("field-title")).required(),
                    Field::new("assignees", t.msg("field-assigned-to"), Input::Select(people)),
                    Field::new("dueDate", t.msg("field-due"), Input::Date).class("short"),
                ]
            }
            Kind::Budget => vec![
                Field::line("name", t.msg("field-name-label")).required(),
                decimal("amount", t.msg("field-amount")).class("short"),
            ],
            _ => {
                let today = ctx.request.today().to_string();
                let only = budgets.len() == 1;
                let budget = |doc: &Doc| {
                    let label = format!("{} {}", doc.reference(), doc.title(Kind::Budget));
                    Choice::new(doc.reference(), label, only)
                };
                let none = Choice::new("", "—", !only);
                let budgets = std::iter::once(none).chain(budgets.iter().map(budget)).collect();
                let categories =
                    Input::Suggest { choices: Vec::new(), source: "/suggestions/labels/category" };
                vec![
                    Field::line("description", t.msg("field-description")),
                    decimal("unitAmount", t.msg("field-amount")).class("short"),
                    Field::new("incurredOn", t.msg("field-date"), Input::Date)
                        .value(today)
                        .required()
                        .class("short"),
                    Field::new("category", t.msg("field-category"), categories),
                    Field::new("budget", t.msg("field-budget"), Input::Select(budgets)),
                ]
            }
        };
        Ok(Self {
            kind: kind.name(),
            label: t.msg("section-add-description").arg("kind", kind.name()).into(),
            action: format!("/{}/new", kind.plural()),
            folder: folder.reference().to_owned(),
            status: default_status.unwrap_or_default(),
            member: ctx.member.person.id.to_string(),
            next: folder.path(Kind::Folder),
            all_fields: format!("/{}/new{query}", kind.plural()),
            fields,
        })
    }
}
