//! Audit chains with several writers.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::collections::HashMap;

use mc_crypto::{AuditMacKeys, EncryptionKey, Encryptor};
use mc_domain::AuditAction;
use mc_store::Store;
use mc_store::audit::{Chain, Chains, NewEvent, record_in_own_tx, verify};
use mc_testkit::TestDatabase;

#[tokio::test]
async fn two_processes_extend_one_valid_audit_chain() {
    let db = TestDatabase::create().await;
    let chain = Chain::Project(db.project("shop").await.id);
    let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
    // Each knows the head that it wrote itself, and not the other's.
    let process = async || {
        let chains = Chains::new(AuditMacKeys::derive(&encryptor), HashMap::new());
        Store::connect(&db.logins().worker, 1, chains).await.unwrap()
    };
    let processes = [process().await, process().await];
    for (n, writes) in [0, 0, 1, 0, 1, 1, 0].into_iter().enumerate() {
        let events =
            [NewEvent::new(AuditAction::RecordSaved, n), NewEvent::new(AuditAction::Recalled, n)];
        record_in_own_tx(&processes[writes], chain, None, &events).await.unwrap();
    }
    for process in &processes {
        let report = verify(process, chain).await.unwrap();
        assert_eq!((report.events, report.first_seq, report.last_seq), (14, Some(1), Some(14)));
        assert_eq!(report.error, None);
    }
}
