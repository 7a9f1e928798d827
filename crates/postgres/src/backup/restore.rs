//! Restore of a backup into an empty database.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::pg_tools::{self, PgTools};
use super::{Archive, BackupError, Progress, Result, Step, digest, snapshot, target};
use crate::db_roles::{self, DbRoles};
use crate::server_version;

/// Target of a restore.
pub struct Target<'a> {
    /// URL of an empty database, for the role that will own its tables.
    pub url: &'a str,
    /// Installations to prefer for `pg_restore`.
    pub install_dirs: &'a [PathBuf],
    /// Whether the encryption key is lost.
    pub is_key_lost: bool,
}

/// Restores the backup, compares each table with the manifest, and migrates the schema. After a
/// failure the database is empty again.
pub async fn restore(
    archive: &Archive,
    target: &Target<'_>,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<DbRoles> {
    let mut connection = server_version::connect(target.url).await?;
    let tools = find_tools(&mut connection, archive, target).await?;
    target::claim(&mut connection).await?;
    let filling = fill(&mut connection, archive, target, &tools, progress);
    let filled = cancel.run_until_cancelled(filling).await.unwrap_or(Err(BackupError::Interrupted));
    if filled.is_err() {
        // A canceled statement may still run on the connection.
        drop(connection);
        target::clear(&mut server_version::connect(target.url).await?).await?;
    }
    filled
}

/// Returns the programs for the target's server. Rejects a server older than the backup's.
async fn find_tools(
    connection: &mut PgConnection,
    archive: &Archive,
    target: &Target<'_>,
) -> Result<PgTools> {
    server_version::check(connection).await?;
    let server = server_version::versions(connection).await?.postgres;
    let major: u32 = server_version::leading_number(&server);
    if major < archive.manifest.major() {
        return Err(BackupError::OlderServer {
            required: archive.manifest.postgres.clone(),
            server,
        });
    }
    PgTools::find(target.install_dirs, major).await
}

async fn fill(
    connection: &mut PgConnection,
    archive: &Archive,
    target: &Target<'_>,
    tools: &PgTools,
    progress: Progress,
) -> Result<DbRoles> {
    db_roles::create_groups(connection).await?;
    load(archive, target, tools, progress.clone()).await?;
    finish_schema(connection, &archive.manifest.run_as_worker).await?;
    progress(Step::Comparing, 0);
    snapshot::begin(connection).await?;
    let found = digest::tables(connection).await?;
    raw_sql("rollback").execute(&mut *connection).await?;
    digest::compare(&archive.manifest.tables, &found)?;
    if target.is_key_lost {
        delete_encrypted_sign_in_data(connection).await?;
    }
    // The dump has no planner statistics, without which the first searches would read whole tables.
    // PostgreSQL warns of each shared catalog that the owner may not analyze.
    raw_sql("set client_min_messages = error; analyze").execute(&mut *connection).await?;
    let roles = db_roles::migrate(target.url, connection).await?;
    target::release(connection).await?;
    Ok(roles)
}

/// Runs `pg_restore` over the dump, in one transaction.
async fn load(
    archive: &Archive,
    target: &Target<'_>,
    tools: &PgTools,
    progress: Progress,
) -> Result<()> {
    let list = list_contents(archive, tools).await?;
    let mut command = tools.connecting("pg_restore", target.url)?;
    command.args(["--single-transaction", "--no-owner", "--no-tablespaces", "--use-list"]);
    command.arg(list.path());
    // Without a database name pg_restore prints SQL. The name is no secret.
    command.arg("--dbname").arg(pg_tools::database_name(target.url)?).stdout(Stdio::null());
    let child = spawn_with_dump(command, archive, progress)?;
    pg_tools::finish("pg_restore", child).await
}

