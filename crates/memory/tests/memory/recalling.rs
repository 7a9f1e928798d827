//! Bundles of `recall`, and feedback on them.

mod ranking;

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use futures::future::join_all;
use mc_domain::{BundleId, Classified, ErrorKind, RecordKind, Trust};
use mc_memory::bundle::{SOURCE_MAX_CHARS, STATEMENT_MAX_CHARS, Statement, response};
use mc_memory::{Error, RecallRequest, SaveRequest, TokenBudget, feedback, recall};
use mc_store::tasks::{self, NewTask};
use mc_store::{records, testing, vectors};
use serde_json::json;

use crate::support::{Away, Words, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_fact_is_recalled_by_the_specified_request() {
    let world = World::new().await;
    let fact = SaveRequest {
        scope: vec!["cart_sessions".into(), "settings".into()],
        ..world
            .note("delay_unit должен совпадать с trigger_delay_unit, иначе задержка становится nil")
    };
    let id = world.created(&fact).await;
    let request = RecallRequest {
        task_external_id: Some("CS-214".into()),
        repo_path: Some("app/services/cart_sessions".into()),
        symbols: vec!["CartSessions::Setting#trigger_delay_time_in_minutes".into()],
        signals: vec!["nil-delay".into(), "unit-mismatch".into()],
        ..world.empty_recall()
    };
    let bundle =
        world.recall(&RecallRequest { time_budget: Duration::from_secs(30), ..request }).await;
    assert_eq!(bundle.facts.iter().map(|f| f.id).collect::<Vec<_>>(), [id]);
    assert!(bundle.confidence > 0.35 && bundle.reason.is_none());
    assert_eq!(bundle.task.unwrap().external_id, "CS-214");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn query_is_embedded_without_words_of_every_record() {
    let words = Arc::new(Words::default());
    let world = World::with(words.clone()).await;
    for bird in ["kestrel", "heron", "swift", "osprey", "plover", "dunlin"] {
        world.created(&world.note(&format!("the harbour shelters a {bird} named {bird}1"))).await;
    }
    // The next recall uses an index with the notes.
    world.recalled("plover").await;
    words.asked();
    let asked = async |question: &str| {
        world.recalled(question).await;
        words.asked().concat()
    };
    // The query without words of every text stays the same.
    assert_eq!(
        asked("Where is the kestrel fed, the heron too?").await,
        ["Where is kestrel fed, heron too?"]
    );
    // The project's subject is common to all records and does not count.
    let about = "kestrel of the harbour, heron";
    assert_eq!(asked(about).await, [about, "kestrel of heron"]);
    // Too little would be left.
    let about = "kestrel of the harbour";
    assert_eq!(asked(about).await, [about]);
    assert_eq!(asked("kestrel fed fish").await, ["kestrel fed fish"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_identifier_ranks_before_similar_ones() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for n in 0..60 {
        ids.push(
            world
                .created(
                    &world.note(&format!(
                        "decision E{n:04}: the worker retries calls to the gateway"
                    )),
                )
                .await,
        );
    }
    for n in [0, 7, 31, 59] {
        let found = world.recalled(&format!("why does E{n:04} retry")).await;
        assert_eq!(found.first(), Some(&ids[n]), "E{n:04}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundle_without_good_results_is_empty_with_a_reason() {
    let world = World::new().await;
    let nothing = world.recall(&world.question("how are invoices numbered")).await;
    assert!(nothing.is_empty());
    assert!(nothing.confidence <= f32::EPSILON);
    assert!(nothing.reason.unwrap().contains("holds nothing about this"));

    world
        .created(&world.note("Cart sessions expire after the delay that the shop owner sets"))
        .await;
    let other = world
        .recall(&world.question("which port does the metrics endpoint of the gateway listen on"))
        .await;
    assert!(other.is_empty() && other.confidence <= f32::EPSILON, "{:?}", other.facts);
    assert!(other.reason.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gotchas_come_first_and_each_kind_has_its_section() {
    let world = World::new().await;
    let scope = vec!["payments".to_owned()];
    let of =
        |kind, content: &str| SaveRequest { kind, scope: scope.clone(), ..world.note(content) };
    let gotcha = world
        .created(&of(RecordKind::Gotcha, "Never call the gateway twice within one transaction"))
        .await;
    let rule = world
        .created(&of(
            RecordKind::Rule,
            "Amounts are integers of cents, floats are refused in review",
        ))
        .await;
    let fact = world
        .created(&of(RecordKind::Fact, "Charges are settled by the nightly batch of the bank"))
        .await;
    let adr = SaveRequest {
        url: Some("https://wiki.example.org/adr/7".into()),
        title: Some("ADR 7: Timing Rules".into()),
        ..of(RecordKind::AdrLink, "Why payment timers are counted in minutes")
    };
    world.created(&adr).await;
    let shot = SaveRequest {
        steps: vec!["find nil".into(), "check units".into()],
        patch_ref: Some("sha1".into()),
        title: Some("Fix nil delay".into()),
        ..of(RecordKind::Fewshot, "How the nil delay of a charge was fixed")
    };
    world.created(&shot).await;
    let request = RecallRequest {
        query: None,
        repo_path: Some("app/services/payments".into()),
        ..world.question("")
    };
    let bundle = world.recall(&request).await;
    let mut warnings: Vec<_> = bundle.gotchas.iter().map(|s| s.id).collect();
    warnings.sort();
    assert_eq!(warnings, [gotcha, rule]);
    assert_eq!(bundle.facts.iter().map(|s| s.id).collect::<Vec<_>>(), [fact]);
    assert_eq!(bundle.links[0].url, "https://wiki.example.org/adr/7");
    assert_eq!(bundle.links[0].title, "ADR 7: Timing Rules");
    let shot = &bundle.few_shots[0];
    assert_eq!(
        (shot.title.as_str(), shot.steps.len(), shot.patch_ref.as_deref()),
        ("Fix nil delay", 2, Some("sha1"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recalled_record_has_its_source() {
    let world = World::new().await;
    let page = "https://wiki.example.org/x/7";
    let content = "The payments worker retries a failed charge 3 times";
    let note = world.note(content);
    world.created(&SaveRequest { source: page.into(), ..note.clone() }).await;
    let question = world.question("how often does the payments worker retry a failed charge");
    assert_eq!(world.recall(&question).await.facts[0].source.as_deref(), Some(page));
    // Saving the same again adds no second source.
    world.save(&SaveRequest { source: "elsewhere".into(), ..note.clone() }).await;
    assert_eq!(world.recall(&question).await.facts[0].source.as_deref(), Some(page));

    let long = SaveRequest {
        kind: RecordKind::Fewshot,
        scope: vec!["payments".into()],
        steps: vec!["find nil".into(), "check units".into()],
        title: Some("Fix nil delay".into()),
        source: format!("https://wiki.example.org/{}", "page/".repeat(60)),
        ..world.note("How the nil delay of a trigger was fixed")
    };
    world.created(&long).await;
    let bundle = world.recall(&world.question("how was the nil delay of a trigger fixed")).await;
    let source = bundle.few_shots[0].source.clone().unwrap();
    assert!(source.starts_with("https://wiki.example.org/page/"), "{source}");
    assert!(source.chars().count() <= SOURCE_MAX_CHARS, "{source}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn untrusted_code_comes_last_and_is_marked() {
    let world = World::new().await;
    let cart = "class Cart\n  def total_in_cents\n    items.sum(&:price_in_cents)\n  end\nend";
    let basket = "class Basket\n  def total_in_cents\n    rows.sum(&:amount)\n  end\nend";
    world.index_file("app/cart.rb", cart, Some(("Cart#total_in_cents", 2, 4))).await;
    world.index_file("app/basket.rb", basket, Some(("Basket#total_in_cents", 2, 4))).await;
    let turned = "update code_chunks set trust = 'untrusted'
        from passages p where p.id = passage_id and p.location = 'app/cart.rb'";
    testing::execute(world.url(), turned).await.unwrap();
    let request = RecallRequest {
        symbols: vec!["Cart#total_in_cents".into()],
        ..world.question("Cart total_in_cents price_in_cents of items")
    };
    let bundle = world.recall(&request).await;
    let places: Vec<_> =
        bundle.code.iter().map(|place| (place.location.as_str(), place.trust)).collect();
    let expected = [("app/basket.rb", Trust::Imported), ("app/cart.rb", Trust::Untrusted)];
    assert_eq!(places, expected, "however well it matches");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundle_keeps_the_token_limit_and_marks_shortened_items() {
    let world = World::new().await;
    for n in 0..25 {
        let content = format!(
            "The payments worker of region R{n:02} retries. {}",
            "It logs what it does and why. ".repeat(30)
        );
        world.created(&world.note(&content)).await;
    }
    for limit in [96, 120, 300, 1_000, 4_000] {
        let request = RecallRequest {
            limit: TokenBudget::new(limit).unwrap(),
            ..world.question("why does the payments worker of a region retry")
        };
        let bundle = world.recall(&request).await;
        let size = mc_tokens::count(&json!(response(bundle.clone())).to_string());
        assert!(size <= limit && bundle.token_count <= limit, "{size} of {limit}");
        let is_short = |fact: &Statement| fact.text.chars().count() <= STATEMENT_MAX_CHARS;
        assert!(bundle.facts.iter().all(|fact| fact.full_chars.is_none() || is_short(fact)));
        assert!(limit < 4_000 || bundle.facts.iter().all(|fact| fact.full_chars.is_none()));
        assert!(limit < 300 || !bundle.facts.is_empty(), "{limit}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn title_of_a_synced_task_is_part_of_the_query() {
    let world = World::new().await;
    let id =
        world.created(&world.note("The nightly export fails on files larger than 200 MB")).await;
    let mut tx = world.store().begin().await.unwrap();
    let task = NewTask {
        external_id: "OPS-9".into(),
        title: mc_sanitizer::mask("Nightly export fails on large files").text,
        status: Some("open".into()),
        assignee: None,
        labels: vec![],
        links: vec![],
        opened_at: None,
        closed_at: None,
        is_whole: true,
        source_updated_at: None,
    };
    tasks::upsert(&mut tx, world.project, &task).await.unwrap();
    tx.commit().await.unwrap();
    let request =
        RecallRequest { query: None, task_external_id: Some("OPS-9".into()), ..world.question("") };
    let bundle = world.recall(&request).await;
    assert_eq!(bundle.facts[0].id, id);
    assert_eq!(bundle.task.unwrap().title, "Nightly export fails on large files");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_retriever_is_skipped_and_reported() {
    let world = World::with(Arc::new(Away::silent())).await;
    let mut tx = world.store().begin().await.unwrap();
    tasks::ensure(&mut tx, world.project, "X-1").await.unwrap();
    tx.commit().await.unwrap();
    let request = RecallRequest {
        time_budget: Duration::from_millis(200),
        ..world.question("payments worker")
    };
    let began = std::time::Instant::now();
    let bundle = world.recall(&request).await;
    assert!(bundle.degraded.iter().any(|note| note.starts_with("vector")), "{:?}", bundle.degraded);
    assert!(bundle.reason.unwrap().contains("left out"));
    assert!(began.elapsed() < Duration::from_secs(5), "a late leg is not waited for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_does_not_wait_for_a_blocked_database() {
    let world = World::new().await;
    world.created(&world.note("The payments worker retries a failed charge 3 times")).await;
    // This lock blocks all reads of passages; the recall must return all the same.
    let held = testing::hold(world.url(), "lock table passages").await.unwrap();
    let request = RecallRequest {
        time_budget: Duration::from_millis(300),
        ..world.question("how often does the payments worker retry")
    };
    let bundle = world.recall(&request).await;
    assert!(bundle.is_empty());
    assert!(bundle.degraded.iter().any(|note| note.ends_with("late")), "{:?}", bundle.degraded);
    assert!(bundle.reason.unwrap().contains("try again"));
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_recall_is_rejected() {
    let world = World::new().await;
    let error = recall(&world.ctx, &world.empty_recall()).await.unwrap_err();
    assert_eq!((error.kind(), error.field().as_deref()), (ErrorKind::Invalid, Some("query")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feedback_marks_items_once_and_names_unknown_ids() {
    let world = World::new().await;
    let id =
        world.created(&world.note("The payments worker retries a failed charge 3 times")).await;
    let bundle = world.recall(&world.question("how often does the payments worker retry")).await;
    let stranger = uuid::Uuid::now_v7();
    for _ in 0..2 {
        let noted = feedback(&world.ctx, bundle.id, &[id.0, id.0, stranger]).await.unwrap();
        assert_eq!((noted.recorded, noted.unknown), (1, vec![stranger]));
    }
    world.ctx.finish().await;
    let record = records::find(world.store(), id).await.unwrap().unwrap();
    assert_eq!((record.recall_count, record.use_count), (1, 1));
    let unknown = BundleId::generate();
    let error = feedback(&world.ctx, unknown, &[id.0]).await.unwrap_err();
    assert!(matches!(error, Error::UnknownBundle(bundle) if bundle == unknown));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_extends_the_ttl_unless_it_is_explicit() {
    let world = World::new().await;
    let soon = Utc::now() + TimeDelta::days(3);
    let named = SaveRequest {
        ttl: Some(soon),
        ..world.note("The payments worker retries a failed charge 3 times")
    };
    let named = world.created(&named).await;
    let other =
        world.created(&world.note("The payments worker logs a failed charge to Loki")).await;
    let two_days_ago =
        "update memory_records set ttl = ttl - interval '2 days' where not is_ttl_explicit";
    testing::execute(world.url(), two_days_ago).await.unwrap();
    let first = records::find(world.store(), other).await.unwrap().unwrap().ttl;
    let recalled = world.recalled("what does the payments worker do with a failed charge").await;
    assert!(recalled.contains(&named) && recalled.contains(&other), "{recalled:?}");
    world.ctx.finish().await;
    let ttl = async |id| records::find(world.store(), id).await.unwrap().unwrap().ttl;
    assert!(ttl(named).await - soon < TimeDelta::seconds(1));
    assert!(ttl(other).await > first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_without_a_record_is_recalled() {
    let world = World::new().await;
    let said = "Banners of the storefront are cached in Varnish for ten minutes";
    let id = world.kept(&world.dialog(None, said)).await;
    let bundle = world.recall(&world.question("how long does Varnish cache banners")).await;
    assert_eq!((bundle.dialogs[0].id, bundle.dialogs[0].text.as_str()), (id, said));
    assert!(bundle.reason.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gotcha_of_another_scope_does_not_come_first() {
    let world = World::new().await;
    let gotcha = |content: &str, scope: &str| SaveRequest {
        kind: RecordKind::Gotcha,
        scope: vec![scope.into()],
        ..world.note(content)
    };
    let here = world.created(&gotcha("payments retries charge the card twice", "payments")).await;
    let there = world.created(&gotcha("orders retries charge the card twice", "orders")).await;
    let request = RecallRequest {
        repo_path: Some("app/payments".into()),
        ..world.question("retries charge the card twice")
    };
    let bundle = world.recall(&request).await;
    let ids = |statements: &[mc_memory::bundle::Statement]| {
        statements.iter().map(|statement| statement.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&bundle.gotchas), [here]);
    assert!(!ids(&bundle.facts).contains(&here) && there != here);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundles_are_written_before_the_service_stops() {
    let world = World::new().await;
    let id =
        world.created(&world.note("The payments worker retries a failed charge 3 times")).await;
    for _ in 0..5 {
        world.recalled("how often does the payments worker retry").await;
    }
    world.ctx.finish().await;
    assert_eq!(records::find(world.store(), id).await.unwrap().unwrap().recall_count, 5);
    let model = world.ctx.search.models.current().model;
    let waiting = vectors::queue_length(world.store(), Some(world.project), &model, false);
    assert_eq!(waiting.await.unwrap(), 0);
}
