//! The filters of a list: their controls, and those that are active.

use super::request::{FILTERS, ListRequest, Tab};
use crate::web::{
    WebError, fields::Choice, form::Pairs, i18n::Localizer, record_data::Statuses,
    request_context::MemberContext,
};
use groma_domain::{Kind, record::Priority};

/// A control that filters a list.
pub(super) struct Filter {
    pub(super) name: &'static str,
    pub(super) label: String,
    pub(super) value: String,
    pub(super) control: Control,
}

pub(super) enum Control {
    Select(Vec<Choice>),
    /// A line with suggestions from this address.
    Text(&'static str),
    Date,
    Decimal,
}

/// The controls of a list: those always in sight, and the others.
pub(super) struct Filters {
    pub(super) first: Vec<Filter>,
    pub(super) more: Vec<Filter>,
}

/// A filter that narrows the list, and the address without it.
pub(super) struct ActiveFilter {
    pub(super) text: String,
    pub(super) remove: String,
    pub(super) remove_label: String,
}

impl Filters {
    pub(super) async fn new(
        ctx: &MemberContext,
        kind: Kind,
        query: &Pairs,
        statuses: &Statuses,
    ) -> Result<Self, WebError> {
        let t = ctx.t();
        let new = |name, label: String, control| Filter {
            name,
            label,
            value: query.get(name).trim().to_owned(),
            control,
        };
        let select = |name, label: String, options: Vec<(String, String)>| {
            let chosen = query.get(name);
            let mut choices = vec![Choice::new("", label.clone(), false)];
            choices.extend(options.into_iter().map(|(value, label)| {
                let is_selected = value == chosen;
                Choice::new(value, label, is_selected)
            }));
            new(name, label, Control::Select(choices))
        };
        let options = statuses.of(kind).map(|status| (status.id.to_string(), status.name.clone()));
        let mut first = vec![select("status", t.msg("column-status").into(), options.collect())];
        let person = match kind {
            Kind::Folder => Some(t.msg("column-owner")),
            Kind::Assignment => Some(t.msg("column-assigned-to")),
            Kind::Expense => Some(t.msg("column-submitted-by")),
            Kind::Budget => None,
        };
        if let Some(label) = person {
            let mut options = vec![("me".to_owned(), t.msg("filter-me").into())];
            let people = ctx.people().await?.into_iter();
            options.extend(people.map(|known| (known.person.id.to_string(), known.person.name)));
            first.push(select("person", label.into(), options));
        }
        match kind {
            Kind::Folder | Kind::Assignment => {
                first.push(select("due", t.msg("column-due").into(), due_options(t)));
            }
            Kind::Budget => {
                first.push(select("over", t.msg("column-spent").into(), over_options(t)));
            }
            Kind::Expense => {}
        }
        let dates = || {
            let day = if kind == Kind::Expense { "incurred" } else { "due" };
            [("from", t.msg("list-from")), ("until", t.msg("list-until"))]
                .map(|(name, label)| new(name, label.arg("day", day).into(), Control::Date))
        };
        let amounts = || {
            [("min", t.msg("filter-min-amount")), ("max", t.msg("filter-max-amount"))]
                .map(|(name, label)| new(name, label.into(), Control::Decimal))
        };
        let text = |name, label: String, source| new(name, label, Control::Text(source));
        let category =
            || text("category", t.msg("column-category").into(), "/suggestions/labels/category");
        let mut more = Vec::new();
        match kind {
            Kind::Folder => {
                more.push(text(
                    "client",
                    t.msg("column-client").into(),
                    "/suggestions/labels/client",
                ));
                more.push(text("tag", t.msg("filter-tag").into(), "/suggestions/labels/tag"));
                more.extend(dates());
            }
            Kind::Assignment => {
                more.push(select("priority", t.msg("column-priority").into(), priority_options(t)));
                more.extend(dates());
            }
            Kind::Expense => {
                first.extend(dates());
                more.push(category());
                let options = [("yes", t.msg("yes")), ("no", t.msg("no"))];
                let options = options.map(|(value, label)| (value.to_owned(), label.into()));
                more.push(select("billable", t.msg("column-billable").into(), options.into()));
                more.extend(amounts());
            }
            Kind::Budget => {
                more.push(category());
                more.extend(amounts());
            }
        }
        Ok(Self { first, more })
    }

