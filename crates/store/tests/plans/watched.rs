//! A store that collects the plans of its statements: PostgreSQL's `auto_explain` sends them as
//! notices, and sqlx emits notices as tracing events.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use mc_domain::{ProjectId, UserId};
use mc_store::Store;
use mc_store::testing::chains;
use mc_testkit::TestDatabase;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

const SETTINGS: [(&str, &str); 11] = [
    // As the embedded server is configured.
    ("effective_cache_size", "1GB"),
    ("work_mem", "16MB"),
    ("random_page_cost", "1.1"),
    ("jit", "off"),
    ("session_preload_libraries", "auto_explain"),
    ("auto_explain.log_min_duration", "0"),
    ("auto_explain.log_analyze", "on"),
    ("auto_explain.log_timing", "off"),
    ("auto_explain.log_format", "json"),
    ("auto_explain.log_level", "notice"),
    // Triggers and foreign keys run statements, too.
    ("auto_explain.log_nested_statements", "on"),
];
/// From the sixth execution on, PostgreSQL may use a generic plan.
pub const CALLS: usize = 8;

/// Stores with one session each that sends its plans.
pub struct Watched {
    /// The present store, of the background or acting in a project.
    pub store: Store,
    worker: Store,
    service: Store,
    notices: Notices,
    excesses: Vec<String>,
    _subscriber: DefaultGuard,
    _database: TestDatabase,
}

impl Watched {
    /// Creates a database with the rows of `seed`.
    pub async fn seeded(seed: &str) -> Self {
        let database = TestDatabase::create().await;
        let run = async |sql: &str| mc_store::testing::execute(database.url(), sql).await.unwrap();
        run(seed).await;
        mc_store::testing::execute(database.url(), "vacuum analyze").await.unwrap();
        let name = database.url().rsplit('/').next().unwrap();
        for (setting, value) in SETTINGS {
            run(&format!("alter database {name} set {setting} = '{value}'")).await;
        }
        let worker = Store::connect(&database.logins().worker, 1, chains()).await.unwrap();
        let service = Store::connect(&database.logins().service, 1, chains()).await.unwrap();
        let store = worker.clone();
        let notices = Notices::default();
        let subscriber = tracing_subscriber::registry().with(notices.clone());
        let guard = tracing::subscriber::set_default(subscriber);
        let excesses = Vec::new();
        Self { store, worker, service, notices, excesses, _subscriber: guard, _database: database }
    }

    /// Acts in a project from now on, under row-level security.
    pub fn enter(&mut self, project: ProjectId) {
        self.store = self.service.for_project(UserId::LOCAL, project);
    }

    /// Acts as the background from now on.
    pub fn leave(&mut self) {
        self.store = self.worker.clone();
    }

    /// Calls a function repeatedly and notes an excess if a step of a plan reads more than `most`
    /// rows, discarded ones included. Returns the plans.
    pub async fn reads_at_most<T>(
        &mut self,
        what: &str,
        most: f64,
        call: impl AsyncFn(&Store) -> T,
    ) -> String {
        self.notices.take();
        for _ in 0..CALLS {
            call(&self.store).await;
        }
        let plans = self.notices.take();
        assert!(plans.len() >= CALLS, "{what}: {} plans for {CALLS} calls", plans.len());
        let worst = plans.iter().max_by(|a, b| read(a).total_cmp(&read(b))).unwrap();
        if read(worst) > most {
            let excess = format!("{what} reads {} rows, and {most} should do:", read(worst));
            self.excesses.push(format!("{excess}\n{worst:#}"));
        }
        plans.iter().map(Value::to_string).collect()
    }

    /// Panics if there was an excess.
    pub fn assert_no_excess(&self) {
        let count = self.excesses.len();
        assert!(count == 0, "{count} read too much:\n\n{}", self.excesses.join("\n\n"));
    }
}

fn read(plan: &Value) -> f64 {
    most_read(&plan["Plan"])
}

/// Returns the most rows that one step below `plan` reads of a table or an index.
fn most_read(plan: &Value) -> f64 {
    let number = |key: &str| plan[key].as_f64().unwrap_or(0.0);
    let is_scan = plan.get("Relation Name").is_some() || plan.get("Index Name").is_some();
    let a_loop = number("Actual Rows")
        + number("Rows Removed by Filter")
        + number("Rows Removed by Index Recheck");
    let own = if is_scan { a_loop * number("Actual Loops") } else { 0.0 };
    let below = plan["Plans"].as_array().into_iter().flatten().map(most_read);
    below.fold(own, f64::max)
}

/// The received plans.
#[derive(Clone, Default)]
struct Notices(Arc<Mutex<Vec<Value>>>);

impl Notices {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl<S: tracing::Subscriber> Layer<S> for Notices {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "sqlx::postgres::notice" {
            return;
        }
        let mut message = Message::default();
        event.record(&mut message);
        if let Some((_, plan)) = message.0.split_once("plan:\n") {
            let mut plan: Value = serde_json::from_str(plan).unwrap();
            // The callers search the text for neighbouring fields.
            plan.sort_all_objects();
            self.0.lock().unwrap().push(plan);
        }
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").unwrap();
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0.push_str(value);
        }
    }
}
