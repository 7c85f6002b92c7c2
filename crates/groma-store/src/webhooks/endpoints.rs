//! Creating, changing and deleting endpoints.

use super::{
    NewDelivery, NewEvent, StoredEndpoint, WebhookContext, WebhookRequest, WebhookTx, WebhookWrite,
    Webhooks, decrypt, encrypt,
};
use crate::{
    Actor, Precondition, Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    engine::{impl_work, random},
    idempotency::{self, IdempotentRequest, Outcome},
    workspaces::{self, LockedWorkspace},
};
use groma_domain::{
    DeliveryId, DomainError, EndpointId, FieldErrors, Permission, RecordId, Timestamp, Violation,
    WorkspaceId,
    input::Field,
    webhook::{
        self, DeliveryDocument, DeliveryStatus, Endpoint, EndpointFilter, EndpointInput,
        EventFilter, MAX_ENDPOINTS, SigningSecret,
    },
};
use std::sync::Arc;
use uuid::Uuid;

/// What messages call an endpoint.
const ENDPOINT: &str = "webhook endpoint";

/// An endpoint to be created.
#[derive(Clone)]
pub struct NewEndpoint {
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Who creates it.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// Its address, events, description and secret.
    pub draft: EndpointInput,
    /// The request, if it carried an idempotency key.
    pub request: Option<IdempotentRequest>,
}

/// The outcome of creating an endpoint.
#[derive(Debug)]
pub enum EndpointOutcome {
    /// The endpoint was created with this secret.
    Created(Box<Endpoint>, SigningSecret),
    /// The same request was handled before; this was the response.
    Replayed(Vec<u8>),
}

/// A secret that replaces another.
#[derive(Debug)]
pub struct RotatedSecret {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The new secret.
    pub secret: SigningSecret,
    /// Until when deliveries are signed with the previous secret too.
    pub previous_until: Timestamp,
}

/// The reason for an endpoint that a client of the API has disabled.
pub const DISABLED_BY_API: &str = "Disabled through the API";

/// A change to an endpoint.
#[derive(Clone, Debug)]
pub enum EndpointChange {
    /// Changes the fields that are given.
    Edit {
        /// The new values.
        input: Box<EndpointInput>,
        /// What the endpoint must be before.
        precondition: Option<Precondition>,
    },
    /// Enables it; waiting deliveries resume.
    Enable,
    /// Disables it for this reason.
    Disable(String),
    /// Disables it because deliveries keep failing.
    GiveUp(&'static str),
}

/// An endpoint with its secret, as only the request that created it sees it.
pub fn endpoint_with_secret(endpoint: &Endpoint, secret: &SigningSecret) -> serde_json::Value {
    // Plain data always serializes.
    let mut json = serde_json::to_value(endpoint).unwrap_or_default();
    json["secret"] = secret.reveal().into();
    json
}

impl Webhooks {
    /// Creates an endpoint.
    pub(crate) async fn create(&self, new: NewEndpoint) -> Result<EndpointOutcome> {
        self.engine.transact(Create { new, context: self.context.clone() }).await
    }

    /// Changes an endpoint.
    pub(crate) async fn change(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        endpoint: EndpointId,
        change: EndpointChange,
        now: Timestamp,
    ) -> Result<Endpoint> {
        let context = self.context.clone();
        self.engine.transact(Update { workspace, actor, endpoint, change, now, context }).await
    }

    /// Gives an endpoint a new secret. For a while, deliveries are signed with the previous one too.
    pub(crate) async fn rotate_secret(
        &self,
        request: WebhookRequest,
        endpoint: EndpointId,
        secret: Option<SigningSecret>,
        overlap_millis: i64,
    ) -> Result<Outcome<RotatedSecret>> {
        let context = self.context.clone();
        let rotate = RotateSecret { request, endpoint, secret, overlap_millis, context };
        self.engine.transact(rotate).await
    }

