//! The task `export`.

use mc_domain::{HygieneTask, UserId};
use mc_store::exports;
use serde_json::json;

use crate::fixture::{Fixture, RETRY};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newest_eight_exports_are_kept_with_team_records_only() {
    let fixture = Fixture::new().await;
    fixture.record(RETRY).await;
    let [private, proposed] =
        [fixture.record("Mail waits").await, fixture.record("Carts expire at noon").await];
    fixture
        .execute(&format!(
            "update memory_records set visibility = 'private', private_to = '{}' where id = \
         '{private}'",
            UserId::LOCAL
        ))
        .await;
    fixture
        .execute(&format!(
            "update memory_records set visibility = 'proposed', trust = 'untrusted' where id = \
         '{proposed}'"
        ))
        .await;
    let dry_run = fixture.run(HygieneTask::Export, true).await;
    assert_eq!(dry_run.counts, json!({"records": 1}));
    assert!(exports::list(fixture.db.store(), fixture.project).await.unwrap().is_empty());
    for _ in 0..9 {
        fixture.run(HygieneTask::Export, false).await;
    }
    let exports = exports::list(fixture.db.store(), fixture.project).await.unwrap();
    assert_eq!(exports.len(), 8);
    assert!(exports.is_sorted_by(|a, b| a.id > b.id));
    let document = exports::document(fixture.db.store(), fixture.project, exports[0].id)
        .await
        .unwrap()
        .unwrap();
    let document = mc_memory::export::decompress(&document).unwrap();
    assert!(document.contains(RETRY), "{document}");
    assert!(!document.contains("Mail waits") && !document.contains("Carts expire"), "{document}");
}
