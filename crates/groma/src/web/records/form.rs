//! Forms that make and change records. They keep what was typed, say what is wrong beside its field,
//! and show both versions when someone else was faster.

use super::{Doc, Statuses, by_currency};
use crate::web::{
    WebError,
    entry::currencies,
    fields::{Choice, Field, Input, Pair, focus, problems, tell},
    flash::Flash,
    form::{Form, Pairs, Query},
    history::words,
    page::{Meta, Nav},
    shown::{self, Money},
    table::{Row, Table},
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    Currency, Kind, Problem, Refusal,
    record::{Draft, Priority},
    reference::Key,
};
use groma_store::{Browse, Change, Command, Done, Sort, Target};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "record_form.html")]
struct RecordForm {
    title: String,
    crumbs: Vec<(String, String)>,
    csrf: String,
    action: String,
    cancel: String,
    version: u64,
    submit: &'static str,
    is_new: bool,
    goes_on: bool,
    problems: Vec<String>,
    conflict: Option<Conflict>,
    fields: Vec<Field>,
    more: Vec<Field>,
    more_is_open: bool,
    entered: Option<Entered>,
}

/// What someone else has saved meanwhile, beside what was typed here.
struct Conflict {
    rows: Vec<(&'static str, String, String, bool)>,
}

/// What was entered in a folder before, below the form that goes on.
struct Entered {
    folder: String,
    table: Table,
    totals: Vec<Money>,
    totals_note: String,
}

/// The values of a form: of a record, or as they were typed.
#[derive(Clone, Debug, Default)]
struct Values {
    texts: BTreeMap<String, String>,
    assignees: Vec<String>,
    pairs: Vec<Pair>,
}

impl Values {
    fn get(&self, name: &str) -> &str {
        self.texts.get(name).map(String::as_str).unwrap_or_default()
    }

    fn of_form(form: &Pairs) -> Self {
        let pairs = pairs_of(form).map(|(name, kind, value)| Pair {
            name: name.to_owned(),
            value: value.to_owned(),
            kind: kind_word(kind),
        });
        Self {
            texts: form.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            assignees: form.all("assignees").map(str::to_owned).collect(),
            pairs: pairs.filter(|pair| !pair.name.is_empty()).collect(),
        }
    }

    async fn of_record(desk: &Desk, kind: Kind, doc: &Doc) -> Result<Self, WebError> {
        let mut texts = BTreeMap::new();
        let object = doc.0.as_object().cloned().unwrap_or_default();
        for (name, value) in &object {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Array(_) => shown::plain(value),
                Value::Object(person) => {
                    person.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                _ => continue,
            };
            texts.insert(name.clone(), text);
        }
        texts.insert("status".into(), doc.text("statusId").to_owned());
        for (field, link, linked) in [
            ("folder", "folderId", Kind::Folder),
            ("assignment", "assignmentId", Kind::Assignment),
            ("budget", "budgetId", Kind::Budget),
        ] {
            if linked != kind
                && let Some(id) = doc.link(link)
                && let Some(json) = desk.store().get(desk.id(), linked, &Key::Id(id)).await?
            {
                texts.insert(field.into(), Doc::parse(&json.text)?.reference().to_owned());
            }
        }
        let people = doc.0["assignees"].as_array().cloned().unwrap_or_default();
        let assignees = people.iter().filter_map(|person| person["id"].as_str());
        let custom = doc.0["customFields"].as_object().cloned().unwrap_or_default();
        let pairs = custom.iter().map(|(name, value)| Pair {
            name: name.clone(),
            value: match value {
                Value::Bool(flag) => flag.to_string(),
                other => shown::plain(other),
            },
            kind: match value {
                Value::Number(_) => "number",
                Value::Bool(_) => "boolean",
                Value::Null => "null",
                _ => "text",
            },
        });
        Ok(Self {
            texts,
            assignees: assignees.map(str::to_owned).collect(),
            pairs: pairs.collect(),
        })
    }
}

fn pairs_of(form: &Pairs) -> impl Iterator<Item = (&str, &str, &str)> {
    let named = form.all("cf_name").zip(form.all("cf_kind").zip(form.all("cf_value")));
    named.map(|(name, (kind, value))| (name.trim(), kind, value.trim()))
}

fn kind_word(kind: &str) -> &'static str {
    match kind {
        "number" => "number",
        "boolean" => "boolean",
        "null" => "null",
        _ => "text",
    }
}

