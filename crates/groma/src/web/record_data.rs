//! Reading and changing records: their JSON documents, statuses and links.

use super::{
    WebError,
    form::encode,
    format::{BudgetShare, Money, StatusBadge},
    i18n::Localizer,
    request_context::MemberContext,
};
use futures_util::future::try_join_all;
use groma_domain::{
    Kind, ListParams, RecordId, Reference, Status, StatusId, reference::Key, status::StatusGroup,
    time::Date,
};
use groma_store::{
    Change, Command, CommandOutcome, KnownPerson, RecordPage, RecordQuery, StatusFilter,
};
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The JSON document of a record.
#[derive(Clone, Debug)]
pub(super) struct Doc(pub(super) Value);

impl Doc {
    pub(super) fn parse(json: &[u8]) -> Result<Self, WebError> {
        let value = serde_json::from_slice(json);
        value.map(Self).map_err(|error| WebError::internal(error.to_string()))
    }

    /// A text field; empty when it is null.
    pub(super) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    pub(super) fn date(&self, field: &str) -> Option<Date> {
        self.text(field).parse().ok()
    }

    pub(super) fn id(&self) -> Result<RecordId, WebError> {
        self.text("id").parse().map_err(|_| WebError::internal("a record without an id"))
    }

    pub(super) fn link(&self, field: &str) -> Option<RecordId> {
        self.text(field).parse().ok()
    }

    pub(super) fn version(&self) -> u64 {
        self.0["version"].as_u64().unwrap_or_default()
    }

    pub(super) fn reference(&self) -> &str {
        self.text("reference")
    }

    /// The name of a folder or budget, the title of an assignment, the description of an expense.
    pub(super) fn title(&self, kind: Kind) -> String {
        let field = match kind {
            Kind::Folder | Kind::Budget => "name",
            Kind::Assignment => "title",
            Kind::Expense => "description",
        };
        let title = self.text(field).lines().next().unwrap_or_default();
        match title {
            "" if self.text("category").is_empty() => self.reference().to_owned(),
            "" => self.text("category").to_owned(),
            title => title.chars().take(120).collect(),
        }
    }

    /// The address of its page.
    pub(super) fn path(&self, kind: Kind) -> String {
        path(kind, self.reference(), self.text("id"))
    }

    pub(super) fn record_link(&self, kind: Kind) -> RecordLink {
        RecordLink {
            reference: self.reference().to_owned(),
            title: self.title(kind),
            path: self.path(kind),
        }
    }

    pub(super) fn person(&self, field: &str) -> &str {
        self.0[field]["name"].as_str().unwrap_or_default()
    }

