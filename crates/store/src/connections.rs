//! What projects hear of other systems by asking them: which, how often, and where each stands.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{Ability, ConnectionId, DocId, Policy, ProjectId, ProjectKey};
use serde_json::Value;

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::{Error, Store, Tx, policies};

/// The kind of job that asks a system; it is told the connection's id.
pub const JOB: &str = "sync";
/// How often one is begun before it is given up: the connection is due again soon.
pub const JOB_STARTS: u16 = 4;
/// How long one may take; then it has failed.
pub const SYNC_TIME: Duration = Duration::from_mins(10);
/// Of a sync that was begun nothing is heard for so long; then the connection is due again.
const HEARD_WITHIN: Duration = Duration::from_mins(15);
/// After so long what is known is compared with all that is there.
const COMPARED_EVERY: Duration = Duration::from_hours(24);
/// So many are asked for in one look, the longest due first.
const DUE_AT_ONCE: i64 = 1_000;

/// A connection as its project's people see it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Identifier.
    pub id: ConnectionId,
    /// The operator's name for the system.
    pub system: String,
    /// What of it.
    pub what: String,
    /// Which of the things that it may be asked for.
    pub ability: Ability,
    /// How often it is asked.
    pub every_minutes: i32,
    /// Whether comments are asked for, where the policy lets them in.
    pub with_comments: bool,
    /// Whether it is asked at all.
    pub is_paused: bool,
    /// Who made it, by login; absent where that user is gone.
    pub created_by: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When it is asked next.
    pub due_at: DateTime<Utc>,
    /// When a sync last came to its end.
    pub ok_at: Option<DateTime<Utc>>,
    /// Why the last one did not; absent where it did.
    pub error: Option<String>,
    /// How many have failed since.
    pub failures: i32,
    /// Tasks that came by it.
    pub tasks: i64,
    /// Documents that came by it.
    pub documents: i64,
    /// How far the round of asking is that is not over.
    pub round: Option<Round>,
    /// What the last one brought that is.
    pub last_round: Option<Round>,
}

/// All that is asked of a system from the first page to the last one, or to where that fails, over as many jobs as it
/// takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// When it began; of one that is over, when it ended.
    pub at: DateTime<Utc>,
    /// Pages that were read.
    pub pages: i64,
    /// Issues and pages of wikis that were taken in, and index runs that were asked for.
    pub things: i64,
}

/// A connection to make.
#[derive(Debug, Clone)]
pub struct NewConnection {
    /// Identifier.
    pub id: ConnectionId,
    /// The operator's name for the system.
    pub system: String,
    /// What of it.
    pub what: String,
    /// Which of the things that it may be asked for.
    pub ability: Ability,
    /// How often it is asked.
    pub every_minutes: i32,
    /// Whether comments are asked for.
    pub with_comments: bool,
}

/// What is to be otherwise of a connection; what is absent stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct Change {
    /// How often it is asked.
    pub every_minutes: Option<i32>,
    /// Whether comments are asked for.
    pub with_comments: Option<bool>,
    /// Whether it is asked at all.
    pub is_paused: Option<bool>,
}

/// A connection that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The operator's name for the system.
    pub system: String,
    /// What of it.
    pub what: String,
}

/// A connection as what asks the system needs it.
#[derive(Debug, Clone)]
pub struct Asking {
    /// Identifier.
    pub id: ConnectionId,
    /// The project that hears of it.
    pub project: ProjectId,
    /// That project's key.
    pub key: ProjectKey,
    /// Its policy.
    pub policy: Policy,
    /// The operator's name for the system.
    pub system: String,
    /// What of it.
    pub what: String,
    /// Which of the things that it may be asked for.
    pub ability: Ability,
    /// How often it is asked.
    pub every: Duration,
    /// Whether comments are asked for.
    pub with_comments: bool,
    /// Where the last sync stood, as [`advance`] was told.
    pub progress: Option<Value>,
    /// Whether it is time to compare what is known with all that is there.
    pub is_compared: bool,
    /// How many syncs have failed since one came to its end.
    pub failures: u32,
}

/// How those connections are to one system that are known to the asker.
#[derive(Debug, Clone)]
pub struct Health {
    /// The operator's name for the system.
    pub system: String,
    /// How many there are.
    pub connections: i64,
    /// How many of them failed last.
    pub failing: i64,
    /// When a sync of any last came to its end.
    pub ok_at: Option<DateTime<Utc>>,
    /// Why the last did not, of one of those that fail.
    pub error: Option<String>,
    /// When the next one of those that are not paused is due.
    pub due_at: Option<DateTime<Utc>>,
}