/// The fields that are decimal numbers.
const DECIMALS: [&str; 5] = ["amount", "unitAmount", "quantity", "estimatedHours", "spentHours"];

/// `12,50` with a point; nothing where the comma may stand between thousands instead, as in `1,234`.
fn with_point(text: &str) -> Option<String> {
    let (whole, part) = text.split_once(',')?;
    let digits = whole.trim_start_matches('-');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_thousands = part.len() == 3 && digits.len() <= 3 && !digits.starts_with('0');
    (is_number(digits) && is_number(part) && !is_thousands).then(|| format!("{whole}.{part}"))
}

/// What was typed, as the domain reads it.
fn to_values(kind: Kind, form: &Pairs) -> Result<Map<String, Value>, Problem> {
    let names: &[&str] = match kind {
        Kind::Folder => &[
            "reference",
            "externalId",
            "name",
            "description",
            "clientName",
            "status",
            "owner",
            "startDate",
            "dueDate",
            "currency",
            "tags",
        ],
        Kind::Assignment => &[
            "reference",
            "externalId",
            "folder",
            "title",
            "description",
            "status",
            "priority",
            "startDate",
            "dueDate",
            "estimatedHours",
            "spentHours",
        ],
        Kind::Expense => &[
            "reference",
            "externalId",
            "folder",
            "assignment",
            "budget",
            "status",
            "category",
            "description",
            "vendor",
            "quantity",
            "unitAmount",
            "currency",
            "incurredOn",
            "submittedBy",
        ],
        Kind::Budget => &[
            "reference",
            "externalId",
            "folder",
            "name",
            "description",
            "status",
            "category",
            "amount",
            "currency",
            "startDate",
            "endDate",
        ],
    };
    let mut values = Map::new();
    for name in names.iter().filter(|name| form.has(name)) {
        let mut text = form.get(name).replace("\r\n", "\n");
        if DECIMALS.contains(name) && text.contains(',') {
            let ambiguous = || Problem::new(*name, "must be written with a point, like 1234.50");
            text = with_point(text.trim()).ok_or_else(ambiguous)?;
        }
        values.insert((*name).to_owned(), Value::String(text));
    }
    let is_whole = form.has("_whole");
    if kind == Kind::Assignment && is_whole {
        let people = form.all("assignees").filter(|id| !id.is_empty());
        let people = people.map(|id| Value::String(id.to_owned())).collect();
        values.insert("assignees".into(), Value::Array(people));
    }
    if kind == Kind::Expense && is_whole {
        values.insert("billable".into(), Value::Bool(form.get("billable") == "true"));
    }
    if form.has("cf_name") {
        let mut custom = Map::new();
        for (name, kind, value) in pairs_of(form).filter(|(name, _, _)| !name.is_empty()) {
            let wrong = |what: &str| Problem::new("customFields", format!("`{name}` {what}"));
            let value = match kind {
                "number" => {
                    let number: Result<serde_json::Number, _> = serde_json::from_str(value);
                    number.map(Value::Number).map_err(|_| wrong("must be a number"))?
                }
                "boolean" => match value.to_lowercase().as_str() {
                    "true" | "yes" | "1" => Value::Bool(true),
                    "false" | "no" | "0" => Value::Bool(false),
                    _ => return Err(wrong("must be yes or no")),
                },
                "null" => Value::Null,
                _ => Value::String(value.to_owned()),
            };
            if custom.insert(name.to_owned(), value).is_some() {
                return Err(wrong("is there twice"));
            }
        }
        values.insert("customFields".into(), Value::Object(custom));
    }
    Ok(values)
}

macro_rules! handlers {
    ($($module:ident => $kind:expr;)*) => {$(
        pub(in crate::web) mod $module {
            use super::*;

            pub(in crate::web) async fn new_page(desk: Desk, query: Query) -> Result<Response, WebError> {
                super::new_page(desk, query.0, $kind).await
            }

            pub(in crate::web) async fn create(desk: Desk, form: Form) -> Result<Response, WebError> {
                super::create(desk, form.0, $kind).await
            }

            pub(in crate::web) async fn edit_page(
                desk: Desk,
                Path(key): Path<String>,
            ) -> Result<Response, WebError> {
                super::edit_page(desk, &key, $kind).await
            }

            pub(in crate::web) async fn update(
                desk: Desk,
                Path(key): Path<String>,
                form: Form,
            ) -> Result<Response, WebError> {
                super::update(desk, &key, form.0, $kind).await
            }
        }
    )*};
}

