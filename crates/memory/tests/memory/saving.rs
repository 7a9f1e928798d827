//! Outcomes of `save`.

use std::sync::Arc;

use chrono::{TimeDelta, Utc};
use futures::future::join_all;
use mc_domain::{Classified, ErrorKind, RecordId, RecordKind, RecordState};
use mc_memory::judge::Reject;
use mc_memory::{Decision, Error, SaveRequest, save};
use mc_store::{records, testing};
use serde_json::json;

use crate::support::{Away, World};

const RETRY: &str = "The payments worker retries a failed charge 3 times with jitter, because the \
                     gateway drops connections under load";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_people_who_save_the_same_leave_one_record() {
    let world = World::new().await;
    let saves = (0..50).map(|n| {
        let content =
            if n % 2 == 0 { RETRY.to_owned() } else { format!("  {}. ", RETRY.to_uppercase()) };
        let request = SaveRequest { tags: vec![format!("tag{n}")], ..world.note(&content) };
        let ctx = world.ctx.clone();
        async move { save(&ctx, &request).await.unwrap().decision }
    });
    let decisions = join_all(saves).await;
    let created: Vec<_> = decisions.iter().filter(|d| matches!(d, Decision::Created(_))).collect();
    assert_eq!(created.len(), 1);
    let id = created[0].record().unwrap();
    assert!(decisions.iter().all(|decision| decision.record() == Some(id)));
    assert_eq!(world.live_records().await, 1);
    let record = records::find(world.store(), id).await.unwrap().unwrap();
    let given = record.tags.iter().filter(|tag| tag.starts_with("tag")).count();
    assert_eq!(given, 50, "no tag of a merged note is lost");
}

