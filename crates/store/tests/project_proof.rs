//! SQL of an attacker's choice that runs as the service's role: it sees no rows of a project whose
//! context the service has not set in its transaction.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../tests/cache.rs"]
mod cache;
#[path = "project_proof/foreign_keys.rs"]
mod foreign_keys;
#[path = "project_proof/functions.rs"]
mod functions;
#[path = "project_proof/private_network.rs"]
mod private_network;
#[path = "project_proof/standby.rs"]
mod standby;

use mc_domain::{ProjectId, ProjectKey, UserId};
use mc_store::audit::Chain;
use mc_store::projects::create;
use mc_store::testing::{chains, execute, last_text, text};
use mc_store::{Error, Result, Store};
use mc_testkit::TestDatabase;

/// Settings that functions of the policies read, or have read.
const SETTINGS: [&str; 7] = [
    "memory_copilot.context",
    "memory_copilot.principal",
    "memory_copilot.project_as_viewer",
    "memory_copilot.project_as_agent",
    "memory_copilot.project_as_member",
    "memory_copilot.project_as_maintainer",
    "memory_copilot.project_as_admin",
];
const CONTEXT: &str = "select current_setting('memory_copilot.context')";
const TASKS: &str = "select coalesce(string_agg(title, ',' order by title), '') from tasks";
const LOCAL: UserId = UserId::LOCAL;

/// Ids of two projects with a task each, and of Ann, who has a role on one of them.
struct Rows {
    ours: ProjectId,
    theirs: ProjectId,
    ann_id: UserId,
}

/// Inserts the rows into the database at `url`. `worker` sees every row of it.
async fn insert_rows(url: &str, worker: &Store) -> Rows {
    let [ours, theirs] = ["ours", "theirs"].map(async |key| {
        let key = ProjectKey::parse(key).unwrap();
        create(worker, LOCAL, &key, key.as_str()).await.unwrap().0.id
    });
    let (ours, theirs, ann_id) = (ours.await, theirs.await, UserId::generate());
    let rows = format!(
        "with ann as (insert into users (id, login) values ('{ann_id}', 'ann')),
              new_tasks as (insert into tasks (id, project_id, external_id, title) values
                  (gen_random_uuid(), '{ours}', 'T-1', 'ours'),
                  (gen_random_uuid(), '{theirs}', 'T-1', 'theirs'))
         insert into project_members (project_id, user_id, role)
         values ('{ours}', '{ann_id}', 'admin')"
    );
    // The foreign key of the member is checked at the end of the statement.
    execute(url, &rows).await.unwrap();
    Rows { ours, theirs, ann_id }
}

/// The rows, and stores of both projects.
struct World {
    db: TestDatabase,
    ours: ProjectId,
    theirs: ProjectId,
    ann_id: UserId,
    /// Acts for Ann in her project, in which the attacker's SQL runs.
    ann: Store,
    /// Acts for an administrator in the other project.
    local: Store,
}

impl World {
    async fn new() -> Self {
        let db = TestDatabase::create().await;
        let Rows { ours, theirs, ann_id } = insert_rows(db.url(), db.store()).await;
        let service = db.service();
        let (ann, local) = (service.for_project(ann_id, ours), service.for_project(LOCAL, theirs));
        Self { db, ours, theirs, ann_id, ann, local }
    }

    /// Runs statements in a transaction that reads and in one that writes, with and without a
    /// project context of the service; none shows the other project. Returns whether all failed.
    async fn reveals_nothing(&self, attack: &[&str]) -> bool {
        let mut are_refused = true;
        for store in [&self.ann, self.db.service()] {
            for mode in ["set transaction read only", "set transaction read write"] {
                let seen = last_text(store, &[&[mode][..], attack, &[TASKS]].concat()).await;
                let has_leaked = seen.as_ref().is_ok_and(|seen| seen.contains("theirs"));
                assert!(!has_leaked, "{attack:?} reads another project");
                are_refused &= seen.is_err();
            }
        }
        are_refused
    }
}

/// 42501: insufficient privilege.
fn is_refused<T>(done: Result<T>) -> bool {
    let Err(Error::Statement(error)) = done else { return false };
    let refusal = error.as_database_error();
    refusal.is_some_and(|refusal| refusal.code().as_deref() == Some("42501"))
}

fn set(setting: &str, value: &str) -> String {
    format!("select set_config('{setting}', '{value}', true)")
}

/// Returns statements that set the context of a project without a valid MAC. `genuine` is a context
/// of another project.
fn forged_settings(genuine: &str, project: ProjectId) -> impl Iterator<Item = String> {
    let mac = genuine.rsplit_once(' ').unwrap().1;
    let values = [
        project.to_string(),
        format!("admin {project} {LOCAL}"),
        format!("admin {project} {LOCAL} {}", "0".repeat(64)),
        format!("admin {project} {LOCAL} {mac}"),
        format!("{genuine} admin {project} {LOCAL}"),
    ];
    values.into_iter().flat_map(|value| SETTINGS.map(|setting| set(setting, &value)))
}

