#![doc = include_str!("../README.md")]

mod redis;

use mc_domain::{ProjectKey, UserId};
use mc_postgres::db_roles::DbRoles;
use mc_store::Store;
use mc_store::projects::{self, Project};

pub use redis::Redis;

/// A migrated, empty database of its own for one test; dropped with the value.
///
/// A test with tasks at work in the background needs a multi-threaded runtime: dropping the database
/// waits for sessions that are being opened, and on a single thread nobody would go on with them.
#[derive(Debug)]
pub struct TestDatabase {
    server: String,
    name: String,
    url: String,
    logins: DbRoles,
    store: Store,
    service: Store,
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
        let (url, logins) = mc_store::testing::create_database(&server, &name)
            .await
            .expect("the test server makes a database");
        let chains = mc_store::testing::chains();
        let connect = |url: String| {
            let chains = chains.clone();
            async move { Store::connect(&url, 8, chains).await }
        };
        let stores =
            tokio::try_join!(connect(logins.worker.clone()), connect(logins.service.clone()));
        let (store, service) = stores.expect("the new database takes connections");
        Self { server, name, url, logins, store, service }
    }

    /// The store over this database that sees every row, as work in the background does.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store over this database that sees what its principal may see.
    pub fn service(&self) -> &Store {
        &self.service
    }

    /// Its URL for a superuser, for a process of its own.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URLs behind both stores.
    pub fn logins(&self) -> &DbRoles {
        &self.logins
    }

    /// A project with this key, of the local administrator.
    ///
    /// # Panics
    /// When the key is not valid or the database is away.
    pub async fn project(&self, key: &str) -> Project {
        let key = ProjectKey::parse(key).expect("a valid project key");
        let created = projects::create(&self.store, UserId::LOCAL, &key, key.as_str()).await;
        created.expect("a project").0
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
