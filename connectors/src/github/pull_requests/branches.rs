//! Branches.

use serde::de::IgnoredAny;
use serde_json::json;

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::github::refs;
use crate::resource_name;

impl RepositoryPullRequests {
    pub(super) async fn read_branch(&self, name: &str) -> Result<Option<String>, Error> {
        let name = resource_name::branch(self.http(), name)?;
        if let Some(sha) = self.head(name).await? {
            return Ok(Some(sha));
        }
        // Fails if the branch is missing because the whole repository is.
        self.client.get::<IgnoredAny>(&self.route(""), &()).await?;
        Ok(None)
    }

    pub(super) async fn post_branch(&self, name: &str, sha: &str) -> Result<(), Error> {
        let branch = resource_name::branch(self.http(), name)?;
        let sha = resource_name::commit(self.http(), sha)?;
        let body = json!({ "ref": format!("refs/heads/{branch}"), "sha": sha });
        let created = self.client.post::<IgnoredAny>(&self.route("/git/refs"), &body).await;
        let Err(error) = created else { return Ok(()) };
        // GitHub responds so if the branch exists, and for other reasons.
        let is_invalid = matches!(error, Error::Rejected { status: 422, .. });
        if is_invalid && let Some(sha) = self.head(branch).await? {
            let (connector, branch) = (self.http().connector().to_owned(), branch.to_owned());
            return Err(Error::BranchExists { connector, branch, sha });
        }
        Err(self.http().write_error(error, &format!("to create the branch {branch}")))
    }

    async fn head(&self, branch: &str) -> Result<Option<String>, Error> {
        refs::target(&self.client, &self.route(""), &format!("heads/{branch}")).await
    }
}
