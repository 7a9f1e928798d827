//! What keeps a project's memory in order, as rows: asked for, begun, and what came of it.

pub mod expiry;
pub mod mass_expiry;
pub mod retention;
pub mod usage;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{ExpiryDecision, HygieneRunId, HygieneTask, Policy, ProjectId};
use serde_json::{Value, json};

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::{Error, Store, Tx, policies};

/// The kind of the job that does what a report was made for.
pub const JOB: &str = "run_hygiene_task";
/// How often it is begun before it is given up.
pub const JOB_STARTS: u16 = 3;

/// Hours after which a report that was begun and has not ended is nobody's: its job gives up long before.
const ABANDONED_HOURS: i32 = 4;

/// So many findings are kept with a report; the counts tell of all.
pub const FINDINGS_MAX: usize = 200;

/// What a task did, or would do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// What, and how many.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first of what was found: ids and reasons, never what a record says.
    pub findings: Vec<Value>,
}

impl Outcome {
    /// Counts more of something; what was looked for and is not there counts as none.
    pub fn count(&mut self, what: &'static str, more: u64) {
        *self.counts.entry(what).or_default() += more;
    }

    /// Keeps a finding, as long as there is room.
    pub fn found(&mut self, finding: Value) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

/// A task that was asked for.
#[derive(Debug, Clone)]
pub struct HygieneTarget {
    /// In which project.
    pub project: ProjectId,
    /// Which.
    pub task: HygieneTask,
    /// Whether it only looks.
    pub is_dry_run: bool,
    /// What whoever asked would have become of ends that wait for a person.
    pub expiry_decision: Option<ExpiryDecision>,
    /// The project's policy.
    pub policy: Policy,
}

/// What came of a task.
#[derive(Debug, Clone)]
pub struct Report {
    /// Identifier, in the order of asking.
    pub id: HygieneRunId,
    /// Of which task.
    pub task: HygieneTask,
    /// Whether it only looked.
    pub is_dry_run: bool,
    /// Who asked, by login; `None` for the clock.
    pub requested_by: Option<String>,
    /// When it was asked for.
    pub requested_at: DateTime<Utc>,
    /// When it was last begun.
    pub started_at: Option<DateTime<Utc>>,
    /// When that ended.
    pub completed_at: Option<DateTime<Utc>>,
    /// What, and how many.
    pub counts: Value,
    /// The first of what was found.
    pub findings: Value,
    /// Why the last start failed.
    pub last_error: Option<String>,
}

/// Which reports to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportFilter {
    /// Of this task.
    pub task: Option<HygieneTask>,
    /// Asked for before this one.
    pub cursor: Option<HygieneRunId>,
}

/// Asks for a task on behalf of whoever entered the project.
pub async fn ask(
    tx: &mut Tx,
    project: ProjectId,
    task: HygieneTask,
    is_dry_run: bool,
) -> Result<HygieneRunId, Error> {
    ask_deciding(tx, project, task, is_dry_run, None).await
}

/// The same, with a decision about ends that wait for a person: for [`HygieneTask::Expiry`].
pub async fn ask_deciding(
    tx: &mut Tx,
    project: ProjectId,
    task: HygieneTask,
    is_dry_run: bool,
    expiry_decision: Option<ExpiryDecision>,
) -> Result<HygieneRunId, Error> {
    let id = HygieneRunId::generate();
    sqlx::query!(
        "insert into hygiene_runs (id, project_id, task, is_dry_run, requested_by, expiry_decision)
         values ($1, $2, $3, $4, $5, $6)",
        id.0,
        project.0,
        task.as_str(),
        is_dry_run,
        tx.1.entry.map(|entry| entry.principal.0),
        expiry_decision.map(ExpiryDecision::as_str)
    )
    .execute(&mut *tx.0)
    .await?;
    enqueue(tx, id).await?;
    Ok(id)
}

