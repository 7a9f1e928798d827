//! What a person decides about a record: rolling back and forgetting restore what it was.

use std::sync::Arc;

use chrono::{TimeDelta, Utc};
use mc_domain::{RecordId, RecordKind, RecordState, Trust, UserId, Verdict, Visibility};
use mc_memory::review::{
    Edit, ErasureReport, ReviewedVersions, accept, confirm, forget, proposals, roll_back, share,
};
use mc_memory::{Decision, NewCitation, RecallRequest, SaveRequest, recall, recheck_files, save};
use mc_store::citations::{self, Citation};
use mc_store::records::{self, Contributor, Record};
use mc_store::testing;

use crate::support::World;

const RETRY: &str = "The payments worker retries a failed charge 3 times with jitter, because the \
                     gateway drops connections under load";
const RETOLD: &str = "Hi team, please note that because the gateway drops connections under \
    load, the \
                      payments worker retries failed charges three times with jitter!";
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

/// Runs a statement to bring about what takes days.
async fn execute(world: &World, sql: &str) {
    testing::execute(world.url(), sql).await.unwrap();
}

async fn record(world: &World, id: RecordId) -> Record {
    records::find(world.store(), id).await.unwrap().unwrap()
}

async fn cited(world: &World, id: RecordId) -> Vec<Citation> {
    citations::of_records(world.store(), &[id]).await.unwrap()
}

/// What search sees of the only record.
async fn passage(world: &World) -> String {
    let sql = "select concat_ws('|', record_kind, author, location, symbols::text)
               from passages where record_id is not null";
    testing::text(world.store(), sql).await.unwrap()
}

async fn forgetting(world: &World, whose: UserId, dry_run: bool) -> ErasureReport {
    forget(&world.ctx, world.project, &Contributor::User(whose), dry_run).await.unwrap()
}

