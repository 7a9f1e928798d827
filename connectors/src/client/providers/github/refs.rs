//! What the refs of a repository point to.

use futures::future::BoxFuture;
use octocrab::models::repos::{Object, Ref};
use serde::Deserialize;

use super::GitHub;
use crate::client::http::{Http, encoded};
use crate::client::{Error, resource_name};
use crate::traits::GitHost;

pub(in crate::client) struct Heads {
    github: GitHub,
    owner: String,
    name: String,
}

#[derive(Deserialize)]
struct Repository {
    default_branch: String,
}

impl Heads {
    pub(in crate::client) fn new(http: Http, what: &str) -> Result<Self, Error> {
        let (owner, name) = resource_name::repository(&http, what)?;
        Ok(Self { github: GitHub::new(http), owner, name })
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
        // Nobody sees a repository that is gone, or not theirs to see, either.
        self.repository().await.map(|_| None)
    }

    async fn repository(&self) -> Result<Repository, Error> {
        self.github.get(format!("/repos/{}/{}", self.owner, self.name), &()).await
    }

    async fn target(&self, name: &str) -> Result<Option<String>, Error> {
        let route = format!("/repos/{}/{}/git/ref/{}", self.owner, self.name, encoded(name));
        match self.github.get::<Ref>(route, &()).await {
            Ok(found) => Ok(id(found.object)),
            // 409: the repository is empty.
            Err(Error::NotFound { .. } | Error::Rejected { status: 409, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn id(object: Object) -> Option<String> {
    match object {
        Object::Commit { sha, .. }
        | Object::Tag { sha, .. }
        | Object::Tree { sha, .. }
        | Object::Blob { sha, .. } => Some(sha),
        _ => None,
    }
}

impl GitHost for Heads {
    fn resolve_ref<'a>(
        &'a self,
        reference: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>, Error>> {
        Box::pin(self.find(reference))
    }
}