handlers! {
    folders => Kind::Folder;
    assignments => Kind::Assignment;
    expenses => Kind::Expense;
    budgets => Kind::Budget;
}

async fn new_page(desk: Desk, query: Pairs, kind: Kind) -> Result<Response, WebError> {
    let mut values = Values::of_form(&query);
    let statuses = Statuses::read(&desk).await?;
    if let Some(default) = statuses.of(kind).find(|status| status.is_default) {
        values.texts.entry("status".into()).or_insert_with(|| default.id.to_string());
    }
    let me = desk.member.person.id.to_string();
    let person = if kind == Kind::Expense { "submittedBy" } else { "owner" };
    values.texts.entry(person.into()).or_insert(me);
    values.texts.entry("incurredOn".into()).or_insert_with(|| desk.visit.today().to_string());
    if kind == Kind::Folder {
        let today = desk.visit.today().to_string();
        values.texts.entry("startDate".into()).or_insert(today);
    }
    show(&desk, kind, &statuses, None, &values, &[], StatusCode::OK).await
}

async fn edit_page(desk: Desk, key: &str, kind: Kind) -> Result<Response, WebError> {
    let doc = desk.record(kind, key).await?;
    let values = Values::of_record(&desk, kind, &doc).await?;
    let statuses = Statuses::read(&desk).await?;
    show(&desk, kind, &statuses, Some((&doc, false)), &values, &[], StatusCode::OK).await
}

async fn create(desk: Desk, form: Pairs, kind: Kind) -> Result<Response, WebError> {
    let refused = match save(&desk, kind, Target::New, &form).await? {
        Ok(Done::Created(id, reference)) => {
            let (reference, id) = (reference.as_str(), id.to_string());
            let flash = Flash::new(format!("{reference} is there."));
            if form.has("again") {
                // What several in a row have in common stays.
                let kept = ["folder", "incurredOn", "category", "budget", "assignment", "currency"];
                let kept: Vec<_> = kept.iter().map(|name| (*name, form.get(name))).collect();
                let query = Pairs::default().with(&kept).query();
                return Ok(desk.go(&format!("/{}/new{query}", kind.plural()), &flash));
            }
            return Ok(desk.go(&super::path(kind, reference, &id), &flash));
        }
        Ok(_) => return Err(WebError::internal("a new record was not created")),
        Err(refused) => refused,
    };
    let statuses = Statuses::read(&desk).await?;
    let wrong = problems(&refused);
    let values = Values::of_form(&form);
    show(&desk, kind, &statuses, None, &values, &wrong, StatusCode::BAD_REQUEST).await
}

async fn update(desk: Desk, key: &str, form: Pairs, kind: Kind) -> Result<Response, WebError> {
    let doc = desk.record(kind, key).await?;
    let version = form.get("version").parse().ok();
    let target = Target::Existing { key: Key::Id(doc.id()?), version };
    let refused = match save(&desk, kind, target, &form).await? {
        Ok(done) => {
            let (text, reference) = match &done {
                Done::Updated(_, reference) => ("is changed", reference.as_str()),
                Done::Unchanged(_, reference) => ("stays as it was", reference.as_str()),
                _ => return Err(WebError::internal("a record was not changed")),
            };
            let flash = Flash::new(format!("{reference} {text}."));
            return Ok(desk.go(&super::path(kind, reference, doc.text("id")), &flash));
        }
        Err(refused) => refused,
    };
    let values = Values::of_form(&form);
    let statuses = Statuses::read(&desk).await?;
    let is_conflict = matches!(refused, Refusal::Conflict { .. });
    let (status, wrong) = match is_conflict {
        true => (StatusCode::CONFLICT, Vec::new()),
        false => (StatusCode::BAD_REQUEST, problems(&refused)),
    };
    show(&desk, kind, &statuses, Some((&doc, is_conflict)), &values, &wrong, status).await
}

