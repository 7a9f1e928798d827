//! GitLab, on gitlab.com and self-managed.

mod issues;
mod refs;
mod signature;
mod webhook;

use std::sync::Arc;

use ::http::HeaderMap;
use futures::future::BoxFuture;

use crate::config::ConnectorConfig;
use crate::delivery::ParseError;
use crate::error::Error;
use crate::http::{Http, credential};
use crate::listing::Incremental;
use crate::provider::{Adapter, ParsedEvent};
use crate::signature::{SignatureError, SignedRequest};
use crate::traits::{GitHost, Tracker};

pub(crate) struct Gitlab;

impl Adapter for Gitlab {
    fn verify(&self, request: &SignedRequest<'_>) -> Result<(), SignatureError> {
        signature::verify(request)
    }

    fn parse(&self, headers: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
        webhook::parse(headers, body)
    }

    fn delivery_id_headers(&self) -> &'static [&'static str] {
        &["webhook-id", "Idempotency-Key", "X-Gitlab-Event-UUID"]
    }

    /// GitLab signs the id as well.
    fn signs_only_the_body(&self) -> bool {
        false
    }

    fn permissions(&self) -> &'static str {
        "the scope read_api (api to comment), and the role Reporter in the project"
    }

    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error> {
        let defaults = credential::header(&config, "private-token")?;
        Http::new(config, defaults)
    }

    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>> {
        Box::pin(async move {
            let user = issues::current_user(&http).await?;
            Ok(user.username.or(user.name).unwrap_or_default())
        })
    }

    fn tracker(&self, http: Http, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, resource)?)))
    }

    fn git_host(&self, http: Http, resource: &str) -> Result<Arc<dyn GitHost>, Error> {
        Ok(Arc::new(refs::ProjectRefs::new(http, resource)?))
    }
}

/// Returns the path of a project's resource in the API.
fn project_segments<'a>(path: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["api", "v4", "projects", path], rest].concat()
}
