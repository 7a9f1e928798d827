//! The snapshot of the database that the dump and the manifest share.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _, raw_sql};

use super::digest::TEXT_SETTINGS;
use super::{BackupError, Result};

/// Begins a transaction, and returns the name of its snapshot for `pg_dump`.
pub(super) async fn export(connection: &mut PgConnection) -> Result<String> {
    begin(connection).await?;
    ensure_sees_every_row(connection).await?;
    let name = sqlx::query_scalar("select pg_export_snapshot()");
    Ok(name.fetch_one(connection).await?)
}

/// Begins a repeatable-read transaction with [`TEXT_SETTINGS`].
pub(super) async fn begin(connection: &mut PgConnection) -> Result<()> {
    let begin = format!("begin isolation level repeatable read, read only; {TEXT_SETTINGS}");
    raw_sql(AssertSqlSafe(begin)).execute(connection).await?;
    Ok(())
}

/// Rejects a role from which policies hide rows, since the backup would lack them without notice.
/// The tables' owner sees every row by its own policies; superusers and `bypassrls` roles see them,
/// too.
async fn ensure_sees_every_row(connection: &mut PgConnection) -> Result<()> {
    let hidden = sqlx::query(
        "select current_user::text as role,
                string_agg(c.relname, ', ' order by c.relname) as tables,
                min(pg_get_userbyid(c.relowner)) as owner
         from pg_class c
         where c.relrowsecurity
             and not (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)
             and (exists (select from pg_policy p
                          where p.polrelid = c.oid and not p.polpermissive
                              and (p.polroles = '{0}'
                                   or exists (select from unnest(p.polroles) r
                                              where r <> 0 and pg_has_role(r, 'usage'))))
                  or not exists (select from pg_policy p
                                 where p.polrelid = c.oid and p.polpermissive
                                     and p.polcmd in ('r', '*')
                                     and pg_get_expr(p.polqual, p.polrelid) = 'true'
                                     and (p.polroles = '{0}'
                                          or exists (select from unnest(p.polroles) r
                                                     where r <> 0 and pg_has_role(r, 'usage')))))",
    )
    .fetch_one(connection)
    .await?;
    match hidden.try_get::<Option<String>, _>("tables")? {
        None => Ok(()),
        Some(tables) => Err(BackupError::Hidden {
            role: hidden.try_get("role")?,
            owner: hidden.try_get("owner")?,
            tables,
        }),
    }
}
