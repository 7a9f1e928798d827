//! The roles that the service logs in as. The role of the configured URL owns the schema and is used to
//! bring it up to date; what serves requests and what works in the background log in as two others that
//! own nothing, each a member of its group in `migrations/0001_roles.sql`.

use apalis_postgres::PostgresStorage;
use hmac::{Hmac, Mac};
use postgres_protocol::password::scram_sha_256;
use sha2::Sha256;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use url::Url;

use crate::{Error, MIGRATIONS, backup, server_version};

/// The group whose members see only what their transaction has entered.
const SERVICE: &str = "memory_copilot_service";
/// The group whose members see every row.
const WORKER: &str = "memory_copilot_worker";
/// The migration that makes both.
const ROLES_MADE: i64 = 1;
/// An arbitrary key: who makes roles of a database does so alone.
const LOCK: i64 = 0x006d_635f_6c6f_6769;

/// Where to connect to. Both hold passwords: not for logs.
#[derive(Clone)]
pub struct DbRoles {
    /// To serve requests with.
    pub service: String,
    /// For work in the background.
    pub worker: String,
}

/// Checks the server at `owner` (a URL of the role that owns the schema), brings the schema up to date,
/// and makes sure of the two roles. Safe to call from several processes at once.
pub async fn prepare(owner: &str) -> Result<DbRoles, Error> {
    with_password(owner)?;
    let mut connection = server_version::connect(owner).await?;
    backup::refuse_unfinished(&mut connection).await?;
    let logins = migrate(owner, &mut connection).await?;
    connection.close().await?;
    Ok(logins)
}

/// [`prepare`] over a connection of the role, for a database that a restore has taken for itself, too.
pub(crate) async fn migrate(owner: &str, connection: &mut PgConnection) -> Result<DbRoles, Error> {
    let (mut url, password) = with_password(owner)?;
    server_version::check(connection).await?;
    apply_migrations(connection).await?;
    prepare_queue(connection).await?;
    let service = login(connection, &mut url, &password, SERVICE).await?;
    let worker = login(connection, &mut url, &password, WORKER).await?;
    Ok(DbRoles { service, worker })
}

/// The URL in its parts, and the password that others are derived from.
fn with_password(owner: &str) -> Result<(Url, String), Error> {
    let url = Url::parse(owner).map_err(|_| Error::BadUrl)?;
    let password = url.password().unwrap_or_default().to_owned();
    if password.is_empty() {
        return Err(Error::Unsuitable(
            "the database URL has no password; the passwords of the roles that the service logs in as are \
             derived from it, so give the role one and put it into the URL, percent-encoded"
                .into(),
        ));
    }
    Ok((url, password))
}

/// Makes the two groups where the server does not have them, as the migration does, for what is about to be
/// restored and names them.
pub(crate) async fn make_groups(owner: &mut PgConnection) -> Result<(), Error> {
    for group in [SERVICE, WORKER] {
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

/// Brings the schema up to date. Some migrations replace functions that belong to the background's group, which
/// takes its rights: an owner that is no superuser has them meanwhile.
async fn apply_migrations(owner: &mut PgConnection) -> Result<(), Error> {
    MIGRATIONS.run_to(ROLES_MADE, &mut *owner).await.map_err(other_build)?;
    let is_superuser: bool =
        sqlx::query_scalar("select rolsuper from pg_roles where rolname = current_user")
            .fetch_one(&mut *owner)
            .await?;
    if is_superuser {
        return MIGRATIONS.run(owner).await.map_err(other_build);
    }
    let inherit = |does| format!("grant {WORKER} to current_user with inherit {does}");
    run(owner, &inherit("true")).await?;
    let migrated = MIGRATIONS.run(&mut *owner).await;
    run(owner, &inherit("false")).await?;
    migrated.map_err(other_build)
}

/// Until there is a release, its migrations may still change.
fn other_build(error: MigrateError) -> Error {
    match error {
        MigrateError::VersionMismatch(migration) | MigrateError::VersionMissing(migration) => {
            Error::Unsuitable(format!(
                "the schema was made by another build (its migration {migration} differs): save what is in it with \
             that build (memory-copilot export), set an empty database or another data_dir, and import it there"
            ))
        }
        error => error.into(),
    }
}

/// Brings the queue's own schema up to date, and lets those who work in the background use it.
async fn prepare_queue(owner: &mut PgConnection) -> Result<(), Error> {
    PostgresStorage::migrations().run(&mut *owner).await?;
    let mut tx = owner.begin().await?;
    // Of nodes that start together one does so at a time: PostgreSQL refuses two that grant the same at once.
    sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *tx).await?;
    for statement in [
        "grant usage on schema apalis to memory_copilot_worker",
        "grant select, insert, update, delete on all tables in schema apalis to memory_copilot_worker",
        "grant execute on all functions in schema apalis to memory_copilot_worker",
        // What is looked for every few seconds among all that was done.
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

/// Makes sure that the database's own member of `group` exists and can log in; answers its URL.
async fn login(
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
    let password = derived(secret, &role);
    url.set_username(&role).map_err(|()| Error::BadUrl)?;
    url.set_password(Some(&password)).map_err(|()| Error::BadUrl)?;
    if !is_let_in(url.as_str()).await? {
        make(owner, &role, group, &password).await?;
    }
    Ok(url.to_string())
}

/// Whether the login works. A role that is not there yet is refused like one with another password.
async fn is_let_in(url: &str) -> Result<bool, Error> {
    match PgConnection::connect(url).await {
        Ok(connection) => {
            connection.close().await?;
            Ok(true)
        }
        // Class 28: an invalid authorization.
        Err(sqlx::Error::Database(error))
            if error.code().is_some_and(|code| code.starts_with("28")) =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

async fn make(
    owner: &mut PgConnection,
    role: &str,
    group: &str,
    password: &str,
) -> Result<(), Error> {
    let mut tx = owner.begin().await?;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *tx).await?;
    let exists: bool =
        sqlx::query_scalar("select exists (select from pg_roles where rolname = $1)")
            .bind(role)
            .fetch_one(&mut *tx)
            .await?;
    // Names can't be bound; they are ours, of letters and digits. What is sent is not the password but
    // what the server would keep of it, so that no log of statements has it.
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
            Err(Error::Unsuitable(
                "the role of the database URL may not make the roles that the service logs in as; let an \
                 administrator run: alter role <that role> createrole"
                    .into(),
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Every node comes to the same password, and nobody who doesn't know the owner's.
fn derived(secret: &str, role: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length will do");
    mac.update(b"memory-copilot login ");
    mac.update(role.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

impl std::fmt::Debug for DbRoles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Logins(..)")
    }
}
