//! A project, workers that run its hygiene tasks, and queries of their results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_contract::operations::hygiene::HygieneRun;
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::{HygieneRunId, HygieneTask, ProjectId, RecordId, UserId};
use mc_files::ProtectedDirectories;
use mc_jobs::{Embedding, JobContext, JobSettings, PromptSettings, SyncContext};
use mc_memory::normalize::content_hash;
use mc_store::hygiene;
use mc_store::testing::{execute, text, waiting_for_a_lock};
use mc_store::vectors::{self, Model};
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Longer than any step takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
pub const RETRY: &str =
    "The payments worker retries a failed charge 3 times with jitter before it gives up";
pub const RETRY_REWORDED: &str =
    "Before it gives up, the payments worker retries failed charges three times with jitter";

pub struct Fixture {
    pub db: TestDatabase,
    pub project: ProjectId,
    /// The active model.
    pub model: Model,
    _stop: DropGuard,
}

impl Fixture {
    /// Starts workers for a project without data.
    pub async fn new() -> Self {
        Self::with_prompts(PromptSettings::default()).await
    }

    /// Starts workers with these settings of system prompts.
    pub async fn with_prompts(prompts: PromptSettings) -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        // Claims the keys of the schedules: otherwise the workers would make up for the last tick.
        let keys = HygieneTask::ALL.iter().map(|task| {
            format!(
                "('run_hygiene_task', '{task} ' || current_date), ('run_hygiene_task', '{task} ' \
                 || current_date + 1)"
            )
        });
        let keys: Vec<_> = keys.collect();
        let sql = format!("insert into idempotency_keys (kind, key) values {}", keys.join(", "));
        execute(db.url(), &sql).await.unwrap();
        let stop = CancellationToken::new();
        let sync = SyncContext {
            connectors: Arc::default(),
            encryptor: Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new())),
            allowed_private_hosts: Arc::default(),
            protected: ProtectedDirectories::default(),
        };
        let model = vectors::register_model(db.store(), "new", 3, &json!({})).await.unwrap();
        let embedding = Embedding { model: model.clone(), is_remote: true };
        let settings = JobSettings::default();
        let context = JobContext {
            store: db.store().clone(),
            sync,
            embedding,
            chat: Arc::default(),
            prompts,
            settings,
        };
        let workers = mc_jobs::workers(db.store().clone(), &context);
        tokio::spawn(workers.run(stop.clone()));
        Self { db, project, model, _stop: stop.drop_guard() }
    }

    /// Creates a live team record.
    pub async fn record(&self, content: &str) -> RecordId {
        let id = RecordId::generate();
        let hash: String = content_hash(content).iter().map(|byte| format!("{byte:02x}")).collect();
        self.execute(&format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
             values ('{id}', '{}', 'fact', '{content}', now() + interval '90 days', '\\x{hash}', \
             1)",
            self.project
        ))
        .await;
        id
    }

    pub async fn execute(&self, sql: &str) {
        execute(self.db.url(), sql).await.unwrap();
    }

    pub async fn text(&self, sql: &str) -> String {
        text(self.db.store(), sql).await.unwrap()
    }

    pub async fn set_policy(&self, policy: Value) {
        self.execute(&format!("update projects set policy = '{policy}'")).await;
    }

    pub async fn request(&self, task: HygieneTask, is_dry_run: bool) -> HygieneRunId {
        let mut tx =
            self.db.service().for_project(UserId::LOCAL, self.project).begin().await.unwrap();
        let id = hygiene::request(&mut tx, self.project, task, is_dry_run, None).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// Waits until the run has ended.
    pub async fn wait_for_end(&self, id: HygieneRunId) -> HygieneRun {
        let started = Instant::now();
        loop {
            let run = self.find(id).await.unwrap();
            if run.completed_at.is_some() {
                return run;
            }
            assert!(started.elapsed() < TIMEOUT, "{run:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns a run, if it is stored.
    pub async fn find(&self, id: HygieneRunId) -> Option<HygieneRun> {
        hygiene::find(self.db.store(), self.project, id).await.unwrap()
    }

    /// Runs a task, which must succeed.
    pub async fn run(&self, task: HygieneTask, is_dry_run: bool) -> HygieneRun {
        let run = self.wait_for_end(self.request(task, is_dry_run).await).await;
        assert_eq!(run.last_error, None);
        run
    }

    /// Waits until a query waits for a lock, or the run has ended.
    pub async fn wait_for_lock(&self, id: HygieneRunId) {
        let started = Instant::now();
        while waiting_for_a_lock(self.db.store()).await.unwrap() == 0 {
            let run = self.find(id).await.unwrap();
            if run.completed_at.is_some() {
                return;
            }
            assert!(started.elapsed() < TIMEOUT, "{run:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until a query returns `0`.
    pub async fn wait_for_zero(&self, sql: &str) {
        let started = Instant::now();
        while self.text(sql).await != "0" {
            assert!(started.elapsed() < TIMEOUT, "{sql}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub async fn cluster_states(&self) -> String {
        self.text("select coalesce(string_agg(state, ','), '') from duplicate_clusters").await
    }

    pub async fn live_record_count(&self) -> String {
        self.text("select count(*)::text from memory_records where state = 'active'").await
    }
}

/// Returns a statement that creates the passage of a record.
pub fn passage_of(record: RecordId) -> String {
    format!(
        "insert into passages (id, project_id, record_id, private_to, text, content_hash)
         select gen_random_uuid(), project_id, id, private_to, content, '\\x01' from memory_records
         where id = '{record}'"
    )
}

/// Damages data: runs a statement without its triggers.
pub async fn damage(fixture: &Fixture, sql: &str) {
    fixture
        .execute(&format!(
            "do $damage$ begin
                 perform set_config('session_replication_role', 'replica', true); {sql};
             end $damage$"
        ))
        .await;
}
