//! Webhooks as they come in: the signature is looked at over the bytes as they are, what is of use is kept once,
//! masked, together with the job that goes through it, and the sender is answered. It is never told that a fault
//! is its own when it is the service's: some give a receiver up for good then.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Json, Router};
use chrono::Utc;
use http::{HeaderMap, Method, StatusCode, Uri};
use mc_connectors::{Delivery, Event, Refusal};
use mc_crypto::{Place, Sealer};
use mc_domain::{DeliveryId, HookId, Policy, WebhookSource};
use mc_memory::gate::pass_text_alone;
use mc_store::hooks::{self, NewDelivery, Receiving};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;
use url::form_urlencoded;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::ApiState;
use crate::auth::Authenticate as _;
use crate::check::{Check, Invalid};
use crate::extract::{ValidPath, ValidQuery, whole_body};
use crate::limits::DELIVERY_BYTES;
use crate::middleware::{declared_length, drain_stranger};
use crate::problem::Problem;
use crate::shapes;

/// Where git hosts deliver, and people ask for repositories to be indexed.
pub const GIT: &str = "/ingest/git";
/// What the other systems' paths begin with.
const TRACKERS: &str = "/webhooks/";

/// Through which hook.
#[derive(Debug, Deserialize, IntoParams)]
// Jira adds parameters of its own to the address that it was given.
#[into_params(parameter_in = Query)]
pub struct HookQuery {
    /// The hook's id.
    hook: Uuid,
}

impl Check for HookQuery {
    type Checked = HookId;

    fn check(self) -> Result<HookId, Invalid> {
        Ok(HookId(self.hook))
    }
}

/// Who sends, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SenderPath {
    /// Which system.
    #[param(value_type = shapes::Tracker, inline)]
    source: String,
}

impl Check for SenderPath {
    type Checked = WebhookSource;

    fn check(self) -> Result<WebhookSource, Invalid> {
        let source = self.source.parse().map_err(|error| Invalid::new("source", error))?;
        if is_git_host(source) {
            return Err(Invalid::new("source", format!("delivers to POST {GIT}?hook=<id>")));
        }
        Ok(source)
    }
}

/// That something arrived. The same again when it is sent again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Receipt {
    /// The sender's id of the delivery.
    delivery_id: String,
}

/// What may be kept of a delivery.
#[derive(Debug)]
struct Kept {
    sender_id: String,
    name: String,
    /// A code of the body, where that is known again by it.
    body_mac: Option<[u8; 32]>,
    event: Event,
}

/// Why nothing is kept of a delivery.
struct Refused {
    problem: Problem,
    /// Whether nobody knows who sent it.
    is_unsigned: bool,
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self { problem, is_unsigned: false }
    }
}

/// Where a source's deliveries go.
pub fn path(source: WebhookSource, hook: HookId) -> String {
    if is_git_host(source) {
        format!("{GIT}?hook={hook}")
    } else {
        format!("{TRACKERS}{source}?hook={hook}")
    }
}

/// Whether a request is a webhook's, which carries a signature instead of a token.
pub fn is_delivery(method: &Method, uri: &Uri) -> bool {
    let has_hook = || {
        let query = uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "hook")
    };
    let path = uri.path();
    method == Method::POST && (path.starts_with(TRACKERS) || (path == GIT && has_hook()))
}

/// Leads what git hosts deliver to `receiving`, past the layers that ask for a token.
pub async fn divert(State(receiving): State<Router>, request: Request, next: Next) -> Response {
    if is_delivery(request.method(), request.uri()) {
        let Ok(response) = receiving.oneshot(request).await;
        return response;
    }
    next.run(request).await
}

/// How a sealed secret of a hook is told from others.
pub fn place(hook: &HookId) -> Place<'_> {
    Place { purpose: "hooks.secret", row: hook.0.as_bytes() }
}

/// Take what GitHub or GitLab tells.
pub async fn from_git_host(
    State(api): State<ApiState>,
    ValidQuery(hook): ValidQuery<HookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<Receipt>), Problem> {
    receive(&api, hook, is_git_host, request).await
}

/// Take what a tracker or wiki tells. Answered before anything is done about it; what is sent again, under the
/// same id, is answered alike and changes nothing. Signed as the sender signs (`X-Hub-Signature`,
/// `X-Redmine-Signature-256`, `X-YouTrack-Token`), or with `Authorization: Bearer <the hook's secret>`.
#[utoipa::path(
    post, path = "/webhooks/{source}", tag = "webhooks", params(SenderPath, HookQuery), security(()),
    request_body(content = Object, description = "As the sender has it, at most 2 MiB"),
    responses(
        (status = 202, description = "It is kept, or was", body = Receipt),
        (status = 403, description = "There is no such hook, or its signature is missing or wrong"),
    )
)]
pub async fn from_tracker(
    State(api): State<ApiState>,
    ValidPath(source): ValidPath<SenderPath>,
    ValidQuery(hook): ValidQuery<HookQuery>,
    request: Request,
) -> Result<(StatusCode, Json<Receipt>), Problem> {
    receive(&api, hook, |sends| sends == source, request).await
}

