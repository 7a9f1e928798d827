//! Restoring a backup into an empty database.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::pg_tools::{self, Programs};
use super::{Archive, BackupError, Progress, Step, digest, snapshot, target};
use crate::db_roles::{self, DbRoles};
use crate::server_version;

/// What is restored into.
pub struct Target<'a> {
    /// An empty database, for the role that is to own its tables.
    pub url: &'a str,
    /// Where to look for the programs first.
    pub install_dirs: &'a [PathBuf],
    /// Whether nobody has the encryption key any more.
    pub is_key_lost: bool,
}

/// Makes the database what it was when the backup was taken, compares it with what the backup says of itself,
/// and brings its schema up to date. Where any of it fails the database is empty again.
pub async fn restore(
    archive: &Archive,
    target: &Target<'_>,
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<DbRoles, BackupError> {
    let mut connection = server_version::connect(target.url).await?;
    let programs = programs_for(&mut connection, archive, target).await?;
    target::claim(&mut connection).await?;
    let filling = fill(&mut connection, archive, target, &programs, progress);
    let filled = cancel.run_until_cancelled(filling).await.unwrap_or(Err(BackupError::Interrupted));
    if filled.is_err() {
        // The connection may have been left in the middle of a statement.
        drop(connection);
        target::clear(&mut server_version::connect(target.url).await?).await?;
    }
    filled
}

/// The programs for the target's server, which must not be older than the one that the backup is of.
async fn programs_for(
    connection: &mut PgConnection,
    archive: &Archive,
    target: &Target<'_>,
) -> Result<Programs, BackupError> {
    server_version::check(connection).await?;
    let server = server_version::versions(connection).await?.postgres;
    let major: u32 = server_version::leading_number(&server);
    if major < archive.manifest.major() {
        return Err(BackupError::OlderServer { of: archive.manifest.postgres.clone(), server });
    }
    Programs::find(target.install_dirs, major).await
}

async fn fill(
    connection: &mut PgConnection,
    archive: &Archive,
    target: &Target<'_>,
    programs: &Programs,
    progress: Progress,
) -> Result<DbRoles, BackupError> {
    db_roles::make_groups(connection).await?;
    load(archive, target, programs, progress.clone()).await?;
    finish_schema(connection, &archive.manifest.run_as_worker).await?;
    progress(Step::Comparing, 0);
    snapshot::begin(connection).await?;
    let found = digest::tables(connection).await?;
    raw_sql("rollback").execute(&mut *connection).await?;
    digest::compare(&archive.manifest.tables, &found)?;
    if target.is_key_lost {
        forget_signing_keys(connection).await?;
    }
    // The dump has no statistics, without which the first searches would read whole tables.
    // An owner may not look at the catalogs that all databases share, and is warned of each.
    raw_sql("set client_min_messages = error; analyze").execute(&mut *connection).await?;
    let logins = db_roles::migrate(target.url, connection).await?;
    target::release(connection).await?;
    Ok(logins)
}

/// Runs `pg_restore` over the dump, in one transaction.
async fn load(
    archive: &Archive,
    target: &Target<'_>,
    programs: &Programs,
    progress: Progress,
) -> Result<(), BackupError> {
    let list = contents(archive, programs).await?;
    let mut command = programs.connecting("pg_restore", target.url)?;
    command.args(["--single-transaction", "--no-owner", "--no-tablespaces", "--use-list"]);
    command.arg(list.path());
    // Without the name of a database it prints what it would do. The name is no secret.
    command.arg("--dbname").arg(pg_tools::database(target.url)?).stdout(Stdio::null());
    let child = fed(command, archive, progress)?;
    pg_tools::finish("pg_restore", child).await
}

/// What is to be restored of the dump, as a list that `pg_restore` takes: all but the policies that name the role
/// which owned the tables; another one may own them here.
async fn contents(
    archive: &Archive,
    programs: &Programs,
) -> Result<tempfile::NamedTempFile, BackupError> {
    let mut command = programs.command("pg_restore");
    command.arg("--list");
    let quiet: Progress = std::sync::Arc::new(|_, _| {});
    let mut child = fed(command, archive, quiet)?;
    let mut list = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut list).await.map_err(|error| failed(&error))?;
    }
    pg_tools::finish("pg_restore", child).await?;
    let kept: String = list
        .lines()
        .filter(|line| !is_owner_policy(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut file = tempfile::NamedTempFile::new().map_err(|error| failed(&error))?;
    file.write_all(kept.as_bytes()).map_err(|error| failed(&error))?;
    Ok(file)
}

/// Such as `4385; 3256 17102 POLICY public projects owner_all memory_copilot`: number, ids, kind, schema, table and
/// name of the policy, role.
fn is_owner_policy(line: &str) -> bool {
    let mut words = line.split_whitespace().skip(3);
    words.next() == Some("POLICY") && words.nth(2) == Some("owner_all")
}

/// Starts a program with the dump on its standard input.
fn fed(mut command: Command, archive: &Archive, progress: Progress) -> Result<Child, BackupError> {
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    let mut dump = archive.dump().map_err(|error| failed(&error))?;
    let input = child.stdin.take().ok_or_else(|| io::Error::other("it has no input"));
    let input = input.and_then(ChildStdin::into_owned_fd).map_err(|error| failed(&error))?;
    let mut input = File::from(input);
    // It ends by itself: with the dump, or with the program, who has the last word on what went wrong.
    tokio::task::spawn_blocking(move || {
        let mut part = vec![0; 256 << 10];
        let mut bytes = 0;
        while let Ok(read @ 1..) = io::Read::read(&mut dump, &mut part) {
            if input.write_all(&part[..read]).is_err() {
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

/// What a dump without owners leaves out, and the rows of the tables that are left out of it.
async fn finish_schema(
    connection: &mut PgConnection,
    run_as_worker: &[String],
) -> Result<(), BackupError> {
    let mut tx = connection.begin().await?;
    let mut statements: Vec<String> = sqlx::query_scalar(
        "select format('create policy owner_all on %s to current_user using (true) with check (true)', c.oid::regclass)
         from pg_class c
         where c.relforcerowsecurity
             and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'owner_all')
         union all
         select format('alter routine %s owner to memory_copilot_worker', to_regprocedure(f)) from unnest($1) f",
    )
    .bind(run_as_worker)
    .fetch_all(&mut *tx)
    .await?;
    // Whoever owns a function may make one in its schema.
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

/// Removes what the service would open at its start and can't. It makes new keys, and people sign in again.
async fn forget_signing_keys(connection: &mut PgConnection) -> Result<(), BackupError> {
    raw_sql("delete from signing_keys; delete from pending_logins").execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_the_former_owner_are_told_from_all_else() {
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
