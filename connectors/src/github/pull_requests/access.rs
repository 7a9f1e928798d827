//! What the credential may do, and how the repository lets pull requests be merged.

use http::HeaderMap;
use serde::Deserialize;

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::traits::{CredentialAccess, MergeMethod};

/// Lists the scopes of a classic token. Tokens of other kinds have no such header.
const SCOPES: &str = "x-oauth-scopes";
/// The scope of writes. `public_repo` does not let a token create a branch, even of a public
/// repository.
const WRITE_SCOPE: &str = "repo";

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Repository {
    permissions: Option<Permissions>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
    allow_merge_commit: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Permissions {
    push: bool,
}

impl RepositoryPullRequests {
    pub(super) async fn read_access(&self) -> Result<CredentialAccess, Error> {
        let action = "to read the credential's user";
        let (login, scopes) = match self.http().get_with_headers::<User>(&["user"], action).await {
            Ok((headers, user)) => (Some(user.login), scopes(&headers)),
            // The token of an installation has no user.
            Err(Error::Denied { status: 403, .. }) => (None, None),
            Err(error) => return Err(error),
        };
        let has_scope =
            scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|scope| scope == WRITE_SCOPE));
        let may_push = self.repository().await?.permissions.unwrap_or_default().push;
        Ok(CredentialAccess { login, scopes, can_push: has_scope && may_push })
    }

    pub(super) async fn read_merge_methods(&self) -> Result<Option<Vec<MergeMethod>>, Error> {
        let repository = self.repository().await?;
        let methods = [
            (MergeMethod::Squash, repository.allow_squash_merge),
            (MergeMethod::Rebase, repository.allow_rebase_merge),
            (MergeMethod::Merge, repository.allow_merge_commit),
        ];
        if methods.iter().any(|(_, is_allowed)| is_allowed.is_none()) {
            return Ok(None);
        }
        let allowed = methods.into_iter().filter(|(_, is_allowed)| *is_allowed == Some(true));
        Ok(Some(allowed.map(|(method, _)| method).collect()))
    }

    async fn repository(&self) -> Result<Repository, Error> {
        self.client.get(&self.route(""), &()).await
    }
}

fn scopes(headers: &HeaderMap) -> Option<Vec<String>> {
    let value = headers.get(SCOPES)?.to_str().ok()?;
    let scopes = value.split(',').map(str::trim).filter(|scope| !scope.is_empty());
    Some(scopes.map(str::to_owned).collect())
}
