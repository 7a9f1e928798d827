//! Ownership of the encryption key.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

use futures::future::join_all;
use mc_store::Store;
use mc_store::audit::{Claim, claim_key};
use mc_store::testing::chains;
use mc_testkit::TestDatabase;

/// Returns the store of a process with a key of its own.
async fn process(db: &TestDatabase) -> Store {
    Store::connect(&db.logins().worker, 1, chains()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_concurrent_claims_is_the_first() {
    let db = TestDatabase::create().await;
    let db = &db;
    let claims = (0..8).map(|_| async move {
        let store = process(db).await;
        let is_first = match claim_key(&store).await.unwrap() {
            Claim::First(tx) => {
                tx.commit().await.unwrap();
                true
            }
            Claim::OtherKey => false,
            Claim::Known => panic!("nobody else has its key"),
        };
        // The first process knows its own key from then on.
        let again = claim_key(&store).await.unwrap();
        assert_eq!(matches!(again, Claim::Known), is_first, "{again:?}");
        is_first
    });
    let firsts = join_all(claims).await;
    assert_eq!(firsts.into_iter().filter(|is_first| *is_first).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uncommitted_claim_leaves_the_database_to_the_next() {
    let db = TestDatabase::create().await;
    let (first, second) = (process(&db).await, process(&db).await);
    let claimed = claim_key(&first).await.unwrap();
    assert!(matches!(claimed, Claim::First(_)), "{claimed:?}");
    drop(claimed);
    let claimed = claim_key(&second).await.unwrap();
    assert!(matches!(claimed, Claim::First(_)), "{claimed:?}");
}
