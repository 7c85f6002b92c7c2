//! Endpoints: made, changed, deleted.

use super::{EventWrite, NewDelivery, StoredEndpoint, new_mark, open, seal};
use crate::{
    Actor, Result, Store,
    replays::{self, Replayable},
    tx::{self, LogRow, Tx, Work, Write},
};
use groma_domain::{
    DeliveryId, DomainError, EndpointId, Permission, RecordId, Timestamp, WorkspaceId,
    webhook::{self, Endpoint, EndpointInput, EventFilter, MAX_ENDPOINTS, SigningSecret},
};
use std::sync::Arc;

/// An endpoint to be made.
#[derive(Clone)]
pub struct NewEndpoint {
    /// Where.
    pub workspace: WorkspaceId,
    /// Who.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
    /// What it is to be.
    pub draft: EndpointInput,
    /// The request, when it may be sent again.
    pub request: Option<Replayable>,
}

/// What came of a new endpoint.
#[derive(Debug)]
pub enum EndpointOutcome {
    /// It is made; this is the answer, with the secret.
    Created(Endpoint, SigningSecret),
    /// The request had been answered before, with this.
    Replayed(Vec<u8>),
}

/// A secret that follows another.
#[derive(Debug)]
pub struct Rotated {
    /// The new one.
    pub secret: SigningSecret,
    /// Until when the one before signs too.
    pub previous_until: Timestamp,
}

/// What is to be changed about an endpoint.
#[derive(Clone, Debug)]
pub enum EndpointChange {
    /// Its address, events or description; what is `None` stays, an empty description goes.
    Edit(EndpointInput),
    /// Deliver to it again; what waited goes on.
    Enable,
    /// Deliver nothing to it, for this reason.
    Disable(String),
    /// The same, when the program itself comes to see that there is no use.
    GiveUp(&'static str),
}

/// The answer that shows an endpoint with its secret: once, and again to the same request.
pub fn shown_with_secret(endpoint: &Endpoint, secret: &SigningSecret) -> serde_json::Value {
    // Plain data always serialises.
    let mut shown = serde_json::to_value(endpoint).unwrap_or_default();
    shown["secret"] = secret.reveal().into();
    shown
}

impl Store {
    /// Makes an endpoint.
    pub async fn create_endpoint(&self, new: NewEndpoint) -> Result<EndpointOutcome> {
        self.transact(Create(new)).await
    }

    /// Changes an endpoint.
    pub async fn change_endpoint(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        endpoint: EndpointId,
        change: EndpointChange,
        now: Timestamp,
    ) -> Result<Endpoint> {
        self.transact(Alter { workspace, actor, endpoint, change, now }).await
    }

    /// Gives an endpoint another secret. For a while the old one signs beside it.
    pub async fn rotate_secret(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        endpoint: EndpointId,
        secret: Option<SigningSecret>,
        overlap_millis: i64,
        now: Timestamp,
    ) -> Result<Rotated> {
        let rotate = Rotate { workspace, actor, endpoint, secret, overlap_millis, now };
        self.transact(rotate).await
    }

