//! Schema migrations, and the roles that the service logs in as. The role of the configured URL
//! owns the schema and migrates it. Request handling and background work log in as two roles that
//! own nothing, each a member of its group in `migrations/0001_roles.sql`.

use apalis_postgres::PostgresStorage;
use hmac::{Hmac, Mac};
use postgres_protocol::password::scram_sha_256;
use sha2::Sha256;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use url::Url;

use crate::context_key::ContextKey;
use crate::{Error, MIGRATIONS, backup, server_version};

/// Group whose members see only rows of the project that their transaction entered.
const SERVICE_GROUP: &str = "memory_copilot_service";
/// Group whose members see every row.
const WORKER_GROUP: &str = "memory_copilot_worker";
/// Migration that creates both groups.
const GROUPS_MIGRATION: i64 = 1;
/// Arbitrary key of the advisory lock under which a process creates roles.
const ROLES_LOCK: i64 = 0x006d_635f_6c6f_6769;

/// Connection URLs of both roles. They hold passwords, so don't log them.
#[derive(Clone)]
pub struct DbRoles {
    /// URL for request handling.
    pub service: String,
    /// URL for background work.
    pub worker: String,
}

/// Checks the server at `owner` (a URL of the role that owns the schema), migrates the schema, and
/// creates the two roles if they are missing. Several processes may call it at once.
pub async fn prepare(owner: &str) -> Result<DbRoles, Error> {
    split_password(owner)?;
    let mut connection = server_version::connect(owner).await?;
    backup::reject_incomplete_restore(&mut connection).await?;
    let roles = migrate(owner, &mut connection).await?;
    connection.close().await?;
    Ok(roles)
}

/// Does the same as [`prepare`] over a connection of the owner, also during a restore.
pub(crate) async fn migrate(owner: &str, connection: &mut PgConnection) -> Result<DbRoles, Error> {
    let (mut url, password) = split_password(owner)?;
    server_version::check(connection).await?;
    apply_migrations(connection).await?;
    prepare_queue(connection).await?;
    let service = ensure_role(connection, &mut url, &password, SERVICE_GROUP).await?;
    ContextKey::of_login(&service)?.store(connection, url.username()).await?;
    ContextKey::ensure_setting_key(connection).await?;
    let worker = ensure_role(connection, &mut url, &password, WORKER_GROUP).await?;
    Ok(DbRoles { service, worker })
}

/// Parses the URL, and returns its password, from which those of the roles are derived.
fn split_password(owner: &str) -> Result<(Url, String), Error> {
    let url = Url::parse(owner).map_err(|_| Error::BadUrl)?;
    let password = url.password().unwrap_or_default().to_owned();
    if password.is_empty() {
        return Err(Error::UnsupportedServer(
            "the database URL has no password, from which the service derives the passwords of its \
             roles; give the role a password and put it into the URL, percent-encoded"
                .into(),
        ));
    }
    Ok((url, password))
}

/// Creates the two groups if the server lacks them, as the migration does: a dump that is restored
/// refers to them.
pub(crate) async fn create_groups(owner: &mut PgConnection) -> Result<(), Error> {
    for group in [SERVICE_GROUP, WORKER_GROUP] {
        let statement = format!(
            "do $$ begin
                 begin
                     create role {group} nologin nosuperuser nobypassrls nocreatedb nocreaterole;
                 exception
                     -- Another database of this server has it already, or is just making it.
                     when duplicate_object or unique_violation then null;
                 end;
                 if not (select rolsuper from pg_roles where rolname = current_user) then
                     grant {group} to current_user with inherit false, set true;
                 end if;
             end $$"
        );
        run(owner, &statement).await?;
    }
    Ok(())
}

/// Applies the migrations. Some replace functions that the worker group owns, which needs its
/// rights: an owner that is no superuser inherits them meanwhile.
async fn apply_migrations(owner: &mut PgConnection) -> Result<(), Error> {
    MIGRATIONS.run_to(GROUPS_MIGRATION, &mut *owner).await.map_err(migration_error)?;
    let is_superuser: bool =
        sqlx::query_scalar("select rolsuper from pg_roles where rolname = current_user")
            .fetch_one(&mut *owner)
            .await?;
    if is_superuser {
        return MIGRATIONS.run(owner).await.map_err(migration_error);
    }
    let grant_inherit =
        |value| format!("grant {WORKER_GROUP} to current_user with inherit {value}");
    run(owner, &grant_inherit("true")).await?;
    let migrated = MIGRATIONS.run(&mut *owner).await;
    run(owner, &grant_inherit("false")).await?;
    migrated.map_err(migration_error)
}

