//! GitLab, on gitlab.com and self-managed.

mod diffs;
mod issues;
mod refs;
mod signature;
mod webhook;

use std::sync::Arc;

use url::Url;

use crate::http::credential;
use crate::listing::Incremental;
use crate::provider::Adapter;

pub(crate) static ADAPTER: Adapter = Adapter {
    verify: signature::verify,
    parse: webhook::parse,
    delivery_id_headers: &["webhook-id", "Idempotency-Key", "X-Gitlab-Event-UUID"],
    // GitLab signs the id as well.
    signs_only_the_body: false,
    can_restore_issues: true,
    permissions: "the scope read_api (api to comment), and the role Reporter in the project",
    api_url: Url::clone,
    request_defaults: |config| credential::header(config, "private-token"),
    check_access: |http| Box::pin(issues::check_access(http)),
    tracker: Some(|http, project| {
        Ok(Arc::new(Incremental(issues::ProjectIssues::new(http, project)?)))
    }),
    wiki: None,
    git_host: Some(|http, project| Ok(Arc::new(refs::ProjectRefs::new(http, project)?))),
    pull_request_host: None,
};

/// Returns the path of a project's resource in the API.
fn project_segments<'a>(path: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["api", "v4", "projects", path], rest].concat()
}
