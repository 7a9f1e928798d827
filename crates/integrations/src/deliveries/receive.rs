//! Receipt of webhook deliveries. The signature is verified over the raw body. The event is stored
//! once, masked, together with the job that processes it. The sender is never blamed for a fault of
//! the service: some providers then disable the webhook.

use std::sync::Arc;

use chrono::Utc;
use http::HeaderMap;
use mc_accounts::denials::DenialCounter;
use mc_connectors::{Event, SignatureError};
use mc_contract::ValidationError;
use mc_contract::operations::webhook::DeliveryReceipt;
use mc_crypto::Encryptor;
use mc_domain::{DeliveryId, Policy, Provider, WebhookId};
use mc_memory::content_filter::{filter_field_text, run_blocking};
use mc_store::Store;
use mc_store::webhooks::{self, NewWebhookDelivery, WebhookCredentials};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::Error;
use crate::webhooks::associated_data;

/// The parts of the service that receive deliveries.
#[derive(Debug, Clone, Copy)]
pub struct Receiver<'a> {
    /// The database with the worker's role.
    pub store: &'a Store,
    /// Decrypts the secrets of webhooks.
    pub encryptor: &'a Arc<Encryptor>,
    /// Counts deliveries without a valid signature.
    pub denials: &'a DenialCounter,
}

impl Receiver<'_> {
    /// Returns the webhook of a delivery if its provider may send here; otherwise counts a denial.
    pub async fn find_webhook(
        &self,
        id: WebhookId,
        may_send: impl Fn(Provider) -> bool,
    ) -> Result<Option<WebhookCredentials>, Error> {
        let webhook = webhooks::find_for_receipt(self.store, id).await?;
        let webhook = webhook.filter(|webhook| may_send(webhook.provider));
        if webhook.is_none() {
            self.denials.delivery(None);
        }
        Ok(webhook)
    }

    /// Verifies and stores a delivery. A delivery that is received again gets the same receipt. The
    /// body is dropped once it is parsed, even if this future is dropped before.
    pub async fn receive(
        &self,
        webhook: WebhookCredentials,
        headers: HeaderMap,
        body: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<DeliveryReceipt, Error> {
        let encryptor = Arc::clone(self.encryptor);
        let (webhook, verified) = run_blocking(move || {
            let verified = verify_and_mask(&webhook, &encryptor, &headers, body.as_ref());
            (webhook, verified)
        })
        .await;
        if let Err(Error::InvalidSignature | Error::StaleSignature(_)) = verified {
            self.denials.delivery(Some(webhook.project));
        }
        let delivery = verified?;
        insert(self.store, &webhook, &delivery).await?;
        Ok(DeliveryReceipt { external_id: delivery.external_id })
    }
}

async fn insert(
    store: &Store,
    webhook: &WebhookCredentials,
    delivery: &MaskedDelivery,
) -> Result<(), Error> {
    let ignored = match &delivery.event {
        Event::Ignored { reason } => Some(reason.as_str()),
        _ => None,
    };
    let new = NewWebhookDelivery {
        id: DeliveryId::generate(),
        external_id: &delivery.external_id,
        event_type: &delivery.event_type,
        body_mac: delivery.body_mac,
        event: delivery.event.encode(),
        ignored,
    };
    let mut tx = store.begin().await?;
    webhooks::insert_delivery(&mut tx, webhook, &new).await?;
    Ok(tx.commit().await?)
}

/// A verified delivery, masked under the project's policy.
struct MaskedDelivery {
    external_id: String,
    event_type: String,
    /// Keyed hash of the body, if that identifies the delivery.
    body_mac: Option<[u8; 32]>,
    event: Event,
}

/// Verifies the signature of a delivery, then parses and masks it.
fn verify_and_mask(
    webhook: &WebhookCredentials,
    encryptor: &Encryptor,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<MaskedDelivery, Error> {
    verify(webhook, encryptor, headers, body)?;
    let delivery = mc_connectors::parse(webhook.provider, headers, body)
        .map_err(|error| ValidationError::new("body", error))?;
    // The provider's id is not signed: a recorded delivery could be sent again under another one.
    let body_mac = delivery.is_once.then(|| body_mac(webhook.id, encryptor, body));
    Ok(MaskedDelivery {
        external_id: masked_id(delivery.id),
        event_type: filter_field_text(&webhook.policy, &delivery.name),
        body_mac,
        event: masked_event(delivery.event, &webhook.policy),
    })
}

fn verify(
    webhook: &WebhookCredentials,
    encryptor: &Encryptor,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), Error> {
    let secrets = decrypt_secrets(webhook, encryptor)?;
    let secrets: Vec<&[u8]> = secrets.iter().map(|secret| secret.as_slice()).collect();
    mc_connectors::verify(webhook.provider, headers, body, &secrets, Utc::now()).map_err(|error| {
        tracing::warn!(webhook.id = %webhook.id, reason = %error, "webhook delivery rejected");
        match error {
            SignatureError::Stale => Error::StaleSignature(error),
            SignatureError::Unsigned(_) | SignatureError::Forged => Error::InvalidSignature,
        }
    })
}

fn decrypt_secrets(
    webhook: &WebhookCredentials,
    encryptor: &Encryptor,
) -> Result<Vec<Zeroizing<Vec<u8>>>, Error> {
    let decrypt = |secret: &Vec<u8>| encryptor.decrypt(associated_data(&webhook.id), secret);
    let secrets: Result<_, _> = webhook.ciphertext.iter().map(decrypt).collect();
    secrets.map_err(|error| {
        tracing::error!(webhook.id = %webhook.id, %error, "webhook secret can't be decrypted");
        Error::UnreadableSecret(error)
    })
}

fn body_mac(webhook: WebhookId, encryptor: &Encryptor, body: &[u8]) -> [u8; 32] {
    let digest: [u8; 32] = Sha256::digest(body).into();
    encryptor.derive("deliveries.body_mac", &[webhook.0.as_bytes().as_slice(), &digest].concat())
}

/// Returns the provider's id, or its hash if it looks like a secret, or a new one.
fn masked_id(id: Option<String>) -> String {
    let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
    if mc_sanitizer::mask(&id).findings.is_empty() {
        return id;
    }
    format!("sha256:{}", hex::encode(Sha256::digest(id)))
}

fn masked_event(event: Event, policy: &Policy) -> Event {
    let event = if policy.trackers.import_comments { event } else { event.without_comments() };
    let subject = event.subject().map(str::to_owned);
    let event = event.masked(|text| filter_field_text(policy, text));
    // With a masked id, the event would be about something else.
    let is_same = event.subject() == subject.as_deref();
    if is_same || matches!(event, Event::Ignored { .. }) {
        return event;
    }
    let reason = "the id of the event contains a value that the project's policy masks".to_owned();
    Event::Ignored { reason }
}
