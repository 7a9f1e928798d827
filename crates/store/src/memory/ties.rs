//! What of a project's memory is tied to a task or to a place in the code.

use mc_domain::{PassageId, ProjectId, RecordId};

use crate::records::{self, Record};
use crate::{Error, Store};

/// A passage of a record or a dialog, and what ties it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tied {
    /// The passage.
    pub passage: PassageId,
    /// Whether the record or dialog is linked to one of the tasks; else it cites one of the paths.
    pub is_of_task: bool,
}

/// What a directory's records are searched for, at most: more of them tell nothing of the place.
const LIMIT: i64 = 100;

/// Live records and dialogs that are linked to one of these tasks (`SHOP-12`, `owner/name#12`, or `#12` or `12`
/// for an issue of any repository or tracker), then records that cite a file at one of the paths or below it,
/// newest first, 100 at most.
pub async fn find(
    store: &Store,
    project: ProjectId,
    tasks: &[String],
    paths: &[String],
) -> Result<Vec<Tied>, Error> {
    if tasks.is_empty() && paths.is_empty() {
        return Ok(Vec::new());
    }
    let (tasks, of_any) = (&spelled(tasks), of_any_repository(tasks));
    let below: Vec<_> = paths.iter().map(|path| format!("{}/%", like_literal(path))).collect();
    let rows = sqlx::query!(
        r#"with task as (
               select id from tasks where project_id = $1 and (external_id = any($2) or external_id like any($6))),
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

/// Most proposals of one's own that a task brings.
const PROPOSALS_LIMIT: i64 = 20;

/// The live proposals of whoever the store asks for that are linked to one of these tasks (as in [`find`]), newest first,
/// 20 at most. No search finds what nobody has decided about, and whoever proposed it is to meet it again all the same.
pub async fn own_proposals(
    store: &Store,
    project: ProjectId,
    tasks: &[String],
) -> Result<Vec<Record>, Error> {
    let Some(principal) = store.principal().filter(|_| !tasks.is_empty()) else {
        return Ok(Vec::new());
    };
    let ids = sqlx::query_scalar!(
        "select r.id from memory_records r
         where r.project_id = $1 and r.visibility = 'proposed' and r.state in ('active', 'stale')
             and r.demotion is null and r.ttl > now()
             and r.task_id in (select id from tasks
                               where project_id = $1 and (external_id = any($2) or external_id like any($3)))
             and exists (select from record_contributions s where s.record_id = r.id and s.saved_by = $4)
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

/// The ids, and those of trackers that know their issues by a number alone: people write `#12` and `12` for one.
fn spelled(tasks: &[String]) -> Vec<String> {
    tasks.iter().map(String::as_str).chain(numbers(tasks)).map(str::to_owned).collect()
}

/// Patterns of the issues that `#12` or `12` may stand for, `#12` itself among them.
fn of_any_repository(tasks: &[String]) -> Vec<String> {
    numbers(tasks).map(|number| format!("%#{number}")).collect()
}

/// The numbers of those ids that are nothing else.
fn numbers(tasks: &[String]) -> impl Iterator<Item = &str> {
    let bare = tasks.iter().map(|id| id.strip_prefix('#').unwrap_or(id));
    bare.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `text` as a pattern of `like` that stands for nothing but itself.
fn like_literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
