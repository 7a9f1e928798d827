//! The credential of a fetch or push, which only git and its children can read.
//!
//! Git asks the program of `GIT_ASKPASS` for the password. This is a shell script in memory that
//! prints it. Only the processes of one git have a descriptor of the script, and other processes of
//! the same user can open it by them. So the password is in no argument, URL, configuration,
//! environment variable or file of the disk.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags, fchmod, memfd_create, open};
use rustix::io::Errno;
use secrecy::{ExposeSecret as _, SecretString};

/// Redirections that make the standard input of a program its descriptor 4.
pub(super) const DESCRIPTOR: &str = " 4<&0 </dev/null";
/// Path of the script in git and its children.
pub(super) const PATH: &str = "/proc/self/fd/4";

/// User name and password, or token, for an https host.
#[derive(Debug, Clone)]
pub struct Credential {
    /// User name. Hosts that take tokens accept any, such as `x-access-token`.
    pub user: String,
    /// Password or token.
    pub secret: SecretString,
}

impl Credential {
    /// Returns the settings that make git use the credential for its URL only: no other host that
    /// a redirect names gets it.
    pub(super) fn settings(&self) -> [String; 2] {
        [format!("credential.username={}", self.user), "http.followRedirects=false".to_owned()]
    }

    /// Returns the script, open for reading.
    pub(super) fn script(&self) -> io::Result<OwnedFd> {
        let secret = self.secret.expose_secret();
        if secret.contains(['\n', '\r', '\0']) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a password has several lines"));
        }
        let memory = match memfd_create("askpass", MemfdFlags::CLOEXEC | MemfdFlags::EXEC) {
            // Before Linux 6.3, every such file can be executed.
            Err(Errno::INVAL) => memfd_create("askpass", MemfdFlags::CLOEXEC)?,
            memory => memory?,
        };
        let quoted = secret.replace('\'', r"'\''");
        let mut writer = File::from(memory);
        writeln!(writer, "#!/bin/sh\nprintf '%s\\n' '{quoted}'")?;
        // Git may run as another user.
        fchmod(&writer, Mode::from_raw_mode(0o555))?;
        // A program that is open for writing can't be started.
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }
}
