//! Chat models on behalf of a project: its policy, its daily budget and its recorded use.

use std::sync::Arc;
use std::time::Duration;

use mc_chat::{
    ChatModelSettings, ChatModels, ChatRequest, ChatSettings, Content, JsonAnswer, ModelRole,
};
use mc_domain::policy::{AllowedModels, ModelPolicy, TokenLimits};
use mc_domain::{Classified, ErrorKind, Policy};
use mc_memory::MemoryContext;
use mc_memory::chat::Error;
use mc_sanitizer::mask;
use mc_store::{chat_requests, testing};
use mc_testkit::{ModelProtocol, ModelServer, Reply};
use serde_json::json;
use tokio::time::timeout;

use crate::support::World;

/// The most tokens of a completion in these tests.
const COMPLETION: u32 = 100;

/// Time for which a save waits for the model, which only a hanging one exceeds.
const WAIT: Duration = Duration::from_secs(20);

/// Returns a model with the role `judge` at this URL.
fn models(base_url: &str) -> Arc<ChatModels> {
    let settings: ChatModelSettings = serde_json::from_value(json!({
        "provider": "openai_compatible", "model": "scripted", "roles": ["judge"],
        "base_url": base_url, "max_completion_tokens": COMPLETION,
        "price_per_million": {"prompt": 2.0, "completion": 10.0},
    }))
    .unwrap();
    let settings = ChatSettings { models: [("small".to_owned(), settings)].into() };
    Arc::new(ChatModels::open(&settings).unwrap())
}

/// Returns the context of a member of the project, under a policy.
async fn member(world: &World, base_url: &str, policy: Policy) -> MemoryContext {
    let ctx = world.member().await.with_chat_models(models(base_url), WAIT);
    ctx.with_store(ctx.store.clone(), Arc::new(policy))
}

fn policy(chat: AllowedModels, chat_per_day: u32) -> Policy {
    Policy {
        models: ModelPolicy { chat, ..ModelPolicy::default() },
        tokens: TokenLimits { chat_per_day, ..TokenLimits::default() },
        ..Policy::default()
    }
}

fn question() -> ChatRequest {
    ChatRequest::new(mask("Answer briefly.").text, mask("Is it new?").text)
}

fn url(server: &ModelServer) -> String {
    server.base_url(ModelProtocol::OpenAi)
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_costs_are_recorded_for_answers_and_failures() {
    let world = World::new().await;
    let server = ModelServer::start(|request| match request.number {
        0 => Reply::text("yes").with_usage(1_000, 50),
        _ => Reply::text("no JSON").with_usage(2_000, 10),
    });
    let server = server.await;
    let ctx = member(&world, &url(&server), policy(AllowedModels::Any, 100_000)).await;
    let chat = ctx.chat(world.project);
    let completion = chat.complete(ModelRole::Judge, &question()).await.unwrap();
    assert_eq!(completion.content, Content::Text(mask("yes").text));
    let schema = json!({"type": "object"});
    let json = question().with_json(Arc::new(JsonAnswer::new("score", schema).unwrap()));
    let error = chat.complete(ModelRole::Judge, &json).await.unwrap_err();
    assert!(matches!(error, Error::Model(mc_chat::Error::BadAnswer { .. })), "{error}");

    let days = chat_requests::daily_usage(&ctx.store, world.project, 1).await.unwrap();
    let [day] = &days[..] else { panic!("one day, model and role: {days:?}") };
    assert_eq!((day.model.as_str(), day.role.as_str()), ("small", "judge"));
    assert_eq!((day.request_count, day.failed_count), (2, 1));
    assert_eq!((day.prompt_tokens, day.completion_tokens), (3_000, 60));
    assert!((day.cost - 0.0066).abs() < 1e-12, "{}", day.cost);
    let used = chat_requests::used_tokens(&ctx.store, world.project).await.unwrap();
    assert_eq!(used, 3_060);
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_decides_which_models_a_project_uses() {
    let world = World::new().await;
    let server = ModelServer::start(|_| Reply::text("yes")).await;
    let local = member(&world, &url(&server), policy(AllowedModels::Local, 100_000)).await;
    local.chat(world.project).complete(ModelRole::Judge, &question()).await.unwrap();

    let remote = "https://models.example.org/v1";
    for (allowed, base_url) in
        [(AllowedModels::Off, url(&server)), (AllowedModels::Local, remote.to_owned())]
    {
        let ctx = member(&world, &base_url, policy(allowed, 100_000)).await;
        let refused = ctx.chat(world.project).complete(ModelRole::Judge, &question()).await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Forbidden);
        assert!(error.to_string().contains("`models.chat`"), "{error}");
    }
    assert_eq!(server.requests().len(), 1);
    let unknown = local.chat(world.project).complete(ModelRole::Writer, &question()).await;
    let error = unknown.unwrap_err().to_string();
    assert!(error.contains("`roles: [writer]`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_do_not_exceed_the_budget_and_the_next_day_has_a_new_one() {
    let world = World::new().await;
    let server = ModelServer::start(|_| {
        Reply::text("yes").with_usage(10, COMPLETION).after(Duration::from_millis(200))
    });
    let server = server.await;
    // For three requests, each of which reserves its prompt and the longest completion.
    let ctx = member(&world, &url(&server), policy(AllowedModels::Any, 3 * COMPLETION + 60)).await;
    let chat = ctx.chat(world.project);
    let requests = (0..8).map(|_| {
        let chat = chat.clone();
        tokio::spawn(async move { chat.complete(ModelRole::Judge, &question()).await })
    });
    let mut answered = 0;
    for request in futures::future::join_all(requests).await {
        match request.unwrap() {
            Ok(_) => answered += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::RateLimited, "{error}");
                assert!(error.to_string().contains("`tokens.chat_per_day`"), "{error}");
            }
        }
    }
    assert_eq!((answered, server.requests().len()), (3, 3));

    let yesterday = "update chat_requests set started_at = started_at - interval '1 day'";
    testing::execute(world.url(), yesterday).await.unwrap();
    chat.complete(ModelRole::Judge, &question()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_never_ends_keeps_its_tokens() {
    let world = World::new().await;
    let server = ModelServer::start(|_| Reply::text("yes").after(Duration::from_mins(1))).await;
    let ctx = member(&world, &url(&server), policy(AllowedModels::Any, COMPLETION + 60)).await;
    let chat = ctx.chat(world.project);
    let request = question();
    let pending = chat.complete(ModelRole::Judge, &request);
    tokio::pin!(pending);
    while server.requests().is_empty() {
        assert!(timeout(Duration::from_millis(10), &mut pending).await.is_err(), "it waits");
    }
    let used = chat_requests::used_tokens(&ctx.store, world.project).await.unwrap();
    assert!(used >= u64::from(COMPLETION), "{used}");
    let error = chat.complete(ModelRole::Judge, &request).await.unwrap_err();
    assert!(matches!(error, Error::BudgetSpent { used_tokens, .. } if used_tokens == used));
}
