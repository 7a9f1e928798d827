//! The job `fetch_workspace`: fetches a repository into a workspace of this node.

use std::time::Duration;

use mc_domain::WorkspaceId;
use mc_store::workspaces;
use mc_workspaces::fetch::{self, FetchContext, FetchOutcome};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::job::{BackgroundJob, JobError};

/// Fetches a workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FetchWorkspace {
    id: WorkspaceId,
}

impl BackgroundJob for FetchWorkspace {
    const NAME: &'static str = workspaces::JOB;
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = workspaces::JOB_ATTEMPTS;
    // Git has a time limit of its own, which is in the configuration.
    const TIMEOUT: Duration = Duration::from_hours(2);

    type Context = FetchWorkspaceContext;

    async fn run(self, context: &FetchWorkspaceContext) -> Result<(), JobError> {
        let FetchWorkspaceContext { fetch, stop } = context;
        match fetch::execute(fetch, self.id, stop).await? {
            FetchOutcome::Done => Ok(()),
            FetchOutcome::Stopped => Err(JobError::ShuttingDown),
            FetchOutcome::Retry(reason) => Err(JobError::Retryable(reason)),
        }
    }
}

/// Dependencies of [`FetchWorkspace`], besides its arguments.
#[derive(Debug, Clone)]
pub struct FetchWorkspaceContext {
    pub(crate) fetch: FetchContext,
    pub(crate) stop: CancellationToken,
}
