//! Records and dialogs that are tied to a task or to a location in the code.

use mc_domain::{PassageId, ProjectId, RecordId};

use crate::records::{self, Record};
use crate::{Result, Store};

/// A passage of a record or a dialog, and how it is tied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tied {
    /// Id of the passage.
    pub passage: PassageId,
    /// Whether it is linked to one of the tasks; otherwise it cites one of the paths.
    pub is_of_task: bool,
}

/// Most passages of one look-up: a directory with more records says nothing about the location.
const LIMIT: i64 = 100;

/// Returns passages of live records and dialogs linked to one of the tasks, then those of records
/// that cite a file at or below one of the paths; newest first, at most 100. A task is named
/// `SHOP-12` or `owner/name#12`; `#12` and `12` mean that issue of any repository or tracker.
pub async fn find(
    store: &Store,
    project: ProjectId,
    tasks: &[String],
    paths: &[String],
) -> Result<Vec<Tied>> {
    if tasks.is_empty() && paths.is_empty() {
        return Ok(Vec::new());
    }
    let (tasks, of_any) = (&spelled(tasks), of_any_repository(tasks));
    let below: Vec<_> = paths.iter().map(|path| format!("{}/%", like_literal(path))).collect();
    let rows = sqlx::query!(
        r#"with task as (
               select id from tasks where project_id = $1 and (external_id = any($2)
                   or external_id like any($6))),
           tied as (
               select p.id, true as of_task, r.updated_at
               from memory_records r join passages p on p.record_id = r.id
               where r.task_id in (select id from task)
               union all
               select p.id, true, d.updated_at
               from dialogs d join passages p on p.dialog_id = d.id
               where d.task_id in (select id from task)
               union all
               select p.id, false, p.updated_at
               from record_citations c join passages p on p.record_id = c.record_id
               where c.project_id = $1 and (c.file_path = any($3) or c.file_path like any($4)))
           select id as "id!", bool_or(of_task) as "of_task!" from tied
           group by id order by bool_or(of_task) desc, max(updated_at) desc limit $5"#,
        project.0,
        tasks,
        paths,
        &below,
        LIMIT,
        &of_any
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let tied = rows.into_iter().map(|row| Tied { passage: row.id.into(), is_of_task: row.of_task });
    Ok(tied.collect())
}

/// Most proposals of the principal that a task returns.
const PROPOSALS_LIMIT: i64 = 20;

/// Returns the live proposals of the store's principal that are linked to one of the tasks (as in
/// [`find`]), newest first, at most 20. Search does not find undecided proposals, but their author
/// should see them again.
pub async fn own_proposals(
    store: &Store,
    project: ProjectId,
    tasks: &[String],
) -> Result<Vec<Record>> {
    let Some(principal) = store.principal().filter(|_| !tasks.is_empty()) else {
        return Ok(Vec::new());
    };
    let ids = sqlx::query_scalar!(
        "select r.id from memory_records r
         where r.project_id = $1 and r.visibility = 'proposed' and r.state in ('active', 'stale')
             and r.demotion is null and r.ttl > now()
             and r.task_id in (select id from tasks
                               where project_id = $1 and (external_id = any($2)
                                   or external_id like any($3)))
             and exists (select from record_contributions s where s.record_id = r.id
                 and s.saved_by = $4)
         order by r.updated_at desc, r.id limit $5",
        project.0,
        &spelled(tasks),
        &of_any_repository(tasks),
        principal.0,
        PROPOSALS_LIMIT
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let ids: Vec<_> = ids.into_iter().map(RecordId::from).collect();
    if ids.is_empty() { Ok(Vec::new()) } else { records::by_ids(store, &ids).await }
}

/// Returns the ids, and their bare numbers for trackers that use numbers alone: people write both
/// `#12` and `12`.
fn spelled(tasks: &[String]) -> Vec<String> {
    tasks.iter().map(String::as_str).chain(numbers(tasks)).map(str::to_owned).collect()
}

/// Returns patterns of the issues that `#12` or `12` may mean, `#12` itself among them.
fn of_any_repository(tasks: &[String]) -> Vec<String> {
    numbers(tasks).map(|number| format!("%#{number}")).collect()
}

/// Returns the numbers of those ids that are `12` or `#12`.
fn numbers(tasks: &[String]) -> impl Iterator<Item = &str> {
    let bare = tasks.iter().map(|id| id.strip_prefix('#').unwrap_or(id));
    bare.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Escapes `text` for use in a `like` pattern.
fn like_literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
