//! What a table holds, in a few bytes: whether everything that was backed up is there again.

use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::BackupError;

/// Tables whose rows are left out: the feed goes by numbers of transactions, which mean nothing in another
/// cluster. Who follows it reads everything anew there.
pub(super) const LEFT_OUT: [&str; 2] = ["public.change_feed", "public.change_feed_watermark"];

/// How values are written as text, whatever the server's and the role's settings are.
pub(super) const AS_TEXT: &str = "set local timezone = 'UTC'; set local datestyle = 'ISO, YMD';
     set local intervalstyle = 'iso_8601'; set local bytea_output = 'hex'; set local extra_float_digits = 1;
     set local xmloption = 'content'; set local statement_timeout = 0;
     set local idle_in_transaction_session_timeout = 0;";

/// A table's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// With its schema.
    pub name: String,
    /// How many.
    pub rows: i64,
    /// Two sums over a hash of each row, so that their order is of no matter.
    pub digest: String,
}

/// All tables of the database, by name. Values are to be written [`AS_TEXT`].
pub(super) async fn tables(connection: &mut PgConnection) -> Result<Vec<Table>, BackupError> {
    let mut tables = Vec::new();
    for (name, quoted) in names(connection).await? {
        let (rows, digest) = digest(connection, &quoted).await?;
        tables.push(Table { name, rows, digest });
    }
    Ok(tables)
}

/// The tables with rows of the service, each as people write it and as a statement does.
async fn names(connection: &mut PgConnection) -> Result<Vec<(String, String)>, BackupError> {
    let rows = sqlx::query(
        "select n.nspname || '.' || c.relname as name, format('%I.%I', n.nspname, c.relname) as quoted
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'r' and c.relpersistence <> 't' and n.nspname !~ '^pg_'
             and n.nspname not in ('information_schema', 'memory_copilot_restoring')
             and not exists (select from pg_depend d
                             where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
             and n.nspname || '.' || c.relname <> all($1)
         order by 1",
    )
    .bind(LEFT_OUT.map(String::from).to_vec())
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get("name")?, row.try_get("quoted")?))).collect()
}

async fn digest(connection: &mut PgConnection, table: &str) -> Result<(i64, String), BackupError> {
    let statement = format!(
        "select count(*) as rows,
                coalesce(sum(hashtextextended(line, 1)), 0)::text || ':' ||
                coalesce(sum(hashtextextended(line, 2)), 0)::text as digest
         from (select row_of_a_table::text as line from only {table} row_of_a_table offset 0) lines"
    );
    let row = sqlx::query(AssertSqlSafe(statement)).fetch_one(connection).await?;
    Ok((row.try_get("rows")?, row.try_get("digest")?))
}

/// The first table that is not as it was.
pub(super) fn compare(wanted: &[Table], found: &[Table]) -> Result<(), BackupError> {
    for table in wanted {
        let detail = match found.iter().find(|each| each.name == table.name) {
            None => "it is not there".to_owned(),
            Some(found) if found.rows != table.rows => {
                format!("{} rows of {}", found.rows, table.rows)
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
    fn a_table_that_differs_is_named_and_one_more_is_none_of_the_backup_s() {
        let wanted = [table("public.a", 1, "1:2"), table("public.b", 2, "3:4")];
        let said = |found: &[Table]| compare(&wanted, found).map_err(|error| error.to_string());
        let more = table("public.c", 9, "9:9");
        assert!(said(&[wanted[0].clone(), wanted[1].clone(), more]).is_ok());
        let fewer =
            said(&[wanted[0].clone(), table("public.b", 1, "3:4")]).expect_err("a row short");
        assert!(fewer.contains("public.b") && fewer.contains("1 rows of 2"), "{fewer}");
        let other =
            said(&[table("public.a", 1, "1:3"), wanted[1].clone()]).expect_err("other rows");
        assert!(other.contains("public.a") && other.contains("other values"), "{other}");
        assert!(said(&wanted[..1]).is_err_and(|said| said.contains("not there")));
    }
}
