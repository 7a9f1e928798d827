//! `YouTrack`, in the cloud and as a server.

mod issues;
mod webhook;

use std::sync::Arc;

use serde::Deserialize;
use url::Url;

use crate::http::credential;
use crate::listing::Incremental;
use crate::provider::Adapter;
use crate::signature::{SignatureError, SignedRequest, accept};

/// The users who may see an issue or a comment.
#[derive(Deserialize, Clone)]
struct Visibility {
    #[serde(rename = "$type")]
    kind: Option<String>,
}

/// Returns whether only some users have a visibility.
fn is_limited(visibility: Option<&Visibility>) -> bool {
    visibility.and_then(|visibility| visibility.kind.as_deref()) == Some("LimitedVisibility")
}

pub(crate) static ADAPTER: Adapter = Adapter {
    verify,
    parse: |_, body| webhook::parse(body),
    delivery_id_headers: &[],
    // `YouTrack` signs nothing.
    signs_only_the_body: false,
    can_restore_issues: true,
    permissions: "the permission Read issue (and Create comment and Update comment to comment)",
    api_url: Url::clone,
    request_defaults: credential::bearer,
    check_access: |http| Box::pin(issues::check_access(http)),
    tracker: Some(|http, project| {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, project)?)))
    }),
    wiki: None,
    git_host: None,
    pull_request_host: None,
};

fn verify(request: &SignedRequest<'_>) -> Result<(), SignatureError> {
    let token = match request.token_header("X-YouTrack-Token")? {
        Some(is_valid) => Some(is_valid),
        None => request.bearer()?,
    };
    accept(token, "X-YouTrack-Token or Authorization")
}
