//! Labels: the values of fields that records share, such as clients and tags. They are suggested in forms,
//! and lists can be filtered by them.

use super::Record;

/// A field whose values are labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelField {
    /// The client of a folder.
    Client,
    /// The category of an expense or budget.
    Category,
    /// The vendor of an expense.
    Vendor,
    /// A tag of a folder.
    Tag,
}

impl LabelField {
    /// The name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Category => "category",
            Self::Vendor => "vendor",
            Self::Tag => "tag",
        }
    }
}

impl Record {
    /// The labels of the record.
    pub fn labels(&self) -> impl Iterator<Item = (LabelField, &str)> {
        let (client, tags) = match self {
            Self::Folder(folder) => (folder.client_name.as_deref(), &folder.tags[..]),
            _ => (None, &[][..]),
        };
        let (category, vendor) = match self {
            Self::Expense(expense) => (expense.category.as_deref(), expense.vendor.as_deref()),
            Self::Budget(budget) => (budget.category.as_deref(), None),
            _ => (None, None),
        };
        let tags = tags.iter().map(|tag| (LabelField::Tag, tag.as_str()));
        let client = client.map(|client| (LabelField::Client, client));
        let category = category.map(|category| (LabelField::Category, category));
        let vendor = vendor.map(|vendor| (LabelField::Vendor, vendor));
        tags.chain(client).chain(category).chain(vendor)
    }
}
