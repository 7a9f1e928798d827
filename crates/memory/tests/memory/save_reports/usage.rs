//! Which records count as used.

use super::*;

async fn counts(world: &World, id: RecordId) -> String {
    world.ctx.finish().await;
    let sql = format!(
        "select concat_ws(' ', open_count, cite_count, pull_request_count, skip_count) from \
            memory_records where id = '{id}'"
    );
    testing::text(world.store(), &sql).await.unwrap()
}

/// Recalls about carts as one user, under another user's name.
async fn requested_by(world: &World, who: &MemoryContext, name: &str) {
    let question = world.question("total of a cart in cents, coupons and taxes of a cart");
    recall(who, &RecallRequest { principal: name.to_owned(), ..question }).await.unwrap();
}

/// Saves a record that cites the total of a cart, and one without citations.
async fn save_cart_records(world: &World) -> [RecordId; 2] {
    let cited = citing(world, vec![place("app/models/cart.rb", Some("Cart#total"))]).await;
    let named = world.note("Coupons are applied to a cart before its taxes");
    [cited.decision.record().unwrap(), world.created(&named).await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_or_citing_an_item_counts_as_use_once_per_bundle() {
    let world = indexed().await;
    let [cited, named] = save_cart_records(&world).await;
    let (bob, eve) = (world.member().await, world.member().await);
    // A bundle belongs to the authenticated user, not to the stated name.
    requested_by(&world, &bob, "eve").await;
    for _ in 0..2 {
        note_opened(&bob, world.project, Opened::Record(named));
    }
    note_opened(&eve, world.project, Opened::Record(cited));
    let next = SaveRequest {
        principal: "eve".into(),
        meta: json!({ "based_on": named }).as_object().cloned().unwrap(),
        citations: vec![place("app/models/cart.rb", Some("Cart#total"))],
        ..world.note("Shipping costs join the sum after every coupon of the order")
    };
    save(&eve, &next).await.unwrap();
    assert_eq!(counts(&world, named).await, "1 0 0 0");
    assert_eq!(counts(&world, cited).await, "0 0 0 0", "eve recalled nothing");
    let next = SaveRequest {
        principal: "bob".into(),
        content: "Gift cards are taken off at the end, after shipping".into(),
        ..next
    };
    save(&bob, &next).await.unwrap();
    assert_eq!(counts(&world, named).await, "1 1 0 0");
    assert_eq!(counts(&world, cited).await, "0 1 0 0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replaced_record_does_not_count_as_used() {
    let world = indexed().await;
    let [cited, named] = save_cart_records(&world).await;
    let bob = world.member().await;
    requested_by(&world, &bob, "bob").await;
    let better = SaveRequest {
        supersedes: Some(cited),
        meta: json!({ "instead_of": cited, "beside": named }).as_object().cloned().unwrap(),
        citations: vec![place("app/models/cart.rb", Some("Cart#total"))],
        ..world.note("Cart totals add up integer cents of the price column, rounded once per line")
    };
    let outcome = save(&bob, &better).await.unwrap();
    assert_eq!(outcome.decision.replaced(), [cited]);
    assert_eq!(counts(&world, named).await, "0 1 0 0");
    assert_eq!(counts(&world, cited).await, "0 0 0 0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_without_feedback_changes_no_usage_counts() {
    let world = World::new().await;
    let note = |n: usize| format!("Coupons of sort {n} are applied to a cart before its taxes");
    let [used, other] =
        [world.created(&world.note(&note(1))).await, world.created(&world.note(&note(2))).await];
    let question = world.question("when are coupons applied to a cart?");
    for _ in 0..5 {
        world.recall(&question).await;
    }
    assert_eq!(counts(&world, other).await, "0 0 0 0");
    let bundle = world.recall(&question).await;
    mc_memory::feedback(&world.ctx, bundle.id, &[used.0]).await.unwrap();
    assert_eq!(counts(&world, other).await, "0 0 0 1");
    mc_memory::feedback(&world.ctx, bundle.id, &[other.0]).await.unwrap();
    assert_eq!(counts(&world, other).await, "0 0 0 0", "somebody has said otherwise since");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merged_change_of_cited_code_counts_as_use() {
    let world = indexed().await;
    world.index_file("app/models/order.rb", "class Order\nend", None).await;
    let id =
        citing(&world, vec![place("app/models/cart.rb", None)]).await.decision.record().unwrap();
    world.recall(&world.question("total of a cart in cents")).await;
    world.ctx.finish().await;
    let sha = "d".repeat(40);
    // The merge commit changed only the cart.
    let read = format!("update files set source_ref = '{sha}' where path like '%cart.rb'");
    testing::execute(world.url(), &read).await.unwrap();
    let change = |state| mc_store::pull_requests::NewPullRequest {
        external_id: "acme/shop!7".into(),
        title: mc_sanitizer::mask("Sum in cents").text,
        state,
        author: None,
        head_sha: None,
        merge_sha: Some(sha.clone()),
        base_ref: None,
        url: String::new(),
        opened_at: None,
        closed_at: None,
        merged_at: None,
        tasks: Vec::new(),
        source_updated_at: Utc::now(),
    };
    for (state, expected) in [
        (mc_domain::PullRequestState::Open, "0 0 0 0"),
        (mc_domain::PullRequestState::Merged, "0 0 1 0"),
        (mc_domain::PullRequestState::Merged, "0 0 1 0"),
    ] {
        let mut tx = world.store().begin().await.unwrap();
        mc_store::pull_requests::upsert(&mut tx, world.project, &change(state)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(counts(&world, id).await, expected, "{state}");
    }
}