/// Forgets what somebody did to the only record.
async fn forgotten(world: &World, whose: UserId, id: RecordId) -> Record {
    let forgotten = forgetting(world, whose, false).await;
    assert_eq!(forgotten.rolled_back, [id], "{forgotten:?}");
    record(world, id).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_nothing_but_the_kind_is_rolled_back() {
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
async fn a_roll_back_restores_owner_and_citations_and_can_be_rolled_back() {
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
    assert_eq!(before.verdict, Verdict::Fresh);

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
async fn forgetting_restores_kind_owner_end_and_citations() {
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
    // What she cites makes it stale.
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
async fn what_somebody_adds_to_the_same_words_is_forgotten_too() {
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

/// Has somebody replace a record.
async fn replaced(world: &World, whose: UserId, content: &str, replaced: RecordId) -> RecordId {
    let request =
        SaveRequest { saved_by: Some(whose), supersedes: Some(replaced), ..world.note(content) };
    match world.save(&request).await.decision {
        Decision::Superseded { by, replaced: all } if all == [replaced] => by,
        other => panic!("expected to replace {replaced}, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_replaced_is_there_again_once_they_are_forgotten() {
    let world = World::new().await;
    world.index_file(PATH, CART, TOTAL).await;
    let eve = somebody(&world).await;
    let note = SaveRequest { citations: vec![cart_total()], ..world.note(EXPORT) };
    let id = world.created(&note).await;
    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), TOTAL).await;
    recheck_files(world.store(), world.project, &[PATH.to_owned()]).await.unwrap();
    let hers = replaced(&world, eve, "The nightly export runs at 4:30", id).await;
    let hers_too = replaced(&world, eve, "The nightly export runs at 5:45", hers).await;
    // Its end comes while it is replaced.
    execute(&world, "update memory_records set ttl = now() - interval '1 day'").await;

    let announced = forgetting(&world, eve, true).await;
    assert_eq!((&announced.deleted, &announced.restored), (&vec![hers, hers_too], &vec![id]));
    assert_eq!(record(&world, id).await.superseded_by, Some(hers), "nothing has happened");

    assert_eq!(forgetting(&world, eve, false).await, announced);
    let back = record(&world, id).await;
    assert_eq!((back.state, back.superseded_by), (RecordState::Stale, None), "it cites old code");
    assert!(back.ttl > Utc::now() + TimeDelta::days(29));
    assert_eq!(passage(&world).await, format!("fact||{PATH}|{{Cart#total}}"));
    assert_eq!(world.recalled("when does the nightly export run").await, [id]);
    assert_eq!(forgetting(&world, eve, false).await, ErasureReport::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_else_replaced_in_turn_stays_replaced() {
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
async fn what_another_record_says_meanwhile_comes_back_once_that_is_forgotten_too() {
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

/// Recalls had not moved the end since somebody named one: it lies in the past, and nobody meant
/// that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_know_does_not_end_by_forgetting_or_rolling_back() {
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
            // One that somebody named, and that is over, is no end to go back to.
            let least = if named { days(1_499) } else { days(29) };
            let most = if named { days(1_501) } else { days(31) };
            assert_eq!(left.is_ttl_explicit, named, "{rolls_back}");
            assert!(least < left.ttl && left.ttl < most, "{} {rolls_back}", left.ttl);
            assert_eq!(world.recalled("payments worker retries failed charge").await, [id]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citing_the_same_again_makes_no_version() {
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
async fn what_is_cited_again_is_not_what_too_many_push_out() {
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

/// Has somebody propose something, which may wait for the reviewers already.
async fn proposed(world: &World, by: UserId, content: &str) -> RecordId {
    let request =
        SaveRequest { saved_by: Some(by), visibility: Visibility::Proposed, ..world.note(content) };
    match world.save(&request).await.decision {
        Decision::Proposed(id) => id,
        other => panic!("expected a proposal, got {other:?}"),
    }
}

/// Who saved what a record was made of, oldest first.
async fn contributors(world: &World, id: RecordId) -> Vec<UserId> {
    let all = records::contributions(world.store(), id).await.unwrap();
    all.into_iter().filter_map(|one| one.saved_by).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_propose_stays_the_seconds_when_the_first_is_forgotten() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let id = proposed(&world, eve, EXPORT).await;
    for by in [bob, bob, eve] {
        assert_eq!(proposed(&world, by, EXPORT).await, id);
    }
    assert_eq!(contributors(&world, id).await, [eve, bob], "each is noted once");

    let gone = forgetting(&world, eve, false).await;
    assert_eq!((gone.deleted, gone.reattributed), (vec![], vec![id]));
    let left = record(&world, id).await;
    assert_eq!((left.content.as_str(), left.state), (EXPORT, RecordState::Active));
    assert_eq!(left.access.visibility, Visibility::Proposed);
    assert_eq!(contributors(&world, id).await, [bob]);
    assert_eq!(forgetting(&world, bob, false).await.deleted, [id]);
}

/// What a person is shown to decide about.
async fn waiting(world: &World) -> Vec<RecordId> {
    let all = records::proposals(world.store(), world.project, None, 10).await.unwrap();
    all.into_iter().map(|proposal| proposal.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expired_unread_is_before_the_reviewers_again_when_it_is_proposed_again() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let id = proposed(&world, eve, EXPORT).await;
    let until = record(&world, id).await.ttl;
    // That she said it is noted, that he did is not yet.
    for by in [eve, bob] {
        execute(&world, "update memory_records set ttl = now() - interval '1 day'").await;
        assert!(waiting(&world).await.is_empty());
        assert_eq!(proposed(&world, by, EXPORT).await, id);
        assert_eq!(waiting(&world).await, [id]);
        assert!(record(&world, id).await.ttl >= until);
    }
    let soon = SaveRequest {
        visibility: Visibility::Proposed,
        ttl: Some(Utc::now() + TimeDelta::days(1)),
        ..world.note(EXPORT)
    };
    world.save(&soon).await;
    assert!(record(&world, id).await.ttl >= until, "nobody shortens it by saying the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_change_a_record_that_was_set_aside_counts_by_itself() {
    let world = World::new().await;
    let eve = somebody(&world).await;
    let ours = world.created(&world.note(RETRY)).await;
    let amending = proposed(&world, eve, RETOLD).await;
    let shown = async || proposals(&world.ctx, vec![record(&world, amending).await]).await.unwrap();
    assert!(shown().await[0].amends_record_id.is_some());
    let aside = format!("update memory_records set visibility = 'proposed' where id = '{ours}'");
    execute(&world, &aside).await;
    assert!(shown().await[0].amends_record_id.is_none());

    let seen = ReviewedVersions { version: 1, amends_version: None };
    let counts = accept(&world.ctx, amending, seen, &Edit::default(), "ann").await.unwrap();
    assert_eq!((counts.id, counts.access.visibility), (amending, Visibility::Team));
    let left = record(&world, ours).await;
    assert_eq!((left.version, left.access.visibility), (1, Visibility::Proposed));
    assert_eq!(waiting(&world).await, [ours]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_proposed_and_a_person_accepted_is_both_of_theirs() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let ours = world.created(&world.note(RETRY)).await;
    let amending = proposed(&world, eve, RETOLD).await;
    assert_eq!(proposed(&world, bob, RETOLD).await, amending);
    let own = proposed(&world, eve, EXPORT).await;
    assert_eq!(proposed(&world, bob, EXPORT).await, own);

    let seen = ReviewedVersions { version: 1, amends_version: Some(1) };
    let amended = accept(&world.ctx, amending, seen, &Edit::default(), "ann").await.unwrap();
    assert_eq!((amended.id, amended.version), (ours, 2));
    let edit = Edit { content: Some(format!("{EXPORT}, but not on Sundays")), title: None };
    let seen = ReviewedVersions { version: 1, amends_version: None };
    let edited = accept(&world.ctx, own, seen, &edit, "ann").await.unwrap();
    assert_eq!((edited.id, edited.version), (own, 2));

    let gone = forgetting(&world, eve, false).await;
    assert!(gone.deleted.is_empty() && gone.rolled_back.is_empty(), "{gone:?}");
    assert_eq!(record(&world, ours).await.content, amended.content);
    assert_eq!(record(&world, own).await.content, edited.content);
    assert_eq!(forgetting(&world, bob, false).await.rolled_back, [ours]);
    assert_eq!(record(&world, ours).await.content, RETRY);
}

/// More than a record holds.
fn long_text(end: &str) -> String {
    let day = |n: usize| {
        format!("On day {n} the cluster of region {n} was moved, with its certificate number {n}. ")
    };
    format!("{}\n\n{end}", (0..80).map(day).collect::<String>())
}

/// The ends of the texts that stand whole behind records, and whose they are.
async fn whole_texts(world: &World) -> String {
    let sql = "select coalesce(string_agg(right(content, 10) || ' ' || coalesce(saved_by::text, \
        'nobody'), '; '
                                          order by id), '') from docs";
    testing::text(world.store(), sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_text_that_two_saved_stays_until_both_are_forgotten() {
    let world = World::new().await;
    let (ann, ben) = (somebody(&world).await, somebody(&world).await);
    let by = |who| SaveRequest { saved_by: Some(who), ..world.note(&long_text(RETRY)) };
    let id = world.created(&by(ann)).await;
    for again in [by(ben), SaveRequest { tags: vec!["moves".into()], ..by(ann) }] {
        assert_eq!(world.save(&again).await.decision, Decision::Merged(id));
    }
    let gone = forgetting(&world, ann, false).await;
    assert_eq!((gone.docs, gone.deleted.len()), (0, 0), "{gone:?}");
    assert_eq!(whole_texts(&world).await, format!("under load {ben}"));
    let gone = forgetting(&world, ben, false).await;
    assert_eq!(gone.deleted, [id]);
    assert_eq!(whole_texts(&world).await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_text_that_one_made_of_anothers_goes_with_who_made_it() {
    let world = World::new().await;
    let (ann, ben) = (somebody(&world).await, somebody(&world).await);
    let by = |who, text: &str| SaveRequest { saved_by: Some(who), ..world.note(text) };
    let id = world.created(&by(ben, &long_text(RETRY))).await;
    let retold = long_text(RETOLD);
    assert_eq!(world.save(&by(ann, &retold)).await.decision, Decision::Merged(id));
    forgotten(&world, ann, id).await;
    assert_eq!(whole_texts(&world).await, format!("under load {ben}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_text_that_two_proposed_and_a_person_accepted_stays_the_others() {
    let world = World::new().await;
    let (ann, ben) = (somebody(&world).await, somebody(&world).await);
    let target = world.created(&world.note(&long_text(RETRY))).await;
    let retold = long_text(RETOLD);
    let id = proposed(&world, ann, &retold).await;
    assert_eq!(proposed(&world, ben, &retold).await, id);
    let seen = ReviewedVersions { version: 1, amends_version: Some(1) };
    accept(&world.ctx, id, seen, &Edit::default(), "carol").await.unwrap();
    let gone = forgetting(&world, ann, false).await;
    assert_eq!(gone.docs, 0, "{gone:?}");
    let left = format!("under load nobody; th jitter! {ben}");
    assert_eq!(whole_texts(&world).await, left);
    let gone = forgetting(&world, ben, false).await;
    assert_eq!((gone.docs, gone.rolled_back), (1, vec![target]), "nobody else said it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_is_shared_as_it_is_once_the_save_before_is_through() {
    let world = World::new().await;
    let private = |content: &str, trust: Trust| SaveRequest {
        saved_by: Some(UserId::LOCAL),
        visibility: Visibility::Private,
        trust,
        ..world.note(content)
    };
    let id = world.created(&private(RETRY, Trust::Team)).await;
    // Both wait for the record, and get it in the order in which they came.
    let mut tx = world.store().begin().await.unwrap();
    records::lock(&mut tx, &[id]).await.unwrap();
    let (ctx, retold) = (world.ctx.clone(), private(RETOLD, Trust::Untrusted));
    let saved = tokio::spawn(async move { save(&ctx, &retold).await });
    waits(&world, 1).await;
    let ctx = world.ctx.clone();
    let shared = tokio::spawn(async move { share(&ctx, id, Visibility::Team).await });
    waits(&world, 2).await;
    tx.commit().await.unwrap();

    assert_eq!(saved.await.unwrap().unwrap().decision, Decision::Merged(id));
    let shared = shared.await.unwrap().unwrap();
    assert_eq!(shared.access.trust, Trust::Untrusted);
    let found = "select text from passages where record_id is not null";
    assert_eq!(testing::text(world.store(), found).await.unwrap(), shared.content);
}

/// Until this many sessions wait for a lock.
async fn waits(world: &World, sessions: i64) {
    while testing::waiting_for_a_lock(world.store()).await.unwrap() < sessions {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_proposed_something_for_a_task_meets_it_again_there_and_nobody_else_does() {
    let world = World::new().await;
    let (robot, other) = (somebody(&world).await, somebody(&world).await);
    let proposed = |content: &str, kind| SaveRequest {
        visibility: Visibility::Proposed,
        saved_by: Some(robot),
        task_external_id: Some("CS-214".into()),
        kind,
        ..world.note(content)
    };
    let Decision::Proposed(id) = world.save(&proposed(RETRY, RecordKind::Fact)).await.decision
    else {
        panic!("a proposal");
    };
    // What nobody vouches for tells nobody what to do: for its author a rule is a statement as
    // well.
    let rule = world.save(&proposed(EXPORT, RecordKind::Rule)).await.decision;
    let Decision::Proposed(rule) = rule else { panic!("{rule:?}") };
    let ends = record(&world, id).await.ttl;

    let question = RecallRequest {
        query: None,
        task_external_id: Some("CS-214".into()),
        ..world.question("")
    };
    let as_one = |user| {
        let store = world.store().for_project(user, world.project);
        world.ctx.with_store(store, Arc::clone(&world.ctx.policy))
    };
    let bundle = recall(&as_one(robot), &question).await.unwrap();
    let mut found: Vec<_> = bundle.facts.iter().map(|fact| fact.id).collect();
    found.sort_unstable();
    assert_eq!(found, [id, rule], "{bundle:?}");
    for fact in &bundle.facts {
        assert_eq!(fact.trust, Trust::Untrusted);
        let warning = fact.warning.clone().unwrap_or_default();
        assert!(warning.contains("you proposed this"), "{warning}");
    }
    assert!(bundle.gotchas.is_empty(), "{bundle:?}");
    world.ctx.wait_until_stored(bundle.id).await;
    assert_eq!(record(&world, id).await.ttl, ends, "it waits no longer for being recalled");

    assert!(recall(&as_one(other), &question).await.unwrap().is_empty());
    let elsewhere = RecallRequest { task_external_id: Some("CS-215".into()), ..question };
    assert!(recall(&as_one(robot), &elsewhere).await.unwrap().is_empty());
}
