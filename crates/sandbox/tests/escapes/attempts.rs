//! The attempts. A script prints what it gets from the outside, or [`ESCAPED`] if it was allowed to
//! do something, and [`TRIED`] at its end.

mod files;
mod kernel;
mod processes;
mod programs;

use std::path::Path;

use crate::outside::Outside;

/// Line of a script that was allowed to do what it must not.
pub const ESCAPED: &str = "ESCAPED";
/// Last line of each script.
pub const TRIED: &str = "TRIED";

/// Functions for the scripts of Python.
const PRELUDE: &str = r#"
import ctypes, fcntl, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[
        ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    print(name, "ESCAPED" if result >= 0 else os.strerror(ctypes.get_errno()))
def attempt(name, function):
    try: print(name, "ESCAPED", function())
    except (OSError, ValueError) as error: print(name, error)
def show(function):
    try: print(function())
    except (OSError, ValueError) as error: print(error)
"#;

/// Directories of programs. A command finds only those of the first ones by their name.
const PROGRAM_DIRECTORIES: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/// One attempt.
pub struct Attempt {
    pub name: &'static str,
    pub script: String,
    pub is_python: bool,
    /// Program without which the attempt proves nothing.
    pub tool: Option<&'static str>,
}

impl Attempt {
    /// Returns the program that the attempt needs and that is not installed.
    pub fn missing_tool(&self) -> Option<&'static str> {
        let is_there = |tool: &&str| {
            PROGRAM_DIRECTORIES.iter().any(|path| Path::new(path).join(tool).exists())
        };
        self.tool.filter(|tool| !is_there(tool))
    }
}

fn shell(name: &'static str, script: &str) -> Attempt {
    Attempt { name, script: format!("{script}\necho {TRIED}"), is_python: false, tool: None }
}

/// A script of the shell that runs this program.
fn shell_with(tool: &'static str, name: &'static str, script: &str) -> Attempt {
    let path = PROGRAM_DIRECTORIES.join(":");
    // A program that is not found would look like one that is refused.
    let script = format!("PATH={path}\ncommand -v {tool} > /dev/null || exit\n{script}");
    Attempt { tool: Some(tool), ..shell(name, &script) }
}

fn python(name: &'static str, script: &str) -> Attempt {
    let script = format!("{PRELUDE}\n{script}\nprint('{TRIED}')");
    Attempt { name, script, is_python: true, tool: None }
}

/// Returns all attempts.
pub fn all(outside: &Outside) -> Vec<Attempt> {
    let mut all = files::attempts(outside);
    all.extend(processes::attempts(outside));
    all.extend(programs::attempts());
    all.extend(kernel::attempts());
    all
}
