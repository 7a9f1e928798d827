//! Jira, Cloud and Data Center.

mod adf;
mod client;
mod issues;
mod webhook;
mod wire;

use std::sync::Arc;

use url::Url;

use crate::http::credential;
use crate::listing::Incremental;
use crate::provider::Adapter;
use crate::signature::verify_atlassian;

pub(crate) use adf::AdfParser;

pub(crate) static ADAPTER: Adapter = Adapter {
    verify: verify_atlassian,
    parse: |_, body| webhook::parse(body),
    delivery_id_headers: &["X-Atlassian-Webhook-Identifier"],
    signs_only_the_body: true,
    can_restore_issues: true,
    permissions: "the permission Browse projects (and Add comments and Edit own comments to \
                  comment)",
    api_url: Url::clone,
    request_defaults: credential::basic_or_bearer,
    check_access: |http| Box::pin(client::check_access(http)),
    tracker: Some(|http, project| {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, project)?)))
    }),
    wiki: None,
    git_host: None,
    pull_request_host: None,
};
