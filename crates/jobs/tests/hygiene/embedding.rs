//! The task `embedding`.

use mc_domain::{HygieneTask, UserId};
use mc_store::vectors;
use serde_json::json;

use crate::fixture::{Fixture, RETRY, RETRY_REWORDED, passage_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_vectors_are_queued_and_failures_reported() {
    let fixture = Fixture::new().await;
    let previous = vectors::register_model(fixture.db.store(), "old", 3, &json!({})).await.unwrap();
    // No node uses it any more.
    fixture.execute("update embedding_models set used_at = '-infinity' where name = 'old'").await;
    let [current, failed, missing, private] = [
        fixture.record(RETRY).await,
        fixture.record(RETRY_REWORDED).await,
        fixture.record("Mail waits").await,
        fixture.record("Carts expire at noon").await,
    ];
    fixture
        .execute(&format!(
            "update memory_records set visibility = 'private', private_to = '{}' where id = \
             '{private}'",
            UserId::LOCAL
        ))
        .await;
    for id in [current, failed, missing, private] {
        fixture.execute(&passage_of(id)).await;
    }
    let statements = [
        "update passages set location = 'https://wiki.example.org/' || right(record_id::text, \
         4)"
        .to_owned(),
        format!(
            "delete from embedding_queue q using passages p
                 where p.id = q.passage_id and p.record_id in ('{current}', '{missing}')"
        ),
        "update embedding_queue set attempts = 7, last_error = 'it is too long', scheduled_at = \
         now() + interval '1 hour'"
            .to_owned(),
        format!(
            "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, \
                 embedding)
                 select m.id, p.id, p.project_id, p.source_kind, p.content_hash, '[1,0,0]'
                 from passages p, embedding_models m where p.record_id = '{current}' or
                     p.record_id = '{missing}' and m.id = {}",
            previous.id
        ),
    ];
    for statement in statements {
        fixture.execute(&statement).await;
    }
    let queue = "select string_agg(right(p.record_id::text, 4) || case when q.scheduled_at > \
                   now() then ' later' else '' end,
                       ',' order by q.attempts desc, p.record_id)
                   from embedding_queue q join passages p on p.id = q.passage_id";
    let before = fixture.text(queue).await;

    let dry_run = fixture.run(HygieneTask::Embedding, true).await;
    assert_eq!(
        dry_run.counts,
        json!({"passages": 4, "missing_vectors": 3, "waiting": 0, "failed_vectors": 2,
               "previous_model_vectors": 2})
    );
    let findings = dry_run.findings.as_array().unwrap();
    assert_eq!(findings.len(), 1, "private passages are not named");
    let ending = failed.to_string().split_off(32);
    assert_eq!(findings[0]["place"], format!("https://wiki.example.org/{ending}"));
    assert_eq!(
        (&findings[0]["record"], &findings[0]["error"], &findings[0]["attempts"]),
        (&json!(failed), &json!("it is too long"), &json!(7))
    );
    assert_eq!(fixture.text(queue).await, before);

    let applied = fixture.run(HygieneTask::Embedding, false).await;
    assert_eq!((&applied.counts["queued"], &applied.counts["retried"]), (&json!(1), &json!(2)));
    let after = fixture.text(queue).await;
    assert!(!after.contains("later"), "{after}");
    assert!(after.ends_with(&missing.to_string().split_off(32)), "{after}");
    let progress =
        vectors::progress(fixture.db.store(), fixture.project, &fixture.model, true).await.unwrap();
    assert_eq!((progress.waiting, progress.failed_count), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passages_excluded_by_policy_are_not_queued() {
    let fixture = Fixture::new().await;
    let record = fixture.record(RETRY).await;
    fixture.execute(&passage_of(record)).await;
    fixture.execute("delete from embedding_queue").await;
    let policy = json!({"models": {"embedding": "local"}});
    fixture
        .execute(&format!(
            "select mc.set_policy('{}', '{}', null, '{policy}')",
            UserId::LOCAL.0,
            fixture.project.0
        ))
        .await;
    let applied = fixture.run(HygieneTask::Embedding, false).await;
    assert_eq!(
        applied.counts,
        json!({"passages": 1, "excluded_by_policy": 1, "previous_model_vectors": 0})
    );
    assert_eq!(fixture.text("select count(*)::text from embedding_queue").await, "0");
}
