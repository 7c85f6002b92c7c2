//! The demo: fills an empty database with a survey office that has worked for three years, so that
//! a new user has something to explore.
//!
//! The office is a deterministic `script`, from the first folder to the present day. [`seed()`]
//! plays it through the store like any other change, at the times of the script, so that
//! histories, totals and budgets are consistent.

mod calendar;
mod folder_history;
mod job_types;
mod office;
mod purchases;
mod rng;
mod script;
mod seed;
mod survey_map;
mod timeline;
mod webhooks;

use groma_domain::{
    Currency, Email, Kind, Layer, Reference, Timestamp, WorkspaceId, workspace::WorkspaceName,
};
use groma_store::{Actor, NewUser, Store};
use office::Staff;
use script::Script;
use std::fmt;

/// The name of the demo workspace.
pub const WORKSPACE_NAME: &str = office::NAME;

/// Why the demo could not be seeded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] groma_store::Error),
    /// The features could not be written to a temporary file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A value of the script does not follow the rules of the domain: a bug in this crate.
    #[error("invalid demo data: {0}")]
    InvalidData(String),
}

impl Error {
    fn invalid_data(reason: impl fmt::Display) -> Self {
        Self::InvalidData(reason.to_string())
    }
}

/// The seeded workspace.
#[derive(Debug)]
pub struct Summary {
    /// The demo workspace.
    pub workspace: WorkspaceId,
    /// The owner, who can log in.
    pub owner: Email,
    /// How many records of each kind there are.
    pub record_counts: Vec<(Kind, u64)>,
    /// The layers with their feature counts.
    pub layers: Vec<Layer>,
    /// A budget that is likely to be in use.
    pub sample_budget: Reference,
}

/// Seeds the demo workspace, whose owner logs in with the password of `password_hash`.
///
/// Returns `None` if `cancelled` completes first. The workspace is then deleted, because the next
/// start would leave an incomplete workspace as it is.
pub async fn seed(
    store: &Store,
    password_hash: String,
    now: Timestamp,
    cancelled: impl Future<Output = ()>,
) -> Result<Option<Summary>, Error> {
    let script = Script::generate(now);
    let workspace = create_workspace(store, password_hash, script.founded_at).await?;
    let seeded = tokio::select! {
        played = seed::play(store, workspace, &script) => played.map(|()| true),
        () = cancelled => Ok(false),
    };
    if !matches!(seeded, Ok(true)) {
        if let Err(error) = store.delete_workspace(workspace, Actor::Operator, now).await {
            tracing::error!(%error, "the incomplete demo workspace could not be deleted");
        }
        return seeded.map(|_| None);
    }
    let budgets = script.record_count(Kind::Budget);
    Ok(Some(Summary {
        workspace,
        owner: email(Staff::SurveyLead)?,
        record_counts: Kind::ALL.map(|kind| (kind, script.record_count(kind))).to_vec(),
        layers: store.all_layers(workspace).await?,
        // The last ones belong to folders that have only just begun.
        sample_budget: Reference::generated(Kind::Budget, budgets.saturating_sub(20).max(1)),
    }))
}

async fn create_workspace(
    store: &Store,
    password_hash: String,
    at: Timestamp,
) -> Result<WorkspaceId, Error> {
    let name = WorkspaceName::parse(WORKSPACE_NAME).map_err(Error::invalid_data)?;
    let owner = NewUser {
        email: email(Staff::SurveyLead)?,
        name: Some(Staff::SurveyLead.name().to_owned()),
        password_hash: Some(password_hash),
    };
    Ok(store.create_workspace(name, Currency::EUR, owner, at).await?.id)
}

fn email(staff: Staff) -> Result<Email, Error> {
    Email::parse(&staff.email()).map_err(Error::invalid_data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::{ListParams, reference::Key};
    use groma_store::{DeliveryFilter, DeliveryState};
    use serde_json::Value;

    async fn store(folder: &tempfile::TempDir) -> Store {
        let url = format!("sqlite:{}", folder.path().join("groma.db").display());
        Store::open(&url.parse().unwrap()).await.unwrap()
    }

    async fn document(store: &Store, workspace: WorkspaceId, kind: Kind, key: &str) -> Value {
        let key = Key::parse(key).unwrap();
        let document = store.get(workspace, kind, &key).await.unwrap().unwrap();
        serde_json::from_slice(&document).unwrap()
    }

    #[tokio::test]
    async fn store_accepts_every_step_of_the_script() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        // A seventh of the folders, over all the years: the full script is slow in a debug build.
        let script = Script::with_folders(60, Timestamp::parse("2026-11-15T05:00:00Z").unwrap());
        let workspace = create_workspace(&store, String::new(), script.founded_at).await.unwrap();
        seed::play(&store, workspace, &script).await.unwrap();

        for kind in Kind::ALL {
            for step in script.steps().filter(|step| step.kind == kind && step.is_new) {
                let document = document(&store, workspace, kind, step.reference.as_str()).await;
                for field in ["name", "title", "unitAmount"] {
                    if let Some(value) = step.values.get(field) {
                        assert_eq!(&document[field], value, "{}", step.reference);
                    }
                }
            }
            let all = ListParams::default();
            let total = store.list(workspace, kind, &all).await.unwrap().total;
            assert_eq!(total, script.record_count(kind));
        }

        let layers = store.all_layers(workspace).await.unwrap();
        let names: Vec<_> = layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["Parcels", "Survey points", "Utilities", "Submissions"]);
        assert!(layers[0].counts.polygons >= script.parcel_count as u64, "{:?}", layers[0].counts);

        let surveyed: Vec<_> = script.steps().filter(|step| step.fieldwork.is_some()).collect();
        assert!(surveyed.len() > 40, "{}", surveyed.len());
        for step in surveyed {
            let reference = step.reference.as_str();
            let assignment = document(&store, workspace, Kind::Assignment, reference).await;
            let folder = assignment["folderId"].as_str().unwrap();
            let folder = document(&store, workspace, Kind::Folder, folder).await;
            assert!(folder["bbox"].is_array(), "{folder}");
        }
        assert_endpoints_are_disabled_and_have_deliveries(&store, workspace).await;
    }

    async fn assert_endpoints_are_disabled_and_have_deliveries(
        store: &Store,
        workspace: WorkspaceId,
    ) {
        let endpoints = store.endpoints(workspace).await.unwrap();
        assert_eq!(endpoints.len(), 3);
        let mut delivered = 0;
        for health in &endpoints {
            assert!(!health.endpoint.enabled, "the demo sends no webhooks");
            let filter = DeliveryFilter { limit: 1_000, ..DeliveryFilter::of(health.endpoint.id) };
            let deliveries = store.deliveries(workspace, filter).await.unwrap();
            delivered += deliveries.iter().filter(|d| d.state == DeliveryState::Delivered).count();
            assert!(deliveries.iter().all(|d| d.finished_at.is_some()));
        }
        assert!(delivered > 20, "{delivered}");
    }

    #[tokio::test]
    async fn cancelled_seed_leaves_the_database_empty() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        let now = Timestamp::parse("2026-11-15T05:00:00Z").unwrap();
        let summary = seed(&store, String::new(), now, std::future::ready(())).await.unwrap();
        assert!(summary.is_none());
        assert!(store.workspaces().await.unwrap().is_empty());
    }
}
