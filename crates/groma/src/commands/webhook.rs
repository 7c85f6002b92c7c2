//! `groma webhook create|list|update|delete|enable|disable|rotate|deliveries|redeliver|test|encrypt`

use super::{Failure, print, print_table, workspace_of};
use crate::{
    cli::{At, DeliveryWords, WebhookCommand},
    clock::now,
    settings::Settings,
};
use groma_domain::{
    DeliveryId, EndpointId, Problem, Timestamp, WorkspaceId,
    webhook::{self, EndpointDraft, EndpointUrl, EventFilter, Secret},
};
use groma_store::{
    Actor, AttemptRow, DeliveryFilter, DeliveryRow, EndpointChange, EndpointHealth,
    EndpointOutcome, NewEndpoint, Redeliver, Store, shown_with_secret,
};
use serde_json::{Value, json};
use std::io::BufRead;

const OPERATOR: Actor = Actor::Operator;

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: WebhookCommand,
) -> Result<(), Failure> {
    match command {
        WebhookCommand::Create { url, at, events, description, secret_from_stdin, json } => {
            let mut draft = read_draft(settings, Some(url), &events, description)?;
            draft.secret = read_secret(secret_from_stdin)?;
            let workspace = workspace_of(store, &at).await?.id;
            let new = NewEndpoint { workspace, actor: OPERATOR, now: now(), draft, request: None };
            match store.create_endpoint(new).await? {
                EndpointOutcome::Created(endpoint, secret) if json => {
                    print(&shown_with_secret(&endpoint, &secret).to_string())
                }
                EndpointOutcome::Created(endpoint, secret) => {
                    print(&format!("{}\n{}", endpoint.id, secret.reveal()))
                }
                EndpointOutcome::Replayed(_) => Ok(()),
            }
        }
        WebhookCommand::List { at, json } => {
            let workspace = workspace_of(store, &at).await?.id;
            list(&store.endpoints(workspace).await?, json)
        }
        WebhookCommand::Update { id, at, url, events, description } => {
            let given = description.clone();
            let mut draft = read_draft(settings, url, &events, description)?;
            // An empty one takes the old one away.
            draft.description = given.map(|_| draft.description.unwrap_or_default());
            change(store, &at, id, EndpointChange::Edit(draft)).await
        }
        WebhookCommand::Delete { id, at } => {
            let workspace = workspace_of(store, &at).await?.id;
            Ok(store.delete_endpoint(workspace, OPERATOR, id, now()).await?)
        }
        WebhookCommand::Enable { id, at } => change(store, &at, id, EndpointChange::Enable).await,
        WebhookCommand::Disable { id, at, reason } => {
            let reason = groma_domain::text::line(&reason, 200)
                .map_err(|wrong| Failure::wrong_usage(format!("--reason {wrong}")))?;
            change(store, &at, id, EndpointChange::Disable(reason)).await
        }
        WebhookCommand::Rotate { id, at, overlap, secret_from_stdin, json } => {
            let secret = read_secret(secret_from_stdin)?;
            let workspace = workspace_of(store, &at).await?.id;
            let rotated =
                store.rotate_secret(workspace, OPERATOR, id, secret, overlap, now()).await?;
            if !json {
                return print(rotated.secret.reveal());
            }
            let until = rotated.previous_until;
            let shown =
                json!({ "id": id, "secret": rotated.secret.reveal(), "previousUntil": until });
            print(&shown.to_string())
        }
        WebhookCommand::Deliveries(words) => {
            let workspace = workspace_of(store, &words.at).await?.id;
            match words.delivery {
                Some(delivery) => detail(store, workspace, delivery, words.json).await,
                None => deliveries(store, workspace, &words).await,
            }
        }
        WebhookCommand::Redeliver { delivery, endpoint, failed_since, at, json } => {
            let which = match (delivery, endpoint.zip(failed_since)) {
                (Some(delivery), _) => Redeliver::One(delivery),
                (None, Some((endpoint, since))) => Redeliver::FailedSince(endpoint, since),
                (None, None) => return Err(Failure::wrong_usage("name a delivery or an endpoint")),
            };
            let workspace = workspace_of(store, &at).await?.id;
            let sent = store.redeliver(workspace, OPERATOR, which, now()).await?;
            if json {
                print(&json!({ "redelivered": sent }).to_string())
            } else {
                print(&sent.to_string())
            }
        }
        WebhookCommand::Test { id, at, json } => {
            let workspace = workspace_of(store, &at).await?.id;
            let delivery = store.test_endpoint(workspace, OPERATOR, id, now()).await?;
            if json {
                print(&json!({ "id": delivery }).to_string())
            } else {
                print(&delivery.to_string())
            }
        }
        WebhookCommand::Encrypt { json } => {
            if settings.webhooks.encryption_key.is_none() {
                return Err(Failure::new("webhooks.encryption_key is not set"));
            }
            let state = store.secrets_state().await?;
            if state.unreadable > 0 {
                return Err(Failure::new(format!(
                    "{} secrets are sealed with another key than webhooks.encryption_key",
                    state.unreadable
                )));
            }
            let sealed = store.seal_secrets().await?;
            if json {
                print(&json!({ "sealed": sealed }).to_string())
            } else {
                print(&sealed.to_string())
            }
        }
    }
}

