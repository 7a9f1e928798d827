//! Pull and merge requests with their commits, reviews, tasks and files.

pub mod files;
mod write;

use std::collections::BTreeMap;

use mc_contract::operations::pull_request::PullRequest;
use mc_domain::{ProjectId, PullRequestId, PullRequestReview, PullRequestState, RecordId};
use serde::Deserialize;

use crate::error::{from_json, word};
use crate::row::read;
use crate::{Result, Store};

pub use write::{NewPullRequest, NewReview, insert_pushed_commits, upsert, upsert_review};
pub(crate) use write::{RETENTION_DAYS, prune};

/// A filter of a project's pull requests.
#[derive(Debug, Clone, Default)]
pub struct PullRequestFilter {
    /// Only pull requests in this state.
    pub state: Option<PullRequestState>,
    /// Id of a mentioned task at its tracker.
    pub task: Option<String>,
    /// Only pull requests created before this one.
    pub cursor: Option<PullRequestId>,
}

/// Returns the pull requests of a project, newest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: &PullRequestFilter,
    limit: i64,
) -> Result<Vec<PullRequest>> {
    select(store, project, None, filter, limit).await
}

/// Returns one pull request.
pub async fn find(
    store: &Store,
    project: ProjectId,
    id: PullRequestId,
) -> Result<Option<PullRequest>> {
    Ok(select(store, project, Some(id), &PullRequestFilter::default(), 1).await?.pop())
}

/// Returns the live records about a commit of the pull request.
pub async fn records(
    store: &Store,
    project: ProjectId,
    id: PullRequestId,
) -> Result<Vec<RecordId>> {
    let ids = sqlx::query_scalar!(
        "select r.id from memory_records r
         where r.project_id = $1 and r.state in ('active', 'stale') and r.patch_sha = any (array(
             select k.sha from pull_request_commits k where k.pull_request_id = $2
             union
             select p.sha from pull_request_commits k
             join pushed_commits p on p.project_id = k.project_id and p.head_sha = k.sha
             where k.pull_request_id = $2))
         order by r.id",
        project.0,
        id.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(ids.into_iter().map(RecordId::from).collect())
}

async fn select(
    store: &Store,
    project: ProjectId,
    only: Option<PullRequestId>,
    filter: &PullRequestFilter,
    limit: i64,
) -> Result<Vec<PullRequest>> {
    let rows = sqlx::query!(
        r#"select c.id, c.external_id, c.title, c.state, c.author, c.head_sha, c.merge_sha,
               c.base_ref, c.url,
               c.reviews, c.opened_at, c.closed_at, c.merged_at, c.source_updated_at,
               coalesce(mc.commit_ci_status(c.project_id, c.merge_sha),
                   mc.commit_ci_status(c.project_id, c.head_sha)) as ci,
               array(select t.external_id from pull_request_tasks l
                     join tasks t on t.project_id = l.project_id and t.external_id = l.external_id
                     where l.pull_request_id = c.id order by t.external_id) as "tasks!"
           from pull_requests c
           where c.project_id = $1 and ($2::uuid is null or c.id = $2)
               and ($3::text is null or c.state = $3) and ($4::uuid is null or c.id < $4)
               and ($5::text is null or c.id in (
                   select l.pull_request_id from pull_request_tasks l where l.project_id = $1
                       and l.external_id = $5))
           order by c.id desc limit $6"#,
        project.0,
        only.map(|id| id.0),
        filter.state.map(PullRequestState::as_str),
        filter.cursor.map(|id| id.0),
        filter.task,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => PullRequest {
        id: row.id.into(), external_id, title, state: word(&row.state)?, author, head_sha,
        merge_sha, base_ref, url, review_state: combine_reviews(row.reviews)?,
        ci_status: row.ci.as_deref().map(word).transpose()?, task_external_ids: row.tasks,
        opened_at, closed_at, merged_at, source_updated_at
    })
}

/// Combines reviews: one that requests changes outweighs all approvals.
fn combine_reviews(reviews: serde_json::Value) -> Result<Option<PullRequestReview>> {
    #[derive(Deserialize)]
    struct Review {
        state: Option<PullRequestReview>,
    }

    let reviews: BTreeMap<String, Review> = from_json("pull_requests.reviews", reviews)?;
    Ok(reviews.into_values().filter_map(|reviews| reviews.state).max())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_requested_change_outweighs_all_approvals() {
        let at = "2026-01-02T03:04:05Z";
        let reviews = |states: &[Option<&str>]| {
            let each = states
                .iter()
                .enumerate()
                .map(|(n, state)| (n.to_string(), json!({"state": state, "at": at})));
            combine_reviews(serde_json::Value::Object(each.collect())).expect("readable")
        };
        assert_eq!(reviews(&[]), None);
        assert_eq!(reviews(&[None]), None);
        assert_eq!(reviews(&[Some("approved"), None]), Some(PullRequestReview::Approved));
        let one_more = reviews(&[Some("approved"), Some("changes_requested"), Some("approved")]);
        assert_eq!(one_more, Some(PullRequestReview::ChangesRequested));
    }
}
