//! GitHub, in the cloud and as Enterprise Server.

mod client;
mod files;
mod issues;
mod pull_requests;
mod refs;
mod transport;
mod webhook;

use std::sync::Arc;

use crate::listing::Incremental;
use crate::provider::Adapter;
use crate::signature::accept;

const SIGNATURE: &str = "X-Hub-Signature-256";

pub(crate) static ADAPTER: Adapter = Adapter {
    verify: |request| accept(request.hmac_header(SIGNATURE)?, SIGNATURE),
    parse: webhook::parse,
    delivery_id_headers: &["X-GitHub-Delivery"],
    signs_only_the_body: true,
    // GitHub never assigns the number of a deleted issue again.
    can_restore_issues: false,
    permissions: "read access to Metadata, Contents, Issues and Pull requests of the repository \
                  (write access to Issues for task comments; to Contents, Pull requests and \
                  Commit statuses for pull requests), or the scope repo",
    api_url: client::api_url,
    request_defaults: client::request_defaults,
    check_access: |http| Box::pin(client::check_access(http)),
    tracker: Some(|http, repository| {
        Ok(Arc::new(Incremental(issues::RepositoryIssues::new(http, repository)?)))
    }),
    wiki: None,
    git_host: Some(|http, repository| Ok(Arc::new(refs::RepositoryRefs::new(http, repository)?))),
    pull_request_host: Some(|http, repository| {
        Ok(Arc::new(pull_requests::RepositoryPullRequests::new(http, repository)?))
    }),
};
