//! Webhooks as they come in: the signature is looked at over the bytes as they are, what is of use
//! is kept once, masked, together with the job that goes through it, and the sender is answered. It
//! is never told that a fault is its own when it is the service's: some give a receiver up for good
//! then.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Json, Router};
use chrono::Utc;
use http::{HeaderMap, Method, StatusCode, Uri};
use mc_connectors::{Delivery, Event, SignatureError};
use mc_contract::ValidationError;
use mc_contract::operations::webhook::{DeliveryReceipt, WebhookQuery};
use mc_crypto::{AssociatedData, Encryptor};
use mc_domain::{DeliveryId, Policy, Provider, WebhookId};
use mc_memory::content_filter::filter_field_text;
use mc_store::webhooks::{self, NewWebhookDelivery, WebhookCredentials};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;
use url::form_urlencoded;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;
use uuid::Uuid;

use crate::ApiState;
use crate::extract::{PathParams, QueryString, read_body};
use crate::limits::MAX_DELIVERY_BYTES;
use crate::middleware::{declared_length, drain_unauthenticated};
use crate::problem::Problem;

/// Where git hosts deliver, and people ask for repositories to be indexed.
pub const GIT: &str = "/ingest/git";
/// What the other systems' paths begin with.
const TRACKERS: &str = "/webhooks/";

/// The provider, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProviderPath {
    /// The tracker or wiki that sends.
    #[param(schema_with = trackers)]
    provider: Provider,
}

impl mc_contract::Request for ProviderPath {
    fn check(&self) -> Result<(), ValidationError> {
        if is_git_host(self.provider) {
            let rule = format!("delivers to POST {GIT}?webhook_id=<id>");
            return Err(ValidationError::new("provider", rule));
        }
        Ok(())
    }
}

fn trackers() -> Object {
    let trackers = Provider::ALL.iter().filter(|provider| !is_git_host(**provider));
    mc_contract::schema::one_of(trackers.map(|provider| provider.as_str())).build()
}

/// What may be kept of a delivery.
#[derive(Debug)]
struct Kept {
    external_id: String,
    name: String,
    /// A code of the body, where that is known again by it.
    body_mac: Option<[u8; 32]>,
    event: Event,
}

/// Why nothing is kept of a delivery.
struct InvalidDelivery {
    problem: Problem,
    /// Whether nobody knows who sent it.
    is_unsigned: bool,
}

impl From<Problem> for InvalidDelivery {
    fn from(problem: Problem) -> Self {
        Self { problem, is_unsigned: false }
    }
}

/// Where a source's deliveries go.
pub fn path(source: Provider, hook: WebhookId) -> String {
    if is_git_host(source) {
        format!("{GIT}?webhook_id={hook}")
    } else {
        format!("{TRACKERS}{source}?webhook_id={hook}")
    }
}

/// Whether a request is a webhook's, which carries a signature instead of a token.
pub fn is_delivery(method: &Method, uri: &Uri) -> bool {
    let has_hook = || {
        let query = uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "webhook_id")
    };
    let path = uri.path();
    method == Method::POST && (path.starts_with(TRACKERS) || (path == GIT && has_hook()))
}

/// Leads what git hosts deliver to `receiving`, past the layers that ask for a token.
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

/// How a sealed secret of a hook is told from others.
pub fn place(hook: &WebhookId) -> AssociatedData<'_> {
    AssociatedData { purpose: "webhooks.secret", row: hook.0.as_bytes() }
}

/// Take what GitHub or GitLab tells.
pub async fn receive_git(
    State(api): State<ApiState>,
    QueryString(WebhookQuery { webhook_id: hook }): QueryString<WebhookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    receive(&api, hook, is_git_host, request).await
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
    request_body(content = Object, description = "As the sender has it, at most 2 MiB"),
    responses(
        (status = 202, description = "It is kept, or was", body = DeliveryReceipt),
        (status = 403, description = "There is no such hook, or its signature is missing or wrong"),
    )
)]
pub async fn receive_tracker(
    State(api): State<ApiState>,
    PathParams(ProviderPath { provider: source }): PathParams<ProviderPath>,
    QueryString(WebhookQuery { webhook_id: hook }): QueryString<WebhookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    receive(&api, hook, |sends| sends == source, request).await
}

