//! Reviews of records: rollback and erasure restore earlier texts.

mod proposals;

use std::sync::Arc;

use chrono::{TimeDelta, Utc};
use mc_contract::operations::forget::ForgetResponse;
use mc_domain::{CitationVerdict, RecordId, RecordKind, RecordState, Trust, UserId, Visibility};
use mc_memory::review::{accept, confirm, forget, proposals, roll_back, share};
use mc_memory::{Decision, NewCitation, RecallRequest, SaveRequest, recall, recheck_files, save};
use mc_store::citations::{self, Citation};
use mc_store::records::{self, Contributor, Record};
use mc_store::testing;

use crate::support::{World, reviewed};

const RETRY: &str = "The payments worker retries a failed charge 3 times with jitter, because the \
                     gateway drops connections under load";
const RETOLD: &str = "Hi team, please note that because the gateway drops connections under load, \
    the payments worker retries failed charges three times with jitter!";
const EXPORT: &str = "The nightly export runs at 2:00";
const WORKER: &str = "app/workers/payments.rb";
const PATH: &str = "app/models/cart.rb";
const CART: &str = "class Cart\n  def total\n    items.sum(&:price_in_cents)\n  end\nend";
const TOTAL: Option<(&str, usize, usize)> = Some(("Cart#total", 2, 4));

fn file(path: &str) -> NewCitation {
    NewCitation { file: path.into(), symbol: None, lines: None, commit: None, content_hash: None }
}

fn cart_total() -> NewCitation {
    NewCitation { symbol: Some("Cart#total".into()), ..file(PATH) }
}

async fn somebody(world: &World) -> UserId {
    let id = UserId::generate();
    let sql = format!("insert into users (id, login) values ('{0}', 'user {0}')", id.0);
    execute(world, &sql).await;
    id
}

/// Runs a statement that simulates the passing of days.
async fn execute(world: &World, sql: &str) {
    testing::execute(world.url(), sql).await.unwrap();
}

async fn record(world: &World, id: RecordId) -> Record {
    records::find(world.store(), id).await.unwrap().unwrap()
}

async fn cited(world: &World, id: RecordId) -> Vec<Citation> {
    citations::of_records(world.store(), &[id]).await.unwrap()
}

/// Returns the passage of the only record.
async fn passage(world: &World) -> String {
    let sql = "select concat_ws('|', record_kind, author, location, symbols::text)
               from passages where record_id is not null";
    testing::text(world.store(), sql).await.unwrap()
}

async fn forgetting(world: &World, whose: UserId, dry_run: bool) -> ForgetResponse {
    forget(&world.ctx, world.project, &Contributor::User(whose), dry_run).await.unwrap()
}

