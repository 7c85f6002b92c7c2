//! The fields of records that a file can set, and which column stands for which.

use crate::web::i18n::Localizer;
use groma_domain::{Kind, text::fold};

/// The fields that a file can set, in the order of the menu.
pub(super) fn fields_of(kind: Kind) -> &'static [&'static str] {
    match kind {
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
            "customFields",
            "archivedAt",
        ],
        Kind::Assignment => &[
            "reference",
            "externalId",
            "folder",
            "title",
            "description",
            "status",
            "priority",
            "assignees",
            "startDate",
            "dueDate",
            "estimatedHours",
            "spentHours",
            "customFields",
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
            "billable",
            "customFields",
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
            "customFields",
        ],
    }
}

/// The fields that exports contain and imports ignore.
const READ_ONLY: [&str; 15] = [
    "id",
    "workspaceKey",
    "createdAt",
    "updatedAt",
    "version",
    "bbox",
    "folderId",
    "assignmentId",
    "budgetId",
    "statusId",
    "amount",
    "spent",
    "remaining",
    "percentUsed",
    "completedAt",
];

/// The field that a column stands for: the one of this name, or the one whose label it is.
pub(super) fn field_of_column(t: Localizer, kind: Kind, column: &str) -> Option<String> {
    if fields_of(kind).contains(&column) || READ_ONLY.contains(&column) {
        return Some(column.to_owned());
    }
    let wanted = plain(column);
    let found = fields_of(kind)
        .iter()
        .find(|field| plain(field) == wanted || plain(&t.field_name(field)) == wanted);
    found.map(|field| (*field).to_owned())
}

/// A name without case, accents, spaces and punctuation.
fn plain(name: &str) -> String {
    fold(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_recognised_by_field_names_and_labels() {
        let english = Localizer::for_language("en");
        let french = Localizer::for_language("fr");
        for (t, kind, column, field) in [
            (english, Kind::Expense, "unitAmount", Some("unitAmount")),
            (english, Kind::Expense, "Unit price", Some("unitAmount")),
            (english, Kind::Expense, "unit_amount", Some("unitAmount")),
            (english, Kind::Folder, "CLIENT", Some("clientName")),
            (french, Kind::Folder, "Référence", Some("reference")),
            (english, Kind::Folder, "colour", None),
        ] {
            assert_eq!(field_of_column(t, kind, column).as_deref(), field, "{column}");
        }
    }
}
