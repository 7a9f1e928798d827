//! The embedded server, in real directories with the PostgreSQL of the cache.
#![allow(clippy::unwrap_used, reason = "a test that can't continue should stop")]

#[path = "../../../tests/cache.rs"]
mod cache;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cache::cache;
use mc_domain::{Classified, ErrorKind};
use mc_postgres::db_roles;
use mc_postgres::embedded::{Embedded, EmbeddedError, EmbeddedSettings, Health};
use mc_privileges::UnprivilegedUser;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Environment variable with the directory of the server that [`helper_service`] starts.
const HELPER_DATA_DIR: &str = "MC_TEST_HELPER_DATA_DIR";

#[tokio::test]
async fn data_survives_a_stop_and_a_start() {
    let dir = directory();
    let first = start(dir.path()).await;
    execute(first.url(), "create table kept (word text)").await;
    execute(first.url(), "insert into kept values ('here')").await;
    first.stop().await;
    assert!(!pid_file(dir.path()).exists(), "a shutdown removes the pid file");

    let second = start(dir.path()).await;
    assert_eq!(query_text(second.url(), "select word from kept").await, "here");
    second.stop().await;
}

#[tokio::test]
async fn server_has_the_extensions_and_listens_on_no_port() {
    let dir = directory();
    let server = start(dir.path()).await;
    for extension in ["vector", "hstore", "pgcrypto"] {
        execute(server.url(), &format!("create extension {extension}")).await;
    }
    assert_eq!(query_text(server.url(), "show listen_addresses").await, "");
    assert_eq!(query_text(server.url(), "show server_encoding").await, "UTF8");
    server.stop().await;
}

/// The role of a configured URL owns its database and may create roles; it needs no other right.
#[tokio::test]
async fn schema_is_migrated_by_an_owner_without_superuser() {
    let dir = directory();
    let server = start(dir.path()).await;
    execute(server.url(), "create role team login createrole password 'of-the-team'").await;
    execute(server.url(), "create database team owner team").await;
    let mut url = url::Url::parse(server.url()).unwrap();
    url.set_path("team");
    let superuser = url.clone();
    url.set_username("team").unwrap();
    url.set_password(Some("of-the-team")).unwrap();
    let error = db_roles::prepare(url.as_str()).await.unwrap_err();
    assert!(error.to_string().contains("create extension vector"), "{error}");
    execute(superuser.as_str(), "create extension vector").await;

    let roles = db_roles::prepare(url.as_str()).await.unwrap();
    assert_eq!(query_text(&roles.service, "select count(*)::text from projects").await, "0");
    let prepared_again = db_roles::prepare(url.as_str()).await.unwrap();
    assert_eq!(prepared_again.worker, roles.worker);
    server.stop().await;
}

#[tokio::test]
async fn data_dir_is_private_and_the_password_is_required() {
    let dir = directory();
    let server = start(dir.path()).await;
    let data_dir = dir.path().join("data");
    for closed in ["cluster", "log"] {
        assert_eq!(mode(&data_dir.join(closed)), 0o700, "{closed}");
    }
    for way_to_socket in ["", "socket"] {
        let path = data_dir.join(way_to_socket);
        let found = fs::metadata(&path).unwrap();
        let is_root = geteuid().is_root();
        assert_eq!(mode(&path), if is_root { 0o710 } else { 0o700 }, "{way_to_socket}");
        assert!(found.uid() != UnprivilegedUser::SERVICE.uid, "{found:?}");
        assert!(!is_root || found.gid() == UnprivilegedUser::SERVICE.gid, "{found:?}");
    }
    for private in ["password", "lock", "log/start.log"] {
        assert_eq!(mode(&data_dir.join(private)), 0o600, "{private}");
    }

    let password = fs::read_to_string(data_dir.join("password")).unwrap();
    let wrong = server.url().replace(&password, "wrong");
    assert!(PgConnection::connect(&wrong).await.is_err());
    assert!(!format!("{server:?}").contains(&password));
    server.stop().await;
}

#[tokio::test]
async fn second_service_learns_which_process_has_the_lock() {
    let dir = directory();
    let first = start(dir.path()).await;

    let error = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Conflict);
    let message = error.to_string();
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert_eq!(query_text(first.url(), "select 'unharmed'").await, "unharmed");
    first.stop().await;
}

#[tokio::test]
async fn canceled_start_leaves_the_data_dir_unlocked() {
    let dir = directory();
    let cancel = CancellationToken::new();
    cancel.cancel();

    let canceled = Embedded::start_unless_cancelled(settings(dir.path()), &cancel).await.unwrap();

    assert!(canceled.is_none(), "{canceled:?}");
    assert!(!pid_file(dir.path()).exists(), "no server is left");
    start(dir.path()).await.stop().await;
}

#[tokio::test]
async fn killed_server_restarts_with_committed_data() {
    let dir = directory();
    let server = start(dir.path()).await;
    execute(server.url(), "create table kept (word text)").await;
    execute(server.url(), "insert into kept values ('here')").await;
    let mut health = server.health();

    kill(Pid::from_raw(postmaster(dir.path())), Signal::SIGKILL).unwrap();

    let died = |state: &Health| matches!(state, Health::Restarting { .. });
    within(health.wait_for(died)).await.unwrap();
    within(health.wait_for(|state| *state == Health::Running)).await.unwrap();
    assert_eq!(query_text(server.url(), "select word from kept").await, "here");
    server.stop().await;
}