/// Saves what was typed; what a rule refused comes back.
async fn save(
    desk: &Desk,
    kind: Kind,
    target: Target,
    form: &Pairs,
) -> Result<Result<Done, Refusal>, WebError> {
    let read = to_values(kind, form).map_err(|problem| Refusal::Invalid(vec![problem]));
    let draft = match read.and_then(|values| Draft::read(kind, &values)) {
        Ok(draft) => Box::new(draft),
        Err(refused) => return Ok(Err(refused)),
    };
    let commands = vec![Command::Save { target, draft }];
    let change = Change { workspace: desk.id(), actor: desk.actor(), now: desk.now(), commands };
    match desk.store().apply(change).await {
        Ok(mut done) => Ok(Ok(done.remove(0))),
        Err(error) => match error.refusal() {
            Some(refusal @ (Refusal::Invalid(_) | Refusal::Conflict { .. })) => {
                Ok(Err(refusal.clone()))
            }
            _ => Err(error.into()),
        },
    }
}

async fn show(
    desk: &Desk,
    kind: Kind,
    statuses: &Statuses,
    existing: Option<(&Doc, bool)>,
    values: &Values,
    wrong: &[Problem],
    status: StatusCode,
) -> Result<Response, WebError> {
    let doc = existing.map(|(doc, _)| doc);
    let is_new = doc.is_none();
    let mut fields = fields(desk, kind, statuses, values, is_new).await?;
    let mut conflict = None;
    if let Some((doc, true)) = existing {
        let theirs = Values::of_record(desk, kind, doc).await?;
        let theirs = self::fields(desk, kind, statuses, &theirs, false).await?;
        let rows = theirs.iter().zip(&fields).map(|(theirs, mine)| {
            let (theirs, mine) = (said(theirs), said(mine));
            let differs = theirs != mine;
            (theirs, mine, differs)
        });
        let rows = fields
            .iter()
            .zip(rows)
            .map(|(field, (theirs, mine, differs))| (field.label, theirs, mine, differs));
        conflict = Some(Conflict { rows: rows.filter(|row| row.3).collect() });
    }
    let problems = tell(&mut fields, wrong);
    if conflict.is_none() {
        focus(&mut fields);
    }
    let is_more = |field: &Field| matches!(field.name, "reference" | "externalId" | "customFields");
    let (more, fields): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_more);
    let crumb = |text: &str| (format!("/{}", kind.plural()), text.to_owned());
    let mut crumbs = vec![crumb(&words(kind.plural()))];
    let title = match doc {
        Some(doc) => {
            crumbs.push((doc.path(kind), doc.reference().to_owned()));
            format!("Edit {}", doc.title(kind))
        }
        None => format!("New {kind}"),
    };
    let (action, cancel) = match doc {
        Some(doc) => (format!("{}/edit", doc.path(kind)), doc.path(kind)),
        None => (format!("/{}/new", kind.plural()), format!("/{}", kind.plural())),
    };
    let content = RecordForm {
        title: title.clone(),
        crumbs,
        csrf: desk.visit.form_token(),
        action,
        cancel,
        version: doc.map(Doc::version).unwrap_or_default(),
        submit: match (conflict.is_some(), is_new) {
            (true, _) => "Save mine",
            (false, true) => "Create",
            (false, false) => "Save",
        },
        is_new,
        goes_on: is_new && kind == Kind::Expense,
        problems,
        conflict,
        more_is_open: more.iter().any(|field| field.error.is_some()),
        fields,
        more,
        entered: if is_new && kind == Kind::Expense {
            entered(desk, statuses, values.get("folder")).await?
        } else {
            None
        },
    };
    desk.page_with(status, Meta::new(&title, Nav::of(kind)), &content).await
}

/// A field's value in words.
fn said(field: &Field) -> String {
    match &field.input {
        Input::Choice(choices) | Input::Many(choices) => {
            let chosen = choices.iter().filter(|choice| choice.is_on);
            chosen.map(|choice| choice.label.as_str()).collect::<Vec<_>>().join(", ")
        }
        Input::Pairs(pairs) => {
            let pairs = pairs.iter().filter(|pair| !pair.name.is_empty());
            let pairs = pairs.map(|pair| format!("{}: {}", pair.name, pair.value));
            pairs.collect::<Vec<_>>().join("; ")
        }
        Input::Check => if field.value == "true" { "yes" } else { "no" }.to_owned(),
        _ => field.value.clone(),
    }
}

