//! The private server, on real folders with the real programs of the cache.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

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
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Names the folder of the server that [`a_service_that_waits_to_be_killed`] starts.
const HELPER_DATA_DIR: &str = "MC_TEST_HELPER_DATA_DIR";

#[tokio::test]
async fn data_survives_a_stop_and_a_second_start() {
    let dir = folder();
    let first = start(dir.path()).await;
    execute(first.url(), "create table kept (word text)").await;
    execute(first.url(), "insert into kept values ('here')").await;
    first.stop().await;
    assert!(!pid_file(dir.path()).exists(), "an orderly stop removes the pid file");

    let second = start(dir.path()).await;
    assert_eq!(word(second.url(), "select word from kept").await, "here");
    second.stop().await;
}

#[tokio::test]
async fn the_server_offers_the_extensions_and_listens_on_no_port() {
    let dir = folder();
    let server = start(dir.path()).await;
    for extension in ["vector", "hstore", "pgcrypto"] {
        execute(server.url(), &format!("create extension {extension}")).await;
    }
    assert_eq!(word(server.url(), "show listen_addresses").await, "");
    assert_eq!(word(server.url(), "show server_encoding").await, "UTF8");
    server.stop().await;
}

/// The role of a configured URL owns its database and may make roles; nothing more is asked of it.
#[tokio::test]
async fn the_schema_is_brought_up_to_date_by_an_owner_that_is_no_superuser() {
    let dir = folder();
    let server = start(dir.path()).await;
    execute(server.url(), "create role team login createrole password 'of-the-team'").await;
    execute(server.url(), "create database team owner team").await;
    let mut url = url::Url::parse(server.url()).unwrap();
    url.set_path("team");
    let superuser = url.clone();
    url.set_username("team").unwrap();
    url.set_password(Some("of-the-team")).unwrap();
    let refused = db_roles::prepare(url.as_str()).await.unwrap_err();
    assert!(refused.to_string().contains("create extension vector"), "{refused}");
    execute(superuser.as_str(), "create extension vector").await;

    let logins = db_roles::prepare(url.as_str()).await.unwrap();
    assert_eq!(word(&logins.service, "select count(*)::text from projects").await, "0");
    let again = db_roles::prepare(url.as_str()).await.unwrap();
    assert_eq!(again.worker, logins.worker);
    server.stop().await;
}

#[tokio::test]
async fn everything_is_closed_to_others_and_the_password_is_needed() {
    let dir = folder();
    let server = start(dir.path()).await;
    let data_dir = dir.path().join("data");
    for closed in ["", "cluster", "socket", "log"] {
        assert_eq!(mode(&data_dir.join(closed)), 0o700, "{closed}");
    }
    assert_eq!(mode(&data_dir.join("password")), 0o600);

    let password = fs::read_to_string(data_dir.join("password")).unwrap();
    let wrong = server.url().replace(&password, "wrong");
    assert!(PgConnection::connect(&wrong).await.is_err());
    assert!(!format!("{server:?}").contains(&password));
    server.stop().await;
}

