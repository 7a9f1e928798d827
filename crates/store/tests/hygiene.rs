//! The schedule of hygiene tasks.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_domain::HygieneTask;
use mc_store::hygiene;
use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;

#[tokio::test]
async fn schedule_skips_a_task_whose_action_is_off() {
    let db = TestDatabase::create().await;
    for (key, policy) in [
        ("default", "{}"),
        ("no-duplicates", r#"{"hygiene": {"duplicates": "off"}}"#),
        ("no-quality", r#"{"hygiene": {"unused_records": "off"}}"#),
    ] {
        let id = db.project(key).await.id;
        let set = format!("update projects set policy = '{policy}' where id = '{id}'");
        execute(db.url(), &set).await.unwrap();
    }
    for (task, expected) in [
        (HygieneTask::Duplicates, "default no-quality"),
        (HygieneTask::Quality, "default no-duplicates"),
        (HygieneTask::Expiry, "default no-duplicates no-quality"),
    ] {
        let mut tx = db.store().begin().await.unwrap();
        hygiene::request_everywhere(&mut tx, task, &format!("{task} today")).await.unwrap();
        tx.commit().await.unwrap();
        let projects = format!(
            "select string_agg(p.key, ' ' order by p.key)
             from hygiene_runs r join projects p on p.id = r.project_id where r.task = '{task}'"
        );
        assert_eq!(text(db.store(), &projects).await.unwrap(), expected, "{task}");
    }
}
