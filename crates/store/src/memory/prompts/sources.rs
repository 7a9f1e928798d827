//! What the optimizer of a system prompt learns from: dialogs with outcomes, signals of recalls,
//! failed checks, and worked examples with their use.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, DialogOutcome, ProjectId, RecordId, UserId};
use serde_json::Value;

use crate::error::word;
use crate::row::{read, uuids};
use crate::{Result, Store};

/// Days of the past that count.
const DAYS: i32 = 180;
/// Most dialogs, the newest.
const DIALOGS_MAX: i64 = 400;
/// Most signals, and most checks, the most frequent.
const ERRORS_MAX: i64 = 50;
/// Fewest persons who stated a signal.
const PERSONS_MIN: i64 = 3;
/// Most worked examples and facts, the most used.
const EXAMPLES_MAX: i64 = 12;

/// The outcome of a dialog, as it was reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedOutcome {
    /// The dialog.
    pub dialog: DialogId,
    /// Who reported it.
    pub user: UserId,
    /// Version of the prompt that the dialog states.
    pub prompt_version: i32,
    /// The outcome.
    pub outcome: DialogOutcome,
    /// When it was reported first.
    pub reported_at: DateTime<Utc>,
}

/// A dialog that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedDialog {
    /// Its id.
    pub id: DialogId,
    /// Messages with `role` and `content`, oldest first.
    pub messages: Value,
    /// Answer by a reasoning schema.
    pub answer: Option<Value>,
    /// How it ended.
    pub outcome: DialogOutcome,
    /// Its task, by the tracker's id.
    pub task: Option<String>,
}

/// How often an error occurred, or with a count of 0, a task at which it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCount {
    /// A signal of recalls, or the name of a check.
    pub name: String,
    /// The task, by the tracker's id.
    pub task: Option<String>,
    /// How often.
    pub count: i64,
}

/// A worked example or a fact of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedExample {
    /// Id of the record.
    pub id: RecordId,
    /// Its title.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Number of recalls.
    pub recall_count: i32,
    /// Number of bundles after which it was used.
    pub use_count: i32,
}

/// Lists the outcomes of dialogs of which one was reported with one of these versions since a time:
/// all of each dialog, as one may contradict another.
pub async fn outcomes(
    store: &Store,
    project: ProjectId,
    versions: &[i32],
    since: DateTime<Utc>,
) -> Result<Vec<ReportedOutcome>> {
    let rows = sqlx::query!(
        "select o.dialog_id, o.user_id, o.prompt_version, o.outcome, o.reported_at
         from dialog_outcomes o
         where o.project_id = $1
             and o.dialog_id in (
                 select d.dialog_id from dialog_outcomes d
                 where d.project_id = $1 and d.prompt_version = any($2) and d.reported_at >= $3)
             and not exists (select from users u where u.id = o.user_id and u.is_agent)
         order by o.reported_at, o.dialog_id, o.user_id, o.prompt_version, o.outcome",
        project.0,
        versions,
        since
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => ReportedOutcome {
        dialog: row.dialog_id.into(), user: row.user_id.into(), prompt_version,
        outcome: word(&row.outcome)?, reported_at
    })
}

/// Lists the newest dialogs that ended, of savers who may decide what the team recalls and without
/// contradictory outcomes. No text of them looks like a prompt injection: such a dialog is not
/// searchable.
pub async fn ended_dialogs(store: &Store, project: ProjectId) -> Result<Vec<EndedDialog>> {
    let rows = sqlx::query!(
        r#"select d.id, d.messages, d.sgr_answer, d.outcome as "outcome!",
               t.external_id as "task?"
           from dialogs d left join tasks t on t.id = d.task_id
           where d.project_id = $1 and d.outcome is not null and d.is_searchable
               and (select count(distinct o.outcome) from dialog_outcomes o
                    where o.project_id = $1 and o.dialog_id = d.id) <= 1
               and d.updated_at > now() - make_interval(days => $2)
           order by d.updated_at desc, d.id desc limit $3"#,
        project.0,
        DAYS,
        DIALOGS_MAX
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => EndedDialog {
        id: row.id.into(), messages, answer: row.sgr_answer, outcome: word(&row.outcome)?, task
    })
}

