//! Redmine.

mod issues;
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
use crate::signature::{SignatureError, SignedRequest, accept_hmac_or_bearer};
use crate::traits::Tracker;

const SIGNATURE: &str = "X-Redmine-Signature-256";

pub(crate) struct Redmine;

impl Adapter for Redmine {
    fn verify(&self, request: &SignedRequest<'_>) -> Result<(), SignatureError> {
        accept_hmac_or_bearer(request, SIGNATURE, "X-Redmine-Signature-256 or Authorization")
    }

    fn parse(&self, _: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
        webhook::parse(body)
    }

    fn permissions(&self) -> &'static str {
        "the permission View issues (and Add notes and Edit own notes to comment), \
         with the REST API switched on"
    }

    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error> {
        let defaults = credential::header(&config, "x-redmine-api-key")?;
        Http::new(config, defaults)
    }

    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>> {
        Box::pin(async move { Ok(issues::current_user(&http).await?.login) })
    }

    fn tracker(&self, http: Http, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, resource)?)))
    }
}
