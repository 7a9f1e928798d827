//! Webhook deliveries over HTTP. A delivery has a signature in place of a token, and its body is
//! read only for an existing webhook.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Json, Router};
use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use mc_contract::operations::webhook::{
    DeliveryReceipt, GIT_HOST_PATH, ProviderPath, TRACKER_PATH, WebhookQuery,
};
use mc_domain::{Provider, WebhookId};
use mc_integrations::Error;
use mc_integrations::deliveries::receive::Receiver;
use tokio::sync::OwnedSemaphorePermit;
use tower::ServiceExt as _;
use url::form_urlencoded;

use crate::ApiState;
use crate::extract::{PathParams, QueryString, read_body};
use crate::limits::MAX_DELIVERY_BYTES;
use crate::middleware::{ReservedMemory, declared_length, drain_unauthenticated};
use crate::problem::Problem;

/// Whether a request is a webhook delivery, which has a signature instead of a token.
pub fn is_delivery(method: &Method, uri: &Uri) -> bool {
    let has_webhook = || {
        let query = uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "webhook_id")
    };
    let path = uri.path();
    let is_git_host = || path == GIT_HOST_PATH && has_webhook();
    method == Method::POST && (path.starts_with(TRACKER_PATH) || is_git_host())
}

/// Routes deliveries of git hosts to `receiving`, past the layers that require a token.
pub async fn route_delivery(
    State(receiving): State<Router>,
    request: Request,
    next: Next,
) -> Response {
    if is_delivery(request.method(), request.uri()) {
        let Ok(response) = receiving.oneshot(request).await;
        return response;
    }
    next.run(request).await
}

/// Receives a webhook delivery of a git host.
pub async fn receive_git(
    State(api): State<ApiState>,
    QueryString(WebhookQuery { webhook_id }): QueryString<WebhookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    receive(&api, webhook_id, Provider::is_git_host, request).await
}

/// Receive a webhook delivery of a tracker or wiki.
///
/// Stores the event, masked, and returns a receipt before it is processed; a delivery that is sent
/// again gets the same receipt and changes nothing. The sender signs it (`X-Hub-Signature`,
/// `X-Redmine-Signature-256`, `X-YouTrack-Token`) or sends the webhook's secret as
/// `Authorization: Bearer <secret>`.
#[utoipa::path(
    post, path = "/webhooks/{provider}", tag = "webhooks", params(ProviderPath, WebhookQuery),
    security(()),
    request_body(content = Object,
                 description = "The event in the provider's format; at most 2 MiB"),
    responses(
        (status = 202, description = "Stored now, or by an earlier delivery",
         body = DeliveryReceipt),
        (status = 403, description = "No such webhook, or the signature is missing or wrong"),
    )
)]
pub async fn receive_webhook(
    State(api): State<ApiState>,
    PathParams(ProviderPath { provider }): PathParams<ProviderPath>,
    QueryString(WebhookQuery { webhook_id }): QueryString<WebhookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    receive(&api, webhook_id, |sender| sender == provider, request).await
}

async fn receive(
    api: &ApiState,
    id: WebhookId,
    may_send: impl Fn(Provider) -> bool,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    let receiver = Receiver {
        store: &api.receiving,
        encryptor: &api.memory.encryptor,
        denials: api.sign_in.denials(),
    };
    let Some(webhook) = receiver.find_webhook(id, may_send).await? else {
        drain_unauthenticated(request.into_body()).await;
        return Err(Error::InvalidSignature.into());
    };
    let headers = request.headers().clone();
    let body = admit_body(api, request).await?;
    let receipt = receiver.receive(webhook, headers, body).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt)))
}

/// A body with its memory and permit, until it is dropped.
struct AdmittedBody {
    bytes: Bytes,
    _memory: ReservedMemory,
    _processor: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for AdmittedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a body once there is memory for it, and waits until it may be processed.
async fn admit_body(api: &ApiState, request: Request) -> Result<AdmittedBody, Problem> {
    let declared = declared_length(request.headers());
    // Twice, because the body is assembled from its frames.
    let memory = 2 * declared.unwrap_or(MAX_DELIVERY_BYTES);
    let memory = api.admission.bodies.wait_for(memory).await?;
    // A declared length above the limit was rejected before the webhook was looked up. The error
    // for other lengths must not reveal that there is such a webhook.
    let bytes = read_body(request, MAX_DELIVERY_BYTES).await.map_err(|problem| {
        if declared.is_some() { problem } else { Error::InvalidSignature.into() }
    })?;
    let processor = api.admission.acquire_processing_permit().await;
    Ok(AdmittedBody { bytes, _memory: memory, _processor: processor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_differ_from_other_requests_by_method_and_url() {
        let is = |method: Method, uri: &str| is_delivery(&method, &uri.parse().expect("a URI"));
        assert!(is(Method::POST, "/ingest/git?webhook_id=01"));
        assert!(is(Method::POST, "/ingest/git?x=1&webhook_id=01"));
        assert!(is(Method::POST, "/webhooks/jira"));
        assert!(!is(Method::POST, "/ingest/git"));
        assert!(!is(Method::POST, "/ingest/git?hooks=1"));
        assert!(!is(Method::GET, "/ingest/git?webhook_id=01"));
        assert!(!is(Method::POST, "/ingest/docs?webhook_id=01"));
    }
}
