//! The task `consistency`.

use mc_domain::{HygieneTask, RecordId, UserId};
use mc_store::{ingest_runs, repositories};
use serde_json::{Value, json};

use crate::fixture::{Fixture, RETRY, damage};

/// Checks that the task finds one kind of damage, and repairs it unless it is a dry run.
/// `is_intact` is a query for the state.
async fn check_repair(fixture: &Fixture, kind: &str, statement: &str, is_intact: &str) {
    let intact = fixture.run(HygieneTask::Consistency, false).await;
    assert!(
        intact.counts.as_object().unwrap().values().all(|count| count == 0),
        "{kind}: {:?}",
        intact.counts
    );
    assert_eq!(fixture.text(is_intact).await, "true", "{kind}, before");
    damage(fixture, statement).await;
    assert_eq!(fixture.text(is_intact).await, "false", "{kind}, damaged");
    let dry_run = fixture.run(HygieneTask::Consistency, true).await;
    assert_eq!(dry_run.counts[kind], 1, "{:?}", dry_run.counts);
    assert_eq!(fixture.text(is_intact).await, "false", "{kind}, after a dry run");
    let applied = fixture.run(HygieneTask::Consistency, false).await;
    assert_eq!(applied.counts[kind], 1, "{:?}", applied.counts);
    let details = "select details from audit_events where action = 'search_index.repaired' \
                   order by seq desc limit 1";
    let details: Value = serde_json::from_str(&fixture.text(details).await).unwrap();
    assert_eq!(details[kind], 1);
    assert_eq!(fixture.text(is_intact).await, "true", "{kind}, repaired");
}

