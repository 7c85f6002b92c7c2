//! Writes a workspace as one GeoPackage: its layers, records, statuses and people, with their relations. It has no
//! secrets: no passwords, tokens or endpoints.

use super::{ExportError, LayerExport, records};
use groma_domain::{Kind, Layer, Role, WorkspaceId};
use groma_files::{
    GeoPackageWriter, LayerFormat, Link, TableColumn,
    TableColumnType::{Boolean, Date, Id, Integer, Real, Reference, Text, Time},
};
use groma_geo::Crs;
use groma_store::{RecordQuery, Sort, Store};
use serde_json::{Map, Value, json};
use std::{collections::HashSet, path::Path};

/// The tables beside those of layers.
const OWN_TABLES: [&str; 7] =
    ["people", "statuses", "folders", "budgets", "assignments", "assignment_people", "expenses"];

/// The number of records read at a time.
const CHUNK_SIZE: u32 = 1_000;

/// The columns that link features to records, in the order of [`LayerExport::collect`].
const LINKS: [Link; 2] = [
    Link { column: "folder_id", table: "folders" },
    Link { column: "assignment_id", table: "assignments" },
];

const PEOPLE: &[TableColumn] = &[
    column("id", Id),
    column("name", Text),
    column("email", Text),
    column("role", Text),
    column("is_service_account", Boolean),
    column("is_former_member", Boolean),
];

const STATUSES: &[TableColumn] = &[
    column("id", Id),
    column("name", Text),
    column("applies_to", Text),
    column("group", Text),
    column("color", Text),
    column("position", Integer),
    column("is_default", Boolean),
    column("created_at", Time),
    column("updated_at", Time),
];

/// An assignment has several people.
const ASSIGNEES: &[TableColumn] =
    &[column("assignment_id", Reference("assignments")), column("person_id", Reference("people"))];

const fn column(name: &'static str, kind: groma_files::TableColumnType) -> TableColumn {
    TableColumn { name, kind }
}

/// The columns of all records, before and after those of their kind.
const FIRST: &[TableColumn] =
    &[column("id", Id), column("reference", Text), column("external_id", Text)];
const LAST: &[TableColumn] = &[
    column("custom_fields", Text),
    column("created_at", Time),
    column("updated_at", Time),
    column("version", Integer),
];

const FOLDERS: &[TableColumn] = &[
    column("name", Text),
    column("description", Text),
    column("client_name", Text),
    column("status_id", Reference("statuses")),
    column("owner_id", Reference("people")),
    column("start_date", Date),
    column("due_date", Date),
    column("currency", Text),
    column("tags", Text),
    column("bbox", Text),
    column("archived_at", Time),
];

const ASSIGNMENTS: &[TableColumn] = &[
    column("folder_id", Reference("folders")),
    column("title", Text),
    column("description", Text),
    column("status_id", Reference("statuses")),
    column("priority", Text),
    column("start_date", Date),
    column("due_date", Date),
    column("estimated_hours", Real),
    column("spent_hours", Real),
    column("completed_at", Time),
];

const EXPENSES: &[TableColumn] = &[
    column("folder_id", Reference("folders")),
    column("assignment_id", Reference("assignments")),
    column("budget_id", Reference("budgets")),
    column("status_id", Reference("statuses")),
    column("category", Text),
    column("description", Text),
    column("vendor", Text),
    column("quantity", Real),
    column("unit_amount", Real),
    column("amount", Real),
    column("currency", Text),
    column("incurred_on", Date),
    column("submitted_by_id", Reference("people")),
    column("billable", Boolean),
];

const BUDGETS: &[TableColumn] = &[
    column("folder_id", Reference("folders")),
    column("name", Text),
    column("description", Text),
    column("status_id", Reference("statuses")),
    column("category", Text),
    column("amount", Real),
    column("currency", Text),
    column("start_date", Date),
    column("end_date", Date),
    column("spent", Real),
    column("remaining", Real),
    column("percent_used", Real),
];

/// The columns of a kind of records.
fn columns(kind: Kind) -> Vec<TableColumn> {
    let own = match kind {
        Kind::Folder => FOLDERS,
        Kind::Assignment => ASSIGNMENTS,
        Kind::Expense => EXPENSES,
        Kind::Budget => BUDGETS,
    };
    [FIRST, own, LAST].concat()
}

/// An export of a whole workspace.
pub(crate) struct WorkspaceExport {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
}