/// The fields of a kind, with these values.
async fn fields(
    desk: &Desk,
    kind: Kind,
    statuses: &Statuses,
    values: &Values,
    is_new: bool,
) -> Result<Vec<Field>, WebError> {
    let people = desk.people().await?;
    let line = |name, label| Field::line(name, label).value(values.get(name));
    let day =
        |name, label| Field::new(name, label, Input::Day).value(values.get(name)).class("short");
    let decimal = |name, label| {
        Field::new(name, label, Input::Decimal).value(values.get(name)).class("short")
    };
    let long =
        |name, label| Field::new(name, label, Input::Long).value(values.get(name)).class("span");
    let status = || {
        let chosen = values.get("status");
        let mut choices = vec![Choice::new("", "—", chosen.is_empty())];
        choices.extend(statuses.of(kind).map(|status| {
            let id = status.id.to_string();
            let is_on = id == chosen;
            Choice::new(id, status.name.clone(), is_on)
        }));
        Field::new("status", "Status", Input::Choice(choices))
    };
    let person = |name, label| {
        let chosen = values.get(name);
        let mut choices = vec![Choice::new("", "—", chosen.is_empty())];
        choices.extend(people.iter().map(|known| {
            let id = known.person.id.to_string();
            let is_on = id == chosen;
            Choice::new(id, known.person.name.clone(), is_on)
        }));
        Field::new(name, label, Input::Choice(choices))
    };
    let currency = |fallback: Option<Currency>| {
        let chosen: Option<Currency> = values.get("currency").parse().ok().or(fallback);
        let mut choices = currencies(chosen.unwrap_or(desk.workspace().currency));
        if chosen.is_none() {
            choices.iter_mut().for_each(|choice| choice.is_on = false);
            choices.insert(0, Choice::new("", "The folder's", true));
        }
        Field::new("currency", "Currency", Input::Choice(choices)).class("short")
    };
    let mut fields = match kind {
        Kind::Folder => vec![
            line("name", "Name").needed().class("span"),
            line("clientName", "Client"),
            status(),
            person("owner", "Owner"),
            line("tags", "Tags").hint("With commas between them"),
            day("startDate", "Starts"),
            day("dueDate", "Due"),
            currency(Some(desk.workspace().currency)),
            long("description", "Description"),
        ],
        Kind::Assignment => {
            let chosen = match values.get("priority") {
                "" => "normal",
                chosen => chosen,
            };
            let priorities = Priority::WORDS.iter();
            let priorities =
                priorities.map(|(word, _)| Choice::new(*word, words(word), *word == chosen));
            let assignees = people.iter().map(|known| {
                let id = known.person.id.to_string();
                let is_on = values.assignees.contains(&id);
                Choice::new(id, known.person.name.clone(), is_on)
            });
            vec![
                line("title", "Title").needed().class("span"),
                folder(desk, values).await?,
                status(),
                Field::new("priority", "Priority", Input::Choice(priorities.collect())),
                Field::new("assignees", "Assigned to", Input::Many(assignees.collect())),
                day("startDate", "Starts"),
                day("dueDate", "Due"),
                decimal("estimatedHours", "Hours estimated"),
                decimal("spentHours", "Hours spent"),
                long("description", "Description"),
            ]
        }
        Kind::Expense => vec![
            folder(desk, values).await?,
            day("incurredOn", "Date").needed(),
            decimal("unitAmount", "Amount of one").needed(),
            decimal("quantity", "How many").hint("1 when left out"),
            currency(None),
            line("category", "Category"),
            line("vendor", "Paid to"),
            of_folder(desk, Kind::Budget, "budget", "Budget", values).await?,
            of_folder(desk, Kind::Assignment, "assignment", "Assignment", values).await?,
            status(),
            person("submittedBy", "Handed in by"),
            Field::new("billable", "The client pays for it", Input::Check)
                .value(values.get("billable")),
            long("description", "Description"),
        ],
        Kind::Budget => vec![
            line("name", "Name").needed().class("span"),
            folder(desk, values).await?,
            decimal("amount", "Amount").needed(),
            currency(None),
            line("category", "Category"),
            status(),
            day("startDate", "Starts"),
            day("endDate", "Ends"),
            long("description", "Description"),
        ],
    };
    let hint = if is_new {
        "Made when left empty"
    } else {
        "Links that name it stop working when it changes"
    };
    fields.push(line("reference", "Reference").hint(hint));
    fields.push(line("externalId", "Identifier elsewhere").hint("In the system it came from"));
    let mut pairs = values.pairs.clone();
    pairs.extend([
        Pair { kind: "text", ..Pair::default() },
        Pair { kind: "text", ..Pair::default() },
    ]);
    fields.push(Field::new("customFields", "Custom fields", Input::Pairs(pairs)).class("span"));
    Ok(fields)
}

