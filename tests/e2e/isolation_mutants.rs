//! The mutants of the isolation tests: each still applies to the code.

use std::path::Path;
use std::process::Command;

#[test]
fn every_isolation_mutant_applies() {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let script = Path::new(&package).join("../../scripts/isolation-mutants");
    let output = Command::new(script).arg("--check").output().expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
