//! Webhook deliveries over HTTP. A delivery has a signature in place of a token, and its body is
//! read only for an existing webhook.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Json, Router};
use http::{Method, StatusCode, Uri};
use mc_contract::operations::webhook::{
    DeliveryReceipt, GIT_HOST_PATH, ProviderPath, TRACKER_PATH, WebhookQuery,
};
use mc_domain::{Provider, WebhookId};
use mc_integrations::Error;
use mc_integrations::deliveries::receive::Receiver;
use mc_processor_time::measure;
use tower::ServiceExt as _;
use url::form_urlencoded;

use crate::ApiState;
use crate::extract::{PathParams, QueryString};
use crate::limits::{MAX_BODY_BYTES, MAX_DELIVERY_BYTES};
use crate::middleware::{Admitted, drain_unauthenticated};
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
    receive(&api, webhook_id, MAX_DELIVERY_BYTES, Provider::is_git_host, request).await
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
    receive(&api, webhook_id, MAX_BODY_BYTES, |sender| sender == provider, request).await
}

/// Receives a delivery with a body of at most `max` bytes.
async fn receive(
    api: &ApiState,
    id: WebhookId,
    max: usize,
    may_send: impl Fn(Provider) -> bool,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    let receiver = Receiver {
        store: &api.receiving,
        encryptor: &api.memory.encryptor,
        denials: api.sign_in.denials(),
    };
    let limits = &api.admission.deliveries;
    let (request, permit) = limits.permit_lookup(request, max).await?;
    let webhook = receiver.find_webhook(id, may_send).await?;
    drop(permit);
    let Some(webhook) = webhook else {
        drain_unauthenticated(request.into_body()).await;
        return Err(Error::InvalidSignature.into());
    };
    let meter = match limits.meter(id) {
        Ok(meter) => meter,
        Err(problem) => {
            drain_unauthenticated(request.into_body()).await;
            return Err(problem);
        }
    };
    let work = async {
        let Admitted { headers, body, permit } =
            limits.read(request, max).await.map_err(hide_webhook)?;
        let receipt = receiver.receive(webhook, headers, body).await?;
        drop(permit);
        Ok((StatusCode::ACCEPTED, Json(receipt)))
    };
    measure(meter, work).await
}

/// Returns the error for a body that is too long or incomplete as that of an unknown webhook: it
/// must not reveal that there is such a webhook. A declared length above the limit was rejected
/// before the webhook was looked up.
fn hide_webhook(problem: Problem) -> Problem {
    if problem.status().is_client_error() { Error::InvalidSignature.into() } else { problem }
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
