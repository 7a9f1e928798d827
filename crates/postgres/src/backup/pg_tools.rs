//! Discovery and connection settings of `pg_dump` and `pg_restore`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use percent_encoding::percent_decode_str;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use url::Url;

use super::{BackupError, Result};
use crate::Error;
use crate::embedded::discover;

/// Directories of client programs that are installed without a server.
const CLIENT_DIRS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];
/// Application name of the programs' sessions.
pub(super) const APPLICATION_NAME: &str = "memory-copilot backup";
/// Bytes shown of the end of a program's error output.
const OUTPUT_TAIL_BYTES: usize = 2_000;

/// A directory with both programs.
#[derive(Debug, Clone)]
pub(super) struct PgTools {
    bin: PathBuf,
}

/// URL parameters that `PgConnectOptions` does not expose, in sqlx's spellings, with the
/// environment variables of the programs.
const FILE_PARAMETERS: [(&[&str], &str); 3] = [
    (&["sslrootcert", "ssl-root-cert", "ssl-ca"], "PGSSLROOTCERT"),
    (&["sslcert", "ssl-cert"], "PGSSLCERT"),
    (&["sslkey", "ssl-key"], "PGSSLKEY"),
];

impl PgTools {
    /// Returns the programs of the lowest version that is at least `major`: `pg_dump` rejects a
    /// newer server, and an older server may not understand a newer `pg_restore`.
    pub async fn find(install_dirs: &[PathBuf], major: u32) -> Result<Self> {
        let mut bins = discover::candidates(install_dirs).await;
        bins.extend(CLIENT_DIRS.map(PathBuf::from));
        let (mut nearest, mut found): (Option<(u32, PathBuf)>, String) = (None, String::new());
        for bin in bins.iter().filter_map(|bin| bin.canonicalize().ok()) {
            let Some((version, found_major)) = version(&bin).await else { continue };
            if found_major < major {
                found.push_str(&format!("; {} has version {version}", bin.display()));
            } else if nearest.as_ref().is_none_or(|(best, _)| found_major < *best) {
                nearest = Some((found_major, bin));
            }
        }
        match nearest {
            Some((_, bin)) => Ok(Self { bin }),
            None => Err(BackupError::NoPrograms { major, found }),
        }
    }

    /// Returns a command that connects to the database at `url`. The environment passes the
    /// password, since every user can read arguments, and only the same user the environment.
    pub fn connecting(&self, program: &str, url: &str) -> Result<Command> {
        let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
        let url = Url::parse(url).map_err(|_| Error::BadUrl)?;
        let mut command = self.command(program);
        match options.get_socket() {
            Some(directory) => command.env("PGHOST", directory),
            None => command.env("PGHOST", options.get_host()),
        };
        command.env("PGPORT", options.get_port().to_string());
        command.env("PGUSER", options.get_username());
        command.env("PGDATABASE", database_of(&options));
        command.env("PGSSLMODE", ssl_mode(options.get_ssl_mode()));
        command.env("PGAPPNAME", APPLICATION_NAME);
        if let Some(password) = url.password() {
            let password = percent_decode_str(password).decode_utf8().map_err(|_| Error::BadUrl)?;
            command.env("PGPASSWORD", &*password);
        }
        if let Some(settings) = options.get_options() {
            command.env("PGOPTIONS", settings);
        }
        for (spellings, variable) in FILE_PARAMETERS {
            if let Some((_, path)) =
                url.query_pairs().find(|(name, _)| spellings.contains(&&**name))
            {
                command.env(variable, &*path);
            }
        }
        command.arg("--no-password");
        Ok(command)
    }

    /// Returns a command that does not connect.
    pub fn command(&self, program: &str) -> Command {
        let mut command = discover::command(&self.bin, program);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in a terminal signals a whole process group; the caller ends the program.
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// Returns the name of the database at `url`.
pub(super) fn database_name(url: &str) -> Result<String> {
    let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
    Ok(database_of(&options).to_owned())
}

fn database_of(options: &PgConnectOptions) -> &str {
    options.get_database().unwrap_or(options.get_username())
}

/// Returns the version of `pg_dump`, if the directory has both programs.
async fn version(bin: &Path) -> Option<(String, u32)> {
    if !bin.join("pg_restore").exists() {
        return None;
    }
    discover::version(bin, "pg_dump").await.ok()
}

fn ssl_mode(mode: PgSslMode) -> &'static str {
    match mode {
        PgSslMode::Disable => "disable",
        PgSslMode::Allow => "allow",
        PgSslMode::Prefer => "prefer",
        PgSslMode::Require => "require",
        PgSslMode::VerifyCa => "verify-ca",
        PgSslMode::VerifyFull => "verify-full",
    }
}

/// Waits for the end of a program, and returns its error output if it fails.
pub(super) async fn finish(program: &'static str, mut child: Child) -> Result<()> {
    let output = output_tail(child.stderr.take()).await;
    let failed = |detail| BackupError::Program { program, detail };
    match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if output.is_empty() => Err(failed(status.to_string())),
        Ok(_) => Err(failed(output)),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Returns the end of a pipe's content. Reads all of it, so that the writer does not block.
async fn output_tail(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let (mut tail, mut buffer) = (Vec::new(), [0; 4096]);
    if let Some(mut pipe) = pipe {
        while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
            tail.extend_from_slice(&buffer[..read]);
            let excess = tail.len().saturating_sub(OUTPUT_TAIL_BYTES);
            tail.drain(..excess);
        }
    }
    String::from_utf8_lossy(&tail).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(url: &str) -> Vec<(String, String)> {
        let programs = PgTools { bin: "/nowhere".into() };
        let command = programs.connecting("pg_dump", url).expect("a URL");
        let arguments: Vec<_> = command.as_std().get_args().collect();
        assert_eq!(arguments, ["--no-password"], "the arguments have no part of the URL");
        let set = command.as_std().get_envs().filter_map(|(name, value)| {
            Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned()))
        });
        set.filter(|(name, _)| name.starts_with("PG")).collect()
    }

    #[test]
    fn pg_tools_receive_connection_settings_by_environment() {
        let url = "postgres://owner:p%40ss+%2F@db.example.com:6432/memory?sslmode=verify-full\
                   &ssl-root-cert=/etc/ca.pem&statement-cache-capacity=0";
        let set = environment(url);
        for (name, value) in [
            ("PGHOST", "db.example.com"),
            ("PGPORT", "6432"),
            ("PGUSER", "owner"),
            ("PGPASSWORD", "p@ss+/"),
            ("PGDATABASE", "memory"),
            ("PGSSLMODE", "verify-full"),
            ("PGSSLROOTCERT", "/etc/ca.pem"),
        ] {
            assert!(set.contains(&(name.into(), value.into())), "{name} in {set:?}");
        }
        let socket = environment("postgres://owner:secret@localhost/memory?host=%2Fvar%2Fsocket");
        assert!(socket.contains(&("PGHOST".into(), "/var/socket".into())), "{socket:?}");
    }

    #[tokio::test]
    async fn pg_tools_older_than_the_server_are_rejected() {
        let message =
            PgTools::find(&[], 999).await.expect_err("no version is that new").to_string();
        assert!(message.contains("PostgreSQL 999 or newer"), "{message}");
        assert!(message.contains("database.install_dir"), "{message}");
    }
}
