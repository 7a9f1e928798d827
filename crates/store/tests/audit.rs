//! Chains that several processes add to.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::collections::HashMap;

use mc_crypto::{ChainKeys, Sealer, SealingKey};
use mc_domain::Act;
use mc_store::Store;
use mc_store::audit::{Chain, Chains, NewEvent, note_alone, verify};
use mc_testkit::TestDatabase;

#[tokio::test]
async fn two_processes_that_take_turns_make_one_chain_that_both_find_whole() {
    let db = TestDatabase::create().await;
    let chain = Chain::Project(db.project("shop").await.id);
    let sealer = Sealer::new(SealingKey::generate(), Vec::new());
    // Each knows the end that it wrote itself, and not the other's.
    let process = async || {
        let chains = Chains::new(ChainKeys::of(&sealer), HashMap::new());
        Store::connect(&db.logins().worker, 1, chains).await.unwrap()
    };
    let processes = [process().await, process().await];
    for (n, writes) in [0, 0, 1, 0, 1, 1, 0].into_iter().enumerate() {
        let events = [NewEvent::new(Act::RecordSaved, n), NewEvent::new(Act::Recalled, n)];
        note_alone(&processes[writes], chain, None, &events).await.unwrap();
    }
    for process in &processes {
        let report = verify(process, chain).await.unwrap();
        assert_eq!((report.events, report.first, report.last), (14, Some(1), Some(14)));
        assert_eq!(report.fault, None);
    }
}