/// The folder: typed by its reference, with the newest to pick from.
async fn folder(desk: &Desk, values: &Values) -> Result<Field, WebError> {
    let recent = Browse { closed: Some(false), limit: 50, ..Browse::all(Kind::Folder) };
    let (recent, _) = desk.browse(recent).await?;
    let choices =
        recent.iter().map(|doc| Choice::new(doc.reference(), doc.title(Kind::Folder), false));
    Ok(Field::new("folder", "Folder", Input::Suggest(choices.collect()))
        .value(values.get("folder"))
        .needed()
        .hint("Its reference, such as F-000123"))
}

/// A budget or an assignment: one of the folder's, once that is known.
async fn of_folder(
    desk: &Desk,
    kind: Kind,
    name: &'static str,
    label: &'static str,
    values: &Values,
) -> Result<Field, WebError> {
    let chosen = values.get(name);
    let folder = match super::key_of(values.get("folder")) {
        Some(key) => desk.store().get(desk.id(), Kind::Folder, &key).await?,
        None => None,
    };
    let Some(folder) = folder else {
        return Ok(Field::line(name, label).value(chosen).hint("Its reference"));
    };
    let in_folder =
        Browse { folder: Some(Doc::parse(&folder.text)?.id()?), limit: 200, ..Browse::all(kind) };
    let (docs, _) = desk.browse(in_folder).await?;
    let mut choices = vec![Choice::new("", "—", chosen.is_empty())];
    choices.extend(docs.iter().map(|doc| {
        let text = format!("{} {}", doc.reference(), doc.title(kind));
        Choice::new(doc.reference(), text, doc.reference() == chosen)
    }));
    Ok(Field::new(name, label, Input::Choice(choices)))
}

/// What is in a folder already, for someone who enters one expense after another.
async fn entered(
    desk: &Desk,
    statuses: &Statuses,
    sent: &str,
) -> Result<Option<Entered>, WebError> {
    let Some(key) = super::key_of(sent) else { return Ok(None) };
    let Some(folder) = desk.store().get(desk.id(), Kind::Folder, &key).await? else {
        return Ok(None);
    };
    let folder = Doc::parse(&folder.text)?;
    let all = Browse {
        folder: Some(folder.id()?),
        limit: 5_000,
        sort: Sort::Newest,
        ..Browse::all(Kind::Expense)
    };
    let (docs, browsed) = desk.browse(all).await?;
    let rows = super::list::Shown::new(desk, Kind::Expense, statuses, &docs[..docs.len().min(10)]);
    let rows = rows.await?.without_folders();
    let rows: Vec<Row> = docs.iter().take(10).map(|doc| rows.row(doc)).collect();
    let count = match browsed.count {
        groma_store::Count::Exactly(count) => shown::several(count, "expense", "expenses"),
        groma_store::Count::MoreThan(count) => format!("the newest {count} expenses"),
    };
    Ok(Some(Entered {
        folder: format!("{} {}", folder.reference(), folder.title(Kind::Folder)),
        totals: by_currency(&docs),
        totals_note: format!("in {count}"),
        table: Table { caption: String::new(), columns: super::list::columns(Kind::Expense), rows },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_is_taken_only_where_it_stands_before_decimals() {
        let taken =
            [("12,50", "12.50"), ("-3,5", "-3.5"), ("0,125", "0.125"), ("1234,567", "1234.567")];
        for (typed, read) in taken {
            assert_eq!(with_point(typed).as_deref(), Some(read));
        }
        for typed in ["1,234", "1,234.50", "1.234,50", "1,234,567", ",5", "12,", "a,5"] {
            assert_eq!(with_point(typed), None, "{typed}");
        }
    }
}
