//! Vectors of recent search queries, shared by all nodes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_crypto::{AssociatedData, Encryptor};
use mc_embed::QueryCache;

use crate::RedisClient;

/// Lifetime of a vector: people who work on one problem repeat their queries within the hour.
const VECTOR_TTL: Duration = Duration::from_hours(1);

/// Purpose in the derivation of key names and in the associated data of the envelopes.
const PURPOSE: &str = "shared.query_vectors";

/// Store of query vectors, encrypted because a vector reveals part of its query. Cheap to clone.
#[derive(Debug, Clone)]
pub struct QueryVectorStore {
    client: RedisClient,
    encryptor: Arc<Encryptor>,
}

impl QueryVectorStore {
    /// Stores vectors in `client`, readable only with the encryption key.
    pub fn new(client: RedisClient, encryptor: Arc<Encryptor>) -> Self {
        Self { client, encryptor }
    }

    async fn read(&self, key: [u8; 32]) -> Option<Vec<u8>> {
        let row = self.encryptor.derive(PURPOSE, &key);
        let mut get = redis::cmd("GET");
        get.arg(self.client.key_name(&row));
        let response = self.client.run(|mut connection| async move {
            get.query_async::<Option<Vec<u8>>>(&mut connection).await
        });
        let envelope = response.await??;
        // Anyone who can write to Redis can damage an envelope; that counts as a cache miss.
        let data = AssociatedData { purpose: PURPOSE, row: &row };
        Some(self.encryptor.decrypt(data, &envelope).ok()?.to_vec())
    }

    async fn write(&self, key: [u8; 32], value: &[u8]) {
        let row = self.encryptor.derive(PURPOSE, &key);
        let data = AssociatedData { purpose: PURPOSE, row: &row };
        let envelope = self.encryptor.encrypt(data, value);
        let mut set = redis::cmd("SET");
        set.arg(self.client.key_name(&row)).arg(envelope).arg("EX").arg(VECTOR_TTL.as_secs());
        let response =
            self.client.run(|mut connection| async move { set.exec_async(&mut connection).await });
        response.await;
    }
}

impl QueryCache for QueryVectorStore {
    fn get(&self, key: [u8; 32]) -> BoxFuture<'_, Option<Vec<u8>>> {
        Box::pin(self.read(key))
    }

    fn put(&self, key: [u8; 32], value: Vec<u8>) {
        let vectors = self.clone();
        tokio::spawn(async move { vectors.write(key, &value).await });
    }
}
