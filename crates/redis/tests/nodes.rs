//! Nodes that share a real Redis, with outages and recoveries.

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

/// Time limit of an awaited condition.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// Response timeout that a busy machine does not exceed.
const LONG_TIMEOUT: Duration = Duration::from_secs(10);
const ONE: NonZeroU32 = NonZeroU32::MIN;
const QUERY: &str = "where does the cart keep its sessions?";
const ADDRESS: &str = "192.0.2.77";

async fn wait_until(condition: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < WAIT_MAX, "timed out waiting: {condition}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn node_with_timeout(redis: &Redis, timeout: Duration) -> RedisClient {
    let settings = Settings { url: redis.url(), database: "database".into(), timeout };
    let client = RedisClient::open(&settings).expect("a URL");
    wait_until("redis is there", async || !client.is_unavailable()).await;
    client
}

async fn node(redis: &Redis) -> RedisClient {
    node_with_timeout(redis, LONG_TIMEOUT).await
}

fn encryptor() -> Arc<Encryptor> {
    let key = EncryptionKey::from_bytes(&[7; 32]).expect("32 bytes");
    Arc::new(Encryptor::new(key, Vec::new()))
}

fn buckets(client: &RedisClient, per_minute: u32) -> TokenBuckets {
    let per_minute = NonZeroU32::new(per_minute).expect("not zero");
    SharedRateLimits::new(client.clone(), encryptor()).per_minute("rates.tests", per_minute)
}

#[tokio::test]
async fn nodes_share_a_bucket_and_get_the_time_to_wait() {
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
    let others = SharedRateLimits::new(one, encryptor()).per_minute("rates.others", ONE);
    assert_eq!(others.spend(b"a", ONE).await, Some(Ok(())), "another purpose");
}

#[tokio::test]
async fn a_cost_above_the_capacity_takes_the_whole_bucket() {
    let redis = Redis::start().await;
    let client = node(&redis).await;
    for per_minute in [1, 7, 59, 997] {
        let buckets = buckets(&client, per_minute);
        let key = per_minute.to_be_bytes();
        assert_eq!(buckets.spend(&key, NonZeroU32::MAX).await, Some(Ok(())), "{per_minute}");
        let wait = buckets.spend(&key, NonZeroU32::MAX).await.expect("an answer");
        assert!(wait.is_err_and(|wait| wait <= Duration::from_mins(1)), "{per_minute}");
    }
}

#[tokio::test]
async fn a_bucket_refills_by_the_clock_of_redis() {
    let redis = Redis::start().await;
    let buckets = buckets(&node(&redis).await, 60);
    assert_eq!(buckets.spend(b"a", NonZeroU32::MAX).await, Some(Ok(())));
    let wait = buckets.spend(b"a", ONE).await.expect("an answer").expect_err("an empty bucket");
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    tokio::time::sleep(wait).await;
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
}

/// Moves the stored times ahead, as if the clock of Redis had been set back by an hour.
#[tokio::test]
async fn clock_set_back_blocks_no_caller() {
    let redis = Redis::start().await;
    let client = node(&redis).await;
    let buckets = buckets(&client, 60);
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
    let mut connection = client.connection().expect("a connection");
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
async fn buckets_are_unknown_during_an_outage_and_shared_after_it() {
    let mut redis = Redis::start().await;
    let (one, other) = (node(&redis).await, node(&redis).await);
    let (here, there) = (buckets(&one, 1), buckets(&other, 1));
    assert_eq!(here.spend(b"a", ONE).await, Some(Ok(())));
    redis.kill();
    for (client, buckets) in [(&one, &here), (&other, &there)] {
        assert_eq!(buckets.spend(b"a", ONE).await, None);
        wait_until("the loss is noticed", async || client.is_unavailable()).await;
        assert!(client.connection().is_none());
    }
    assert!(mc_redis::version(&redis.url()).await.is_err());
    redis.restart().await;
    wait_until("both are back", async || !one.is_unavailable() && !other.is_unavailable()).await;
    assert!(mc_redis::version(&redis.url()).await.expect("a version").contains('.'));
    assert_eq!(there.spend(b"a", ONE).await, Some(Ok(())), "what it held is gone");
    assert!(here.spend(b"a", ONE).await.expect("an answer").is_err(), "and client again");
}

#[tokio::test]
async fn only_one_request_waits_when_redis_hangs() {
    let redis = Redis::start().await;
    let deadline = Duration::from_secs(1);
    let client = node_with_timeout(&redis, deadline).await;
    let buckets = buckets(&client, 1_000_000);
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
    redis.freeze();
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(buckets.spend(b"a", ONE).await, None);
    }
    let took = began.elapsed();
    assert!(took < 10 * deadline, "each waited: {took:?}");
    redis.thaw();
    wait_until("it is back", async || !client.is_unavailable()).await;
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
}

