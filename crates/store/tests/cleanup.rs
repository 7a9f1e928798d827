//! Cleanup and retention: deleted and kept data.

#![allow(clippy::unwrap_used, reason = "tests")]

use mc_domain::policy::RetentionDays;
use mc_sanitizer::mask;
use mc_store::cleanup::{self, CleanupReport};
use mc_store::docs;
use mc_store::hygiene::retention::{self, RetentionCategory};
use mc_store::passages::NewPassage;
use mc_store::{change_feed, testing};
use mc_testkit::{TestDatabase, document};

async fn write(db: &TestDatabase, project: mc_domain::ProjectId, text: &str) {
    let passage = NewPassage {
        location: mask("a.md").text,
        symbols: Vec::new(),
        scope: Vec::new(),
        tags: Vec::new(),
        text: mask(text).text,
        ..NewPassage::default()
    };
    let doc = document("a", text);
    let mut tx = db.store().begin().await.unwrap();
    docs::upsert(&mut tx, project, &doc, &[passage]).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn feed_cleanup_keeps_the_newest_transaction() {
    let db = TestDatabase::create().await;
    let project = db.project("shop").await.id;
    let before = change_feed::safe_position(db.store()).await.unwrap();
    write(&db, project, "one").await;
    write(&db, project, "two").await;
    assert_eq!(
        cleanup::sweep(db.store()).await.unwrap(),
        CleanupReport::default(),
        "nothing is old"
    );
    assert!(change_feed::pruned(db.store()).await.unwrap() < before.txid);

    let all = change_feed::read_after(db.store(), before, 100).await.unwrap().entries;
    let newest = all.last().unwrap().txid;
    testing::execute(db.url(), "update change_feed set created_at = now() - interval '8 days'")
        .await
        .unwrap();
    let swept = cleanup::sweep(db.store()).await.unwrap();
    let left = change_feed::read_after(db.store(), before, 100).await.unwrap().entries;
    assert!(!left.is_empty() && left.iter().all(|entry| entry.txid == newest));
    assert_eq!(usize::try_from(swept.feed).unwrap(), all.len() - left.len());
    let pruned = change_feed::pruned(db.store()).await.unwrap();
    assert!(before.txid <= pruned && pruned < newest, "{before:?} {pruned} {newest}");
}

#[tokio::test]
async fn retention_keeps_provider_data_that_a_record_names() {
    let db = TestDatabase::create().await;
    let project = db.project("shop").await.id;
    let [kept, old, new] = ["a", "b", "c"].map(|digit| digit.repeat(40));
    let rows = format!(
        "insert into pull_requests (id, project_id, external_id, title, state, source_updated_at)
         select gen_random_uuid(), '{project}', name, '', state, now() - interval '2 years'
         from (values ('kept', 'merged'), ('old', 'closed'), ('open', 'open')) of (name, state);
         insert into pull_request_commits (project_id, sha, pull_request_id)
         select '{project}', case external_id when 'kept' then '{kept}' else '{old}' end, id
             from pull_requests
         where state <> 'open';
         insert into pushed_commits (project_id, sha, head_sha, pushed_at) values
             ('{project}', '{old}', '{old}', now() - interval '2 years'),
             ('{project}', '{new}', '{old}', now());
         insert into ci_results (project_id, repository, sha, name, conclusion, source_updated_at)
         select '{project}', 'a/b', sha, 'build', 'success', at from (values
             ('{kept}', now() - interval '2 years'), ('{old}', now() - interval '2 years'),
                 ('{new}', now())
         ) of (sha, at);
         insert into doc_parts (project_id, source, doc_id, part_id, is_deleted, source_updated_at)
             values
             ('{project}', 'tracker:github', 'd', '1', true, now() - interval '31 days'),
             ('{project}', 'tracker:github', 'd', '2', false, now() - interval '31 days');
         insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash,
             meta)
         values (gen_random_uuid(), '{project}', 'fact', 'x', now() + interval '1 day', '\\x00', 1,
             '{{\"patch_sha\": \"{kept}\"}}');"
    );
    let block = format!("do $rows$ begin {rows} end $rows$");
    testing::execute(db.url(), &block).await.unwrap();
    let told = async || {
        let sql = "select concat_ws(' ',
            (select string_agg(external_id, ',' order by external_id) from pull_requests),
            (select string_agg(left(sha, 1), ',' order by sha) from pushed_commits),
            (select string_agg(left(sha, 1), ',' order by sha) from ci_results),
            (select string_agg(part_id, ',') from doc_parts))";
        testing::text(db.store(), sql).await.unwrap()
    };
    let mut tx = db.store().begin().await.unwrap();
    // The pull request is deleted first; then nothing names the commit of the CI result.
    let days = RetentionDays::default();
    assert_eq!(
        retention::purge(&mut tx, project, RetentionCategory::ProviderData, &days).await.unwrap(),
        4
    );
    tx.commit().await.unwrap();
    assert_eq!(told().await, "kept,open c a,c 2");
}
