//! Dropping the oldest events without breaking a chain.

use mc_domain::Act;
use mc_seal::Mac;
use serde_json::json;

use super::{Chain, NewEvent, add};
use crate::{Error, Store};

/// Every chain that has events, with the days that its project's policy keeps them.
pub async fn chains(store: &Store) -> Result<Vec<(Chain, i32)>, Error> {
    let days = mc_domain::Policy::default().retention_days.audit;
    let rows = sqlx::query!(
        r#"select e.chain as "chain!",
                  coalesce((p.policy #>> '{retention_days,audit}')::int, $1) as "days!"
           from (select distinct chain from audit_events) e left join projects p on p.id = e.chain"#,
        i32::from(days)
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.chain.into(), row.days)).collect())
}

/// Drops the events of a chain that are older than so many days, but for its last one, leaving a
/// checkpoint at which the rest begins. For the background; answers how many were dropped.
pub async fn prune(store: &Store, chain: Chain, days: i32) -> Result<i64, Error> {
    let last = sqlx::query!(
        r#"select seq, mac from audit_events
           where chain = $1
             and seq < coalesce(
                 (select min(seq) from audit_events
                  where chain = $1 and at >= now() - make_interval(days => $2)),
                 (select max(seq) from audit_events where chain = $1))
           order by seq desc limit 1"#,
        chain.id(),
        days
    )
    .fetch_optional(&store.pool)
    .await?;
    let Some(last) = last else { return Ok(0) };
    let mac = super::mac(&last.mac)?;
    let (key_id, seal) = sealed(chain, last.seq, &mac, |parts| store.chains.keys.sign(parts));
    let mut tx = store.begin().await?;
    sqlx::query!(
        "insert into audit_checkpoints (chain, seq, mac, key_id, seal) values ($1, $2, $3, $4, $5)
         on conflict do nothing",
        chain.id(),
        last.seq,
        &mac[..],
        &key_id[..],
        &seal[..]
    )
    .execute(&mut *tx.0)
    .await?;
    let dropped = sqlx::query_scalar!("select mc.prune_audit($1, $2)", chain.id(), last.seq)
        .fetch_one(&mut *tx.0)
        .await?
        .unwrap_or(0);
    if dropped > 0 {
        let event = NewEvent::new(Act::AuditPruned, chain.id())
            .with(json!({ "events": dropped, "upto": last.seq }));
        add(&mut tx, chain, None, &[event]).await?;
    }
    tx.commit().await?;
    Ok(dropped)
}

/// What a checkpoint's seal is over.
pub(super) fn sealed<R>(chain: Chain, seq: i64, mac: &Mac, then: impl FnOnce(&[&[u8]]) -> R) -> R {
    then(&[b"checkpoint", chain.id().as_bytes(), &seq.to_be_bytes(), mac])
}
