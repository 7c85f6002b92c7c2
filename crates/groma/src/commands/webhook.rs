//! `groma webhook create|list|update|delete|enable|disable|rotate|deliveries|redeliver|test|encrypt`

use super::{
    CommandError, find_workspace,
    key_file::{self, KeyFile},
    print, print_table, prompt, time_cell,
};
use crate::{
    cli::{DeliveriesArgs, WebhookCommand, WorkspaceArg},
    clock,
    settings::Settings,
};
use groma_domain::{
    DeliveryId, EndpointId, FieldError, WorkspaceId,
    input::Field,
    webhook::{self, DeliveryStatus, EndpointInput, EventFilter, SigningSecret},
};
use groma_store::{
    Actor, AttemptRow, DeliveryFilter, DeliveryRow, EndpointChange, EndpointHealth,
    EndpointOutcome, NewEndpoint, NewSecurityEntry, RedeliverySince, Store, WebhookRequest,
    endpoint_with_secret, redelivered,
};
use serde_json::{Value, json};

const OPERATOR: Actor = Actor::Operator;

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: WebhookCommand,
) -> Result<(), CommandError> {
    match command {
        WebhookCommand::Create { url, workspace, events, description, secret_from_stdin, json } => {
            let mut draft = read_draft(settings, Some(url), &events, description)?;
            draft.secret = read_secret(secret_from_stdin)?;
            let workspace = find_workspace(store, &workspace).await?.id;
            let new =
                NewEndpoint { workspace, actor: OPERATOR, now: clock::now(), draft, request: None };
            match store.create_endpoint(new).await? {
                EndpointOutcome::Created(endpoint, secret) if json => {
                    print(&endpoint_with_secret(&endpoint, &secret).to_string())
                }
                EndpointOutcome::Created(endpoint, secret) => {
                    print(&format!("{}\n{}", endpoint.id, secret.reveal()))
                }
                EndpointOutcome::Replayed(_) => Ok(()),
            }
        }
        WebhookCommand::List { workspace, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            print_endpoints(&store.endpoints(workspace).await?, json)
        }
        WebhookCommand::Update { id, workspace, url, events, description } => {
            let input = Box::new(read_draft(settings, url, &events, description)?);
            let edit = EndpointChange::Edit { input, precondition: None };
            change(store, &workspace, id, edit).await
        }
        WebhookCommand::Delete { id, workspace } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            Ok(store.delete_endpoint(workspace, OPERATOR, id, clock::now()).await?)
        }
        WebhookCommand::Enable { id, workspace } => {
            let workspace_id = find_workspace(store, &workspace).await?.id;
            let url = store.endpoint(workspace_id, id).await?.endpoint.url;
            if !settings.webhooks.endpoint_policy().allows_scheme(&url) {
                return Err(CommandError::new(
                    "webhooks.allow_http is off; change the URL to https first, or allow http",
                ));
            }
            change(store, &workspace, id, EndpointChange::Enable).await
        }
        WebhookCommand::Disable { id, workspace, reason } => {
            let reason = groma_domain::text::parse_line(&reason, 200)
                .map_err(|reason| CommandError::usage(format!("--reason {reason}")))?;
            change(store, &workspace, id, EndpointChange::Disable(reason)).await
        }
        WebhookCommand::Rotate { id, workspace, overlap, secret_from_stdin, json } => {
            let secret = read_secret(secret_from_stdin)?;
            let workspace = find_workspace(store, &workspace).await?.id;
            let rotated =
                store.rotate_secret(request(workspace), id, secret, overlap).await?.first()?;
            if !json {
                return print(rotated.secret.reveal());
            }
            let (secret, until) = (rotated.secret.reveal(), rotated.previous_until);
            print(&json!({ "id": id, "secret": secret, "previousUntil": until }).to_string())
        }
        WebhookCommand::Deliveries(args) => {
            let workspace = find_workspace(store, &args.workspace).await?.id;
            match args.delivery {
                Some(delivery) => print_delivery(store, workspace, delivery, args.json).await,
                None => print_deliveries(store, workspace, &args).await,
            }
        }
        WebhookCommand::Redeliver { delivery, endpoint, failed_since, workspace, json } => {
            let request = request(find_workspace(store, &workspace).await?.id);
            let count = match (delivery, endpoint.zip(failed_since)) {
                (Some(delivery), _) => {
                    store.redeliver(request, delivery).await?.first()?;
                    1
                }
                (None, Some((endpoint, since))) => {
                    let which = RedeliverySince { endpoint, status: DeliveryStatus::Failed, since };
                    store.redeliver_since(request, which).await?.first()?
                }
                (None, None) => {
                    return Err(CommandError::usage("a delivery or --endpoint is required"));
                }
            };
            if json { print(&redelivered(count).to_string()) } else { print(&count.to_string()) }
        }
        WebhookCommand::Test { id, workspace, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let delivery = store.test_endpoint(request(workspace), id).await?.first()?.id;
            if json {
                print(&json!({ "id": delivery }).to_string())
            } else {
                print(&delivery.to_string())
            }
        }
        WebhookCommand::Encrypt { json } => {
            require_readable_secrets(store).await?;
            let encrypted = store.encrypt_secrets().await?;
            if encrypted > 0 {
                log_encrypted(store, "webhook.encrypted", encrypted).await?;
            }
            print_encrypted(encrypted, json)
        }
        WebhookCommand::Rekey { json } => rekey(settings, store, json).await,
    }
}

