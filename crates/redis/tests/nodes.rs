//! Nodes that share a real Redis, lose it, and find it again.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_crypto::{EncryptionKey, Encryptor};
use mc_embed::{Embedder, ProviderSettings, Purpose, RuntimeSettings};
use mc_redis::{QueryVectorStore, RedisClient, Settings, SharedRateLimits, TokenBuckets};
use mc_sanitizer::mask;
use mc_testkit::Redis;
use serde_json::json;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// A condition is awaited; this is where hope ends.
const PATIENCE: Duration = Duration::from_mins(1);
/// Long enough for a machine on which everything else is busy.
const UNHURRIED: Duration = Duration::from_secs(10);
const ONE: NonZeroU32 = NonZeroU32::MIN;
const QUESTION: &str = "where does the cart keep its sessions?";
const ADDRESS: &str = "192.0.2.77";

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "it never came about that {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn node_within(redis: &Redis, answers_within: Duration) -> RedisClient {
    let settings = Settings { url: redis.url(), database: "database".into(), answers_within };
    let shared = RedisClient::open(&settings).expect("a URL");
    until("redis is there", async || !shared.is_away()).await;
    shared
}

async fn node(redis: &Redis) -> RedisClient {
    node_within(redis, UNHURRIED).await
}

fn sealer() -> Arc<Encryptor> {
    let key = EncryptionKey::from_bytes(&[7; 32]).expect("32 bytes");
    Arc::new(Encryptor::new(key, Vec::new()))
}

fn buckets(shared: &RedisClient, per_minute: u32) -> TokenBuckets {
    let per_minute = NonZeroU32::new(per_minute).expect("not zero");
    SharedRateLimits::new(shared.clone(), sealer()).per_minute("rates.tests", per_minute)
}

#[tokio::test]
async fn nodes_take_from_one_bucket_and_are_told_how_long_to_wait() {
    let redis = Redis::start().await;
    let (one, other) = (node(&redis).await, node(&redis).await);
    let (here, there) = (buckets(&one, 2), buckets(&other, 2));
    assert_eq!(here.spend(b"a", ONE).await, Some(Ok(())));
    assert_eq!(there.spend(b"a", ONE).await, Some(Ok(())));
    for node in [&here, &there] {
        let wait = node.spend(b"a", ONE).await.expect("an answer").expect_err("an empty bucket");
        assert!(wait > Duration::from_secs(10) && wait <= Duration::from_secs(30), "{wait:?}");
    }
    assert_eq!(there.spend(b"b", ONE).await, Some(Ok(())), "another key");
    let others = SharedRateLimits::new(one, sealer()).per_minute("rates.others", ONE);
    assert_eq!(others.spend(b"a", ONE).await, Some(Ok(())), "another purpose");
}

#[tokio::test]
async fn what_costs_more_than_a_bucket_holds_takes_all_of_it() {
    let redis = Redis::start().await;
    let shared = node(&redis).await;
    for per_minute in [1, 7, 59, 997] {
        let buckets = buckets(&shared, per_minute);
        let key = per_minute.to_be_bytes();
        assert_eq!(buckets.spend(&key, NonZeroU32::MAX).await, Some(Ok(())), "{per_minute}");
        let wait = buckets.spend(&key, NonZeroU32::MAX).await.expect("an answer");
        assert!(wait.is_err_and(|wait| wait <= Duration::from_mins(1)), "{per_minute}");
    }
}

#[tokio::test]
async fn a_bucket_fills_up_by_the_clock_of_redis() {
    let redis = Redis::start().await;
    let buckets = buckets(&node(&redis).await, 60);
    assert_eq!(buckets.spend(b"a", NonZeroU32::MAX).await, Some(Ok(())));
    let wait = buckets.spend(b"a", ONE).await.expect("an answer").expect_err("an empty bucket");
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    tokio::time::sleep(wait).await;
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
}

/// As when the clock of Redis was set back by an hour.
#[tokio::test]
async fn a_clock_that_was_set_back_locks_nobody_out() {
    let redis = Redis::start().await;
    let shared = node(&redis).await;
    let buckets = buckets(&shared, 60);
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
    let mut connection = shared.connection().expect("a connection");
    let move_on = "for _, key in ipairs(redis.call('keys', '*')) do
                       local full_at = tonumber(redis.call('get', key))
                       if full_at > 1e12 then redis.call('set', key, full_at + 3600e6) end
                   end";
    let moved: Result<(), _> = redis::Script::new(move_on).invoke_async(&mut connection).await;
    moved.expect("a script that runs");
    let wait = buckets.spend(b"a", ONE).await.expect("an answer").expect_err("an empty bucket");
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
}

#[tokio::test]
async fn what_is_lost_is_not_known_and_what_is_back_is_shared_again() {
    let mut redis = Redis::start().await;
    let (one, other) = (node(&redis).await, node(&redis).await);
    let (here, there) = (buckets(&one, 1), buckets(&other, 1));
    assert_eq!(here.spend(b"a", ONE).await, Some(Ok(())));
    redis.kill();
    for (shared, buckets) in [(&one, &here), (&other, &there)] {
        assert_eq!(buckets.spend(b"a", ONE).await, None);
        until("the loss is noticed", async || shared.is_away()).await;
        assert!(shared.connection().is_none());
    }
    assert!(mc_redis::version(&redis.url()).await.is_err());
    redis.restart().await;
    until("both are back", async || !one.is_away() && !other.is_away()).await;
    assert!(mc_redis::version(&redis.url()).await.expect("a version").contains('.'));
    assert_eq!(there.spend(b"a", ONE).await, Some(Ok(())), "what it held is gone");
    assert!(here.spend(b"a", ONE).await.expect("an answer").is_err(), "and shared again");
}

