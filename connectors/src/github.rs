//! GitHub, in the cloud and as Enterprise Server.

mod client;
mod issues;
mod refs;
mod transport;
mod webhook;

use std::sync::Arc;

use ::http::HeaderMap;
use futures::future::BoxFuture;

use crate::config::ConnectorConfig;
use crate::delivery::ParseError;
use crate::error::Error;
use crate::http::Http;
use crate::listing::Incremental;
use crate::provider::{Adapter, ParsedEvent};
use crate::signature::{SignatureError, SignedRequest, accept};
use crate::traits::{GitHost, Tracker};

const SIGNATURE: &str = "X-Hub-Signature-256";

pub(crate) struct Github;

impl Adapter for Github {
    fn verify(&self, request: &SignedRequest<'_>) -> Result<(), SignatureError> {
        accept(request.hmac_header(SIGNATURE)?, SIGNATURE)
    }

    fn parse(&self, headers: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
        webhook::parse(headers, body)
    }

    fn delivery_id_headers(&self) -> &'static [&'static str] {
        &["X-GitHub-Delivery"]
    }

    /// GitHub never assigns the number of a deleted issue again.
    fn can_restore_issues(&self) -> bool {
        false
    }

    fn permissions(&self) -> &'static str {
        "read access to Metadata, Contents and Issues of the repository (write to comment), \
         or the scope repo"
    }

    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error> {
        client::http(config)
    }

    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>> {
        Box::pin(client::check_access(http))
    }

    fn tracker(&self, http: Http, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        Ok(Arc::new(Incremental(issues::RepositoryIssues::new(http, resource)?)))
    }

    fn git_host(&self, http: Http, resource: &str) -> Result<Arc<dyn GitHost>, Error> {
        Ok(Arc::new(refs::RepositoryRefs::new(http, resource)?))
    }
}
