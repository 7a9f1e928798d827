//! The refs of a repository.

use octocrab::models::repos::{Object, Ref};
use serde::Deserialize;

use super::client::Client;
use super::files;
use crate::error::Error;
use crate::http::{Http, encode_segment};
use crate::resource_name;
use crate::traits::{ChangedFiles, GitHost, ResponseFuture};

pub(super) struct RepositoryRefs {
    client: Client,
    /// `/repos/owner/name`.
    route: String,
}

#[derive(Deserialize)]
struct Repository {
    default_branch: String,
}

impl RepositoryRefs {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let (owner, name) = resource_name::repository(&http, resource)?;
        Ok(Self { client: Client::new(http), route: format!("/repos/{owner}/{name}") })
    }

    async fn find(&self, reference: Option<&str>) -> Result<Option<String>, Error> {
        let Some(reference) = reference else {
            let branch = self.repository().await?.default_branch;
            return self.target(&format!("heads/{branch}")).await;
        };
        let names = match reference.strip_prefix("refs/") {
            Some(full) => vec![full.to_owned()],
            None => vec![format!("heads/{reference}"), format!("tags/{reference}")],
        };
        for name in names {
            if let Some(target) = self.target(&name).await? {
                return Ok(Some(target));
            }
        }
        // Fails if the ref is missing because the whole repository is.
        self.repository().await.map(|_| None)
    }

    async fn repository(&self) -> Result<Repository, Error> {
        self.client.get(&self.route, &()).await
    }

    async fn target(&self, name: &str) -> Result<Option<String>, Error> {
        target(&self.client, &self.route, name).await
    }
}

/// Returns the object of a ref, such as `heads/main`, of the repository at `route`; `None` if there
/// is no such ref, or no such repository.
pub(super) async fn target(
    client: &Client,
    route: &str,
    name: &str,
) -> Result<Option<String>, Error> {
    let route = format!("{route}/git/ref/{}", encode_segment(name));
    match client.get::<Ref>(&route, &()).await {
        Ok(found) => Ok(object_id(found.object)),
        // 409: the repository is empty.
        Err(Error::NotFound { .. } | Error::Rejected { status: 409, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn object_id(object: Object) -> Option<String> {
    match object {
        Object::Commit { sha, .. }
        | Object::Tag { sha, .. }
        | Object::Tree { sha, .. }
        | Object::Blob { sha, .. } => Some(sha),
        _ => None,
    }
}

impl GitHost for RepositoryRefs {
    fn resolve_ref<'a>(&'a self, reference: Option<&'a str>) -> ResponseFuture<'a, Option<String>> {
        Box::pin(self.find(reference))
    }

    fn list_changed_files<'a>(&'a self, external_id: &'a str) -> ResponseFuture<'a, ChangedFiles> {
        Box::pin(files::list(&self.client, &self.route, external_id))
    }
}
