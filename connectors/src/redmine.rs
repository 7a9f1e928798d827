//! Redmine.

mod issues;
mod webhook;

use std::sync::Arc;

use url::Url;

use crate::http::credential;
use crate::listing::Incremental;
use crate::provider::Adapter;
use crate::signature::accept_hmac_or_bearer;

const SIGNATURE: &str = "X-Redmine-Signature-256";

pub(crate) static ADAPTER: Adapter = Adapter {
    verify: |request| {
        accept_hmac_or_bearer(request, SIGNATURE, "X-Redmine-Signature-256 or Authorization")
    },
    parse: |_, body| webhook::parse(body),
    delivery_id_headers: &[],
    signs_only_the_body: true,
    can_restore_issues: true,
    permissions: "the permission View issues (and Add notes and Edit own notes to comment), with \
                  the REST API switched on",
    api_url: Url::clone,
    request_defaults: |config| credential::header(config, "x-redmine-api-key"),
    check_access: |http| Box::pin(issues::check_access(http)),
    tracker: Some(|http, project| {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, project)?)))
    }),
    wiki: None,
    git_host: None,
    pull_request_host: None,
};
