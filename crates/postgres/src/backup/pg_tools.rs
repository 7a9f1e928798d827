//! `pg_dump` and `pg_restore`: where they are, and how they are told where to connect.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use percent_encoding::percent_decode_str;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use url::Url;

use super::BackupError;
use crate::Error;
use crate::embedded::discover;

/// Where distributions put the client's programs alone.
const CLIENTS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];
/// What the programs' sessions are called.
pub(super) const SESSION: &str = "memory-copilot backup";
/// How much of what a program prints is shown, in bytes.
const LAST_WORDS: usize = 2_000;

/// A folder with both programs.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    bin: PathBuf,
}

/// Parameters of a URL that `PgConnectOptions` does not tell, as sqlx spells them, and the variables that say
/// the same to the programs.
const FILES: [(&[&str], &str); 3] = [
    (&["sslrootcert", "ssl-root-cert", "ssl-ca"], "PGSSLROOTCERT"),
    (&["sslcert", "ssl-cert"], "PGSSLCERT"),
    (&["sslkey", "ssl-key"], "PGSSLKEY"),
];

impl Programs {
    /// Those nearest to a server of version `major`, and never older: `pg_dump` refuses a newer server, and
    /// what a newer `pg_restore` says an older server may not understand.
    pub async fn find(install_dirs: &[PathBuf], major: u32) -> Result<Self, BackupError> {
        let mut bins = discover::candidates(install_dirs).await;
        bins.extend(CLIENTS.map(PathBuf::from));
        let (mut nearest, mut found): (Option<(u32, PathBuf)>, String) = (None, String::new());
        for bin in bins.iter().filter_map(|bin| bin.canonicalize().ok()) {
            let Some((version, of)) = version(&bin).await else { continue };
            if of < major {
                found.push_str(&format!("; {} has version {version}", bin.display()));
            } else if nearest.as_ref().is_none_or(|(best, _)| of < *best) {
                nearest = Some((of, bin));
            }
        }
        match nearest {
            Some((_, bin)) => Ok(Self { bin }),
            None => Err(BackupError::NoPrograms { major, found }),
        }
    }

    /// A program that connects to the database at `url`. Its password goes by the environment, which only the
    /// same user may read; every user sees the arguments.
    pub fn connecting(&self, program: &str, url: &str) -> Result<Command, BackupError> {
        let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
        let url = Url::parse(url).map_err(|_| Error::BadUrl)?;
        let mut command = self.command(program);
        match options.get_socket() {
            Some(folder) => command.env("PGHOST", folder),
            None => command.env("PGHOST", options.get_host()),
        };
        command.env("PGPORT", options.get_port().to_string());
        command.env("PGUSER", options.get_username());
        command.env("PGDATABASE", name_of(&options));
        command.env("PGSSLMODE", ssl_mode(options.get_ssl_mode()));
        command.env("PGAPPNAME", SESSION);
        if let Some(password) = url.password() {
            let password = percent_decode_str(password).decode_utf8().map_err(|_| Error::BadUrl)?;
            command.env("PGPASSWORD", &*password);
        }
        if let Some(settings) = options.get_options() {
            command.env("PGOPTIONS", settings);
        }
        for (spelled, variable) in FILES {
            if let Some((_, path)) = url.query_pairs().find(|(name, _)| spelled.contains(&&**name))
            {
                command.env(variable, &*path);
            }
        }
        command.arg("--no-password");
        Ok(command)
    }

    /// A program that connects nowhere.
    pub fn command(&self, program: &str) -> Command {
        let mut command = discover::command(&self.bin, program);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in a terminal reaches a whole process group; who started it ends it.
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// The name of the database at `url`.
pub(super) fn database(url: &str) -> Result<String, BackupError> {
    let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
    Ok(name_of(&options).to_owned())
}

fn name_of(options: &PgConnectOptions) -> &str {
    options.get_database().unwrap_or(options.get_username())
}

/// The version of both programs, where both are there.
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

/// Waits for a program's end while reading what it complains of; fails as it does.
pub(super) async fn finish(program: &'static str, mut child: Child) -> Result<(), BackupError> {
    let said = last_words(child.stderr.take()).await;
    let failed = |detail| BackupError::Program { program, detail };
    match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if said.is_empty() => Err(failed(status.to_string())),
        Ok(_) => Err(failed(said)),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The end of what a pipe carries; all of it is read, so that nobody waits for a reader.
async fn last_words(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let (mut said, mut part) = (Vec::new(), [0; 4096]);
    if let Some(mut pipe) = pipe {
        while let Ok(read @ 1..) = pipe.read(&mut part).await {
            said.extend_from_slice(&part[..read]);
            let too_much = said.len().saturating_sub(LAST_WORDS);
            said.drain(..too_much);
        }
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(url: &str) -> Vec<(String, String)> {
        let programs = Programs { bin: "/nowhere".into() };
        let command = programs.connecting("pg_dump", url).expect("a URL");
        let words: Vec<_> = command.as_std().get_args().collect();
        assert_eq!(words, ["--no-password"], "nothing of the URL is in the arguments");
        let set = command.as_std().get_envs().filter_map(|(name, value)| {
            Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned()))
        });
        set.filter(|(name, _)| name.starts_with("PG")).collect()
    }

    #[test]
    fn the_programs_are_told_by_their_environment_where_to_connect() {
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
    async fn programs_that_are_older_than_the_server_are_named_and_not_taken() {
        let said = Programs::find(&[], 999).await.expect_err("none is that new").to_string();
        assert!(said.contains("PostgreSQL 999 or newer"), "{said}");
        assert!(said.contains("database.install_dir"), "{said}");
    }
}
