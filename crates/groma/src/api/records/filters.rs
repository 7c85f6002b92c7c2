//! The filters and the order of the lists of records.

use crate::{
    api::{ApiState, features::parse_bbox, lookup},
    http::HttpError,
};
use groma_domain::{
    Email, FieldError, Kind, ListParams, PersonId, Reference, Status, Timestamp, Violation,
    WorkspaceId, input::StatusRef, record::Priority, time::Date,
};
use groma_store::{RecordQuery, Sort, SortColumn, StatusFilter};
use std::collections::HashMap;

/// The maximum length of a text to compare with, in characters.
const MAX_TEXT: usize = 200;

/// The filters of a list.
pub(in crate::api) fn filters(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Folder => &[
            "updatedSince",
            "createdSince",
            "reference",
            "externalId",
            "status",
            "owner",
            "archived",
            "tag",
            "clientName",
            "dueBefore",
            "dueAfter",
            "bbox",
        ],
        Kind::Assignment => &[
            "updatedSince",
            "createdSince",
            "reference",
            "externalId",
            "status",
            "folder",
            "assignee",
            "priority",
            "dueBefore",
            "dueAfter",
        ],
        Kind::Expense => &[
            "updatedSince",
            "createdSince",
            "reference",
            "externalId",
            "status",
            "folder",
            "assignment",
            "budget",
            "submittedBy",
            "category",
            "billable",
            "incurredSince",
            "incurredUntil",
        ],
        Kind::Budget => &[
            "updatedSince",
            "createdSince",
            "reference",
            "externalId",
            "status",
            "folder",
            "category",
        ],
    }
}

/// The columns that a list can be sorted by, with their names.
pub(in crate::api) fn sort_columns(kind: Kind) -> &'static [(&'static str, SortColumn)] {
    match kind {
        Kind::Folder => &[
            ("createdAt", SortColumn::Created),
            ("updatedAt", SortColumn::Updated),
            ("reference", SortColumn::Reference),
            ("name", SortColumn::Title),
            ("dueDate", SortColumn::Date),
        ],
        Kind::Assignment => &[
            ("createdAt", SortColumn::Created),
            ("updatedAt", SortColumn::Updated),
            ("reference", SortColumn::Reference),
            ("title", SortColumn::Title),
            ("dueDate", SortColumn::Date),
        ],
        Kind::Expense => &[
            ("createdAt", SortColumn::Created),
            ("updatedAt", SortColumn::Updated),
            ("reference", SortColumn::Reference),
            ("incurredOn", SortColumn::Date),
            ("amount", SortColumn::Amount),
        ],
        Kind::Budget => &[
            ("createdAt", SortColumn::Created),
            ("updatedAt", SortColumn::Updated),
            ("reference", SortColumn::Reference),
            ("name", SortColumn::Title),
            ("amount", SortColumn::Amount),
        ],
    }
}

/// The values that a parameter of a list can have.
fn expected(kind: Kind, name: &str) -> String {
    match name {
        "updatedSince" | "createdSince" => "must be a time such as 2026-01-31T12:00:00Z".to_owned(),
        "reference" => "must be a reference of 1 to 64 characters".to_owned(),
        "status" => format!("must be ids or names of {kind} statuses, separated by commas"),
        "folder" | "assignment" | "budget" => {
            format!("must be the id or reference of one of the {name}s of this workspace")
        }
        "owner" | "assignee" | "submittedBy" => {
            "must be the id or email address of a person in this workspace".to_owned()
        }
        "archived" | "billable" => "must be true or false".to_owned(),
        "priority" => {
            format!("must be one of {}", Priority::NAMES.map(|(name, _)| name).join(", "))
        }
        "dueBefore" | "dueAfter" | "incurredSince" | "incurredUntil" => {
            "must be a date such as 2026-01-31".to_owned()
        }
        "bbox" => "must be four numbers in degrees: west, south, east, north".to_owned(),
        "sort" => {
            let names: Vec<_> = sort_columns(kind).iter().map(|(name, _)| *name).collect();
            format!("must be one of {}; a leading - reverses the order", names.join(", "))
        }
        _ => format!("must be a text of 1 to {MAX_TEXT} characters"),
    }
}

/// The filters and the order that a client sent.
pub(super) struct Filters {
    kind: Kind,
    values: HashMap<&'static str, String>,
}