impl WorkspaceExport {
    /// Writes the GeoPackage into an empty file.
    pub(crate) async fn write(&self, path: &Path) -> Result<(), ExportError> {
        let mut file = GeoPackageWriter::create(path)?;
        self.write_people(&mut file).await?;
        file.add_table("statuses", STATUSES)?;
        for status in records::statuses(&self.store, self.workspace).await? {
            insert(&file, "statuses", STATUSES, &status)?;
        }
        for kind in [Kind::Folder, Kind::Budget, Kind::Assignment, Kind::Expense] {
            self.write_records(&mut file, kind).await?;
        }
        let mut names = HashSet::from(OWN_TABLES.map(str::to_owned));
        for layer in self.store.all_layers(self.workspace).await? {
            self.write_layer(&mut file, layer, &mut names).await?;
        }
        Ok(file.finish()?)
    }

    async fn write_people(&self, file: &mut GeoPackageWriter) -> Result<(), ExportError> {
        file.add_table("people", PEOPLE)?;
        for known in self.store.people(self.workspace).await? {
            let row = json!({
                "id": known.person.id,
                "name": known.person.name,
                "email": known.person.email.to_string(),
                "role": known.role.map(Role::name),
                "isServiceAccount": known.is_service_account,
                "isFormerMember": known.is_removed,
            });
            insert(file, "people", PEOPLE, row.as_object().unwrap_or(&Map::new()))?;
        }
        Ok(())
    }

    async fn write_records(
        &self,
        file: &mut GeoPackageWriter,
        kind: Kind,
    ) -> Result<(), ExportError> {
        let (table, columns) = (kind.plural(), columns(kind));
        file.add_table(table, &columns)?;
        if kind == Kind::Assignment {
            file.add_table("assignment_people", ASSIGNEES)?;
        }
        let query = RecordQuery { sort: Sort::OLDEST, ..RecordQuery::all(kind) };
        let mut reader = self.store.read_records(self.workspace, query).await?;
        loop {
            let records = reader.next(CHUNK_SIZE).await?;
            if records.is_empty() {
                return Ok(());
            }
            for record in records {
                let record: Map<String, Value> =
                    serde_json::from_slice(&record.document).map_err(ExportError::damaged)?;
                insert(file, table, &columns, &record)?;
                let assignees = record.get("assignees").and_then(Value::as_array);
                for person in assignees.into_iter().flatten() {
                    let row = [&record["id"], &person["id"]];
                    file.insert("assignment_people", ASSIGNEES, &row)?;
                }
            }
        }
    }

    /// Writes a layer into a table named by its slug. `names` are those of the tables and layers before it.
    async fn write_layer(
        &self,
        file: &mut GeoPackageWriter,
        mut layer: Layer,
        names: &mut HashSet<String>,
    ) -> Result<(), ExportError> {
        let slug = layer.slug.as_str();
        let table = match OWN_TABLES.contains(&slug) {
            true => format!("{slug}_layer"),
            false => slug.to_owned(),
        };
        // Names in a GeoPackage are unique.
        let name = std::mem::take(&mut layer.name);
        let numbered = (2_u32..).map(|number| format!("{table}_{number}"));
        let mut candidates = [name, table.clone()].into_iter().chain(numbered);
        layer.name = candidates.find(|name| names.insert(name.clone())).unwrap_or_default();
        // The system can be missing, for example without a grid file.
        let crs = layer.crs.system().unwrap_or(Crs::WGS84);
        let (store, workspace) = (self.store.clone(), self.workspace);
        let format = LayerFormat::GeoPackage;
        let export = LayerExport { store, workspace, layer, folder: None, crs, format };
        Ok(file.add_layer(&table, export.collect(&LINKS).await?)?)
    }
}

/// Inserts a document: a column `due_date` has the value of the field `dueDate`, and `owner_id` the id of the
/// person in `owner` if there is no field `ownerId`.
fn insert(
    file: &GeoPackageWriter,
    table: &str,
    columns: &[TableColumn],
    document: &Map<String, Value>,
) -> Result<(), ExportError> {
    let value = |column: &TableColumn| {
        let field = camel_case(column.name);
        let person = || document.get(field.strip_suffix("Id")?)?.get("id");
        document.get(&field).or_else(person).unwrap_or(&Value::Null)
    };
    let row: Vec<&Value> = columns.iter().map(value).collect();
    Ok(file.insert(table, columns, &row)?)
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut all, word| {
        let mut letters = word.chars();
        all.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        all.push_str(letters.as_str());
        all
    })
}
