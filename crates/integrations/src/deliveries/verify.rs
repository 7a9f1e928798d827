//! Verification of a delivery, and its event as it is stored.

use chrono::Utc;
use http::HeaderMap;
use mc_connectors::{Delivery, Event, SignatureError};
use mc_contract::ValidationError;
use mc_crypto::Encryptor;
use mc_domain::{Policy, WebhookId};
use mc_memory::content_filter::filter_field_text;
use mc_store::webhooks::WebhookCredentials;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::Error;
use crate::webhooks::associated_data;

/// A verified delivery, masked under the project's policy.
#[derive(Debug)]
pub struct MaskedDelivery {
    /// The provider's id of the delivery.
    pub external_id: String,
    /// Event type in the provider's words.
    pub event_type: String,
    /// Keyed hash of the body, if that identifies the delivery.
    pub body_mac: Option<[u8; 32]>,
    /// The event.
    pub event: Event,
}

/// Verifies the signature of a delivery, then parses and masks it.
pub fn verify_and_mask(
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
    Ok(masked(delivery, body_mac, &webhook.policy))
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
            SignatureError::Unsigned { .. } | SignatureError::Forged => Error::InvalidSignature,
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

fn masked(delivery: Delivery, body_mac: Option<[u8; 32]>, policy: &Policy) -> MaskedDelivery {
    MaskedDelivery {
        external_id: masked_id(delivery.id),
        event_type: filter_field_text(policy, &delivery.name),
        body_mac,
        event: masked_event(delivery.event, policy),
    }
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
    let reason = "the id of what it tells of holds what the policy does not let in".to_owned();
    Event::Ignored { reason }
}
