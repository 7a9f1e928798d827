//! Branches, pull requests and commit statuses of a repository, to change them.

use mc_domain::{CiConclusion, PullRequestState, UntrustedText};

use super::ResponseFuture;

/// The branches, pull requests and commit statuses of one repository.
///
/// A commit is named by its full id, a branch without `refs/heads/`, and a pull request by its
/// number. Nothing is deleted, and no branch is moved except by a merge.
///
/// A write is sent once. After [`Error::OutcomeUnknown`], and after any other error that is no
/// refusal, the caller looks before it sends the write again:
///
/// | write | look |
/// | --- | --- |
/// | `create_branch` | call it again: [`Error::BranchExists`] has the commit |
/// | `open_pull_request` | [`find_pull_request`](Self::find_pull_request) |
/// | `request_reviewers` | [`PullRequest::requested_reviewers`] |
/// | `approve_pull_request` | call it again: it looks first |
/// | `merge_pull_request` | call it again: it looks first |
/// | `set_status` | call it again: the later status replaces the earlier |
///
/// A write that the credential may not carry out is [`Error::Denied`], or [`Error::NotFound`] where
/// GitHub does not tell that the repository exists.
///
/// [`Error::Denied`]: crate::client::Error::Denied
/// [`Error::NotFound`]: crate::client::Error::NotFound
/// [`Error::OutcomeUnknown`]: crate::client::Error::OutcomeUnknown
/// [`Error::BranchExists`]: crate::client::Error::BranchExists
pub trait PullRequestHost: Send + Sync {
    /// Returns what the credential may do in the repository.
    fn access(&self) -> ResponseFuture<'_, CredentialAccess>;

    /// Returns the commit of a branch; `None` if there is no such branch. Fails if the repository
    /// does not exist.
    fn find_branch<'a>(&'a self, name: &'a str) -> ResponseFuture<'a, Option<String>>;

    /// Creates a branch at a commit that the repository has. Fails with
    /// [`Error::BranchExists`](crate::client::Error::BranchExists), which has the commit of the
    /// branch: if that is `sha`, the branch is as requested.
    fn create_branch<'a>(&'a self, name: &'a str, sha: &'a str) -> ResponseFuture<'a, ()>;

    /// Finds the open pull request from a branch of this repository, not of a fork, into `base`.
    fn find_pull_request<'a>(
        &'a self,
        head: &'a str,
        base: &'a str,
    ) -> ResponseFuture<'a, Option<PullRequest>>;

    /// Opens a pull request. Fails with
    /// [`Error::PullRequestExists`](crate::client::Error::PullRequestExists) if one with the same
    /// head and base is open.
    fn open_pull_request<'a>(&'a self, new: &'a NewPullRequest) -> ResponseFuture<'a, PullRequest>;

    /// Returns a pull request as it is now.
    fn get_pull_request(&self, number: u64) -> ResponseFuture<'_, PullRequest>;

    /// Requests reviews of these users, by their logins. Without a login, sends no request.
    fn request_reviewers<'a>(&'a self, number: u64, logins: &'a [String])
    -> ResponseFuture<'a, ()>;

    /// Approves the commit `head_sha` of a pull request, unless the credential's user has already.
    /// `body` is the text of the review.
    ///
    /// Fails with [`Error::HeadChanged`](crate::client::Error::HeadChanged) if the head is another
    /// commit, and with [`Error::OwnPullRequest`](crate::client::Error::OwnPullRequest) if the
    /// credential's user opened the pull request. A token without a user, as an installation of a
    /// GitHub App has, is denied.
    fn approve_pull_request<'a>(
        &'a self,
        number: u64,
        head_sha: &'a str,
        body: &'a str,
    ) -> ResponseFuture<'a, Approval>;

    /// Merges the commit `head_sha` of a pull request, unless it is merged already.
    ///
    /// Fails with [`Error::HeadChanged`](crate::client::Error::HeadChanged) if the head is another
    /// commit, with [`Error::NotMergeable`](crate::client::Error::NotMergeable) if the provider
    /// refuses the merge, and with
    /// [`Error::PullRequestClosed`](crate::client::Error::PullRequestClosed).
    fn merge_pull_request<'a>(
        &'a self,
        number: u64,
        merge: &'a MergeRequest,
    ) -> ResponseFuture<'a, Merge>;

    /// Sets the status of a commit in a context. It replaces the earlier one of the same context.
    fn set_status<'a>(&'a self, sha: &'a str, status: &'a NewStatus) -> ResponseFuture<'a, ()>;

    /// Lists the latest conclusion of each status and check run of a commit. There is one item for
    /// each context and app.
    fn list_checks<'a>(&'a self, sha: &'a str) -> ResponseFuture<'a, Vec<CommitCheck>>;

    /// Lists the checks that a branch requires of a pull request into it.
    ///
    /// Reads the rules of rulesets, and the branch with the checks of its protection. The address
    /// of the protection itself is not read, as it needs a token of an administrator.
    /// [`RequiredChecks::is_complete`] tells whether the credential may see all of them. The
    /// repository, or the branch, that does not exist is an error.
    fn list_required_checks<'a>(&'a self, branch: &'a str) -> ResponseFuture<'a, RequiredChecks>;

    /// Lists the methods by which pull requests may be merged; `None` if the credential may not see
    /// them, as one that can't push.
    fn list_merge_methods(&self) -> ResponseFuture<'_, Option<Vec<MergeMethod>>>;
}