fn request(workspace: WorkspaceId) -> WebhookRequest {
    WebhookRequest::new(workspace, OPERATOR, clock::now())
}

/// Changes the key. The store must not have one yet.
async fn rekey(settings: &Settings, store: &Store, json: bool) -> Result<(), CommandError> {
    let mut keys = key_file::load(settings, true)?;
    let file = KeyFile::in_use(settings);
    if let Some(file) = &file {
        // A server that runs meanwhile would not have the new key.
        store.claim()?;
        keys.previous.extend(keys.current.take());
        keys.current = Some(file.read_or_create_next()?);
    }
    store.set_encryption_keys(keys);
    require_readable_secrets(store).await?;
    let encrypted = store.reencrypt_secrets().await?;
    if let Some(file) = file {
        file.replace()?;
    }
    log_encrypted(store, "webhook.rekeyed", encrypted).await?;
    print_encrypted(encrypted, json)
}

/// Writes to the security log how many secrets a command has encrypted.
async fn log_encrypted(
    store: &Store,
    action: &'static str,
    encrypted: u64,
) -> Result<(), CommandError> {
    let entry = NewSecurityEntry::new(action, clock::now());
    Ok(store.log_security(entry.with_details(json!({ "encrypted": encrypted }))).await?)
}

async fn require_readable_secrets(store: &Store) -> Result<(), CommandError> {
    let state = store.secrets_state().await?;
    if !state.has_key {
        return Err(CommandError::new(
            "webhooks.encryption_key is not set; set it to the key to encrypt with",
        ));
    }
    if state.unreadable > 0 {
        return Err(CommandError::new(format!(
            "{} secrets are encrypted with another key; restore it as \
             webhooks.previous_encryption_key",
            state.unreadable
        )));
    }
    Ok(())
}

fn print_encrypted(encrypted: u64, json: bool) -> Result<(), CommandError> {
    match json {
        true => print(&json!({ "encrypted": encrypted }).to_string()),
        false => print(&encrypted.to_string()),
    }
}

fn read_draft(
    settings: &Settings,
    url: Option<String>,
    events: &[String],
    description: Option<String>,
) -> Result<EndpointInput, CommandError> {
    let url = url
        .map(|url| settings.webhooks.endpoint_policy().parse_url(&url))
        .transpose()
        .map_err(|reason| CommandError::usage(format!("the URL {reason}")))?;
    let invalid_events = |problems: Vec<FieldError>| {
        let messages: Vec<_> =
            problems.into_iter().map(|problem| problem.violation.to_string()).collect();
        CommandError::usage(format!("--events: {}", messages.join("; ")))
    };
    let events = (!events.is_empty()).then(|| EventFilter::parse(events));
    let events = events.transpose().map_err(invalid_events)?;
    let description = description
        .map(|text| webhook::parse_description(&text))
        .transpose()
        .map_err(|reason| CommandError::usage(format!("--description {reason}")))?;
    // An empty description removes the current one.
    let description = description.map_or(Field::Keep, Field::Set);
    Ok(EndpointInput { url, events, description, ..EndpointInput::default() })
}

fn read_secret(from_stdin: bool) -> Result<Option<SigningSecret>, CommandError> {
    if !from_stdin {
        return Ok(None);
    }
    SigningSecret::parse(&prompt::read_line()?)
        .map(Some)
        .map_err(|reason| CommandError::new(format!("the secret {reason}")))
}

async fn change(
    store: &Store,
    workspace: &WorkspaceArg,
    id: EndpointId,
    change: EndpointChange,
) -> Result<(), CommandError> {
    let workspace = find_workspace(store, workspace).await?.id;
    store.change_endpoint(workspace, OPERATOR, id, change, clock::now()).await?;
    Ok(())
}

