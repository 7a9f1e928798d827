//! Duplicate records: found, merged, and rolled back.

use mc_domain::{DuplicateClusterId, RecordId, RecordKind, RecordState, Trust, UserId};
use mc_memory::duplicates::{accept, dismiss, find, merge_by_policy};
use mc_memory::normalize::content_hash;
use mc_memory::review::roll_back;
use mc_memory::{Error, NewCitation, SaveRequest};
use mc_store::duplicates::{self, Cluster, NewCluster};
use mc_store::records::{self, Record};
use mc_store::{citations, testing};

use crate::support::World;

const RETRY: &str =
    "The payments worker retries a failed charge 3 times with jitter before it gives up";
const RETOLD: &str = "Please note: before it gives up, the payments worker retries failed charges \
    three times with jitter";
const OTHER: &str = "Cart sessions expire after the delay that the shop owner sets in the panel";

/// Changes a record's text without the judge, as an import of another program might.
async fn says(world: &World, id: RecordId, content: &str) {
    let hash: String = content_hash(content).iter().map(|byte| format!("{byte:02x}")).collect();
    let sql = format!(
        "with said as (update memory_records set content = '{content}', content_hash = '\\x{hash}'
                       where id = '{id}')
         delete from embeddings
         where passage_id in (select id from passages where record_id = '{id}')"
    );
    testing::execute(world.url(), &sql).await.unwrap();
}

/// Creates a record with this content, even if there is a duplicate.
async fn told(world: &World, request: &SaveRequest) -> RecordId {
    let filler =
        format!("{} is what the tool {} prints", request.tags.join(" "), RecordId::generate());
    let id = world.created(&SaveRequest { content: filler, ..request.clone() }).await;
    says(world, id, &request.content).await;
    id
}

fn tagged(world: &World, content: &str, tag: &str) -> SaveRequest {
    SaveRequest { tags: vec![tag.to_owned()], scope: vec![tag.to_owned()], ..world.note(content) }
}

async fn pair(world: &World) -> [RecordId; 2] {
    let cites = |file: &str| NewCitation {
        file: file.into(),
        symbol: None,
        lines: None,
        commit: None,
        content_hash: None,
    };
    let one = SaveRequest { citations: vec![cites("a.rb")], ..tagged(world, RETRY, "charges") };
    let two = SaveRequest {
        kind: RecordKind::Gotcha,
        citations: vec![cites("b.rb")],
        owner: Some("billing".into()),
        ..tagged(world, RETOLD, "jitter")
    };
    [told(world, &one).await, told(world, &two).await]
}

async fn found(world: &World) -> Vec<NewCluster> {
    find(world.store(), world.project).await.unwrap()
}

fn ids(cluster: &NewCluster) -> Vec<RecordId> {
    cluster.record_ids.iter().map(|member| member.id).collect()
}

/// Stores the clusters found, for reviewers.
async fn proposed(world: &World) -> Vec<Cluster> {
    let found = found(world).await;
    let mut tx = world.store().begin().await.unwrap();
    duplicates::propose(&mut tx, world.project, &found).await.unwrap();
    tx.commit().await.unwrap();
    duplicates::list_open(world.store(), world.project, None, 10).await.unwrap()
}

async fn only(world: &World) -> DuplicateClusterId {
    let clusters = proposed(world).await;
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    clusters[0].id
}

async fn record(world: &World, id: RecordId) -> Record {
    records::find(world.store(), id).await.unwrap().unwrap()
}

