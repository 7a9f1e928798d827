//! `memory-copilot restore`: a database where there was none, or none at all.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use mc_crypto::{AuditMacKeys, Encryptor};
use mc_postgres::backup::{self, Archive, BackupError, Progress, Target};
use mc_postgres::db_roles::DbRoles;
use mc_postgres::embedded::{self, DataDirLock};
use mc_store::Store;
use mc_store::audit::{self, Chain, Chains, Report};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::RestoreArgs;
use crate::config::Config;
use crate::output::{Format, list, text};
use crate::{audit_heads, data_dir, database, encryption_key, progress};

/// Where an embedded database is made, until it has its place.
const UNFINISHED: &str = "restoring";
/// So much of a key's fingerprint as people compare.
const FINGERPRINT: usize = 8;
/// Connections to look at the audit with.
const CONNECTIONS: u32 = 1;

/// Restores a backup, and says what is in it.
pub async fn run(
    args: &RestoreArgs,
    config: &Config,
    shutdown: CancellationToken,
    format: Format,
) -> Result<()> {
    let restoring = Restoring {
        archive: open(&args.file, progress::shown(format)).await?,
        config,
        progress: progress::shown(format),
        shutdown,
    };
    let sealer = restoring.sealer(args.without_encryption_key)?;
    data_dir::make(&config.data_dir)?;
    // Whoever runs on this folder holds it.
    let _lock = DataDirLock::acquire(&config.data_dir)?;
    let chains = if config.database.url.is_empty() {
        restoring.make_cluster(sealer.as_ref()).await?
    } else {
        restoring.fill_database(&config.database.url, sealer.as_ref()).await?
    };
    audit_heads::write(&config.audit_heads_file(), &restoring.archive.heads)?;
    forget_index(&config.data_dir.join("index"))?;
    report(&restoring.archive, &chains, format)
}

/// Reads through the file, which takes as long as the disk does.
async fn open(file: &Path, progress: Progress) -> Result<Archive> {
    let path = file.to_owned();
    let opened = tokio::task::spawn_blocking(move || Archive::open(&path, &progress));
    Ok(opened.await.context("the backup was not read")??)
}

/// The keyword index is of the database that was; it would be noticed, and is built anew either
/// way.
fn forget_index(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("{} can't be removed; remove it", folder.display()))?;
    }
    Ok(())
}

/// What was found of a chain of the audit.
struct Verified {
    chain: Chain,
    report: Report,
}

struct Restoring<'a> {
    archive: Archive,
    config: &'a Config,
    progress: Progress,
    shutdown: CancellationToken,
}

impl Restoring<'_> {
    /// The keys, if the backup's is one of them.
    fn sealer(&self, without_key: bool) -> Result<Option<Encryptor>> {
        let encryption = &self.config.encryption;
        let wanted = &self.archive.manifest.encryption_key_id;
        let path = encryption.key_file.display();
        let found = encryption
            .key_file
            .exists()
            .then(|| encryption_key::sealer(&encryption.key_file, &encryption.previous_key_files));
        let found = found.transpose()?;
        let id = hex::decode(wanted).unwrap_or_default();
        let right = found.as_ref().is_some_and(|sealer| AuditMacKeys::derive(sealer).has(&id));
        if right || without_key {
            return Ok(found.filter(|_| right));
        }
        let fingerprint = wanted.get(..FINGERPRINT).unwrap_or(wanted);
        let what = if found.is_some() { "holds another key" } else { "is not there" };
        bail!(
            "{path} {what}; the backup belongs to the one with the fingerprint {fingerprint}. Put \
             that one there, or name its file in encryption.previous_key_files. If it is lost, \
             --without-encryption-key restores the rest; the \
             secrets of webhooks and notices, the keys that sign logins and what is held in \
             quarantine stay closed for good"
        )
    }

    /// Makes a cluster beside its place, and gives it the place when everything in it was compared.
    async fn make_cluster(&self, sealer: Option<&Encryptor>) -> Result<Vec<Verified>> {
        let place = database::embedded_folder(self.config);
        ensure!(
            !place.exists(),
            "{} exists, and a backup is restored where there is no database; stop the service and \
             move that folder away, or set another data_dir",
            place.display()
        );
        let folder = self.config.data_dir.join(UNFINISHED);
        embedded::remove(&folder).await?;
        let filled = self.fill_cluster(&folder, sealer).await;
        if filled.is_err() {
            embedded::remove(&folder).await?;
        } else {
            embedded::rename(&folder, &place)?;
        }
        filled
    }

    async fn fill_cluster(
        &self,
        folder: &Path,
        sealer: Option<&Encryptor>,
    ) -> Result<Vec<Verified>> {
        let started = database::start_in(folder, self.config, &self.shutdown).await?;
        let embedded = started.ok_or(BackupError::Interrupted)?;
        let filled = self.fill_database(embedded.url(), sealer).await;
        embedded.stop().await;
        filled
    }

    async fn fill_database(&self, url: &str, sealer: Option<&Encryptor>) -> Result<Vec<Verified>> {
        let install_dirs = &self.config.postgres_installations();
        let target = Target { url, install_dirs, is_key_lost: sealer.is_none() };
        let progress = self.progress.clone();
        let logins = backup::restore(&self.archive, &target, progress, &self.shutdown).await?;
        match sealer {
            Some(sealer) => self.verified(&logins, sealer).await,
            None => Ok(Vec::new()),
        }
    }

    /// Looks through every chain of the audit, up to where the backup says that it ends.
    async fn verified(&self, logins: &DbRoles, sealer: &Encryptor) -> Result<Vec<Verified>> {
        let chains = Chains::new(AuditMacKeys::derive(sealer), self.archive.heads.clone());
        let store = Store::connect(&logins.worker, CONNECTIONS, chains).await?;
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
    let said = json!({
        "manifest": archive.manifest,
        "audit": { "chains": chains.len(), "faults": faults },
    });
    format.print(&said, |_| in_words(archive, chains));
    for fault in list(&said["audit"], "faults") {
        crate::output::error_line(&format!(
            "audit {}: {}",
            text(fault, "chain"),
            text(fault, "fault")
        ));
    }
    ensure!(
        faults.is_empty(),
        "everything of the backup was restored, and its audit is not as it was written: see above"
    );
    Ok(())
}

fn in_words(archive: &Archive, chains: &[Verified]) -> String {
    let manifest = &archive.manifest;
    let audit = match chains.len() {
        0 => "the audit was not verified".to_owned(),
        n => format!("{n} chains of the audit looked through"),
    };
    format!(
        "restored: {} rows of {} tables, as of {}; each compared with the backup; {audit}. Now \
         start the service",
        manifest.rows(),
        manifest.tables.len(),
        manifest.created_at.format("%Y-%m-%d %H:%M:%S UTC")
    )
}
