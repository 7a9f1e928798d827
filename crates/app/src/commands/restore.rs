//! `memory-copilot restore`: creates a database from a backup, or leaves no database after an
//! error.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use mc_crypto::{AuditMacKeys, Encryptor};
use mc_postgres::backup::{self, Archive, BackupError, Progress, Target};
use mc_postgres::db_roles::DbRoles;
use mc_postgres::embedded;
use mc_store::Store;
use mc_store::audit::{self, Chain, Chains, Report};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::RestoreArgs;
use crate::config::Config;
use crate::output::{Format, list, text};
use crate::{audit_heads, data_dir, database, encryption_key, progress};

/// Number of hexadecimal digits that are printed of the fingerprint of a key.
const FINGERPRINT_LENGTH: usize = 8;
/// Number of connections that verify the audit.
const AUDIT_CONNECTIONS: u32 = 1;

/// Restores a backup and prints a summary of it.
pub async fn run(
    args: &RestoreArgs,
    config: &Config,
    shutdown: CancellationToken,
    format: Format,
) -> Result<()> {
    let restore = Restore {
        archive: open(&args.file, progress::reporter(format)).await?,
        config,
        progress: progress::reporter(format),
        shutdown,
    };
    let encryptor = restore.encryptor(args.without_encryption_key)?;
    // A running service holds this lock.
    let _lock = data_dir::create_locked(&config.data_dir)?;
    let chains = if config.database.url.is_empty() {
        restore.create_cluster(encryptor.as_ref()).await?
    } else {
        restore.fill_database(&config.database.url, encryptor.as_ref()).await?
    };
    audit_heads::write(&config.audit_heads_file(), &restore.archive.heads)?;
    delete_index(&config.data_dir.join("index"))?;
    report(&restore.archive, &chains, format)
}

/// Opens the archive and verifies it on a blocking thread, because that reads the whole file.
async fn open(file: &Path, progress: Progress) -> Result<Archive> {
    let path = file.to_owned();
    let opened = tokio::task::spawn_blocking(move || Archive::open(&path, &progress));
    Ok(opened.await.context("the backup was not read")??)
}

/// Deletes the keyword index, which belongs to the previous database. The service rebuilds it.
fn delete_index(directory: &Path) -> Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)
            .with_context(|| format!("{} can't be deleted; delete it", directory.display()))?;
    }
    Ok(())
}

/// Result of the verification of an audit chain.
struct Verified {
    chain: Chain,
    report: Report,
}

struct Restore<'a> {
    archive: Archive,
    config: &'a Config,
    progress: Progress,
    shutdown: CancellationToken,
}

impl Restore<'_> {
    /// Loads the configured keys if the key of the backup is one of them.
    fn encryptor(&self, without_key: bool) -> Result<Option<Encryptor>> {
        let encryption = &self.config.encryption;
        let expected_id = &self.archive.manifest.encryption_key_id;
        let path = encryption.key_file.display();
        let configured = encryption
            .key_file
            .exists()
            .then(|| encryption_key::load(&encryption.key_file, &encryption.previous_key_files));
        let configured = configured.transpose()?;
        let id = hex::decode(expected_id).unwrap_or_default();
        let matches =
            configured.as_ref().is_some_and(|encryptor| AuditMacKeys::derive(encryptor).has(&id));
        if matches || without_key {
            return Ok(configured.filter(|_| matches));
        }
        let fingerprint = expected_id.get(..FINGERPRINT_LENGTH).unwrap_or(expected_id);
        let problem = if configured.is_some() { "holds another key" } else { "is not there" };
        bail!(
            "{path} {problem}; the backup needs the key with the fingerprint {fingerprint}. Copy \
             that key there, or name its file in encryption.previous_key_files. If it is lost, \
             --without-encryption-key restores the other data; the secrets of webhooks and \
             notifications, the signing keys of logins and the quarantine can never be decrypted"
        )
    }

    /// Creates a cluster in a temporary directory, and moves it to its final directory once all
    /// its data is compared with the backup.
    async fn create_cluster(&self, encryptor: Option<&Encryptor>) -> Result<Vec<Verified>> {
        let destination = database::embedded_dir(self.config);
        ensure!(
            !destination.exists(),
            "{} exists, and a backup is restored where there is no database; stop the service and \
             move that directory, or set another data_dir",
            destination.display()
        );
        let directory = self.config.data_dir.join(database::RESTORING_DIR);
        embedded::remove(&directory).await?;
        let result = self.fill_cluster(&directory, encryptor).await;
        if result.is_err() {
            embedded::remove(&directory).await?;
        } else {
            embedded::rename(&directory, &destination)?;
        }
        result
    }

    async fn fill_cluster(
        &self,
        directory: &Path,
        encryptor: Option<&Encryptor>,
    ) -> Result<Vec<Verified>> {
        let started = database::start_in(directory, self.config, &self.shutdown).await?;
        let embedded = started.ok_or(BackupError::Interrupted)?;
        let result = self.fill_database(embedded.url(), encryptor).await;
        embedded.stop().await;
        result
    }

    async fn fill_database(
        &self,
        url: &str,
        encryptor: Option<&Encryptor>,
    ) -> Result<Vec<Verified>> {
        let install_dirs = &self.config.postgres_installations();
        let target = Target { url, install_dirs, is_key_lost: encryptor.is_none() };
        let progress = self.progress.clone();
        let logins = backup::restore(&self.archive, &target, progress, &self.shutdown).await?;
        match encryptor {
            Some(encryptor) => self.verify_audit(&logins, encryptor).await,
            None => Ok(Vec::new()),
        }
    }

    /// Verifies every audit chain up to its head in the backup.
    async fn verify_audit(&self, logins: &DbRoles, encryptor: &Encryptor) -> Result<Vec<Verified>> {
        let chains = Chains::new(AuditMacKeys::derive(encryptor), self.archive.heads.clone());
        let store = Store::connect(&logins.worker, AUDIT_CONNECTIONS, chains).await?;
        let mut verified = Vec::new();
        for id in self.archive.heads.keys() {
            let chain = Chain::from(*id);
            verified.push(Verified { chain, report: audit::verify(&store, chain).await? });
        }
        store.close().await;
        Ok(verified)
    }
}

fn report(archive: &Archive, chains: &[Verified], format: Format) -> Result<()> {
    let faults: Vec<Value> = chains
        .iter()
        .filter_map(|each| Some((each.chain, each.report.error.as_ref()?)))
        .map(|(chain, fault)| json!({ "chain": chain.id(), "fault": fault.to_string() }))
        .collect();
    let result = json!({
        "manifest": archive.manifest,
        "audit": { "chains": chains.len(), "faults": faults },
    });
    format.print(&result, |_| summary(archive, chains));
    for fault in list(&result["audit"], "faults") {
        crate::output::error_line(&format!(
            "audit {}: {}",
            text(fault, "chain"),
            text(fault, "fault")
        ));
    }
    ensure!(
        faults.is_empty(),
        "the backup is restored, but its audit does not match its signatures: see above"
    );
    Ok(())
}

fn summary(archive: &Archive, chains: &[Verified]) -> String {
    let manifest = &archive.manifest;
    let audit = match chains.len() {
        0 => "the audit was not verified".to_owned(),
        n => format!("{n} audit chains verified"),
    };
    format!(
        "restored: {} rows of {} tables, as of {}; each compared with the backup; {audit}. Now \
         start the service",
        manifest.rows(),
        manifest.tables.len(),
        manifest.created_at.format("%Y-%m-%d %H:%M:%S UTC")
    )
}
