//! Health of a project's memory, its changes, and the records that were used.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, RecordId};

use super::FigurePeriod;
use crate::row::read;
use crate::{Result, Store};

/// Days after which a record that no recall returned counts as never recalled.
const RECALL_DAYS: i32 = 30;
/// Feedbacks that pass over a record without a use, before it counts as always rejected.
const REJECTIONS_MIN: i32 = 3;
/// Characters of the content that stand for a missing title.
const TITLE_CHARS: i32 = 80;

/// Counts of records of the team at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCounts {
    /// Live records.
    pub live: i64,
    /// Records that were never recalled, or always rejected.
    pub junk: i64,
    /// Live records older than 30 days that no recall returned.
    pub never_recalled: i64,
    /// Live records without a use that feedback passed over.
    pub always_rejected: i64,
    /// Live records whose cited code has changed.
    pub stale: i64,
    /// Live records with a placeholder of the sanitizer.
    pub masked: i64,
    /// Open clusters of duplicates.
    pub duplicate_clusters: i64,
    /// Records in them.
    pub duplicates: i64,
    /// What waits for a decision.
    pub decisions: Decisions,
}

/// Counts of decisions that wait for a person, other than those about duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    /// Proposals of users and agents.
    pub proposals: i64,
    /// When the oldest of them was made.
    pub oldest_proposal_at: Option<DateTime<Utc>>,
    /// Records that hygiene returned to the reviewers.
    pub demoted: i64,
    /// Records whose expiry waits for a decision.
    pub suspended_expiries: i64,
    /// Quarantined texts; zero for users who may not see them.
    pub quarantined: i64,
}

/// Counts the records of a project's team, and the decisions that wait.
pub async fn count_records(
    store: &Store,
    project: ProjectId,
    now: DateTime<Utc>,
) -> Result<RecordCounts> {
    let row = sqlx::query!(
        r#"with record as (
               select r.visibility, r.state, r.demotion, r.expiry_suspended_at, r.created_at,
                   r.recall_count = 0 and r.created_at < $2::timestamptz - make_interval(days => $3)
                       as is_never_recalled,
                   r.skip_count >= $4
                       and r.use_count + r.open_count + r.cite_count + r.pull_request_count = 0
                       as is_always_rejected,
                   r.title like any (array['%[secret:%', '%[personal:%'])
                       or r.content like any (array['%[secret:%', '%[personal:%']) as is_masked
               from memory_records r
               where r.project_id = $1 and r.state in ('active', 'stale') and r.ttl > $2
                   and r.private_to is null),
           counted as (
               select count(*) filter (where visibility = 'team') as live,
                   count(*) filter (where visibility = 'team'
                       and (is_never_recalled or is_always_rejected)) as junk,
                   count(*) filter (where visibility = 'team' and is_never_recalled)
                       as never_recalled,
                   count(*) filter (where visibility = 'team' and is_always_rejected)
                       as always_rejected,
                   count(*) filter (where visibility = 'team' and state = 'stale') as stale,
                   count(*) filter (where visibility = 'team' and is_masked) as masked,
                   count(*) filter (where visibility = 'proposed' and demotion is null)
                       as proposals,
                   min(created_at) filter (where visibility = 'proposed' and demotion is null)
                       as oldest_proposal_at,
                   count(*) filter (where demotion is not null) as demoted,
                   count(expiry_suspended_at) as suspended_expiries
               from record),
           cluster as (
               select count(*) as clusters, coalesce(sum(cardinality(record_ids)), 0) as records
               from duplicate_clusters where project_id = $1 and state = 'open')
           select live as "live!", junk as "junk!", never_recalled as "never_recalled!",
               always_rejected as "always_rejected!", stale as "stale!", masked as "masked!",
               proposals as "proposals!", oldest_proposal_at, demoted as "demoted!",
               suspended_expiries as "suspended_expiries!", clusters as "duplicate_clusters!",
               records as "duplicates!",
               (select count(*) from quarantine_items q
                where q.project_id = $1 and q.state = 'pending' and q.expires_at > $2)
                   as "quarantined!"
           from counted, cluster"#,
        project.0,
        now,
        RECALL_DAYS,
        REJECTIONS_MIN
    )
    .fetch_one(&mut *store.read().await?)
    .await?;
    read!(row => RecordCounts {
        live, junk, never_recalled, always_rejected, stale, masked, duplicate_clusters, duplicates,
        decisions: read!(row => Decisions {
            proposals, oldest_proposal_at, demoted, suspended_expiries, quarantined
        })?,
    })
}

