//! Several processes on one database: a service, and one that works in the background alone.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;
use serde_json::json;

use crate::harness::Service;
use crate::repository;

const PATIENCE: Duration = Duration::from_mins(2);

/// A service on a database that others can reach, too.
async fn service(database: &TestDatabase) -> Service {
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    service.launch().await;
    service
}

/// A worker beside it, with a folder of its own.
fn worker(service: &Service, data_dir: &Path) -> Command {
    let mut worker = service.command(&["worker"]);
    worker.env("MEMORY_COPILOT__DATA_DIR", data_dir);
    worker.env("MEMORY_COPILOT__SIGN_IN__SEALING_KEY_FILE", service.data_dir.join("sealing.key"));
    worker
}

fn refused(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stopped(mut worker: Child) {
    let asked = Command::new("kill").args(["-TERM", &worker.id().to_string()]).status();
    assert!(asked.expect("kill runs").success());
    assert!(worker.wait().expect("it is gone").success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_does_what_was_asked_for_where_no_service_runs() {
    let database = TestDatabase::create().await;
    let mut service = service(&database).await;
    service.project("shop").await;
    let folder = tempfile::tempdir().expect("a folder");
    service.index("shop", &repository::cart_sessions(folder.path())).await;
    assert!(service.stop().success(), "{}", service.log());
    // As if it had been asked for just then.
    let again = "update ingest_runs set status = 'QUEUED', worker = null, job = null";
    execute(database.url(), again).await.expect("a run waits");

    let data_dir = folder.path().join("worker");
    let child = worker(&service, &data_dir).stdout(Stdio::null()).spawn().expect("it starts");
    let began = Instant::now();
    let done = "select string_agg(status || ' ' || worker, '') from ingest_runs";
    loop {
        let said = text(database.store(), done).await.unwrap_or_default();
        let by_worker = said.contains(&data_dir.display().to_string());
        if said.starts_with("SUCCEEDED") && by_worker {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "the run was not done by the worker: {said}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stopped(child);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_says_how_much_work_was_given_up() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    let doctor = || {
        let output = service.command(&["doctor"]).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = doctor();
    assert!(said.contains("ok    jobs") && said.contains("none was given up"), "{said}");
    let given_up = "do $$ begin
                        perform mc.enqueue('nobody does this', null, '{}', now(), 1);
                        update apalis.jobs set status = 'Killed' where job_type = 'nobody does this';
                    end $$";
    execute(database.url(), given_up).await.expect("a dead job");
    let said = doctor();
    assert!(said.contains("FAIL  jobs") && said.contains("given up: 1\n"), "{said}");
    assert!(said.contains("jobs list --state dead"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_can_t_work_says_what_to_do() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    service.project("shop").await;
    let folder = tempfile::tempdir().expect("a folder");
    let data_dir: PathBuf = folder.path().join("worker");
    let none = worker(&service, &data_dir).env("MEMORY_COPILOT__DATABASE__URL", "").output();
    let said = String::from_utf8_lossy(&none.expect("it runs").stderr).into_owned();
    assert!(said.contains("Set database.url"), "{said}");
    // Two in one folder would take each other's work for their own.
    let said = refused(&mut worker(&service, &service.data_dir));
    assert!(said.contains("another memory-copilot (process "), "{said}");
    // A key that it made by itself would sign what nobody can verify.
    let missing = folder.path().join("no.key");
    let key = "MEMORY_COPILOT__SIGN_IN__SEALING_KEY_FILE";
    let said = refused(worker(&service, &data_dir).env(key, &missing));
    assert!(said.contains("copy it from where"), "{said}");
    std::fs::write(&missing, "42".repeat(32)).expect("a key");
    let said = refused(worker(&service, &data_dir).env(key, &missing));
    assert!(said.contains("is not the one that this database's service signs"), "{said}");
    assert_eq!(service.get("/projects").await["projects"][0]["key"], json!("shop"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_service_without_the_key_of_the_first_is_refused_and_leaves_none() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    service.project("shop").await;
    let folder = tempfile::tempdir().expect("a folder");
    let data_dir = folder.path().join("second");
    let mut second = service.command(&["serve"]);
    second.env("MEMORY_COPILOT__DATA_DIR", &data_dir);
    second.env("MEMORY_COPILOT__SERVER__LISTEN", "127.0.0.1:0");
    for _ in 0..2 {
        let said = refused(&mut second);
        assert!(said.contains("copy that key here"), "{said}");
        assert!(!data_dir.join("sealing.key").exists(), "the next start would take it for right");
    }
}
