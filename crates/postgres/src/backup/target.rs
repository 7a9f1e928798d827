//! The database that is restored into: empty before, and empty again where it did not succeed.
//!
//! From its first statement to the last comparison a restore has a schema of its own there, by which a service
//! knows that it must not start, and the next restore that it may clear away what is there.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};

use super::BackupError;
use super::pg_tools::SESSION;
use crate::Error;

/// What is there that does not belong to an extension.
const THINGS: &str = "
    select n.nspname as space, c.relname::text as name, 'pg_class'::regclass as class, c.oid, c.relkind::text as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    union all
    select n.nspname, p.proname, 'pg_proc'::regclass, p.oid, 'routine'
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    union all
    select n.nspname, t.typname, 'pg_type'::regclass, t.oid, 'type'
    from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typtype in ('e', 'd', 'r')";
const OURS: &str = "
    space !~ '^pg_' and space not in ('information_schema', 'memory_copilot_restoring')
    and not exists (select from pg_depend d
                    where d.classid = class and d.objid = things.oid and d.deptype in ('e', 'i'))";

/// Takes an empty database for a restore; clears away what an interrupted one left.
pub(super) async fn claim(connection: &mut PgConnection) -> Result<(), BackupError> {
    if is_being_restored(connection).await? {
        clear(connection).await?;
    }
    let mut tx = connection.begin().await?;
    let found: Option<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select string_agg(space || '.' || name, ', ')
         from (select * from ({THINGS}) things where {OURS} order by kind = 'routine', 1, 2 limit 3) first_of_them"
    )))
    .fetch_one(&mut *tx)
    .await?;
    if let Some(found) = found {
        return Err(BackupError::Occupied(found));
    }
    let mark = "create schema memory_copilot_restoring;
                create table memory_copilot_restoring.found as select nspname from pg_namespace";
    raw_sql(mark).execute(&mut *tx).await?;
    Ok(tx.commit().await?)
}

/// Whether a restore has begun here and not ended.
async fn is_being_restored(connection: &mut PgConnection) -> Result<bool, Error> {
    let marked =
        sqlx::query_scalar("select to_regnamespace('memory_copilot_restoring') is not null");
    Ok(marked.fetch_one(connection).await?)
}

/// Refuses a database in which a restore has not ended: it has parts, or nobody has compared it yet.
pub(crate) async fn refuse_unfinished(connection: &mut PgConnection) -> Result<(), Error> {
    if is_being_restored(connection).await? {
        return Err(Error::Unsuitable(
            "a restore into this database has not ended; wait for it, or where it was interrupted run \
             `memory-copilot restore` again, which begins anew"
                .into(),
        ));
    }
    Ok(())
}

/// Lets the service have what was restored.
pub(super) async fn release(connection: &mut PgConnection) -> Result<(), BackupError> {
    raw_sql("drop schema memory_copilot_restoring cascade").execute(connection).await?;
    Ok(())
}

/// Removes everything that was not there when the database was claimed, the mark last.
pub(super) async fn clear(connection: &mut PgConnection) -> Result<(), BackupError> {
    // A program that was killed may have a session that is about to commit.
    let ended = sqlx::query(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity
         where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()",
    );
    ended.bind(SESSION).execute(&mut *connection).await?;
    let mut tx = connection.begin().await?;
    let statements: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select format('drop schema %I cascade', nspname) from pg_namespace
         where nspname !~ '^pg_' and nspname <> 'memory_copilot_restoring'
             and nspname not in (select nspname from memory_copilot_restoring.found)
         union all
         select format('drop %s if exists %s cascade', case kind
                           when 'routine' then 'routine' when 'type' then 'type' when 'v' then 'view'
                           when 'm' then 'materialized view' when 'S' then 'sequence'
                           when 'f' then 'foreign table' else 'table' end,
                       case kind when 'routine' then things.oid::regprocedure::text
                                 else format('%I.%I', space, name) end)
         from ({THINGS}) things
         where {OURS} and space in (select nspname from memory_copilot_restoring.found)
         union all select 'drop schema memory_copilot_restoring cascade'"
    )))
    .fetch_all(&mut *tx)
    .await?;
    for statement in statements {
        raw_sql(AssertSqlSafe(statement)).execute(&mut *tx).await?;
    }
    Ok(tx.commit().await?)
}
