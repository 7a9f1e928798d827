//! Receipt of webhook deliveries. The signature is verified over the raw body. The event is stored
//! once, masked, together with the job that processes it. The sender is never blamed for a fault of
//! the service: some providers then disable the webhook.

use std::sync::Arc;

use http::HeaderMap;
use mc_accounts::denials::DenialCounter;
use mc_connectors::Event;
use mc_contract::operations::webhook::DeliveryReceipt;
use mc_crypto::Encryptor;
use mc_domain::{DeliveryId, Provider, WebhookId};
use mc_memory::content_filter::run_blocking;
use mc_store::Store;
use mc_store::webhooks::{self, NewWebhookDelivery, WebhookCredentials};

use super::verify::{MaskedDelivery, verify_and_mask};
use crate::Error;

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
