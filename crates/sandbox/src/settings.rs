//! Settings of the sandbox.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::command::is_plain;
use crate::init::InitProgram;

/// Paths that are never given to a command, and whose parents are not, either.
const FORBIDDEN: &[&str] =
    &["/boot", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/tmp", "/var"];
/// Paths below which no path is given to a command: their content is made by the kernel or by
/// other programs.
const FORBIDDEN_BELOW: &[&str] = &["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];

/// Which runner a service uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunnerChoice {
    /// Bubblewrap, else Docker if an image is set.
    #[default]
    Auto,
    /// Bubblewrap only.
    Bubblewrap,
    /// Docker only.
    Docker,
    /// No commands.
    None,
}

/// Settings of the sandbox.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which runner is used.
    pub runner: RunnerChoice,
    /// Path of bubblewrap; `None` to find it in the directories of the system.
    pub bubblewrap: Option<PathBuf>,
    /// Program that is the first process in bubblewrap.
    pub init: InitProgram,
    /// Directories with tools outside of `/usr`, which commands can read and execute at the same
    /// path.
    pub read_only_paths: Vec<PathBuf>,
    /// Directories of the service. No directory of a command may contain one of them, or lie in
    /// one of them.
    pub protected_paths: Vec<PathBuf>,
    /// Directories in protected ones. A directory of a command may lie below one of them, but may
    /// not be one of them.
    pub allowed_roots: Vec<PathBuf>,
    /// The Docker engine.
    pub docker: DockerSettings,
}

/// The Docker engine and the image for commands.
#[derive(Debug, Clone)]
pub struct DockerSettings {
    /// Unix socket of the engine's API.
    pub socket: PathBuf,
    /// Image with its digest (`name@sha256:...`). Empty: Docker is not used.
    pub image: String,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self { socket: "/var/run/docker.sock".into(), image: String::new() }
    }
}

impl Settings {
    /// Returns the default settings with this first process.
    pub fn new(init: InitProgram) -> Self {
        Self {
            runner: RunnerChoice::default(),
            bubblewrap: None,
            init,
            read_only_paths: Vec::new(),
            protected_paths: Vec::new(),
            allowed_roots: Vec::new(),
            docker: DockerSettings::default(),
        }
    }

    /// Replaces paths by those without links, and checks them. `system` are the directories of
    /// the system that every command sees.
    pub(crate) fn checked(mut self, system: &[&str]) -> Result<Self, Error> {
        // Who reaches the engine's socket is root on this machine.
        self.protected_paths.push(self.docker.socket.clone());
        for path in self.protected_paths.iter_mut().chain(&mut self.allowed_roots) {
            *path = without_links(path);
        }
        for path in &mut self.read_only_paths {
            *path = checked_tool_path(path)?;
        }
        let tools = self.read_only_paths.iter().map(PathBuf::as_path);
        let shown: Vec<&Path> = tools.chain(system.iter().map(Path::new)).collect();
        for protected in &self.protected_paths {
            if let Some(outer) = shown.iter().find(|outer| protected.starts_with(outer)) {
                return Err(Error::InvalidSetting(format!(
                    "commands can read {}, which contains {} of the service; move one of them",
                    outer.display(),
                    protected.display()
                )));
            }
        }
        check_image(&self.docker.image)?;
        Ok(self)
    }
}

/// Replaces the part of a path that exists by the one without links.
fn without_links(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = existing else { return path.to_owned() };
    path.strip_prefix(part)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
        .map_or_else(|| real.clone(), |rest| real.join(rest))
}

fn checked_tool_path(path: &Path) -> Result<PathBuf, Error> {
    let invalid = |reason: &str| {
        Error::InvalidSetting(format!("read_only_paths contains {}, {reason}", path.display()))
    };
    if !is_plain(path) {
        return Err(invalid("which is not an absolute path without \"..\""));
    }
    let real = path.canonicalize().map_err(|error| invalid(&format!("which fails: {error}")))?;
    if !real.is_dir() {
        return Err(invalid("which is no directory"));
    }
    for path in [path, &real] {
        let contains = FORBIDDEN.iter().any(|forbidden| Path::new(forbidden).starts_with(path));
        let is_below = FORBIDDEN_BELOW.iter().any(|forbidden| path.starts_with(forbidden));
        if contains || is_below {
            let reason = "which has files of users or of the system; name the directory of the \
                          tool itself, such as /opt/node";
            return Err(invalid(reason));
        }
    }
    Ok(real)
}

/// Checks that an image is named by its content: a tag can be changed by others.
fn check_image(image: &str) -> Result<(), Error> {
    let is_digest =
        |digest: &str| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digest = image
        .split_once("@sha256:")
        .is_some_and(|(name, digest)| !name.is_empty() && is_digest(digest));
    if image.is_empty() || has_digest {
        return Ok(());
    }
    Err(Error::InvalidSetting(format!(
        "the image \"{image}\" has no digest; name it as `name@sha256:...`, as `docker images \
         --digests` lists it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(change: impl FnOnce(&mut Settings)) -> Result<Settings, String> {
        let mut settings = Settings::new(InitProgram::current().expect("a program"));
        change(&mut settings);
        settings.checked(&["/usr"]).map_err(|error| error.to_string())
    }

    #[test]
    fn directories_of_users_and_of_the_system_are_refused() {
        let all = FORBIDDEN.iter().copied().chain(["/", "/etc/ssl", "/proc/self", "tools"]);
        for path in all.filter(|path| *path == "tools" || Path::new(path).exists()) {
            let error = checked(|settings| settings.read_only_paths.push(path.into()));
            let error = error.expect_err(path);
            assert!(error.contains(path), "{error}");
        }
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).expect("a link");
        checked(|settings| settings.read_only_paths.push(link)).expect_err("a link to /etc");
        let tools = directory.path().to_owned();
        checked(|settings| settings.read_only_paths.push(tools)).expect("a directory of tools");
    }

    #[test]
    fn readable_directory_must_not_contain_files_of_the_service() {
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        std::fs::create_dir(&data).expect("a directory");
        let error = checked(|settings| {
            settings.read_only_paths.push(directory.path().to_owned());
            settings.protected_paths.push(data.clone());
        });
        assert!(error.expect_err("a protected path").contains("of the service"));
        let error = checked(|settings| settings.protected_paths.push("/usr/share".into()));
        assert!(error.expect_err("a protected path").contains("commands can read /usr"));
        checked(|settings| settings.protected_paths.push(data)).expect("valid settings");
    }

    #[test]
    fn image_needs_a_digest() {
        let set = |image: String| checked(|settings| settings.docker.image = image);
        set(format!("debian@sha256:{}", "0a".repeat(32))).expect("an image");
        for image in ["debian", "debian:12", "debian@sha256:0a", "debian@sha256:"] {
            set(image.to_owned()).expect_err(image);
        }
    }
}
