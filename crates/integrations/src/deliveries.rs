//! Webhook deliveries: their receipt and the outcomes of their processing.

pub mod receive;

use mc_contract::operations::page::{Page, page};
use mc_contract::operations::webhook::{DeliveryQuery, WebhookDelivery};
use mc_domain::{AuditAction, DeliveryId};
use mc_memory::ProjectContext;
use mc_store::audit::{self, NewEvent};
use mc_store::webhooks::{self, DeliveryFilter};
use serde_json::json;

use crate::Error;

/// Lists the deliveries of the last fourteen days, newest first.
pub async fn list(
    ctx: &ProjectContext,
    query: DeliveryQuery,
) -> Result<Page<WebhookDelivery>, Error> {
    let DeliveryQuery { webhook_id, state, cursor, limit } = query;
    let limit = limit.unwrap_or_default().get();
    let filter = DeliveryFilter { webhook_id, state, cursor };
    let rows = webhooks::list_deliveries(&ctx.store, ctx.project.id, filter, limit).await?;
    Ok(page(rows, limit, |row| row.id))
}

/// Returns a delivery of the project, or an error if there is none.
pub async fn get(ctx: &ProjectContext, id: DeliveryId) -> Result<WebhookDelivery, Error> {
    webhooks::find_delivery(&ctx.store, ctx.project.id, id).await?.ok_or_else(|| unknown(ctx))
}

/// Enqueues the job that processes a delivery again.
pub async fn replay(ctx: &ProjectContext, id: DeliveryId) -> Result<WebhookDelivery, Error> {
    let mut tx = ctx.store.begin().await?;
    let replayed = webhooks::replay(&mut tx, ctx.project.id, id).await?;
    let replayed = replayed.ok_or_else(|| unknown(ctx))?;
    let event = NewEvent::new(AuditAction::WebhookDeliveryReplayed, id);
    audit::record(&mut tx, event.with(json!({ "event_type": replayed.event_type })));
    tx.commit().await?;
    Ok(replayed)
}

fn unknown(ctx: &ProjectContext) -> Error {
    Error::UnknownDelivery(ctx.project.key.clone())
}
