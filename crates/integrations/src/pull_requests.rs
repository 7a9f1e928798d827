//! Pull and merge requests, and the results of CI for them.

use mc_contract::operations::page::{Page, page};
use mc_contract::operations::pull_request::{
    CiRun, PullRequest, PullRequestQuery, PullRequestWithRuns,
};
use mc_domain::PullRequestId;
use mc_memory::ProjectContext;
use mc_store::ci_results::{self, CiResult};
use mc_store::pull_requests::{self, PullRequestFilter};

use crate::Error;

/// Lists pull requests, newest first.
pub async fn list(
    ctx: &ProjectContext,
    query: PullRequestQuery,
) -> Result<Page<PullRequest>, Error> {
    let filter = PullRequestFilter {
        state: query.state,
        task: query.task_external_id.map(Into::into),
        cursor: query.cursor,
    };
    let limit = query.limit.unwrap_or_default().get();
    let rows = pull_requests::list(&ctx.store, ctx.project.id, &filter, limit).await?;
    Ok(page(rows, limit, |row| row.id, pull_request))
}

/// Returns a pull request with the records about its commits, and its CI results.
pub async fn get(ctx: &ProjectContext, id: PullRequestId) -> Result<PullRequestWithRuns, Error> {
    let (store, project) = (&ctx.store, ctx.project.id);
    let row = pull_requests::find(store, project, id).await?;
    let row = row.ok_or_else(|| Error::UnknownPullRequest(ctx.project.key.clone()))?;
    let record_ids = pull_requests::records(store, project, id).await?;
    let ci_results = list_ci_results(ctx, &row).await?;
    Ok(PullRequestWithRuns {
        pull_request: pull_request(row),
        record_ids,
        ci_results: ci_results.into_iter().map(ci_run).collect(),
    })
}

/// Returns the CI results of the merge commit, then those of the head commit. After a fast-forward
/// they are one commit.
async fn list_ci_results(
    ctx: &ProjectContext,
    row: &pull_requests::PullRequest,
) -> Result<Vec<CiResult>, Error> {
    let mut results = Vec::new();
    let head = row.head_sha.as_ref().filter(|head| row.merge_sha.as_ref() != Some(*head));
    for sha in row.merge_sha.iter().chain(head) {
        results.extend(ci_results::of_commit(&ctx.store, ctx.project.id, sha).await?);
    }
    Ok(results)
}

/// Converts a row to its form in responses.
pub(crate) fn pull_request(row: pull_requests::PullRequest) -> PullRequest {
    PullRequest {
        id: row.id,
        external_id: row.external_id,
        title: row.title,
        state: row.state,
        author: row.author,
        head_sha: row.head_sha,
        merge_sha: row.merge_sha,
        base_ref: row.base_ref,
        url: row.url,
        review_state: row.review_state,
        ci_status: row.ci_status,
        task_external_ids: row.tasks,
        source_updated_at: row.source_updated_at,
    }
}

fn ci_run(result: CiResult) -> CiRun {
    CiRun {
        repository: result.repository,
        sha: result.sha,
        name: result.name,
        conclusion: result.conclusion,
        url: result.url,
        completed_at: result.completed_at,
        source_updated_at: result.source_updated_at,
    }
}