/// What a credential may do in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialAccess {
    /// Login of the user; `None` for a token without one, as an installation of a GitHub App has.
    pub login: Option<String>,
    /// The scopes of a classic token, such as `repo`; `None` for a token of another kind.
    pub scopes: Option<Vec<String>>,
    /// Whether it may create branches and merge: the user may push, and a classic token has the
    /// scope `repo`. A fine-grained token may still lack a permission, which no response tells
    /// before the write is denied.
    pub can_push: bool,
}

/// A pull request. All texts are of its author and of others who may push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// Where people read it; may be empty.
    pub url: String,
    /// The title, on one line.
    pub title: UntrustedText,
    /// Open, closed or merged.
    pub state: PullRequestState,
    /// Whether it is a draft, which can't be merged.
    pub is_draft: bool,
    /// Whether it can be merged without conflicts; `None` until GitHub has computed it, and once
    /// it is merged.
    pub is_mergeable: Option<bool>,
    /// The commit in the base branch, once it is merged.
    pub merge_sha: Option<String>,
    /// Where the changes are.
    pub head: PullRequestSide,
    /// Where they are merged into.
    pub base: PullRequestSide,
    /// Login of the author; `None` if the account was deleted.
    pub author: Option<String>,
    /// Logins of the users whose review is requested and missing.
    pub requested_reviewers: Vec<String>,
}

/// One side of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestSide {
    /// Name of the branch. Its author chose it: it is one line, and may have any other character
    /// that git accepts.
    pub branch: String,
    /// The commit.
    pub sha: String,
    /// The repository, such as `octocat/hello`; `None` if a fork was deleted.
    pub repository: Option<String>,
}

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// The branch of this repository with the changes.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    /// The title.
    pub title: String,
    /// The description, in Markdown; may be empty.
    pub body: String,
    /// Whether to open it as a draft.
    pub draft: bool,
}

/// An approving review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approval {
    /// The id of the review.
    pub review_id: u64,
    /// Whether this call created it.
    pub is_new: bool,
}

/// How commits get into the base branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeMethod {
    /// By one new commit with all changes.
    Squash,
    /// By a copy of each commit.
    Rebase,
    /// By a merge commit.
    Merge,
}

impl MergeMethod {
    /// Returns GitHub's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Squash => "squash",
            Self::Rebase => "rebase",
            Self::Merge => "merge",
        }
    }
}

/// A merge to carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequest {
    /// The method.
    pub method: MergeMethod,
    /// The head that was reviewed. No other commit is merged.
    pub head_sha: String,
    /// The first line of the commit's message. A rebase keeps the messages and ignores it.
    pub title: String,
    /// The rest of the commit's message; may be empty. A rebase ignores it.
    pub message: String,
}

/// A merge that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The commit in the base branch; `None` if GitHub does not tell it.
    pub sha: Option<String>,
    /// Whether this call merged it. Otherwise it had been merged before.
    pub is_new: bool,
}

/// The state of a commit in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusState {
    /// The check itself failed.
    Error,
    /// The commit did not pass.
    Failure,
    /// Not known yet.
    Pending,
    /// The commit passed.
    Success,
}

impl StatusState {
    /// Returns GitHub's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Failure => "failure",
            Self::Pending => "pending",
            Self::Success => "success",
        }
    }
}

/// A status to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStatus {
    /// The state.
    pub state: StatusState,
    /// The name of the check, by which a branch may require it.
    pub context: String,
    /// A line of text. It is cut after 140 characters, which is the most that GitHub accepts.
    pub description: String,
    /// Where people read more.
    pub target_url: Option<String>,
}

/// The latest result of a check on a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCheck {
    /// The context of a status or the name of a check run, unchanged: anyone who may push can set
    /// it to any text.
    pub context: UntrustedText,
    /// The app of a check run. GitHub does not tell the app of a status.
    pub app_id: Option<u64>,
    /// The result.
    pub conclusion: CiConclusion,
    /// Where people read the log; may be empty.
    pub url: String,
}

/// The checks that a branch requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredChecks {
    /// Each check once.
    pub checks: Vec<RequiredCheck>,
    /// Whether these are all. If not, the rules or the protection are hidden from the credential,
    /// and GitHub may refuse a merge because of others.
    pub is_complete: bool,
}

/// A check that a branch requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredCheck {
    /// The context of the status or the name of the check run.
    pub context: UntrustedText,
    /// The app whose check run counts; any status or check run counts if there is none.
    pub app_id: Option<u64>,
}

impl RequiredCheck {
    /// Returns the result of this check; `None` if the commit has none. Of the results of several
    /// apps it is the worst.
    ///
    /// If an app is required, a status does not count, as its app is unknown. GitHub may count it.
    pub fn conclusion(&self, checks: &[CommitCheck]) -> Option<CiConclusion> {
        let of_app = |check: &&CommitCheck| self.app_id.is_none() || check.app_id == self.app_id;
        let matching = checks.iter().filter(|check| check.context == self.context);
        matching.filter(of_app).map(|check| check.conclusion).max_by_key(|conclusion| {
            match conclusion {
                CiConclusion::Neutral => 0,
                CiConclusion::Success => 1,
                CiConclusion::Pending => 2,
                CiConclusion::Cancelled => 3,
                CiConclusion::Failure => 4,
            }
        })
    }

    /// Returns whether the commit passed this check. GitHub counts a neutral or skipped check run
    /// as passed.
    pub fn is_passed(&self, checks: &[CommitCheck]) -> bool {
        let conclusion = self.conclusion(checks);
        matches!(conclusion, Some(CiConclusion::Success | CiConclusion::Neutral))
    }
}