#[tokio::test]
async fn a_client_connects_when_redis_starts_later() {
    let mut redis = Redis::start().await;
    redis.kill();
    let settings =
        Settings { url: redis.url(), database: "database".into(), timeout: LONG_TIMEOUT };
    let client = RedisClient::open(&settings).expect("it need not be up");
    let buckets = buckets(&client, 1);
    assert_eq!(buckets.spend(b"a", ONE).await, None);
    redis.restart().await;
    wait_until("redis is there", async || !client.is_unavailable()).await;
    assert_eq!(buckets.spend(b"a", ONE).await, Some(Ok(())));
}

#[tokio::test]
async fn nodes_share_query_vectors_that_redis_cannot_read() {
    let redis = Redis::start().await;
    let (one, other) = (node(&redis).await, node(&redis).await);
    let model = model().await;
    let known = embedder(&model, &one).await.embed(vec![mask(QUERY).text], query_of(1)).await;
    let known = known.expect("a vector");
    wait_until("the vector is stored", async || all_entries(&one).await.len() == 2).await;

    let client = embedder(&model, &other).await.embed(vec![mask(QUERY).text], query_of(1)).await;
    assert_eq!(client.expect("a vector"), known);
    assert_eq!(requests(&model).await, 1, "the second node did not ask");

    let next = embedder(&model, &other).await;
    next.embed(vec![mask(QUERY).text], query_of(2)).await.expect("a vector");
    assert_eq!(requests(&model).await, 2, "another project shares nothing with the first");

    assert_eq!(buckets(&one, 1).spend(ADDRESS.as_bytes(), ONE).await, Some(Ok(())));
    let vector: Vec<u8> = known[0].iter().flat_map(|number| number.to_le_bytes()).collect();
    for (name, value) in all_entries(&one).await {
        let both = [name, value].concat();
        for secret in [QUERY.as_bytes(), "cart".as_bytes(), ADDRESS.as_bytes(), vector.as_slice()] {
            let found = both.windows(secret.len()).any(|part| part == secret);
            assert!(!found, "{}", String::from_utf8_lossy(&both));
        }
    }
}

#[tokio::test]
async fn a_value_written_by_others_is_a_cache_miss() {
    let redis = Redis::start().await;
    let client = node(&redis).await;
    let model = model().await;
    let first = embedder(&model, &client).await;
    first.embed(vec![mask(QUERY).text], query_of(1)).await.expect("a vector");
    wait_until("the vector is stored", async || all_entries(&client).await.len() == 2).await;
    let mut connection = client.connection().expect("a connection");
    for (name, _) in all_entries(&client).await {
        let mut set = redis::cmd("SET");
        set.arg(name).arg([0_u8; 69].as_slice());
        set.exec_async(&mut connection).await.expect("it is written");
    }
    let second = embedder(&model, &client).await;
    second.embed(vec![mask(QUERY).text], query_of(1)).await.expect("a vector");
    assert_eq!(requests(&model).await, 2);
}

#[tokio::test]
async fn queries_are_embedded_when_redis_is_unavailable() {
    let mut redis = Redis::start().await;
    let client = node(&redis).await;
    redis.kill();
    let model = model().await;
    let embedder = embedder(&model, &client).await;
    embedder.embed(vec![mask(QUERY).text], query_of(1)).await.expect("a vector");
    assert_eq!(requests(&model).await, 1);
}

/// Returns all keys and values.
async fn all_entries(client: &RedisClient) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut connection = client.connection().expect("a connection");
    let mut keys = redis::cmd("KEYS");
    let names: Vec<Vec<u8>> = keys.arg("*").query_async(&mut connection).await.expect("names");
    let mut all = Vec::new();
    for name in names {
        let mut get = redis::cmd("GET");
        let value: Option<Vec<u8>> =
            get.arg(name.as_slice()).query_async(&mut connection).await.expect("a value");
        assert!(name.starts_with(client.prefix().as_bytes()), "{}", String::from_utf8_lossy(&name));
        all.extend(value.map(|value| (name, value)));
    }
    all
}

/// Starts a server that returns the same vector for every text.
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

/// Opens the embedder of one node, which shares nothing with others but Redis.
async fn embedder(model: &MockServer, client: &RedisClient) -> Arc<dyn Embedder> {
    let settings = ProviderSettings::OpenAi {
        base_url: format!("{}/v1", model.uri()).parse().expect("a URL"),
        model: "scripted".into(),
        api_key_env: None,
        api_key_file: None,
        dimensions: Some(3),
    };
    let runtime = RuntimeSettings {
        shared_queries: Some(Arc::new(QueryVectorStore::new(client.clone(), encryptor()))),
        ..RuntimeSettings::default()
    };
    mc_embed::open(&settings, &runtime).await.expect("a model")
}

/// Returns the purpose of a query of the given project.
fn query_of(project: u128) -> Purpose {
    Purpose::Query(mc_domain::ProjectId(uuid::Uuid::from_u128(project)))
}
