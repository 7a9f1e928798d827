//! The refs of a project.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::diffs;
use crate::error::Error;
use crate::http::Http;
use crate::resource_name;
use crate::traits::{ChangedFiles, GitHost, ResponseFuture};

pub(super) struct ProjectRefs {
    http: Http,
    path: String,
}

#[derive(Deserialize)]
struct Project {
    default_branch: Option<String>,
}

#[derive(Deserialize)]
struct Branch {
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct Tag {
    target: String,
}

impl ProjectRefs {
    pub(super) fn new(http: Http, resource: &str) -> Result<Self, Error> {
        let path = resource_name::path(&http, resource)?;
        Ok(Self { http, path })
    }

    async fn find(&self, reference: Option<&str>) -> Result<Option<String>, Error> {
        let Some(reference) = reference else {
            return match self.project().await?.default_branch {
                Some(branch) => self.branch(&branch).await,
                None => Ok(None),
            };
        };
        let found = if let Some(branch) = reference.strip_prefix("refs/heads/") {
            self.branch(branch).await?
        } else if let Some(tag) = reference.strip_prefix("refs/tags/") {
            self.tag(tag).await?
        } else {
            match self.branch(reference).await? {
                Some(found) => Some(found),
                None => self.tag(reference).await?,
            }
        };
        if found.is_none() {
            // Fails if the ref is missing because the whole project is.
            self.project().await?;
        }
        Ok(found)
    }

    async fn project(&self) -> Result<Project, Error> {
        self.get(&[], &format!("to read {}", self.path)).await
    }

    async fn branch(&self, name: &str) -> Result<Option<String>, Error> {
        let action = format!("to read a branch of {}", self.path);
        let branch = self.get::<Branch>(&["repository", "branches", name], &action).await;
        optional(branch.map(|branch| branch.commit.id))
    }

    async fn tag(&self, name: &str) -> Result<Option<String>, Error> {
        let action = format!("to read a tag of {}", self.path);
        let tag = self.get::<Tag>(&["repository", "tags", name], &action).await;
        optional(tag.map(|tag| tag.target))
    }

    async fn get<T: DeserializeOwned>(&self, rest: &[&str], action: &str) -> Result<T, Error> {
        self.http.get(&super::project_segments(&self.path, rest), &[], action).await
    }
}

fn optional(found: Result<String, Error>) -> Result<Option<String>, Error> {
    match found {
        Ok(id) => Ok(Some(id)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl GitHost for ProjectRefs {
    fn resolve_ref<'a>(&'a self, reference: Option<&'a str>) -> ResponseFuture<'a, Option<String>> {
        Box::pin(self.find(reference))
    }

    fn list_changed_files<'a>(&'a self, external_id: &'a str) -> ResponseFuture<'a, ChangedFiles> {
        Box::pin(diffs::list(&self.http, &self.path, external_id))
    }
}
