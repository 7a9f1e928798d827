//! The threats of SECURITY.md, which `make attack` runs: each names tests, and these exist.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the root at run time: the binary may have been built in another checkout.
fn root() -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    Path::new(&package).join("../..")
}

/// Checks a document; SECURITY.md by default.
fn check(document: Option<&Path>) -> Output {
    let mut command = Command::new(root().join("scripts/attack"));
    command.arg("--check").args(document).output().expect("the script runs")
}

#[test]
fn every_threat_names_tests_that_exist() {
    let output = check(None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_threat_without_an_existing_test_fails_the_check() {
    let security = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let document = dir.path().join("SECURITY.md");
    for (quoted, replacement, error) in [
        (
            "`a_request_has_exactly_one_host`",
            "`a_request_has_no_host`",
            "two host names in one request, so that a proxy and the service use different ones: \
             there is no test a_request_has_no_host",
        ),
        ("`a_request_has_exactly_one_host`", "none", "it names no test"),
        (
            "(`crates/redis/tests/nodes.rs`)",
            "(`crates/redis/tests/missing.rs`)",
            "crates/redis/tests/missing.rs does not exist",
        ),
        ("`connectors/tests/signatures.rs`", "`connectors/src/lib.rs`", "has no test"),
        // A list item outside of the tables.
        (
            "`server_has_the_extensions_and_listens_on_no_port`",
            "`server_listens_on_no_port_at_all`",
            "PostgreSQL: there is no test server_listens_on_no_port_at_all",
        ),
        (
            "`token_is_generated_once_and_stays_private`",
            "a test",
            "The token's file: it names no test",
        ),
    ] {
        let changed = security.replace(quoted, replacement);
        assert_ne!(changed, security, "{quoted}");
        std::fs::write(&document, changed).unwrap();
        let output = check(Some(&document));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(error), "{error}: {said}");
    }
}
