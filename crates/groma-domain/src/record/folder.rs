//! Folders: the projects of an office.

use super::{Identity, check_span, record, settled};
use crate::{
    Currency, PersonId, Problem, Reference, Refusal, StatusId, Timestamp,
    input::{CustomFieldsInput, Field, Fields, StatusRef, Text},
    person::PersonRef,
    text::search_text,
    time::Date,
};
use groma_geo::Bbox;
use serde_json::{Map, Value};

record! {
    /// A project folder.
    pub struct Folder {
        /// Name.
        #[schema(example = "Chêne, boundary survey")]
        pub name: String,
        /// Description.
        pub description: Option<String>,
        /// For whom the work is done.
        pub client_name: Option<String>,
        /// Status; see the statuses list.
        pub status_id: Option<StatusId>,
        /// Who answers for it.
        #[schema(value_type = Option<crate::Person>)]
        pub owner: Option<PersonId>,
        /// First day.
        #[schema(value_type = Option<String>, format = "date")]
        pub start_date: Option<Date>,
        /// Last day.
        #[schema(value_type = Option<String>, format = "date")]
        pub due_date: Option<Date>,
        /// Currency of its budgets and expenses that name none.
        pub currency: Currency,
        /// Tags.
        pub tags: Vec<String>,
        /// Box around its geometries.
        pub bbox: Option<Bbox>,
        /// When it was archived.
        pub archived_at: Option<Timestamp>,
    }
}

/// What someone wants a folder to be.
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
    /// Reads the input.
    pub fn read(values: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut fields = Fields::new(values, &[&super::READ_ONLY[..], &["bbox"]].concat());
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", Text::Short),
            name: fields.needed_text("name", Text::Line),
            description: fields.text("description", Text::Long),
            client_name: fields.text("clientName", Text::Line),
            status: fields.status(),
            owner: fields.person("owner"),
            start_date: fields.date("startDate"),
            due_date: fields.date("dueDate"),
            currency: fields.currency("currency"),
            tags: fields.tags("tags"),
            archived_at: fields.moment("archivedAt"),
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// What a folder is to be linked with, looked up.
pub struct FolderLinks {
    /// Its status.
    pub status: Option<StatusId>,
    /// Its owner.
    pub owner: Option<PersonId>,
    /// The currency when none is named.
    pub default_currency: Currency,
}

impl Folder {
    /// The folder that `input` makes of `prior`, or anew.
    pub fn write(
        prior: Option<&Self>,
        identity: Identity,
        input: FolderInput,
        links: &FolderLinks,
    ) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let name = input.name.given().or_else(|| prior.map(|prior| prior.name.clone()));
        if name.is_none() {
            problems.push(Problem::new("name", "is needed"));
        }
        let custom_fields =
            input.custom_fields.apply(&prior.map(|p| p.custom_fields.clone()).unwrap_or_default());
        let custom_fields =
            custom_fields.map_err(|problem| problems.push(problem)).unwrap_or_default();
        let start_date = input.start_date.or(prior.and_then(|prior| prior.start_date));
        let due_date = input.due_date.or(prior.and_then(|prior| prior.due_date));
        check_span(&mut problems, (start_date, "startDate"), (due_date, "dueDate"));
        let folder = name.map(|name| Self {
            id: identity.id,
            reference: identity.reference,
            workspace_key: identity.workspace,
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
                // What is archived stays so since then.
                (Some(since), Field::Set(Some(_)) | Field::Keep) => Some(since),
                (_, given) => given.or(None),
            },
            custom_fields,
            created_at: identity.created_at,
            updated_at: identity.updated_at,
            version: identity.version,
        });
        settled(folder, problems)
    }

    pub(super) fn search_text(&self) -> String {
        search_text([Some(self.reference.as_str()), Some(&self.name), self.description.as_deref()])
    }
}