/// Erases a user's share of the only record.
async fn forgotten(world: &World, whose: UserId, id: RecordId) -> Record {
    let forgotten = forgetting(world, whose, false).await;
    assert_eq!(forgotten.rolled_back, [id], "{forgotten:?}");
    record(world, id).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_of_only_the_kind_can_be_rolled_back() {
    let world = World::new().await;
    let id = world.created(&world.note(RETRY)).await;
    let rule = SaveRequest { kind: RecordKind::Rule, ..world.note(RETRY) };
    let made = world.save(&rule).await.record.unwrap();
    assert_eq!((made.id, made.kind, made.version), (id, RecordKind::Rule, 2));

    let back = roll_back(&world.ctx, id, None, "ann").await.unwrap();
    assert_eq!((back.kind, back.version), (RecordKind::Fact, 3));
    assert_eq!(passage(&world).await, "fact|||{}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rollback_restores_owner_and_citations_and_is_reversible() {
    let world = World::new().await;
    world.index_file(PATH, CART, TOTAL).await;
    let id = world.created(&world.note(RETRY)).await;
    let second = SaveRequest {
        kind: RecordKind::Gotcha,
        owner: Some("billing".into()),
        citations: vec![cart_total()],
        ..world.note(RETOLD)
    };
    assert_eq!(world.save(&second).await.decision, Decision::Merged(id));
    let before = cited(&world, id).await.remove(0);
    assert_eq!(before.verdict, CitationVerdict::Fresh);

    let first = roll_back(&world.ctx, id, None, "ann").await.unwrap();
    assert_eq!((first.kind, first.owner, first.content.as_str()), (RecordKind::Fact, None, RETRY));
    assert!(cited(&world, id).await.is_empty());
    assert_eq!(passage(&world).await, "fact|||{}");

    let second = roll_back(&world.ctx, id, Some(2), "ann").await.unwrap();
    assert_eq!((second.kind, second.owner.as_deref()), (RecordKind::Gotcha, Some("billing")));
    let after = cited(&world, id).await.remove(0);
    assert_eq!((after.verdict, after.checked_at), (before.verdict, before.checked_at));
    assert_eq!((after.lines, after.content_hash), (before.lines, before.content_hash));
    assert_eq!(passage(&world).await, "gotcha|billing|app/models/cart.rb|{Cart#total}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_restores_kind_owner_expiry_and_citations() {
    let world = World::new().await;
    world.index_file(PATH, CART, TOTAL).await;
    let eve = somebody(&world).await;
    let end = Utc::now() + TimeDelta::days(30);
    let ours = SaveRequest {
        owner: Some("billing".into()),
        ttl: Some(end),
        citations: vec![file(WORKER)],
        ..world.note(RETRY)
    };
    let id = world.created(&ours).await;
    let hers = SaveRequest {
        saved_by: Some(eve),
        kind: RecordKind::Rule,
        owner: Some("eve".into()),
        ttl: Some(Utc::now() + TimeDelta::days(1)),
        citations: vec![cart_total()],
        ..world.note(RETOLD)
    };
    assert_eq!(world.save(&hers).await.decision, Decision::Merged(id));
    // Her citation makes it stale.
    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), TOTAL).await;
    recheck_files(world.store(), world.project, &[PATH.to_owned()]).await.unwrap();
    let made = record(&world, id).await;
    assert_eq!((made.kind, made.state), (RecordKind::Rule, RecordState::Stale));
    assert_eq!(passage(&world).await, format!("rule|eve|{WORKER}|{{Cart#total}}"));

    let left = forgotten(&world, eve, id).await;
    assert_eq!((left.kind, left.state), (RecordKind::Fact, RecordState::Active));
    assert_eq!((left.content.as_str(), left.owner.as_deref()), (RETRY, Some("billing")));
    assert_eq!((left.ttl.timestamp(), left.is_ttl_explicit), (end.timestamp(), true));
    let paths: Vec<_> = cited(&world, id).await.into_iter().map(|one| one.file_path).collect();
    assert_eq!(paths, [WORKER]);
    assert_eq!(passage(&world).await, format!("fact|billing|{WORKER}|{{}}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_added_to_the_same_text_are_erased() {
    let world = World::new().await;
    let eve = somebody(&world).await;
    let ours =
        SaveRequest { trust: Trust::Untrusted, citations: vec![file(WORKER)], ..world.note(RETRY) };
    let id = world.created(&ours).await;
    let same = || SaveRequest { saved_by: Some(eve), trust: Trust::Untrusted, ..world.note(RETRY) };
    for hers in [
        SaveRequest { owner: Some("eve".into()), ..same() },
        SaveRequest { ttl: Some(Utc::now() + TimeDelta::days(1)), ..same() },
        SaveRequest { trust: Trust::Team, ..same() },
        SaveRequest {
            citations: vec![NewCitation { lines: Some((1, 9)), ..file(WORKER) }],
            ..same()
        },
    ] {
        assert_eq!(world.save(&hers).await.decision, Decision::Merged(id));
        let left = forgotten(&world, eve, id).await;
        assert_eq!((left.owner, left.access.trust), (None, Trust::Untrusted), "{hers:?}");
        assert!(!left.is_ttl_explicit && left.ttl > Utc::now() + TimeDelta::days(100), "{hers:?}");
        let lines: Vec<_> = cited(&world, id).await.into_iter().map(|one| one.lines).collect();
        assert_eq!(lines, [None], "{hers:?}");
    }
}

/// Replaces a record as another user.
async fn replaced(world: &World, whose: UserId, content: &str, replaced: RecordId) -> RecordId {
    let request =
        SaveRequest { saved_by: Some(whose), supersedes: Some(replaced), ..world.note(content) };
    match world.save(&request).await.decision {
        Decision::Superseded { by, replaced: all } if all == [replaced] => by,
        other => panic!("expected to replace {replaced}, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_restores_records_that_the_user_replaced() {
    let world = World::new().await;
    world.index_file(PATH, CART, TOTAL).await;
    let eve = somebody(&world).await;
    let note = SaveRequest { citations: vec![cart_total()], ..world.note(EXPORT) };
    let id = world.created(&note).await;
    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), TOTAL).await;
    recheck_files(world.store(), world.project, &[PATH.to_owned()]).await.unwrap();
    let hers = replaced(&world, eve, "The nightly export runs at 4:30", id).await;
    let hers_too = replaced(&world, eve, "The nightly export runs at 5:45", hers).await;
    // It expires while it is replaced.
    execute(&world, "update memory_records set ttl = now() - interval '1 day'").await;

    let announced = ForgetResponse { dry_run: false, ..forgetting(&world, eve, true).await };
    assert_eq!((&announced.deleted, &announced.restored), (&vec![hers, hers_too], &vec![id]));
    assert_eq!(record(&world, id).await.superseded_by, Some(hers), "nothing has happened");

    assert_eq!(forgetting(&world, eve, false).await, announced);
    let back = record(&world, id).await;
    assert_eq!((back.state, back.superseded_by), (RecordState::Stale, None), "it cites old code");
    assert!(back.ttl > Utc::now() + TimeDelta::days(29));
    assert_eq!(passage(&world).await, format!("fact||{PATH}|{{Cart#total}}"));
    assert_eq!(world.recalled("when does the nightly export run").await, [id]);
    assert_eq!(forgetting(&world, eve, false).await, ForgetResponse::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_replaced_by_another_user_stays_replaced() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let id = world.created(&world.note(EXPORT)).await;
    let hers = replaced(&world, eve, "The nightly export runs at 4:30", id).await;
    let his = replaced(&world, bob, "The nightly export runs at 5:45", hers).await;
    let gone = forgetting(&world, eve, false).await;
    assert_eq!((gone.deleted, gone.restored), (vec![hers], vec![]));
    let ours = record(&world, id).await;
    assert_eq!((ours.state, ours.superseded_by), (RecordState::Superseded, Some(his)));
    assert_eq!(forgetting(&world, bob, false).await.restored, [id]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_returns_once_its_later_duplicate_is_erased() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let id = world.created(&world.note(EXPORT)).await;
    replaced(&world, eve, "The nightly export runs at 4:30", id).await;
    let again = SaveRequest { saved_by: Some(bob), ..world.note(EXPORT) };
    let again = world.created(&again).await;
    assert!(forgetting(&world, eve, false).await.restored.is_empty());
    assert_eq!(record(&world, id).await.superseded_by, Some(again));
    assert_eq!(forgetting(&world, bob, false).await.restored, [id]);
    assert_eq!(world.recalled("when does the nightly export run").await, [id]);
}

/// After an explicit TTL, recalls have not moved the default end, which is in the past now; a
/// rollback must not expire the record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_and_rollback_never_expire_records_of_others() {
    let days = |days| Utc::now() + TimeDelta::days(days);
    for named in [false, true] {
        for rolls_back in [false, true] {
            let world = World::new().await;
            let eve = somebody(&world).await;
            let ttl = named.then(|| days(60));
            let id = world.created(&SaveRequest { ttl, ..world.note(RETRY) }).await;
            let hers = SaveRequest {
                saved_by: Some(eve),
                ttl: Some(days(1_500)),
                kind: RecordKind::Rule,
                ..world.note(RETRY)
            };
            assert_eq!(world.save(&hers).await.decision, Decision::Merged(id));
            execute(&world, "update record_versions set ttl = now() - interval '20 days'").await;
            let left = if rolls_back {
                roll_back(&world.ctx, id, None, "ann").await.unwrap()
            } else {
                forgotten(&world, eve, id).await
            };
            assert_eq!(left.kind, RecordKind::Fact);
            // An explicit end in the past is not restored.
            let least = if named { days(1_499) } else { days(29) };
            let most = if named { days(1_501) } else { days(31) };
            assert_eq!(left.is_ttl_explicit, named, "{rolls_back}");
            assert!(least < left.ttl && left.ttl < most, "{} {rolls_back}", left.ttl);
            assert_eq!(world.recalled("payments worker retries failed charge").await, [id]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_citations_create_no_version() {
    let world = World::new().await;
    world.index_file(PATH, CART, TOTAL).await;
    let citing = |citations| SaveRequest { citations, ..world.note(RETRY) };
    let id = world.created(&citing(vec![file(WORKER), cart_total()])).await;
    let at =
        |commit: &str, one: NewCitation| NewCitation { commit: Some(commit.to_owned()), ..one };
    for again in [
        vec![file(WORKER)],
        vec![cart_total(), file(WORKER)],
        vec![at("5d41402", file(WORKER)), at("5d41402", cart_total())],
        vec![at("7d79303", cart_total())],
    ] {
        let saved = world.save(&citing(again.clone())).await.record.unwrap();
        assert_eq!((saved.id, saved.version), (id, 1), "{again:?}");
    }
    let cites = cited(&world, id).await;
    let cites: Vec<_> =
        cites.iter().map(|one| (one.file_path.as_str(), one.commit.as_deref())).collect();
    assert_eq!(cites, [(WORKER, Some("5d41402")), (PATH, Some("7d79303"))]);
    assert_eq!(confirm(&world.ctx, id, 1).await.unwrap().access.trust, Trust::Confirmed);

    let elsewhere = NewCitation { lines: Some((1, 2)), ..file(PATH) };
    assert_eq!(world.save(&citing(vec![elsewhere])).await.record.unwrap().version, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_citations_stay_when_others_exceed_the_limit() {
    let world = World::new().await;
    let path = |n: usize| format!("app/models/part_{n:02}.rb");
    let citing = |parts: Vec<usize>| {
        let citations = parts.into_iter().map(|n| file(&path(n))).collect();
        SaveRequest { citations, ..world.note(RETRY) }
    };
    let id = world.created(&citing((0..32).collect())).await;
    world.save(&citing(vec![0, 32])).await;
    let cites: Vec<_> = cited(&world, id).await.into_iter().map(|one| one.file_path).collect();
    let kept: Vec<_> = std::iter::once(0).chain(2..=32).map(path).collect();
    assert_eq!(cites, kept);
}
