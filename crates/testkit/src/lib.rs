#![doc = include_str!("../README.md")]

mod github;
mod model_server;
mod redis;
mod skip;

use mc_domain::{ProjectKey, Trust, UserId};
use mc_postgres::db_roles::DbRoles;
use mc_sanitizer::{Sanitized, mask};
use mc_store::Store;
use mc_store::docs::NewDoc;
use mc_store::projects::{self, Project};

pub use github::{GitHub, GitHubCredential, GitHubFault, GitHubRequest};
pub use model_server::{ModelProtocol, ModelRequest, ModelServer, Reply};
pub use redis::Redis;
pub use skip::{runs_as_root, skip};

/// A migrated, empty database for one test. Dropping the value drops the database.
///
/// A test with background tasks needs a multi-threaded runtime: dropping the database waits for
/// sessions that are being opened, and would block the single thread that opens them.
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
    /// Creates the database on the server that `MC_TEST_DATABASE_URL` names.
    ///
    /// # Panics
    /// If the variable is not set or the server can't be used.
    pub async fn create() -> Self {
        let server = std::env::var("MC_TEST_DATABASE_URL").expect(
            "MC_TEST_DATABASE_URL is not set; run the tests with `make test`, or \
             `scripts/with-postgres cargo nextest run -p CRATE`",
        );
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let (url, logins) = mc_store::testing::create_database(&server, &name)
            .await
            .expect("a database on the test server");
        let chains = mc_store::testing::chains();
        let connect = |url: String| {
            let chains = chains.clone();
            async move { Store::connect(&url, 8, chains).await }
        };
        let stores =
            tokio::try_join!(connect(logins.worker.clone()), connect(logins.service.clone()));
        let (store, service) = stores.expect("connections to the new database");
        Self { server, name, url, logins, store, service }
    }

    /// Returns the store that sees every row, as background work does.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the store that sees the rows which the policies allow.
    pub fn service(&self) -> &Store {
        &self.service
    }

    /// Returns the URL for a superuser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URLs of both stores.
    pub fn logins(&self) -> &DbRoles {
        &self.logins
    }

    /// Creates a project with this key for the local administrator.
    ///
    /// # Panics
    /// If the key is not valid or the database is unavailable.
    pub async fn project(&self, key: &str) -> Project {
        let key = ProjectKey::parse(key).expect("a valid project key");
        let created = projects::create(&self.store, UserId::LOCAL, &key, key.as_str()).await;
        created.expect("a project").0
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, name) = (std::mem::take(&mut self.server), std::mem::take(&mut self.name));
        // The thread has its own runtime, since the test's runtime may be ending.
        let dropped = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(mc_store::testing::drop_database(&server, &name)).ok()
        });
        // A remaining database is deleted with the server at the end of the test run.
        let _ = dropped.join();
    }
}

/// Returns an imported document of the source `test`. Its id is also its title, and it has no URL.
pub fn document(doc_id: &str, content: &str) -> NewDoc {
    NewDoc {
        file: None,
        saved_by: None,
        trust: Trust::Imported,
        source: "test".into(),
        doc_id: doc_id.into(),
        title: mask(doc_id).text,
        url: Sanitized::default(),
        content: mask(content).text,
        scope: Vec::new(),
        tags: Vec::new(),
    }
}
