//! Checks of the files in the data directory.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use indicatif::HumanBytes;
use mc_store::disk;

use super::{CheckResult, bad, good};
use crate::config::Config;
use crate::data_dir::permissions::{self, OpenPath};

/// Name of the check of permissions.
const PERMISSIONS: &str = "permissions";

/// Checks that the local token exists and that only its owner can read it.
pub(super) fn token(config: &Config) -> CheckResult {
    let path = config.token_file();
    let fix = "start the service once to create the token; if other users can read the file, run \
               `chmod 600` on it";
    match std::fs::metadata(&path) {
        Ok(meta) if meta.permissions().mode().trailing_zeros() >= 6 => {
            good("token", path.display().to_string())
        }
        Ok(_) => bad("token", format!("{} can be read by others", path.display()), fix),
        Err(_) => bad("token", format!("{} does not exist", path.display()), fix),
    }
}

/// Checks that the disk of the data directory has space, if it is on this machine.
pub(super) fn disk(config: &Config) -> Option<CheckResult> {
    let dir = config.data_dir.as_path();
    let free = HumanBytes(disk::free_bytes(dir).ok()?);
    let dir_name = dir.display();
    Some(if disk::is_full(dir) {
        let message = format!("the disk of {dir_name} is full ({free} free)");
        bad("disk", message, "free space on it; the service continues by itself within a minute")
    } else {
        good("disk", format!("{free} free for {dir_name}"))
    })
}

/// Checks that other users can't use the files of the data directory.
pub(super) fn data_dir(config: &Config) -> CheckResult {
    let dir = &config.data_dir;
    let mut open = match permissions::list_open(dir) {
        Ok(open) => open,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return good(PERMISSIONS, format!("{} does not exist yet", dir.display()));
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return good(PERMISSIONS, format!("{} is closed to this user", dir.display()));
        }
        Err(error) => {
            let message = format!("{} can't be listed: {error}", dir.display());
            return bad(PERMISSIONS, message, "set data_dir to the directory of the service");
        }
    };
    // The cache has nothing secret, and PostgreSQL's user runs programs in it.
    open.retain(|each| {
        each.path.as_os_str().is_empty() || !config.cache_dir.starts_with(dir.join(&each.path))
    });
    match open.as_slice() {
        [] => good(PERMISSIONS, format!("{} is closed to other users", dir.display())),
        [first, others @ ..] => {
            let path = quoted(dir, &first.path);
            let mode = first.mode;
            let message = match others.len() {
                0 => format!("{path} is open to other users (mode {mode:o})"),
                others => {
                    format!("{path} (mode {mode:o}) and {others} more are open to other users")
                }
            };
            bad(PERMISSIONS, message, closing_command(dir, &open))
        }
    }
}

/// Returns the command that removes the permissions of others from all these paths.
fn closing_command(dir: &Path, open: &[OpenPath]) -> String {
    let is_root = std::fs::metadata(dir).is_ok_and(|found| permissions::is_of_root(found.uid()));
    let tops: BTreeSet<_> = open.iter().map(OpenPath::top).collect();
    let mut commands = Vec::new();
    let mut recursively = Vec::new();
    for top in tops {
        let path = quoted(dir, Path::new(top));
        if top.is_empty() {
            commands.push(format!("chmod {:o} {path}", permissions::of_data_dir(is_root)));
        } else if permissions::is_embedded(top) {
            commands.push(format!("chmod {:o} {path}", permissions::of_embedded(is_root)));
        } else {
            recursively.push(path);
        }
    }
    if !recursively.is_empty() {
        commands.push(format!("chmod -R go= {}", recursively.join(" ")));
    }
    commands.join(" && ")
}

/// Returns a path below the directory as a word of a shell command.
fn quoted(dir: &Path, path: &Path) -> String {
    let path = if path.as_os_str().is_empty() { dir.to_owned() } else { dir.join(path) };
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn permissions_are_fixed_by_the_command_that_the_check_names() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("it's data");
        let mut config = Config::defaults();
        config.data_dir.clone_from(&dir);
        config.cache_dir = dir.join("cache");
        let check = || data_dir(&config);
        assert!(check().ok, "it does not exist yet");
        for name in ["index", "keys", "cache"] {
            fs::create_dir_all(dir.join(name)).expect("a directory");
        }
        let set_modes = |mode: u32, names: &[&str]| {
            for name in names {
                let permissions = fs::Permissions::from_mode(mode);
                fs::set_permissions(dir.join(name), permissions).expect("permissions");
            }
        };
        set_modes(0o700, &["", "index", "keys"]);
        set_modes(0o755, &["cache"]);
        assert!(check().ok, "{}", check().message);

        set_modes(0o755, &["", "index", "keys"]);
        let found = check();
        assert!(!found.ok);
        let expected = "data' (mode 755) and 2 more are open to other users";
        assert!(found.message.ends_with(expected), "{}", found.message);
        let fixed = Command::new("sh").args(["-c", &*found.fix]).status().expect("a shell");
        assert!(fixed.success(), "{}", found.fix);
        assert!(check().ok, "{}", check().message);
        let cache = fs::metadata(dir.join("cache")).expect("the cache");
        assert_eq!(cache.permissions().mode() & 0o777, 0o755);

        set_modes(0o755, &["keys"]);
        let message = check().message;
        assert!(message.ends_with("keys' is open to other users (mode 755)"), "{message}");
    }
}
