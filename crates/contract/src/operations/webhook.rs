//! `/projects/{key}/webhooks` and `/projects/{key}/webhook-deliveries`.

use chrono::{DateTime, Utc};
use mc_domain::{DeliveryId, DeliveryState, Provider, WebhookId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::openapi::schema::Object;
use utoipa::{IntoParams, ToSchema};

use crate::number::{PageLimit, SecretTtlHours};
use crate::secret::WebhookSecret;
use crate::{ProjectKey, Request, ValidationError, schema};

/// The path to which git hosts deliver. Index runs are requested there as well.
pub const GIT_HOST_PATH: &str = "/ingest/git";
/// The beginning of the paths to which trackers and wikis deliver.
pub const TRACKER_PATH: &str = "/webhooks/";

/// Returns path and query of the URL to which a provider delivers.
pub fn url_path(provider: Provider, id: WebhookId) -> String {
    if provider.is_git_host() {
        format!("{GIT_HOST_PATH}?webhook_id={id}")
    } else {
        format!("{TRACKER_PATH}{provider}?webhook_id={id}")
    }
}

path! {
    /// A webhook, in a path.
    WebhookPath {
        /// The project's key.
        key: ProjectKey,
        /// The webhook's id.
        id: WebhookId,
    }

    /// A webhook delivery, in a path.
    DeliveryPath {
        /// The project's key.
        key: ProjectKey,
        /// The delivery's id.
        id: DeliveryId,
    }
}

/// A webhook to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"provider": "github"}))]
pub struct CreateWebhook {
    /// The provider that will send events.
    pub provider: Provider,
    /// The secret that signs deliveries; generated when absent. For providers that generate their
    /// own, such as GitLab's signing token.
    pub secret: Option<WebhookSecret>,
}

impl Request for CreateWebhook {}

/// A new secret for a webhook.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"previous_secret_ttl_hours": 24}))]
pub struct RotateWebhookSecret {
    /// The secret that signs deliveries from now on; generated when absent.
    pub secret: Option<WebhookSecret>,
    /// Hours for which the previous secret stays valid: 0 to 168; 24 when absent.
    pub previous_secret_ttl_hours: Option<SecretTtlHours>,
}

impl Request for RotateWebhookSecret {}

query! {
    /// Which deliveries to list.
    DeliveryQuery {
        /// Only those of this webhook.
        webhook_id: Option<WebhookId>,
        /// Only those in this state.
        state: Option<DeliveryState>,
        /// Only those received before this one: the `next_cursor` of the previous page.
        cursor: Option<DeliveryId>,
        /// 1 to 200; 50 when absent.
        limit: Option<PageLimit>,
    }
}

/// A webhook.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-00000000000a", "provider": "github",
    "url_path": "/ingest/git?webhook_id=019a0000-0000-7000-8000-00000000000a",
    "created_by": "vera", "created_at": "2026-11-20T10:00:00Z",
    "last_delivery_at": "2026-11-20T11:00:00Z"
}))]
pub struct Webhook {
    /// The webhook's id.
    pub id: WebhookId,
    /// The provider that sends events.
    pub provider: Provider,
    /// Path and query of its URL, behind the service's own address.
    pub url_path: String,
    /// The login of its creator; absent if that user is deleted.
    pub created_by: Option<String>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When the previous secret expires.
    pub previous_secret_expires_at: Option<DateTime<Utc>>,
    /// When the last delivery was received.
    pub last_delivery_at: Option<DateTime<Utc>>,
}

/// A webhook and its secret, which is shown once.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-00000000000a", "provider": "github",
    "url_path": "/ingest/git?webhook_id=019a0000-0000-7000-8000-00000000000a",
    "secret": "shown-once-and-never-again"
}))]
pub struct WebhookWithSecret {
    /// The webhook's id.
    pub id: WebhookId,
    /// The provider that sends events.
    pub provider: Provider,
    /// Path and query of its URL, behind the service's own address.
    pub url_path: String,
    /// The secret to enter at the provider.
    pub secret: String,
}

/// A webhook delivery.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-00000000000b",
    "webhook_id": "019a0000-0000-7000-8000-00000000000a", "provider": "github",
    "external_id": "72d3162e-cc78-11e3-81ab-4c9367dc0958", "event_type": "issues.opened",
    "event": {}, "state": "completed", "outcome": "task CS-214 updated",
    "received_at": "2026-11-20T10:00:00Z", "completed_at": "2026-11-20T10:00:01Z"
}))]
pub struct WebhookDelivery {
    /// The delivery's id.
    pub id: DeliveryId,
    /// The webhook that received it.
    pub webhook_id: WebhookId,
    /// The provider that sent it.
    pub provider: Provider,
    /// The provider's id of it.
    pub external_id: String,
    /// The provider's name of the event: `issues.opened`.
    pub event_type: String,
    /// The parts of the event that are used, masked. They may hold prompt injection: show them to
    /// people, not to a model.
    #[schema(value_type = Object)]
    pub event: Value,
    /// Where it is in its life.
    pub state: DeliveryState,
    /// The result.
    pub outcome: Option<String>,
    /// When it was received.
    pub received_at: DateTime<Utc>,
    /// When it was processed.
    pub completed_at: Option<DateTime<Utc>>,
}

/// The provider, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProviderPath {
    /// The tracker or wiki that sends.
    #[param(schema_with = trackers)]
    pub provider: Provider,
}

impl Request for ProviderPath {
    fn check(&self) -> Result<(), ValidationError> {
        if self.provider.is_git_host() {
            let rule = format!("delivers to POST {GIT_HOST_PATH}?webhook_id=<id>");
            return Err(ValidationError::new("provider", rule));
        }
        Ok(())
    }
}

fn trackers() -> Object {
    let trackers = Provider::ALL.iter().filter(|provider| !provider.is_git_host());
    schema::one_of(trackers.map(|provider| provider.as_str())).build()
}

/// The webhook of a delivery, in a query. Jira adds parameters of its own to the URL.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WebhookQuery {
    /// The webhook's id.
    #[param(inline)]
    pub webhook_id: WebhookId,
}

impl Request for WebhookQuery {}

/// The receipt of a delivery. A delivery that is sent again gets the same one.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"external_id": "72d3162e-cc78-11e3-81ab-4c9367dc0958"}))]
pub struct DeliveryReceipt {
    /// The provider's id of the delivery.
    pub external_id: String,
}
