//! Webhook endpoints: created and deleted. Their secret is in the answer that creates them, and
//! nowhere after.

use super::{
    Shared,
    admit::Caller,
    answer::Wishes,
    body,
    error::{ApiError, Detail},
    params::KeyPath,
    replay::{self, SentKey},
};
use axum::{
    Extension,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use groma_domain::{
    Permission, Problem, Refusal, Timestamp,
    webhook::{Endpoint, EndpointDraft},
};
use groma_store::{Actor, EndpointOutcome, NewEndpoint, shown_with_secret};
use serde_json::Value;
use std::io::Read;

/// The largest body; what it may hold is much smaller.
const BODY_BYTES: u64 = 64 * 1024;

/// Create a webhook endpoint.
#[utoipa::path(post, path = "/api/public/v1/webhooks/endpoints", tag = "Webhooks",
    request_body(content((serde_json::Value = "application/json"))),
    responses((status = 200, description = "The endpoint, with its secret", body = Endpoint)))]
pub(super) async fn create_webhook_endpoint(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    wishes: Wishes,
    request: Request,
) -> Response {
    wishes.packed(create(api, caller, request).await.into_response()).await
}

async fn create(api: Shared, caller: Caller, request: Request) -> Result<Response, ApiError> {
    let actor = administrator(&caller)?;
    let (parts, body) = request.into_parts();
    body::expect_media_type(&parts.headers, &["application/json"])?;
    let key = SentKey::read(&parts)?;
    let read = |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map(|_| bytes)
    };
    let (read, hash) = body::read(&parts.headers, body, BODY_BYTES, read).await?;
    let bytes = read.map_err(|error| body::broken(&error, BODY_BYTES))?;
    let outcome = api.store.create_endpoint(NewEndpoint {
        workspace: caller.0.workspace,
        actor,
        now: Timestamp::from(jiff::Timestamp::now()),
        draft: read_draft(&bytes, api.allow_http_webhooks)?,
        request: key.with_body(&parts, &caller, hash),
    });
    match outcome.await? {
        EndpointOutcome::Created(endpoint, secret) => {
            replay::first(serde_json::to_vec(&shown_with_secret(&endpoint, &secret)))
        }
        EndpointOutcome::Replayed(answer) => replay::again(answer),
    }
}

/// Delete a webhook endpoint.
#[utoipa::path(delete, path = "/api/public/v1/webhooks/endpoints/{key}", tag = "Webhooks",
    responses((status = 204, description = "It is gone, and so is what waited for it")))]
pub(super) async fn delete_webhook_endpoint(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
) -> Result<Response, ApiError> {
    let actor = administrator(&caller)?;
    let not_found = |_| ApiError::not_found("webhook endpoint", &path.sent);
    let endpoint = path.sent.parse().map_err(not_found)?;
    let now = Timestamp::from(jiff::Timestamp::now());
    api.store.delete_endpoint(caller.0.workspace, actor, endpoint, now).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The caller as someone who may manage webhooks at this moment.
fn administrator(caller: &Caller) -> Result<Actor, ApiError> {
    let bearer = &caller.0;
    bearer.role.require(Permission::Administer).map_err(|_| {
        ApiError::forbidden(format!(
            "Managing webhooks needs the role admin; this token's owner has the role {}",
            bearer.role
        ))
    })?;
    Ok(Actor::Member { person: bearer.person, role: bearer.role })
}

fn read_draft(body: &[u8], allow_http: bool) -> Result<EndpointDraft, ApiError> {
    let whole = |message: String| vec![Detail { pointer: String::new(), message }];
    let values = match serde_json::from_slice(body) {
        Ok(Value::Object(values)) => values,
        Ok(_) => return Err(ApiError::bad_body(whole("The body must be an object".to_owned()))),
        Err(error) => {
            return Err(ApiError::bad_body(whole(format!("The body must be JSON: {error}"))));
        }
    };
    EndpointDraft::read(&values, allow_http).map_err(|refusal| match refusal {
        Refusal::Invalid(problems) => {
            let problems = problems.into_iter().take(20);
            let details = problems
                .map(|Problem { field, message }| Detail { pointer: format!("/{field}"), message });
            ApiError::bad_body(details.collect())
        }
        other => ApiError::bad_request(other.to_string()),
    })
}
