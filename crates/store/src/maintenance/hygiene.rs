//! Hygiene runs: requests, execution and results of hygiene tasks.

pub mod expiry;
pub mod mass_expiry;
pub mod retention;
pub mod usage;

use std::collections::BTreeMap;

use mc_contract::operations::hygiene::HygieneRun;
use mc_domain::{ExpiryDecision, HygieneRunId, HygieneTask, Policy, ProjectId};
use serde_json::{Value, json};

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::row::read;
use crate::{Result, Store, Tx, policies};

/// Kind of the job that executes a run.
pub const JOB: &str = "run_hygiene_task";
/// Attempts after which a hygiene run is discarded.
pub const JOB_ATTEMPTS: u16 = 3;

/// Hours after which a started run without an end is abandoned; its job is discarded long before.
const ABANDONED_HOURS: i32 = 4;

/// Most findings stored per run; the counts include all.
pub const FINDINGS_MAX: usize = 200;

/// The result of a task, or of its dry run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Counts by name.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first findings: ids and reasons. Only the prompts that a search tested have texts.
    pub findings: Vec<Value>,
}

impl Outcome {
    /// Adds to a count; adding 0 makes the count appear.
    pub fn count(&mut self, what: &'static str, more: u64) {
        *self.counts.entry(what).or_default() += more;
    }

    /// Adds a finding, up to the limit.
    pub fn found(&mut self, finding: Value) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

/// A requested task.
#[derive(Debug, Clone)]
pub struct HygieneTarget {
    /// Project that the task runs in.
    pub project: ProjectId,
    /// Task that runs.
    pub task: HygieneTask,
    /// Whether it is a dry run.
    pub is_dry_run: bool,
    /// The requester's decision about suspended expiries.
    pub expiry_decision: Option<ExpiryDecision>,
    /// The project's policy.
    pub policy: Policy,
}

/// A filter of runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportFilter {
    /// Only runs of this task.
    pub task: Option<HygieneTask>,
    /// Only runs requested before this one.
    pub cursor: Option<HygieneRunId>,
}

/// Requests a task for the transaction's principal, for [`HygieneTask::Expiry`] perhaps with a
/// decision about suspended expiries.
pub async fn request(
    tx: &mut Tx,
    project: ProjectId,
    task: HygieneTask,
    is_dry_run: bool,
    expiry_decision: Option<ExpiryDecision>,
) -> Result<HygieneRunId> {
    let id = HygieneRunId::generate();
    tx.run(sqlx::query!(
        "insert into hygiene_runs (id, project_id, task, is_dry_run, requested_by, expiry_decision)
         values ($1, $2, $3, $4, $5, $6)",
        id.0,
        project.0,
        task.as_str(),
        is_dry_run,
        tx.principal().map(|user| user.0),
        expiry_decision.map(ExpiryDecision::as_str)
    ))
    .await?;
    jobs::enqueue(tx, &NewJob::now(JOB, json!({ "report": id }), JOB_ATTEMPTS)).await?;
    Ok(id)
}

/// Requests a task in every project, except where the policy sets its action to `off`; a running
/// canary of a system prompt is looked after in any case. Does nothing
/// if it was called with this `key` before. Returns the number of projects.
pub async fn request_everywhere(tx: &mut Tx, task: HygieneTask, key: &str) -> Result<usize> {
    if !jobs::claim_idempotency_key(tx, JOB, key).await? {
        return Ok(0);
    }
    let projects = sqlx::query_scalar!(
        "select p.id from projects p
         where p.policy #>> array['hygiene', $1::text] is distinct from 'off'
             -- A running canary must end.
             or $1 = 'prompt' and exists (select from prompt_versions v
                 where v.project_id = p.id and v.state = 'canary')
         order by p.id",
        action_setting(task)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    for project in &projects {
        request(tx, ProjectId(*project), task, false, None).await?;
    }
    Ok(projects.len())
}

/// Returns the key in the policy's `hygiene` that sets the action of a task; `None` for a task that
/// can't be switched off.
const fn action_setting(task: HygieneTask) -> Option<&'static str> {
    match task {
        HygieneTask::Duplicates => Some("duplicates"),
        HygieneTask::Quality => Some("unused_records"),
        HygieneTask::Prompt => Some("prompt"),
        HygieneTask::Expiry
        | HygieneTask::Citations
        | HygieneTask::Reindex
        | HygieneTask::Consistency
        | HygieneTask::Export
        | HygieneTask::Embedding
        | HygieneTask::Retention => None,
    }
}