/// Asks for a task in every project whose policy has not switched it off, unless that was done under this key
/// before. Answers in how many.
pub async fn ask_everywhere(tx: &mut Tx, task: HygieneTask, key: &str) -> Result<usize, Error> {
    if !jobs::claim_idempotency_key(tx, JOB, key).await? {
        return Ok(0);
    }
    let projects = sqlx::query_scalar!(
        "select id from projects where policy #>> array['hygiene', $1::text] is distinct from 'off'
         order by id",
        task.as_str()
    )
    .fetch_all(&mut *tx.0)
    .await?;
    for project in &projects {
        ask(tx, ProjectId(*project), task, false).await?;
    }
    Ok(projects.len())
}

async fn enqueue(tx: &mut Tx, report: HygieneRunId) -> Result<(), Error> {
    let job = NewJob {
        kind: JOB,
        unique_key: None,
        args: json!({ "report": report }),
        delay: Duration::ZERO,
        max_attempts: i32::from(JOB_STARTS),
    };
    jobs::enqueue(tx, &job).await.map(drop)
}

/// Begins what a report was made for; `None` where it is done, or its project is gone.
pub async fn begin(store: &Store, id: HygieneRunId) -> Result<Option<HygieneTarget>, Error> {
    let row = sqlx::query!(
        "update hygiene_runs r set started_at = now(), completed_at = null, last_error = null
         from projects p
         where r.id = $1 and p.id = r.project_id and (r.completed_at is null or r.last_error is not null)
         returning r.project_id, r.task, r.is_dry_run, r.expiry_decision, p.policy",
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(|row| {
        Ok(HygieneTarget {
            project: row.project_id.into(),
            task: word(&row.task)?,
            is_dry_run: row.is_dry_run,
            expiry_decision: row.expiry_decision.as_deref().map(word).transpose()?,
            policy: policies::read(row.policy)?,
        })
    })
    .transpose()
}

/// Writes down what came of it.
pub async fn end(store: &Store, id: HygieneRunId, outcome: &Outcome) -> Result<(), Error> {
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

/// Writes down why nothing came of a start, without secrets.
pub async fn failed(store: &Store, id: HygieneRunId, reason: &str) -> Result<(), Error> {
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

/// Ends reports of which nobody else will: who began them is gone, and so would have written nothing. Answers how
/// many. One that is begun anew goes on as after any failure.
pub(crate) async fn end_abandoned(store: &Store) -> Result<u64, Error> {
    let done = sqlx::query!(
        "update hygiene_runs set completed_at = now(),
             last_error = 'its process died, and nobody began it anew; ask for the task again'
         where completed_at is null and started_at < now() - make_interval(hours => $1)",
        ABANDONED_HOURS
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected())
}

/// Reports of a project, newest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: ReportFilter,
    limit: i64,
) -> Result<Vec<Report>, Error> {
    fetch(store, project, None, filter, limit).await
}

/// One report of a project.
pub async fn find(
    store: &Store,
    project: ProjectId,
    id: HygieneRunId,
) -> Result<Option<Report>, Error> {
    Ok(fetch(store, project, Some(id), ReportFilter::default(), 1).await?.pop())
}

async fn fetch(
    store: &Store,
    project: ProjectId,
    id: Option<HygieneRunId>,
    filter: ReportFilter,
    limit: i64,
) -> Result<Vec<Report>, Error> {
    let rows = sqlx::query!(
        r#"select r.id, r.task, r.is_dry_run, u.login as "login?", r.requested_at, r.started_at, r.completed_at,
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
    rows.into_iter()
        .map(|row| {
            Ok(Report {
                id: row.id.into(),
                task: word(&row.task)?,
                is_dry_run: row.is_dry_run,
                requested_by: row.login,
                requested_at: row.requested_at,
                started_at: row.started_at,
                completed_at: row.completed_at,
                counts: row.counts,
                findings: row.findings,
                last_error: row.last_error,
            })
        })
        .collect()
}

/// Deletes reports of a project that were asked for more than so many days ago.
async fn prune(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64, Error> {
    let done = sqlx::query!(
        "delete from hygiene_runs
         where project_id = $1 and requested_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected())
}