async fn passages_of(world: &World, id: RecordId) -> String {
    let sql = format!("select count(*)::text from passages where record_id = '{id}'");
    testing::text(world.store(), &sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merged_record_has_all_labels_and_can_be_rolled_back() {
    let world = World::new().await;
    let [kept, gone] = pair(&world).await;
    world.created(&world.note(OTHER)).await;
    let cluster = only(&world).await;

    let now = accept(&world.ctx, world.project, cluster, None, "ann").await.unwrap();
    assert_eq!((now.id, now.content.as_str(), now.kind), (kept, RETRY, RecordKind::Gotcha));
    assert!(["charges", "jitter"].iter().all(|tag| now.tags.contains(&(*tag).to_owned())));
    assert!(["charges", "jitter"].iter().all(|scope| now.scope.contains(&(*scope).to_owned())));
    assert_eq!(now.owner.as_deref(), Some("billing"));
    let cited = citations::of_records(world.store(), &[kept]).await.unwrap();
    let cited: Vec<_> = cited.iter().map(|one| one.file_path.as_str()).collect();
    assert_eq!(cited, ["a.rb", "b.rb"]);
    let replaced = record(&world, gone).await;
    assert_eq!((replaced.state, replaced.superseded_by), (RecordState::Superseded, Some(kept)));
    assert_eq!(
        (passages_of(&world, kept).await, passages_of(&world, gone).await),
        ("1".into(), "0".into())
    );

    // Each is rolled back like any change.
    let back = roll_back(&world.ctx, gone, None, "ann").await.unwrap();
    assert_eq!((back.state, back.content.as_str()), (RecordState::Active, RETOLD));
    let before = roll_back(&world.ctx, kept, None, "ann").await.unwrap();
    assert_eq!((before.kind, before.owner), (RecordKind::Fact, None));
    assert!(!before.tags.contains(&"jitter".to_owned()));
    assert_eq!(passages_of(&world, gone).await, "1");
    // A reviewer separated them, so they are not clustered again.
    assert_eq!(found(&world).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reviewer_may_keep_another_member() {
    let world = World::new().await;
    let [first, second] = pair(&world).await;
    let cluster = only(&world).await;
    let stranger = RecordId::generate();
    let refused = accept(&world.ctx, world.project, cluster, Some(stranger), "ann").await;
    assert!(matches!(refused, Err(Error::NotInCluster(id)) if id == stranger), "{refused:?}");
    let kept = accept(&world.ctx, world.project, cluster, Some(second), "ann").await.unwrap();
    assert_eq!((kept.id, kept.content.as_str()), (second, RETOLD));
    assert_eq!(record(&world, first).await.superseded_by, Some(second));
    let again = accept(&world.ctx, world.project, cluster, None, "ann").await;
    assert!(matches!(again, Err(Error::NoCluster(id)) if id == cluster), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dismissed_cluster_returns_only_when_a_member_changes() {
    let world = World::new().await;
    let [_, second] = pair(&world).await;
    let cluster = only(&world).await;
    dismiss(&world.ctx, world.project, cluster).await.unwrap();
    assert!(proposed(&world).await.is_empty());
    let again = dismiss(&world.ctx, world.project, cluster).await;
    assert!(matches!(again, Err(Error::NoCluster(_))), "{again:?}");

    says(
        &world,
        second,
        "The payments worker retries failed charges three times with some \
        jitter before it gives up",
    )
    .await;
    assert_eq!(proposed(&world).await.len(), 1);
    // An open cluster is withdrawn when it no longer holds.
    says(&world, second, OTHER).await;
    assert!(proposed(&world).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merge_fails_when_a_member_has_changed() {
    let world = World::new().await;
    let [_, second] = pair(&world).await;
    let cluster = only(&world).await;
    let looked_at = found(&world).await.remove(0);
    says(&world, second, &RETOLD.replace("three", "four")).await;
    let refused = accept(&world.ctx, world.project, cluster, None, "ann").await;
    assert!(matches!(refused, Err(Error::ClusterChanged(id)) if id == cluster), "{refused:?}");
    assert!(!merge_by_policy(world.store(), world.project, &looked_at).await.unwrap());
    assert_eq!(world.live_records().await, 2);
    assert_eq!(found(&world).await, [], "notes that differ in a number are two notes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merge_by_policy_prefers_used_records() {
    let world = World::new().await;
    let [first, second] = pair(&world).await;
    let used = format!("update memory_records set use_count = 3 where id = '{second}'");
    testing::execute(world.url(), &used).await.unwrap();
    let found = found(&world).await;
    assert_eq!(ids(&found[0]), [second, first]);
    assert!(merge_by_policy(world.store(), world.project, &found[0]).await.unwrap());
    let versions = records::versions(world.store(), second).await.unwrap();
    assert_eq!(versions[0].changed_by.as_deref(), Some("hygiene"));
    assert!(versions[0].reason.contains(&first.to_string()), "{}", versions[0].reason);
    assert_eq!(world.live_records().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_proposed_and_expired_records_are_never_clustered() {
    for change in [
        "visibility = 'proposed', trust = 'untrusted'".to_owned(),
        format!("visibility = 'private', private_to = '{}'", UserId::LOCAL),
        "ttl = now() - interval '1 day'".to_owned(),
        "state = 'deleted'".to_owned(),
    ] {
        let world = World::new().await;
        let [_, second] = pair(&world).await;
        let sql = format!("update memory_records set {change} where id = '{second}'");
        testing::execute(world.url(), &sql).await.unwrap();
        assert_eq!(found(&world).await, [], "{change}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn near_duplicates_with_distant_vectors_are_not_clustered() {
    let world = World::new().await;
    let [first, second] = pair(&world).await;
    assert_eq!(found(&world).await.len(), 1);
    let vector = |id: RecordId, at: usize| {
        let numbers: Vec<_> = (0..256).map(|n| if n == at { "1" } else { "0" }).collect();
        format!(
            "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, \
                embedding)
             select m.id, p.id, p.project_id, 'memory', p.content_hash, '[{}]'
             from passages p, embedding_models m where p.record_id = '{id}'",
            numbers.join(",")
        )
    };
    testing::execute(world.url(), &vector(first, 0)).await.unwrap();
    testing::execute(world.url(), &vector(second, 1)).await.unwrap();
    assert_eq!(found(&world).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merge_avoids_the_kind_of_an_identical_record() {
    let world = World::new().await;
    let fact = told(&world, &tagged(&world, RETRY, "charges")).await;
    let rule = SaveRequest { kind: RecordKind::Rule, ..tagged(&world, RETRY, "rules") };
    let rule = told(&world, &rule).await;
    let apart = only(&world).await;
    dismiss(&world.ctx, world.project, apart).await.unwrap();
    let retold = SaveRequest { kind: RecordKind::Rule, ..tagged(&world, RETOLD, "jitter") };
    let retold = told(&world, &retold).await;
    testing::execute(
        world.url(),
        &format!("update memory_records set use_count = 9 where id = '{fact}'"),
    )
    .await
    .unwrap();
    let cluster = found(&world).await.remove(0);
    assert_eq!(ids(&cluster), [fact, retold]);
    assert!(merge_by_policy(world.store(), world.project, &cluster).await.unwrap());
    assert_eq!(record(&world, fact).await.kind, RecordKind::Fact);
    assert_eq!(record(&world, rule).await.state, RecordState::Active);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merge_by_policy_confirms_no_unconfirmed_data() {
    let world = World::new().await;
    let [kept, gone] = pair(&world).await;
    let confirm = format!("update memory_records set trust = 'confirmed' where id = '{kept}'");
    testing::execute(world.url(), &confirm).await.unwrap();
    let before = record(&world, kept).await;
    let found = found(&world).await;
    assert_eq!(ids(&found[0]), [kept, gone]);
    assert!(merge_by_policy(world.store(), world.project, &found[0]).await.unwrap());
    let now = record(&world, kept).await;
    assert_eq!(now.access.trust, Trust::Confirmed);
    assert_eq!(
        (now.kind, &now.tags, &now.scope, &now.owner, &now.meta),
        (before.kind, &before.tags, &before.scope, &before.owner, &before.meta)
    );
    let cited = citations::of_records(world.store(), &[kept]).await.unwrap();
    assert!(cited.iter().all(|one| one.file_path == "a.rb"), "{cited:?}");
    assert_eq!(record(&world, gone).await.superseded_by, Some(kept));
}

/// Sets an explicit TTL of a record, this many days from now.
async fn ends(world: &World, id: RecordId, days: u8) {
    let sql = format!(
        "update memory_records set ttl = now() + interval '{days} days', is_ttl_explicit = true \
            where id = '{id}'"
    );
    testing::execute(world.url(), &sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merged_record_expires_no_earlier_than_replaced_ones() {
    for others_end in [None, Some(9)] {
        let world = World::new().await;
        let [kept, gone] = pair(&world).await;
        ends(&world, kept, 2).await;
        if let Some(days) = others_end {
            ends(&world, gone, days).await;
        }
        let last = record(&world, gone).await.ttl;
        let found = found(&world).await;
        assert_eq!(ids(&found[0]), [kept, gone]);
        assert!(merge_by_policy(world.store(), world.project, &found[0]).await.unwrap());
        let now = record(&world, kept).await;
        assert_eq!((now.ttl, now.is_ttl_explicit), (last, others_end.is_some()), "{others_end:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replaced_rule_with_equal_text_can_be_rolled_back() {
    let world = World::new().await;
    let fact = told(&world, &tagged(&world, RETRY, "charges")).await;
    let rule = SaveRequest { kind: RecordKind::Rule, ..tagged(&world, RETRY, "rules") };
    let rule = told(&world, &rule).await;
    let used = format!("update memory_records set use_count = 9 where id = '{fact}'");
    testing::execute(world.url(), &used).await.unwrap();
    let cluster = found(&world).await.remove(0);
    assert_eq!(ids(&cluster), [fact, rule]);
    assert!(merge_by_policy(world.store(), world.project, &cluster).await.unwrap());
    assert_eq!(record(&world, fact).await.kind, RecordKind::Fact);
    let back = roll_back(&world.ctx, rule, None, "ann").await.unwrap();
    assert_eq!((back.state, back.kind), (RecordState::Active, RecordKind::Rule));
}
