//! The job `commit_prompts`: commits the files of system prompts in use to the configured checkout.
//! The rows in the database decide; the files are copies, which people read and merge. Only nodes
//! with a checkout have the job.

use std::path::Path;
use std::time::Duration;

use mc_git::{CommittedFile, commit_file};
use mc_memory::prompts as use_cases;
use mc_optimizer::PromptFile;
use mc_store::prompts::{self, UncommittedPrompt};
use mc_store::{Store, from_json};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::JobContext;
use crate::job::{BackgroundJob, JobError};

/// Directory of the files, at the top of the checkout.
const DIRECTORY: &str = "system_prompts";

/// Commits the prompts of all projects whose files are not committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommitPrompts {}

impl BackgroundJob for CommitPrompts {
    const NAME: &'static str = "commit_prompts";
    // Commits to one branch wait for each other.
    const CONCURRENCY: usize = 1;
    // The schedule enqueues it again.
    const MAX_ATTEMPTS: u16 = 1;
    const TIMEOUT: Duration = Duration::from_mins(4);

    type Context = JobContext;

    /// Commits each prompt. One that fails does not keep the others; the next run tries it again.
    async fn run(self, JobContext { store, prompts, .. }: &JobContext) -> Result<(), JobError> {
        let Some(checkout) = &prompts.checkout else { return Ok(()) };
        let mut failed = None;
        for prompt in prompts::uncommitted(store).await? {
            if let Err(reason) = commit(store, checkout, &prompt).await {
                tracing::warn!(project.id = %prompt.project, reason,
                    "a system prompt was not committed");
                failed = Some(reason);
            }
        }
        failed.map_or(Ok(()), |reason| Err(JobError::Retryable(reason)))
    }
}

async fn commit(store: &Store, checkout: &Path, prompt: &UncommittedPrompt) -> Result<(), String> {
    let UncommittedPrompt { project, key, version } = prompt;
    let text = |error: mc_memory::Error| error.to_string();
    let found = use_cases::find(store, *project, *version).await.map_err(text)?;
    let number = |version: i32| u32::try_from(version).unwrap_or_default();
    let file = PromptFile {
        project: key.clone(),
        version: number(found.version),
        date: found.decided_at.unwrap_or(found.created_at).date_naive().to_string(),
        parent: found.parent_version.map(number),
        quality: from_json("prompt_versions.quality", &found.quality)
            .map_err(|error| error.to_string())?,
        diff: found.diff.clone(),
        prompt: use_cases::prompt_of(&found).map_err(text)?,
    };
    let content = file.to_yaml().map_err(|error| error.to_string())?;
    let name = format!("{key}.yaml");
    let message = format!("Use version {version} of the system prompt of {key}");
    let file =
        CommittedFile { directory: DIRECTORY, name: &name, content: &content, message: &message };
    let commit = commit_file(checkout, file, &CancellationToken::new()).await.map_err(|error| {
        format!("the checkout {} got no commit for {key}: {error}", checkout.display())
    })?;
    prompts::set_commit(store, *project, *version, &commit).await.map_err(|e| e.to_string())?;
    tracing::info!(project.id = %project, version, commit, "system prompt committed");
    Ok(())
}
