//! Backups of a configured server, and databases that can't be restored into.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mc_crypto::{EncryptionKey, Encryptor};
use mc_postgres::backup::{self, Archive, BackupError, Manifest, Progress, Source, Step, Target};
use mc_postgres::db_roles;
use mc_store::Store;
use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// An empty database of a role that may make roles, and nothing more, as people are told to make one.
struct Empty {
    superuser: String,
    owner: String,
}

impl Empty {
    /// It goes with the throw-away server.
    async fn create() -> Self {
        // The groups are there already, and somebody else made them.
        drop(TestDatabase::create().await);
        let server = std::env::var("MC_TEST_DATABASE_URL").unwrap();
        let name = format!("empty_{}", uuid::Uuid::now_v7().simple());
        let role = format!("owner_of_{name}");
        for statement in [
            format!("create role {role} login createrole password 'p@ss+word'"),
            format!(
                "grant memory_copilot_service, memory_copilot_worker to {role} with admin true, inherit false, set true"
            ),
            format!("create database {name} owner {role}"),
        ] {
            execute(&server, &statement).await.unwrap();
        }
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&name);
        execute(url.as_str(), "create extension vector").await.unwrap();
        let superuser = url.to_string();
        url.set_username(&role).unwrap();
        url.set_password(Some("p%40ss+word")).unwrap();
        Self { superuser, owner: url.into() }
    }

    async fn tables(&self) -> String {
        let store = Store::connect(&self.superuser, 1, mc_store::testing::chains()).await.unwrap();
        let sql = "select coalesce(string_agg(c.relname, ' '), '') from pg_class c
                   where c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
                       and c.relkind in ('r', 'S', 'v') and c.relnamespace::regnamespace::text !~ '^pg_'";
        let tables = text(&store, sql).await.unwrap();
        store.close().await;
        tables
    }
}

fn installations() -> Vec<PathBuf> {
    let var = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = var("MEMORY_COPILOT_CACHE").unwrap_or_else(|| {
        var("XDG_CACHE_HOME")
            .unwrap_or_else(|| var("HOME").unwrap().join(".cache"))
            .join("memory-copilot")
    });
    vec![cache.join("postgresql")]
}

fn quiet() -> Progress {
    Arc::new(|_, _| {})
}

async fn take(url: &str, sealer: &Encryptor, path: &Path) -> Result<Manifest, BackupError> {
    let install_dirs = &installations();
    let source = Source { url, install_dirs, sealer, heads: HashMap::new() };
    let file = File::create(path).unwrap();
    backup::take(&source, (file, path), quiet(), &CancellationToken::new()).await
}

