//! Limits of a command.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Smallest number of processes with which a shell can run a pipe.
const MIN_PROCESSES: u64 = 4;
/// Smallest number of open files with which a program can load its libraries.
const MIN_OPEN_FILES: u64 = 16;
/// Smallest memory in which the first process of the sandbox starts, in bytes.
const MIN_MEMORY_BYTES: u64 = 64 << 20;
/// Smallest file system in memory, in bytes: a page.
const MIN_TEMPORARY_BYTES: u64 = 4096;
/// Most output that the service keeps in its memory, in bytes.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;
/// Largest number of processes, which are all measured again and again.
const MAX_PROCESSES: u64 = 4096;
/// Largest number of open files that the kernel allows.
const MAX_OPEN_FILES: u64 = 1 << 20;
/// Longest time of a command.
const MAX_TIME: Duration = Duration::from_hours(24);

/// Limits of a command and of all processes that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time from the start of the sandbox until its processes get SIGTERM. Five minutes by
    /// default, a day at most.
    pub wall_time: Duration,
    /// Time between SIGTERM and SIGKILL. Two seconds by default.
    pub grace_time: Duration,
    /// Processor time of all processes together. Five minutes by default.
    pub processor_time: Duration,
    /// Memory of all processes together, with the files in `/tmp` and `/dev/shm`, in bytes. Memory
    /// that several processes share counts once for each. Buffers of sockets and pipes in the
    /// kernel do not count in bubblewrap, only the number of open files limits them. 1 GiB by
    /// default.
    pub memory_bytes: u64,
    /// Number of processes and threads together. 128 by default.
    pub processes: u64,
    /// Size of a file that a process writes, in bytes. 256 MiB by default.
    pub file_bytes: u64,
    /// Space that the command may use on the disks of its writable directories, in bytes. It is
    /// measured as the decrease of their free space, so what other programs write meanwhile counts,
    /// too. A file takes a page at least. 4 GiB by default. Not in Docker.
    pub disk_bytes: u64,
    /// Size of all files in `/tmp`, and of all in `/dev/shm`, in bytes. 256 MiB by default.
    pub temporary_bytes: u64,
    /// Kept bytes of standard output, and of standard error. Half of them are the first ones, half
    /// the last ones. 64 KiB by default. More output is read and dropped.
    pub output_bytes: usize,
    /// Files that one process may have open. 1024 by default.
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_time: Duration::from_mins(5),
            grace_time: Duration::from_secs(2),
            processor_time: Duration::from_mins(5),
            memory_bytes: 1 << 30,
            processes: 128,
            file_bytes: 256 << 20,
            disk_bytes: 4 << 30,
            temporary_bytes: 256 << 20,
            output_bytes: 64 << 10,
            open_files: 1024,
        }
    }
}

impl Limits {
    /// Checks that a program can run at all under these limits, and that all of them end.
    pub fn check(&self) -> Result<(), Error> {
        let day = MAX_TIME.as_secs();
        let ranges = [
            ("wall_time", self.wall_time.as_secs(), 1, day),
            ("grace_time", self.grace_time.as_secs(), 0, day),
            ("processor_time", self.processor_time.as_secs(), 1, u64::MAX),
            ("memory_bytes", self.memory_bytes, MIN_MEMORY_BYTES, u64::MAX),
            ("processes", self.processes, MIN_PROCESSES, MAX_PROCESSES),
            ("temporary_bytes", self.temporary_bytes, MIN_TEMPORARY_BYTES, u64::MAX),
            ("output_bytes", self.output_bytes as u64, 0, MAX_OUTPUT_BYTES),
            ("open_files", self.open_files, MIN_OPEN_FILES, MAX_OPEN_FILES),
        ];
        match ranges.into_iter().find(|(_, value, least, most)| value < least || value > most) {
            None => Ok(()),
            Some((name, value, least, most)) => {
                Err(Error::InvalidLimit { name, value, least, most })
            }
        }
    }
}