/// Returns a statement that sets a project context with a code.
fn set_context(project: ProjectId, code: &str) -> String {
    format!("select mc.set_project_context('{LOCAL}', '{project}', {code})")
}

/// Returns the message that another session has sent, which the service's login can read.
async fn foreign_message(store: &Store, project: ProjectId) -> String {
    message_with(store, "set_project_context", &project.to_string()).await
}

async fn message_with(store: &Store, function: &str, argument: &str) -> String {
    let sql = format!(
        "select query from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()
             and query like '%mc.{function}(%{argument}%'"
    );
    text(store, &sql).await.unwrap()
}

fn code_in(message: &str) -> String {
    let (_, code) = message.strip_suffix("')").unwrap().rsplit_once('\'').unwrap();
    assert_eq!(code.len(), 64, "{message}");
    format!("'{code}'")
}

#[tokio::test]
async fn service_enters_a_project_to_read_and_to_write() {
    let world = World::new().await;
    for (store, seen) in [(&world.ann, "ours"), (&world.local, "theirs")] {
        assert_eq!(text(store, TASKS).await.unwrap(), seen);
        assert_eq!(text(&store.share_reads(), TASKS).await.unwrap(), seen);
        assert_eq!(last_text(store, &[TASKS]).await.unwrap(), seen);
    }
    assert_eq!(text(world.db.service(), TASKS).await.unwrap(), "");
}

#[tokio::test]
async fn setting_without_a_valid_mac_enters_no_project() {
    let world = World::new().await;
    let genuine = text(&world.ann, CONTEXT).await.unwrap();
    for statement in forged_settings(&genuine, world.theirs) {
        world.reveals_nothing(&[&statement]).await;
    }
}

#[tokio::test]
async fn setting_of_another_transaction_enters_no_project() {
    let world = World::new().await;
    let theirs = world.local.share_reads();
    let genuine = text(&theirs, CONTEXT).await.unwrap();
    world.reveals_nothing(&[&set("memory_copilot.context", &genuine)]).await;
    // In its own transaction it is valid.
    assert_eq!(text(&theirs, &set("memory_copilot.context", "")).await.unwrap(), "");
    assert_eq!(text(&theirs, TASKS).await.unwrap(), "");
    assert_eq!(text(&theirs, &set("memory_copilot.context", &genuine)).await.unwrap(), genuine);
    assert_eq!(text(&theirs, TASKS).await.unwrap(), "theirs");

    // An earlier transaction of the same session.
    let single = Store::connect(&world.db.logins().service, 1, chains()).await.unwrap();
    let local = single.for_project(LOCAL, world.theirs);
    let restored = set("memory_copilot.context", &last_text(&local, &[CONTEXT]).await.unwrap());
    assert_eq!(last_text(&single, &[&restored, TASKS]).await.unwrap(), "");
    single.close().await;
}

#[tokio::test]
async fn call_without_a_valid_code_enters_no_project() {
    let world = World::new().await;
    for code in ["null", "''", "repeat('0', 64)", "encode(sha256(''), 'hex')"] {
        assert!(world.reveals_nothing(&[&set_context(world.theirs, code)]).await, "{code}");
    }
    let chain = "00000000-0000-0000-0000-000000000000";
    let audit = format!("select mc.set_audit_context('{LOCAL}', '{chain}', '')");
    assert!(is_refused(text(world.db.service(), &audit).await));
    let admin = world.db.service().for_audit(LOCAL, Chain::Service);
    let entered = "select mc.project_as_maintainer()::text";
    assert_eq!(text(&admin, entered).await.unwrap(), chain);
    let without = format!("select mc.set_project_context('{LOCAL}', '{}')", world.theirs);
    assert!(world.reveals_nothing(&[&without]).await);
}

