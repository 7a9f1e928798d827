//! Confluence, Cloud and Data Center.

mod pages;
mod storage;
mod webhook;
mod wire;

use std::sync::Arc;

use ::http::HeaderMap;
use futures::future::BoxFuture;

use crate::config::ConnectorConfig;
use crate::delivery::ParseError;
use crate::error::Error;
use crate::http::Http;
use crate::listing::Incremental;
use crate::provider::{Adapter, ParsedEvent};
use crate::signature::{SignatureError, SignedRequest, verify_atlassian};
use crate::traits::Wiki;

pub(crate) struct Confluence;

impl Adapter for Confluence {
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
        "the permission to view the space"
    }

    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error> {
        pages::http(config)
    }

    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>> {
        Box::pin(pages::check_access(http))
    }

    fn wiki(&self, http: Http, resource: &str) -> Result<Arc<dyn Wiki>, Error> {
        Ok(Arc::new(Incremental(pages::SpacePages::new(http, resource)?)))
    }
}
