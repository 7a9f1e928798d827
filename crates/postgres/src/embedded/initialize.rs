//! Makes the data directory ready: folders, lock, password, cluster. A run that is cut short at
//! any point leaves nothing that the next one stumbles over.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;

use super::cluster::{Cluster, NAME, Places, check_path};
use super::discover::discover_for;
use super::lock::DataDirLock;
use super::user::ServerUser;
use super::{EmbeddedError, EmbeddedSettings, Installation};

/// Locks the data directory and brings it to where a server can be started on it.
pub(super) async fn prepare(
    settings: &EmbeddedSettings,
) -> Result<(Cluster, DataDirLock), EmbeddedError> {
    let data_dir = std::path::absolute(&settings.data_dir)
        .map_err(EmbeddedError::io("find", &settings.data_dir))?;
    check_path(&data_dir)?;
    let places = Places(data_dir);
    let user = ServerUser::choose(settings.run_as.as_deref(), &places.cluster())?;
    make_data_dir(&places.0, user.as_ref())?;
    let lock = DataDirLock::acquire(&places.0)?;

    let installed = discover_for(&settings.install_dirs, user.as_ref()).await?;
    let installation = match written_by(&places.cluster())? {
        Some(version) => matching(&places.cluster(), version, installed)?,
        None => newest_preferred(installed),
    };
    make_private_dir(&places.socket())?;
    make_private_dir(&places.log())?;
    let password = password(&places)?;
    let cluster = Cluster { installation, user, places, password };
    if !cluster.places.cluster().exists() {
        initdb(&cluster).await?;
    }
    give_away(&cluster)?;
    Ok((cluster, lock))
}

/// Makes the data directory, closed to others, and sees that the server's user gets there.
fn make_data_dir(data_dir: &Path, user: Option<&ServerUser>) -> Result<(), EmbeddedError> {
    if let Some(parent) = data_dir.parent() {
        fs::create_dir_all(parent).map_err(EmbeddedError::io("create", parent))?;
    }
    if holds_something_else(data_dir) {
        return Err(EmbeddedError::NotOurs(data_dir.to_owned()));
    }
    make_private_dir(data_dir)?;
    if let Some(user) = user {
        let real = data_dir.canonicalize().map_err(EmbeddedError::io("find", data_dir))?;
        if let Some(closed) = user.closed_on_the_way_to(&real) {
            let (user, path) = (user.name.clone(), real);
            return Err(EmbeddedError::Unreachable { user, path, closed });
        }
    }
    Ok(())
}

/// Whether the folder was in use before it became a data directory, which has a lock from its first
/// moment on, or at least the cluster that was restored into it.
fn holds_something_else(data_dir: &Path) -> bool {
    let has_files = fs::read_dir(data_dir).is_ok_and(|mut entries| entries.next().is_some());
    has_files && !data_dir.join("lock").exists() && !data_dir.join("cluster").exists()
}

fn make_private_dir(path: &Path) -> Result<(), EmbeddedError> {
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(path)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o700)))
        .map_err(EmbeddedError::io("create", path))
}

/// The major version that wrote the cluster; none when there is no cluster yet.
fn written_by(cluster: &Path) -> Result<Option<String>, EmbeddedError> {
    if !cluster.exists() {
        return Ok(None);
    }
    let path = cluster.join("PG_VERSION");
    let version = fs::read_to_string(&path).map_err(EmbeddedError::io("read", &path))?;
    Ok(Some(version.trim().to_owned()))
}

/// The first installation that can open a cluster of this version.
fn matching(
    cluster: &Path,
    written_by: String,
    installed: Vec<Installation>,
) -> Result<Installation, EmbeddedError> {
    let available: Vec<String> = installed.iter().map(ToString::to_string).collect();
    installed.into_iter().find(|each| each.major.to_string() == written_by).ok_or_else(|| {
        EmbeddedError::MajorMismatch {
            cluster: cluster.to_owned(),
            written_by,
            available: available.join(", "),
        }
    })
}

/// Discovery lists by preference and never answers an empty list.
fn newest_preferred(installed: Vec<Installation>) -> Installation {
    installed.into_iter().next().expect("discovery found at least one installation")
}

/// The superuser's password: the one on file, or a new one as long as there is no cluster.
fn password(places: &Places) -> Result<String, EmbeddedError> {
    let path = places.password();
    let on_file = fs::read_to_string(&path).unwrap_or_default();
    if !on_file.is_empty() {
        return Ok(on_file);
    }
    if places.cluster().exists() {
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

/// Makes the cluster beside its place and renames it there when it is whole.
async fn initdb(cluster: &Cluster) -> Result<(), EmbeddedError> {
    let unfinished = cluster.places.0.join("cluster.unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(EmbeddedError::io("remove", &unfinished))?;
    }
    make_private_dir(&unfinished)?;
    give_away(cluster)?;

    let mut command = cluster.installation.command("initdb");
    command
        .arg("--pgdata")
        .arg(&unfinished)
        .arg("--pwfile")
        .arg(cluster.places.password())
        .args(["--username", NAME, "--auth", "scram-sha-256"])
        .args(["--encoding", "UTF8", "--locale", "C.UTF-8"])
        .current_dir(&cluster.places.0)
        .stdin(Stdio::null());
    if let Some(user) = &cluster.user {
        user.run(&mut command);
    }
    let output =
        command.output().await.map_err(EmbeddedError::io("run", &cluster.installation.bin))?;
    if !output.status.success() {
        let detail = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(EmbeddedError::Program { program: "initdb", detail });
    }
    let place = cluster.places.cluster();
    fs::rename(&unfinished, &place).map_err(EmbeddedError::io("create", &place))
}

/// Gives the server's user what it works on. The lock stays with the service.
fn give_away(cluster: &Cluster) -> Result<(), EmbeddedError> {
    let Some(user) = &cluster.user else { return Ok(()) };
    let places = &cluster.places;
    let inside = [places.socket(), places.log(), places.password(), places.cluster()];
    for path in inside.iter().filter(|path| path.exists()) {
        user.own(path)?;
    }
    let unfinished = places.0.join("cluster.unfinished");
    if unfinished.exists() {
        user.own(&unfinished)?;
    }
    user.own(&places.0)
}
