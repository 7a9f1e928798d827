//! The order of recalled records.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_another_project_are_never_recalled() {
    let world = World::new().await;
    let other = mc_store::projects::create(
        world.store(),
        mc_domain::UserId::LOCAL,
        &"other".parse().unwrap(),
        "other",
    )
    .await
    .unwrap()
    .0;
    let request = SaveRequest {
        project: other.id,
        ..world.note("The payments worker retries a failed charge 3 times")
    };
    world.created(&request).await;
    assert!(world.recalled("how often does the payments worker retry a charge").await.is_empty());
    let same = world.note("The payments worker retries a failed charge 3 times");
    world.created(&same).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_request_is_stored_masked() {
    let world = World::new().await;
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let bundle = world.recall(&world.question(&format!("why is {token} refused"))).await;
    assert!(!json!(response(bundle)).to_string().contains(&token));
    world.ctx.finish().await;
    let kept = testing::text(world.store(), "select request::text from bundles").await.unwrap();
    assert!(kept.contains("refused") && !kept.contains(&token), "{kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn russian_query_finds_english_notes() {
    let world = World::new().await;
    let umlauts =
        "The import of spreadsheets guesses the encoding, and umlauts break; choose it by hand";
    let id = world.created(&world.note(umlauts)).await;
    let console = "The production console is reached by the bastion, and its sessions are recorded";
    world.created(&world.note(console)).await;
    assert_eq!(world.recalled("почему при импорте ломаются умлауты и кодировка").await, [id]);
    // A note in the language of the query is found by its own words.
    let russian = "При импорте умлауты ломаются у заказчика из Вены: кодировка файла другая";
    let own = world.created(&world.note(russian)).await;
    let found = world.recalled("почему при импорте ломаются умлауты и кодировка").await;
    assert_eq!(found.first(), Some(&own));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_of_two_contradicting_records_comes_first_with_dates() {
    let world = World::new().await;
    let note =
        |minutes| format!("The session of a customer in the shop ends after {minutes} minutes");
    let old = world.created(&world.note(&note(30))).await;
    let new = world.created(&world.note(&note(45))).await;
    let earlier = format!(
        "update memory_records set updated_at = now() - interval '90 days' where id = '{old}'"
    );
    testing::execute(world.url(), &earlier).await.unwrap();
    let bundle = world.recall(&world.question("when does the session of a customer end")).await;
    let ids: Vec<_> = bundle.facts.iter().map(|fact| fact.id).collect();
    assert_eq!(ids, [new, old]);
    let [of_new, of_old] = [0, 1].map(|at| bundle.facts[at].warning.clone().unwrap());
    assert!(of_new.contains("disagrees with an older record"), "{of_new}");
    assert!(of_old.contains("a newer record") && of_old.contains("45"), "{of_old}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_record_comes_first_among_more_than_200_records() {
    let world = World::new().await;
    let services =
        ["payment worker", "mail relay", "stock importer", "login gateway", "chat bridge"];
    let notes: Vec<_> = (0..230_usize)
        .map(|n| {
            let (service, times) = (services[n % services.len()], 3 + n % 7);
            world.note(&format!(
                "Decision E{n:04}: the {service} retries {times} times, as case {n} showed."
            ))
        })
        .collect();
    join_all(notes.iter().map(|note| world.created(note))).await;
    for named in ["E0000", "E0117", "E0229"] {
        let bundle = world.recall(&world.question(&format!("why does {named} retry"))).await;
        let first = bundle.facts.first().map(|fact| fact.text.clone()).unwrap_or_default();
        assert!(first.contains(named), "{named}: {first}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_near_the_best_one_is_recalled_with_it() {
    let world = World::new().await;
    let rule = "Refunds need approval of a manager: the worker of the payment gateway keeps the \
        order open until the ledger confirms.";
    let pitfall = "The worker of the payment gateway keeps the order open until the ledger \
        confirms, and drops its vouchers at midnight.";
    // It shares words with the query and few with the rule.
    let other = "The gateway of the mail team keeps letters open for a week.";
    for note in [rule, pitfall, other] {
        world.created(&world.note(note)).await;
    }
    let question = "which payment gateway worker keeps refunds open for approval of a manager";
    let bundle = world.recall(&world.question(question)).await;
    let texts: Vec<_> = bundle.facts.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(texts, [rule, pitfall], "{bundle:?}");
}
