//! Git in the real service.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cache::cache;
use crate::harness::Service;
use crate::repository;

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
