//! Folders, assignments, expenses, budgets: what their pages share.

pub(super) mod detail;
pub(super) mod form;
pub(super) mod list;
pub(super) mod remove;
pub(super) mod status;

use super::{
    WebError,
    form::encode,
    shown::{Money, Share, StatusShown},
    visit::Desk,
};
use futures_util::future::try_join_all;
use groma_domain::{
    Kind, ListParams, RecordId, Reference, Status, StatusId, reference::Key, status::Group,
    time::Date,
};
use groma_store::{Browse, Browsed, KnownPerson};
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The public document of a record, to be read field by field.
#[derive(Clone, Debug)]
pub(super) struct Doc(pub(super) Value);

impl Doc {
    pub(super) fn parse(json: &[u8]) -> Result<Self, WebError> {
        let value = serde_json::from_slice(json);
        value.map(Self).map_err(|error| WebError::internal(error.to_string()))
    }

    /// A text; empty when there is none.
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

    /// What it is called: a name, a title, or what an expense was for.
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

    pub(super) fn person(&self, field: &str) -> &str {
        self.0[field]["name"].as_str().unwrap_or_default()
    }

    /// The names of several people.
    pub(super) fn people(&self, field: &str) -> String {
        let people = self.0[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = people.iter().filter_map(|person| person["name"].as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn money(&self, field: &str) -> Money {
        Money::new(self.text(field), self.text("currency"))
    }

    pub(super) fn decimal(&self, field: &str) -> Decimal {
        self.text(field).parse().unwrap_or_default()
    }

    pub(super) fn is_archived(&self) -> bool {
        !self.0["archivedAt"].is_null()
    }
}

/// The address of a record's page: by reference, or by id where a reference would lead elsewhere.
pub(super) fn path(kind: Kind, reference: &str, id: &str) -> String {
    let is_plain = !matches!(reference, "new" | "." | "..");
    format!("/{}/{}", kind.plural(), encode(if is_plain { reference } else { id }))
}

/// The statuses of a workspace, in their order.
pub(super) struct Statuses(pub(super) Vec<Status>);

impl Statuses {
    pub(super) async fn read(desk: &Desk) -> Result<Self, WebError> {
        let all = ListParams { page: 1, limit: 10_000, term: None };
        let page = desk.store().statuses(desk.id(), &all, b"[".to_vec()).await?;
        let mut body = page.body;
        body.push(b']');
        let mut statuses: Vec<Status> =
            serde_json::from_slice(&body).map_err(|error| WebError::internal(error.to_string()))?;
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

    pub(super) fn shown(&self, doc: &Doc) -> Option<StatusShown> {
        self.get(doc.text("statusId")).map(Into::into)
    }

    /// Those in which nothing is left to do.
    pub(super) fn ended(&self, kind: Kind) -> Vec<StatusId> {
        let is_ended = |status: &&Status| matches!(status.group, Group::Done | Group::Cancelled);
        self.of(kind).filter(is_ended).map(|status| status.id).collect()
    }

    /// Whether there is still something to do for a record.
    pub(super) fn is_open(&self, doc: &Doc) -> bool {
        let status = self.get(doc.text("statusId"));
        !doc.is_archived()
            && doc.0["completedAt"].is_null()
            && status.is_none_or(|s| !matches!(s.group, Group::Done | Group::Cancelled))
    }
}

/// A folder as others name it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) reference: String,
    pub(super) title: String,
    pub(super) path: String,
}

impl Desk {
    /// A record of the workspace; there is no other answer than «not found» for any other.
    pub(super) async fn record(&self, kind: Kind, sent: &str) -> Result<Doc, WebError> {
        let key = Key::parse(sent).ok_or_else(WebError::not_found)?;
        let found = self.store().get(self.id(), kind, &key).await?;
        Doc::parse(&found.ok_or_else(WebError::not_found)?.text)
    }

    pub(super) async fn browse(&self, browse: Browse) -> Result<(Vec<Doc>, Browsed), WebError> {
        let mut browsed = self.store().browse(self.id(), browse).await?;
        let documents = std::mem::take(&mut browsed.documents);
        let docs: Result<Vec<_>, _> = documents.iter().map(|json| Doc::parse(json)).collect();
        Ok((docs?, browsed))
    }

    pub(super) async fn people(&self) -> Result<Vec<KnownPerson>, WebError> {
        Ok(self.store().people(self.id()).await?)
    }

    /// What the records are called that these point at.
    pub(super) async fn named(
        &self,
        kind: Kind,
        docs: &[Doc],
        field: &str,
    ) -> Result<HashMap<RecordId, Named>, WebError> {
        let mut ids: Vec<RecordId> = docs.iter().filter_map(|doc| doc.link(field)).collect();
        ids.sort_unstable();
        ids.dedup();
        let found = ids.into_iter().map(async |id| {
            let found = self.store().get(self.id(), kind, &Key::Id(id)).await?;
            let doc = found.map(|document| Doc::parse(&document.text)).transpose()?;
            Ok::<_, WebError>(doc.map(|doc| {
                let named = Named {
                    reference: doc.reference().to_owned(),
                    title: doc.title(kind),
                    path: doc.path(kind),
                };
                (id, named)
            }))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }
}

/// What is set aside and what is spent, of the budgets in one currency.
pub(super) struct Sums {
    pub(super) amount: Decimal,
    pub(super) spent: Decimal,
}

impl Sums {
    pub(super) fn of(budgets: &[Doc], currency: &str) -> Self {
        let mut sums = Self { amount: Decimal::ZERO, spent: Decimal::ZERO };
        for budget in budgets.iter().filter(|budget| budget.text("currency") == currency) {
            sums.amount += budget.decimal("amount");
            sums.spent += budget.decimal("spent");
        }
        sums
    }

    pub(super) fn share(&self) -> Option<Share> {
        let ratio = (self.spent * Decimal::ONE_HUNDRED).checked_div(self.amount)?;
        Share::of(Some(&ratio.round_dp(2).to_string()))
    }
}

/// Amounts added up, each currency for itself.
pub(super) fn by_currency(docs: &[Doc]) -> Vec<Money> {
    let mut sums: BTreeMap<&str, Decimal> = BTreeMap::new();
    for doc in docs {
        *sums.entry(doc.text("currency")).or_default() += doc.decimal("amount");
    }
    sums.into_iter().map(|(code, sum)| Money::new(&sum.to_string(), code)).collect()
}

/// Reads what names a folder in an address; a wrong one names none.
pub(super) fn key_of(text: &str) -> Option<Key> {
    Key::parse(text.trim())
}

/// A reference that was typed, when it has the form of one.
pub(super) fn typed_reference(text: &str) -> Option<Reference> {
    Reference::parse(text).ok()
}