    /// The names of several people.
    pub(super) fn people(&self, field: &str) -> String {
        let people = self.0[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = people.iter().filter_map(|person| person["name"].as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn money(&self, t: Localizer, field: &str) -> Money {
        Money::new(t, self.text(field), self.text("currency"))
    }

    pub(super) fn decimal(&self, field: &str) -> Decimal {
        self.text(field).parse().unwrap_or_default()
    }

    pub(super) fn is_archived(&self) -> bool {
        !self.0["archivedAt"].is_null()
    }
}

/// The path of a record's page: by reference, or by id when the reference is also a route.
pub(super) fn path(kind: Kind, reference: &str, id: &str) -> String {
    let is_plain = !matches!(reference, "new" | "." | "..");
    format!("/{}/{}", kind.plural(), encode(if is_plain { reference } else { id }))
}

/// The statuses of a workspace, in display order.
pub(super) struct Statuses(pub(super) Vec<Status>);

impl Statuses {
    pub(super) async fn read(ctx: &MemberContext) -> Result<Self, WebError> {
        let all = ListParams { limit: 10_000, ..ListParams::default() };
        let page = ctx.store().statuses(ctx.workspace_id(), &all).await?;
        let parse = |document: &Vec<u8>| serde_json::from_slice(document);
        let statuses: Result<Vec<Status>, _> = page.documents.iter().map(parse).collect();
        let mut statuses = statuses.map_err(|error| WebError::internal(error.to_string()))?;
        statuses.sort_by_key(|status| (status.applies_to, status.position, status.created_at));
        Ok(Self(statuses))
    }

    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Status> {
        self.0.iter().filter(move |status| status.applies_to == kind)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Status> {
        let id: StatusId = id.parse().ok()?;
        self.0.iter().find(|status| status.id == id)
    }

    pub(super) fn badge(&self, doc: &Doc) -> Option<StatusBadge> {
        self.get(doc.text("statusId")).map(Into::into)
    }

    /// The statuses of some groups.
    fn in_groups(&self, kind: Kind, groups: &[StatusGroup]) -> Vec<StatusId> {
        let found = self.of(kind).filter(|status| groups.contains(&status.group));
        found.map(|status| status.id).collect()
    }

    /// The statuses of records without work left.
    pub(super) fn finished(&self, kind: Kind) -> Vec<StatusId> {
        self.in_groups(kind, &[StatusGroup::Done, StatusGroup::Cancelled])
    }

    /// The records with work left: neither archived nor completed, and in no done or cancelled status.
    pub(super) fn unfinished(&self, kind: Kind) -> RecordQuery {
        let status = StatusFilter::NoneOf(self.finished(kind));
        let closed = matches!(kind, Kind::Folder | Kind::Assignment).then_some(false);
        RecordQuery { closed, status, ..RecordQuery::all(kind) }
    }

    /// The records that a list opens with: folders that are not archived, open assignments.
    pub(super) fn open(&self, kind: Kind) -> RecordQuery {
        match kind {
            Kind::Folder => RecordQuery { closed: Some(false), ..RecordQuery::all(kind) },
            Kind::Assignment => self.unfinished(kind),
            Kind::Expense | Kind::Budget => RecordQuery::all(kind),
        }
    }

    /// The cancelled assignments.
    pub(super) fn cancelled(&self) -> RecordQuery {
        let cancelled = self.in_groups(Kind::Assignment, &[StatusGroup::Cancelled]);
        RecordQuery {
            closed: Some(false),
            status: StatusFilter::AnyOf(cancelled),
            ..RecordQuery::all(Kind::Assignment)
        }
    }

    /// Whether an expense counts in totals and charts: all but the cancelled ones do.
    pub(super) fn counts(&self, expense: &Doc) -> bool {
        let status = self.get(expense.text("statusId"));
        status.is_none_or(|status| status.group != StatusGroup::Cancelled)
    }

    /// Whether a record has work left.
    pub(super) fn is_unfinished(&self, doc: &Doc) -> bool {
        let status = self.get(doc.text("statusId"));
        !doc.is_archived()
            && doc.0["completedAt"].is_null()
            && status.is_none_or(|s| !matches!(s.group, StatusGroup::Done | StatusGroup::Cancelled))
    }
}

/// A link to a record.
#[derive(Clone, Debug)]
pub(super) struct RecordLink {
    pub(super) reference: String,
    pub(super) title: String,
    pub(super) path: String,
}

impl MemberContext {
    /// A record of the workspace. Records of other workspaces are not found.
    pub(super) async fn record(&self, kind: Kind, sent: &str) -> Result<Doc, WebError> {
        let key = Key::parse(sent).ok_or_else(WebError::not_found)?;
        let found = self.store().get(self.workspace_id(), kind, &key).await?;
        Doc::parse(&found.ok_or_else(WebError::not_found)?)
    }

    /// Applies one command.
    pub(super) async fn apply(&self, command: Command) -> groma_store::Result<Vec<CommandOutcome>> {
        self.apply_all(vec![command]).await
    }

    /// Applies several commands in one transaction.
    pub(super) async fn apply_all(
        &self,
        commands: Vec<Command>,
    ) -> groma_store::Result<Vec<CommandOutcome>> {
        let (workspace, actor, now) = (self.workspace_id(), self.actor(), self.now());
        self.store().apply(Change { workspace, actor, now, commands }).await
    }

    pub(super) async fn query_records(
        &self,
        query: RecordQuery,
    ) -> Result<(Vec<Doc>, RecordPage), WebError> {
        let _slot = match query.term {
            Some(_) => Some(self.search_slot().await?),
            None => None,
        };
        let mut page = self.store().query_records(self.workspace_id(), query).await?;
        let documents = std::mem::take(&mut page.documents);
        let docs: Result<Vec<_>, _> = documents.iter().map(|json| Doc::parse(json)).collect();
        Ok((docs?, page))
    }

    pub(super) async fn people(&self) -> Result<Vec<KnownPerson>, WebError> {
        Ok(self.store().people(self.workspace_id()).await?)
    }

    /// The records that a field of these records refers to.
    pub(super) async fn linked_records(
        &self,
        kind: Kind,
        docs: &[Doc],
        field: &str,
    ) -> Result<HashMap<RecordId, RecordLink>, WebError> {
        self.record_links(kind, docs.iter().filter_map(|doc| doc.link(field)).collect()).await
    }

    /// The records with these ids.
    pub(super) async fn record_links(
        &self,
        kind: Kind,
        mut ids: Vec<RecordId>,
    ) -> Result<HashMap<RecordId, RecordLink>, WebError> {
        ids.sort_unstable();
        ids.dedup();
        let found = ids.into_iter().map(async |id| {
            let found = self.store().get(self.workspace_id(), kind, &Key::Id(id)).await?;
            let doc = found.map(|document| Doc::parse(&document)).transpose()?;
            Ok::<_, WebError>(doc.map(|doc| (id, doc.record_link(kind))))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }
}

/// The amount and the spent part of budgets in one currency.
pub(super) struct BudgetTotals {
    pub(super) amount: Decimal,
    pub(super) spent: Decimal,
}

impl BudgetTotals {
    pub(super) fn of(budgets: &[Doc], currency: &str) -> Self {
        let mut sums = Self { amount: Decimal::ZERO, spent: Decimal::ZERO };
        for budget in budgets.iter().filter(|budget| budget.text("currency") == currency) {
            sums.amount += budget.decimal("amount");
            sums.spent += budget.decimal("spent");
        }
        sums
    }

    pub(super) fn share(&self, t: Localizer) -> Option<BudgetShare> {
        let ratio = (self.spent * Decimal::ONE_HUNDRED).checked_div(self.amount)?;
        BudgetShare::of(t, Some(&ratio.round_dp(2).to_string()))
    }
}

/// The total amount of expenses in each currency, without cancelled ones.
pub(super) fn totals_by_currency(
    t: Localizer,
    statuses: &Statuses,
    expenses: &[Doc],
) -> Vec<Money> {
    let mut sums: BTreeMap<&str, Decimal> = BTreeMap::new();
    for doc in expenses.iter().filter(|expense| statuses.counts(expense)) {
        *sums.entry(doc.text("currency")).or_default() += doc.decimal("amount");
    }
    sums.into_iter().map(|(code, sum)| Money::new(t, &sum.to_string(), code)).collect()
}

/// Parses an id or a reference.
pub(super) fn parse_key(text: &str) -> Option<Key> {
    Key::parse(text.trim())
}

/// Parses a reference.
pub(super) fn parse_reference(text: &str) -> Option<Reference> {
    Reference::parse(text).ok()
}