async fn restore(
    path: &Path,
    url: &str,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<db_roles::DbRoles, BackupError> {
    refill(&Archive::open(path, &quiet())?, url, progress, cancel).await
}

async fn refill(
    archive: &Archive,
    url: &str,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<db_roles::DbRoles, BackupError> {
    let install_dirs = &installations();
    let target = Target { url, install_dirs, is_key_lost: false };
    backup::restore(archive, &target, progress, cancel).await
}

fn sealer() -> Encryptor {
    Encryptor::new(EncryptionKey::generate(), Vec::new())
}

/// A backup of a database with some rows.
async fn backed_up(folder: &TempDir) -> (TestDatabase, PathBuf, Manifest) {
    let database = TestDatabase::create().await;
    for key in ["shop", "depot"] {
        database.project(key).await;
    }
    // What was noted was signed with a key of the test's own.
    execute(database.url(), "truncate audit_events").await.unwrap();
    let path = folder.path().join("backup.tar");
    let manifest = take(database.url(), &sealer(), &path).await.unwrap();
    (database, path, manifest)
}

fn rows(manifest: &Manifest, table: &str) -> i64 {
    manifest.tables.iter().find(|each| each.name == table).unwrap().rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_owner_who_is_no_superuser_restores_and_backs_up_all_of_it() {
    let folder = TempDir::new().unwrap();
    let (_source, path, manifest) = backed_up(&folder).await;
    assert_eq!(rows(&manifest, "public.projects"), 2);
    let target = Empty::create().await;
    let logins = restore(&path, &target.owner, quiet(), &CancellationToken::new()).await.unwrap();

    let again = db_roles::prepare(&target.owner).await.unwrap();
    assert_eq!(again.worker, logins.worker);
    let worker = Store::connect(&logins.worker, 1, mc_store::testing::chains()).await.unwrap();
    let service = Store::connect(&logins.service, 1, mc_store::testing::chains()).await.unwrap();
    let count = "select count(*)::text from projects";
    assert_eq!(text(&worker, count).await.unwrap(), "2");
    assert_eq!(text(&service, count).await.unwrap(), "0", "nobody has entered a project");
    let names = "select string_agg(p.key, ' ' order by p.key)
                 from mc.list_projects('00000000-0000-7000-8000-000000000001') p";
    let owners = "select string_agg(distinct pg_get_userbyid(proowner), ' ') from pg_proc
                  where proname in ('set_project_context', 'list_projects', 'after_passages_insert')";
    assert_eq!(text(&worker, owners).await.unwrap(), "memory_copilot_worker");
    assert!(text(&worker, names).await.is_ok_and(|names| names == "depot shop"));
    tokio::join!(worker.close(), service.close());

    let path = folder.path().join("second.tar");
    let second = take(&target.owner, &sealer(), &path).await.unwrap();
    assert_eq!(second.tables, manifest.tables, "policies hide nothing from the owner");
    assert_eq!(second.run_as_worker, manifest.run_as_worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_policies_hide_rows_from_makes_no_backup() {
    let folder = TempDir::new().unwrap();
    let (source, _, _) = backed_up(&folder).await;
    let path = folder.path().join("hidden.tar");
    let said = take(&source.logins().service, &sealer(), &path).await.unwrap_err().to_string();
    assert!(said.contains("does not see every row of audit_"), "{said}");
    assert!(said.contains("connect as postgres") && said.contains("bypassrls"), "{said}");
    assert!(Archive::open(&path, &quiet()).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_another_key_makes_no_backup() {
    let folder = TempDir::new().unwrap();
    let database = TestDatabase::create().await;
    let event = mc_store::audit::NewEvent::new(mc_domain::AuditAction::ProjectCreated, "shop");
    let chain = mc_store::audit::Chain::Service;
    mc_store::audit::record_in_own_tx(database.store(), chain, None, &[event]).await.unwrap();
    let path = folder.path().join("backup.tar");
    let refused = take(database.url(), &sealer(), &path).await.unwrap_err();
    assert!(matches!(refused, BackupError::OtherKey), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_holds_something_is_not_restored_into() {
    let folder = TempDir::new().unwrap();
    let (source, path, _) = backed_up(&folder).await;
    let said = restore(&path, source.url(), quiet(), &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(said, BackupError::Occupied(_)), "{said}");
    let target = Empty::create().await;
    execute(&target.owner, "create table minutes (of_a_meeting text)").await.unwrap();
    let said = restore(&path, &target.owner, quiet(), &CancellationToken::new()).await.unwrap_err();
    assert!(said.to_string().contains("public.minutes"), "{said}");
    assert_eq!(target.tables().await, "minutes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_that_is_interrupted_leaves_the_database_empty() {
    let folder = TempDir::new().unwrap();
    let (_source, path, _) = backed_up(&folder).await;
    let target = Empty::create().await;
    for at in [Step::Restoring, Step::Comparing] {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let progress: Progress = Arc::new(move |step, _| {
            if step == at {
                stop.cancel();
            }
        });
        let ended = restore(&path, &target.owner, progress, &cancel).await.unwrap_err();
        assert!(matches!(ended, BackupError::Interrupted), "{at:?}: {ended}");
        assert_eq!(target.tables().await, "", "{at:?}");
    }
    restore(&path, &target.owner, quiet(), &CancellationToken::new()).await.unwrap();
}

/// As `kill -9` leaves it: what was restored is there, and so is the sign that nobody has compared it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_whose_restore_did_not_end_is_not_served_and_restored_anew() {
    let folder = TempDir::new().unwrap();
    let (_source, path, _) = backed_up(&folder).await;
    let target = Empty::create().await;
    restore(&path, &target.owner, quiet(), &CancellationToken::new()).await.unwrap();
    for statement in [
        "create schema memory_copilot_restoring",
        "create table memory_copilot_restoring.found as
         select nspname from pg_namespace where nspname not in ('mc', 'apalis')",
        "delete from projects",
    ] {
        execute(&target.owner, statement).await.unwrap();
    }
    let said = db_roles::prepare(&target.owner).await.err().unwrap().to_string();
    assert!(said.contains("a restore into this database has not ended"), "{said}");

    let logins = restore(&path, &target.owner, quiet(), &CancellationToken::new()).await.unwrap();
    let worker = Store::connect(&logins.worker, 1, mc_store::testing::chains()).await.unwrap();
    assert_eq!(text(&worker, "select count(*)::text from projects").await.unwrap(), "2");
    worker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_changed_on_its_way_is_noticed_and_nothing_is_kept() {
    let folder = TempDir::new().unwrap();
    let (_source, path, _) = backed_up(&folder).await;
    let mut archive = Archive::open(&path, &quiet()).unwrap();
    let table = archive.manifest.tables.iter_mut().find(|each| each.name == "public.projects");
    table.unwrap().rows = 3;
    let target = Empty::create().await;
    let cancel = CancellationToken::new();
    let said = refill(&archive, &target.owner, quiet(), &cancel).await.err().unwrap().to_string();
    assert!(said.contains("public.projects differs") && said.contains("2 rows of 3"), "{said}");
    assert_eq!(target.tables().await, "");
}
