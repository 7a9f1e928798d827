//! Pushing a commit to a git server.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::WorkTree;
use crate::program::Credential;
use crate::{Error, NetworkAccess, check_ref, network_policy};

/// Timeout of a push.
const LIMIT: Duration = Duration::from_mins(10);

/// A commit to push.
#[derive(Debug, Clone, Copy)]
pub struct Push<'a> {
    /// Repository.
    pub url: &'a Url,
    /// Commit, as an object name.
    pub commit: &'a str,
    /// Branch that is created or moved.
    pub branch: &'a str,
    /// Commit at which the branch must be; `None` if it must not exist.
    pub expected: Option<&'a str>,
}

impl WorkTree {
    /// Pushes a commit to a branch. The server moves the branch only if it is still where the
    /// caller saw it, so no commit of somebody else is lost.
    pub async fn push(
        &self,
        push: Push<'_>,
        access: NetworkAccess<'_>,
        credential: Option<Credential>,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let Push { url, commit, branch, expected } = push;
        check_ref(branch)?;
        let is_name = |name: &str| name.len() >= 40 && name.chars().all(|c| c.is_ascii_hexdigit());
        if branch.is_empty() || !is_name(commit) || !expected.is_none_or(is_name) {
            let reason = "give a branch, and commits as full object names";
            return Err(Error::Rejected(reason.into()));
        }
        let settings = network_policy::settings(url, access).await?;
        let user = self.git.user();
        let git = self.git.clone().with_remote(url, settings).with_credential(credential);
        // The objects belong to the user of the work tree.
        let git = git.with_user(user);
        git.check_version(LIMIT, cancel).await?;
        let lease =
            format!("--force-with-lease=refs/heads/{branch}:{}", expected.unwrap_or_default());
        let refspec = format!("{commit}:refs/heads/{branch}");
        let arguments = [
            "push",
            "--porcelain",
            "--no-verify",
            &lease,
            "--end-of-options",
            git.remote(),
            &refspec,
        ];
        git.push(&arguments, LIMIT, cancel).await.map(drop).map_err(|error| match error {
            // The message names a lock or a hook of the server, or the branch that was moved.
            Error::Unreachable(reason) if reason.contains("failed to push") => {
                Error::Rejected(format!(
                    "the server did not move the branch {branch}, which may have moved meanwhile \
                     ({reason}); fetch it again"
                ))
            }
            error => error,
        })
    }
}
