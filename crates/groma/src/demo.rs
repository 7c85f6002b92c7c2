//! The demonstration: an empty database becomes a survey office with three years behind it, so that
//! whoever tries Groma finds something to read.
//!
//! The office is told as a story (`story`), from the first folder to whatever is on the desks today,
//! and every step of it goes through the store like anyone's change, at the time of the story. So
//! histories, totals and budgets are as real as those of a workspace in use.

mod atlas;
mod calendar;
mod chance;
mod filling;
mod hooks;
mod life;
mod notes;
mod office;
mod purchases;
mod story;
mod works;

use crate::{
    clock::now,
    commands::{Failure, token},
    password,
    settings::Settings,
    web::grouped,
};
use filling::carry_out;
use groma_domain::{
    Currency, Email, Kind, Layer, Reference, Scope, Timestamp, WorkspaceId, password::Password,
    token::Token, workspace::WorkspaceName,
};
use groma_store::{Actor, NewUser, Store};
use notes::Chapter;
use office::Colleague;
use std::io::Write;

/// Fills a database without a workspace and prints how to look at it; any other stays as it is.
/// `false` when `stopped` came first.
pub(crate) async fn fill_when_empty(
    settings: &Settings,
    store: &Store,
    stopped: &mut (impl Future<Output = ()> + Unpin),
) -> Result<bool, Failure> {
    let address = settings.server.public_url();
    let workspaces = store.workspaces().await?.len();
    if workspaces > 0 {
        return print(&unchanged(&address, workspaces)).map(|()| true);
    }
    tracing::info!("filling the empty database with a demonstration office");
    let story = story::tell(now());
    let login = Login { email: email(Colleague::SurveyLead)?, password: new_password()? };
    let workspace = found(store, &login, story.founded).await?;
    let filled = tokio::select! {
        carried_out = carry_out(store, workspace, &story) => carried_out.map(|()| true),
        () = stopped => Ok(false),
    };
    if !matches!(filled, Ok(true)) {
        // Half an office would be taken for a database in use at the next start.
        if let Err(error) = store.delete_workspace(workspace, Actor::Operator).await {
            tracing::error!(%error, "the unfinished demonstration office was not deleted");
        }
        return filled;
    }
    let wanted = token::Wanted {
        workspace,
        owner: login.email.clone(),
        name: "Demo token",
        scopes: Scope::ALL.into_iter().collect(),
        expires_at: None,
    };
    let (_, token) = token::create(settings, store, wanted).await?;
    let layers = store.all_layers(workspace).await?;
    let welcome = Welcome {
        address: &address,
        geo_address: &settings.server.geo_public_url(),
        login: &login,
        token: &token,
        chapters: &story.chapters,
        layers: &layers,
    };
    print(&welcome.text()).map(|()| true)
}

/// Who can log in, shown once.
struct Login {
    email: Email,
    password: String,
}

/// Makes the workspace with its owner.
async fn found(store: &Store, login: &Login, at: Timestamp) -> Result<WorkspaceId, Failure> {
    let name = WorkspaceName::parse(office::NAME).map_err(Failure::new)?;
    let password = Password::new(&login.password).map_err(Failure::new)?;
    let owner = NewUser {
        email: login.email.clone(),
        name: Some(Colleague::SurveyLead.name().to_owned()),
        password_hash: Some(password::hash(password).await?),
    };
    Ok(store.create_workspace(name, Currency::EUR, owner, at).await?.id)
}

fn email(who: Colleague) -> Result<Email, Failure> {
    Email::parse(&who.email()).map_err(Failure::new)
}

/// A random password that can be read aloud: 54 bits in nine syllables.
fn new_password() -> Result<String, Failure> {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let mut random = [0_u8; 9];
    getrandom::fill(&mut random).map_err(Failure::new)?;
    let mut password = String::new();
    for (place, byte) in random.into_iter().enumerate() {
        if place > 0 && place % 3 == 0 {
            password.push('-');
        }
        password.push(CONSONANTS[usize::from(byte % 16)].into());
        password.push(VOWELS[usize::from(byte / 16 % 4)].into());
    }
    Ok(password)
}

fn unchanged(address: &str, workspaces: usize) -> String {
    let held =
        if workspaces == 1 { "a workspace".to_owned() } else { format!("{workspaces} workspaces") };
    format!(
        "--demo changed nothing: the database holds {held} already. Web application: {address}\n"
    )
}

/// What someone needs to look around, with lines to paste.
struct Welcome<'a> {
    address: &'a str,
    geo_address: &'a str,
    login: &'a Login,
    token: &'a Token,
    chapters: &'a [Chapter],
    layers: &'a [Layer],
}