#[tokio::test]
async fn a_second_service_on_one_directory_is_told_who_has_it() {
    let dir = folder();
    let first = start(dir.path()).await;

    let refused = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert_eq!(refused.kind(), ErrorKind::Conflict);
    let message = refused.to_string();
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert_eq!(word(first.url(), "select 'unharmed'").await, "unharmed");
    first.stop().await;
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_the_folder_free() {
    let dir = folder();
    let cancel = CancellationToken::new();
    cancel.cancel();

    let given_up = Embedded::start_unless_cancelled(settings(dir.path()), &cancel).await.unwrap();

    assert!(given_up.is_none(), "{given_up:?}");
    assert!(!pid_file(dir.path()).exists(), "no server is left");
    start(dir.path()).await.stop().await;
}

#[tokio::test]
async fn a_killed_server_comes_back_with_what_was_committed() {
    let dir = folder();
    let server = start(dir.path()).await;
    execute(server.url(), "create table kept (word text)").await;
    execute(server.url(), "insert into kept values ('here')").await;
    let mut health = server.health();

    kill(Pid::from_raw(postmaster(dir.path())), Signal::SIGKILL).unwrap();

    let died = |state: &Health| matches!(state, Health::Restarting { .. });
    within(health.wait_for(died)).await.unwrap();
    within(health.wait_for(|state| *state == Health::Running)).await.unwrap();
    assert_eq!(word(server.url(), "select word from kept").await, "here");
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_outlived_its_killed_service_is_replaced() {
    let dir = folder();
    let mut service = spawn_service(dir.path());
    let orphan = postmaster(dir.path());
    service.kill().unwrap();
    service.wait().unwrap();
    kill(Pid::from_raw(orphan), None).expect("PostgreSQL outlives the service");

    let server = start(dir.path()).await;

    assert_ne!(postmaster(dir.path()), orphan);
    assert_eq!(word(server.url(), "select word from kept").await, "here");
    server.stop().await;
}

#[tokio::test]
async fn a_pid_file_that_names_a_stranger_is_no_obstacle() {
    let dir = folder();
    start(dir.path()).await.stop().await;
    fs::write(pid_file(dir.path()), format!("{}\n", std::process::id())).unwrap();

    start(dir.path()).await.stop().await;
}

#[tokio::test]
async fn an_initialisation_cut_short_is_begun_anew() {
    let dir = folder();
    let unfinished = dir.path().join("data/cluster.unfinished");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(dir.path().join("data/lock"), "").unwrap();
    fs::write(unfinished.join("PG_VERSION"), "half").unwrap();

    start(dir.path()).await.stop().await;
    assert!(!unfinished.exists());
}

#[tokio::test]
async fn a_cluster_of_another_major_version_is_refused_and_untouched() {
    let dir = folder();
    let cluster = dir.path().join("data/cluster");
    fs::create_dir_all(&cluster).unwrap();
    fs::write(cluster.join("PG_VERSION"), "12\n").unwrap();

    let refused = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert!(
        matches!(&refused, EmbeddedError::MajorMismatch { written_by, .. } if written_by == "12")
    );
    assert!(refused.to_string().contains("pg_dumpall"), "{refused}");
    assert_eq!(fs::read_dir(&cluster).unwrap().count(), 1);
}

#[tokio::test]
async fn a_cluster_without_its_password_is_refused() {
    let dir = folder();
    start(dir.path()).await.stop().await;
    fs::remove_file(dir.path().join("data/password")).unwrap();

    let refused = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert!(matches!(refused, EmbeddedError::PasswordLost(_)), "{refused}");
}

#[tokio::test]
async fn a_folder_in_other_use_is_refused_and_untouched() {
    let dir = folder();
    let data_dir = dir.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    fs::set_permissions(&data_dir, Permissions::from_mode(0o755)).unwrap();
    fs::write(data_dir.join("thesis.txt"), "").unwrap();

    let refused = Embedded::start(settings(dir.path())).await.unwrap_err();

    assert!(matches!(refused, EmbeddedError::NotOurs(_)), "{refused}");
    assert_eq!(mode(&data_dir), 0o755);
    assert_eq!(fs::read_dir(&data_dir).unwrap().count(), 1);
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_refused() {
    let dir = folder();

    let refused = Embedded::start(settings(&dir.path().join("x".repeat(90)))).await.unwrap_err();

    assert!(matches!(refused, EmbeddedError::UnusablePath { .. }), "{refused}");
}

#[tokio::test]
async fn root_hands_the_server_to_a_user_that_can_reach_it() {
    if !geteuid().is_root() {
        return; // Only root has privileges to drop.
    }
    let dir = folder();
    start(dir.path()).await.stop().await;
    assert_ne!(fs::metadata(dir.path().join("data/cluster")).unwrap().uid(), 0);

    let closed = folder();
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
    let refused = Embedded::start(settings(closed.path())).await.unwrap_err();
    let message = refused.to_string();
    assert!(message.contains(&format!("{} is closed to it", closed.path().display())), "{message}");

    let unknown = EmbeddedSettings { run_as: Some("no-such-user".into()), ..settings(dir.path()) };
    let refused = Embedded::start(unknown).await.unwrap_err();
    assert!(matches!(refused, EmbeddedError::UnknownUser(_)), "{refused}");
}

/// Not a test: the service that another test kills. Started by [`spawn_service`].
#[tokio::test]
#[ignore = "runs in a process of its own, for another test to kill"]
async fn a_service_that_waits_to_be_killed() {
    let dir = PathBuf::from(std::env::var(HELPER_DATA_DIR).unwrap());
    let server = start(&dir).await;
    execute(server.url(), "create table kept (word text)").await;
    execute(server.url(), "insert into kept values ('here')").await;
    #[allow(clippy::print_stdout, reason = "it is how the parent is told")]
    {
        println!("\nready");
    }
    std::future::pending::<()>().await;
}

/// A service in another process, its server ready.
fn spawn_service(dir: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_service_that_waits_to_be_killed", "--ignored", "--nocapture"])
        .env(HELPER_DATA_DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "the service ended early");
    child
}

/// A folder that the server's user can reach also when the test runs as root.
fn folder() -> TempDir {
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

async fn word(url: &str, sql: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let word = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    word
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

/// A bound for what should take a moment: a test that waits for ever tells nothing.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("in time")
}
