//! Programs that open only the files of some directories.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic;
use std::path::{Path, PathBuf};
use std::thread;

use landlock::{
    Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::privileges::TESTED_ABI;

/// Directories of programs and libraries.
const PROGRAMS: &[&str] =
    &["/bin", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sbin", "/usr"];
/// Environment variables with more of these directories, separated by `:`.
const PROGRAM_VARIABLES: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];
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
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/run/systemd/resolve",
];
/// Devices that programs read and write.
const DEVICES: &[&str] = &["/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Directories outside of which a program opens nothing but other programs, libraries and settings
/// of the system.
///
/// They are held open, so another directory that takes the place of one on the disk is not among
/// them. A program can still ask whether a path exists. A kernel without Landlock (before Linux
/// 5.13) confines nothing.
#[derive(Debug, Default)]
pub struct Confinement {
    directories: Vec<OwnedFd>,
}

impl Confinement {
    /// Adds a directory with all that is below it. In it, a program reads and writes files, runs
    /// none, and creates no pipe, socket or device.
    pub fn add(&mut self, directory: OwnedFd) {
        self.directories.push(directory);
    }

    /// Returns the same confinement, to which directories can be added.
    pub fn try_clone(&self) -> io::Result<Self> {
        let directories = self.directories.iter().map(OwnedFd::try_clone);
        Ok(Self { directories: directories.collect::<io::Result<_>>()? })
    }

    /// Runs a function in a thread that is confined with the programs that it starts. They gain no
    /// privileges, signal no other process, and connect to no host unless `has_network`.
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
        let mut rules = Ruleset::default()
            .handle_access(all)?
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?;
        if !has_network {
            rules = rules.handle_access(AccessNet::from_all(TESTED_ABI))?;
        }
        let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
        let programs = PROGRAMS.iter().map(PathBuf::from).chain(more_programs());
        let mut rules = rules
            .create()?
            .add_rules(path_beneath_rules(programs, read | AccessFs::Execute))?
            .add_rules(path_beneath_rules(SETTINGS, read))?
            .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?;
        let pipes = AccessFs::MakeFifo
            | AccessFs::MakeSock
            | AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::Execute;
        for directory in &self.directories {
            rules = rules.add_rule(PathBeneath::new(directory.as_fd(), all & !pipes))?;
        }
        Ok(rules.restrict_self()?.ruleset)
    }
}

/// Returns the directories of programs and libraries that the environment names, and the one in
/// which git is installed: its other programs are beside that of its program.
fn more_programs() -> Vec<PathBuf> {
    let listed = PROGRAM_VARIABLES.iter().filter_map(env::var_os);
    let mut directories: Vec<PathBuf> = listed
        .flat_map(|list| env::split_paths::<OsStr>(&list).collect::<Vec<_>>())
        .filter(|directory| directory.is_absolute())
        .collect();
    let git = directories.iter().find_map(|each| each.join("git").canonicalize().ok());
    let prefix = git.as_deref().and_then(Path::parent).and_then(Path::parent);
    directories.extend(prefix.filter(|prefix| prefix.parent().is_some()).map(Path::to_owned));
    directories
}