    fn all(&self) -> impl Iterator<Item = &Filter> {
        self.first.iter().chain(&self.more)
    }

    /// Whether one of the controls that are folded away has a value.
    pub(super) fn has_more(&self) -> bool {
        self.more.iter().any(|filter| !filter.value.is_empty())
    }

    /// The filters that narrow the list.
    pub(super) fn active(
        &self,
        t: Localizer,
        query: &Pairs,
        list: &ListRequest,
    ) -> Vec<ActiveFilter> {
        let path = format!("/{}", list.records.kind.plural());
        let active = |name: &str, text: String| {
            let remove = format!("{path}{}", query.with(&[(name, ""), ("page", "")]).query());
            let remove_label = t.msg("list-remove-filter").arg("filter", &text).into();
            ActiveFilter { text, remove, remove_label }
        };
        let labelled = |label: String, value: String| {
            t.msg("list-active-filter").arg("label", label).arg("value", value).to_string()
        };
        let term = (!list.term.is_empty())
            .then(|| active("q", t.msg("list-active-term").arg("term", &list.term).to_string()));
        let chosen = self.all().filter_map(|filter| {
            let value = filter.shown(t)?;
            Some(active(filter.name, labelled(filter.label.clone(), value)))
        });
        let links = ["folder", "budget", "assignment"].into_iter().filter_map(|name| {
            let key = query.given(name)?.to_owned();
            Some(active(name, labelled(t.field_name(name), key)))
        });
        term.into_iter().chain(chosen).chain(links).collect()
    }
}

impl Filter {
    /// Its value as text; `None` if it has none.
    fn shown(&self, t: Localizer) -> Option<String> {
        match &self.control {
            Control::Select(choices) => {
                let chosen = choices.iter().find(|choice| choice.is_selected);
                chosen.map(|choice| choice.label.clone())
            }
            Control::Date => self.value.parse().ok().map(|day| t.full_day(day)),
            Control::Text(_) => Some(self.value.clone()).filter(|value| !value.is_empty()),
            Control::Decimal => t.parse_decimal(&self.value).map(|number| t.amount(&number)),
        }
    }
}

/// For templates.
impl Filter {
    pub(super) fn choices(&self) -> Option<&[Choice]> {
        match &self.control {
            Control::Select(choices) => Some(choices),
            _ => None,
        }
    }

    pub(super) fn source(&self) -> &'static str {
        match self.control {
            Control::Text(source) => source,
            _ => "",
        }
    }

    pub(super) fn is_date(&self) -> bool {
        matches!(self.control, Control::Date)
    }
}

/// The address of the list without any filter.
pub(super) fn without_filters(kind: Kind, query: &Pairs) -> String {
    let cleared = FILTERS.iter().chain(&["page"]).map(|name| (*name, ""));
    format!("/{}{}", kind.plural(), query.with(&cleared.collect::<Vec<_>>()).query())
}

/// Everything that narrows the list, as text: `Active, “chene”, Status: Review`.
pub(super) fn active_text(t: Localizer, tab: Option<Tab>, active: &[ActiveFilter]) -> String {
    let tab = tab.map(|tab| t.msg("list-tab").arg("tab", tab.name()).to_string());
    let texts = tab.into_iter().chain(active.iter().map(|filter| filter.text.clone()));
    texts.collect::<Vec<_>>().join(", ")
}

fn due_options(t: Localizer) -> Vec<(String, String)> {
    let within = |value: &str, days: u64| {
        (value.to_owned(), t.msg("filter-due-days").arg("days", days).into())
    };
    vec![
        ("overdue".to_owned(), t.msg("filter-overdue").into()),
        within("week", 7),
        within("fortnight", 14),
        within("month", 30),
        ("none".to_owned(), t.msg("filter-no-date").into()),
    ]
}

fn over_options(t: Localizer) -> Vec<(String, String)> {
    vec![
        ("open".to_owned(), t.msg("filter-over-budget-open").into()),
        ("all".to_owned(), t.msg("filter-over-budget").into()),
    ]
}

fn priority_options(t: Localizer) -> Vec<(String, String)> {
    let option = |(name, _): &(&'static str, Priority)| {
        ((*name).to_owned(), t.msg("priority-name").arg("priority", *name).into())
    };
    Priority::NAMES.iter().rev().map(option).collect()
}