async fn receive(
    api: &ApiState,
    id: WebhookId,
    sends_here: impl Fn(Provider) -> bool,
    request: Request,
) -> Result<(StatusCode, Json<DeliveryReceipt>), Problem> {
    let hook = webhooks::find_for_receipt(&api.receiving, id).await?;
    let Some(hook) = hook.filter(|hook| sends_here(hook.provider)) else {
        drain_unauthenticated(request.into_body()).await;
        api.sign_in.denials().delivery(None);
        return Err(unsigned());
    };
    // Twice: it is put together from the parts that came.
    let declared = declared_length(request.headers()).unwrap_or(MAX_DELIVERY_BYTES);
    let room = api.admission.bodies.take(2 * declared).await?;
    let headers = request.headers().clone();
    let is_declared = declared_length(&headers).is_some();
    let body = read_body(request, MAX_DELIVERY_BYTES).await;
    // Whoever declares too much was told so before the hook was looked up. Who just sends it is
    // told what anybody is who is not known: the answer must not say that there is such a hook.
    let body = body.map_err(|problem| if is_declared { problem } else { unsigned() })?;
    let turn = api.admission.bodies.turn().await;
    let sealer = api.memory.encryptor.clone();
    // Not among those who wait for the network: a large body takes a while. It goes on where the
    // sender is gone, so it keeps what it takes.
    let looked_at = tokio::task::spawn_blocking(move || {
        let _kept = (room, turn);
        let kept = verify_and_parse(&hook, &sealer, &headers, &body);
        (hook, kept)
    });
    let (hook, kept) = looked_at.await.map_err(|_| Problem::internal())?;
    let kept = kept.map_err(|refused| {
        if refused.is_unsigned {
            api.sign_in.denials().delivery(Some(hook.project));
        }
        refused.problem
    })?;
    let mut tx = api.receiving.begin().await?;
    let delivery = NewWebhookDelivery {
        id: DeliveryId::generate(),
        external_id: &kept.external_id,
        event_type: &kept.name,
        body_mac: kept.body_mac,
        event: kept.event.encode(),
        ignored: match &kept.event {
            Event::Ignored { reason } => Some(reason),
            _ => None,
        },
    };
    webhooks::insert_delivery(&mut tx, &hook, &delivery).await?;
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(DeliveryReceipt { external_id: kept.external_id })))
}

/// What may be kept of a delivery that is signed as it should be.
fn verify_and_parse(
    hook: &WebhookCredentials,
    sealer: &Encryptor,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Kept, InvalidDelivery> {
    let secrets = hook.ciphertext.iter().map(|sealed| sealer.decrypt(place(&hook.id), sealed));
    let secrets = secrets.collect::<Result<Vec<_>, _>>().map_err(|error| {
        tracing::error!(hook.id = %hook.id, %error, "the secret of a hook can't be read");
        Problem::unavailable("the service can't check signatures of this hook now")
    })?;
    let secrets: Vec<&[u8]> = secrets.iter().map(|secret| secret.as_slice()).collect();
    mc_connectors::verify(hook.provider, headers, body, &secrets, Utc::now()).map_err(
        |refusal| {
            tracing::warn!(hook.id = %hook.id, reason = %refusal, "a delivery was refused");
            let problem = match refusal {
                // Whose clock is wrong, nobody knows.
                SignatureError::Stale => Problem::unavailable(refusal.to_string())
                    .hint("set the sender's clock, or the service's, by a time server"),
                SignatureError::Unsigned { .. } | SignatureError::Forged => unsigned(),
            };
            InvalidDelivery { problem, is_unsigned: true }
        },
    )?;
    let delivery = mc_connectors::parse(hook.provider, headers, body)
        .map_err(|error| Problem::invalid(error.to_string()).field("body"))?;
    // The sender's id is not signed: what was caught might be sent again under another.
    let body_mac = delivery.is_once.then(|| {
        let digest: [u8; 32] = Sha256::digest(body).into();
        sealer.derive("deliveries.body_mac", &[hook.id.0.as_bytes().as_slice(), &digest].concat())
    });
    Ok(Kept { body_mac, ..Kept::of(delivery, &hook.policy) })
}

/// The same for a hook that does not exist: nobody learns which do.
fn unsigned() -> Problem {
    Problem::forbidden("no hook of this id takes it: its signature is missing or wrong").hint(
        "give the sender the address and the secret that were shown when the hook was made; \
         `memory-copilot webhooks rotate-secret` makes another secret",
    )
}

fn is_git_host(source: Provider) -> bool {
    matches!(source, Provider::Github | Provider::Gitlab)
}

impl Kept {
    fn of(delivery: Delivery, policy: &Policy) -> Self {
        let Delivery { id, name, event, .. } = delivery;
        let event = if policy.trackers.import_comments { event } else { event.without_comments() };
        let subject = event.subject().map(str::to_owned);
        let event = event.masked(|text| filter_field_text(policy, text));
        // Masked it would be another's.
        let event =
            if event.subject() == subject.as_deref() || matches!(event, Event::Ignored { .. }) {
                event
            } else {
                let reason =
                    "the id of what it tells of holds what the policy does not let in".to_owned();
                Event::Ignored { reason }
            };
        let external_id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let is_discreet = mc_sanitizer::mask(&external_id).findings.is_empty();
        Self {
            external_id: if is_discreet { external_id } else { digest(&external_id) },
            name: filter_field_text(policy, &name),
            body_mac: None,
            event,
        }
    }
}

fn digest(id: &str) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_told_from_a_call_by_its_address() {
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
