//! The proof on a streaming standby, where no transaction can write.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mc_postgres::embedded::{Embedded, EmbeddedSettings};
use mc_store::Store;
use mc_store::testing::{chains, create_database, execute, last_text, text};
use tempfile::TempDir;

use super::cache::cache;
use super::{
    CONTEXT, LOCAL, Rows, TASKS, code_in, foreign_message, forged_settings, insert_rows,
    is_refused, set, set_context,
};

const DATABASE: &str = "memory";
/// Maximum time to wait for a row of the primary.
const REPLAY_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A primary and its standby, with the service's pool on each. The database has two projects with a
/// task each, of which Ann has a role on one.
struct Pair {
    on_primary: Store,
    on_standby: Store,
    primary: Embedded,
    standby: Embedded,
    /// URL of the primary's database for a superuser.
    url: String,
    rows: Rows,
    // Dropped last.
    _directory: TempDir,
}

impl Pair {
    async fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("mc-").tempdir().unwrap();
        // The server's user must be able to enter the directory.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let [from, to] = ["primary", "standby"].map(|name| directory.path().join(name));
        let primary = start(&from).await;
        // The data need not survive a crash. The standby gets a copy of the setting.
        for sql in ["alter system set fsync = off", "select pg_reload_conf()"] {
            execute(primary.url(), sql).await.unwrap();
        }
        let (url, logins) = create_database(primary.url(), DATABASE).await.unwrap();
        let worker = connect(&logins.worker).await;
        let rows = insert_rows(&url, &worker).await;
        worker.close().await;
        copy(&primary, &from, &to);
        let standby = start(&to).await;
        let on_standby = on_server(&logins.service, standby.url());
        Self {
            on_primary: connect(&logins.service).await,
            on_standby: connect(&on_standby).await,
            primary,
            standby,
            url,
            rows,
            _directory: directory,
        }
    }

    /// Returns the standby's store of Ann in her project.
    fn ann(&self) -> Store {
        self.on_standby.for_project(self.rows.ann_id, self.rows.ours)
    }

    /// Returns the standby's store of an administrator in the other project.
    fn local(&self) -> Store {
        self.on_standby.for_project(LOCAL, self.rows.theirs)
    }

    /// Runs statements on the standby, with and without a project context of the service; none
    /// shows the other project. Returns whether all failed.
    async fn reveals_nothing(&self, attack: &[&str]) -> bool {
        let mut are_refused = true;
        for store in [&self.ann(), &self.on_standby] {
            let seen = last_text(store, &[attack, &[TASKS]].concat()).await;
            let has_leaked = seen.as_ref().is_ok_and(|seen| seen.contains("theirs"));
            assert!(!has_leaked, "{attack:?} reads another project");
            are_refused &= seen.is_err();
        }
        are_refused
    }

    async fn stop(self) {
        tokio::join!(self.on_primary.close(), self.on_standby.close());
        self.standby.stop().await;
        self.primary.stop().await;
    }
}

async fn start(data_dir: &Path) -> Embedded {
    let settings = EmbeddedSettings {
        data_dir: data_dir.to_owned(),
        install_dirs: vec![cache().join("postgresql")],
        run_as: None,
    };
    Embedded::start(settings).await.unwrap()
}

async fn connect(url: &str) -> Store {
    Store::connect(url, 4, chains()).await.unwrap()
}

/// Copies the cluster of a running primary into another data directory, as that of a standby.
fn copy(primary: &Embedded, from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::copy(from.join("password"), to.join("password")).unwrap();
    let bin = &primary.installation().bin;
    let copied = Command::new(bin.join("pg_basebackup"))
        .env("LD_LIBRARY_PATH", bin.with_file_name("lib"))
        .args(["--dbname", primary.url(), "--write-recovery-conf", "--checkpoint", "fast"])
        .args(["--no-sync", "--pgdata"])
        .arg(to.join("cluster"))
        .output()
        .unwrap();
    assert!(copied.status.success(), "{copied:?}");
}

/// Returns the URL of a login on the server of another URL.
fn on_server(login: &str, server: &str) -> String {
    let ((login, _), (_, socket)) =
        (login.split_once('?').unwrap(), server.split_once('?').unwrap());
    format!("{login}?{socket}")
}

#[tokio::test]
async fn injected_sql_on_a_standby_enters_no_project() {
    let pair = Pair::start().await;
    let (ann, local, service) = (pair.ann(), pair.local(), &pair.on_standby);
    let recovers = "select pg_is_in_recovery()::text";
    for (store, seen) in [(&ann, "ours"), (&local, "theirs"), (service, "")] {
        assert_eq!(text(store, recovers).await.unwrap(), "true");
        assert_eq!(text(store, TASKS).await.unwrap(), seen);
        assert_eq!(text(&store.share_reads(), TASKS).await.unwrap(), seen);
        assert_eq!(last_text(store, &[TASKS]).await.unwrap(), seen);
    }
    // Without a role on the project.
    let stranger = service.for_project(pair.rows.ann_id, pair.rows.theirs);
    assert_eq!(text(&stranger, TASKS).await.unwrap(), "");

    forged_settings_reveal_nothing(&pair).await;
    codes_of_other_sessions_are_refused(&pair).await;
    new_rows_arrive(&pair).await;
    pair.stop().await;
}

async fn forged_settings_reveal_nothing(pair: &Pair) {
    let genuine = text(&pair.ann(), CONTEXT).await.unwrap();
    for statement in forged_settings(&genuine, pair.rows.theirs) {
        pair.reveals_nothing(&[&statement]).await;
    }
    // Of open transactions, which are valid there.
    for service in [&pair.on_primary, &pair.on_standby] {
        let theirs = service.for_project(LOCAL, pair.rows.theirs).share_reads();
        let genuine = text(&theirs, CONTEXT).await.unwrap();
        pair.reveals_nothing(&[&set("memory_copilot.context", &genuine)]).await;
        assert_eq!(text(&theirs, TASKS).await.unwrap(), "theirs");
    }
}

async fn codes_of_other_sessions_are_refused(pair: &Pair) {
    let theirs = pair.rows.theirs;
    let without = format!("select mc.set_project_context('{LOCAL}', '{theirs}', '')");
    assert!(pair.reveals_nothing(&[&without]).await);
    for service in [&pair.on_primary, &pair.on_standby] {
        let tx = service.for_project(LOCAL, theirs).begin().await.unwrap();
        let message = foreign_message(service, theirs).await;
        let replayed = set_context(theirs, &code_in(&message));
        assert!(is_refused(text(&pair.on_standby, &replayed).await));
        assert!(pair.reveals_nothing(&[&replayed]).await);
        tx.commit().await.unwrap();
    }
}

/// The standby is not just a copy: it replays what the primary writes.
async fn new_rows_arrive(pair: &Pair) {
    let row = format!(
        "insert into tasks (id, project_id, external_id, title)
         values (gen_random_uuid(), '{}', 'T-2', 'new')",
        pair.rows.ours
    );
    execute(&pair.url, &row).await.unwrap();
    let arrives = async {
        while text(&pair.ann(), TASKS).await.unwrap() != "new,ours" {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(REPLAY_TIMEOUT, arrives).await.expect("the row arrives");
}
