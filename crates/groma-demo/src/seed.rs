//! Carries out the story in a workspace: members, records and layers, in the order of time.

use super::{
    calendar::Day,
    email,
    office::Colleague,
    script::Script,
    survey_map::{Atlas, Sheet},
    timeline::{Chapter, Step},
    webhooks,
};
use crate::Error;
use futures_util::poll;
use groma_domain::{
    Kind, Timestamp, WorkspaceId,
    input::Field,
    status::{Group, StatusInput},
};
use groma_geo::geojson::Feature;
use groma_store::{Actor, Change, Command, NewGeometries, NewUser, Spool, Store};
use std::{collections::VecDeque, pin::Pin, task::Poll};

/// How many features are written together.
const BATCH: usize = 10_000;

/// Carries out the story, each chapter at its time and as the one who wrote it.
pub(super) async fn play(
    store: &Store,
    workspace: WorkspaceId,
    script: &Script,
) -> Result<(), Error> {
    let members = furnish(store, workspace, script.founded).await?;
    let works = script.steps().filter_map(|step| step.fieldwork.as_ref());
    let mut atlas = Atlas::draw(script.parcels, &works);
    let mut queue = Queue::new(store);
    lay_out(store, workspace, script.founded, &atlas, &mut queue).await?;
    for Chapter { at, who, steps } in &script.chapters {
        let commands: Result<_, _> = steps.iter().map(Step::command).collect();
        let commands = commands.map_err(Error::invalid_data)?;
        let member = members.iter().find(|(member, _)| member == who);
        let actor = member.map_or(Actor::Operator, |(_, actor)| *actor);
        let change = Change { workspace, actor, now: *at, commands };
        queue.hand_over(async { store.apply(change).await.map(drop).map_err(Error::from) }).await?;
        for step in steps {
            let Some(fieldwork) = &step.fieldwork else { continue };
            let task = step.reference.as_str();
            for (sheet, features) in atlas.bring_in(fieldwork, task) {
                let upload = Upload { workspace, actor, now: *at, sheet, task: Some(task) };
                queue.hand_over(upload.post(store, &features)?).await?;
            }
        }
    }
    queue.finish().await?;
    let end = script.chapters.last().map_or(script.founded, |chapter| chapter.at);
    webhooks::install(store, workspace, end).await
}

/// Adds the members, who then act in the story, and a status for invoices, which are paid, not
/// reimbursed.
async fn furnish(
    store: &Store,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<Vec<(Colleague, Actor)>, Error> {
    let mut members = Vec::new();
    for who in Colleague::ALL {
        let Some(role) = who.role() else { continue };
        // The owner is a member already; adding them again tells their id.
        let name = Some(who.name().to_owned());
        let user = NewUser { email: email(who)?, name, password_hash: None };
        let member = store.add_member(workspace, Actor::Operator, user, role, now).await?;
        members.push((who, Actor::Member { person: member.person.id, role }));
    }
    let input = StatusInput {
        name: Field::Set("Paid".to_owned()),
        applies_to: Field::Set(Kind::Expense),
        group: Field::Set(Group::Done),
        color: Field::Set("#27724f".to_owned()),
        ..StatusInput::default()
    };
    let commands = vec![Command::SaveStatus { target: None, input }];
    store.apply(Change { workspace, actor: Actor::Operator, now, commands }).await?;
    Ok(members)
}

/// Makes the layers, with what was known before the office began.
async fn lay_out<'s>(
    store: &'s Store,
    workspace: WorkspaceId,
    now: Timestamp,
    atlas: &Atlas,
    queue: &mut Queue<'s>,
) -> Result<(), Error> {
    let actor = Actor::Operator;
    for sheet in [Sheet::Parcels, Sheet::Points, Sheet::Utilities] {
        let Some((name, _)) = sheet.layer() else { continue };
        store.create_layer(workspace, actor, name.to_owned(), now).await?;
        let mut known: Box<dyn Iterator<Item = Feature>> = match sheet {
            Sheet::Parcels => Box::new(atlas.cadastre()),
            Sheet::Points => Box::new(atlas.control(Day::of(now))),
            _ => Box::new(atlas.networks()),
        };
        loop {
            let batch: Vec<Feature> = known.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let upload = Upload { workspace, actor, now, sheet, task: None };
            queue.hand_over(upload.post(store, &batch)?).await?;
        }
    }
    Ok(())
}

/// Features on their way to a layer.
struct Upload<'t> {
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
    sheet: Sheet,
    /// The assignment that they were measured for.
    task: Option<&'t str>,
}

impl Upload<'_> {
    fn post<'s>(
        self,
        store: &'s Store,
        features: &[Feature],
    ) -> Result<impl Future<Output = Result<(), Error>> + 's, Error> {
        let mut spool = Spool::default();
        features.iter().try_for_each(|feature| spool.push(feature))?;
        let geometries = NewGeometries {
            workspace: self.workspace,
            actor: self.actor,
            now: self.now,
            layer: self.sheet.layer().map(|(_, key)| key),
            folder: None,
            assignment: self.task.map(str::to_owned),
            features: spool,
            request: None,
        };
        Ok(async {
            let posted = store.post_geometries(geometries).await;
            posted.map(drop).map_err(Error::from)
        })
    }
}

type UnderWay<'s> = Pin<Box<dyn Future<Output = Result<(), Error>> + 's>>;

/// Changes that the store is handed in their order, and that are waited for later.
struct Queue<'s> {
    abreast: usize,
    under_way: VecDeque<UnderWay<'s>>,
}

impl<'s> Queue<'s> {
    fn new(store: &Store) -> Self {
        // SQLite's writer takes changes in the order in which they are handed over, and shares one
        // sync of the disk among those that wait; PostgreSQL might let one overtake another.
        let abreast = if matches!(store, Store::Sqlite(_)) { 64 } else { 1 };
        Self { abreast, under_way: VecDeque::with_capacity(abreast) }
    }

    async fn hand_over(
        &mut self,
        change: impl Future<Output = Result<(), Error>> + 's,
    ) -> Result<(), Error> {
        let mut change: UnderWay<'s> = Box::pin(change);
        // The first look at it hands it over.
        match poll!(&mut change) {
            Poll::Ready(outcome) => outcome?,
            Poll::Pending => self.under_way.push_back(change),
        }
        match self.under_way.len() == self.abreast {
            true => self.oldest().await,
            false => Ok(()),
        }
    }

    async fn oldest(&mut self) -> Result<(), Error> {
        match self.under_way.pop_front() {
            Some(change) => change.await,
            None => Ok(()),
        }
    }

    async fn finish(mut self) -> Result<(), Error> {
        while !self.under_way.is_empty() {
            self.oldest().await?;
        }
        Ok(())
    }
}
