//! Confluence, Cloud and Data Center.

mod pages;
mod storage;
mod webhook;
mod wire;

use std::sync::Arc;

use crate::http::credential;
use crate::listing::Incremental;
use crate::provider::Adapter;
use crate::signature::verify_atlassian;

pub use storage::PageBody;
pub(crate) use storage::StorageParser;

pub(crate) static ADAPTER: Adapter = Adapter {
    verify: verify_atlassian,
    parse: |_, body| webhook::parse(body),
    delivery_id_headers: &["X-Atlassian-Webhook-Identifier"],
    signs_only_the_body: true,
    can_restore_issues: true,
    permissions: "the permission to view the space",
    api_url: pages::api_url,
    request_defaults: credential::basic_or_bearer,
    check_access: |http| Box::pin(pages::check_access(http)),
    tracker: None,
    wiki: Some(|http, space| Ok(Arc::new(Incremental(pages::SpacePages::new(http, space)?)))),
    git_host: None,
    pull_request_host: None,
};