#[tokio::test]
async fn one_question_waits_for_a_redis_that_hangs_and_the_others_do_not() {
    let redis = Redis::start().await;
    let deadline = Duration::from_secs(1);
    let shared = node_within(&redis, deadline).await;
    let buckets = buckets(&shared, 1_000_000);
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
    redis.freeze();
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(buckets.spend(b"a", ONE).await, None);
    }
    let took = began.elapsed();
    assert!(took < 10 * deadline, "each waited: {took:?}");
    redis.thaw();
    until("it is back", async || !shared.is_away()).await;
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
}

#[tokio::test]
async fn a_redis_that_comes_later_is_found() {
    let mut redis = Redis::start().await;
    redis.kill();
    let settings =
        Settings { url: redis.url(), database: "database".into(), answers_within: UNHURRIED };
    let shared = RedisClient::open(&settings).expect("it need not be up");
    let buckets = buckets(&shared, 1);
    assert_eq!(buckets.spend(b"a", ONE).await, None);
    redis.restart().await;
    until("redis is there", async || !shared.is_away()).await;
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
}

#[tokio::test]
async fn nodes_share_what_the_model_made_of_a_question_and_redis_can_read_none_of_it() {
    let redis = Redis::start().await;
    let (one, other) = (node(&redis).await, node(&redis).await);
    let model = model().await;
    let known = embedder(&model, &one).await.embed(vec![mask(QUESTION).text], asking(1)).await;
    let known = known.expect("a vector");
    until("it is shared", async || everything(&one).await.len() == 2).await;

    let shared = embedder(&model, &other).await.embed(vec![mask(QUESTION).text], asking(1)).await;
    assert_eq!(shared.expect("a vector"), known);
    assert_eq!(requests(&model).await, 1, "the second node did not ask");

    let next = embedder(&model, &other).await;
    next.embed(vec![mask(QUESTION).text], asking(2)).await.expect("a vector");
    assert_eq!(requests(&model).await, 2, "another project shares nothing with the first");

    assert_eq!(buckets(&one, 1).spend(ADDRESS.as_bytes(), ONE).await, Some(Ok(())));
    let vector: Vec<u8> = known[0].iter().flat_map(|number| number.to_le_bytes()).collect();
    for (name, value) in everything(&one).await {
        let both = [name, value].concat();
        for secret in
            [QUESTION.as_bytes(), "cart".as_bytes(), ADDRESS.as_bytes(), vector.as_slice()]
        {
            let found = both.windows(secret.len()).any(|part| part == secret);
            assert!(!found, "{}", String::from_utf8_lossy(&both));
        }
    }
}

#[tokio::test]
async fn what_somebody_else_put_there_is_no_vector() {
    let redis = Redis::start().await;
    let shared = node(&redis).await;
    let model = model().await;
    let first = embedder(&model, &shared).await;
    first.embed(vec![mask(QUESTION).text], asking(1)).await.expect("a vector");
    until("it is shared", async || everything(&shared).await.len() == 2).await;
    let mut connection = shared.connection().expect("a connection");
    for (name, _) in everything(&shared).await {
        let mut set = redis::cmd("SET");
        set.arg(name).arg([0_u8; 69].as_slice());
        set.exec_async(&mut connection).await.expect("it is written");
    }
    let second = embedder(&model, &shared).await;
    second.embed(vec![mask(QUESTION).text], asking(1)).await.expect("a vector");
    assert_eq!(requests(&model).await, 2);
}

#[tokio::test]
async fn questions_are_answered_while_redis_is_away() {
    let mut redis = Redis::start().await;
    let shared = node(&redis).await;
    redis.kill();
    let model = model().await;
    let embedder = embedder(&model, &shared).await;
    embedder.embed(vec![mask(QUESTION).text], asking(1)).await.expect("a vector");
    assert_eq!(requests(&model).await, 1);
}

/// All names and values.
async fn everything(shared: &RedisClient) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut connection = shared.connection().expect("a connection");
    let mut keys = redis::cmd("KEYS");
    let names: Vec<Vec<u8>> = keys.arg("*").query_async(&mut connection).await.expect("names");
    let mut all = Vec::new();
    for name in names {
        let mut get = redis::cmd("GET");
        let value: Option<Vec<u8>> =
            get.arg(name.as_slice()).query_async(&mut connection).await.expect("a value");
        assert!(name.starts_with(shared.prefix().as_bytes()), "{}", String::from_utf8_lossy(&name));
        all.extend(value.map(|value| (name, value)));
    }
    all
}

/// A server that makes the same vector of everything.
async fn model() -> MockServer {
    let server = MockServer::start().await;
    let answer = json!({ "data": [{ "index": 0, "embedding": [1.0, 2.0, 3.0] }] });
    Mock::given(method("POST"))
        .and(path("/v1/embeddings"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    server
}

async fn requests(model: &MockServer) -> usize {
    model.received_requests().await.expect("they are recorded").len()
}

/// A node's own, which remembers nothing of other nodes by itself.
async fn embedder(model: &MockServer, shared: &RedisClient) -> Arc<dyn Embedder> {
    let settings = ProviderSettings::OpenAi {
        base_url: format!("{}/v1", model.uri()).parse().expect("a URL"),
        model: "scripted".into(),
        api_key_env: None,
        api_key_file: None,
        dimensions: Some(3),
    };
    let runtime = RuntimeSettings {
        shared_queries: Some(Arc::new(QueryVectorStore::new(shared.clone(), sealer()))),
        ..RuntimeSettings::default()
    };
    mc_embed::open(&settings, &runtime).await.expect("a model")
}

/// For a question of one of the projects.
fn asking(project: u128) -> Purpose {
    Purpose::Query(mc_domain::ProjectId(uuid::Uuid::from_u128(project)))
}