    /// Deletes an endpoint. No more deliveries are sent to it; its rows are deleted in small steps.
    pub(crate) async fn delete(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        endpoint: EndpointId,
        now: Timestamp,
    ) -> Result<()> {
        let context = self.context.clone();
        self.engine.transact(Delete { workspace, actor, endpoint, now, context }).await?;
        // The delivery loop deletes what takes more than a few steps.
        for _ in 0..4 {
            if self.purge_deleted_endpoints().await? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Queues a test event for an endpoint.
    pub(crate) async fn test(
        &self,
        request: WebhookRequest,
        endpoint: EndpointId,
    ) -> Result<Outcome<DeliveryDocument>> {
        let context = self.context.clone();
        self.engine.transact(Test { request, endpoint, context }).await
    }
}

impl_work! {
    Create => EndpointOutcome;
    Update => Endpoint;
    RotateSecret => Outcome<RotatedSecret>;
    Delete => ();
    Test => Outcome<DeliveryDocument>;
}

#[derive(Clone)]
struct Create {
    new: NewEndpoint,
    context: Arc<WebhookContext>,
}

impl Create {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<EndpointOutcome> {
        let Self { new: NewEndpoint { workspace, actor, now, draft, request }, context } = self;
        let cipher = context.cipher();
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let replayed = idempotency::find(tx, workspace, request.as_ref(), cipher, now).await?;
        if let Some(response) = replayed {
            return Ok(EndpointOutcome::Replayed(response));
        }
        if tx.endpoints(workspace).await?.len() >= MAX_ENDPOINTS {
            let full = format!("a workspace can have at most {MAX_ENDPOINTS} endpoints");
            return Err(DomainError::invalid("url", format!("cannot be added: {full}")).into());
        }
        let url = draft.url.ok_or_else(|| DomainError::invalid("url", Violation::Required))?;
        let filter = draft.filter.into_option().flatten().and_then(|filter| filter.apply(None));
        require_existing(tx, workspace, filter.as_ref(), None).await?;
        let secret = draft.secret.unwrap_or_else(|| SigningSecret::new(random()));
        let endpoint = Endpoint {
            id: EndpointId::new(now, random()),
            url,
            description: draft.description.into_option().flatten(),
            events: draft.events.unwrap_or_else(EventFilter::all),
            filter,
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
            secret: encrypt(cipher, endpoint.id, &secret)?,
            previous: None,
        };
        let entry = entry(actor, now, "webhook.created", endpoint.id, None, Some(&endpoint))?;
        tx.write_endpoint(workspace, WebhookWrite::Insert(stored), &context).await?;
        tx.log(workspace, entry).await?;
        let response = endpoint_with_secret(&endpoint, &secret).to_string();
        idempotency::save(tx, workspace, request, response.as_bytes(), cipher, now).await?;
        Ok(EndpointOutcome::Created(Box::new(endpoint), secret))
    }
}

#[derive(Clone)]
struct Update {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    change: EndpointChange,
    now: Timestamp,
    context: Arc<WebhookContext>,
}

impl Update {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<Endpoint> {
        let Self { workspace, actor, endpoint, change, now, context } = self;
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let mut stored = find(tx, workspace, endpoint).await?;
        let before = stored.endpoint.clone();
        let after = &mut stored.endpoint;
        let action = match change {
            EndpointChange::Edit { input, precondition } => {
                if let Some(precondition) = precondition
                    && !precondition.is_met(&serde_json::to_vec(&before)?)
                {
                    let (resource, key) = (ENDPOINT, endpoint.to_string());
                    return Err(DomainError::PreconditionFailed { resource, key }.into());
                }
                let action = edit(&mut stored, *input);
                let (new, old) = (stored.endpoint.filter.as_ref(), before.filter.as_ref());
                require_existing(tx, workspace, new, old).await?;
                action
            }
            EndpointChange::Enable => {
                (after.enabled, after.disabled_reason) = (true, None);
                // The five days of failing start over.
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
        let entry = entry(actor, now, action, endpoint, Some(&before), Some(&after))?;
        tx.write_endpoint(workspace, WebhookWrite::Update(stored), &context).await?;
        tx.log(workspace, entry).await?;
        Ok(after)
    }
}

/// Sets the fields that are given; returns the name of the change.
fn edit(stored: &mut StoredEndpoint, input: EndpointInput) -> &'static str {
    let endpoint = &mut stored.endpoint;
    let was_enabled = endpoint.enabled;
    let EndpointInput { url, events, description, filter, enabled, secret: _ } = input;
    if let Some(enabled) = enabled.filter(|enabled| *enabled != was_enabled) {
        endpoint.enabled = enabled;
        endpoint.disabled_reason = (!enabled).then(|| DISABLED_BY_API.to_owned());
        // The five days of failing start over.
        stored.failing_since = None;
    }
    let toggled = endpoint.clone();
    endpoint.url = url.unwrap_or_else(|| toggled.url.clone());
    endpoint.events = events.unwrap_or_else(|| toggled.events.clone());
    endpoint.description = description.or(toggled.description.clone());
    if let Field::Set(filter) = filter {
        endpoint.filter = filter.and_then(|filter| filter.apply(toggled.filter.clone()));
    }
    match (*endpoint == toggled, was_enabled, endpoint.enabled) {
        (true, false, true) => "webhook.enabled",
        (true, true, false) => "webhook.disabled",
        _ => "webhook.updated",
    }
}

/// Rejects folders and layers of a filter that do not exist. Those that the previous filter has may have
/// been deleted since.
async fn require_existing<T: WebhookTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    filter: Option<&EndpointFilter>,
    previous: Option<&EndpointFilter>,
) -> Result<()> {
    let ids = |filter: Option<&EndpointFilter>| -> [Vec<Uuid>; 2] {
        let folders = filter.and_then(|filter| filter.folder_ids.as_ref());
        let layers = filter.and_then(|filter| filter.layer_ids.as_ref());
        [
            folders.into_iter().flatten().map(|id| id.0).collect(),
            layers.into_iter().flatten().map(|id| id.0).collect(),
        ]
    };
    let ([folders, layers], known) = (ids(filter), ids(previous));
    if [&folders, &layers] == [&known[0], &known[1]] {
        return Ok(());
    }
    let existing = tx.existing_ids(workspace, folders.clone(), layers.clone()).await?;
    let mut errors = FieldErrors::default();
    for (name, ids, known) in [("folderIds", &folders, &known[0]), ("layerIds", &layers, &known[1])]
    {
        for (index, id) in ids.iter().enumerate() {
            if !existing.contains(id) && !known.contains(id) {
                let key = id.to_string();
                errors.add(&format!("filter/{name}/{index}"), Violation::NotFound { key });
            }
        }
    }
    Ok(errors.finish(Some(()))?)
}

#[derive(Clone)]
struct RotateSecret {
    request: WebhookRequest,
    endpoint: EndpointId,
    secret: Option<SigningSecret>,
    overlap_millis: i64,
    context: Arc<WebhookContext>,
}

impl RotateSecret {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<Outcome<RotatedSecret>> {
        let Self { request, endpoint, secret, overlap_millis, context } = self;
        let WebhookRequest { workspace, actor, now, idempotent } = request;
        let cipher = context.cipher();
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let replayed = idempotency::find(tx, workspace, idempotent.as_ref(), cipher, now).await?;
        if let Some(response) = replayed {
            return Ok(Outcome::Replayed(response));
        }
        let mut stored = find(tx, workspace, endpoint).await?;
        let secret = secret.unwrap_or_else(|| SigningSecret::new(random()));
        let previous_until = now.plus_millis(overlap_millis.max(0));
        // A secret that does not decrypt cannot sign either.
        stored.previous = match decrypt(cipher, endpoint, &stored.secret) {
            Ok(previous) => Some((encrypt(cipher, endpoint, &previous)?, previous_until)),
            Err(_) => None,
        };
        stored.secret = encrypt(cipher, endpoint, &secret)?;
        stored.endpoint.updated_at = now;
        let after = stored.endpoint.clone();
        let entry = entry(actor, now, "webhook.secretRotated", endpoint, None, Some(&after))?;
        tx.write_endpoint(workspace, WebhookWrite::Update(stored), &context).await?;
        tx.log(workspace, entry).await?;
        let response = endpoint_with_secret(&after, &secret).to_string();
        idempotency::save(tx, workspace, idempotent, response.as_bytes(), cipher, now).await?;
        Ok(Outcome::First(RotatedSecret { endpoint: after, secret, previous_until }))
    }
}

#[derive(Clone)]
struct Delete {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    now: Timestamp,
    context: Arc<WebhookContext>,
}

impl Delete {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, endpoint, now, context } = self;
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let stored = find(tx, workspace, endpoint).await?;
        let entry = entry(actor, now, "webhook.deleted", endpoint, Some(&stored.endpoint), None)?;
        let delete = WebhookWrite::Delete { endpoint, at: now };
        tx.write_endpoint(workspace, delete, &context).await?;
        tx.log(workspace, entry).await
    }
}

#[derive(Clone)]
struct Test {
    request: WebhookRequest,
    endpoint: EndpointId,
    context: Arc<WebhookContext>,
}

impl Test {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<Outcome<DeliveryDocument>> {
        let Self { request, endpoint, context } = self;
        let WebhookRequest { workspace, actor, now, idempotent } = request;
        let cipher = context.cipher();
        let (locked, actor) = authorize(tx, workspace, actor, now).await?;
        let replayed = idempotency::find(tx, workspace, idempotent.as_ref(), cipher, now).await?;
        if let Some(response) = replayed {
            return Ok(Outcome::Replayed(response));
        }
        find(tx, workspace, endpoint).await?;
        let targets = context.targets(tx, workspace, locked.endpoints_version).await?;
        let target = targets.iter().find(|target| target.endpoint == endpoint);
        let disabled = || DomainError::invalid(ENDPOINT, Violation::EndpointDisabled);
        let target = Arc::clone(target.ok_or_else(disabled)?);
        let id = DeliveryId::new(now, random());
        let sample = webhook::sample_document(workspace, RecordId::new(now, random()), now);
        let entry = NewAuditEntry {
            at: now,
            actor: actor.into(),
            action: "webhook.tested",
            subject: endpoint.0,
            before: None,
            after: Some(sample),
        };
        let slot = context.outbox.reserve(endpoint, entry.document().map_or(0, str::len));
        let event = NewEvent {
            entry,
            event: webhook::TEST_EVENT,
            is_test: true,
            deliveries: vec![NewDelivery { id, target, slot }],
        };
        tx.log_events(workspace, vec![event], &context).await?;
        let document = DeliveryDocument {
            id,
            event: webhook::TEST_EVENT.name(),
            record_id: None,
            status: DeliveryStatus::Waiting,
            attempts: 0,
            next_attempt_at: Some(now),
            created_at: now,
            delivered_at: None,
        };
        let response = serde_json::to_vec(&document)?;
        idempotency::save(tx, workspace, idempotent, &response, cipher, now).await?;
        Ok(Outcome::First(document))
    }
}

/// Locks the workspace and checks that the actor may manage its endpoints.
pub(super) async fn authorize<T: WebhookTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
) -> Result<(LockedWorkspace, AuthorizedActor)> {
    let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
    actor.require(Permission::Administer)?;
    Ok((locked, actor))
}

async fn find<T: WebhookTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    endpoint: EndpointId,
) -> Result<StoredEndpoint> {
    let mut stored = tx.endpoints(workspace).await?.into_iter();
    let found = stored.find(|stored| stored.endpoint.id == endpoint);
    found.ok_or_else(|| endpoint_not_found(endpoint).into())
}

fn entry(
    actor: AuthorizedActor,
    at: Timestamp,
    action: &'static str,
    endpoint: EndpointId,
    before: Option<&Endpoint>,
    after: Option<&Endpoint>,
) -> Result<NewAuditEntry> {
    let json = |endpoint: Option<&Endpoint>| endpoint.map(serde_json::to_string).transpose();
    Ok(NewAuditEntry {
        at,
        actor: actor.into(),
        action,
        subject: endpoint.0,
        before: json(before)?,
        after: json(after)?,
    })
}

pub(super) fn endpoint_not_found(endpoint: EndpointId) -> DomainError {
    DomainError::NotFound { resource: ENDPOINT, key: endpoint.to_string() }
}
