//! Jira, Cloud and Data Center.

mod adf;
mod client;
mod issues;
mod webhook;
mod wire;

use std::sync::Arc;

use ::http::HeaderMap;
use futures::future::BoxFuture;

use crate::config::ConnectorConfig;
use crate::delivery::ParseError;
use crate::error::Error;
use crate::http::{Http, credential};
use crate::listing::Incremental;
use crate::provider::{Adapter, ParsedEvent};
use crate::signature::{SignatureError, SignedRequest, verify_atlassian};
use crate::traits::Tracker;

pub(crate) struct Jira;

impl Adapter for Jira {
    fn verify(&self, request: &SignedRequest<'_>) -> Result<(), SignatureError> {
        verify_atlassian(request)
    }

    fn parse(&self, _: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
        webhook::parse(body)
    }

    fn delivery_id_headers(&self) -> &'static [&'static str] {
        &["X-Atlassian-Webhook-Identifier"]
    }

    fn permissions(&self) -> &'static str {
        "the permission Browse projects (and Add comments and Edit own comments to comment)"
    }

    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error> {
        let defaults = credential::basic_or_bearer(&config)?;
        Http::new(config, defaults)
    }

    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>> {
        Box::pin(async move { client::Client::new(http).check_access().await })
    }

    fn tracker(&self, http: Http, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, resource)?)))
    }
}
