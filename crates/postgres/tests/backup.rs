//! Backup and restore of a configured server, and targets that are rejected.
#![allow(clippy::unwrap_used, reason = "a test that can't continue should stop")]

#[path = "../../../tests/cache.rs"]
mod cache;

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

use cache::cache;

/// An empty database whose owner may create roles and nothing else, as docs/backup.md requires.
struct EmptyDatabase {
    superuser: String,
    owner: String,
}

impl EmptyDatabase {
    /// Creates the database, which is deleted with the temporary server.
    async fn create() -> Self {
        // Another role has created the groups already.
        drop(TestDatabase::create().await);
        let server = std::env::var("MC_TEST_DATABASE_URL").unwrap();
        let name = format!("empty_{}", uuid::Uuid::now_v7().simple());
        let role = format!("owner_of_{name}");
        for statement in [
            format!("create role {role} login createrole password 'p@ss+word'"),
            format!(
                "grant memory_copilot_service, memory_copilot_worker to {role} \
                 with admin true, inherit false, set true"
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
                   where c.relnamespace not in
                           ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
                       and c.relkind in ('r', 'S', 'v')
                       and c.relnamespace::regnamespace::text !~ '^pg_'";
        let tables = text(&store, sql).await.unwrap();
        store.close().await;
        tables
    }
}

fn installations() -> Vec<PathBuf> {
    vec![cache().join("postgresql")]
}

fn no_progress() -> Progress {
    Arc::new(|_, _| {})
}

async fn create(url: &str, encryptor: &Encryptor, path: &Path) -> Result<Manifest, BackupError> {
    let install_dirs = &installations();
    let source = Source { url, install_dirs, encryptor, heads: HashMap::new() };
    let file = File::create(path).unwrap();
    backup::create(&source, (file, path), no_progress(), &CancellationToken::new()).await
}

async fn restore(
    path: &Path,
    url: &str,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<db_roles::DbRoles, BackupError> {
    restore_archive(&Archive::open(path, &no_progress())?, url, progress, cancel).await
}

async fn restore_archive(
    archive: &Archive,
    url: &str,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<db_roles::DbRoles, BackupError> {
    let install_dirs = &installations();
    let target = Target { url, install_dirs, is_key_lost: false };
    backup::restore(archive, &target, progress, cancel).await
}

fn encryptor() -> Encryptor {
    Encryptor::new(EncryptionKey::generate(), Vec::new())
}

/// Creates a database with some rows and its backup.
async fn create_backup(directory: &TempDir) -> (TestDatabase, PathBuf, Manifest) {
    let database = TestDatabase::create().await;
    for key in ["shop", "depot"] {
        database.project(key).await;
    }
    // The test's own key signed the events.
    execute(database.url(), "truncate audit_events").await.unwrap();
    let path = directory.path().join("backup.tar");
    let manifest = create(database.url(), &encryptor(), &path).await.unwrap();
    (database, path, manifest)
}

fn rows(manifest: &Manifest, table: &str) -> i64 {
    manifest.tables.iter().find(|each| each.name == table).unwrap().rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_without_superuser_restores_and_backs_up_every_row() {
    let directory = TempDir::new().unwrap();
    let (_source, path, manifest) = create_backup(&directory).await;
    assert_eq!(rows(&manifest, "public.projects"), 2);
    let target = EmptyDatabase::create().await;
    let roles =
        restore(&path, &target.owner, no_progress(), &CancellationToken::new()).await.unwrap();

    let prepared_again = db_roles::prepare(&target.owner).await.unwrap();
    assert_eq!(prepared_again.worker, roles.worker);
    let worker = Store::connect(&roles.worker, 1, mc_store::testing::chains()).await.unwrap();
    let service = Store::connect(&roles.service, 1, mc_store::testing::chains()).await.unwrap();
    let count = "select count(*)::text from projects";
    assert_eq!(text(&worker, count).await.unwrap(), "2");
    assert_eq!(text(&service, count).await.unwrap(), "0", "no project is entered");
    let shop = text(&worker, "select id::text from projects where key = 'shop'").await.unwrap();
    let shop = service.for_project(mc_domain::UserId::LOCAL, shop.parse().unwrap());
    assert_eq!(text(&shop, count).await.unwrap(), "1", "its codes are verified");
    let names = "select string_agg(p.key, ' ' order by p.key)
                 from mc.list_projects('00000000-0000-7000-8000-000000000001') p";
    let owners = "select string_agg(distinct pg_get_userbyid(proowner), ' ') from pg_proc
                  where proname in ('set_project_context', 'list_projects',
                                    'after_passages_insert')";
    assert_eq!(text(&worker, owners).await.unwrap(), "memory_copilot_worker");
    assert!(text(&worker, names).await.is_ok_and(|names| names == "depot shop"));
    tokio::join!(worker.close(), service.close());

    let path = directory.path().join("second.tar");
    let second = create(&target.owner, &encryptor(), &path).await.unwrap();
    assert_eq!(second.tables, manifest.tables, "policies hide no row from the owner");
    assert_eq!(second.run_as_worker, manifest.run_as_worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_is_rejected_for_a_role_with_hidden_rows() {
    let directory = TempDir::new().unwrap();
    let (source, _, _) = create_backup(&directory).await;
    let path = directory.path().join("hidden.tar");
    let message =
        create(&source.logins().service, &encryptor(), &path).await.unwrap_err().to_string();
    assert!(message.contains("does not see every row of audit_"), "{message}");
    assert!(message.contains("connect as postgres") && message.contains("bypassrls"), "{message}");
    assert!(Archive::open(&path, &no_progress()).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_is_rejected_with_another_encryption_key() {
    let directory = TempDir::new().unwrap();
    let database = TestDatabase::create().await;
    let event = mc_store::audit::NewEvent::new(mc_domain::AuditAction::ProjectCreated, "shop");
    let chain = mc_store::audit::Chain::Service;
    mc_store::audit::record_in_own_tx(database.store(), chain, None, &[event]).await.unwrap();
    let path = directory.path().join("backup.tar");
    let error = create(database.url(), &encryptor(), &path).await.unwrap_err();
    assert!(matches!(error, BackupError::OtherKey), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restore_is_rejected_for_a_database_with_objects() {
    let directory = TempDir::new().unwrap();
    let (source, path, _) = create_backup(&directory).await;
    let error =
        restore(&path, source.url(), no_progress(), &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, BackupError::Occupied(_)), "{error}");
    let target = EmptyDatabase::create().await;
    execute(&target.owner, "create table minutes (content text)").await.unwrap();
    let message =
        restore(&path, &target.owner, no_progress(), &CancellationToken::new()).await.unwrap_err();
    assert!(message.to_string().contains("public.minutes"), "{message}");
    assert_eq!(target.tables().await, "minutes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_restore_leaves_the_database_empty() {
    let directory = TempDir::new().unwrap();
    let (_source, path, _) = create_backup(&directory).await;
    let target = EmptyDatabase::create().await;
    for at in [Step::Restoring, Step::Comparing] {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let progress: Progress = Arc::new(move |step, _| {
            if step == at {
                stop.cancel();
            }
        });
        let error = restore(&path, &target.owner, progress, &cancel).await.unwrap_err();
        assert!(matches!(error, BackupError::Interrupted), "{at:?}: {error}");
        assert_eq!(target.tables().await, "", "{at:?}");
    }
    restore(&path, &target.owner, no_progress(), &CancellationToken::new()).await.unwrap();
}

/// A `kill -9` leaves restored rows and the mark of an incomplete restore.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_rejects_an_incomplete_restore_that_can_be_repeated() {
    let directory = TempDir::new().unwrap();
    let (_source, path, _) = create_backup(&directory).await;
    let target = EmptyDatabase::create().await;
    restore(&path, &target.owner, no_progress(), &CancellationToken::new()).await.unwrap();
    for statement in [
        "create schema memory_copilot_restoring",
        "create table memory_copilot_restoring.found as
         select nspname from pg_namespace where nspname not in ('mc', 'apalis')",
        "delete from projects",
    ] {
        execute(&target.owner, statement).await.unwrap();
    }
    let message = db_roles::prepare(&target.owner).await.err().unwrap().to_string();
    assert!(message.contains("a restore into this database is not complete"), "{message}");

    let roles =
        restore(&path, &target.owner, no_progress(), &CancellationToken::new()).await.unwrap();
    let worker = Store::connect(&roles.worker, 1, mc_store::testing::chains()).await.unwrap();
    assert_eq!(text(&worker, "select count(*)::text from projects").await.unwrap(), "2");
    worker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restore_detects_a_changed_table_and_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let (_source, path, _) = create_backup(&directory).await;
    let mut archive = Archive::open(&path, &no_progress()).unwrap();
    let table = archive.manifest.tables.iter_mut().find(|each| each.name == "public.projects");
    table.unwrap().rows = 3;
    let target = EmptyDatabase::create().await;
    let cancel = CancellationToken::new();
    let message = restore_archive(&archive, &target.owner, no_progress(), &cancel)
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(
        message.contains("public.projects differs") && message.contains("2 rows instead of 3"),
        "{message}"
    );
    assert_eq!(target.tables().await, "");
}