    /// Deletes an endpoint. Nothing is sent to it any more; what was kept of it goes in small steps.
    pub async fn delete_endpoint(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        endpoint: EndpointId,
        now: Timestamp,
    ) -> Result<()> {
        self.transact(Delete { workspace, actor, endpoint, now }).await?;
        // What is more than a few steps is left to the loop, which sees to it in its own time.
        for _ in 0..4 {
            if self.purge_deleted_endpoints().await? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Sends a sample to an endpoint, in the order of things.
    pub async fn test_endpoint(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        endpoint: EndpointId,
        now: Timestamp,
    ) -> Result<DeliveryId> {
        self.transact(Test { workspace, actor, endpoint, now }).await
    }
}

#[derive(Clone)]
struct Create(NewEndpoint);

impl Work for Create {
    type Output = EndpointOutcome;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<EndpointOutcome> {
        let NewEndpoint { workspace, actor, now, draft, request } = self.0;
        lock(tx, workspace, actor).await?;
        if let Some(answer) = replays::find(tx, workspace, request.as_ref(), now).await? {
            return Ok(EndpointOutcome::Replayed(answer));
        }
        if tx.endpoints(workspace).await?.len() >= MAX_ENDPOINTS {
            let full = format!("at most {MAX_ENDPOINTS} endpoints are in a workspace");
            return Err(DomainError::invalid("url", format!("cannot be added: {full}")).into());
        }
        let url = draft.url.ok_or_else(|| DomainError::invalid("url", "is needed"))?;
        let secret = draft.secret.unwrap_or_else(|| SigningSecret::new(tx::random()));
        let endpoint = Endpoint {
            id: EndpointId::new(now, tx::random()),
            url,
            description: draft.description,
            events: draft.events.unwrap_or_else(EventFilter::all),
            enabled: true,
            disabled_reason: None,
            created_at: now,
            updated_at: now,
        };
        let stored = StoredEndpoint {
            no: 0,
            endpoint: endpoint.clone(),
            failing_since: None,
            last_success_at: None,
            secret: seal(tx.sealer(), endpoint.id, &secret)?,
            previous: None,
        };
        let log = log(actor, now, "webhook.created", endpoint.id, None, Some(&endpoint))?;
        let mut writes = vec![
            Write::InsertEndpoint(stored),
            Write::WebhooksChanged(new_mark()),
            Write::LogChange(log),
        ];
        if let Some(request) = request {
            let answer = shown_with_secret(&endpoint, &secret).to_string().into_bytes();
            writes.push(replays::sealed(tx.sealer(), request, &answer, now)?);
        }
        tx.write(workspace, writes).await?;
        Ok(EndpointOutcome::Created(endpoint, secret))
    }
}

#[derive(Clone)]
struct Alter {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    change: EndpointChange,
    now: Timestamp,
}

impl Work for Alter {
    type Output = Endpoint;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Endpoint> {
        let Self { workspace, actor, endpoint, change, now } = self;
        lock(tx, workspace, actor).await?;
        let mut stored = find(tx, workspace, endpoint).await?;
        let before = stored.endpoint.clone();
        let after = &mut stored.endpoint;
        let action = match change {
            EndpointChange::Edit(draft) => {
                after.url = draft.url.unwrap_or_else(|| before.url.clone());
                after.events = draft.events.unwrap_or_else(|| before.events.clone());
                if let Some(description) = draft.description {
                    after.description = Some(description).filter(|text| !text.is_empty());
                }
                "webhook.updated"
            }
            EndpointChange::Enable => {
                (after.enabled, after.disabled_reason) = (true, None);
                // The five days begin anew.
                stored.failing_since = None;
                "webhook.enabled"
            }
            EndpointChange::Disable(reason) if before.enabled => {
                (after.enabled, after.disabled_reason) = (false, Some(reason));
                "webhook.disabled"
            }
            EndpointChange::GiveUp(reason) if before.enabled => {
                (after.enabled, after.disabled_reason) = (false, Some(reason.to_owned()));
                "webhook.gaveUp"
            }
            EndpointChange::Disable(_) | EndpointChange::GiveUp(_) => return Ok(before),
        };
        if stored.endpoint == before {
            return Ok(before);
        }
        stored.endpoint.updated_at = now;
        let after = stored.endpoint.clone();
        let log = log(actor, now, action, endpoint, Some(&before), Some(&after))?;
        let writes = vec![
            Write::SaveEndpoint(stored),
            Write::WebhooksChanged(new_mark()),
            Write::LogChange(log),
        ];
        tx.write(workspace, writes).await?;
        Ok(after)
    }
}

#[derive(Clone)]
struct Rotate {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    secret: Option<SigningSecret>,
    overlap_millis: i64,
    now: Timestamp,
}

impl Work for Rotate {
    type Output = Rotated;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Rotated> {
        let Self { workspace, actor, endpoint, secret, overlap_millis, now } = self;
        lock(tx, workspace, actor).await?;
        let mut stored = find(tx, workspace, endpoint).await?;
        let secret = secret.unwrap_or_else(|| SigningSecret::new(tx::random()));
        let previous_until = now.plus_millis(overlap_millis.max(0));
        // One that does not open cannot sign either.
        let previous = open(tx.sealer(), endpoint, &stored.secret);
        stored.previous = match previous {
            Ok(previous) => Some((seal(tx.sealer(), endpoint, &previous)?, previous_until)),
            Err(_) => None,
        };
        stored.secret = seal(tx.sealer(), endpoint, &secret)?;
        stored.endpoint.updated_at = now;
        let shown = stored.endpoint.clone();
        let log = log(actor, now, "webhook.secretRotated", endpoint, None, Some(&shown))?;
        let writes = vec![
            Write::SaveEndpoint(stored),
            Write::WebhooksChanged(new_mark()),
            Write::LogChange(log),
        ];
        tx.write(workspace, writes).await?;
        Ok(Rotated { secret, previous_until })
    }
}

#[derive(Clone)]
struct Delete {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    now: Timestamp,
}

impl Work for Delete {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, endpoint, now } = self;
        lock(tx, workspace, actor).await?;
        let stored = find(tx, workspace, endpoint).await?;
        let log = log(actor, now, "webhook.deleted", endpoint, Some(&stored.endpoint), None)?;
        let writes = vec![
            Write::RemoveEndpoint { endpoint, at: now },
            Write::WebhooksChanged(new_mark()),
            Write::LogChange(log),
        ];
        tx.write(workspace, writes).await
    }
}

#[derive(Clone)]
struct Test {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    now: Timestamp,
}

impl Work for Test {
    type Output = DeliveryId;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<DeliveryId> {
        let Self { workspace, actor, endpoint, now } = self;
        lock(tx, workspace, actor).await?;
        find(tx, workspace, endpoint).await?;
        let targets = tx.targets(workspace).await?;
        let target = targets.iter().find(|target| target.endpoint == endpoint);
        let disabled = || DomainError::invalid("endpoint", "is disabled; enable it first");
        let target = Arc::clone(target.ok_or_else(disabled)?);
        let id = DeliveryId::new(now, tx::random());
        let sample = webhook::sample_document(workspace, RecordId::new(now, tx::random()), now);
        let log = LogRow {
            at: now,
            actor: actor.person(),
            action: "webhook.tested",
            subject: endpoint.0,
            before: None,
            after: Some(sample),
        };
        let place = tx.reserve(endpoint, log.document().map_or(0, str::len));
        let write = EventWrite {
            log,
            event: webhook::TEST_EVENT,
            is_test: true,
            deliveries: vec![NewDelivery { id, target, place }],
        };
        tx.write(workspace, vec![Write::LogEvent(write)]).await?;
        Ok(id)
    }
}

/// The workspace, locked, and its endpoints open to the actor.
pub(super) async fn lock<T: Tx>(tx: &mut T, workspace: WorkspaceId, actor: Actor) -> Result<()> {
    let not_found = || DomainError::NotFound { resource: "workspace", key: workspace.to_string() };
    tx.lock_workspace(workspace).await?.ok_or_else(not_found)?;
    Ok(actor.role().require(Permission::Administer)?)
}

async fn find<T: Tx>(
    tx: &mut T,
    workspace: WorkspaceId,
    endpoint: EndpointId,
) -> Result<StoredEndpoint> {
    let mut stored = tx.endpoints(workspace).await?.into_iter();
    let found = stored.find(|stored| stored.endpoint.id == endpoint);
    found.ok_or_else(|| super::seeing::no_endpoint(endpoint).into())
}

fn log(
    actor: Actor,
    at: Timestamp,
    action: &'static str,
    endpoint: EndpointId,
    before: Option<&Endpoint>,
    after: Option<&Endpoint>,
) -> Result<LogRow> {
    let shown = |endpoint: Option<&Endpoint>| endpoint.map(serde_json::to_string).transpose();
    Ok(LogRow {
        at,
        actor: actor.person(),
        action,
        subject: endpoint.0,
        before: shown(before)?,
        after: shown(after)?,
    })
}