async fn receive(
    api: &ApiState,
    id: HookId,
    sends_here: impl Fn(WebhookSource) -> bool,
    request: Request,
) -> Result<(StatusCode, Json<Receipt>), Problem> {
    let hook = hooks::receiving(&api.receiving, id).await?;
    let Some(hook) = hook.filter(|hook| sends_here(hook.source)) else {
        drain_stranger(request.into_body()).await;
        api.sign_in.refusals().delivery(None);
        return Err(unsigned());
    };
    // Twice: it is put together from the parts that came.
    let declared = declared_length(request.headers()).unwrap_or(DELIVERY_BYTES);
    let room = api.admission.bodies.take(2 * declared).await?;
    let headers = request.headers().clone();
    let is_declared = declared_length(&headers).is_some();
    let body = whole_body(request, DELIVERY_BYTES).await;
    // Whoever declares too much was told so before the hook was looked up. Who just sends it is told what anybody is
    // who is not known: the answer must not say that there is such a hook.
    let body = body.map_err(|problem| if is_declared { problem } else { unsigned() })?;
    let turn = api.admission.bodies.turn().await;
    let sealer = api.memory.sealer.clone();
    // Not among those who wait for the network: a large body takes a while. It goes on where the sender is gone, so
    // it keeps what it takes.
    let looked_at = tokio::task::spawn_blocking(move || {
        let _kept = (room, turn);
        let kept = look_at(&hook, &sealer, &headers, &body);
        (hook, kept)
    });
    let (hook, kept) = looked_at.await.map_err(|_| Problem::internal())?;
    let kept = kept.map_err(|refused| {
        if refused.is_unsigned {
            api.sign_in.refusals().delivery(Some(hook.project));
        }
        refused.problem
    })?;
    let mut tx = api.receiving.begin().await?;
    let delivery = NewDelivery {
        id: DeliveryId::generate(),
        sender_id: &kept.sender_id,
        name: &kept.name,
        body_mac: kept.body_mac,
        event: serde_json::to_value(&kept.event).expect("texts, times and flags"),
        ignored: match &kept.event {
            Event::Ignored { reason } => Some(reason),
            _ => None,
        },
    };
    hooks::deliver(&mut tx, &hook, &delivery).await?;
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(Receipt { delivery_id: kept.sender_id })))
}

/// What may be kept of a delivery that is signed as it should be.
fn look_at(
    hook: &Receiving,
    sealer: &Sealer,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Kept, Refused> {
    let secrets = hook.sealed.iter().map(|sealed| sealer.open(place(&hook.id), sealed));
    let secrets = secrets.collect::<Result<Vec<_>, _>>().map_err(|error| {
        tracing::error!(hook.id = %hook.id, %error, "the secret of a hook can't be read");
        Problem::unavailable("the service can't check signatures of this hook now")
    })?;
    let secrets: Vec<&[u8]> = secrets.iter().map(|secret| secret.as_slice()).collect();
    mc_connectors::verify(hook.source, headers, body, &secrets, Utc::now()).map_err(|refusal| {
        tracing::warn!(hook.id = %hook.id, reason = %refusal, "a delivery was refused");
        let problem = match refusal {
            // Whose clock is wrong, nobody knows.
            Refusal::Stale => Problem::unavailable(refusal.to_string())
                .hint("set the sender's clock, or the service's, by a time server"),
            Refusal::Unsigned { .. } | Refusal::Forged => unsigned(),
        };
        Refused { problem, is_unsigned: true }
    })?;
    let delivery = mc_connectors::read(hook.source, headers, body)
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
         `memory-copilot hooks rotate` makes another secret",
    )
}

fn is_git_host(source: WebhookSource) -> bool {
    matches!(source, WebhookSource::Github | WebhookSource::Gitlab)
}

impl Kept {
    fn of(delivery: Delivery, policy: &Policy) -> Self {
        let Delivery { id, name, event, .. } = delivery;
        let event = if policy.trackers.comments { event } else { event.without_comments() };
        let subject = event.subject().map(str::to_owned);
        let event = event.masked(|text| pass_text_alone(policy, text));
        // Masked it would be another's.
        let event =
            if event.subject() == subject.as_deref() || matches!(event, Event::Ignored { .. }) {
                event
            } else {
                let reason =
                    "the id of what it tells of holds what the policy does not let in".to_owned();
                Event::Ignored { reason }
            };
        let sender_id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let is_discreet = mc_sanitizer::mask(&sender_id).finds.is_empty();
        Self {
            sender_id: if is_discreet { sender_id } else { digest(&sender_id) },
            name: pass_text_alone(policy, &name),
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
        assert!(is(Method::POST, "/ingest/git?hook=01"));
        assert!(is(Method::POST, "/ingest/git?x=1&hook=01"));
        assert!(is(Method::POST, "/webhooks/jira"));
        assert!(!is(Method::POST, "/ingest/git"));
        assert!(!is(Method::POST, "/ingest/git?hooks=1"));
        assert!(!is(Method::GET, "/ingest/git?hook=01"));
        assert!(!is(Method::POST, "/ingest/docs?hook=01"));
    }
}
