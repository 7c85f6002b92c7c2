//! The fields of a record's form.

use super::form_values::Values;
use crate::web::{
    WebError,
    fields::{Choice, CustomField, Field, Input},
    i18n::{Localizer, Message},
    record_data::{Doc, Statuses, parse_key},
    request_context::MemberContext,
    setup::currency_choices,
    suggestions::{self, matching_records},
};
use groma_domain::{Currency, Kind, record::Priority};
use groma_store::{KnownPerson, RecordQuery};

/// The value of a field as text.
pub(super) fn display_value(t: Localizer, field: &Field) -> String {
    match &field.input {
        Input::Select(choices) | Input::MultiSelect(choices) => {
            let chosen = choices.iter().filter(|choice| choice.is_selected);
            chosen.map(|choice| choice.label.as_str()).collect::<Vec<_>>().join(", ")
        }
        Input::CustomFields(fields) => {
            let fields = fields.iter().filter(|field| !field.name.is_empty());
            let fields = fields.map(|field| format!("{}: {}", field.name, field.value));
            fields.collect::<Vec<_>>().join("; ")
        }
        Input::Checkbox if field.value == "true" => t.msg("yes").into(),
        Input::Checkbox => t.msg("no").into(),
        _ => field.value.clone(),
    }
}

/// The fields of a kind with these values.
pub(super) async fn fields(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    values: &Values,
    is_new: bool,
) -> Result<Vec<Field>, WebError> {
    let t = ctx.t();
    let people = ctx.people().await?;
    let line = |name, label: Message| Field::line(name, label).value(values.get(name));
    let label = |name, label: Message, source| {
        let input = Input::Suggest { choices: Vec::new(), source };
        Field::new(name, label, input).value(values.get(name))
    };
    let category = || label("category", t.msg("field-category"), "/suggestions/labels/category");
    let day = |name, label: Message| {
        Field::new(name, label, Input::Date).value(values.get(name)).class("short")
    };
    let decimal = |name, label: Message| {
        Field::new(name, label, Input::Decimal).value(values.get(name)).class("short")
    };
    let description = || {
        Field::new("description", t.msg("field-description"), Input::TextArea)
            .value(values.get("description"))
            .class("span")
    };
    let status = || {
        let chosen = values.get("status");
        let mut choices = vec![Choice::new("", "—", chosen.is_empty())];
        choices.extend(statuses.of(kind).map(|status| {
            let id = status.id.to_string();
            let is_selected = id == chosen;
            Choice::new(id, status.name.clone(), is_selected)
        }));
        Field::new("status", t.msg("field-status"), Input::Select(choices))
    };
    let person = |name, label: Message| {
        let chosen = values.get(name);
        let mut choices = vec![Choice::new("", "—", chosen.is_empty())];
        let choice = |known| person_choice(known, |id| id == chosen);
        choices.extend(people.iter().filter_map(choice));
        Field::new(name, label, Input::Select(choices))
    };
    let currency = |fallback: Option<Currency>| {
        let chosen: Option<Currency> = values.get("currency").parse().ok().or(fallback);
        let mut choices = currency_choices(chosen.unwrap_or(ctx.workspace().currency));
        if chosen.is_none() {
            choices.iter_mut().for_each(|choice| choice.is_selected = false);
            choices.insert(0, Choice::new("", t.msg("form-currency-of-folder"), true));
        }
        Field::new("currency", t.msg("field-currency"), Input::Select(choices)).class("short")
    };
    let mut fields = match kind {
        Kind::Folder => vec![
            line("name", t.msg("field-name-label")).required().class("span"),
            label("clientName", t.msg("field-client"), "/suggestions/labels/client"),
            status(),
            person("owner", t.msg("field-owner")),
            label("tags", t.msg("field-tags"), "/suggestions/labels/tag")
                .hint(t.msg("form-tags-hint")),
            day("startDate", t.msg("field-start")),
            day("dueDate", t.msg("field-due")),
            currency(Some(ctx.workspace().currency)),
            description(),
        ],
        Kind::Assignment => {
            let chosen = match values.get("priority") {
                "" => "normal",
                chosen => chosen,
            };
            let priorities = Priority::NAMES.iter();
            let priorities = priorities.map(|(word, _)| {
                let label = t.msg("priority-name").arg("priority", *word);
                Choice::new(*word, label, *word == chosen)
            });
            let is_assignee = |id: &str| values.assignees.iter().any(|assignee| assignee == id);
            let assignees = people.iter().filter_map(|known| person_choice(known, is_assignee));
            vec![
                line("title", t.msg("field-title")).required().class("span"),
                folder(ctx, values).await?,
                status(),
                Field::new(
                    "priority",
                    t.msg("field-priority"),
                    Input::Select(priorities.collect()),
                ),
                Field::new(
                    "assignees",
                    t.msg("field-assigned-to"),
                    Input::MultiSelect(assignees.collect()),
                ),
                day("startDate", t.msg("field-start")),
                day("dueDate", t.msg("field-due")),
                decimal("estimatedHours", t.msg("field-estimated-hours")),
                decimal("spentHours", t.msg("field-spent-hours")),
                description(),
            ]
        }
        Kind::Expense => vec![
            folder(ctx, values).await?,
            day("incurredOn", t.msg("field-date")).required(),
            decimal("unitAmount", t.msg("field-unit-price")).required(),
            decimal("quantity", t.msg("field-quantity")).hint(t.msg("form-quantity-hint")),
            currency(None),
            category(),
            label("vendor", t.msg("field-vendor"), "/suggestions/labels/vendor"),
            record_of_folder(ctx, Kind::Budget, "budget", t.msg("field-budget"), values).await?,
            record_of_folder(
                ctx,
                Kind::Assignment,
                "assignment",
                t.msg("field-assignment"),
                values,
            )
            .await?,
            status(),
            person("submittedBy", t.msg("field-submitted-by")),
            Field::new("billable", t.msg("field-billable"), Input::Checkbox)
                .value(values.get("billable")),
            description(),
        ],
        Kind::Budget => vec![
            line("name", t.msg("field-name-label")).required().class("span"),
            folder(ctx, values).await?,
            decimal("amount", t.msg("field-amount")).required(),
            currency(None),
            category(),
            status(),
            day("startDate", t.msg("field-start")),
            day("endDate", t.msg("field-end")),
            description(),
        ],
    };
    let hint = match is_new {
        true => t.msg("form-new-reference-hint"),
        false => t.msg("form-reference-hint"),
    };
    fields.push(line("reference", t.msg("field-reference")).hint(hint));
    let hint = t.msg("form-external-id-hint");
    fields.push(line("externalId", t.msg("field-external-id")).hint(hint));
    let mut custom_fields = values.custom_fields.clone();
    // Room for two more.
    let empty = CustomField { kind: "text", ..CustomField::default() };
    custom_fields.extend([empty.clone(), empty]);
    let input = Input::CustomFields(custom_fields);
    fields.push(Field::new("customFields", t.msg("field-custom-fields"), input).class("span"));
    Ok(fields)
}

