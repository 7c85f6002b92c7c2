//! Sends one delivery: signs it, adds the headers, posts it.

use crate::{client::Client, signature};
use bytes::Bytes;
use groma_domain::Timestamp;
use groma_store::{Delivery, disabled_reason::HTTP_NOT_ALLOWED};
use hyper::header::{HeaderName, HeaderValue, InvalidHeaderName};
use std::time::Duration;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Sends deliveries with signed headers.
pub struct DeliverySender {
    client: Client,
    is_https_only: bool,
    signature_header: HeaderName,
    event_header: HeaderName,
    delivery_header: HeaderName,
    test_header: HeaderName,
}

/// The result of one attempt.
#[derive(Debug)]
pub(super) struct AttemptResult {
    pub(super) started_at: Timestamp,
    pub(super) latency: Duration,
    pub(super) status: Option<u16>,
    pub(super) error: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) response_body: Vec<u8>,
}

impl DeliverySender {
    /// A sender whose header names contain the service name: letters, digits and hyphens.
    pub fn new(client: Client, service_name: &str) -> Result<Self, InvalidHeaderName> {
        let header = |name: &str| format!("x-{service_name}-{name}").to_ascii_lowercase().parse();
        Ok(Self {
            client,
            is_https_only: false,
            signature_header: header("signature")?,
            event_header: header("event")?,
            delivery_header: header("delivery")?,
            test_header: header("test")?,
        })
    }

    /// Sends nothing to http URLs.
    #[must_use]
    pub fn https_only(self) -> Self {
        Self { is_https_only: true, ..self }
    }

    pub(super) async fn send(&self, delivery: &Delivery, now: Timestamp) -> AttemptResult {
        let mut result = AttemptResult {
            started_at: now,
            latency: Duration::ZERO,
            status: None,
            error: None,
            retry_after: None,
            response_body: Vec::new(),
        };
        // The server disables such endpoints when it starts; this holds if one is enabled meanwhile.
        if self.is_https_only && !delivery.target.url.to_ascii_lowercase().starts_with("https:") {
            return AttemptResult { error: Some(HTTP_NOT_ALLOWED.to_owned()), ..result };
        }
        let body = Bytes::from(delivery.body());
        let Some(headers) = self.headers(delivery, &body, now) else {
            let error = "cannot decrypt the endpoint's secret; check the key file or webhooks.encryption_key";
            return AttemptResult { error: Some(error.to_owned()), ..result };
        };
        let (response, latency) = self.client.post(&delivery.target.url, headers, body).await;
        result.latency = latency;
        match response {
            Ok(response) => {
                result.status = Some(response.status);
                result.error = match response.status {
                    200..300 => None,
                    300..400 => Some("redirects are not followed".to_owned()),
                    status => Some(format!("received HTTP status {status}")),
                };
                result.retry_after = response.retry_after;
                result.response_body = response.body;
            }
            Err(error) => result.error = Some(error.to_string()),
        }
        result
    }

    /// Closes expired connections of the client.
    pub(super) fn prune(&self) {
        self.client.prune();
    }

    /// The headers of an attempt; `None` if the secret cannot be decrypted.
    fn headers(
        &self,
        delivery: &Delivery,
        body: &[u8],
        now: Timestamp,
    ) -> Option<Vec<(HeaderName, HeaderValue)>> {
        let target = &delivery.target;
        let secret = target.secret.as_ref()?;
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let mut headers = vec![
            (self.signature_header.clone(), value(&signature::service_signature(secret, body))?),
            (self.event_header.clone(), HeaderValue::from_static(delivery.event.name())),
            (self.delivery_header.clone(), value(&delivery.id.to_string())?),
        ];
        if delivery.is_test {
            headers.push((self.test_header.clone(), HeaderValue::from_static("true")));
        }
        let previous = target.previous.as_ref().filter(|(_, valid_until)| *valid_until > now);
        let secrets = std::iter::once(secret).chain(previous.map(|(secret, _)| secret));
        if let Some(standard) = signature::standard_headers(secrets, delivery.id, now, body) {
            headers.push((WEBHOOK_ID, value(&standard.id)?));
            headers.push((WEBHOOK_TIMESTAMP, value(&standard.timestamp)?));
            headers.push((WEBHOOK_SIGNATURE, value(&standard.signature)?));
        }
        Some(headers)
    }
}
