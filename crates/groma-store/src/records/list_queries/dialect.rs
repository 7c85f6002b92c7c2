//! The differences between the SQL of both engines.

/// The SQL dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// A field of the document of a row, as text.
    pub(super) fn field(self, row: &str, name: &str) -> String {
        match self {
            Self::Sqlite => format!("({row}.doc ->> '$.{name}')"),
            Self::Postgres => format!("doc_field({row}.doc, '{name}')"),
        }
    }

    pub(super) fn ws(self) -> &'static str {
        if self == Self::Sqlite { "ws" } else { "workspace_id" }
    }
}