/// A rejection by policy needs no database: only masking keeps the caller waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_note_is_masked_on_a_blocking_thread() {
    let world = World::new().await;
    let refusing = json!({"sanitizer": {"categories": {"github-token": "reject"}}});
    let policy = Arc::new(serde_json::from_value(refusing).unwrap());
    let ctx = world.ctx.with_store(world.store().clone(), policy);
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let steps = vec!["restart the payments worker ".repeat(50); 32];
    let request = SaveRequest { steps, ..world.note(&format!("{RETRY}; it uses {token}")) };
    let mut saved = Box::pin(save(&ctx, &request));
    assert!(futures::poll!(&mut saved).is_pending());
    assert_eq!(saved.await.unwrap().decision, Decision::Forbidden);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_saves_of_different_notes_all_stay() {
    let world = World::new().await;
    let saves = (0..40).map(|n| {
        let request = world.note(&format!("decision E{n:04} says how the payments worker retries"));
        let ctx = world.ctx.clone();
        async move { save(&ctx, &request).await.unwrap().decision }
    });
    let decisions = join_all(saves).await;
    assert!(decisions.iter().all(|d| matches!(d, Decision::Created(_))), "{decisions:?}");
    assert_eq!(world.live_records().await, 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merged_near_duplicate_is_kept_in_the_history() {
    let world = World::new().await;
    let first = SaveRequest { scope: vec!["payments".into()], ..world.note(RETRY) };
    let id = world.created(&first).await;
    let told = "Hi team, please note that because the gateway drops connections under load, the \
        payments worker retries failed charges three times with jitter!";
    let later = Utc::now() + TimeDelta::days(400);
    let second = SaveRequest {
        scope: vec!["billing".into()],
        ttl: Some(later),
        principal: "bob".into(),
        ..world.note(told)
    };
    let outcome = world.save(&second).await;
    assert_eq!(outcome.decision, Decision::Merged(id));
    assert_eq!(outcome.message, format!("merged into {id}"));
    assert!(outcome.reason.contains("in other words"), "{}", outcome.reason);
    assert!(outcome.scores.dup >= 0.9 && outcome.scores.novelty <= 0.1);

    let record = outcome.record.unwrap();
    assert!(record.scope.contains(&"payments".into()) && record.scope.contains(&"billing".into()));
    assert_eq!(record.version, 2);
    assert_eq!(record.ttl.timestamp(), later.timestamp());
    assert!(record.content.starts_with("because the gateway"), "{}", record.content);
    let versions = records::versions(world.store(), id).await.unwrap();
    assert_eq!(versions.len(), 1);
    assert_eq!(versions[0].content, RETRY);
    assert_eq!(versions[0].changed_by.as_deref(), Some("bob"));
    assert_eq!(world.live_records().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saving_the_same_twice_creates_no_version() {
    let world = World::new().await;
    let note = SaveRequest { scope: vec!["payments".into()], ..world.note(RETRY) };
    let id = world.created(&note).await;
    let first = records::find(world.store(), id).await.unwrap().unwrap();
    let again = world.save(&note).await.record.unwrap();
    assert_eq!((again.id, again.version), (id, 1));
    assert!(again.updated_at > first.updated_at && again.ttl > first.ttl);
    assert_eq!(records::versions(world.store(), id).await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shorter_paraphrase_removes_no_details() {
    let world = World::new().await;
    let long = format!("{RETRY}, and the customer of the shop sees a pending order");
    let id = world.created(&world.note(&long)).await;
    let shorter = long.replace(" with jitter", "").replace(" pending", "");
    let outcome = world.save(&world.note(&shorter)).await;
    assert_eq!(outcome.decision, Decision::Merged(id), "{}", outcome.reason);
    assert!(outcome.record.unwrap().content.contains("jitter"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contradiction_supersedes_the_contradicted_record() {
    let world = World::new().await;
    let old =
        world.created(&world.note("Retries of the payments worker are enabled in staging")).await;
    let stranger =
        world.created(&world.note("Cart sessions expire after the delay of the shop")).await;
    let request = SaveRequest {
        contradicts: true,
        ..world.note("Retries of the payments worker are not enabled in staging")
    };
    let outcome = world.save(&request).await;
    let by = outcome.decision.record().unwrap();
    assert_eq!(outcome.decision, Decision::Superseded { by, replaced: vec![old] });
    assert_eq!(outcome.message, format!("{by} superseded {old}"));

    let state = |id: RecordId| {
        let store = world.store().clone();
        async move { records::find(&store, id).await.unwrap().unwrap() }
    };
    let replaced = state(old).await;
    assert_eq!((replaced.state, replaced.superseded_by), (RecordState::Superseded, Some(by)));
    assert_eq!(state(stranger).await.state, RecordState::Active);
    let recalled = world.recalled("are retries of the payments worker enabled in staging").await;
    assert!(recalled.contains(&by) && !recalled.contains(&old), "{recalled:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explicit_supersede_requires_an_active_record_of_the_project() {
    let world = World::new().await;
    let old = world.created(&world.note("The nightly export runs at 2:00")).await;
    let request =
        SaveRequest { supersedes: Some(old), ..world.note("The nightly export runs at 4:30") };
    let outcome = world.save(&request).await;
    assert!(
        matches!(outcome.decision, Decision::Superseded { ref replaced, .. } if *replaced == [old])
    );

    let again =
        SaveRequest { supersedes: Some(old), ..world.note("The nightly export runs at 5:45") };
    let error = save(&world.ctx, &again).await.unwrap_err();
    assert!(matches!(error, Error::UnknownRecord(id) if id == old));
    assert_eq!((error.kind(), error.field().as_deref()), (ErrorKind::NotFound, Some("supersedes")));
    assert_eq!(world.live_records().await, 1, "nothing is left of the failed save");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn note_without_information_is_rejected_with_a_reason() {
    let world = World::new().await;
    for (content, reject) in [
        ("Hi! Thanks!", Reject::Empty),
        ("TODO", Reject::Placeholder),
        ("retries", Reject::TooShort),
    ] {
        let outcome = world.save(&world.note(content)).await;
        assert_eq!(outcome.decision, Decision::Rejected(reject), "{content}");
        assert!(outcome.record.is_none() && !outcome.reason.is_empty());
    }
    assert_eq!(world.live_records().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_masked_before_anything_is_stored() {
    let world = World::new().await;
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let request = SaveRequest {
        meta: json!({ "note": token }).as_object().cloned().unwrap(),
        ..world.note(&format!("The deploy of the shop reads the token {token} from the vault"))
    };
    let outcome = world.save(&request).await;
    let record = outcome.record.unwrap();
    assert!(record.content.contains("[secret:github-token]"), "{}", record.content);
    assert!(!format!("{record:?}").contains(&token));
    assert_eq!((outcome.redactions[0].category, outcome.redactions[0].count), ("github-token", 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn note_is_linked_to_task_dialog_and_patch_for_180_days() {
    let world = World::new().await;
    let request = SaveRequest {
        task_external_id: Some("CS-214".into()),
        meta: json!({ "patch_sha": "abc123", "source_dialog_id": "dlg-7" })
            .as_object()
            .cloned()
            .unwrap(),
        scope: vec!["cart_sessions".into()],
        ..world.note("Причина nil: расхождение delay_unit/trigger_delay_unit")
    };
    let record = world.save(&request).await.record.unwrap();
    assert_eq!(record.task_external_id.as_deref(), Some("CS-214"));
    assert_eq!(record.meta.text("patch_sha"), Some("abc123"));
    assert_eq!(record.meta.text("source_dialog_id"), Some("dlg-7"));
    assert!(
        record.scope.contains(&"cart_sessions".into()) && record.tags.contains(&"bugfix".into())
    );
    let days = (record.ttl - Utc::now()).num_days();
    assert!((179..=180).contains(&days), "{days}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_record_is_not_recalled() {
    let world = World::new().await;
    let soon = Utc::now() + TimeDelta::milliseconds(300);
    world.created(&SaveRequest { ttl: Some(soon), ..world.note(RETRY) }).await;
    while world.live_records().await > 0 {
        tokio::task::yield_now().await;
    }
    assert!(world.recalled("payments worker retries failed charge").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explicit_ttl_stays_until_another_is_set() {
    let world = World::new().await;
    let end = |days| Some(Utc::now() + TimeDelta::days(days));
    let named = SaveRequest { ttl: end(30), ..world.note(RETRY) };
    let id = world.created(&named).await;
    let again = world.save(&world.note(RETRY)).await.record.unwrap();
    assert_eq!((again.id, again.is_ttl_explicit), (id, true));
    assert!(again.ttl < Utc::now() + TimeDelta::days(31));
    let nearer = world.save(&SaveRequest { ttl: end(3), ..named }).await.record.unwrap();
    assert!(nearer.ttl < Utc::now() + TimeDelta::days(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_duplicate_is_revived() {
    let world = World::new().await;
    let soon = Utc::now() + TimeDelta::milliseconds(300);
    let id = world.created(&SaveRequest { ttl: Some(soon), ..world.note(RETRY) }).await;
    while world.live_records().await > 0 {
        tokio::task::yield_now().await;
    }
    let outcome = world.save(&world.note(RETRY)).await;
    let revived = outcome.record.unwrap();
    assert!(revived.ttl > Utc::now() + TimeDelta::days(100));
    assert_eq!(world.live_records().await, 1);
    assert_eq!(outcome.decision, Decision::Merged(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_duplicate_is_found_among_similar_ones_without_vectors() {
    let world = World::with(Arc::new(Away::failing())).await;
    let note =
        |n: usize| format!("decision E{n:04} says how the payments worker of the shop retries");
    let mut ids = Vec::new();
    for n in 0..60 {
        ids.push(world.created(&world.note(&note(n))).await);
    }
    for n in [0, 30, 59] {
        let outcome = world.save(&world.note(&note(n))).await;
        assert_eq!(outcome.decision, Decision::Merged(ids[n]), "{}", outcome.reason);
    }
    assert_eq!(world.live_records().await, 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ttl_in_the_past_is_rejected() {
    let world = World::new().await;
    let request = SaveRequest { ttl: Some(Utc::now() - TimeDelta::days(1)), ..world.note(RETRY) };
    let error = save(&world.ctx, &request).await.unwrap_err();
    assert_eq!((error.kind(), error.field().as_deref()), (ErrorKind::Invalid, Some("ttl")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn note_is_saved_and_found_by_words_without_embeddings() {
    let world = World::with(Arc::new(Away::failing())).await;
    let outcome = world.save(&world.note(RETRY)).await;
    let id = outcome.decision.record().unwrap();
    assert!(outcome.vector_pending_reason.unwrap().contains("follows from the queue"));
    let model = world.ctx.search.models.current().model;
    let pending =
        mc_store::vectors::queue_length(world.store(), Some(world.project), &model, false);
    assert_eq!(pending.await.unwrap(), 1);
    let again = world
        .save(&world.note(&format!("Please note that {}", RETRY.replace("gateway", "gatewya"))))
        .await;
    assert_eq!(again.decision, Decision::Merged(id), "{}", again.reason);
    assert_eq!(world.recalled("why does the payments worker retry a charge").await, [id]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn examples_are_not_merged_with_statements() {
    let world = World::new().await;
    let fact =
        world.created(&world.note("The payments queue is FIFO per shop, see the worker")).await;
    let shot = SaveRequest {
        kind: RecordKind::Fewshot,
        steps: vec!["find nil".into(), "check units".into()],
        patch_ref: Some("sha1".into()),
        ..world.note("Please note the payments queue is FIFO per shop, see the workers")
    };
    let shot = world.created(&shot).await;
    assert_ne!(fact, shot);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_save_does_not_fail_others_of_its_batch() {
    let world = World::new().await;
    let unknown = RecordId::generate();
    let request = |n: usize| {
        let note =
            world.note(&format!("decision E{n:04}: the worker retries calls to gateway {n}"));
        let supersedes = n.is_multiple_of(5).then_some(unknown);
        SaveRequest { supersedes, ..note }
    };
    let requests: Vec<_> = (0..40).map(request).collect();
    let outcomes = join_all(requests.iter().map(|request| save(&world.ctx, request))).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Ok(outcome) => {
                assert!(matches!(outcome.decision, Decision::Created(_)) && !n.is_multiple_of(5));
            }
            Err(error) => {
                assert!(matches!(error, Error::UnknownRecord(id) if *id == unknown), "{n}");
            }
        }
    }
    assert_eq!(world.live_records().await, 32);
    // The audit has an event for each saved note and no other.
    let of_saves = "select count(*)::text from audit_events where action = 'record.saved'";
    assert_eq!(testing::text(world.store(), of_saves).await.unwrap(), "32");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saves_of_one_batch_are_compared_with_each_other() {
    const SAID: [&str; 4] = [
        "The checkout keeps its lock on a cart for {} minutes.",
        "Mails that bounce are sent again after {} hours by the outbox.",
        "Invoices get a new number every {} days in Norway.",
        "A search index is rebuilt in {} seconds at night.",
    ];
    let world = World::new().await;
    // Holding the project's memory lock queues the saves.
    let held = world.store().begin_with_memory_lock(world.project).await.unwrap();
    let said = |text: &str, number: &str| world.note(&text.replace("{}", number));
    let requests: Vec<_> =
        SAID.iter().flat_map(|text| ["10", "10", "45"].map(|number| said(text, number))).collect();
    let saving = join_all(requests.iter().map(|request| save(&world.ctx, request)));
    let release = async {
        testing::until_a_session_waits(world.store()).await.unwrap();
        drop(held);
    };
    let (outcomes, ()) = tokio::join!(saving, release);
    let outcomes: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    for of_text in outcomes.chunks(3) {
        let created = of_text.iter().filter(|one| matches!(one.decision, Decision::Created(_)));
        let created: Vec<_> = created.filter_map(|one| one.decision.record()).collect();
        let merged = of_text.iter().filter(|one| matches!(one.decision, Decision::Merged(_)));
        let merged: Vec<_> = merged.filter_map(|one| one.decision.record()).collect();
        assert_eq!((created.len(), merged.len()), (2, 1), "the same said twice is one record");
        assert!(created.contains(&merged[0]));
        // The second of the two reports the contradiction.
        let told: Vec<_> = of_text.iter().filter_map(|one| one.contradicts.as_ref()).collect();
        assert!(!told.is_empty() && told.iter().all(|other| created.contains(&other.id)));
    }
    assert_eq!(world.live_records().await, 8);
}
