//! A program as the service's: it is the first process of its own sandboxes. With other arguments,
//! it is a service that runs one command.

use std::io::Write as _;
use std::process::ExitCode;

use mc_sandbox::{Command, InitProgram, PROCESS_ARGUMENT, Sandbox, Settings};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(PROCESS_ARGUMENT) => mc_sandbox::serve(),
        Some("service") => serve_one_command(&arguments.next().expect("a name")),
        other => panic!("unknown argument {other:?}"),
    }
}

/// Runs a command that does not end, and prints its output. `name` is among its arguments.
#[tokio::main]
async fn serve_one_command(name: &str) -> ExitCode {
    let settings = Settings::new(InitProgram::current().expect("this program"));
    let sandbox = Sandbox::detect(settings).await.expect("a sandbox");
    let script = "trap '' TERM HUP; echo ready; while :; do sleep 1; done";
    let command = Command::new("/bin/sh").args(["-c", script, name]);
    let print = |_, bytes: &[u8]| {
        std::io::stdout()
            .write_all(bytes)
            .and_then(|()| std::io::stdout().flush())
            .expect("output");
    };
    sandbox.run(command, print, &CancellationToken::new()).await.expect("an outcome");
    ExitCode::SUCCESS
}