/// Creates a record, a document, a dialog and a code file with their passages; returns the record.
async fn create_searchable_data(fixture: &Fixture) -> RecordId {
    let (id, p) = (fixture.record(RETRY).await, fixture.project);
    let sql = format!(
        "insert into repositories (id, project_id, owner, name, location, indexed_at)
         values (gen_random_uuid(), '{p}', 'acme', 'shop', 'https://git.example.org/shop.git', \
         now());
         insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
         language, line_count, chunker_version)
         select gen_random_uuid(), r.id, r.project_id, 'a.rb', '\\x01', 9, 'ruby', 1, 1 from \
         repositories r;
         insert into passages (id, project_id, file_id, text, content_hash)
         select gen_random_uuid(), f.project_id, f.id, 'class Cart', '\\x02' from files f;
         insert into code_chunks (passage_id, project_id, repository_id, file_id, chunk_index, \
         line_start, line_end,
             chunk_hash, span_hash)
         select p.id, p.project_id, f.repository_id, f.id, 0, 1, 1, '\\x00', '\\x00'
         from passages p join files f on f.id = p.file_id;
         insert into docs (id, project_id, source, doc_id, title, content)
         values (gen_random_uuid(), '{p}', 'wiki', 'adr-1', 'Units', '# Units' || chr(10) || \
         chr(10) || 'Count in minutes.');
         insert into passages (id, project_id, doc_id, title, location, text, content_hash)
         select gen_random_uuid(), d.project_id, d.id, 'Units', 'adr-1', 'Count in minutes.', \
         '\\x03' from docs d;
         insert into dialogs (id, project_id, distilled, is_searchable)
         values (gen_random_uuid(), '{p}', 'The units of both delays differ.', true);
         insert into passages (id, project_id, dialog_id, text, content_hash)
         select gen_random_uuid(), d.project_id, d.id, d.distilled, '\\x07' from dialogs d;
         insert into passages (id, project_id, record_id, record_kind, text, content_hash)
         values (gen_random_uuid(), '{p}', '{id}', 'fact', '{RETRY}', '\\x04');"
    );
    fixture.execute(&format!("do $create$ begin {sql} end $create$")).await;
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consistency_finds_and_repairs_each_kind_of_damage() {
    let fixture = Fixture::new().await;
    let id = create_searchable_data(&fixture).await;
    check_repair(
        &fixture,
        "records_not_found",
        "delete from passages where record_id is not null",
        "select exists (select from passages where record_id is not null)::text",
    )
    .await;
    check_repair(
        &fixture,
        "records_not_found",
        "update passages set text = 'something else' where record_id is not null",
        &format!("select (text = '{RETRY}')::text from passages where record_id is not null"),
    )
    .await;
    check_repair(
        &fixture,
        "documents_not_found",
        "delete from passages where doc_id is not null",
        "select exists (select from passages where doc_id is not null and text like \
         '%minutes%')::text",
    )
    .await;
    for statement in [
        "delete from passages where dialog_id is not null",
        "update passages set text = 'something else' where dialog_id is not null",
    ] {
        let found = "select exists (select from passages p join dialogs d on d.id = p.dialog_id
                                    where p.text = d.distilled)::text";
        check_repair(&fixture, "dialogs_not_found", statement, found).await;
    }
    check_repair(
        &fixture,
        "passages_without_vector",
        "delete from embedding_queue where passage_id in (select id from passages where doc_id is \
         not null)",
        "select exists (select from embedding_queue q join passages p on p.id = q.passage_id
                        where p.doc_id is not null)::text",
    )
    .await;
    // A vector must not have more readers than its passage.
    fixture
        .execute("insert into embedding_models (name, dimensions, provider) values ('m', 2, '{}')")
        .await;
    fixture
        .execute(
            "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, \
         embedding)
         select m.id, p.id, p.project_id, p.source_kind, p.content_hash, '[1,0]' from passages p, \
         embedding_models m
         where m.name = 'm' and p.record_id is not null",
        )
        .await;
    check_repair(
        &fixture,
        "vectors_with_wrong_readers",
        &format!("update embeddings set private_to = '{}'", UserId::LOCAL),
        "select (private_to is null)::text from embeddings",
    )
    .await;
    check_repair(
        &fixture,
        "stray_passages",
        &format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, \
             simhash, state)
             select gen_random_uuid(), project_id, 'fact', 'gone', ttl, '\\x05', 1, 'deleted' from \
             memory_records;
             insert into passages (id, project_id, record_id, record_kind, text, content_hash)
             select gen_random_uuid(), project_id, id, 'fact', 'gone', '\\x05' from memory_records \
             where id <> '{id}'"
        ),
        "select (not exists (select from passages where text = 'gone'))::text",
    )
    .await;
    check_repair(
        &fixture,
        "stray_passages",
        "update dialogs set is_searchable = false",
        "select (is_searchable = exists (select from passages where dialog_id is not null))::text \
         from dialogs",
    )
    .await;
    // Last, since the passage of the file is missing until its repository is indexed again.
    check_repair(
        &fixture,
        "code_without_location",
        "delete from code_chunks",
        "select (not exists (select from passages p where p.file_id is not null
                 and not exists (select from code_chunks c where c.passage_id = p.id)))::text",
    )
    .await;
    assert_eq!(fixture.text("select (content_hash = '\\x')::text from files").await, "true");
    assert_eq!(
        fixture.text("select count(*)::text from ingest_runs where status = 'QUEUED'").await,
        "1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_without_searchable_flag_is_unchanged() {
    let fixture = Fixture::new().await;
    create_searchable_data(&fixture).await;
    fixture
        .execute(&format!(
            "do $older$ begin
                 insert into dialogs (id, project_id, distilled)
                 values (gen_random_uuid(), '{p}', 'Delays are minutes.'), (gen_random_uuid(), \
                 '{p}', 'Nobody finds this.');
                 insert into passages (id, project_id, dialog_id, text, content_hash)
                 select gen_random_uuid(), d.project_id, d.id, d.distilled, '\\x08' from dialogs d
                 where d.distilled = 'Delays are minutes.';
             end $older$",
            p = fixture.project
        ))
        .await;
    let applied = fixture.run(HygieneTask::Consistency, false).await;
    for kind in ["stray_passages", "dialogs_not_found"] {
        assert_eq!(applied.counts[kind], 0, "{:?}", applied.counts);
    }
    let passages = "select count(*)::text from passages where dialog_id is not null";
    assert_eq!(fixture.text(passages).await, "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consistency_locks_repositories_before_the_audit() {
    let fixture = Fixture::new().await;
    create_searchable_data(&fixture).await;
    fixture
        .execute(&format!(
            "do $more$ begin
                 insert into repositories (id, project_id, owner, name, location, indexed_at)
                 values (gen_random_uuid(), '{}', 'acme', 'zoo', \
                 'https://git.example.org/zoo.git', now());
                 insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
                 language, line_count,
                     chunker_version)
                 select gen_random_uuid(), r.id, r.project_id, 'b.rb', '\\x01', 9, 'ruby', 1, 1
                 from repositories r where r.name = 'zoo';
                 insert into passages (id, project_id, file_id, text, content_hash)
                 select gen_random_uuid(), f.project_id, f.id, 'class Zoo', '\\x06' from files f \
                 where f.path = 'b.rb';
                 delete from code_chunks;
             end $more$",
            fixture.project
        ))
        .await;
    let runs = "select count(*)::text from ingest_runs";
    let dry_run = fixture.run(HygieneTask::Consistency, true).await;
    assert_eq!(
        (&dry_run.counts["code_without_location"], &dry_run.counts["and_more"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(fixture.text(runs).await, "0");

    // A concurrent request locks the second repository, then the audit.
    let mut tx = fixture.db.store().begin().await.unwrap();
    let repositories = repositories::list_in(&mut tx, fixture.project).await.unwrap();
    let zoo = repositories.iter().find(|repository| repository.name == "zoo").unwrap();
    let requested_ref = ingest_runs::last_requested_ref(&mut tx, zoo).await.unwrap();
    let id = fixture.request(HygieneTask::Consistency, false).await;
    fixture.wait_for_lock(id).await;
    ingest_runs::enqueue(&mut tx, zoo, &requested_ref).await.unwrap();
    tx.commit().await.unwrap();
    let applied = fixture.wait_for_end(id).await;
    assert_eq!((applied.last_error, &applied.counts["code_without_location"]), (None, &json!(2)));
    assert_eq!(fixture.text(runs).await, "2");
}
