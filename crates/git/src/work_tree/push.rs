//! Pushing a commit to a git server.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::WorkTree;
use crate::program::{self, Credential};
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
    /// Pushes a commit to a branch, over https or ssh. The server moves the branch only if it is
    /// still where the caller saw it, so no commit of somebody else is lost.
    ///
    /// A checkout of this machine is not pushed: its configuration may lead git, and a credential,
    /// to another host.
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
        if !self.is_of_clone() {
            let reason = "a checkout of this machine is pushed by its owner, not by the service";
            return Err(Error::Rejected(reason.into()));
        }
        if url.scheme() == "file" {
            let reason = "give the https or ssh URL of a git server";
            return Err(Error::InvalidLocation(reason.into()));
        }
        let settings = network_policy::settings(url, access).await?;
        self.push_to(push, settings, credential, cancel).await
    }

    /// Pushes to a URL that was checked, with these settings of git.
    pub(crate) async fn push_to(
        &self,
        Push { url, commit, branch, expected }: Push<'_>,
        settings: Vec<String>,
        credential: Option<Credential>,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        if program::user_of(url) != self.git.user() {
            let reason =
                "the repository was fetched in another way (https or ssh); push it so, too";
            return Err(Error::Rejected(reason.into()));
        }
        let git = self.git.clone().with_remote(url, settings).with_credential(credential);
        git.check_version(LIMIT, cancel).await?;
        let lease =
            format!("--force-with-lease=refs/heads/{branch}:{}", expected.unwrap_or_default());
        let refspec = format!("{commit}:refs/heads/{branch}");
        let options = "push --porcelain --no-verify --no-signed --no-follow-tags \
                       --recurse-submodules=no";
        let mut arguments: Vec<&str> = options.split_whitespace().collect();
        arguments.extend([&lease, "--end-of-options", git.remote(), &refspec]);
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
