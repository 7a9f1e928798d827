//! The check of dependencies, if the database of security advisories can't be fetched.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// A cargo without network: every check passes, and the database can't be fetched.
const CARGO_WITHOUT_NETWORK: &str =
    "#!/bin/sh\n[ \"$2\" != fetch ] || { echo 'error: no route to host' >&2; exit 1; }\n";

/// Runs the script with `ADVISORIES` set to this value.
fn deny(advisories: &str) -> Output {
    let programs = tempfile::tempdir().unwrap();
    let cargo = programs.path().join("cargo");
    fs::write(&cargo, CARGO_WITHOUT_NETWORK).unwrap();
    fs::set_permissions(&cargo, Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/deny"))
        .env("ADVISORIES", advisories)
        .env("PATH", format!("{}:{path}", programs.path().display()))
        .output()
        .unwrap()
}

#[test]
fn unchecked_advisories_end_the_output_with_a_warning_and_fail_a_release() {
    let output = deny("");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no route to host"), "{said}");
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("deny: WARNING: security advisories were NOT CHECKED"), "{said}");

    let output = deny("required");
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("deny: FAILED: security advisories were not checked"), "{said}");
}
