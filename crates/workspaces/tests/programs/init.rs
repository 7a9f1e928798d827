//! The first process of the sandboxes of the tests, as the service's program is of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    mc_sandbox::serve()
}
