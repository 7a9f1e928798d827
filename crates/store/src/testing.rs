//! Databases for tests, copied from one migrated template.

use mc_postgres::context_key::ContextKey;
use mc_postgres::db_roles::{self, DbRoles};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::audit::Chains;
use crate::{Result, Store};

/// Returns audit chains with new keys.
pub fn chains() -> Chains {
    let encryptor = mc_crypto::Encryptor::new(mc_crypto::EncryptionKey::generate(), Vec::new());
    Chains::new(mc_crypto::AuditMacKeys::derive(&encryptor), std::collections::HashMap::new())
}

const TEMPLATE: &str = "memory_copilot_test_template";
/// The login roles of the test server, common to all its databases.
const LOGINS: [(&str, &str); 2] =
    [("test_service", "memory_copilot_service"), ("test_worker", "memory_copilot_worker")];

/// Creates a migrated, empty database `name` on the server at `url`. Returns its URLs for the
/// superuser and for the service's roles. The first call on a server builds the template.
pub async fn create_database(url: &str, name: &str) -> Result<(String, DbRoles)> {
    let mut admin = PgConnection::connect(url).await?;
    // One at a time: PostgreSQL can't copy a template that another session is copying.
    sqlx::query("select pg_advisory_lock(20261120)").execute(&mut admin).await?;
    let exists = sqlx::query("select 1 from pg_database where datname = $1")
        .bind(TEMPLATE)
        .fetch_optional(&mut admin)
        .await?;
    if exists.is_none() {
        let building = format!("{TEMPLATE}_building");
        run(&mut admin, &format!("drop database if exists {building}")).await?;
        run(&mut admin, &format!("create database {building}")).await?;
        let building_url = with_database(url, &building)?;
        db_roles::prepare(&building_url).await?;
        for (role, group) in LOGINS {
            run(&mut admin, &format!("create role {role} login password '{role}'")).await?;
            run(&mut admin, &format!("grant {group} to {role}")).await?;
        }
        let (service, _) = LOGINS[0];
        let key = ContextKey::of_login(&logged_in(&building_url, service)?)?;
        let mut owner = PgConnection::connect(&building_url).await?;
        key.store(&mut owner, service).await?;
        // PostgreSQL can't rename a database in use.
        owner.close().await?;
        run(&mut admin, &format!("alter database {building} rename to {TEMPLATE}")).await?;
    }
    run(&mut admin, &format!("create database {name} template {TEMPLATE}")).await?;
    admin.close().await?;
    let url = with_database(url, name)?;
    let [service, worker] = LOGINS.map(|(role, _)| logged_in(&url, role));
    let logins = DbRoles { service: service?, worker: worker? };
    Ok((url, logins))
}

/// Returns the URL with a test role in place of the superuser.
fn logged_in(url: &str, role: &str) -> Result<String> {
    let mut url = url::Url::parse(url).map_err(|_| mc_postgres::Error::BadUrl)?;
    let changed = url.set_username(role).and_then(|()| url.set_password(Some(role)));
    changed.map_err(|()| mc_postgres::Error::BadUrl)?;
    Ok(url.into())
}

/// Drops the database and ends its sessions.
pub async fn drop_database(url: &str, name: &str) -> Result<()> {
    let mut admin = PgConnection::connect(url).await?;
    run(&mut admin, &format!("drop database if exists {name} with (force)")).await?;
    Ok(admin.close().await?)
}

/// Runs a statement on the database at `url`, for states that would take days to arise.
pub async fn execute(url: &str, sql: &str) -> Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    run(&mut connection, sql).await?;
    Ok(connection.close().await?)
}

/// Runs a statement as the store's role and principal; returns the number of written rows.
pub async fn write(store: &Store, sql: &str) -> Result<u64> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(AssertSqlSafe(sql)).execute(&mut *tx.0).await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

/// Returns the text result of a query as the store's role and principal.
pub async fn text(store: &Store, sql: &str) -> Result<String> {
    Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *store.read().await?).await?)
}

