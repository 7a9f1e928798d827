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
    Ok(page(rows, limit, |row| row.id))
}

/// Returns a pull request with the records about its commits, its CI results and its files.
pub async fn get(ctx: &ProjectContext, id: PullRequestId) -> Result<PullRequestWithRuns, Error> {
    let (store, project) = (&ctx.store, ctx.project.id);
    let pull_request = pull_requests::find(store, project, id).await?;
    let pull_request =
        pull_request.ok_or_else(|| Error::UnknownPullRequest(ctx.project.key.clone()))?;
    let record_ids = pull_requests::records(store, project, id).await?;
    let ci_results = list_ci_results(ctx, &pull_request).await?;
    Ok(PullRequestWithRuns {
        pull_request,
        record_ids,
        ci_results: ci_results.into_iter().map(ci_run).collect(),
        files: pull_requests::files::list(store, id).await?,
    })
}

/// Returns the CI results of the merge commit, then those of the head commit. After a fast-forward
/// they are one commit.
async fn list_ci_results(
    ctx: &ProjectContext,
    pull_request: &PullRequest,
) -> Result<Vec<CiResult>, Error> {
    let mut results = Vec::new();
    let PullRequest { merge_sha, head_sha, .. } = pull_request;
    let head = head_sha.as_ref().filter(|head| merge_sha.as_ref() != Some(*head));
    for sha in merge_sha.iter().chain(head) {
        results.extend(ci_results::of_commit(&ctx.store, ctx.project.id, sha).await?);
    }
    Ok(results)
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