/// Maps a changed or unknown migration to [`Error::UnsupportedServer`]: before the first release,
/// migrations may still change.
fn migration_error(error: MigrateError) -> Error {
    match error {
        MigrateError::VersionMismatch(migration) | MigrateError::VersionMissing(migration) => {
            Error::UnsupportedServer(format!(
                "another build created the schema (its migration {migration} differs); export the \
                 projects with that build (memory-copilot export), set an empty database or \
                 another data_dir, and import them there"
            ))
        }
        error => error.into(),
    }
}

/// Migrates the queue's schema, and grants the worker group its use.
async fn prepare_queue(owner: &mut PgConnection) -> Result<(), Error> {
    PostgresStorage::migrations().run(&mut *owner).await?;
    let mut tx = owner.begin().await?;
    // Nodes that start together take turns: PostgreSQL fails concurrent grants on one object.
    sqlx::query("select pg_advisory_xact_lock($1)").bind(ROLES_LOCK).execute(&mut *tx).await?;
    for statement in [
        "grant usage on schema apalis to memory_copilot_worker",
        "grant select, insert, update, delete on all tables in schema apalis
         to memory_copilot_worker",
        "grant execute on all functions in schema apalis to memory_copilot_worker",
        // Workers search for these jobs every few seconds among all completed ones.
        "create index if not exists jobs_at_work on apalis.jobs (lock_by)
         where status in ('Queued', 'Running')",
        "create index if not exists jobs_done on apalis.jobs (done_at) where status = 'Done'",
        "create index if not exists jobs_dead on apalis.jobs (id) where status = 'Killed'",
    ] {
        sqlx::query(statement).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Creates the database's own member of `group` if it can't log in yet, and returns its URL.
async fn ensure_role(
    owner: &mut PgConnection,
    url: &mut Url,
    secret: &str,
    group: &str,
) -> Result<String, Error> {
    let oid: i64 = sqlx::query_scalar(
        "select oid::bigint from pg_database where datname = current_database()",
    )
    .fetch_one(&mut *owner)
    .await?;
    let role = format!("{group}_{oid}");
    let password = derive_password(secret, &role);
    url.set_username(&role).map_err(|()| Error::BadUrl)?;
    url.set_password(Some(&password)).map_err(|()| Error::BadUrl)?;
    if !can_log_in(url.as_str()).await? {
        create_or_alter_role(owner, &role, group, &password).await?;
    }
    Ok(url.to_string())
}

/// Returns whether the login works. PostgreSQL rejects a missing role like a wrong password.
async fn can_log_in(url: &str) -> Result<bool, Error> {
    match PgConnection::connect(url).await {
        Ok(connection) => {
            connection.close().await?;
            Ok(true)
        }
        // Class 28: invalid authorization.
        Err(sqlx::Error::Database(error))
            if error.code().is_some_and(|code| code.starts_with("28")) =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates the role, or changes its password if it exists.
async fn create_or_alter_role(
    owner: &mut PgConnection,
    role: &str,
    group: &str,
    password: &str,
) -> Result<(), Error> {
    let mut tx = owner.begin().await?;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(ROLES_LOCK).execute(&mut *tx).await?;
    let exists: bool =
        sqlx::query_scalar("select exists (select from pg_roles where rolname = $1)")
            .bind(role)
            .fetch_one(&mut *tx)
            .await?;
    // Names can't be bound; these consist of letters, digits and underscores. The statement has the
    // SCRAM verifier instead of the password, so that no statement log has the password.
    let verifier = scram_sha_256(password.as_bytes());
    let verb = if exists { "alter" } else { "create" };
    run(&mut tx, &format!("{verb} role {role} login inherit password '{verifier}'")).await?;
    run(&mut tx, &format!("grant {group} to {role}")).await?;
    tx.commit().await?;
    Ok(())
}

async fn run(connection: &mut PgConnection, statement: &str) -> Result<(), Error> {
    match sqlx::query(AssertSqlSafe(statement)).execute(connection).await {
        Ok(_) => Ok(()),
        // 42501: insufficient privilege.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42501") => {
            Err(Error::UnsupportedServer(
                "the role of the database URL may not create the roles that the service logs in \
                 as; let an administrator run: alter role <that role> createrole"
                    .into(),
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Derives a role's password from the owner's, so that all nodes have the same one.
fn derive_password(secret: &str, role: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length will do");
    mac.update(b"memory-copilot login ");
    mac.update(role.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

impl std::fmt::Debug for DbRoles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DbRoles(..)")
    }
}
