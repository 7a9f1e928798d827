//! Several processes on one database: a service, and a worker.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::harness::Service;
use crate::repository;

const TIMEOUT: Duration = Duration::from_mins(2);

/// Starts a service on a shared database.
async fn service(database: &TestDatabase) -> Service {
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    service.launch().await;
    service
}

/// Starts a worker with a data directory of its own.
fn worker(service: &Service, data_dir: &Path) -> Command {
    let mut worker = service.command(&["worker"]);
    worker.env("MEMORY_COPILOT__DATA_DIR", data_dir);
    worker.env("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", service.data_dir.join("encryption.key"));
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
async fn worker_runs_jobs_without_a_service() {
    let database = TestDatabase::create().await;
    let mut service = service(&database).await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a folder");
    service.index("shop", &repository::cart_sessions(directory.path())).await;
    assert!(service.stop().success(), "{}", service.log());
    // As if it was enqueued just now.
    let again = "update ingest_runs set status = 'QUEUED', worker = null, job_id = null";
    execute(database.url(), again).await.expect("a run waits");

    let data_dir = directory.path().join("worker");
    let child = worker(&service, &data_dir).stdout(Stdio::null()).spawn().expect("it starts");
    let began = Instant::now();
    let done = "select string_agg(status || ' ' || worker, '') from ingest_runs";
    loop {
        let said = text(database.store(), done).await.unwrap_or_default();
        let by_worker = said.contains(&data_dir.display().to_string());
        if said.starts_with("SUCCEEDED") && by_worker {
            break;
        }
        assert!(began.elapsed() < TIMEOUT, "the run was not done by the worker: {said}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stopped(child);
}

/// As if all machines started at once, or the database stopped during a start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_waits_for_the_database() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    let directory = tempfile::tempdir().expect("a folder");
    let log = directory.path().join("log");
    let said = async |words: &str| {
        let began = Instant::now();
        while !std::fs::read_to_string(&log).unwrap_or_default().contains(words) {
            assert!(began.elapsed() < TIMEOUT, "it never said {words:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let door = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = door.local_addr().expect("an address");
    drop(door);
    let mut url = Url::parse(database.url()).expect("a URL");
    let real = url.port().expect("a port");
    url.set_port(Some(address.port())).expect("a port");

    let mut worker = worker(&service, &directory.path().join("data"));
    worker.env("MEMORY_COPILOT__DATABASE__URL", url.as_str());
    worker.stderr(File::create(&log).expect("a file")).stdout(Stdio::null());
    let child = worker.spawn().expect("it starts");
    said("a start waits for the database").await;
    let door = TcpListener::bind(address).await.expect("the port is still free");
    let leading = tokio::spawn(async move {
        while let Ok((mut outer, _)) = door.accept().await {
            tokio::spawn(async move {
                let mut inner = TcpStream::connect(("127.0.0.1", real)).await?;
                copy_bidirectional(&mut outer, &mut inner).await
            });
        }
    });
    let at_work =
        "select count(*)::text from apalis.workers where id like '%' || $$FOLDER$$ || '%'";
    let at_work = at_work.replace("FOLDER", &directory.path().display().to_string());
    let began = Instant::now();
    while text(database.store(), &at_work).await.expect("a count") == "0" {
        assert!(began.elapsed() < TIMEOUT, "it never worked");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stopped(child);
    leading.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_counts_discarded_jobs() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    let doctor = || {
        let output = service.command(&["doctor"]).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = doctor();
    assert!(said.contains("ok    jobs") && said.contains("no discarded jobs"), "{said}");
    let given_up = "do $$ begin
                        perform mc.enqueue_job('unknown', null, '{}', now(), 1);
                        update apalis.jobs set status = 'Killed' where job_type = 'unknown';
                    end $$";
    execute(database.url(), given_up).await.expect("a dead job");
    let said = doctor();
    assert!(said.contains("FAIL  jobs") && said.contains("1 discarded\n"), "{said}");
    assert!(said.contains("jobs list --state discarded"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_that_cannot_start_says_what_to_do() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a folder");
    let data_dir: PathBuf = directory.path().join("worker");
    let none = worker(&service, &data_dir).env("MEMORY_COPILOT__DATABASE__URL", "").output();
    let said = String::from_utf8_lossy(&none.expect("it runs").stderr).into_owned();
    assert!(said.contains("Set database.url"), "{said}");
    // Two workers with one data directory would share an identity.
    let said = refused(&mut worker(&service, &service.data_dir));
    assert!(said.contains("another memory-copilot (process "), "{said}");
    // A key of its own would sign events that no node can verify.
    let missing = directory.path().join("no.key");
    let key = "MEMORY_COPILOT__ENCRYPTION__KEY_FILE";
    let said = refused(worker(&service, &data_dir).env(key, &missing));
    assert!(said.contains("copy it from where"), "{said}");
    std::fs::write(&missing, "42".repeat(32)).expect("a key");
    let said = refused(worker(&service, &data_dir).env(key, &missing));
    assert!(said.contains("is not the encryption key of this database"), "{said}");
    assert_eq!(service.get("/projects").await["items"][0]["key"], json!("shop"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_service_without_the_key_is_rejected() {
    let database = TestDatabase::create().await;
    let service = service(&database).await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a folder");
    let data_dir = directory.path().join("second");
    let mut second = service.command(&["serve"]);
    second.env("MEMORY_COPILOT__DATA_DIR", &data_dir);
    second.env("MEMORY_COPILOT__SERVER__LISTEN", "127.0.0.1:0");
    for _ in 0..2 {
        let said = refused(&mut second);
        assert!(said.contains("copy that key here"), "{said}");
        assert!(
            !data_dir.join("encryption.key").exists(),
            "the next start would take it for right"
        );
    }
}

/// Two services on an unused database, each with its own key.
struct Beginners {
    database: TestDatabase,
    name: String,
    nodes: [Service; 2],
}

impl Beginners {
    async fn on_an_empty_database() -> Self {
        let database = TestDatabase::create().await;
        let name = format!("empty_{}", uuid::Uuid::now_v7().simple());
        execute(database.url(), &format!("create database {name}")).await.expect("a database");
        let mut url = url::Url::parse(database.url()).expect("a URL");
        url.set_path(&name);
        let nodes = [(); 2].map(|()| {
            let mut node = Service::prepared();
            node.set("MEMORY_COPILOT__DATABASE__URL", url.as_str().into());
            node
        });
        Self { database, name, nodes }
    }

    /// Stops the services. Call it when they are no longer used.
    async fn end(self) {
        drop(self.nodes);
        let gone = format!("drop database {} with (force)", self.name);
        execute(self.database.url(), &gone).await.expect("nobody needs it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_starts_claim_one_encryption_key() {
    for _ in 0..10 {
        let begun = Beginners::on_an_empty_database().await;
        let mut children = begun.nodes.each_ref().map(|node| {
            let mut command = node.command(&["serve"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("it starts")
        });
        let refused = first_that_ends(&mut children).await;
        let [first, second] = children;
        let (refused_child, sealing) = if refused == 0 { (first, second) } else { (second, first) };
        let output = refused_child.wait_with_output().expect("it ended");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("copy that key here"), "{said}");
        let has_key =
            begun.nodes.each_ref().map(|node| node.data_dir.join("encryption.key").exists());
        assert_eq!(has_key, [refused == 1, refused == 0], "{said}");
        stopped(sealing);
        begun.end().await;
    }
}

/// Returns which of the two ended first.
async fn first_that_ends(children: &mut [Child; 2]) -> usize {
    let began = Instant::now();
    loop {
        let ended = |child: &mut Child| child.try_wait().expect("it can be asked").is_some();
        if let Some(ended) = children.iter_mut().position(ended) {
            return ended;
        }
        assert!(began.elapsed() < TIMEOUT, "both went on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_starts_with_one_key_migrate_once() {
    let mut begun = Beginners::on_an_empty_database().await;
    let directory = tempfile::tempdir().expect("a folder");
    let key = directory.path().join("encryption.key");
    std::fs::write(&key, "42".repeat(32)).expect("a key");
    for node in &mut begun.nodes {
        node.set("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", key.clone());
    }
    let [first, second] = &mut begun.nodes;
    tokio::join!(first.launch(), second.launch());
    first.project("shop").await;
    assert_eq!(second.get("/projects").await["items"][0]["key"], json!("shop"));
    for node in &mut begun.nodes {
        assert!(node.stop().success(), "{}", node.log());
    }
    begun.end().await;
}
