//! Doors of several nodes that count together, by a real Redis.

use std::sync::Arc;
use std::time::Duration;

use mc_api::{Ingress, IngressConfig, Serving};
use mc_crypto::{EncryptionKey, Encryptor};
use mc_redis::{RedisClient, Settings, SharedRateLimits};
use mc_testkit::Redis;

use super::wire::{Service, routes_at};

/// A node, and what it shares.
struct Node {
    service: Service,
    shared: RedisClient,
}

impl Node {
    async fn start(redis: &Redis, sealer: &Arc<Encryptor>, door: &IngressConfig) -> Self {
        let settings = Settings {
            url: redis.url(),
            database: "database".into(),
            timeout: Duration::from_secs(10),
        };
        let shared = RedisClient::open(&settings).unwrap();
        let rates = SharedRateLimits::new(shared.clone(), Arc::clone(sealer));
        let router = routes_at(&Ingress::sharing(door.clone(), Some(&rates)));
        let node = Self { service: Service::of(router, Serving::default()).await, shared };
        node.until(false).await;
        node
    }

    /// Waits until it knows that Redis is away, or there.
    async fn until(&self, away: bool) {
        while self.shared.is_unavailable() != away {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn status(&self, path: &str) -> u16 {
        self.service.get(path).await.status
    }
}

async fn nodes(redis: &Redis, door: &IngressConfig) -> [Node; 2] {
    let sealer = Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new()));
    [Node::start(redis, &sealer, door).await, Node::start(redis, &sealer, door).await]
}

#[tokio::test]
async fn an_address_has_one_allowance_at_all_nodes_and_one_at_each_while_they_share_nothing() {
    let mut redis = Redis::start().await;
    let door = IngressConfig { requests_per_address: 2, ..IngressConfig::default() };
    let [one, other] = nodes(&redis, &door).await;
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
    // Empty, as it came back.
    assert_eq!(one.status("/").await, 200);
    assert_eq!(other.status("/").await, 200);
    assert_eq!(one.status("/").await, 429);
}

#[tokio::test]
async fn wrong_guesses_at_several_nodes_are_counted_together() {
    let redis = Redis::start().await;
    let door = IngressConfig { failures_per_address: 2, ..IngressConfig::default() };
    let [one, other] = nodes(&redis, &door).await;
    assert_eq!(one.status("/closed").await, 401);
    assert_eq!(other.status("/closed").await, 401);
    assert_eq!(one.status("/").await, 200, "two are allowed");
    for node in [&one, &other] {
        // It is told by the first of its own that is too many.
        assert_eq!(node.status("/closed").await, 401);
        assert_eq!(node.status("/").await, 429);
    }
}