fn read_draft(
    settings: &Settings,
    url: Option<String>,
    events: &[String],
    description: Option<String>,
) -> Result<EndpointDraft, Failure> {
    let url = url
        .map(|url| EndpointUrl::parse(&url, settings.webhooks.allow_http))
        .transpose()
        .map_err(|wrong| Failure::wrong_usage(format!("the address {wrong}")))?;
    let told = |problems: Vec<Problem>| {
        let told: Vec<_> = problems.into_iter().map(|problem| problem.message).collect();
        Failure::wrong_usage(format!("--events: {}", told.join("; ")))
    };
    let events = (!events.is_empty()).then(|| EventFilter::parse(events));
    let events = events.transpose().map_err(told)?;
    let description = description
        .map(|text| webhook::parse_description(&text))
        .transpose()
        .map_err(|wrong| Failure::wrong_usage(format!("--description {wrong}")))?;
    Ok(EndpointDraft { url, events, description: description.flatten(), secret: None })
}

/// A secret from standard input: never an argument, which others on the machine could read.
fn read_secret(wanted: bool) -> Result<Option<Secret>, Failure> {
    if !wanted {
        return Ok(None);
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let secret = Secret::parse(line.trim_end_matches(['\r', '\n']));
    secret.map(Some).map_err(|wrong| Failure::new(format!("the secret {wrong}")))
}

async fn change(
    store: &Store,
    at: &At,
    id: EndpointId,
    change: EndpointChange,
) -> Result<(), Failure> {
    let workspace = workspace_of(store, at).await?.id;
    store.change_endpoint(workspace, OPERATOR, id, change, now()).await?;
    Ok(())
}

fn list(endpoints: &[EndpointHealth], as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print(&Value::from_iter(endpoints.iter().map(shown_endpoint)).to_string());
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
                moment(health.last_success_at),
                state,
            ]
        })
        .collect();
    print_table(&["ID", "URL", "EVENTS", "LAST SUCCESS", "STATE"], &rows)
}

/// An endpoint as the API shows it, with a name and how it fares.
fn shown_endpoint(health: &EndpointHealth) -> Value {
    let endpoint = &health.endpoint;
    let mut shown = json!(endpoint);
    shown["name"] = json!(endpoint.description.as_deref().unwrap_or(endpoint.url.as_str()));
    shown["lastSuccessAt"] = json!(health.last_success_at);
    shown["failingSince"] = json!(health.failing_since);
    shown["previousSecretUntil"] = json!(health.previous_secret_until);
    shown
}

async fn deliveries(
    store: &Store,
    workspace: WorkspaceId,
    words: &DeliveryWords,
) -> Result<(), Failure> {
    let endpoints = match words.endpoint {
        Some(endpoint) => vec![endpoint],
        None => {
            let all = store.endpoints(workspace).await?;
            all.iter().map(|health| health.endpoint.id).collect()
        }
    };
    let mut found = Vec::new();
    for endpoint in endpoints {
        let filter = DeliveryFilter {
            endpoint,
            state: words.state,
            event: words.event,
            since: words.since,
            until: words.until,
            before: None,
            limit: words.limit,
        };
        found.extend(store.deliveries(workspace, filter).await?);
    }
    found.sort_by_key(|delivery| std::cmp::Reverse(delivery.id));
    found.truncate(words.limit as usize);
    if words.json {
        return print(&Value::from_iter(found.iter().map(shown_delivery)).to_string());
    }
    let rows: Vec<_> = found
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
                moment(delivery.due_at),
                last,
            ]
        })
        .collect();
    print_table(&["ID", "EVENT", "STATE", "ATTEMPTS", "DUE", "LAST ANSWER"], &rows)
}

fn shown_delivery(delivery: &DeliveryRow) -> Value {
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

async fn detail(
    store: &Store,
    workspace: WorkspaceId,
    delivery: DeliveryId,
    as_json: bool,
) -> Result<(), Failure> {
    let detail = store.delivery(workspace, delivery).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if as_json {
        let mut shown = shown_delivery(&detail.delivery);
        shown["body"] = json!(text(&detail.body));
        shown["tried"] = Value::from_iter(detail.attempts.iter().map(|attempt| {
            json!({
                "no": attempt.no,
                "at": attempt.at,
                "millis": attempt.millis,
                "status": attempt.status,
                "error": attempt.error,
                "answer": text(&attempt.answer),
            })
        }));
        return print(&shown.to_string());
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
    print_table(&["NO", "AT", "TOOK", "STATUS", "ERROR"], &rows)
}

fn moment(moment: Option<Timestamp>) -> String {
    moment.map_or("-".to_owned(), |moment| moment.to_string())
}