/// A person to choose. A removed member can stay chosen, but cannot be chosen again.
pub(super) fn person_choice(
    known: &KnownPerson,
    is_chosen: impl Fn(&str) -> bool,
) -> Option<Choice> {
    let id = known.person.id.to_string();
    let is_selected = is_chosen(&id);
    let can_choose = is_selected || !known.is_removed;
    can_choose.then(|| Choice::new(id, known.person.name.clone(), is_selected))
}

/// The folder, by its reference or name, with suggestions while the user types.
async fn folder(ctx: &MemberContext, values: &Values) -> Result<Field, WebError> {
    let recent = matching_records(ctx, Kind::Folder, "", "").await?;
    let choices = recent
        .iter()
        .map(|doc| Choice::new(doc.reference(), suggestions::label(Kind::Folder, doc), false));
    let t = ctx.t();
    let input = Input::Suggest { choices: choices.collect(), source: "/suggestions/folders" };
    Ok(Field::new("folder", t.msg("field-folder"), input)
        .value(values.get("folder"))
        .required()
        .hint(t.msg("form-linked-hint")))
}

/// A budget or an assignment of the folder. While the folder is unknown, suggestions follow what is typed.
async fn record_of_folder(
    ctx: &MemberContext,
    kind: Kind,
    name: &'static str,
    label: Message,
    values: &Values,
) -> Result<Field, WebError> {
    let chosen = values.get(name);
    let folder = match parse_key(values.get("folder")) {
        Some(key) => ctx.store().get(ctx.workspace_id(), Kind::Folder, &key).await?,
        None => None,
    };
    let Some(folder) = folder else {
        let source = match kind {
            Kind::Budget => "/suggestions/budgets",
            _ => "/suggestions/assignments",
        };
        let input = Input::Suggest { choices: Vec::new(), source };
        let hint = ctx.t().msg("form-linked-hint");
        return Ok(Field::new(name, label, input).value(chosen).hint(hint));
    };
    let in_folder = RecordQuery {
        folder: Some(Doc::parse(&folder)?.id()?),
        limit: 200,
        ..RecordQuery::all(kind)
    };
    let (docs, _) = ctx.query_records(in_folder).await?;
    let mut choices = vec![Choice::new("", "—", chosen.is_empty())];
    choices.extend(docs.iter().map(|doc| {
        let text = format!("{} {}", doc.reference(), doc.title(kind));
        Choice::new(doc.reference(), text, doc.reference() == chosen)
    }));
    Ok(Field::new(name, label, Input::Select(choices)))
}
