//! Merges of pull requests.

use mc_domain::PullRequestState;
use serde::Deserialize;
use serde_json::{Value, json};

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::event::field::is_object_id;
use crate::resource_name;
use crate::traits::{Merge, MergeMethod, MergeRequest};

#[derive(Deserialize)]
struct Merged {
    sha: String,
}

impl RepositoryPullRequests {
    pub(super) async fn merge(&self, number: u64, merge: &MergeRequest) -> Result<Merge, Error> {
        let head_sha = resource_name::commit(self.http(), &merge.head_sha)?;
        let pull = self.get(number).await?;
        self.check_head(&pull, head_sha)?;
        if pull.state == PullRequestState::Merged {
            return Ok(Merge { sha: pull.merge_sha, is_new: false });
        }
        self.check_open(&pull)?;
        let route = self.route(&format!("/pulls/{number}/merge"));
        match self.client.put::<Merged>(&route, &body(merge, head_sha)).await {
            Ok(Merged { sha }) => {
                Ok(Merge { sha: Some(sha).filter(|sha| is_object_id(sha)), is_new: true })
            }
            Err(error) => Err(self.merge_error(number, head_sha, error).await?),
        }
    }

    /// Returns the reason why a merge failed. Fails if it can't be found out.
    async fn merge_error(&self, number: u64, head_sha: &str, error: Error) -> Result<Error, Error> {
        let Error::Rejected { connector, status: status @ (405 | 409), reason, .. } = error else {
            let action = format!("to merge pull request {number}");
            return Ok(self.http().write_error(error, &action));
        };
        // The head has changed since it was read, or the base has.
        if status == 409 {
            self.check_head(&self.get(number).await?, head_sha)?;
        }
        Ok(Error::NotMergeable { connector, number, reason })
    }
}

/// A rebase has no message of its own, so GitHub gets none.
fn body(merge: &MergeRequest, head_sha: &str) -> Value {
    let mut body = json!({ "sha": head_sha, "merge_method": merge.method.as_str() });
    if merge.method != MergeMethod::Rebase {
        body["commit_title"] = merge.title.as_str().into();
        body["commit_message"] = merge.message.as_str().into();
    }
    body
}
