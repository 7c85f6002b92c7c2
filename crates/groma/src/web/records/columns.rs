//! The columns of tables of records: their headings, what they sort by, and which are shown.

use crate::web::i18n::Localizer;
use groma_domain::Kind;
use groma_store::SortColumn;

/// A column of a table of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) enum Column {
    Reference,
    Name,
    Client,
    Folder,
    Status,
    Person,
    Priority,
    Start,
    Due,
    Date,
    Category,
    Vendor,
    Billable,
    EstimatedHours,
    SpentHours,
    Tags,
    ExternalId,
    Updated,
    Used,
    Spent,
    Amount,
}

impl Column {
    /// The columns of a kind, in their order.
    pub(super) fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Folder => &[
                Self::Reference,
                Self::Name,
                Self::Client,
                Self::Status,
                Self::Person,
                Self::Start,
                Self::Due,
                Self::Tags,
                Self::ExternalId,
                Self::Updated,
                Self::Used,
                Self::Amount,
            ],
            Kind::Assignment => &[
                Self::Reference,
                Self::Name,
                Self::Folder,
                Self::Status,
                Self::Person,
                Self::Priority,
                Self::Start,
                Self::Due,
                Self::EstimatedHours,
                Self::SpentHours,
                Self::ExternalId,
                Self::Updated,
            ],
            Kind::Expense => &[
                Self::Reference,
                Self::Name,
                Self::Folder,
                Self::Category,
                Self::Vendor,
                Self::Status,
                Self::Person,
                Self::Date,
                Self::Billable,
                Self::ExternalId,
                Self::Updated,
                Self::Amount,
            ],
            Kind::Budget => &[
                Self::Reference,
                Self::Name,
                Self::Folder,
                Self::Category,
                Self::Status,
                Self::Start,
                Self::ExternalId,
                Self::Updated,
                Self::Used,
                Self::Spent,
                Self::Amount,
            ],
        }
    }

    /// The columns of a list, unless the member chooses others.
    pub(super) fn shown_by_default(self) -> bool {
        !matches!(
            self,
            Self::Start
                | Self::Category
                | Self::Vendor
                | Self::Billable
                | Self::EstimatedHours
                | Self::SpentHours
                | Self::Tags
                | Self::ExternalId
                | Self::Updated
        )
    }

    /// The columns of a small table, whose names have a second line for the client or the folder.
    pub(super) fn of_small_table(kind: Kind) -> Vec<Self> {
        let is_shown = |column: &Self| {
            column.shown_by_default() && !matches!(column, Self::Client | Self::Folder)
        };
        Self::of(kind).iter().copied().filter(is_shown).collect()
    }

    /// The columns with these keys, separated by commas; the defaults if there are none. The name is
    /// always shown.
    pub(super) fn parse(kind: Kind, keys: &str) -> Vec<Self> {
        let wanted: Vec<&str> = keys.split(',').collect();
        let all = Self::of(kind).iter().copied();
        let chosen: Vec<Self> = all
            .clone()
            .filter(|column| *column == Self::Name || wanted.contains(&column.key()))
            .collect();
        if chosen.len() > 1 { chosen } else { all.filter(|c| c.shown_by_default()).collect() }
    }

    /// The name in addresses.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Name => "name",
            Self::Client => "client",
            Self::Folder => "folder",
            Self::Status => "status",
            Self::Person => "person",
            Self::Priority => "priority",
            Self::Start => "start",
            Self::Due => "due",
            Self::Date => "date",
            Self::Category => "category",
            Self::Vendor => "vendor",
            Self::Billable => "billable",
            Self::EstimatedHours => "estimated-hours",
            Self::SpentHours => "spent-hours",
            Self::Tags => "tags",
            Self::ExternalId => "external-id",
            Self::Updated => "updated",
            Self::Used => "used",
            Self::Spent => "spent",
            Self::Amount => "amount",
        }
    }

    pub(super) fn label(self, t: Localizer, kind: Kind) -> String {
        let message = match (self, kind) {
            (Self::Reference, _) => t.msg("column-reference"),
            (Self::Name, Kind::Folder) | (Self::Folder, _) => t.msg("column-folder"),
            (Self::Name, Kind::Assignment) => t.msg("column-assignment"),
            (Self::Name, Kind::Expense) => t.msg("column-expense"),
            (Self::Name, Kind::Budget) | (Self::Amount, Kind::Folder) => t.msg("column-budget"),
            (Self::Client, _) => t.msg("column-client"),
            (Self::Status, _) => t.msg("column-status"),
            (Self::Person, Kind::Folder) => t.msg("column-owner"),
            (Self::Person, Kind::Assignment) => t.msg("column-assigned-to"),
            (Self::Person, _) => t.msg("column-submitted-by"),
            (Self::Priority, _) => t.msg("column-priority"),
            (Self::Start, _) => t.msg("column-start"),
            (Self::Due, _) => t.msg("column-due"),
            (Self::Date, _) => t.msg("column-date"),
            (Self::Category, _) => t.msg("column-category"),
            (Self::Vendor, _) => t.msg("column-vendor"),
            (Self::Billable, _) => t.msg("column-billable"),
            (Self::EstimatedHours, _) => t.msg("column-estimated-hours"),
            (Self::SpentHours, _) => t.msg("column-spent-hours"),
            (Self::Tags, _) => t.msg("column-tags"),
            (Self::ExternalId, _) => t.msg("column-external-id"),
            (Self::Updated, _) => t.msg("column-updated"),
            (Self::Used, Kind::Folder) => t.msg("column-budget-used"),
            (Self::Used, _) => t.msg("column-used"),
            (Self::Spent, _) => t.msg("column-spent"),
            (Self::Amount, _) => t.msg("column-amount"),
        };
        message.into()
    }

    /// The class of its heading.
    pub(super) fn class(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Name | Self::Due | Self::Date, _) => "",
            (Self::Status, _) => "status-column",
            (Self::Amount, Kind::Folder) | (Self::EstimatedHours | Self::SpentHours, _) => {
                "money hide-on-phone"
            }
            (Self::Amount | Self::Spent, _) => "money",
            _ => "hide-on-phone",
        }
    }

    /// What its heading sorts by.
    pub(super) fn sort_column(self) -> Option<SortColumn> {
        Some(match self {
            Self::Reference => SortColumn::Reference,
            Self::Name => SortColumn::Title,
            Self::Client => SortColumn::Client,
            Self::Folder => SortColumn::Folder,
            Self::Status => SortColumn::Status,
            Self::Person => SortColumn::Person,
            Self::Priority => SortColumn::Priority,
            Self::Start => SortColumn::StartDate,
            Self::Due | Self::Date => SortColumn::Date,
            Self::Category => SortColumn::Category,
            Self::Vendor => SortColumn::Vendor,
            Self::Billable => SortColumn::Billable,
            Self::EstimatedHours => SortColumn::EstimatedHours,
            Self::SpentHours => SortColumn::SpentHours,
            Self::Updated => SortColumn::Updated,
            Self::Used => SortColumn::Used,
            Self::Spent => SortColumn::Spent,
            Self::Amount => SortColumn::Amount,
            Self::Tags | Self::ExternalId => return None,
        })
    }

    /// Whether the first click sorts from the largest down.
    pub(super) fn is_largest_first(self) -> bool {
        matches!(
            self,
            Self::Priority
                | Self::Updated
                | Self::Used
                | Self::Spent
                | Self::Amount
                | Self::EstimatedHours
                | Self::SpentHours
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_parsed_in_their_own_order_and_keep_the_name() {
        let parsed = Column::parse(Kind::Folder, "due,client,nonsense");
        assert_eq!(parsed, [Column::Name, Column::Client, Column::Due]);
        let defaults = Column::parse(Kind::Expense, "nonsense");
        assert!(defaults.contains(&Column::Amount) && !defaults.contains(&Column::Vendor));
    }
}
