//! Proposals, and long texts of several users.

use mc_contract::operations::proposal::AcceptProposal;
use mc_contract::text::StatementText;

use super::*;

/// Proposes a note as a user; it may be proposed already.
async fn proposed(world: &World, by: UserId, content: &str) -> RecordId {
    let request =
        SaveRequest { saved_by: Some(by), visibility: Visibility::Proposed, ..world.note(content) };
    match world.save(&request).await.decision {
        Decision::Proposed(id) => id,
        other => panic!("expected a proposal, got {other:?}"),
    }
}

/// Returns the contributors of a record, oldest first.
async fn contributors(world: &World, id: RecordId) -> Vec<UserId> {
    let all = records::contributions(world.store(), id).await.unwrap();
    all.into_iter().filter_map(|one| one.saved_by).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proposal_of_two_stays_with_the_second_after_erasure() {
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

/// Returns the open proposals.
async fn waiting(world: &World) -> Vec<RecordId> {
    let all = records::proposals(world.store(), world.project, None, 10).await.unwrap();
    all.into_iter().map(|proposal| proposal.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_proposal_reopens_when_proposed_again() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let id = proposed(&world, eve, EXPORT).await;
    let until = record(&world, id).await.ttl;
    // She is a contributor already, he is not yet.
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
async fn proposal_for_a_demoted_record_becomes_its_own_record() {
    let world = World::new().await;
    let eve = somebody(&world).await;
    let ours = world.created(&world.note(RETRY)).await;
    let amending = proposed(&world, eve, RETOLD).await;
    let shown = async || proposals(&world.ctx, vec![record(&world, amending).await]).await.unwrap();
    assert!(shown().await[0].amendment.is_some());
    let aside = format!("update memory_records set visibility = 'proposed' where id = '{ours}'");
    execute(&world, &aside).await;
    assert!(shown().await[0].amendment.is_none());

    let counts = accept(&world.ctx, amending, &reviewed(1, None), "ann").await.unwrap();
    assert_eq!((counts.id, counts.access.visibility), (amending, Visibility::Team));
    let left = record(&world, ours).await;
    assert_eq!((left.version, left.access.visibility), (1, Visibility::Proposed));
    assert_eq!(waiting(&world).await, [ours]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_proposal_has_both_proposers_as_contributors() {
    let world = World::new().await;
    let (eve, bob) = (somebody(&world).await, somebody(&world).await);
    let ours = world.created(&world.note(RETRY)).await;
    let amending = proposed(&world, eve, RETOLD).await;
    assert_eq!(proposed(&world, bob, RETOLD).await, amending);
    let own = proposed(&world, eve, EXPORT).await;
    assert_eq!(proposed(&world, bob, EXPORT).await, own);

    let amended = accept(&world.ctx, amending, &reviewed(1, Some(1)), "ann").await.unwrap();
    assert_eq!((amended.id, amended.version), (ours, 2));
    let content = StatementText::parse(&format!("{EXPORT}, but not on Sundays")).ok();
    let edit = AcceptProposal { content, ..reviewed(1, None) };
    let edited = accept(&world.ctx, own, &edit, "ann").await.unwrap();
    assert_eq!((edited.id, edited.version), (own, 2));

    let gone = forgetting(&world, eve, false).await;
    assert!(gone.deleted.is_empty() && gone.rolled_back.is_empty(), "{gone:?}");
    assert_eq!(record(&world, ours).await.content, amended.content);
    assert_eq!(record(&world, own).await.content, edited.content);
    assert_eq!(forgetting(&world, bob, false).await.rolled_back, [ours]);
    assert_eq!(record(&world, ours).await.content, RETRY);
}

/// A text longer than a record.
fn long_text(end: &str) -> String {
    let day = |n: usize| {
        format!("On day {n} the cluster of region {n} was moved, with its certificate number {n}. ")
    };
    format!("{}\n\n{end}", (0..80).map(day).collect::<String>())
}

/// Returns the ends of the documents behind records, with their savers.
async fn whole_texts(world: &World) -> String {
    let sql = "select coalesce(string_agg(right(content, 10) || ' ' || coalesce(saved_by::text, \
        'nobody'), '; '
                                          order by id), '') from docs";
    testing::text(world.store(), sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_text_of_two_users_stays_until_both_are_erased() {
    let world = World::new().await;
    let (ann, ben) = (somebody(&world).await, somebody(&world).await);
    let by = |who| SaveRequest { saved_by: Some(who), ..world.note(&long_text(RETRY)) };
    let id = world.created(&by(ann)).await;
    for again in [by(ben), SaveRequest { tags: vec!["moves".into()], ..by(ann) }] {
        assert_eq!(world.save(&again).await.decision, Decision::Merged(id));
    }
    let gone = forgetting(&world, ann, false).await;
    assert_eq!((gone.documents, gone.deleted.len()), (0, 0), "{gone:?}");
    assert_eq!(whole_texts(&world).await, format!("under load {ben}"));
    let gone = forgetting(&world, ben, false).await;
    assert_eq!(gone.deleted, [id]);
    assert_eq!(whole_texts(&world).await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_text_is_erased_with_its_author() {
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
async fn accepted_long_text_stays_with_its_second_proposer() {
    let world = World::new().await;
    let (ann, ben) = (somebody(&world).await, somebody(&world).await);
    let target = world.created(&world.note(&long_text(RETRY))).await;
    let retold = long_text(RETOLD);
    let id = proposed(&world, ann, &retold).await;
    assert_eq!(proposed(&world, ben, &retold).await, id);
    accept(&world.ctx, id, &reviewed(1, Some(1)), "carol").await.unwrap();
    let gone = forgetting(&world, ann, false).await;
    assert_eq!(gone.documents, 0, "{gone:?}");
    let left = format!("under load nobody; th jitter! {ben}");
    assert_eq!(whole_texts(&world).await, left);
    let gone = forgetting(&world, ben, false).await;
    assert_eq!((gone.documents, gone.rolled_back), (1, vec![target]), "nobody else said it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_note_has_the_text_of_the_save_before() {
    let world = World::new().await;
    let private = |content: &str, trust: Trust| SaveRequest {
        saved_by: Some(UserId::LOCAL),
        visibility: Visibility::Private,
        trust,
        ..world.note(content)
    };
    let id = world.created(&private(RETRY, Trust::Team)).await;
    // Both wait for the lock and get it in order.
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

/// Waits until this many sessions wait for a lock.
async fn waits(world: &World, sessions: i64) {
    while testing::waiting_for_a_lock(world.store()).await.unwrap() < sessions {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proposal_is_recalled_for_its_task_by_its_proposer_only() {
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
    // Untrusted rules are not recalled as gotchas: their author sees them as statements.
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
