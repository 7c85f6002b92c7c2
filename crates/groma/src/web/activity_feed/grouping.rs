//! Groups of consecutive changes.

use super::ActivityEntry;
use crate::web::{
    WebError,
    format::{BudgetShare, Moment},
    i18n::{HtmlMessage, Localizer},
    record_data::Doc,
    request_context::MemberContext,
};
use groma_domain::{Kind, RecordId, reference::Key};
use groma_store::AuditEntry;
use serde_json::Value;

/// Changes of one person in one folder, newest first. Most groups have one entry.
pub(in crate::web) struct ActivityGroup {
    pub(in crate::web) at: Moment,
    /// What the changes have in common, if there are several.
    pub(in crate::web) summary: Option<HtmlMessage>,
    pub(in crate::web) entries: Vec<ActivityEntry>,
}

/// The longest time between two changes of a group.
const MAX_GAP_MILLIS: i64 = 10 * 60 * 1_000;

/// Groups rows, which are sorted from the newest.
pub(super) async fn group(
    ctx: &MemberContext,
    rows: &[AuditEntry],
    entry: impl Fn(&AuditEntry) -> ActivityEntry,
    actor: impl Fn(&AuditEntry) -> String,
) -> Result<Vec<ActivityGroup>, WebError> {
    let changes: Vec<_> = rows.iter().map(Change::new).collect();
    let mut groups = Vec::new();
    for part in changes.chunk_by(Change::belongs_with) {
        let entries: Vec<_> = part.iter().map(|change| entry(change.row)).collect();
        let Some(newest) = part.first() else { continue };
        let summary = match (part.len(), newest.folder) {
            (2.., Some(folder)) => Some(summary(ctx, part, folder, actor(newest.row)).await?),
            _ => None,
        };
        groups.push(ActivityGroup { at: ctx.moment(newest.row.at), summary, entries });
    }
    Ok(groups)
}

/// A change to a record.
struct Change<'a> {
    row: &'a AuditEntry,
    /// The public document, as far as it is known.
    doc: Doc,
    folder: Option<RecordId>,
}

impl<'a> Change<'a> {
    fn new(row: &'a AuditEntry) -> Self {
        let json = row.after.as_deref().or(row.before.as_deref()).unwrap_or_default();
        let doc = Doc(serde_json::from_str(json).unwrap_or(Value::Null));
        let folder = match row.action.split_once('.') {
            Some(("folder", _)) => Some(RecordId(row.subject)),
            Some(("assignment" | "expense" | "budget", _)) => doc.link("folderId"),
            _ => None,
        };
        Self { row, doc, folder }
    }

    fn belongs_with(&self, older: &Self) -> bool {
        self.folder.is_some()
            && self.folder == older.folder
            && self.row.actor == older.row.actor
            && self.row.at.as_millis() - older.row.at.as_millis() <= MAX_GAP_MILLIS
    }

    /// The new share of a budget whose expenses changed.
    fn budget_share(&self, t: Localizer) -> Option<BudgetShare> {
        let is_update = self.row.action == "budget.updated";
        let before: Value = serde_json::from_str(self.row.before.as_deref()?).ok()?;
        let is_spent = is_update && !before["spent"].is_null();
        is_spent.then(|| BudgetShare::of(t, Some(self.doc.text("percentUsed")))).flatten()
    }
}

/// What a group says when it is closed: `Ann in folder F-1: added 5 expenses, budget B-1 at 97 %`.
async fn summary(
    ctx: &MemberContext,
    changes: &[Change<'_>],
    folder: RecordId,
    actor: String,
) -> Result<HtmlMessage, WebError> {
    let parts = parts(ctx.t(), changes).join(&ctx.t().msg("activity-separator").to_string());
    let message = ctx.t().html("activity-group").arg("actor", actor).arg("changes", parts);
    let found = ctx.store().get(ctx.workspace_id(), Kind::Folder, &Key::Id(folder)).await?;
    Ok(match found.map(|document| Doc::parse(&document)).transpose()? {
        // Without a link: the line is a control that opens the group.
        Some(doc) => message.arg("folder", doc.reference()),
        None => message.arg("folder", ctx.t().msg("activity-deleted-folder")),
    })
}

/// The kinds of changes with their numbers, in the order in which they happened, then the budgets.
fn parts(t: Localizer, changes: &[Change<'_>]) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut budgets: Vec<(&str, BudgetShare)> = Vec::new();
    for change in changes.iter().rev() {
        let action = change.row.action.as_str();
        if let Some(share) = change.budget_share(t) {
            let reference = change.doc.reference();
            budgets.retain(|(known, _)| *known != reference);
            budgets.push((reference, share));
        } else if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == action) {
            *count += 1;
        } else {
            counts.push((action, 1));
        }
    }
    let count = |(action, count): (&str, usize)| {
        let message = t.msg("activity-part").arg("action", action.replace('.', "-"));
        message.arg("count", count).to_string()
    };
    let budget = |(reference, share): (&str, BudgetShare)| {
        let message = t.msg("activity-budget-at").arg("reference", reference);
        message.arg("percent", share.percent).to_string()
    };
    let counts = counts.into_iter().map(count);
    counts.chain(budgets.into_iter().map(budget)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::{PersonId, Timestamp};
    use serde_json::json;
    use uuid::Uuid;

    fn row(action: &str, minutes: i64, before: &Value, after: &Value) -> AuditEntry {
        AuditEntry {
            id: minutes,
            at: Timestamp::from_millis(minutes * 60_000),
            actor: None,
            token: None,
            action: action.to_owned(),
            subject: Uuid::nil(),
            before: Some(before.to_string()),
            after: Some(after.to_string()),
        }
    }

    #[test]
    fn changes_in_one_folder_within_minutes_belong_together() {
        let expense = |minutes, folder: Uuid| {
            row(
                "expense.created",
                minutes,
                &Value::Null,
                &json!({ "folderId": folder.to_string() }),
            )
        };
        let folder = Uuid::from_u128(7);
        let of_another_person =
            AuditEntry { actor: Some(PersonId(Uuid::from_u128(1))), ..expense(9, folder) };
        let rows =
            [expense(30, folder), expense(21, folder), expense(10, folder), of_another_person];
        let others =
            [expense(9, Uuid::from_u128(8)), row("layer.created", 9, &json!({}), &json!({}))];
        let changes: Vec<_> = rows.iter().chain(&others).map(Change::new).collect();
        let pairs: Vec<_> = changes.windows(2).map(|pair| pair[0].belongs_with(&pair[1])).collect();
        assert_eq!(pairs, [true, false, false, false, false]);
    }

    #[test]
    fn summary_counts_changes_and_ends_with_the_budget() {
        let budget = |percent: &str| {
            let after = json!({ "reference": "B-1", "percentUsed": percent, "spent": "9.00" });
            row("budget.updated", 1, &json!({ "spent": "1.00" }), &after)
        };
        let expense = || row("expense.created", 1, &Value::Null, &json!({}));
        // From the newest.
        let rows = [budget("97.00"), expense(), budget("40.00"), expense()];
        let changes: Vec<_> = rows.iter().map(Change::new).collect();
        let t = Localizer::for_request(&axum::http::HeaderMap::new());
        assert_eq!(parts(t, &changes), ["added 2 expenses", "budget B-1 at 97%"]);
    }
}