impl Filters {
    /// Reads the parameters of a list. Others are ignored.
    pub(super) fn parse(kind: Kind, query: &str) -> Result<Self, HttpError> {
        let mut sent = Self { kind, values: HashMap::new() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let mut known = filters(kind).iter().chain(&["sort"]);
            let Some(&name) = known.find(|known| **known == name) else { continue };
            if value.is_empty() || value.chars().any(|c| c.is_control() || c == '\u{fffd}') {
                return Err(sent.invalid(name));
            }
            if sent.values.insert(name, value.into_owned()).is_some() {
                let expected = Box::new(Violation::Other(expected(kind, name)));
                let problem = FieldError::new(name, Violation::GivenTwice { expected });
                return Err(HttpError::bad_parameter(&problem));
            }
        }
        Ok(sent)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The query that they stand for.
    pub(super) async fn resolve(
        &self,
        api: &ApiState,
        workspace: WorkspaceId,
        params: &ListParams,
    ) -> Result<RecordQuery, HttpError> {
        let (kind, sort) = (self.kind, self.sort()?);
        let mut query = RecordQuery {
            term: params.term.clone(),
            sort,
            skip: params.offset(),
            limit: params.limit,
            ..RecordQuery::all(kind)
        };
        self.read_values(&mut query)?;
        self.read_dates(&mut query)?;
        query.status = self.status(api, workspace).await?;
        for name in ["owner", "assignee", "submittedBy"] {
            if let Some(text) = self.get(name) {
                query.person = Some(self.person(api, workspace, name, text).await?);
            }
        }
        for (name, kind, link) in [
            ("folder", Kind::Folder, &mut query.folder),
            ("assignment", Kind::Assignment, &mut query.assignment),
            ("budget", Kind::Budget, &mut query.budget),
        ] {
            *link = lookup::find_record(api, workspace, kind, self.get(name)).await?;
        }
        Ok(query)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    fn invalid(&self, name: &str) -> HttpError {
        HttpError::bad_parameter(&FieldError::new(name, expected(self.kind, name)))
    }

    /// The value of a parameter, parsed; an error if that fails.
    fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, HttpError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| self.invalid(name))
    }

    fn sort(&self) -> Result<Sort, HttpError> {
        let sort = self.parsed("sort", |text| {
            let name = text.strip_prefix('-');
            let mut columns = sort_columns(self.kind).iter();
            let (_, by) = columns.find(|(known, _)| *known == name.unwrap_or(text))?;
            Some(Sort { by: *by, is_descending: name.is_some() })
        })?;
        Ok(sort.unwrap_or(Sort::OLDEST))
    }

    fn read_values(&self, query: &mut RecordQuery) -> Result<(), HttpError> {
        let time = |text: &str| Timestamp::parse(text).ok();
        let text = |text: &str| (text.chars().count() <= MAX_TEXT).then(|| text.to_owned());
        let boolean = |text: &str| text.parse().ok();
        let priority = |text: &str| {
            let mut named = Priority::NAMES.iter();
            named.find(|(name, _)| *name == text).map(|(_, priority)| *priority)
        };
        query.updated_since = self.parsed("updatedSince", time)?;
        query.created_since = self.parsed("createdSince", time)?;
        let reference = |text: &str| Reference::parse(text).ok();
        query.reference = self.parsed("reference", reference)?.map(|key| key.as_str().to_owned());
        query.external_id = self.parsed("externalId", text)?;
        query.tag = self.parsed("tag", text)?;
        query.client = self.parsed("clientName", text)?;
        query.category = self.parsed("category", text)?;
        query.closed = self.parsed("archived", boolean)?;
        query.billable = self.parsed("billable", boolean)?;
        query.priority = self.parsed("priority", priority)?;
        query.bbox = self.parsed("bbox", |text| parse_bbox(text).ok())?;
        Ok(())
    }

    fn read_dates(&self, query: &mut RecordQuery) -> Result<(), HttpError> {
        // `Date::from_str` alone would accept other formats.
        let date = |text: &str| (text.len() == 10).then(|| text.parse::<Date>().ok()).flatten();
        let from = self.parsed("dueAfter", |text| date(text)?.tomorrow().ok())?;
        let until = self.parsed("dueBefore", |text| date(text)?.yesterday().ok())?;
        query.from = from.or(self.parsed("incurredSince", date)?);
        query.until = until.or(self.parsed("incurredUntil", date)?);
        Ok(())
    }

    async fn status(
        &self,
        api: &ApiState,
        workspace: WorkspaceId,
    ) -> Result<StatusFilter, HttpError> {
        let Some(text) = self.get("status") else { return Ok(StatusFilter::Any) };
        let all = ListParams { limit: u32::MAX, ..ListParams::default() };
        let mut statuses = Vec::new();
        for document in api.store.statuses(workspace, &all).await?.documents {
            let status: Status = serde_json::from_slice(&document)
                .map_err(|error| HttpError::internal(error.to_string()))?;
            if status.applies_to == self.kind {
                statuses.push(status);
            }
        }
        let mut ids = Vec::new();
        for name in text.split(',').map(str::trim) {
            let wanted = match name.parse() {
                Ok(id) => StatusRef::Id(id),
                Err(_) => StatusRef::Name(name.to_owned()),
            };
            let Some(status) = statuses.iter().find(|status| status.matches(&wanted)) else {
                let message = format!("`{name}` is unknown; {}", expected(self.kind, "status"));
                return Err(HttpError::bad_parameter(&FieldError::new("status", message)));
            };
            ids.push(status.id);
        }
        Ok(StatusFilter::AnyOf(ids))
    }

    async fn person(
        &self,
        api: &ApiState,
        workspace: WorkspaceId,
        name: &str,
        text: &str,
    ) -> Result<PersonId, HttpError> {
        let id = text.parse::<PersonId>().ok();
        let email = Email::parse(text).ok().map(|email| email.key());
        let people = api.store.people(workspace).await?;
        let found = people
            .into_iter()
            .map(|known| known.person)
            .find(|person| id == Some(person.id) || email.as_ref() == Some(&person.email.key()));
        found.map(|person| person.id).ok_or_else(|| self.invalid(name))
    }
}
