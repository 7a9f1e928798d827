//! Pull requests: found, opened and read.

use mc_domain::{PullRequestState, UntrustedText};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::event::field;
use crate::resource_name;
use crate::traits::{NewPullRequest, PullRequest, PullRequestSide};

/// Characters of a branch's or repository's name, of a login, and of a title.
const NAME: usize = 512;
const LOGIN: usize = 128;
const TITLE: usize = 512;

/// A query for the pull request of one head and base. GitHub has at most one that is open.
#[derive(Serialize)]
struct ListQuery<'a> {
    state: &'a str,
    /// `owner:branch`.
    head: String,
    base: &'a str,
    per_page: usize,
}

#[derive(Deserialize)]
struct Item {
    number: u64,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: Option<String>,
    title: String,
    state: String,
    draft: Option<bool>,
    merged: Option<bool>,
    mergeable: Option<bool>,
    merge_commit_sha: Option<String>,
    user: Option<User>,
    head: Side,
    base: Side,
    requested_reviewers: Option<Vec<User>>,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    repo: Option<Repository>,
}

#[derive(PartialEq, Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

impl RepositoryPullRequests {
    pub(super) async fn find(&self, head: &str, base: &str) -> Result<Option<PullRequest>, Error> {
        let head = resource_name::branch(self.http(), head)?;
        let base = resource_name::branch(self.http(), base)?;
        let qualified_head = format!("{}:{head}", self.owner);
        let query = ListQuery { state: "open", head: qualified_head, base, per_page: 100 };
        let items: Vec<Item> = self.client.get(&self.route("/pulls"), &query).await?;
        // GitHub ignores a head that it can't parse, and lists all pull requests.
        match items.into_iter().find(|item| item.is_between(head, base)) {
            Some(item) => self.get(item.number).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Error> {
        let head = resource_name::branch(self.http(), &new.head)?;
        let base = resource_name::branch(self.http(), &new.base)?;
        let body = json!({ "head": head, "base": base, "title": new.title, "body": new.body,
            "draft": new.draft });
        let error = match self.post_pull(&body).await {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let is_invalid = matches!(error, Error::Rejected { status: 422, .. });
        if is_invalid && let Some(existing) = self.find(head, base).await? {
            let connector = self.http().connector().to_owned();
            return Err(Error::PullRequestExists { connector, number: existing.number });
        }
        Err(self.http().write_error(error, &format!("to open a pull request from {head}")))
    }

    async fn post_pull(&self, body: &Value) -> Result<PullRequest, Error> {
        self.converted(self.client.post(&self.route("/pulls"), body).await?)
    }

    pub(super) async fn get(&self, number: u64) -> Result<PullRequest, Error> {
        let route = self.route(&format!("/pulls/{number}"));
        let pull: Pull = self.client.get(&route, &()).await?;
        self.converted(pull)
    }

    fn converted(&self, pull: Pull) -> Result<PullRequest, Error> {
        let action = format!("for pull request {}", pull.number);
        pull.convert().ok_or_else(|| self.unexpected(&action, "an invalid branch or commit"))
    }
}

impl Item {
    /// Returns whether the pull request is from the branch `head` of its own repository.
    fn is_between(&self, head: &str, base: &str) -> bool {
        let is_own = self.head.repo.is_some() && self.head.repo == self.base.repo;
        is_own && self.head.branch == head && self.base.branch == base
    }
}

impl Pull {
    fn convert(self) -> Option<PullRequest> {
        let is_merged = self.merged == Some(true);
        let reviewers = self.requested_reviewers.unwrap_or_default();
        Some(PullRequest {
            number: self.number,
            url: field::web_url(self.html_url),
            title: UntrustedText::new(field::line(&self.title, TITLE)),
            state: match self.state.as_str() {
                _ if is_merged => PullRequestState::Merged,
                "open" => PullRequestState::Open,
                _ => PullRequestState::Closed,
            },
            is_draft: self.draft == Some(true),
            is_mergeable: self.mergeable,
            // Before the merge, this is a commit of GitHub's that tries the merge.
            merge_sha: self.merge_commit_sha.filter(|sha| is_merged && field::is_object_id(sha)),
            head: self.head.convert()?,
            base: self.base.convert()?,
            author: self.user.map(User::into_login),
            requested_reviewers: reviewers.into_iter().map(User::into_login).collect(),
        })
    }
}

impl Side {
    /// A name or a commit that is not valid is rejected: both are compared as a whole.
    fn convert(self) -> Option<PullRequestSide> {
        let repository = self.repo.map(|repository| repository.full_name);
        let names = repository.iter().chain([&self.branch]);
        let are_lines = names.into_iter().all(|name| field::is_line(name, NAME));
        let is_valid = are_lines && field::is_object_id(&self.sha);
        is_valid.then_some(PullRequestSide { branch: self.branch, sha: self.sha, repository })
    }
}

impl User {
    fn into_login(self) -> String {
        field::line(&self.login, LOGIN)
    }
}
