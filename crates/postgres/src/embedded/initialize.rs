//! Initialization of the data directory: directories, lock, password, cluster. The next run
//! completes an initialization that was interrupted at any point.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use mc_privileges::UnprivilegedUser;
use nix::fcntl::OFlag;

use super::cluster::{Cluster, NAME, Paths, check_path};
use super::discover::{candidates, examine_all};
use super::lock::DataDirLock;
use super::user::ServerUser;
use super::{EmbeddedError, EmbeddedSettings, Installation, Result};

/// Mode of the directories on the way to the socket, if the service is root: its group passes.
pub const SHARED_DIR_MODE: u32 = 0o710;

/// Locks the data directory and initializes it, so that a server can start on it.
pub(super) async fn prepare(settings: &EmbeddedSettings) -> Result<(Cluster, DataDirLock)> {
    let data_dir = std::path::absolute(&settings.data_dir)
        .map_err(EmbeddedError::io("find", &settings.data_dir))?;
    check_path(&data_dir)?;
    let paths = Paths(data_dir);
    let user = ServerUser::choose(settings.run_as.as_deref(), &paths.cluster())?;
    create_data_dir(&paths.0, user.as_ref())?;
    let lock = DataDirLock::acquire(&paths.0)?;

    let bins = candidates(&settings.install_dirs).await;
    let installed = examine_all(&bins, user.as_ref()).await?;
    let installation = match written_by(&paths.cluster())? {
        Some(version) => find_matching(&paths.cluster(), version, installed)?,
        None => installed.into_iter().next().expect("discovery found at least one installation"),
    };
    create_private_dir(&paths.socket())?;
    create_private_dir(&paths.log())?;
    let password = read_or_create_password(&paths)?;
    let cluster = Cluster { installation, user, paths, password };
    if !cluster.paths.cluster().exists() {
        initdb(&cluster).await?;
    }
    give_to_server_user(&cluster)?;
    Ok((cluster, lock))
}

/// Creates the data directory, private to the service, and checks that the server's user can reach
/// it.
fn create_data_dir(data_dir: &Path, user: Option<&ServerUser>) -> Result<()> {
    if let Some(parent) = data_dir.parent() {
        fs::create_dir_all(parent).map_err(EmbeddedError::io("create", parent))?;
    }
    if has_foreign_files(data_dir) {
        return Err(EmbeddedError::NotOurs(data_dir.to_owned()));
    }
    let created = DirBuilder::new().mode(0o700).recursive(true).create(data_dir);
    created.map_err(EmbeddedError::io("create", data_dir))?;
    let real = real_path(data_dir)?;
    create_private_dir(&real)?;
    if let Some(user) = user
        && let Some(closed) = user.first_closed_parent(&real)
    {
        let (user, path) = (user.name.clone(), real);
        return Err(EmbeddedError::Unreachable { user, path, closed });
    }
    Ok(())
}

/// Returns whether the directory has files but is no data directory. A data directory has a lock
/// file from the start, or at least the cluster that was restored into it.
fn has_foreign_files(data_dir: &Path) -> bool {
    let has_files = fs::read_dir(data_dir).is_ok_and(|mut entries| entries.next().is_some());
    has_files && !data_dir.join("lock").exists() && !data_dir.join("cluster").exists()
}

fn create_private_dir(path: &Path) -> Result<()> {
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(path)
        .and_then(|()| open_dir(path)?.set_permissions(Permissions::from_mode(0o700)))
        .map_err(EmbeddedError::io("create", path))
}

/// Returns the path of the data directory without links: it may be on another disk.
fn real_path(data_dir: &Path) -> Result<PathBuf> {
    data_dir.canonicalize().map_err(EmbeddedError::io("find", data_dir))
}

