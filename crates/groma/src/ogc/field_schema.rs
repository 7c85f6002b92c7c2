//! The kinds of schemas of a collection.

/// A description of the fields of a collection.
#[derive(Clone, Copy)]
pub(super) enum FieldSchema {
    Queryables,
    Sortables,
    Items,
}

impl FieldSchema {
    pub(super) const ALL: [Self; 3] = [Self::Queryables, Self::Sortables, Self::Items];

    /// The last part of its path.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Queryables => "queryables",
            Self::Sortables => "sortables",
            Self::Items => "schema",
        }
    }

    /// The relation of links to it.
    pub(super) fn relation(self) -> &'static str {
        match self {
            Self::Queryables => "http://www.opengis.net/def/rel/ogc/1.0/queryables",
            Self::Sortables => "http://www.opengis.net/def/rel/ogc/1.0/sortables",
            Self::Items => "http://www.opengis.net/def/rel/ogc/1.0/schema",
        }
    }

    /// The title of links to it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Queryables => "What filters can use",
            Self::Sortables => "What features can be sorted by",
            Self::Items => "The schema of the features",
        }
    }
}