/// Writes the list of the dump's entries that `pg_restore` is to restore: all but the policies of
/// the former owner, since another role may own the tables here.
async fn list_contents(archive: &Archive, tools: &PgTools) -> Result<tempfile::NamedTempFile> {
    let mut command = tools.command("pg_restore");
    command.arg("--list");
    let no_progress: Progress = std::sync::Arc::new(|_, _| {});
    let mut child = spawn_with_dump(command, archive, no_progress)?;
    let mut list = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut list).await.map_err(|error| failed(&error))?;
    }
    pg_tools::finish("pg_restore", child).await?;
    let entries: String = list
        .lines()
        .filter(|line| !is_owner_policy(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut file = tempfile::NamedTempFile::new().map_err(|error| failed(&error))?;
    file.write_all(entries.as_bytes()).map_err(|error| failed(&error))?;
    Ok(file)
}

/// Returns whether a line of the list is a policy of the tables' owner, such as
/// `4385; 3256 17102 POLICY public projects owner_all memory_copilot`: number, ids, kind, schema,
/// table, name of the policy, role.
fn is_owner_policy(line: &str) -> bool {
    let mut words = line.split_whitespace().skip(3);
    words.next() == Some("POLICY") && words.nth(2) == Some("owner_all")
}

/// Starts a program with the dump on its standard input.
fn spawn_with_dump(mut command: Command, archive: &Archive, progress: Progress) -> Result<Child> {
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    let mut dump = archive.dump().map_err(|error| failed(&error))?;
    let input = child.stdin.take().ok_or_else(|| io::Error::other("its input is closed"));
    let input = input.and_then(ChildStdin::into_owned_fd).map_err(|error| failed(&error))?;
    let mut input = File::from(input);
    // The task ends with the dump or with the program, whose own error is the one to report.
    tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; 256 << 10];
        let mut bytes = 0;
        while let Ok(read @ 1..) = io::Read::read(&mut dump, &mut buffer) {
            if input.write_all(&buffer[..read]).is_err() {
                return;
            }
            bytes += read as u64;
            progress(Step::Restoring, bytes);
        }
    });
    Ok(child)
}

fn failed(error: &io::Error) -> BackupError {
    BackupError::Program { program: "pg_restore", detail: error.to_string() }
}

/// Creates the owner's policies, assigns functions to their owner, and adds the rows that the
/// service needs in tables without dumped rows.
async fn finish_schema(connection: &mut PgConnection, run_as_worker: &[String]) -> Result<()> {
    let mut tx = connection.begin().await?;
    let mut statements: Vec<String> = sqlx::query_scalar(
        "select format('create policy owner_all on %s to current_user using (true)'
                           ' with check (true)',
                       c.oid::regclass)
         from pg_class c
         where c.relforcerowsecurity
             and not exists (select from pg_policy p
                             where p.polrelid = c.oid and p.polname = 'owner_all')
         union all
         select format('alter routine %s owner to memory_copilot_worker', to_regprocedure(f))
         from unnest($1) f",
    )
    .bind(run_as_worker)
    .fetch_all(&mut *tx)
    .await?;
    // The owner of a function needs the right to create in its schema.
    statements.insert(0, "grant create on schema mc to memory_copilot_worker".into());
    statements.push("revoke create on schema mc from memory_copilot_worker".into());
    statements.push(
        "insert into change_feed_watermark (txid) values ('0') on conflict do nothing".into(),
    );
    for statement in statements {
        raw_sql(AssertSqlSafe(statement)).execute(&mut *tx).await?;
    }
    Ok(tx.commit().await?)
}

/// Deletes values that the service would decrypt at its start. It creates new signing keys, and
/// users sign in again.
async fn delete_encrypted_sign_in_data(connection: &mut PgConnection) -> Result<()> {
    raw_sql("delete from signing_keys; delete from pending_logins").execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_policies_are_distinguished_from_other_entries() {
        assert!(is_owner_policy(
            "4385; 3256 17102 POLICY public projects owner_all memory_copilot"
        ));
        for other in [
            "4386; 3256 17103 POLICY public projects read memory_copilot",
            "4387; 0 16999 ROW SECURITY public projects memory_copilot",
            "217; 1259 16400 TABLE public owner memory_copilot",
            "; Archive created at 2026-11-22 10:00:00 UTC",
            "",
        ] {
            assert!(!is_owner_policy(other), "{other}");
        }
    }
}