#[tokio::test]
async fn code_of_another_session_enters_no_project() {
    let world = World::new().await;
    let theirs = world.local.share_reads();
    assert_eq!(text(&theirs, "select 'entered'").await.unwrap(), "entered");
    assert_eq!(text(&theirs, TASKS).await.unwrap(), "theirs");
    // The last message of a session is visible to others; only the first one has the code.
    let tx = world.local.begin().await.unwrap();
    let message = foreign_message(&world.ann, world.theirs).await;
    let replayed = set_context(world.theirs, &code_in(&message));
    assert!(is_refused(text(&world.ann, &replayed).await));
    assert!(is_refused(text(world.db.service(), &replayed).await));
    assert!(world.reveals_nothing(&[&replayed]).await);
    // As one statement, the message is a syntax error.
    assert!(world.reveals_nothing(&[&message]).await);
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn code_of_the_same_session_enters_no_project_again() {
    let world = World::new().await;
    let single = Store::connect(&world.db.logins().service, 1, chains()).await.unwrap();
    let local = single.for_project(LOCAL, world.theirs);
    let backend = "select pg_backend_pid()::text";
    let tx = local.begin().await.unwrap();
    let message = foreign_message(&world.ann, world.theirs).await;
    tx.commit().await.unwrap();
    let before = last_text(&local, &[backend]).await.unwrap();
    assert_eq!(last_text(&single, &[backend]).await.unwrap(), before, "the test is blind");

    let replayed = set_context(world.theirs, &code_in(&message));
    assert!(is_refused(last_text(&single, &[&replayed, TASKS]).await));
    assert!(is_refused(text(&single, &replayed).await));
    // The message as a comment or a text of the statement.
    for disguise in [format!("{replayed} /* {message} */"), format!("{replayed} -- {message}")] {
        assert!(is_refused(last_text(&single, &[&disguise]).await), "{disguise}");
    }
    assert!(last_text(&single, &[&message, TASKS]).await.is_err());
    single.close().await;
}

#[tokio::test]
async fn code_for_one_project_or_user_is_refused_for_another() {
    let world = World::new().await;
    let tx = world.ann.begin().await.unwrap();
    let ours = world.ours;
    let code = code_in(&foreign_message(world.db.service(), ours).await);
    assert!(world.reveals_nothing(&[&set_context(world.theirs, &code)]).await);
    let as_local = format!("select mc.set_project_context('{LOCAL}', '{ours}', {code})");
    assert!(world.reveals_nothing(&[&as_local]).await);
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn keys_and_the_functions_that_use_them_are_hidden() {
    let world = World::new().await;
    let key = "select count(*)::text from mc.mac_keys where length(inner_pad) = 64";
    let count = text(world.db.store(), key).await.unwrap();
    assert!(count.parse::<i64>().unwrap() >= 2, "{count} keys: the test is blind");
    let forged = format!(
        "select mc.set_context('set_project_context', '', 'admin', '{}', '{LOCAL}')",
        world.theirs
    );
    for sql in [
        "select encode(inner_pad, 'hex') from mc.mac_keys",
        "table mc.mac_keys",
        "select mc.mac('', '')",
        &*forged,
        "select mc.is_proved('', null, null, '')::text",
        "select mc.has_user_context(null)::text",
        "select mc.may_enqueue_job(null, null, null)::text",
        "select mc.effective_role(null, null)::text",
        "select key from mc.find_project(null, null)",
        "select mc.new_job_id()",
        "select set_config('role', 'memory_copilot_worker', true)",
        "select set_config('role', 'test_worker', true)",
        "select set_config('session_authorization', 'test_worker', true)",
        "update mc.mac_keys set inner_pad = outer_pad",
        "delete from mc.mac_keys",
    ] {
        for store in [&world.ann, world.db.service()] {
            assert!(is_refused(last_text(store, &[sql]).await), "{sql}");
        }
    }
}

#[tokio::test]
async fn changed_search_path_enters_no_project() {
    let world = World::new().await;
    let forged = format!("admin {} {LOCAL} {}", world.theirs, "0".repeat(64));
    let setting = set("memory_copilot.context", &forged);
    let call = set_context(world.theirs, "''");
    // Each would make the check succeed if the functions found it.
    let shadows = [
        "create function pg_temp.encode(bytea, text) returns text language sql
         as 'select repeat(''0'', 64)'",
        "create function pg_temp.pg_has_role(name, text, text) returns boolean language sql
         as 'select true'",
        "create temp table mac_keys (login name, inner_pad bytea, outer_pad bytea)",
        "set local search_path = pg_temp, pg_catalog, mc, public",
    ];
    for attack in [&*setting, &*call] {
        for store in [&world.ann, world.db.service()] {
            let statements = [&shadows[..], &[attack, TASKS]].concat();
            let seen = last_text(store, &statements).await;
            assert!(!seen.is_ok_and(|seen| seen.contains("theirs")), "{attack}");
        }
    }
    // The shadows themselves can be created, and the project that was entered stays visible.
    let statements = [&shadows[..], &[TASKS]].concat();
    assert_eq!(last_text(&world.ann, &statements).await.unwrap(), "ours");
}

#[tokio::test]
async fn parallel_query_sees_the_project_that_was_entered() {
    let world = World::new().await;
    let passed = "insert into ci_results
                  (project_id, repository, sha, name, conclusion, source_updated_at)
                  select id, 'a/b', 'a', 'check', 'success', now() from projects";
    execute(world.db.url(), passed).await.unwrap();
    let parallel = [
        "set local parallel_setup_cost = 0",
        "set local parallel_tuple_cost = 0",
        "set local min_parallel_table_scan_size = 0",
        "set local parallel_leader_participation = off",
        "set local enable_indexscan = off",
        "set local enable_bitmapscan = off",
    ];
    let simple = "select title from tasks";
    // A function that reads a table with policies must not run in another process.
    let nested = "select title from tasks where mc.commit_ci_status(project_id, 'a') = 'passed'";
    for sql in [simple, nested] {
        let statements = [&parallel[..], &[sql]].concat();
        assert_eq!(last_text(&world.ann, &statements).await.unwrap(), "ours", "{sql}");
    }
    let explained = format!("explain (costs off) {simple}");
    let plan =
        last_text(&world.ann, &[&parallel[..], &[explained.as_str()]].concat()).await.unwrap();
    assert_eq!(plan, "Gather", "the test is blind");
}