/// Opens a directory, but not through a link: the server's user could lead root elsewhere by it.
fn open_dir(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Reads the major version of the cluster; `None` if there is no cluster yet.
fn written_by(cluster: &Path) -> Result<Option<String>> {
    if !cluster.exists() {
        return Ok(None);
    }
    let path = cluster.join("PG_VERSION");
    let version = fs::read_to_string(&path).map_err(EmbeddedError::io("read", &path))?;
    Ok(Some(version.trim().to_owned()))
}

/// Returns the first installation that can open a cluster of this version.
fn find_matching(
    cluster: &Path,
    written_by: String,
    installed: Vec<Installation>,
) -> Result<Installation> {
    let available: Vec<String> = installed.iter().map(ToString::to_string).collect();
    installed.into_iter().find(|each| each.major.to_string() == written_by).ok_or_else(|| {
        EmbeddedError::MajorMismatch {
            cluster: cluster.to_owned(),
            written_by,
            available: available.join(", "),
        }
    })
}

/// Reads a file, but not through a link: the server's user could lead root elsewhere by it.
fn read_file(path: &Path) -> io::Result<String> {
    let flags = OFlag::O_NOFOLLOW.bits();
    let mut text = String::new();
    OpenOptions::new().read(true).custom_flags(flags).open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads the superuser's password, or creates one if there is no cluster yet.
fn read_or_create_password(paths: &Paths) -> Result<String> {
    let path = paths.password();
    let stored = match read_file(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        stored => stored.map_err(EmbeddedError::io("read", &path))?,
    };
    if !stored.is_empty() {
        return Ok(stored);
    }
    if paths.cluster().exists() {
        return Err(EmbeddedError::PasswordLost(path));
    }
    let password = hex::encode(rand::random::<[u8; 24]>());
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(password.as_bytes()))
        .map_err(EmbeddedError::io("write", &path))?;
    Ok(password)
}

/// Creates the cluster under another name, and renames it once it is complete.
async fn initdb(cluster: &Cluster) -> Result<()> {
    let unfinished = cluster.paths.0.join("cluster.unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(EmbeddedError::io("remove", &unfinished))?;
    }
    create_private_dir(&unfinished)?;
    give_to_server_user(cluster)?;

    let mut command = cluster.installation.command("initdb");
    command
        .arg("--pgdata")
        .arg(&unfinished)
        .arg("--pwfile")
        .arg(cluster.paths.password())
        .args(["--username", NAME, "--auth", "scram-sha-256"])
        .args(["--encoding", "UTF8", "--locale", "C.UTF-8"])
        .current_dir(&cluster.paths.0)
        .stdin(Stdio::null());
    if let Some(user) = &cluster.user {
        user.apply_to(&mut command);
    }
    let output =
        command.output().await.map_err(EmbeddedError::io("run", &cluster.installation.bin))?;
    if !output.status.success() {
        let detail = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(EmbeddedError::Program { program: "initdb", detail });
    }
    let path = cluster.paths.cluster();
    fs::rename(&unfinished, &path).map_err(EmbeddedError::io("create", &path))
}

/// Makes the server's user the owner of its files. The group of the service may pass through the
/// directories to the socket: a service that is root connects to it as its own user.
fn give_to_server_user(cluster: &Cluster) -> Result<()> {
    let Some(user) = &cluster.user else { return Ok(()) };
    let paths = &cluster.paths;
    let inside = [paths.socket(), paths.log(), paths.password(), paths.cluster()];
    for path in inside.iter().filter(|path| path.exists()) {
        user.take_ownership(path)?;
    }
    let unfinished = paths.0.join("cluster.unfinished");
    if unfinished.exists() {
        user.take_ownership(&unfinished)?;
    }
    user.take_ownership(&paths.0)?;
    for path in [&real_path(&paths.0)?, &paths.socket()] {
        let share = || {
            let directory = open_dir(path)?;
            fchown(&directory, None, Some(UnprivilegedUser::SERVICE.gid))?;
            directory.set_permissions(Permissions::from_mode(SHARED_DIR_MODE))
        };
        share().map_err(EmbeddedError::io("change the group of", path))?;
    }
    Ok(())
}
