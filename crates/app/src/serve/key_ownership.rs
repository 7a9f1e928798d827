//! Ownership of the database by an encryption key, decided before anything is encrypted.

use std::path::Path;

use anyhow::{Result, bail};
use mc_store::Store;
use mc_store::audit::{self, Claim};

use crate::encryption_key::GeneratedKey;

/// Claims the database for its first key, and stores a generated key.
///
/// Only one of several nodes that start at the same time with generated keys can claim the
/// database. With a second key, a node would sign audit events that the others can't verify, and
/// could decrypt nothing that exists. A generated key stays a draft until the claim is committed:
/// if the process ends before, the next start claims again with the same key.
pub async fn settle(new: Option<GeneratedKey>, store: &Store, file: &Path) -> Result<()> {
    match (audit::claim_key(store).await?, new) {
        (Claim::First(claim), Some(key)) => {
            // Written before the claim is committed: if the key were lost, nothing in the
            // database could be decrypted.
            let draft = key.draft(file)?;
            claim.commit().await?;
            draft.store()
        }
        (Claim::First(claim), None) => Ok(claim.commit().await?),
        (Claim::Known, Some(key)) => key.draft(file)?.store(),
        (Claim::OtherKey, Some(key)) => {
            key.discard(file)?;
            bail!(
                "{} does not exist, but the database already uses another encryption key: \
                copy that key here from the host where `memory-copilot serve` runs or ran, or \
                from your backups. If that key is lost, the data encrypted with it is lost too \
                (webhook secrets, signing keys and the quarantine); to continue without that \
                data, create a new key in this file (`openssl rand -hex 32`)",
                file.display()
            )
        }
        // An operator created the key file.
        (Claim::Known | Claim::OtherKey, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use mc_crypto::AuditMacKeys;
    use mc_store::Tx;
    use mc_store::audit::Chains;
    use mc_testkit::TestDatabase;
    use tempfile::TempDir;

    use super::*;
    use crate::encryption_key;

    /// Starts the service up to its key.
    async fn start(db: &TestDatabase, file: &Path) -> (Store, Option<GeneratedKey>) {
        let (encryptor, new) = encryption_key::load_or_generate(file, &[]).expect("a key");
        let chains = Chains::new(AuditMacKeys::derive(&encryptor), HashMap::new());
        let store = Store::connect(&db.logins().worker, 1, chains).await.expect("a database");
        (store, new)
    }

    /// Starts the service for the first time, up to the draft of its key.
    async fn start_with_draft(db: &TestDatabase, file: &Path) -> Tx {
        let (store, new) = start(db, file).await;
        let Claim::First(claim) = audit::claim_key(&store).await.expect("an answer") else {
            panic!("the database had a key")
        };
        let _ = new.expect("a key").draft(file).expect("a draft");
        assert!(!file.exists(), "the claim is not committed");
        claim
    }

    /// Starts the service again and checks that it owns the database.
    async fn restart(db: &TestDatabase, file: &Path) {
        let (store, new) = start(db, file).await;
        settle(new, &store, file).await.expect("the first key or a known one");
        let (store, new) = start(db, file).await;
        assert!(new.is_none(), "the key file exists");
        let claim = audit::claim_key(&store).await.expect("an answer");
        assert!(matches!(claim, Claim::Known), "{claim:?}");
    }

    fn file_count(directory: &TempDir) -> usize {
        std::fs::read_dir(directory.path()).expect("a directory").count()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn interrupted_first_start_continues_with_its_key() {
        for is_committed in [false, true] {
            let (db, directory) =
                (TestDatabase::create().await, TempDir::new().expect("a directory"));
            let file = directory.path().join("encryption.key");
            let claim = start_with_draft(&db, &file).await;
            let draft =
                std::fs::read(directory.path().join("encryption.key.draft")).expect("a draft");
            if is_committed {
                claim.commit().await.expect("committed");
            } else {
                drop(claim);
            }
            restart(&db, &file).await;
            assert_eq!(std::fs::read(&file).expect("the key"), draft);
            assert_eq!(file_count(&directory), 1, "the draft is the key");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn interrupted_start_is_rejected_if_another_claimed() {
        let db = TestDatabase::create().await;
        let [directory, other] = [(); 2].map(|()| TempDir::new().expect("a directory"));
        let file = directory.path().join("encryption.key");
        drop(start_with_draft(&db, &file).await);
        restart(&db, &other.path().join("encryption.key")).await;

        for _ in 0..2 {
            let (store, new) = start(&db, &file).await;
            let error = settle(new, &store, &file).await.expect_err("another key");
            assert!(error.to_string().contains("copy that key here"), "{error}");
            assert_eq!(file_count(&directory), 0, "the draft is deleted");
        }
    }
}
