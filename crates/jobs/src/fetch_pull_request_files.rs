//! The job `fetch_pull_request_files`: reads the files of a pull request from its provider, with
//! the credential of an integration of the project that reads this repository. A webhook alone
//! gives access to nothing: it names repositories that its sender chooses.

use std::time::Duration;

use mc_connectors::client::{self, Connector};
use mc_connectors::traits::{ChangedFile, ChangedFiles};
use mc_domain::{AuditAction, Classified as _, Policy, PullRequestId};
use mc_memory::content_filter::{filter_field, filter_unreviewed, run_limited};
use mc_store::Store;
use mc_store::pull_requests::files::{self, FilesIntegration, FilesTarget, NewFile};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::JobContext;
use crate::job::{BackgroundJob, JobError, record_event, stored_reason};
use crate::sync_integration::SyncContext;

/// Reads the files of a pull request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FetchPullRequestFiles {
    id: PullRequestId,
}

impl BackgroundJob for FetchPullRequestFiles {
    const NAME: &'static str = files::JOB;
    const CONCURRENCY: usize = 1;
    const MAX_ATTEMPTS: u16 = files::JOB_ATTEMPTS;
    const TIMEOUT: Duration = files::FETCH_TIMEOUT;
    /// The attempts take an hour, after which most rate limits have ended.
    const BACKOFF_BASE: Duration = Duration::from_mins(2);

    type Context = JobContext;

    /// Reads the files, unless those of the head are stored. An error is shown with the pull
    /// request. After a permanent error, the next event of the pull
    /// request enqueues the job again.
    async fn run(self, JobContext { store, sync, .. }: &JobContext) -> Result<(), JobError> {
        let Some(target) = files::target(store, self.id).await? else { return Ok(()) };
        let error = match fetch(sync, &target).await {
            Ok((integration, found)) => {
                return Ok(self.store_files(store, &target, integration, found).await?);
            }
            Err(error) => error,
        };
        let reason = stored_reason(&error);
        files::mark_failed(store, self.id, &reason).await?;
        tracing::warn!(
            pull_request.id = %self.id, reason, "reading the files of a pull request failed"
        );
        if error.is_transient() { Err(JobError::Retryable(reason)) } else { Ok(()) }
    }
}

/// Why the files were not read.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Provider(#[from] client::Error),
    #[error(
        "no integration with this repository has a connector for the host of the pull request; \
         ask the operator to configure one"
    )]
    NoConnector,
}

impl FetchError {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Provider(error) if error.kind().is_transient())
    }
}

/// Returns the files with the integration by which they were read.
async fn fetch<'a>(
    context: &SyncContext,
    target: &'a FilesTarget,
) -> Result<(&'a FilesIntegration, ChangedFiles), FetchError> {
    let mut usable = target.integrations.iter().filter_map(|integration| {
        let connector = context.connectors.find(&integration.connector, &target.key)?;
        is_host_of(connector, &target.url).then_some((integration, connector))
    });
    let (integration, connector) = usable.next().ok_or(FetchError::NoConnector)?;
    let host = connector.git_host(&integration.resource)?;
    Ok((integration, host.list_changed_files(&target.external_id).await?))
}

/// Whether the page of a pull request is at the connector's provider. Repositories of two providers
/// may have the same name.
fn is_host_of(connector: &Connector, page: &str) -> bool {
    let site = connector.url().as_str().trim_end_matches('/');
    page.strip_prefix(site).is_some_and(|path| path.starts_with('/'))
}

impl FetchPullRequestFiles {
    async fn store_files(
        &self,
        store: &Store,
        target: &FilesTarget,
        integration: &FilesIntegration,
        found: ChangedFiles,
    ) -> Result<(), mc_store::Error> {
        let ChangedFiles { files, is_complete } = found;
        let (policy, is_open) = (target.policy.clone(), target.is_open);
        let filter_all =
            move || files.into_iter().map(|file| new_file(&policy, file, is_open)).collect();
        let rows: Vec<NewFile> = run_limited(None, filter_all).await;
        let mut tx = store.begin().await?;
        if files::put(&mut tx, target, integration.id, &rows, is_complete).await? {
            let details = json!({ "files": rows.len(), "integration": integration.id });
            let action = AuditAction::PullRequestsSynced;
            record_event(&mut tx, target.project, action, self.id, details);
        }
        tx.commit().await
    }
}

/// Returns a file, filtered by the project's policy. A diff that the policy withholds is left out,
/// and so is one that masking makes too long.
fn new_file(policy: &Policy, file: ChangedFile, is_open: bool) -> NewFile {
    let count = |lines: Option<u32>| lines.map(|lines| i32::try_from(lines).unwrap_or(i32::MAX));
    NewFile {
        path: filter_field(policy, &file.path),
        previous_path: file.previous_path.map(|path| filter_field(policy, &path)),
        change: file.change,
        additions: count(file.additions),
        deletions: count(file.deletions),
        diff: file
            .diff
            .filter(|_| is_open)
            .and_then(|diff| filter_unreviewed(policy, &diff))
            .filter(|diff| diff.as_str().len() <= files::DIFF_BYTES),
    }
}
