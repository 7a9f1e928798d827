//! What the model made of questions, for whichever node is asked next.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_crypto::{AssociatedData, Encryptor};
use mc_embed::QueryCache;

use crate::RedisClient;

/// How long a vector is kept: people who work on the same thing ask the same in the same hour.
const KEPT: Duration = Duration::from_hours(1);

/// Names the vectors' names and their envelopes.
const PURPOSE: &str = "shared.query_vectors";

/// Vectors of questions, sealed: a vector tells something of its question. Cheap to clone.
#[derive(Debug, Clone)]
pub struct QueryVectorStore {
    shared: RedisClient,
    sealer: Arc<Encryptor>,
}

impl QueryVectorStore {
    /// Keeps them in `shared`, for those who have the encryption key.
    pub fn new(shared: RedisClient, sealer: Arc<Encryptor>) -> Self {
        Self { shared, sealer }
    }

    async fn read(&self, key: [u8; 32]) -> Option<Vec<u8>> {
        let code = self.sealer.derive(PURPOSE, &key);
        let mut get = redis::cmd("GET");
        get.arg(self.shared.name(&code));
        let asked = self.shared.ask(|mut connection| async move {
            get.query_async::<Option<Vec<u8>>>(&mut connection).await
        });
        let sealed = asked.await??;
        // Whoever writes into Redis can spoil an envelope; that is a vector that is not there.
        let opened =
            self.sealer.decrypt(AssociatedData { purpose: PURPOSE, row: &code }, &sealed).ok()?;
        Some(opened.to_vec())
    }

    async fn write(&self, key: [u8; 32], value: &[u8]) {
        let code = self.sealer.derive(PURPOSE, &key);
        let sealed = self.sealer.encrypt(AssociatedData { purpose: PURPOSE, row: &code }, value);
        let mut set = redis::cmd("SET");
        set.arg(self.shared.name(&code)).arg(sealed).arg("EX").arg(KEPT.as_secs());
        let asked =
            self.shared.ask(|mut connection| async move { set.exec_async(&mut connection).await });
        asked.await;
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
