//! Bundles, which are stored after the response.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_domain::{BundleId, BundleSection, DocId, PassageId, ProjectId, RecordId, Trust, UserId};
use mc_sanitizer::{Sanitized, mask};
use mc_store::Store;
use mc_store::bundles::{self, BundleItem, NewBundle};
use mc_store::docs::{self, NewDoc};
use mc_store::testing::execute;
use mc_testkit::TestDatabase;
use serde_json::json;

fn item(section: BundleSection, record: Option<RecordId>, doc: Option<DocId>) -> BundleItem {
    BundleItem { section, record, doc, passage: PassageId::generate(), score: 1.0 }
}

async fn document(store: &Store, project: ProjectId, doc_id: &str) -> DocId {
    let doc = NewDoc {
        file: None,
        saved_by: None,
        trust: Trust::Imported,
        source: "wiki".into(),
        doc_id: doc_id.into(),
        title: mask(doc_id).text,
        url: Sanitized::default(),
        content: mask(doc_id).text,
        scope: vec![],
        tags: vec![],
    };
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