/// Starts a run; `None` if it is completed, or its project deleted.
pub async fn begin(store: &Store, id: HygieneRunId) -> Result<Option<HygieneTarget>> {
    let row = sqlx::query!(
        "update hygiene_runs r set started_at = now(), completed_at = null, last_error = null
         from projects p
         where r.id = $1 and p.id = r.project_id and (r.completed_at is null
             or r.last_error is not null)
         returning r.project_id, r.task, r.is_dry_run, r.expiry_decision, p.policy",
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    read!(optional row => HygieneTarget {
        project: row.project_id.into(), task: word(&row.task)?, is_dry_run,
        expiry_decision: row.expiry_decision.as_deref().map(word).transpose()?,
        policy: policies::read(row.policy)?
    })
}

/// Stores the counts and findings of a run, which is then completed.
pub async fn end(store: &Store, id: HygieneRunId, outcome: &Outcome) -> Result<()> {
    sqlx::query!(
        "update hygiene_runs set completed_at = now(), counts = $2, findings = $3 where id = $1",
        id.0,
        json!(outcome.counts),
        json!(outcome.findings)
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Stores the error of an attempt, with secrets masked.
pub async fn failed(store: &Store, id: HygieneRunId, reason: &str) -> Result<()> {
    let reason = mc_sanitizer::mask(reason).text;
    sqlx::query!(
        "update hygiene_runs set completed_at = now(), last_error = $2 where id = $1",
        id.0,
        reason.as_str()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Ends abandoned runs, whose processes died before they could store an error; returns their
/// number. A retry of the job continues as after any failure.
pub(crate) async fn end_abandoned(store: &Store) -> Result<u64> {
    let done = sqlx::query!(
        "update hygiene_runs set completed_at = now(),
             last_error = 'the process died and no other continued the task; request it again'
         where completed_at is null and started_at < now() - make_interval(hours => $1)",
        ABANDONED_HOURS
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected())
}

/// Returns the runs of a project, newest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: ReportFilter,
    limit: i64,
) -> Result<Vec<HygieneRun>> {
    fetch(store, project, None, filter, limit).await
}

/// Returns one run of a project.
pub async fn find(
    store: &Store,
    project: ProjectId,
    id: HygieneRunId,
) -> Result<Option<HygieneRun>> {
    Ok(fetch(store, project, Some(id), ReportFilter::default(), 1).await?.pop())
}

async fn fetch(
    store: &Store,
    project: ProjectId,
    id: Option<HygieneRunId>,
    filter: ReportFilter,
    limit: i64,
) -> Result<Vec<HygieneRun>> {
    let rows = sqlx::query!(
        r#"select r.id, r.task, r.is_dry_run, u.login as "login?", r.requested_at, r.started_at,
               r.completed_at,
                  r.counts, r.findings, r.last_error
           from hygiene_runs r left join users u on u.id = r.requested_by
           where r.project_id = $1 and ($2::uuid is null or r.id = $2)
             and ($3::text is null or r.task = $3) and ($4::uuid is null or r.id < $4)
           order by r.id desc limit $5"#,
        project.0,
        id.map(|id| id.0),
        filter.task.map(HygieneTask::as_str),
        filter.cursor.map(|before| before.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => HygieneRun {
        id: row.id.into(), task: word(&row.task)?, dry_run: row.is_dry_run, requested_by: row.login,
        requested_at, started_at, completed_at, counts, findings, last_error
    })
}

/// Deletes runs of a project requested more than `days` ago.
async fn prune(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from hygiene_runs
         where project_id = $1 and requested_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    ))
    .await
}
