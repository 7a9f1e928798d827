//! Reads of audit chains.

use mc_domain::{AuditAction, ProjectId};
use mc_store::Store;
use mc_store::audit::{self, Chain, EventFilter, NewEvent, Report};
use serde_json::json;

use crate::{Error, Principal};

/// Opens a chain that only service administrators see: that of a deleted project, or the
/// service's. The audit of a live project is reported as unknown, like that of no project.
pub async fn open_service_chain(
    store: &Store,
    principal: &Principal,
    deleted_project: Option<ProjectId>,
) -> Result<(Store, Chain), Error> {
    principal.require_service_admin()?;
    let chain = deleted_project.map_or(Chain::Service, Chain::Project);
    let store = store.for_audit(principal.user, chain);
    if let Some(project) = deleted_project
        && !audit::is_known(&store, chain).await?
    {
        return Err(Error::UnknownAudit(project));
    }
    Ok((store, chain))
}

/// Records the export of a chain and returns the number of its last event; 0 if it has none.
pub async fn start_export(store: &Store, chain: Chain) -> Result<i64, Error> {
    record_read(store, chain, "export").await?;
    let newest = audit::newest(store, chain, &EventFilter::default(), None, 1).await?;
    Ok(newest.first().map_or(0, |event| event.seq))
}

/// Verifies a chain, and records that it was read. An invalid chain is logged as an error.
pub async fn verify(store: &Store, chain: Chain) -> Result<Report, Error> {
    let report = audit::verify(store, chain).await?;
    record_read(store, chain, "verify").await?;
    if let Some(error) = &report.error {
        tracing::error!(audit.chain = %chain.id(), %error, "audit chain is not valid");
    }
    Ok(report)
}

/// Records that a chain was read: in the project's own, or in the service's for others.
async fn record_read(store: &Store, chain: Chain, operation: &str) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    let event = NewEvent::new(AuditAction::AuditRead, chain.id());
    audit::record(&mut tx, event.with(json!({ "operation": operation })));
    Ok(tx.commit().await?)
}