/// Counts the signals that recalls of persons stated, and lists their tasks. A signal counts once
/// for a person and day, and only if several persons stated it: one person's words are not the
/// team's.
pub async fn signals(store: &Store, project: ProjectId) -> Result<Vec<ErrorCount>> {
    Ok(sqlx::query_as!(
        ErrorCount,
        r#"with stated as (
               select s.signal, b.user_id, b.created_at::date as day,
                      b.request ->> 'task_external_id' as task
               from bundles b join users u on u.id = b.user_id and not u.is_agent,
                   jsonb_array_elements_text(case jsonb_typeof(b.request -> 'signals')
                       when 'array' then b.request -> 'signals' else '[]' end) s (signal)
               where b.project_id = $1 and not b.is_control
                   and b.created_at > now() - make_interval(days => $2)),
           shared as (
               select signal, count(distinct (user_id, day)) as days from stated
               group by signal having count(distinct user_id) >= $3
               order by 2 desc, 1 limit $4)
           select signal as "name!", null as task, days as "count!" from shared
           union all
           select distinct signal, task, 0::bigint
           from stated join shared using (signal) where task is not null
           order by 3 desc, 1, 2"#,
        project.0,
        DAYS,
        PERSONS_MIN,
        ERRORS_MAX
    )
    .fetch_all(&mut *store.plain().await?)
    .await?)
}

/// Counts the commits at which a check failed, and lists the tasks that their pull requests
/// mention.
pub async fn failed_checks(store: &Store, project: ProjectId) -> Result<Vec<ErrorCount>> {
    Ok(sqlx::query_as!(
        ErrorCount,
        r#"with failed as (
               select c.name, c.repository, c.sha from ci_results c
               where c.project_id = $1 and c.conclusion = 'failure'
                   and c.source_updated_at > now() - make_interval(days => $2)),
           frequent as (
               select name, count(*) as commits from failed
               group by name order by 2 desc, 1 limit $3)
           select name as "name!", null as task, commits as "count!" from frequent
           union all
           select distinct f.name, t.external_id, 0::bigint
           from failed f join frequent using (name)
           join pull_requests p on p.project_id = $1 and p.head_sha = f.sha
               and starts_with(p.external_id, f.repository || '!')
           join pull_request_tasks t on t.project_id = $1 and t.pull_request_id = p.id
           order by 3 desc, 1, 2"#,
        project.0,
        DAYS,
        ERRORS_MAX
    )
    .fetch_all(&mut *store.plain().await?)
    .await?)
}

/// Lists the team's most used worked examples and facts. One that was never used is no evidence.
pub async fn examples(store: &Store, project: ProjectId) -> Result<Vec<UsedExample>> {
    let rows = sqlx::query!(
        "select id, title, content, recall_count, use_count from memory_records
         where project_id = $1 and kind in ('fewshot', 'fact') and visibility = 'team'
             and state = 'active' and ttl > now() and trust in ('team', 'confirmed')
             and use_count > 0
         order by use_count desc, recall_count, id limit $2",
        project.0,
        EXAMPLES_MAX
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    read!(each row in rows => UsedExample {
        id: row.id.into(), title, content, recall_count, use_count
    })
}

/// Returns those of these records that the team may still recall.
pub async fn live_records(
    store: &Store,
    project: ProjectId,
    records: &[RecordId],
) -> Result<Vec<RecordId>> {
    let live = sqlx::query_scalar!(
        "select id from memory_records
         where project_id = $1 and id = any($2) and visibility = 'team' and state = 'active'
             and ttl > now()",
        project.0,
        &uuids(records)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(live.into_iter().map(RecordId::from).collect())
}
