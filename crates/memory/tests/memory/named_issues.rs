//! Recalls that name an issue or a word that looks like one, and worked examples in bundles.

use mc_domain::RecordKind;
use mc_memory::{RecallRequest, SaveRequest, TokenBudget};

use crate::support::World;

const BANNERS: &str = "Banners of the storefront are cached in Varnish for ten minutes";
const REMINDER: &str = "The reminder's delay is nil because delay_unit and trigger_delay_unit \
    differ; compare units first";

fn about(world: &World, task: &str) -> RecallRequest {
    RecallRequest { query: None, task_external_id: Some(task.into()), ..world.question("") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_linked_to_the_issue_is_always_recalled() {
    let world = World::new().await;
    let dialog = world.kept(&world.dialog(Some("SHOP-12"), BANNERS)).await;
    world.kept(&world.dialog(Some("SHOP-13"), BANNERS)).await;
    let bundle = world.recall(&about(&world, "SHOP-12")).await;
    let found: Vec<_> = bundle.dialogs.iter().map(|talk| talk.id).collect();
    assert_eq!(found, [dialog], "{bundle:?}");

    let note = SaveRequest { task_external_id: Some("SHOP-12".into()), ..world.note(REMINDER) };
    let record = world.created(&note).await;
    let bundle = world.recall(&about(&world, "SHOP-12")).await;
    assert_eq!(bundle.facts.iter().map(|fact| fact.id).collect::<Vec<_>>(), [record]);
    assert_eq!(bundle.dialogs.iter().map(|talk| talk.id).collect::<Vec<_>>(), [dialog]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn word_that_looks_like_an_issue_id_is_found_as_a_whole() {
    let world = World::new().await;
    let named = world
        .created(
            &world.note("Summaries use GPT-4 with a temperature of 0.2, everything else GPT-3"),
        )
        .await;
    world.created(&world.note("The export writes 4 files a day and keeps each for a week")).await;
    assert_eq!(world.recalled("GPT-4").await, [named]);
    let bundle = world.recall(&world.question("GPT-5")).await;
    let reason = bundle.reason.clone().unwrap_or_default();
    assert!(
        bundle.is_empty() && reason.contains("GPT-5") && reason.contains("ask in words"),
        "{bundle:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_issue_id_does_not_reduce_word_hits() {
    let world = World::new().await;
    let id = world.created(&world.note(REMINDER)).await;
    let relevance = async |query: &str| {
        let bundle = world.recall(&world.question(query)).await;
        assert_eq!(bundle.facts.iter().map(|fact| fact.id).collect::<Vec<_>>(), [id]);
        bundle.facts[0].score
    };
    let alone = relevance("why is the delay of a reminder nil when units differ").await;
    let named = relevance("SHOP-99: why is the delay of a reminder nil when units differ").await;
    assert!((alone - named).abs() < 0.01, "{alone} {named}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn example_has_its_steps_once_and_omitted_items_are_counted() {
    let world = World::new().await;
    let step =
        |n: u8| format!("step {n}: {}", "compare the units of the reminder's delay ".repeat(8));
    let example = SaveRequest {
        kind: RecordKind::Fewshot,
        steps: (1..=8).map(step).collect(),
        ..world.note("Fixed a nil delay of the reminder by comparing its units before its values.")
    };
    world.save(&example).await;
    world.created(&world.note(REMINDER)).await;
    let question =
        world.question("how was the nil delay of the reminder fixed, and why was it nil");
    let bundle = world.recall(&question).await;
    let shot = &bundle.few_shots[0];
    assert_eq!(shot.steps.len(), 8);
    let text = shot.text.clone().unwrap_or_default();
    assert!(text.contains("comparing its units") && !text.contains("step 1"), "{text}");
    assert_eq!((shot.full_chars, bundle.omitted), (None, 0));

    let limited =
        |tokens| RecallRequest { limit: TokenBudget::new(tokens).unwrap(), ..question.clone() };
    let bundle = world.recall(&limited(600)).await;
    let shot = &bundle.few_shots[0];
    assert!(shot.steps.len() < 8 && shot.full_chars.is_some_and(|chars| chars > 2_000), "{shot:?}");
    let bundle = world.recall(&limited(260)).await;
    assert!(bundle.omitted > 0 || bundle.reason.is_some(), "{bundle:?}");
    assert!(bundle.token_count <= 260);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_is_found_by_its_number_with_and_without_a_hash() {
    let world = World::new().await;
    let of = |task: &str, text: &str| SaveRequest {
        task_external_id: Some(task.into()),
        ..world.note(text)
    };
    let plain = world.created(&of("15", REMINDER)).await;
    let hashed = world.created(&of("acme/shop#15", BANNERS)).await;
    world
        .created(&of("acme/shop#115", "Invoices are numbered by the month in which they are sent"))
        .await;
    for task in ["15", "#15"] {
        let bundle = world.recall(&about(&world, task)).await;
        let mut found: Vec<_> = bundle.facts.iter().map(|fact| fact.id).collect();
        found.sort_unstable();
        assert_eq!(found, [plain, hashed], "{task}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn save_that_moves_a_record_to_another_issue_reports_it() {
    let world = World::new().await;
    let of =
        |task: &str| SaveRequest { task_external_id: Some(task.into()), ..world.note(REMINDER) };
    world.created(&of("SHOP-40")).await;
    let again = world.save(&of("SHOP-40")).await;
    assert!(again.notes.is_empty(), "{:?}", again.notes);
    let moved = world.save(&of("SHOP-41")).await;
    assert!(moved.notes.iter().any(|note| note.contains("SHOP-40")), "{:?}", moved.notes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statement_of_a_long_text_has_the_full_length() {
    let world = World::new().await;
    let sentence = |n: u32| {
        format!("Step {n} of the release drains the worker of shard {n} and waits for its queue. ")
    };
    let text: String = (0..90).map(sentence).collect();
    world.save(&world.note(&text)).await;
    let bundle =
        world.recall(&world.question("how does the release drain the workers of the shards")).await;
    let fact = &bundle.facts[0];
    assert!(fact.text.chars().count() < 4_001);
    assert_eq!(fact.full_chars, Some(text.trim().chars().count()));
    let short = RecallRequest {
        limit: TokenBudget::new(260).unwrap(),
        ..world.question("how does the release drain the workers of the shards")
    };
    assert_eq!(world.recall(&short).await.facts[0].full_chars, fact.full_chars);
}