fn print_endpoints(endpoints: &[EndpointHealth], as_json: bool) -> Result<(), CommandError> {
    if as_json {
        return print(&Value::from_iter(endpoints.iter().map(endpoint_json)).to_string());
    }
    let rows: Vec<_> = endpoints
        .iter()
        .map(|health| {
            let endpoint = &health.endpoint;
            let state = match (endpoint.enabled, &health.failing_since, &endpoint.disabled_reason) {
                (true, None, _) => "enabled".to_owned(),
                (true, Some(since), _) => format!("failing since {since}"),
                (false, _, reason) => {
                    format!("disabled: {}", reason.as_deref().unwrap_or("no reason given"))
                }
            };
            vec![
                endpoint.id.to_string(),
                endpoint.url.as_str().to_owned(),
                endpoint.events.to_string(),
                endpoint.filter.as_ref().map_or("-".to_owned(), |filter| json!(filter).to_string()),
                time_cell(health.last_success_at),
                state,
            ]
        })
        .collect();
    print_table(&["ID", "URL", "EVENTS", "FILTER", "LAST SUCCESS", "STATE"], &rows)
}

/// An endpoint as in the API, with its name and health.
fn endpoint_json(health: &EndpointHealth) -> Value {
    let endpoint = &health.endpoint;
    let mut json = json!(endpoint);
    json["name"] = json!(endpoint.description.as_deref().unwrap_or(endpoint.url.as_str()));
    json["lastSuccessAt"] = json!(health.last_success_at);
    json["failingSince"] = json!(health.failing_since);
    json["previousSecretUntil"] = json!(health.previous_secret_until);
    json
}

async fn print_deliveries(
    store: &Store,
    workspace: WorkspaceId,
    args: &DeliveriesArgs,
) -> Result<(), CommandError> {
    let endpoints = match args.endpoint {
        Some(endpoint) => vec![endpoint],
        None => {
            let all = store.endpoints(workspace).await?;
            all.iter().map(|health| health.endpoint.id).collect()
        }
    };
    let mut deliveries = Vec::new();
    for endpoint in endpoints {
        let filter = DeliveryFilter {
            state: args.state,
            event: args.event,
            since: args.since,
            until: args.until,
            limit: args.limit,
            ..DeliveryFilter::of(endpoint)
        };
        deliveries.extend(store.deliveries(workspace, filter).await?);
    }
    deliveries.sort_by_key(|delivery| std::cmp::Reverse(delivery.id));
    deliveries.truncate(args.limit as usize);
    if args.json {
        return print(&Value::from_iter(deliveries.iter().map(delivery_json)).to_string());
    }
    let rows: Vec<_> = deliveries
        .iter()
        .map(|delivery| {
            let last = match (&delivery.last_status, &delivery.last_error) {
                (Some(status), _) => status.to_string(),
                (None, error) => error.clone().unwrap_or_else(|| "-".to_owned()),
            };
            vec![
                delivery.id.to_string(),
                delivery.event.to_string(),
                delivery.state.name().to_owned(),
                delivery.attempts.to_string(),
                time_cell(delivery.due_at),
                last,
            ]
        })
        .collect();
    print_table(&["ID", "EVENT", "STATE", "ATTEMPTS", "DUE", "LAST RESPONSE"], &rows)
}

fn delivery_json(delivery: &DeliveryRow) -> Value {
    json!({
        "id": delivery.id,
        "name": delivery.event.name(),
        "endpointId": delivery.endpoint,
        "event": delivery.event.name(),
        "test": delivery.is_test,
        "state": delivery.state.name(),
        "attempts": delivery.attempts,
        "createdAt": delivery.created_at,
        "dueAt": delivery.due_at,
        "finishedAt": delivery.finished_at,
        "lastStatus": delivery.last_status,
        "lastError": delivery.last_error,
    })
}

async fn print_delivery(
    store: &Store,
    workspace: WorkspaceId,
    delivery: DeliveryId,
    as_json: bool,
) -> Result<(), CommandError> {
    let detail = store.delivery(workspace, delivery).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if as_json {
        let mut json = delivery_json(&detail.delivery);
        json["body"] = json!(text(&detail.body));
        json["tried"] = Value::from_iter(detail.attempts.iter().map(|attempt| {
            json!({
                "no": attempt.no,
                "at": attempt.at,
                "millis": attempt.millis,
                "status": attempt.status,
                "error": attempt.error,
                "answer": text(&attempt.response),
            })
        }));
        return print(&json.to_string());
    }
    print(&format!("{} {}", detail.delivery.event, detail.delivery.state.name()))?;
    print(&text(&detail.body))?;
    let row = |attempt: &AttemptRow| {
        vec![
            attempt.no.to_string(),
            attempt.at.to_string(),
            format!("{} ms", attempt.millis),
            attempt.status.map_or("-".to_owned(), |status| status.to_string()),
            attempt.error.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = detail.attempts.iter().map(row).collect();
    print_table(&["NO", "AT", "DURATION", "STATUS", "ERROR"], &rows)
}
