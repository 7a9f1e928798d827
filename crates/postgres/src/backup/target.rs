//! The target database of a restore: empty before, and empty again after a failure.
//!
//! During a restore the database has the schema `memory_copilot_restoring`. A service does not
//! start on such a database, and the next restore may clear it.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};

use super::pg_tools::APPLICATION_NAME;
use super::{BackupError, Result};
use crate::Error;

/// Query of relations, routines and types, with those of extensions.
const OBJECTS: &str = "
    select n.nspname as space, c.relname::text as name, 'pg_class'::regclass as class,
           c.oid, c.relkind::text as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    union all
    select n.nspname, p.proname, 'pg_proc'::regclass, p.oid, 'routine'
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    union all
    select n.nspname, t.typname, 'pg_type'::regclass, t.oid, 'type'
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where t.typtype in ('e', 'd', 'r')";
/// Condition on [`OBJECTS`] that excludes system objects and those of extensions.
const IS_USER_OBJECT: &str = "
    space !~ '^pg_' and space not in ('information_schema', 'memory_copilot_restoring')
    and not exists (select from pg_depend d
                    where d.classid = class and d.objid = things.oid and d.deptype in ('e', 'i'))";

/// Marks an empty database for a restore. Clears the data of an interrupted restore first.
pub(super) async fn claim(connection: &mut PgConnection) -> Result<()> {
    if is_being_restored(connection).await? {
        clear(connection).await?;
    }
    let mut tx = connection.begin().await?;
    let found: Option<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select string_agg(space || '.' || name, ', ')
         from (select * from ({OBJECTS}) things where {IS_USER_OBJECT}
               order by kind = 'routine', 1, 2 limit 3) first_of_them"
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

/// Returns whether a restore has started in the database and not completed.
async fn is_being_restored(connection: &mut PgConnection) -> Result<bool, Error> {
    let is_marked =
        sqlx::query_scalar("select to_regnamespace('memory_copilot_restoring') is not null");
    Ok(is_marked.fetch_one(connection).await?)
}

/// Rejects a database with an incomplete restore.
pub(crate) async fn reject_incomplete_restore(connection: &mut PgConnection) -> Result<(), Error> {
    if is_being_restored(connection).await? {
        return Err(Error::UnsupportedServer(
            "a restore into this database is not complete; wait for it, or if it was interrupted, \
             run `memory-copilot restore` again, which starts from the beginning"
                .into(),
        ));
    }
    Ok(())
}

/// Removes the mark, so that the service can start.
pub(super) async fn release(connection: &mut PgConnection) -> Result<()> {
    raw_sql("drop schema memory_copilot_restoring cascade").execute(connection).await?;
    Ok(())
}

/// Drops all objects created since the database was claimed, and the mark last.
pub(super) async fn clear(connection: &mut PgConnection) -> Result<()> {
    // A session of a killed program may be about to commit.
    let terminate = sqlx::query(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity
         where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()",
    );
    terminate.bind(APPLICATION_NAME).execute(&mut *connection).await?;
    let mut tx = connection.begin().await?;
    let statements: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select format('drop schema %I cascade', nspname) from pg_namespace
         where nspname !~ '^pg_' and nspname <> 'memory_copilot_restoring'
             and nspname not in (select nspname from memory_copilot_restoring.found)
         union all
         select format('drop %s if exists %s cascade', case kind
                           when 'routine' then 'routine' when 'type' then 'type'
                           when 'v' then 'view'
                           when 'm' then 'materialized view' when 'S' then 'sequence'
                           when 'f' then 'foreign table' else 'table' end,
                       case kind when 'routine' then things.oid::regprocedure::text
                                 else format('%I.%I', space, name) end)
         from ({OBJECTS}) things
         where {IS_USER_OBJECT} and space in (select nspname from memory_copilot_restoring.found)
         union all select 'drop schema memory_copilot_restoring cascade'"
    )))
    .fetch_all(&mut *tx)
    .await?;
    for statement in statements {
        raw_sql(AssertSqlSafe(statement)).execute(&mut *tx).await?;
    }
    Ok(tx.commit().await?)
}
