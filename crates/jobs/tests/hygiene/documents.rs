//! The task `consistency` on documents and conversations.

use chrono::Utc;
use mc_connectors::{Comment, Thread};
use mc_domain::{HygieneTask, Policy, Provider};
use mc_jobs::apply::doc_parts::{self, DocPartBatch};
use mc_memory::ReviewStatus;
use mc_memory::documents::{self, Body, Document, NewDocument, prepare_all};
use serde_json::json;

use crate::fixture::{Fixture, damage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_without_passages_do_not_block_others() {
    let fixture = Fixture::new().await;
    // A document with front matter only has no passage. The ids have the order of the numbers.
    fixture
        .execute(&format!(
            "insert into docs (id, project_id, source, doc_id, title, content)
             select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, '{}',
                    case when n = 1 then 'tracker:github' else 'wiki' end, 'page-' || n, 'Units',
                    case when n in (1, 502, 503) then 'ann: Count in minutes.'
                         else E'---\\ntags: [a]\\n---\\n' end
             from generate_series(1, 503) n",
            fixture.project
        ))
        .await;
    let rebuilt = "select string_agg(d.doc_id, ',' order by d.id) from passages p join docs d \
                   on d.id = p.doc_id";
    let applied = fixture.run(HygieneTask::Consistency, false).await;
    assert_eq!(
        (&applied.counts["documents_not_found"], &applied.counts["conversations_not_found"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(applied.findings, json!([{"document": "00000000-0000-7000-8000-000000000001"}]));
    assert_eq!(fixture.text(rebuilt).await, "page-502,page-503");
}

/// Imports a conversation as a client sends it.
async fn import_conversation(fixture: &Fixture, messages: &[(&str, &str)]) {
    let messages = messages.iter().map(|(author, text)| documents::ConversationMessage {
        author: Some((*author).to_owned()),
        sent_at: Some("2026-11-01T10:30:00Z".parse().unwrap()),
        text: (*text).to_owned(),
    });
    let document = Document {
        doc_id: "thread-1".to_owned(),
        title: "Units".to_owned(),
        body: Body::Conversation(messages.collect()),
        url: String::new(),
        scope: Vec::new(),
        tags: vec!["units".to_owned()],
    };
    let source = "tracker:chat".to_owned();
    let incoming = vec![NewDocument { saved_by: None, connection: None, source, document }];
    let policy = Policy::default();
    let prepared = prepare_all(None, &policy, incoming, ReviewStatus::Unreviewed).await;
    let mut tx = fixture.db.store().begin().await.unwrap();
    prepared[0].write(&mut tx, fixture.project).await.unwrap();
    tx.commit().await.unwrap();
}

/// Imports the same messages as comments of a tracker.
async fn import_comments(fixture: &Fixture, messages: &[(&str, &str)]) {
    let policy = serde_json::from_value(json!({ "trackers": {"import_comments": true } })).unwrap();
    let (external_id, title) = ("shop#1".to_owned(), "Units".to_owned());
    let thread = Thread { external_id, title, url: String::new() };
    let comment = |(id, (author, text)): (usize, &(&str, &str))| Comment {
        id: id.to_string(),
        author: Some((*author).to_owned()),
        text: (*text).to_owned(),
        sent_at: Some("2026-11-01T10:30:00Z".parse().unwrap()),
        updated_at: None,
        is_deleted: false,
    };
    let comments: Vec<_> = messages.iter().enumerate().map(comment).collect();
    let thread = (Provider::Github, &thread);
    let batch = DocPartBatch::from_webhook(&policy, thread, &comments, Utc::now());
    let mut tx = fixture.db.store().begin().await.unwrap();
    doc_parts::write(&mut tx, fixture.project, &policy, &batch).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_are_rebuilt_identically() {
    let fixture = Fixture::new().await;
    let messages =
        [("Ann", "Minutes or hours?"), ("Bo", "Count in minutes.\n\n# Always\n\nEverywhere.")];
    import_conversation(&fixture, &messages).await;
    import_comments(&fixture, &messages).await;
    let passages = "select json_agg(row(d.doc_id, p.ordinal, p.title, p.location, p.author, \
                 p.context, p.text, p.tags,
                         p.line_start, p.line_end, p.content_hash) order by d.doc_id, \
                         p.ordinal)::text
                 from passages p join docs d on d.id = p.doc_id";
    let before = fixture.text(passages).await;
    assert!(before.contains("1 November 2026, 10:30\\nAnn: Minutes or hours?"), "{before}");
    damage(&fixture, "delete from passages").await;
    let applied = fixture.run(HygieneTask::Consistency, false).await;
    assert_eq!(applied.counts["documents_not_found"], 2, "{:?}", applied.counts);
    assert_eq!(fixture.text(passages).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dry_run_reports_that_there_is_more() {
    let fixture = Fixture::new().await;
    fixture
        .execute(&format!(
            "insert into docs (id, project_id, source, doc_id, title, content)
             select gen_random_uuid(), '{}', 'wiki', 'page-' || n, 'Units', 'Count in minutes.'
             from generate_series(1, 501) n",
            fixture.project
        ))
        .await;
    let dry_run = fixture.run(HygieneTask::Consistency, true).await;
    assert_eq!(
        (&dry_run.counts["documents_not_found"], &dry_run.counts["and_more"]),
        (&json!(500), &json!(1))
    );
}
