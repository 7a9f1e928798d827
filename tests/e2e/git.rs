//! Git in the real service.

use std::env::split_paths;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;
use serde_json::Value;

use crate::cache::cache;
use crate::harness::Service;
use crate::repository;

/// Id of the user of git for ssh URLs, if the service is root.
const PRIVATE_GIT: u32 = 65_528;

/// The user's configuration could send git to another repository, or run programs.
#[tokio::test]
async fn git_ignores_the_configuration_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    let (home, other) = (directory.path().join("home"), directory.path().join("other"));
    fs::create_dir(&home).unwrap();
    repository::write(&other, "a.txt", "another repository\n");
    git(&home, &other, &["init", "-q", "-b", "main"]);
    repository::commit(&other, "first");
    let [location, instead] = [&shop, &other].map(|path| format!("file://{}", path.display()));
    let config = format!("[url \"{instead}\"]\n\tinsteadOf = {location}\n");
    fs::write(home.join(".gitconfig"), config).unwrap();
    let [head, other_head] = [&shop, &other].map(|path| git(&home, path, &["rev-parse", "HEAD"]));
    let followed = git(&home, &shop, &["ls-remote", &location, "HEAD"]);
    assert!(followed.starts_with(&other_head), "git follows the configuration: {followed}");

    let mut service = Service::prepared();
    service.set("HOME", home.clone());
    service.set("XDG_CONFIG_HOME", home.join(".config"));
    service.set("MEMORY_COPILOT_CACHE", cache());
    service.launch().await;
    service.project("shop").await;
    let run = service.index("shop", Path::new(&location)).await;
    assert_eq!(run["source_ref"], head, "{run}");
}

fn git(home: &Path, directory: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(args).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").env_remove("GIT_CONFIG_GLOBAL");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Program in place of ssh that serves the repository on this machine. It fails if it has another
/// user or other arguments than the file `expected` next to it lists, or if it is root and can
/// write to the file.
const SSH: &str = r#"#!/bin/sh
here=$(dirname "$0")
found=$(id -u; printf '%s\n' "$@")
if [ "$found" != "$(cat "$here/expected")" ]; then
    echo "ssh: unexpected $found" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ] && (: >> "$here/expected") 2>/dev/null; then
    echo "ssh: it is root and can write files" >&2
    exit 1
fi
for command; do :; done
exec sh -c "$command"
"#;

/// Only ssh has the rights of the service. Git, which reads what the host sends, has its own user.
#[tokio::test]
async fn git_over_ssh_is_not_the_user_of_ssh() {
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    let programs = directory.path().join("bin");
    repository::write(&programs, "ssh", SSH);
    fs::set_permissions(programs.join("ssh"), Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([programs.clone()].into_iter().chain(split_paths(&path)));

    let own = geteuid().as_raw();
    let of_root = "-oStrictHostKeyChecking=yes\n-oControlMaster=no\n";
    let of_root = if own == 0 { of_root } else { "" };
    let options = format!("-oBatchMode=yes\n-oSendEnv=GIT_PROTOCOL\n{of_root}-p\n2222\n-l\ngit");
    let command = format!("git-upload-pack '{}'", shop.display());
    let expected = format!("{own}\n{options}\n--\ngit.example.org\n{command}\n");
    repository::write(&programs, "expected", &expected);

    let mut service = Service::prepared();
    service.set("PATH", path.unwrap().into());
    service.launch().await;
    service.project("shop").await;
    let location = format!("ssh://git@git.example.org:2222{}", shop.display());
    let run = service.index("shop", Path::new(&location)).await;
    assert!(run["source_ref"].as_str().is_some_and(|commit| commit.len() == 40), "{run}");

    let copies = fs::read_dir(service.data_dir.join("repositories")).unwrap();
    let copies = copies.map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir());
    let owners: Vec<u32> = copies.map(|copy| copy.metadata().unwrap().uid()).collect();
    assert!(!owners.is_empty());
    let expected = if own == 0 { PRIVATE_GIT } else { own };
    assert!(owners.iter().all(|owner| *owner == expected), "{owners:?}");
}

/// The service works as another user than root, but reads a directory with the rights of its owner.
#[tokio::test]
async fn service_of_root_indexes_directories_that_only_their_owner_can_read() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let service = Service::embedded().await;
    for owner in [0, 54_321] {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
        let shop = repository::cart_sessions(directory.path());
        let secured = Command::new("sh")
            .args(["-c", "chmod -R go= \"$1\" && chown -R \"$0:$0\" \"$1\"", &owner.to_string()])
            .arg(&shop)
            .status();
        assert!(secured.unwrap().success());
        let project = format!("shop-{owner}");
        service.project(&project).await;
        for (name, scheme) in [("in-place", ""), ("copy", "file://")] {
            let location = format!("{scheme}{}", shop.display());
            let run = service.index_as(&project, name, Path::new(&location)).await;
            assert!(run["source_ref"].as_str().is_some_and(|commit| commit.len() == 40), "{run}");
            assert_eq!(run["files_skipped"]["unreadable"], Value::Null, "{run}");
        }
    }
}
