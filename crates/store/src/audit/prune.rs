//! Retention of audit events, without breaking a chain.

use std::sync::Arc;

use mc_crypto::Mac;
use mc_domain::AuditAction;
use serde_json::json;

use super::{Chain, NewEvent, add};
use crate::{Result, Store, Tx};

/// Returns the chains that have events and no project: the service's own, and those of deleted
/// projects.
pub(crate) async fn chains_of_no_project(store: &Store) -> Result<Vec<Chain>> {
    let chains = sqlx::query_scalar!(
        r#"select e.chain as "chain!" from (select distinct chain from audit_events) e
           where not exists (select from projects p where p.id = e.chain)"#
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(chains.into_iter().map(Chain::from).collect())
}

/// Deletes events of a chain that are older than `days`, except its last one, and signs a
/// checkpoint at which the rest starts. Runs as worker; returns the number of deleted events.
pub(crate) async fn prune(tx: &mut Tx, chain: Chain, days: u16) -> Result<u64> {
    let last = sqlx::query!(
        r#"select seq, mac from audit_events
           where chain = $1
             and seq < coalesce(
                 (select min(seq) from audit_events
                  where chain = $1 and occurred_at >= now() - make_interval(days => $2)),
                 (select max(seq) from audit_events where chain = $1))
           order by seq desc limit 1"#,
        chain.id(),
        i32::from(days)
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(last) = last else { return Ok(0) };
    let mac = super::mac(&last.mac)?;
    let keys = Arc::clone(&tx.1.chains.keys);
    let (key_id, seal) = sign_checkpoint(chain, last.seq, &mac, |parts| keys.sign(parts));
    tx.run(sqlx::query!(
        "insert into audit_checkpoints (chain, seq, mac, key_id, checkpoint_mac)
             values ($1, $2, $3, $4, $5)
         on conflict do nothing",
        chain.id(),
        last.seq,
        &mac[..],
        &key_id[..],
        &seal[..]
    ))
    .await?;
    let dropped = sqlx::query_scalar!("select mc.prune_audit($1, $2)", chain.id(), last.seq)
        .fetch_one(&mut *tx.0)
        .await?
        .unwrap_or(0);
    if dropped > 0 {
        let event = NewEvent::new(AuditAction::AuditPruned, chain.id())
            .with(json!({ "events": dropped, "last_seq": last.seq }));
        add(tx, chain, None, &[event]);
    }
    Ok(dropped.cast_unsigned())
}

/// Passes the signed parts of a checkpoint to `then`.
pub(super) fn sign_checkpoint<R>(
    chain: Chain,
    seq: i64,
    mac: &Mac,
    then: impl FnOnce(&[&[u8]]) -> R,
) -> R {
    then(&[b"checkpoint", chain.id().as_bytes(), &seq.to_be_bytes(), mac])
}
