//! Ingress of several nodes that share limits by a real Redis.

use std::sync::Arc;
use std::time::Duration;

use mc_api::{Ingress, IngressConfig, Serving};
use mc_crypto::{EncryptionKey, Encryptor};
use mc_redis::{RedisClient, Settings, SharedRateLimits};
use mc_testkit::Redis;

use super::limits::with_token;
use super::wire::{Service, routes_at};

/// A node with its Redis client.
struct Node {
    service: Service,
    shared: RedisClient,
}

impl Node {
    async fn start(redis: &Redis, encryptor: &Arc<Encryptor>, ingress: &IngressConfig) -> Self {
        let settings = Settings {
            url: redis.url(),
            database: "database".into(),
            timeout: Duration::from_secs(10),
        };
        let shared = RedisClient::open(&settings).unwrap();
        let rates = SharedRateLimits::new(shared.clone(), Arc::clone(encryptor));
        let router = routes_at(&Ingress::sharing(ingress.clone(), Some(&rates)));
        let node = Self { service: Service::of(router, Serving::default()).await, shared };
        node.until(false).await;
        node
    }

    /// Waits until the node knows whether Redis is available.
    async fn until(&self, away: bool) {
        while self.shared.is_unavailable() != away {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn status(&self, path: &str) -> u16 {
        self.service.get(path).await.status
    }

    /// Sends a wrong token.
    async fn guess(&self) -> u16 {
        self.service.ask(&with_token("/closed", "wrong")).await.status
    }
}

async fn nodes(redis: &Redis, ingress: &IngressConfig) -> [Node; 2] {
    let encryptor = Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new()));
    [Node::start(redis, &encryptor, ingress).await, Node::start(redis, &encryptor, ingress).await]
}

#[tokio::test]
async fn nodes_share_the_rate_limit_of_an_address_while_redis_is_up() {
    let mut redis = Redis::start().await;
    let ingress = IngressConfig { requests_per_minute_per_address: 2, ..IngressConfig::default() };
    let [one, other] = nodes(&redis, &ingress).await;
    assert_eq!(one.status("/").await, 200);
    assert_eq!(other.status("/").await, 200);
    for node in [&one, &other] {
        let answer = node.service.get("/").await;
        assert_eq!(answer.status, 429, "{answer:?}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{answer:?}");
    }
    redis.kill();
    for node in [&one, &other] {
        node.until(true).await;
        assert_eq!(node.status("/").await, 200, "it let one of two through");
        assert_eq!(node.status("/").await, 429, "and now the other");
    }
    redis.restart().await;
    for node in [&one, &other] {
        node.until(false).await;
    }
    // Redis restarts empty.
    assert_eq!(one.status("/").await, 200);
    assert_eq!(other.status("/").await, 200);
    assert_eq!(one.status("/").await, 429);
}

#[tokio::test]
async fn failed_authentications_are_counted_across_nodes() {
    let redis = Redis::start().await;
    let ingress =
        IngressConfig { auth_failures_per_minute_per_address: 2, ..IngressConfig::default() };
    let [one, other] = nodes(&redis, &ingress).await;
    assert_eq!(one.guess().await, 401);
    assert_eq!(other.guess().await, 401);
    assert_eq!(one.status("/").await, 200, "two are allowed");
    for node in [&one, &other] {
        // A node blocks an address at the next failure that it sees itself.
        assert_eq!(node.guess().await, 401);
        assert_eq!(node.status("/").await, 429);
    }
}