#[tokio::test]
async fn server_of_a_killed_service_is_replaced() {
    let dir = directory();
    let mut service = spawn_service(dir.path());
    let orphan = postmaster(dir.path());
    service.kill().unwrap();
    service.wait().unwrap();
    kill(Pid::from_raw(orphan), None).expect("PostgreSQL outlives the service");

    let server = start(dir.path()).await;

    assert_ne!(postmaster(dir.path()), orphan);
    assert_eq!(query_text(server.url(), "select word from kept").await, "here");
    server.stop().await;
}

#[tokio::test]
async fn start_ignores_the_pid_file_of_another_process() {
    let dir = directory();
    start(dir.path()).await.stop().await;
    fs::write(pid_file(dir.path()), format!("{}\n", std::process::id())).unwrap();

    start(dir.path()).await.stop().await;
}

#[tokio::test]
async fn interrupted_initialization_is_repeated() {
    let dir = directory();
    let unfinished = dir.path().join("data/cluster.unfinished");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(dir.path().join("data/lock"), "").unwrap();
    fs::write(unfinished.join("PG_VERSION"), "half").unwrap();

    start(dir.path()).await.stop().await;
    assert!(!unfinished.exists());
}

#[tokio::test]
async fn cluster_of_another_major_version_stays_unchanged() {
    let dir = directory();
    let cluster = dir.path().join("data/cluster");
    fs::create_dir_all(&cluster).unwrap();
    fs::write(cluster.join("PG_VERSION"), "12\n").unwrap();

    let error = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert!(
        matches!(&error, EmbeddedError::MajorMismatch { written_by, .. } if written_by == "12")
    );
    assert!(error.to_string().contains("pg_dumpall"), "{error}");
    assert_eq!(fs::read_dir(&cluster).unwrap().count(), 1);
}

#[tokio::test]
async fn cluster_without_its_password_is_rejected() {
    let dir = directory();
    start(dir.path()).await.stop().await;
    fs::remove_file(dir.path().join("data/password")).unwrap();

    let error = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert!(matches!(error, EmbeddedError::PasswordLost(_)), "{error}");
}

#[tokio::test]
async fn directory_with_foreign_files_stays_unchanged() {
    let dir = directory();
    let data_dir = dir.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    fs::set_permissions(&data_dir, Permissions::from_mode(0o755)).unwrap();
    fs::write(data_dir.join("thesis.txt"), "").unwrap();

    let error = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert!(matches!(error, EmbeddedError::NotOurs(_)), "{error}");
    assert_eq!(mode(&data_dir), 0o755);
    assert_eq!(fs::read_dir(&data_dir).unwrap().count(), 1);
}

#[tokio::test]
async fn path_too_long_for_a_socket_is_rejected() {
    let dir = directory();

    let error = Embedded::start(settings(&dir.path().join("x".repeat(90)))).await.unwrap_err();

    assert!(matches!(error, EmbeddedError::UnusablePath { .. }), "{error}");
}

#[tokio::test]
async fn root_runs_the_server_as_a_user_that_can_reach_it() {
    if !mc_testkit::runs_as_root("only root can run the server as another user") {
        return;
    }
    let dir = directory();
    start(dir.path()).await.stop().await;
    assert_ne!(fs::metadata(dir.path().join("data/cluster")).unwrap().uid(), 0);

    let closed = directory();
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
    let error = Embedded::start(settings(closed.path())).await.unwrap_err();
    let message = error.to_string();
    assert!(message.contains(&format!("{} is closed to it", closed.path().display())), "{message}");

    let unknown = EmbeddedSettings { run_as: Some("no-such-user".into()), ..settings(dir.path()) };
    let error = Embedded::start(unknown).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::UnknownUser(_)), "{error}");
}

/// Runs the service that another test kills; [`spawn_service`] starts it.
#[tokio::test]
#[ignore = "runs in its own process, for another test to kill"]
async fn helper_service() {
    let dir = PathBuf::from(std::env::var(HELPER_DATA_DIR).unwrap());
    let server = start(&dir).await;
    execute(server.url(), "create table kept (word text)").await;
    execute(server.url(), "insert into kept values ('here')").await;
    #[allow(clippy::print_stdout, reason = "the parent waits for the line")]
    {
        println!("\nready");
    }
    std::future::pending::<()>().await;
}

/// Starts a service in another process, and returns once its server is ready.
fn spawn_service(dir: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "helper_service", "--ignored", "--nocapture"])
        .env(HELPER_DATA_DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "the service ended early");
    child
}

/// Creates a directory that the server's user can reach if the test runs as root.
fn directory() -> TempDir {
    let dir = tempfile::Builder::new().prefix("mc-").tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    dir
}

fn settings(dir: &Path) -> EmbeddedSettings {
    EmbeddedSettings {
        data_dir: dir.join("data"),
        install_dirs: vec![cache().join("postgresql")],
        run_as: None,
    }
}

async fn start(dir: &Path) -> Embedded {
    Embedded::start(settings(dir)).await.unwrap()
}

async fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn query_text(url: &str, sql: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let text = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    text
}

fn pid_file(dir: &Path) -> PathBuf {
    dir.join("data/cluster/postmaster.pid")
}

fn postmaster(dir: &Path) -> i32 {
    fs::read_to_string(pid_file(dir)).unwrap().lines().next().unwrap().parse().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Fails the test if the future takes longer than a minute.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("in time")
}
