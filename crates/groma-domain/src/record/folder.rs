//! Folders: the projects of a workspace.

use super::{RecordMetadata, check_date_range, record};
use crate::{
    Currency, DomainError, FieldErrors, PersonId, Reference, StatusId, Timestamp, Violation,
    input::{CustomFieldsInput, Field, FieldReader, ParsedInput, StatusRef, TextLimit},
    person::PersonRef,
    text::search_text,
    time::Date,
};
use groma_geo::Bbox;

record! {
    /// A project folder.
    pub struct Folder {
        /// Name.
        #[schema(example = "Chêne, boundary survey")]
        pub name: String,
        /// Description.
        pub description: Option<String>,
        /// Name of the client.
        pub client_name: Option<String>,
        /// Status, from the list of statuses.
        pub status_id: Option<StatusId>,
        /// Person responsible for the folder.
        #[schema(value_type = Option<crate::Person>)]
        pub owner: Option<PersonId>,
        /// Start date.
        #[schema(value_type = Option<String>, format = "date")]
        pub start_date: Option<Date>,
        /// Due date.
        #[schema(value_type = Option<String>, format = "date")]
        pub due_date: Option<Date>,
        /// Default currency of the folder's budgets and expenses.
        pub currency: Currency,
        /// Tags.
        pub tags: Vec<String>,
        /// Bounding box of the folder's geometries.
        pub bbox: Option<Bbox>,
        /// When it was archived.
        pub archived_at: Option<Timestamp>,
    }
}

/// The requested values of a folder.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Folder`")]
pub struct FolderInput {
    pub reference: Field<Option<Reference>>,
    pub external_id: Field<Option<String>>,
    pub name: Field<String>,
    pub description: Field<Option<String>>,
    pub client_name: Field<Option<String>>,
    pub status: Field<Option<StatusRef>>,
    pub owner: Field<Option<PersonRef>>,
    pub start_date: Field<Option<Date>>,
    pub due_date: Field<Option<Date>>,
    pub currency: Field<Option<Currency>>,
    pub tags: Field<Vec<String>>,
    pub archived_at: Field<Option<Timestamp>>,
    pub custom_fields: CustomFieldsInput,
}

impl FolderInput {
    /// Parses the input.
    pub fn read(fields: FieldReader<'_>) -> ParsedInput<Self> {
        let mut fields = fields.read_only(&super::READ_ONLY).read_only(&["bbox"]);
        if fields.is_json() {
            fields = fields.read_only(&["archivedAt"]);
        }
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", TextLimit::Short),
            name: fields.required_text("name", TextLimit::Line),
            description: fields.text("description", TextLimit::Long),
            client_name: fields.text("clientName", TextLimit::Line),
            status: fields.status(),
            owner: fields.person("owner"),
            start_date: fields.date("startDate"),
            due_date: fields.date("dueDate"),
            currency: fields.currency("currency"),
            tags: fields.tags("tags"),
            // Files restore it; the API has routes of its own for it.
            archived_at: match fields.is_json() {
                true => Field::Keep,
                false => fields.timestamp("archivedAt"),
            },
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// The records and people that a folder links to.
pub struct FolderLinks {
    /// Status.
    pub status: Option<StatusId>,
    /// Owner.
    pub owner: Option<PersonId>,
    /// Currency if the input has none.
    pub default_currency: Currency,
}

impl Folder {
    /// Applies `input` to `prior`, or creates a folder.
    pub fn from_input(
        prior: Option<&Self>,
        metadata: RecordMetadata,
        input: FolderInput,
        links: &FolderLinks,
    ) -> Result<Self, DomainError> {
        let mut errors = FieldErrors::default();
        let name = input.name.into_option().or_else(|| prior.map(|prior| prior.name.clone()));
        if name.is_none() {
            errors.add("name", Violation::Required);
        }
        let custom_fields = input.custom_fields.apply(prior.map(|p| &p.custom_fields), &mut errors);
        let start_date = input.start_date.or(prior.and_then(|prior| prior.start_date));
        let due_date = input.due_date.or(prior.and_then(|prior| prior.due_date));
        check_date_range(&mut errors, (start_date, "startDate"), (due_date, "dueDate"));
        let folder = name.map(|name| Self {
            id: metadata.id,
            reference: metadata.reference,
            workspace_key: metadata.workspace,
            external_id: input.external_id.or(prior.and_then(|p| p.external_id.clone())),
            name,
            description: input.description.or(prior.and_then(|p| p.description.clone())),
            client_name: input.client_name.or(prior.and_then(|p| p.client_name.clone())),
            status_id: links.status,
            owner: links.owner,
            start_date,
            due_date,
            currency: match input.currency {
                Field::Keep => prior.map_or(links.default_currency, |p| p.currency),
                Field::Set(currency) => currency.unwrap_or(links.default_currency),
            },
            tags: input.tags.or(prior.map(|p| p.tags.clone()).unwrap_or_default()),
            bbox: prior.and_then(|p| p.bbox),
            archived_at: match (prior.and_then(|p| p.archived_at), input.archived_at) {
                // Archiving an archived folder keeps the original time.
                (Some(since), Field::Set(Some(_)) | Field::Keep) => Some(since),
                (_, archived_at) => archived_at.or(None),
            },
            custom_fields,
            created_at: metadata.created_at,
            updated_at: metadata.updated_at,
            version: metadata.version,
        });
        errors.finish(folder)
    }

    pub(super) fn search_text(&self) -> String {
        search_text([Some(self.reference.as_str()), Some(&self.name), self.description.as_deref()])
    }
}