/// Changes of records of the team in a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The start of the week.
    pub week: DateTime<Utc>,
    /// New records.
    pub created: i64,
    /// Records with a new version.
    pub changed: i64,
    /// Records that another one replaced.
    pub superseded: i64,
    /// Deleted records.
    pub deleted: i64,
    /// Records that expired.
    pub expired: i64,
}

/// Returns the changes in each week from the first one, newest first; a week without a change is
/// left out. The state of a record counts in the week of its last change.
pub async fn changes(
    store: &Store,
    project: ProjectId,
    first_week: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Vec<Changes>> {
    let rows = sqlx::query!(
        r#"with change as (
               select date_trunc('week', r.created_at, 'UTC') as week, 'created' as kind
               from memory_records r
               where r.project_id = $1 and r.visibility = 'team' and r.created_at >= $2
                   and r.created_at < $3
               union all
               select date_trunc('week', r.updated_at, 'UTC'), r.state
               from memory_records r
               where r.project_id = $1 and r.visibility = 'team' and r.updated_at >= $2
                   and r.updated_at < $3 and r.state in ('superseded', 'deleted')
               union all
               select date_trunc('week', r.ttl, 'UTC'), 'expired'
               from memory_records r
               where r.project_id = $1 and r.visibility = 'team' and r.ttl >= $2 and r.ttl < $3
                   and r.state in ('active', 'stale')
               union all
               select distinct on (v.record_id, date_trunc('week', v.changed_at, 'UTC'))
                   date_trunc('week', v.changed_at, 'UTC'), 'changed'
               from record_versions v join memory_records r on r.id = v.record_id
               where v.project_id = $1 and r.visibility = 'team' and v.changed_at >= $2
                   and v.changed_at < $3 and r.state in ('active', 'stale'))
           select week as "week!", count(*) filter (where kind = 'created') as "created!",
               count(*) filter (where kind = 'changed') as "changed!",
               count(*) filter (where kind = 'superseded') as "superseded!",
               count(*) filter (where kind = 'deleted') as "deleted!",
               count(*) filter (where kind = 'expired') as "expired!"
           from change group by week order by week desc"#,
        project.0,
        first_week,
        now
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Changes { week, created, changed, superseded, deleted, expired })
}

/// A record and the number of bundles of which it was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedRecord {
    /// The record.
    pub id: RecordId,
    /// Its title, or the start of its content.
    pub title: String,
    /// Bundles of which it was used.
    pub uses: i64,
}

/// Returns the live records of the team that were used in a period, most used first.
pub async fn list_used(
    store: &Store,
    project: ProjectId,
    period: FigurePeriod,
    limit: i64,
) -> Result<Vec<UsedRecord>> {
    let rows = sqlx::query!(
        r#"select r.id, count(distinct u.bundle_id) as "uses!",
               coalesce(nullif(r.title, ''), left(r.content, $5)) as "title!"
           from bundle_uses u join memory_records r on r.id = u.record_id
           where u.project_id = $1 and u.created_at >= $2 and u.created_at < $3
               and r.visibility = 'team' and r.state in ('active', 'stale')
           group by r.id order by count(distinct u.bundle_id) desc, r.id limit $4"#,
        project.0,
        period.start,
        period.end,
        limit,
        TITLE_CHARS
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => UsedRecord { id: row.id.into(), title, uses })
}
