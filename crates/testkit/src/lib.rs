#![doc = include_str!("../README.md")]

use mc_domain::ProjectKey;
use mc_store::Store;
use mc_store::projects::{self, Project};

/// A migrated, empty database of its own for one test; dropped with the value.
///
/// A test with tasks at work in the background needs a multi-threaded runtime: dropping the database
/// waits for sessions that are being opened, and on a single thread nobody would go on with them.
#[derive(Debug)]
pub struct TestDatabase {
    server: String,
    name: String,
    url: String,
    store: Store,
}

impl TestDatabase {
    /// Makes the database on the server that `MC_TEST_DATABASE_URL` names.
    ///
    /// # Panics
    /// When the variable is not set or the server can't be used: a test can't go on without.
    pub async fn create() -> Self {
        let server = std::env::var("MC_TEST_DATABASE_URL").expect(
            "MC_TEST_DATABASE_URL is not set; run the tests with `make test`, or \
             `scripts/with-postgres cargo nextest run -p CRATE`",
        );
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let url = mc_store::testing::create_database(&server, &name)
            .await
            .expect("the test server makes a database");
        let store = Store::connect(&url, 8).await.expect("the new database takes connections");
        Self { server, name, url, store }
    }

    /// The store over this database.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its URL, for a process of its own.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A project with this key.
    ///
    /// # Panics
    /// When the key is not valid or the database is away.
    pub async fn project(&self, key: &str) -> Project {
        let key = ProjectKey::parse(key).expect("a valid project key");
        projects::create(&self.store, &key, key.as_str()).await.expect("a project").0
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, name) = (std::mem::take(&mut self.server), std::mem::take(&mut self.name));
        // A thread with its own runtime: the test's runtime may be ending.
        let dropped = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(mc_store::testing::drop_database(&server, &name)).ok()
        });
        // The whole server goes with the test run; a database left behind harms nobody.
        let _ = dropped.join();
    }
}
