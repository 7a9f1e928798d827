//! `memory-copilot mcp` on the streams of real clients: pipes, sockets, terminals. No service runs,
//! and the server must start and stop without one.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::{binary, until_in_call};

/// Timeout of a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
);

#[test]
fn signal_ends_a_server_on_sockets() {
    for name in ["TERM", "INT"] {
        let (mut client, mut child) = on_sockets();
        greet(&mut client);
        until_it_reads(&child);
        let status = signalled(&mut child, name);
        assert!(status.success(), "SIG{name}: {status}");
    }
}

#[test]
fn signal_ends_a_server_on_pipes() {
    let mut child = server().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.as_mut().unwrap(), child.stdout.as_mut().unwrap());
    writeln!(stdin, "{HELLO}").unwrap();
    expect_answer(stdout);
    let status = signalled(&mut child, "TERM");
    assert!(status.success(), "{status}");
}

#[test]
fn log_is_quiet_by_default_and_colored_on_terminals_only() {
    for level in ["info", "debug"] {
        let mut child = server()
            .env("MEMORY_COPILOT__LOG__LEVEL", level)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{HELLO}").unwrap();
        expect_answer(child.stdout.as_mut().unwrap());
        drop(child.stdin.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        ended(&mut child);
        assert!(!said.contains('\u{1b}') && !said.contains("client_info"), "{level}: {said}");
        assert!(level == "debug" || said.is_empty(), "{level}: {said}");
    }
}

#[test]
fn closed_input_ends_the_server() {
    let (mut client, mut child) = on_sockets();
    greet(&mut client);
    drop(client);
    assert!(ended(&mut child).success());
}

#[test]
fn invalid_first_message_is_reported_and_ends_the_server() {
    let (mut client, mut child) = on_sockets();
    writeln!(client, r#"{{"jsonrpc":"2.0","id":1,"result":{{}}}}"#).unwrap();
    let status = ended(&mut child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!status.success() && said.contains("handshake failed"), "{status}: {said}");
}

#[test]
fn terminal_shows_a_hint_and_a_signal_ends_the_server() {
    let (terminal, side) = terminal();
    let clone = || Stdio::from(side.try_clone().unwrap());
    let mut child = server().stdin(clone()).stdout(clone()).stderr(Stdio::piped()).spawn().unwrap();
    let mut hint = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut hint).unwrap();
    assert!(hint.contains("MCP server") && hint.contains("client install"), "{hint}");
    until_it_reads(&child);
    let status = signalled(&mut child, "TERM");
    assert!(status.success(), "{status}");
    drop(terminal);
}

/// Starts a server whose standard input and output are one socket, as Node does.
fn on_sockets() -> (UnixStream, Child) {
    let (client, theirs) = UnixStream::pair().unwrap();
    let clone = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
    let child = server().stdin(clone()).stdout(clone()).stderr(Stdio::piped()).spawn().unwrap();
    (client, child)
}

fn server() -> Command {
    let mut command = Command::new(binary());
    command.args(["mcp", "--project", "shop"]).env("MEMORY_COPILOT__LOG__LEVEL", "error");
    command
}

fn greet(client: &mut UnixStream) {
    writeln!(client, "{HELLO}").unwrap();
    expect_answer(client);
}

fn expect_answer(stream: &mut impl Read) {
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("serverInfo"), "{answer}");
}

/// Waits until a thread of the child is in `read(0, ...)`, which a stop must interrupt.
fn until_it_reads(child: &Child) {
    // Of x86-64 and AArch64.
    until_in_call(child, &["0 0x0 ", "63 0x0 "]);
}

fn signalled(child: &mut Child, name: &str) -> ExitStatus {
    let pid = child.id().to_string();
    let asked = Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
    assert!(asked.success());
    ended(child)
}

fn ended(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > STOP_TIMEOUT {
            child.kill().unwrap();
            panic!("the server is still there after {STOP_TIMEOUT:?}");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Opens a pseudo-terminal and returns both ends, the user's first.
fn terminal() -> (OwnedFd, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
    let side = File::options().read(true).write(true).open(name).unwrap();
    (user, side)
}
