//! Whose key the database is sealed with: settled before anything is.

use std::path::Path;

use anyhow::{Result, bail};
use mc_store::Store;
use mc_store::audit::{self, Claim};

use crate::encryption_key::GeneratedKey;

/// Makes the database this key's where it has known none, and keeps one that was made just now: of
/// nodes that start at once with keys of their own one is the first. Beside another's a new key
/// would sign what nobody else can verify, and open nothing of what is sealed. Wherever this is
/// ended the key is only a draft until the database is known to be its own, and the next start asks
/// again.
pub async fn settle(new: Option<GeneratedKey>, store: &Store, file: &Path) -> Result<()> {
    match (audit::claim_key(store).await?, new) {
        (Claim::First(claim), Some(key)) => {
            // On disk before it counts: a database that is sealed with a key that was lost is of no
            // use to anybody.
            let draft = key.draft(file)?;
            claim.commit().await?;
            draft.keep()
        }
        (Claim::First(claim), None) => Ok(claim.commit().await?),
        (Claim::Known, Some(key)) => key.draft(file)?.keep(),
        (Claim::OtherKey, Some(key)) => {
            key.discard(file)?;
            bail!(
                "there is no {}, and the database was sealed with a key already: copy that key \
                 here from where `memory-copilot serve` ran before, or runs, or from where it is \
                 kept beside the backups. Where it is lost, so is what it sealed (secrets of \
                 hooks, signing keys, what is in quarantine): to go on without, \
                 put a new key there (`openssl rand -hex 32`)",
                file.display()
            )
        }
        // Somebody put it there.
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

    /// A start on the database, as far as its key.
    async fn start(db: &TestDatabase, file: &Path) -> (Store, Option<GeneratedKey>) {
        let (sealer, new) = encryption_key::find_or_make(file, &[]).expect("a key");
        let chains = Chains::new(AuditMacKeys::derive(&sealer), HashMap::new());
        let store = Store::connect(&db.logins().worker, 1, chains).await.expect("a database");
        (store, new)
    }

    /// A first start that gets as far as its draft.
    async fn drafted(db: &TestDatabase, file: &Path) -> Tx {
        let (store, new) = start(db, file).await;
        let Claim::First(claim) = audit::claim_key(&store).await.expect("an answer") else {
            panic!("nobody was there before")
        };
        let _ = new.expect("a key").draft(file).expect("a draft");
        assert!(!file.exists(), "it is not known yet whether it counts");
        claim
    }

    /// The key that a start uses that finds one.
    async fn goes_on(db: &TestDatabase, file: &Path) {
        let (store, new) = start(db, file).await;
        settle(new, &store, file).await.expect("it is the first, or known");
        let (store, new) = start(db, file).await;
        assert!(new.is_none(), "it is kept");
        let claim = audit::claim_key(&store).await.expect("an answer");
        assert!(matches!(claim, Claim::Known), "{claim:?}");
    }

    fn files(folder: &TempDir) -> usize {
        std::fs::read_dir(folder.path()).expect("a folder").count()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_start_that_is_ended_before_its_key_counts_or_right_after_goes_on_with_it() {
        for is_committed in [false, true] {
            let (db, folder) = (TestDatabase::create().await, TempDir::new().expect("a folder"));
            let file = folder.path().join("encryption.key");
            let claim = drafted(&db, &file).await;
            let draft = std::fs::read(folder.path().join("encryption.key.draft")).expect("a draft");
            if is_committed {
                claim.commit().await.expect("committed");
            } else {
                drop(claim);
            }
            goes_on(&db, &file).await;
            assert_eq!(std::fs::read(&file).expect("the key"), draft);
            assert_eq!(files(&folder), 1, "the draft is the key");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_start_that_was_ended_while_another_became_the_first_is_refused_and_keeps_no_key() {
        let db = TestDatabase::create().await;
        let [folder, other] = [(); 2].map(|()| TempDir::new().expect("a folder"));
        let file = folder.path().join("encryption.key");
        drop(drafted(&db, &file).await);
        goes_on(&db, &other.path().join("encryption.key")).await;

        for _ in 0..2 {
            let (store, new) = start(&db, &file).await;
            let refused = settle(new, &store, &file).await.expect_err("the database is another's");
            assert!(refused.to_string().contains("copy that key here"), "{refused}");
            assert_eq!(files(&folder), 0, "no start takes it for the database's");
        }
    }
}
