//! Reviews: requests for them, and approvals.

use mc_domain::PullRequestState;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::http::Written;
use crate::resource_name;
use crate::traits::{Approval, PullRequest};

#[derive(Deserialize)]
struct Review {
    id: u64,
    user: Option<User>,
    state: String,
    commit_id: Option<String>,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

impl RepositoryPullRequests {
    pub(super) async fn post_reviewers(&self, number: u64, logins: &[String]) -> Result<(), Error> {
        if logins.is_empty() {
            return Ok(());
        }
        let route = self.route(&format!("/pulls/{number}/requested_reviewers"));
        let requested = self.client.post(&route, &json!({ "reviewers": logins })).await;
        let action = format!("to request reviews of pull request {number}");
        let IgnoredAny = requested.map_err(|error| self.http().write_error(error, &action))?;
        Ok(())
    }

    /// GitHub accepts an approval of any commit, and of a commit that is no longer the head, so the
    /// head is compared first.
    pub(super) async fn approve(
        &self,
        number: u64,
        head_sha: &str,
        body: &str,
    ) -> Result<Approval, Error> {
        let head_sha = resource_name::commit(self.http(), head_sha)?;
        let login = self.client.login().await?;
        let pull = self.get(number).await?;
        self.check_head(&pull, head_sha)?;
        self.check_not_own(&pull, &login)?;
        if let Some(review_id) = self.find_approval(number, &login, head_sha).await? {
            return Ok(Approval { review_id, is_new: false });
        }
        self.check_open(&pull)?;
        let body = json!({ "commit_id": head_sha, "event": "APPROVE", "body": body });
        let created = self.client.post(&self.reviews_route(number), &body).await;
        let action = format!("to approve pull request {number}");
        let Written { id } = created.map_err(|error| self.http().write_error(error, &action))?;
        Ok(Approval { review_id: id, is_new: true })
    }

    /// Returns the approval of a commit by a user, unless it was dismissed or withdrawn since.
    async fn find_approval(
        &self,
        number: u64,
        login: &str,
        sha: &str,
    ) -> Result<Option<u64>, Error> {
        let rest = format!("/pulls/{number}/reviews");
        let reviews = self.read_all(&rest, |page: Vec<Review>| page).await?;
        // The reviews are in the order of time. A comment leaves an approval as it is.
        let mut own = reviews.iter().filter(|review| review.is_by(login) && review.is_verdict());
        let last = own.next_back();
        let is_approval = |review: &&Review| {
            review.state == "APPROVED" && review.commit_id.as_deref() == Some(sha)
        };
        Ok(last.filter(is_approval).map(|review| review.id))
    }

    fn reviews_route(&self, number: u64) -> String {
        self.route(&format!("/pulls/{number}/reviews"))
    }

    pub(super) fn check_head(&self, pull: &PullRequest, sha: &str) -> Result<(), Error> {
        if pull.head.sha.eq_ignore_ascii_case(sha) {
            return Ok(());
        }
        let (connector, head) = (self.http().connector().to_owned(), pull.head.sha.clone());
        Err(Error::HeadChanged { connector, number: pull.number, head })
    }

    pub(super) fn check_open(&self, pull: &PullRequest) -> Result<(), Error> {
        let PullRequest { number, state, .. } = *pull;
        if state == PullRequestState::Open {
            return Ok(());
        }
        let connector = self.http().connector().to_owned();
        Err(Error::PullRequestClosed { connector, number, state })
    }

    fn check_not_own(&self, pull: &PullRequest, login: &str) -> Result<(), Error> {
        let is_own = pull.author.as_ref().is_some_and(|author| author.eq_ignore_ascii_case(login));
        if !is_own {
            return Ok(());
        }
        let connector = self.http().connector().to_owned();
        Err(Error::OwnPullRequest { connector, number: pull.number })
    }
}

impl Review {
    fn is_by(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|user| user.login.eq_ignore_ascii_case(login))
    }

    fn is_verdict(&self) -> bool {
        matches!(self.state.as_str(), "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED")
    }
}