/// Makes a connection that is due at once.
pub async fn create(tx: &mut Tx, project: ProjectId, new: &NewConnection) -> Result<(), Error> {
    let creator = tx.1.entry.map(|entry| entry.principal.0);
    sqlx::query!(
        "insert into connections (id, project_id, system, what, ability, every_minutes, with_comments, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        new.id.0,
        project.0,
        new.system,
        new.what,
        new.ability.as_str(),
        new.every_minutes,
        new.with_comments,
        creator
    )
    .execute(&mut *tx.0)
    .await?;
    ask(tx, project, new.id).await?;
    Ok(())
}

/// Changes a connection; `false` where there is none. One that goes on after a pause is due as it was.
pub async fn change(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
    change: &Change,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update connections set every_minutes = coalesce($3, every_minutes),
             with_comments = coalesce($4, with_comments), is_paused = coalesce($5, is_paused),
             round_begun_at = case when coalesce($5, is_paused) then null else round_begun_at end,
             due_at = least(due_at, now() + make_interval(mins => coalesce($3, every_minutes)))
         where project_id = $1 and id = $2",
        project.0,
        id.0,
        change.every_minutes,
        change.with_comments,
        change.is_paused
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Has a system asked now; `false` where there is no such connection, or it is paused. However often that is asked,
/// one sync waits: it begins after this transaction, and finds all that there is by then.
pub async fn ask(tx: &mut Tx, project: ProjectId, id: ConnectionId) -> Result<bool, Error> {
    // Held first: of two who ask at once, the second then sees the job of the first.
    let held = sqlx::query_scalar!(
        "select job from connections where project_id = $1 and id = $2 and not is_paused for update",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(job) = held else { return Ok(false) };
    if jobs::is_due(tx, job.as_deref()).await? {
        return Ok(true);
    }
    let due = sqlx::query_scalar!(
        "update connections set due_at = clock_timestamp()
         where project_id = $1 and id = $2 returning due_at",
        project.0,
        id.0
    )
    .fetch_one(&mut *tx.0)
    .await?;
    enqueue(tx, id, due).await?;
    Ok(true)
}

/// Has each wiki asked now that a project is connected to; answers how many that are, but for those that are paused.
pub async fn ask_wikis(tx: &mut Tx, project: ProjectId) -> Result<u32, Error> {
    // In one order everywhere: each is held until the transaction ends.
    let wikis = sqlx::query_scalar!(
        "select id from connections where project_id = $1 and ability = $2 and not is_paused order by id",
        project.0,
        Ability::Pages.as_str()
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let mut asked = 0;
    for id in wikis {
        asked += u32::from(ask(tx, project, id.into()).await?);
    }
    Ok(asked)
}

/// Removes a connection; `None` where there is none. What came by it stays, as what nobody brings up to date.
pub async fn remove(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
) -> Result<Option<Removed>, Error> {
    Ok(sqlx::query_as!(
        Removed,
        "delete from connections where project_id = $1 and id = $2 returning system, what",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?)
}

/// Forgets what came by a connection: its documents, and what was told of its tasks, which stay for what is
/// linked to them; what their tracker says next counts, however old. Answers how many there were of either.
pub async fn forget(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
) -> Result<(u64, u64), Error> {
    let tasks = sqlx::query!(
        "update tasks set title = '', status = 'unknown', assignee = null, labels = '{}', links = '[]',
             updated_at = now(), said_at = null, connection_id = null
         where project_id = $1 and connection_id = $2",
        project.0,
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok((tasks.rows_affected(), forget_documents(tx, project, id).await?))
}

/// Forgets the documents that came by a connection; answers how many there were.
pub async fn forget_documents(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from docs where project_id = $1 and connection_id = $2",
        project.0,
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}

/// Forgets those documents that have one of these ids at their source; answers how many there were.
pub async fn forget_gone(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
    doc_ids: &[String],
) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from docs where project_id = $1 and connection_id = $2 and doc_id = any($3)",
        project.0,
        id.0,
        doc_ids
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}

/// A project's connections, in the order they were made.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Connection>, Error> {
    select(store, project, None).await
}

/// One of them.
pub async fn find(
    store: &Store,
    project: ProjectId,
    id: ConnectionId,
) -> Result<Option<Connection>, Error> {
    Ok(select(store, project, Some(id)).await?.pop())
}

async fn select(
    store: &Store,
    project: ProjectId,
    only: Option<ConnectionId>,
) -> Result<Vec<Connection>, Error> {
    let rows = sqlx::query!(
        r#"select c.id, c.system, c.what, c.ability, c.every_minutes, c.with_comments, c.is_paused,
               u.login as "created_by?", c.created_at, c.due_at, c.ok_at, c.error, c.failures,
               c.round_begun_at, c.round_pages, c.round_things, c.last_ended_at, c.last_pages, c.last_things,
               (select count(*) from tasks t where t.connection_id = c.id) as "tasks!",
               (select count(*) from docs d where d.connection_id = c.id) as "documents!"
           from connections c left join users u on u.id = c.created_by
           where c.project_id = $1 and ($2::uuid is null or c.id = $2) order by c.id"#,
        project.0,
        only.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Connection {
                id: row.id.into(),
                system: row.system,
                what: row.what,
                ability: word(&row.ability)?,
                every_minutes: row.every_minutes,
                with_comments: row.with_comments,
                is_paused: row.is_paused,
                created_by: row.created_by,
                created_at: row.created_at,
                due_at: row.due_at,
                ok_at: row.ok_at,
                error: row.error,
                failures: row.failures,
                tasks: row.tasks,
                documents: row.documents,
                round: round(row.round_begun_at, row.round_pages, row.round_things),
                last_round: round(row.last_ended_at, row.last_pages, row.last_things),
            })
        })
        .collect()
}

fn round(at: Option<DateTime<Utc>>, pages: i64, things: i64) -> Option<Round> {
    at.map(|at| Round { at, pages, things })
}

/// The key of the project that a connection is of, for the background.
pub async fn project_of(store: &Store, id: ConnectionId) -> Result<Option<ProjectKey>, Error> {
    let key = sqlx::query_scalar!(
        "select p.key from connections c join projects p on p.id = c.project_id where c.id = $1",
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    key.map(|key| project_key(&key)).transpose()
}

fn project_key(key: &str) -> Result<ProjectKey, Error> {
    ProjectKey::parse(key).map_err(|_| Error::Unreadable(format!("projects.key: {key}")))
}

/// How the connections are, by system: those of the project, or of all for the background.
pub async fn health(store: &Store, project: Option<ProjectId>) -> Result<Vec<Health>, Error> {
    Ok(sqlx::query_as!(
        Health,
        r#"select system, count(*) as "connections!", count(*) filter (where failures > 0) as "failing!",
               max(ok_at) as ok_at, max(error) as error, min(due_at) filter (where not is_paused) as due_at
           from connections where $1::uuid is null or project_id = $1 group by system"#,
        project.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Asks for a sync of each connection of any project that is due. However often that is asked, and by however many
/// nodes, there is one for each time that it is due. Answers how many are new.
pub async fn ask_for_due(store: &Store) -> Result<u64, Error> {
    let due = sqlx::query!(
        "select id, due_at from connections where not is_paused and due_at <= now()
         order by due_at limit $1",
        DUE_AT_ONCE
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let mut asked = 0;
    for one in due {
        let mut tx = store.begin().await?;
        asked += u64::from(enqueue(&mut tx, one.id.into(), one.due_at).await?);
        tx.commit().await?;
    }
    Ok(asked)
}

async fn enqueue(tx: &mut Tx, id: ConnectionId, due: DateTime<Utc>) -> Result<bool, Error> {
    let key = format!("{id} {}", due.timestamp_micros());
    let args = serde_json::json!({ "id": id });
    let starts = i32::from(JOB_STARTS);
    let job = NewJob { kind: JOB, key: Some(&key), args, delay: Duration::ZERO, starts };
    let Some(job) = jobs::enqueue(tx, &job).await? else { return Ok(false) };
    sqlx::query!("update connections set job = $2 where id = $1", id.0, job)
        .execute(&mut *tx.0)
        .await?;
    Ok(true)
}

/// The connection with this id of any project, for whoever asks the system now; `None` where it is gone, or paused.
/// It is due again later, whatever becomes of that.
pub async fn begin_asking(store: &Store, id: ConnectionId) -> Result<Option<Asking>, Error> {
    let row = sqlx::query!(
        r#"update connections c set due_at = greatest(c.due_at, now() + make_interval(secs => $3)),
               round_begun_at = coalesce(c.round_begun_at, now()),
               round_pages = case when c.round_begun_at is null then 0 else c.round_pages end,
               round_things = case when c.round_begun_at is null then 0 else c.round_things end
           from projects p where c.id = $1 and not c.is_paused and p.id = c.project_id
           returning c.project_id, p.key, p.policy, c.system, c.what, c.ability, c.every_minutes, c.with_comments,
               c.progress, c.failures,
               c.compared_at < now() - make_interval(secs => $2) as "is_compared!""#,
        id.0,
        COMPARED_EVERY.as_secs_f64(),
        HEARD_WITHIN.as_secs_f64()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(|row| {
        Ok(Asking {
            id,
            project: row.project_id.into(),
            key: project_key(&row.key)?,
            policy: policies::read(row.policy)?,
            system: row.system,
            what: row.what,
            ability: word(&row.ability)?,
            every: Duration::from_mins(row.every_minutes.unsigned_abs().into()),
            with_comments: row.with_comments,
            progress: row.progress,
            is_compared: row.is_compared,
            failures: row.failures.unsigned_abs(),
        })
    })
    .transpose()
}

/// Says where a sync stands from now on, in the transaction of what brought it there; `false` where it does not
/// stand at `from`, since somebody else went on meanwhile, or the connection is gone or paused. Nobody else goes
/// on until the transaction ends.
pub async fn advance(
    tx: &mut Tx,
    id: ConnectionId,
    from: Option<&Value>,
    to: &Value,
) -> Result<bool, Error> {
    let moved = sqlx::query!(
        "update connections set progress = $3
         where id = $1 and progress is not distinct from $2 and not is_paused",
        id.0,
        from,
        to
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(moved.rows_affected() == 1)
}

/// Counts a page that was read, and how much of it was taken in, in the transaction that does that.
pub async fn came(tx: &mut Tx, id: ConnectionId, things: i64) -> Result<(), Error> {
    sqlx::query!(
        "update connections set round_pages = round_pages + 1, round_things = round_things + $2 where id = $1",
        id.0,
        things
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes by which connection tasks and documents came, so that it is known when they are gone there.
pub async fn brought(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
    tasks: &[String],
    documents: &[DocId],
) -> Result<(), Error> {
    let documents: Vec<_> = documents.iter().map(|id| id.0).collect();
    sqlx::query!(
        "update tasks set connection_id = $2
         where project_id = $1 and external_id = any($3) and connection_id is distinct from $2",
        project.0,
        id.0,
        tasks
    )
    .execute(&mut *tx.0)
    .await?;
    sqlx::query!(
        "update docs set connection_id = (select c.id from connections c where c.project_id = $1 and c.id = $2)
         where project_id = $1 and id = any($3) and connection_id is distinct from $2",
        project.0,
        id.0,
        &documents
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes that those documents of a source came by a connection that have one of these ids there.
pub async fn brought_from(
    tx: &mut Tx,
    project: ProjectId,
    id: ConnectionId,
    source: &str,
    doc_ids: &[String],
) -> Result<(), Error> {
    sqlx::query!(
        "update docs set connection_id = $2
         where project_id = $1 and source = $3 and doc_id = any($4) and connection_id is distinct from $2",
        project.0,
        id.0,
        source,
        doc_ids
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes that what is known was compared with all that is there.
pub async fn compared(tx: &mut Tx, id: ConnectionId) -> Result<(), Error> {
    sqlx::query!("update connections set compared_at = now() where id = $1", id.0)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}

/// Notes that a sync came to its end, and when the next one is due.
pub async fn succeeded(store: &Store, id: ConnectionId, again_in: Duration) -> Result<(), Error> {
    sqlx::query!(
        "update connections set ok_at = now(), error = null, failures = 0,
             due_at = now() + make_interval(secs => $2), round_begun_at = null, last_ended_at = now(),
             last_pages = round_pages, last_things = round_things
         where id = $1",
        id.0,
        again_in.as_secs_f64()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Notes that a sync is not over, why, and when it goes on. Without a `failure` it was merely put off, and its round is
/// not over either.
pub async fn put_off(
    store: &Store,
    id: ConnectionId,
    failure: Option<&str>,
    again_in: Duration,
) -> Result<(), Error> {
    sqlx::query!(
        "update connections set due_at = now() + make_interval(secs => $3), error = coalesce($2, error),
             failures = failures + case when $2::text is null then 0 else 1 end,
             round_begun_at = case when $2::text is null then round_begun_at end,
             last_ended_at = case when $2::text is null then last_ended_at else now() end,
             last_pages = case when $2::text is null then last_pages else round_pages end,
             last_things = case when $2::text is null then last_things else round_things end
         where id = $1",
        id.0,
        failure,
        again_in.as_secs_f64()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}
