//! Digests of tables, by which a restore verifies that every row is back.

use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::{BackupError, Result};

/// Tables whose rows are left out. The change feed is ordered by transaction numbers, which mean
/// nothing in another cluster; its followers rebuild there. Keys of codes are those of the logins
/// of one server.
pub(super) const EXCLUDED_TABLES: [&str; 3] =
    ["public.change_feed", "public.change_feed_watermark", "mc.mac_keys"];

/// Settings that make the text form of values independent of the server and the role.
pub(super) const TEXT_SETTINGS: &str = "set local timezone = 'UTC';
     set local datestyle = 'ISO, YMD';
     set local intervalstyle = 'iso_8601'; set local bytea_output = 'hex';
     set local extra_float_digits = 1;
     set local xmloption = 'content'; set local statement_timeout = 0;
     set local idle_in_transaction_session_timeout = 0;";

/// Row count and digest of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Name with its schema.
    pub name: String,
    /// Number of rows.
    pub rows: i64,
    /// Two sums over hashes of the rows, which do not depend on their order.
    pub digest: String,
}

/// Computes the digests of all tables, ordered by name, under [`TEXT_SETTINGS`].
pub(super) async fn tables(connection: &mut PgConnection) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (name, quoted) in names(connection).await? {
        let (rows, digest) = digest(connection, &quoted).await?;
        tables.push(Table { name, rows, digest });
    }
    Ok(tables)
}

/// Lists the service's tables, each name plain and quoted for SQL.
async fn names(connection: &mut PgConnection) -> Result<Vec<(String, String)>> {
    let rows = sqlx::query(
        "select n.nspname || '.' || c.relname as name,
                format('%I.%I', n.nspname, c.relname) as quoted
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'r' and c.relpersistence <> 't' and n.nspname !~ '^pg_'
             and n.nspname not in ('information_schema', 'memory_copilot_restoring')
             and not exists (select from pg_depend d
                             where d.classid = 'pg_class'::regclass and d.objid = c.oid
                                 and d.deptype = 'e')
             and n.nspname || '.' || c.relname <> all($1)
         order by 1",
    )
    .bind(EXCLUDED_TABLES.map(String::from).to_vec())
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get("name")?, row.try_get("quoted")?))).collect()
}

async fn digest(connection: &mut PgConnection, table: &str) -> Result<(i64, String)> {
    let statement = format!(
        "select count(*) as rows,
                coalesce(sum(hashtextextended(line, 1)), 0)::text || ':' ||
                coalesce(sum(hashtextextended(line, 2)), 0)::text as digest
         from (select row_of_a_table::text as line from only {table} row_of_a_table offset 0) lines"
    );
    let row = sqlx::query(AssertSqlSafe(statement)).fetch_one(connection).await?;
    Ok((row.try_get("rows")?, row.try_get("digest")?))
}

/// Compares the digests, and fails at the first table that differs. Ignores additional tables.
pub(super) fn compare(expected: &[Table], found: &[Table]) -> Result<()> {
    for table in expected {
        let detail = match found.iter().find(|each| each.name == table.name) {
            None => "it is missing".to_owned(),
            Some(found) if found.rows != table.rows => {
                format!("{} rows instead of {}", found.rows, table.rows)
            }
            Some(found) if found.digest != table.digest => "other values".to_owned(),
            Some(_) => continue,
        };
        return Err(BackupError::Differs { table: table.name.clone(), detail });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, rows: i64, digest: &str) -> Table {
        Table { name: name.into(), rows, digest: digest.into() }
    }

    #[test]
    fn compare_names_a_table_that_differs() {
        let wanted = [table("public.a", 1, "1:2"), table("public.b", 2, "3:4")];
        let check = |found: &[Table]| compare(&wanted, found).map_err(|error| error.to_string());
        let more = table("public.c", 9, "9:9");
        assert!(check(&[wanted[0].clone(), wanted[1].clone(), more]).is_ok());
        let fewer =
            check(&[wanted[0].clone(), table("public.b", 1, "3:4")]).expect_err("a missing row");
        assert!(fewer.contains("public.b") && fewer.contains("1 rows instead of 2"), "{fewer}");
        let other =
            check(&[table("public.a", 1, "1:3"), wanted[1].clone()]).expect_err("other rows");
        assert!(other.contains("public.a") && other.contains("other values"), "{other}");
        assert!(check(&wanted[..1]).is_err_and(|message| message.contains("missing")));
    }
}
