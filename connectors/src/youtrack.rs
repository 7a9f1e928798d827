//! `YouTrack`, in the cloud and as a server.

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
use crate::signature::{SignatureError, SignedRequest, accept};
use crate::traits::Tracker;

/// The type of a visibility that only some users have.
const LIMITED: &str = "LimitedVisibility";

pub(crate) struct Youtrack;

impl Adapter for Youtrack {
    fn verify(&self, request: &SignedRequest<'_>) -> Result<(), SignatureError> {
        let token = match request.token_header("X-YouTrack-Token")? {
            Some(is_valid) => Some(is_valid),
            None => request.bearer()?,
        };
        accept(token, "X-YouTrack-Token or Authorization")
    }

    fn parse(&self, _: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError> {
        webhook::parse(body)
    }

    /// `YouTrack` signs nothing.
    fn signs_only_the_body(&self) -> bool {
        false
    }

    fn permissions(&self) -> &'static str {
        "the permission Read issue (and Create comment and Update comment to comment)"
    }

    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error> {
        let defaults = credential::bearer(&config)?;
        Http::new(config, defaults)
    }

    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>> {
        Box::pin(async move {
            let user = issues::current_user(&http).await?;
            Ok(user.login.or(user.full_name).unwrap_or_default())
        })
    }

    fn tracker(&self, http: Http, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, resource)?)))
    }
}
