//! Idle connections that are cut off.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_domain::UserId;
use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;

const AT_REST: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_fails_when_idle_connections_are_cut_off() {
    let db = TestDatabase::create().await;
    let shop = db.service().for_project(UserId::LOCAL, db.project("shop").await.id);
    let mut open = Vec::new();
    for _ in 0..AT_REST {
        open.push(shop.begin().await.unwrap());
    }
    for tx in open {
        tx.commit().await.unwrap();
    }
    let cut_off = "select pg_terminate_backend(pid, 10000) from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid()";
    execute(db.url(), cut_off).await.unwrap();
    let mut failed = 0;
    for _ in 0..2 * AT_REST {
        failed += usize::from(text(&shop, "select 'here'").await.is_err());
    }
    // None, if this took so long that they were tested before use.
    assert!(failed <= 1, "{failed} requests failed");
}
