//! Bundles, which are stored after the response.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_domain::{BundleId, BundleSection, DocId, PassageId, ProjectId, RecordId, UserId};
use mc_store::Store;
use mc_store::bundles::{self, BundleItem, NewBundle};
use mc_store::docs;
use mc_store::testing::{chains, execute, hold, text, until_a_session_waits};
use mc_testkit::TestDatabase;
use serde_json::json;

fn item(section: BundleSection, record: Option<RecordId>, doc: Option<DocId>) -> BundleItem {
    BundleItem { section, record, doc, passage: PassageId::generate(), score: 1.0 }
}

async fn document(store: &Store, project: ProjectId, doc_id: &str) -> DocId {
    let doc = mc_testkit::document(doc_id, doc_id);
    let mut tx = store.begin().await.unwrap();
    let (id, _) = docs::upsert(&mut tx, project, &doc, &[]).await.unwrap();
    tx.commit().await.unwrap();
    id
}

#[tokio::test]
async fn bundle_is_stored_if_one_of_its_items_was_deleted() {
    let db = TestDatabase::create().await;
    let project = db.project("shop").await.id;
    let shop = db.service().for_project(UserId::LOCAL, project);
    let [gone, there] =
        [document(&shop, project, "gone").await, document(&shop, project, "there").await];
    execute(db.url(), "delete from docs where doc_id = 'gone'").await.unwrap();
    let bundle = |items: Vec<BundleItem>| NewBundle {
        id: BundleId::generate(),
        project,
        principal: "somebody".into(),
        session: None,
        is_control: false,
        prompt_version: None,
        request: json!({}),
        confidence: 1.0,
        token_count: 100,
        degraded: vec![],
        handles: (1..=items.len()).map(|n| format!("d{n}").parse().unwrap()).collect(),
        items,
    };
    let first = bundle(vec![
        item(BundleSection::Facts, Some(RecordId::generate()), None),
        item(BundleSection::Links, None, Some(gone)),
        item(BundleSection::Links, None, Some(there)),
    ]);
    let beside = bundle(vec![item(BundleSection::Links, None, Some(there))]);
    let mut tx = shop.begin_frequent().await.unwrap();
    bundles::insert(&mut tx, project, &[&first, &beside]).await.unwrap();
    tx.commit().await.unwrap();
    for (bundle, expected) in
        [(first.id, vec![None, None, Some(there)]), (beside.id, vec![Some(there)])]
    {
        let (_, items) = bundles::named_items(&shop, project, Some(bundle)).await.unwrap().unwrap();
        assert!(items.iter().all(|item| item.record.is_none()));
        assert_eq!(items.iter().map(|item| item.doc).collect::<Vec<_>>(), expected);
    }
}

/// Another transaction has locked a record and a document. Once feedback about them waits for it,
/// it removes them from the items, as a deletion does, and counts another use in the bundle. In a
/// deadlock, PostgreSQL would abort that transaction, whose timeout is shorter.
#[tokio::test]
async fn feedback_waits_for_writers_of_its_records_and_documents() {
    let db = TestDatabase::create().await;
    let project = db.project("shop").await.id;
    let rows = include_str!("isolation/rows.sql").replace(":project", &format!("'{project}'"));
    execute(db.url(), &rows.replace(":n", "1")).await.unwrap();
    execute(
        db.url(),
        "do $$ begin
             update bundle_items set record_id = (select id from memory_records);
             insert into bundle_items (bundle_id, project_id, position, section, score, doc_id)
             select b.id, b.project_id, 1, 'links', 1, d.id from bundles b, docs d;
             execute format('alter database %I set deadlock_timeout = ''1h''', current_database());
         end $$",
    )
    .await
    .unwrap();
    let id = async |table| {
        let id = format!("select id::text from {table}");
        text(db.store(), &id).await.unwrap().parse().unwrap()
    };
    let (bundle, ids) =
        (BundleId(id("bundles").await), [id("memory_records").await, id("docs").await]);
    let writer = hold(
        db.url(),
        "do $$ begin
             perform set_config('deadlock_timeout', '10ms', true);
             perform from memory_records for update;
             perform from docs for update;
         end $$",
    )
    .await
    .unwrap();
    let writing = async {
        until_a_session_waits(db.service()).await.unwrap();
        writer
            .commit_after(
                "do $$ begin
                     update bundle_items set record_id = null, doc_id = null;
                     insert into bundle_uses (project_id, bundle_id, record_id, kind)
                     select b.project_id, b.id, r.id, 'cited' from bundles b, memory_records r;
                 end $$",
            )
            .await
            .unwrap();
    };
    // A new connection has the new timeout.
    let service = Store::connect(&db.logins().service, 1, chains()).await.unwrap();
    let shop = service.for_project(UserId::LOCAL, project);
    let ((), used) = tokio::join!(writing, bundles::mark_used(&shop, bundle, &ids));
    let used = used.unwrap();
    service.close().await;
    assert_eq!(used, Some(ids.to_vec()));
}