impl Welcome<'_> {
    fn text(&self) -> String {
        let Self { address, geo_address, login, .. } = self;
        let (name, token) = (office::NAME, self.token.reveal());
        let mut counts: Vec<_> = Kind::ALL
            .iter()
            .map(|kind| format!("{} {}", grouped(self.made(*kind)), kind.plural()))
            .collect();
        let features = self.layers.iter().map(|layer| layer.counts.total()).sum();
        counts.push(format!("{} layers with {} features", self.layers.len(), grouped(features)));
        // One of work that is under way, as a rule.
        let budget = self.made(Kind::Budget).saturating_sub(20).max(1);
        let budget = Reference::made(Kind::Budget, budget);
        let curl = |address: &str, path: &str| {
            format!("  curl -H 'Authorization: Bearer {token}' '{address}/api/public/v1/{path}'")
        };
        let lines = [
            String::new(),
            format!("{name} is open: {}.", counts.join(", ")),
            String::new(),
            format!("  Web application:   {address}"),
            format!("  API documentation: {address}/docs"),
            format!("  Geo API:           {geo_address}"),
            format!("  Login:             {}", login.email),
            format!("  Password:          {}", login.password),
            format!("  Token:             {token}"),
            String::new(),
            "Password and token are not shown again. To try it:".to_owned(),
            String::new(),
            curl(address, "folders?term=chene"),
            curl(address, &format!("budgets/{budget}")),
            curl(geo_address, "layers"),
            String::new(),
            String::new(),
        ];
        lines.join("\n")
    }

    /// How many records of a kind the story made.
    fn made(&self, kind: Kind) -> u64 {
        let steps = self.chapters.iter().flat_map(|chapter| &chapter.steps);
        steps.filter(|step| step.is_new && step.kind == kind).count() as u64
    }
}

/// Prints to standard output; a reader that went away is no failure.
fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
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

    fn login() -> Login {
        let password = new_password().unwrap();
        Login { email: email(Colleague::SurveyLead).unwrap(), password }
    }

    #[tokio::test]
    async fn the_store_takes_every_step_and_counts_as_the_story_does() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        // A seventh of the folders, over all of the years: the whole takes long without optimising.
        let story = story::tell_of(60, Timestamp::parse("2026-11-15T05:00:00Z").unwrap());
        let workspace = found(&store, &login(), story.founded).await.unwrap();
        carry_out(&store, workspace, &story).await.unwrap();
        for kind in Kind::ALL {
            let steps = story.chapters.iter().flat_map(|chapter| &chapter.steps);
            let mut made = 0;
            for step in steps.filter(|step| step.kind == kind && step.is_new) {
                made += 1;
                let key = Key::Reference(step.reference.clone());
                let document = store.get(workspace, kind, &key).await.unwrap().unwrap();
                let document: Value = serde_json::from_slice(&document.text).unwrap();
                for field in ["name", "title", "unitAmount"] {
                    if let Some(told) = step.values.get(field) {
                        assert_eq!(&document[field], told, "{key}");
                    }
                }
            }
            let all = ListParams::default();
            assert_eq!(store.list(workspace, kind, &all, Vec::new()).await.unwrap().total, made);
        }
        let endpoints = store.endpoints(workspace).await.unwrap();
        assert_eq!(endpoints.len(), 3);
        assert!(endpoints.iter().all(|health| !health.endpoint.enabled), "nothing leaves it");
        let mut told = 0;
        for health in &endpoints {
            let filter = DeliveryFilter {
                endpoint: health.endpoint.id,
                state: None,
                event: None,
                since: None,
                until: None,
                before: None,
                limit: 1_000,
            };
            let deliveries = store.deliveries(workspace, filter).await.unwrap();
            told += deliveries.iter().filter(|d| d.state == DeliveryState::Delivered).count();
            assert!(deliveries.iter().all(|d| d.finished_at.is_some()));
        }
        assert!(told > 20, "{told}");
        let layers = store.all_layers(workspace).await.unwrap();
        let names: Vec<_> = layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["Parcels", "Survey points", "Utilities", "Submissions"]);
        assert!(layers[0].counts.polygons >= story.parcels as u64, "{:?}", layers[0].counts);
        let steps = || story.chapters.iter().flat_map(|chapter| &chapter.steps);
        let measured: Vec<_> = steps().filter(|step| step.fieldwork.is_some()).collect();
        assert!(measured.len() > 40, "{}", measured.len());
        for step in measured {
            let get = async |kind, key: &str| -> Value {
                let key = Key::parse(key).unwrap();
                let document = store.get(workspace, kind, &key).await.unwrap().unwrap();
                serde_json::from_slice(&document.text).unwrap()
            };
            let task = get(Kind::Assignment, step.reference.as_str()).await;
            let folder = get(Kind::Folder, task["folderId"].as_str().unwrap()).await;
            assert!(folder["bbox"].is_array(), "{folder}");
        }
    }

    #[tokio::test]
    async fn a_database_in_use_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        let workspace = found(&store, &login(), now()).await.unwrap();
        let settings = Settings::load(None, [], &[]).unwrap();
        let mut never = std::future::pending();
        assert!(fill_when_empty(&settings, &store, &mut never).await.unwrap());
        assert_eq!(store.workspaces().await.unwrap().len(), 1);
        assert!(store.tokens(None).await.unwrap().is_empty());
        let all = ListParams::default();
        let folders = store.list(workspace, Kind::Folder, &all, Vec::new()).await.unwrap();
        assert_eq!(folders.total, 0);
    }

    #[tokio::test]
    async fn a_fill_that_is_stopped_leaves_the_database_empty() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        let settings = Settings::load(None, [], &[]).unwrap();
        let mut at_once = std::future::ready(());
        assert!(!fill_when_empty(&settings, &store, &mut at_once).await.unwrap());
        assert!(store.workspaces().await.unwrap().is_empty());
    }

    #[test]
    fn a_password_can_be_read_aloud_and_is_never_the_same() {
        let (one, other) = (new_password().unwrap(), new_password().unwrap());
        assert_ne!(one, other);
        assert!(one.split('-').all(|word| word.len() == 6), "{one}");
        assert!(Password::new(&one).is_ok());
    }
}
