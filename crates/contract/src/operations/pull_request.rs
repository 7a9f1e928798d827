//! `/projects/{key}/pull-requests`: pull and merge requests, and the results of CI for them.

use chrono::{DateTime, Utc};
use mc_domain::{
    CiConclusion, CiVerdict, FileChange, PullRequestId, PullRequestReview, PullRequestState,
    RecordId,
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::ProjectKey;
use crate::number::PageLimit;
use crate::text::IssueId;

path! {
    /// A pull request, in a path.
    PullRequestPath {
        /// The project's key.
        key: ProjectKey,
        /// The pull request's id here.
        id: PullRequestId,
    }
}

query! {
    /// Which pull requests to list.
    PullRequestQuery {
        /// Only those in this state.
        state: Option<PullRequestState>,
        /// Only those that mention this task, by its tracker's id.
        task_external_id: Option<IssueId>,
        /// Only those received before this one: the `next_cursor` of the previous page.
        cursor: Option<PullRequestId>,
        /// 1 to 200; 50 when absent.
        limit: Option<PageLimit>,
    }
}

/// A pull or merge request as the project knows it.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000006", "external_id": "acme/shop!88",
    "title": "Convert delay units", "state": "merged", "author": "vera",
    "head_sha": "0a1b2c3d", "merge_sha": "4e5f6a7b", "base_ref": "main",
    "url": "https://git.example.org/acme/shop/pull/88", "review_state": "approved",
    "ci_status": "passed", "task_external_ids": ["CS-214"],
    "source_updated_at": "2026-11-20T10:00:00Z"
}))]
pub struct PullRequest {
    /// Its id here.
    pub id: PullRequestId,
    /// The host's own id, such as `octocat/hello!12`.
    pub external_id: String,
    /// One line that names it.
    pub title: String,
    /// Whether it is open, closed or merged.
    pub state: PullRequestState,
    /// The host's name of its author.
    pub author: Option<String>,
    /// Its last commit.
    pub head_sha: Option<String>,
    /// The commit by which it was merged.
    pub merge_sha: Option<String>,
    /// The branch that it is for.
    pub base_ref: Option<String>,
    /// Its address at the host; may be empty.
    pub url: String,
    /// The reviewers' verdict; absent without one.
    pub review_state: Option<PullRequestReview>,
    /// The result of CI; absent without one.
    pub ci_status: Option<CiVerdict>,
    /// The project's tasks that it mentions.
    pub task_external_ids: Vec<String>,
    /// When it was opened; absent if the provider did not send it.
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed or merged; absent while it is open.
    pub closed_at: Option<DateTime<Utc>>,
    /// When it was merged.
    pub merged_at: Option<DateTime<Utc>>,
    /// When it last changed at the host.
    pub source_updated_at: DateTime<Utc>,
}

/// The result of a CI run on a commit.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CiRun {
    /// The repository at its host.
    pub repository: String,
    /// The commit.
    pub sha: String,
    /// Name of the check or pipeline.
    pub name: String,
    /// Its result.
    pub conclusion: CiConclusion,
    /// Its address at the host; may be empty.
    pub url: String,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// When it last changed at the host.
    pub source_updated_at: DateTime<Utc>,
}

/// The files that a pull request changes, as an integration read them from its host.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ChangedFiles {
    /// The last commit of the pull request at that time.
    pub head_sha: String,
    /// Whether `items` has all files: at most 300 are read.
    pub is_complete: bool,
    /// Why they were not read, or not again after a later commit.
    pub error: Option<String>,
    /// The files by path.
    pub items: Vec<ChangedFile>,
}

/// A file that a pull request changes.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ChangedFile {
    /// Path in the repository.
    pub path: String,
    /// Path before a rename.
    pub previous_path: Option<String>,
    /// The kind of change.
    pub status: FileChange,
    /// Added lines; absent if the provider did not send them.
    pub additions: Option<i32>,
    /// Deleted lines; absent if the provider did not send them.
    pub deletions: Option<i32>,
}

/// A pull request, its records, its CI results and its files.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000006", "external_id": "acme/shop!88",
    "title": "Convert delay units", "state": "merged", "author": "vera",
    "head_sha": "0a1b2c3d", "merge_sha": "4e5f6a7b", "base_ref": "main",
    "url": "https://git.example.org/acme/shop/pull/88", "review_state": "approved",
    "ci_status": "passed", "task_external_ids": ["CS-214"],
    "source_updated_at": "2026-11-20T10:00:00Z", "record_ids": [],
    "ci_results": [{
        "repository": "acme/shop", "sha": "4e5f6a7b", "name": "test", "conclusion": "success",
        "url": "https://git.example.org/acme/shop/runs/7",
        "source_updated_at": "2026-11-20T10:00:00Z"
    }],
    "files": {
        "head_sha": "0a1b2c3d", "is_complete": true,
        "items": [{"path": "app/models/cart.rb", "status": "modified", "additions": 4,
                   "deletions": 1}]
    }
}))]
pub struct PullRequestWithRuns {
    /// The pull request.
    #[serde(flatten)]
    pub pull_request: PullRequest,
    /// Live records about one of its commits.
    pub record_ids: Vec<RecordId>,
    /// CI results of the merge commit and of the last commit.
    pub ci_results: Vec<CiRun>,
    /// The files that it changes; absent if nothing is known of them.
    pub files: Option<ChangedFiles>,
}
