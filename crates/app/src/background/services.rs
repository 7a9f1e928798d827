//! Background services, most of which repeat one action. A failed action is logged and tried again
//! at the next interval.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mc_accounts::SignIn;
use mc_api::QuarantineNotifier;
use mc_search::KeywordIndex;
use mc_search::index::RepairReport;
use mc_store::Store;
use tokio_util::sync::CancellationToken;

use super::{
    AUDIT_HEADS_INTERVAL, DENIALS_INTERVAL, INDEX_REPAIR_INTERVAL, KEY_ROTATION_INTERVAL,
    NOTIFICATIONS_INTERVAL,
};
use crate::audit_heads;
use crate::data_dir::permissions;

/// Waits for the interval; returns `false` if `stop` was cancelled meanwhile.
async fn wait(interval: Duration, stop: &CancellationToken) -> bool {
    stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some()
}

/// Sends due notifications about the quarantine.
pub async fn send_notifications(
    notifier: QuarantineNotifier,
    store: Store,
    stop: CancellationToken,
) {
    while wait(NOTIFICATIONS_INTERVAL, &stop).await {
        if let Err(error) = notifier.send_due(&store).await {
            tracing::warn!(%error, "due notifications can't be read; trying again");
        }
    }
}

/// Stores the heads of the audit chains outside the database.
pub async fn write_audit_heads(path: PathBuf, store: Store, stop: CancellationToken) {
    while wait(AUDIT_HEADS_INTERVAL, &stop).await {
        if let Err(error) = audit_heads::write(&path, &store.chains().heads()) {
            tracing::warn!(%error, "the heads of the audit chains can't be stored; trying again");
        }
    }
}

/// Removes the permissions of other users from the content of the data directory, once. Needed if
/// only its directories were closed at the start.
pub fn close_data_dir(dir: &Path, stop: &CancellationToken) {
    if let Err(error) = permissions::close_content(dir, &|| stop.is_cancelled()) {
        tracing::warn!(
            %error,
            "permissions in the data directory not checked; run `memory-copilot doctor` to list \
             the paths that other users can open"
        );
    }
}

/// Adds a signing key for access tokens when one is due.
pub async fn rotate_keys(sign_in: SignIn, stop: CancellationToken) {
    while wait(KEY_ROTATION_INTERVAL, &stop).await {
        if let Err(error) = sign_in.rotate_keys().await {
            tracing::warn!(%error, "a new signing key can't be created; trying again in an hour");
        }
    }
}

/// Stores denied requests, the last ones at shutdown.
pub async fn flush_denials(sign_in: SignIn, store: Store, stop: CancellationToken) {
    let mut is_running = true;
    while is_running {
        is_running = wait(DENIALS_INTERVAL, &stop).await;
        if let Err(error) = sign_in.denials().flush(&store).await {
            tracing::warn!(%error, "denied requests can't be stored; trying again");
        }
    }
}

/// Compares this node's keyword index with the database, and repairs it.
pub async fn repair_index(keyword: KeywordIndex, store: Store, stop: CancellationToken) {
    while wait(INDEX_REPAIR_INTERVAL, &stop).await {
        if let Some(report) = stop.run_until_cancelled(keyword.repair(&store)).await {
            log_repair(report);
        }
    }
}

fn log_repair(report: Result<Option<RepairReport>, mc_search::Error>) {
    match report {
        Ok(None) => tracing::warn!("the keyword index is incomplete and was not checked"),
        Ok(Some(RepairReport { missing: 0, strays: 0 })) => {
            tracing::info!("the keyword index matches the database");
        }
        Ok(Some(RepairReport { missing, strays })) => {
            tracing::warn!(missing, strays, "the keyword index was repaired");
        }
        Err(error) => tracing::warn!(%error, "the keyword index can't be checked; trying again"),
    }
}
