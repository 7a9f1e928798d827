//! Counts of reads, which are audited by the hour: single reads would outnumber all other events.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use mc_domain::{AuditAction, ProjectId, ReadKind, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::audit::{self, Chain, NewEvent};
use crate::{Result, Store, Tx};

/// Minutes after the end of an hour in which its last reads are stored.
const SETTLE_MINUTES: i32 = 5;

/// Adds numbers of reads of the transaction's principal in the present hour.
pub async fn insert_reads(
    tx: &mut Tx,
    project: ProjectId,
    counts: &BTreeMap<ReadKind, i32>,
) -> Result<()> {
    let kinds: Vec<_> = counts.keys().map(|kind| kind.as_str().to_owned()).collect();
    let counts: Vec<_> = counts.values().copied().collect();
    tx.run(sqlx::query!(
        "insert into read_counts (project_id, user_id, kind, hour, count)
         select p.id, $2, r.kind, date_trunc('hour', now(), 'UTC'), r.count
         from projects p, unnest($3::text[], $4::int[]) r (kind, count)
         where p.id = $1 and $2::uuid is not null",
        project.0,
        tx.principal().map(|user| user.0),
        &kinds,
        &counts
    ))
    .await
}

/// Takes out the counts of the hours that are over, and records one audit event for each user and
/// hour, in one transaction for each project. Returns the number of events. Counts that arrive
/// later get an event of their own.
pub async fn audit_reads(store: &Store) -> Result<u64> {
    let projects = sqlx::query_scalar!(
        "select distinct project_id from read_counts
         where hour < date_trunc('hour', now() - make_interval(mins => $1), 'UTC')",
        SETTLE_MINUTES
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let mut count = 0;
    for project in projects {
        let mut tx = store.begin().await?;
        count += audit_project(&mut tx, ProjectId(project)).await?;
        tx.commit().await?;
    }
    Ok(count)
}

async fn audit_project(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    let rows = sqlx::query!(
        r#"with taken as (
               delete from read_counts where project_id = $1
                   and hour < date_trunc('hour', now() - make_interval(mins => $2), 'UTC')
               returning user_id, kind, hour, count)
           select user_id as "user_id!", kind as "kind!", hour as "hour!", sum(count) as "count!"
           from taken group by user_id, kind, hour"#,
        project.0,
        SETTLE_MINUTES
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let mut hours: BTreeMap<(DateTime<Utc>, Uuid), Map<String, Value>> = BTreeMap::new();
    for row in rows {
        hours.entry((row.hour, row.user_id)).or_default().insert(row.kind, row.count.into());
    }
    let count = hours.len() as u64;
    for ((hour, user), mut details) in hours {
        details.insert("hour".into(), hour.to_rfc3339_opts(SecondsFormat::Secs, true).into());
        let event = NewEvent::new(AuditAction::MemoryRead, "memory").with(Value::Object(details));
        audit::add(tx, Chain::Project(project), Some(UserId(user)), &[event]);
    }
    Ok(count)
}
