//! What is done now and then for the audit and the quarantine.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mc_api::{Notifier, SignIn};
use mc_seal::Sealer;
use mc_store::Store;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::heads;
use crate::config::Config;

/// How often notices that are due are looked for.
const NOTICES_EVERY: Duration = Duration::from_secs(2);
/// How often refusals are noted, and the ends of the audit written down.
const NOTED_EVERY: Duration = Duration::from_secs(30);

/// Sends notices about the quarantine, and notes what is not noted as it happens, until `stop`.
pub fn start(
    config: &Config,
    sign_in: &SignIn,
    store: &Store,
    sealer: Arc<Sealer>,
    stop: &CancellationToken,
) -> Result<TaskTracker> {
    let notifier = Notifier::new(sealer, config.notices.local);
    let notifier = notifier.context("the client for notices can't be made")?;
    let tasks = TaskTracker::new();
    let (due, token) = (store.clone(), stop.clone());
    tasks.spawn(async move {
        while token.run_until_cancelled(tokio::time::sleep(NOTICES_EVERY)).await.is_some() {
            if let Err(error) = notifier.send_due(&due).await {
                tracing::warn!(%error, "notices that are due can't be read; trying again");
            }
        }
    });
    let (sign_in, store, token) = (sign_in.clone(), store.clone(), stop.clone());
    let path = config.audit_heads_file();
    tasks.spawn(async move {
        loop {
            let goes_on =
                token.run_until_cancelled(tokio::time::sleep(NOTED_EVERY)).await.is_some();
            if let Err(problem) = sign_in.note_refusals(&store).await {
                tracing::warn!(%problem, "what was refused could not be noted; trying again");
            }
            if let Err(error) = heads::write(&path, &store.chains().heads()) {
                tracing::warn!(%error, "the ends of the audit could not be written down");
            }
            if !goes_on {
                return;
            }
        }
    });
    tasks.close();
    Ok(tasks)
}
