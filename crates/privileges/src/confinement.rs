//! Programs that open only the files of some directories.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic;
use std::path::PathBuf;
use std::thread;

use landlock::{
    Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::privileges::TESTED_ABI;

/// Directories of libraries, one of which is the program that loads them.
const LIBRARIES: &[&str] = &[
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
    "/usr/local/lib64",
];
/// Files that programs and libraries read, of which none is secret.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/resolv.conf",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/run/systemd/resolve",
    "/usr/share/ca-certificates",
    "/usr/share/locale",
    "/usr/share/zoneinfo",
    "/var/lib/ca-certificates",
];
/// Devices that programs read and write.
const DEVICES: &[&str] = &["/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Directories outside of which a program opens nothing but its own files, libraries, and public
/// settings of the system.
///
/// Directories are held open, so another one that takes the place of one on the disk is not among
/// them. A program can still ask whether a path exists, change the mode of a file that belongs to
/// its user, and connect to a socket of the file system. A kernel without Landlock (before Linux
/// 5.13) confines nothing.
#[derive(Debug, Default)]
pub struct Confinement {
    writable: Vec<OwnedFd>,
    readable: Vec<OwnedFd>,
    programs: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Confinement {
    /// Adds a directory with all that is below it. In it, a program reads and writes files, runs
    /// none, and creates no pipe, socket or device.
    pub fn add_writable(&mut self, directory: OwnedFd) {
        self.writable.push(directory);
    }

    /// Adds a directory in which a program reads files.
    pub fn add_readable(&mut self, directory: OwnedFd) {
        self.readable.push(directory);
    }

    /// Adds programs, and directories of programs and libraries. No other program runs.
    pub fn add_programs(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.programs.extend(paths);
    }

    /// Adds files that a program reads, and directories of such files, by their paths.
    pub fn add_files(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.files.extend(paths);
    }

    /// Returns the same confinement, to which more can be added.
    pub fn try_clone(&self) -> io::Result<Self> {
        let cloned = |directories: &[OwnedFd]| {
            directories.iter().map(OwnedFd::try_clone).collect::<io::Result<Vec<_>>>()
        };
        Ok(Self {
            writable: cloned(&self.writable)?,
            readable: cloned(&self.readable)?,
            programs: self.programs.clone(),
            files: self.files.clone(),
        })
    }

    /// Runs a function in a thread that is confined with the programs that it starts. They gain no
    /// privileges, signal no other process, and connect to no host over TCP unless `has_network`.
    pub fn run<T: Send>(&self, has_network: bool, run: impl FnOnce() -> T + Send) -> io::Result<T> {
        let run = || {
            self.restrict_thread(has_network).map_err(io::Error::other)?;
            Ok(run())
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, run)?;
            thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        })
    }

    fn restrict_thread(&self, has_network: bool) -> Result<RulesetStatus, RulesetError> {
        let all = AccessFs::from_all(TESTED_ABI);
        let scope = Scope::Signal | Scope::AbstractUnixSocket;
        let mut rules = Ruleset::default().handle_access(all)?.scope(scope)?;
        if !has_network {
            rules = rules.handle_access(AccessNet::from_all(TESTED_ABI))?;
        }
        let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
        let run = read | AccessFs::Execute;
        let mut rules = rules
            .create()?
            .add_rules(path_beneath_rules(LIBRARIES, run))?
            .add_rules(path_beneath_rules(&self.programs, run))?
            .add_rules(path_beneath_rules(SETTINGS, read))?
            .add_rules(path_beneath_rules(&self.files, read))?
            .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?;
        let special = AccessFs::MakeFifo
            | AccessFs::MakeSock
            | AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::Execute;
        for directory in &self.writable {
            rules = rules.add_rule(PathBeneath::new(directory.as_fd(), all & !special))?;
        }
        for directory in &self.readable {
            rules = rules.add_rule(PathBeneath::new(directory.as_fd(), read))?;
        }
        Ok(rules.restrict_self()?.ruleset)
    }
}
