//! Plays the script into a workspace: members, layers and records, in the order of time.

use super::{
    Error,
    calendar::Day,
    email,
    office::Staff,
    script::Script,
    survey_map::{DemoLayer, SurveyMap},
    timeline::{Batch, Step},
    webhooks,
};
use futures_util::poll;
use groma_domain::{
    Kind, Timestamp, WorkspaceId,
    input::Field,
    status::{StatusGroup, StatusInput},
};
use groma_geo::geojson::Feature;
use groma_store::{
    Actor, Change, Command, FeatureSpool, NewGeometries, NewLayer, NewUser, StatusTarget, Store,
};
use std::{collections::VecDeque, pin::Pin, task::Poll};

const FEATURES_PER_UPLOAD: usize = 10_000;

/// Applies each batch of the script at its time and as its author.
pub(super) async fn play(
    store: &Store,
    workspace: WorkspaceId,
    script: &Script,
) -> Result<(), Error> {
    let members = add_members(store, workspace, script.founded_at).await?;
    add_paid_status(store, workspace, script.founded_at).await?;
    let surveys = script.steps().filter_map(|step| step.fieldwork.as_ref());
    let mut map = SurveyMap::generate(script.parcel_count, &surveys);
    let mut queue = WriteQueue::new(store);
    create_layers(store, workspace, script.founded_at, &map, &mut queue).await?;
    for Batch { at, author, steps } in &script.batches {
        let commands: Result<_, _> = steps.iter().map(Step::command).collect();
        let commands = commands.map_err(Error::invalid_data)?;
        let member = members.iter().find(|(staff, _)| staff == author);
        let actor = member.map_or(Actor::Operator, |(_, actor)| *actor);
        let change = Change { workspace, actor, now: *at, commands };
        queue.push(async { store.apply(change).await.map(drop).map_err(Error::from) }).await?;
        for step in steps {
            let Some(fieldwork) = &step.fieldwork else { continue };
            let assignment = step.reference.as_str();
            for (layer, features) in map.survey(fieldwork, assignment) {
                let assignment = Some(assignment);
                let upload = Upload { workspace, actor, now: *at, layer, assignment };
                queue.push(upload.post(store, &features)?).await?;
            }
        }
    }
    queue.finish().await?;
    let end = script.batches.last().map_or(script.founded_at, |batch| batch.at);
    webhooks::create(store, workspace, end).await
}

/// Adds the members of staff who can log in, and returns them with their actors.
async fn add_members(
    store: &Store,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<Vec<(Staff, Actor)>, Error> {
    let mut members = Vec::new();
    for staff in Staff::ALL {
        let Some(role) = staff.role() else { continue };
        // The owner is already a member; adding them again returns their id.
        let name = Some(staff.name().to_owned());
        let user = NewUser { email: email(staff)?, name, password_hash: None };
        let member = store.add_member(workspace, Actor::Operator, user, role, now).await?;
        members.push((staff, Actor::Member(member.person.id)));
    }
    Ok(members)
}

/// Adds a status for invoices: the office pays them, where it reimburses the expenses of its staff.
async fn add_paid_status(
    store: &Store,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<(), Error> {
    let input = StatusInput {
        name: Field::Set("Paid".to_owned()),
        applies_to: Field::Set(Kind::Expense),
        group: Field::Set(StatusGroup::Done),
        color: Field::Set("#27724f".to_owned()),
        ..StatusInput::default()
    };
    let commands = vec![Command::SaveStatus { target: StatusTarget::ByName, input }];
    store.apply(Change { workspace, actor: Actor::Operator, now, commands }).await?;
    Ok(())
}

/// Creates the layers with the data from before the office was founded.
async fn create_layers<'s>(
    store: &'s Store,
    workspace: WorkspaceId,
    now: Timestamp,
    map: &SurveyMap,
    queue: &mut WriteQueue<'s>,
) -> Result<(), Error> {
    let actor = Actor::Operator;
    for layer in [DemoLayer::Parcels, DemoLayer::Points, DemoLayer::Utilities] {
        let Some((name, key)) = layer.name_and_key() else { continue };
        store.create_layer(workspace, actor, NewLayer::named(name), now).await?;
        let setup = layer.setup().map_err(Error::invalid_data)?;
        store.set_up_layer(workspace, actor, key, setup, now).await?;
        let mut features: Box<dyn Iterator<Item = Feature>> = match layer {
            DemoLayer::Parcels => Box::new(map.parcels()),
            DemoLayer::Points => Box::new(map.control_points(Day::of(now))),
            _ => Box::new(map.utilities()),
        };
        loop {
            let chunk: Vec<Feature> = features.by_ref().take(FEATURES_PER_UPLOAD).collect();
            if chunk.is_empty() {
                break;
            }
            let upload = Upload { workspace, actor, now, layer, assignment: None };
            queue.push(upload.post(store, &chunk)?).await?;
        }
    }
    Ok(())
}

/// Where features are uploaded to, when and by whom.
struct Upload<'a> {
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
    layer: DemoLayer,
    assignment: Option<&'a str>,
}

impl Upload<'_> {
    fn post<'s>(
        self,
        store: &'s Store,
        features: &[Feature],
    ) -> Result<impl Future<Output = Result<(), Error>> + 's, Error> {
        let mut spool = FeatureSpool::default();
        features.iter().try_for_each(|feature| spool.push(feature))?;
        let geometries = NewGeometries {
            mode: groma_store::PostMode::default(),
            workspace: self.workspace,
            actor: self.actor,
            now: self.now,
            layer: self.layer.name_and_key().map(|(_, key)| key),
            folder: None,
            assignment: self.assignment.map(str::to_owned),
            features: spool,
            request: None,
        };
        Ok(async { store.post_geometries(geometries).await.map(drop).map_err(Error::from) })
    }
}

type Write<'s> = Pin<Box<dyn Future<Output = Result<(), Error>> + 's>>;

/// Sends writes to the store in order, and awaits them later.
struct WriteQueue<'s> {
    capacity: usize,
    pending: VecDeque<Write<'s>>,
}

impl<'s> WriteQueue<'s> {
    fn new(store: &Store) -> Self {
        // SQLite's writer thread applies writes in the order of arrival and commits waiting ones
        // as a group. On PostgreSQL one write could overtake another.
        let capacity = if store.is_sqlite() { 64 } else { 1 };
        Self { capacity, pending: VecDeque::with_capacity(capacity) }
    }

    async fn push(
        &mut self,
        write: impl Future<Output = Result<(), Error>> + 's,
    ) -> Result<(), Error> {
        let mut write: Write<'s> = Box::pin(write);
        // The first poll sends the write to the store.
        match poll!(&mut write) {
            Poll::Ready(result) => result?,
            Poll::Pending => self.pending.push_back(write),
        }
        if self.pending.len() == self.capacity { self.await_oldest().await } else { Ok(()) }
    }

    async fn await_oldest(&mut self) -> Result<(), Error> {
        match self.pending.pop_front() {
            Some(write) => write.await,
            None => Ok(()),
        }
    }

    async fn finish(mut self) -> Result<(), Error> {
        while !self.pending.is_empty() {
            self.await_oldest().await?;
        }
        Ok(())
    }
}