/// Runs statements in one writing transaction as the store's role and principal, and rolls it back;
/// returns the text result of the last.
pub async fn last_text(store: &Store, statements: &[&str]) -> Result<String> {
    let mut tx = store.begin().await?;
    let (last, before) = statements.split_last().expect("a statement");
    for sql in before {
        sqlx::query(AssertSqlSafe(*sql)).execute(&mut *tx.0).await?;
    }
    Ok(sqlx::query_scalar(AssertSqlSafe(*last)).fetch_one(&mut *tx.0).await?)
}

/// Returns the names of the foreign keys between tables with rows of projects through which a row
/// can refer to another project, comma-separated: those that do not compare `project_id`.
pub async fn keys_across_projects(store: &Store) -> Result<String> {
    let sql = "select coalesce(string_agg(k.conname, ',' order by k.conname), '')
               from pg_constraint k
               where k.contype = 'f'
                   and exists (select from pg_attribute a
                               where a.attrelid = k.conrelid and a.attname = 'project_id')
                   and exists (select from pg_attribute a
                               where a.attrelid = k.confrelid and a.attname = 'project_id')
                   and not exists (
                       select from unnest(k.conkey, k.confkey) columns (own, referenced)
                       join pg_attribute o on o.attrelid = k.conrelid and o.attnum = columns.own
                       join pg_attribute r on r.attrelid = k.confrelid
                           and r.attnum = columns.referenced
                       where o.attname = 'project_id' and r.attname = 'project_id')";
    text(store, sql).await
}

/// Returns the names of the tables with a project whose rows could lose it, comma-separated: no
/// foreign key that can't be null deletes them with the project or with a parent in it.
pub async fn tables_that_outlive_projects(store: &Store) -> Result<String> {
    let sql = "select coalesce(string_agg(t.relname, ',' order by t.relname), '')
               from pg_class t
               join pg_attribute p on p.attrelid = t.oid and p.attname = 'project_id'
               where t.relkind = 'r' and t.relnamespace = 'public'::regnamespace
                   and not exists (
                       select from pg_constraint k
                       where k.contype = 'f' and k.conrelid = t.oid and k.confdeltype = 'c'
                           and p.attnum = any (k.conkey)
                           and (select bool_and(a.attnotnull) from pg_attribute a
                                where a.attrelid = t.oid and a.attnum = any (k.conkey)))";
    text(store, sql).await
}

/// A session with an open transaction, which ends on drop.
#[derive(Debug)]
pub struct Held {
    session: PgConnection,
}

impl Held {
    /// Runs another statement and commits.
    pub async fn commit_after(mut self, sql: &str) -> Result<()> {
        run(&mut self.session, sql).await?;
        run(&mut self.session, "commit").await
    }
}

/// Runs a statement in a transaction that stays open, to hold a lock.
pub async fn hold(url: &str, sql: &str) -> Result<Held> {
    let mut session = PgConnection::connect(url).await?;
    run(&mut session, "begin").await?;
    run(&mut session, sql).await?;
    Ok(Held { session })
}

/// Returns the number of sessions of the store's database that wait for a lock. PostgreSQL shows
/// only those of the store's own role.
pub async fn waiting_for_a_lock(store: &Store) -> Result<i64> {
    let sql = "select count(*) from pg_stat_activity
               where datname = current_database() and wait_event_type = 'Lock'";
    Ok(sqlx::query_scalar(sql).fetch_one(&mut *store.read().await?).await?)
}

/// Waits until a session of the store's database and role waits for a lock.
pub async fn until_a_session_waits(store: &Store) -> Result<()> {
    while waiting_for_a_lock(store).await? == 0 {
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn run(admin: &mut PgConnection, sql: &str) -> Result<()> {
    sqlx::query(AssertSqlSafe(sql)).execute(admin).await?;
    Ok(())
}

fn with_database(url: &str, name: &str) -> Result<String> {
    let mut url = url::Url::parse(url).map_err(|_| mc_postgres::Error::BadUrl)?;
    url.set_path(name);
    Ok(url.into())
}
