//! The branches, pull requests and commit statuses of a repository, to change them.

mod access;
mod branches;
mod checks;
mod merges;
mod pages;
mod pulls;
mod required_checks;
mod reviews;

use super::client::Client;
use crate::error::Error;
use crate::http::Http;
use crate::resource_name;
use crate::traits::{
    Approval, CommitCheck, CredentialAccess, Merge, MergeMethod, MergeRequest, NewPullRequest,
    NewStatus, PullRequest, PullRequestHost, RequiredChecks, ResponseFuture,
};

pub(super) struct RepositoryPullRequests {
    client: Client,
    owner: String,
    name: String,
}

impl RepositoryPullRequests {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let (owner, name) = resource_name::repository(&http, resource)?;
        Ok(Self { client: Client::new(http), owner, name })
    }

    fn http(&self) -> &Http {
        &self.client.http
    }

    fn route(&self, rest: &str) -> String {
        format!("/repos/{}/{}{rest}", self.owner, self.name)
    }

    fn unexpected(&self, action: &str, reason: &str) -> Error {
        self.http().unexpected_response(action, reason.to_owned())
    }
}

impl PullRequestHost for RepositoryPullRequests {
    fn access(&self) -> ResponseFuture<'_, CredentialAccess> {
        Box::pin(self.read_access())
    }

    fn find_branch<'a>(&'a self, name: &'a str) -> ResponseFuture<'a, Option<String>> {
        Box::pin(self.read_branch(name))
    }

    fn create_branch<'a>(&'a self, name: &'a str, sha: &'a str) -> ResponseFuture<'a, ()> {
        Box::pin(self.post_branch(name, sha))
    }

    fn find_pull_request<'a>(
        &'a self,
        head: &'a str,
        base: &'a str,
    ) -> ResponseFuture<'a, Option<PullRequest>> {
        Box::pin(self.find(head, base))
    }

    fn open_pull_request<'a>(&'a self, new: &'a NewPullRequest) -> ResponseFuture<'a, PullRequest> {
        Box::pin(self.open(new))
    }

    fn get_pull_request(&self, number: u64) -> ResponseFuture<'_, PullRequest> {
        Box::pin(self.get(number))
    }

    fn request_reviewers<'a>(
        &'a self,
        number: u64,
        logins: &'a [String],
    ) -> ResponseFuture<'a, ()> {
        Box::pin(self.post_reviewers(number, logins))
    }

    fn approve_pull_request<'a>(
        &'a self,
        number: u64,
        head_sha: &'a str,
        body: &'a str,
    ) -> ResponseFuture<'a, Approval> {
        Box::pin(self.approve(number, head_sha, body))
    }

    fn merge_pull_request<'a>(
        &'a self,
        number: u64,
        merge: &'a MergeRequest,
    ) -> ResponseFuture<'a, Merge> {
        Box::pin(self.merge(number, merge))
    }

    fn set_status<'a>(&'a self, sha: &'a str, status: &'a NewStatus) -> ResponseFuture<'a, ()> {
        Box::pin(self.post_status(sha, status))
    }

    fn list_checks<'a>(&'a self, sha: &'a str) -> ResponseFuture<'a, Vec<CommitCheck>> {
        Box::pin(self.read_checks(sha))
    }

    fn list_required_checks<'a>(&'a self, branch: &'a str) -> ResponseFuture<'a, RequiredChecks> {
        Box::pin(self.read_required_checks(branch))
    }

    fn list_merge_methods(&self) -> ResponseFuture<'_, Option<Vec<MergeMethod>>> {
        Box::pin(self.read_merge_methods())
    }
}
