//! Measures the memory and the processor time of all processes of the namespace.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{StatVfs, statvfs};

use super::read_of_process;
use crate::limits::Limits;
use crate::outcome::{Limit, Usage};

/// File systems in memory in which a command can write.
const MEMORY_FILE_SYSTEMS: [&str; 2] = ["/tmp", "/dev/shm"];
/// Fields of `/proc/ID/status` that together are the memory of a process.
const MEMORY_FIELDS: [&str; 5] = ["RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:", "HugetlbPages:"];
/// Memory of the kernel for one file there, in bytes.
const FILE_BYTES: u64 = 1024;
/// Space on a disk for one file, in bytes. A disk also has a limited number of files.
const DISK_FILE_BYTES: u64 = 4096;
/// Units of processor time in `/proc`: a hundredth of a second on all processors of Linux.
const TICK: Duration = Duration::from_millis(10);

/// A process, by its id and its start: ids are used again.
type ProcessKey = (u32, u64);

/// Measures what all processes of the namespace use together.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Writable directories on disks, and what was used there before.
    disks: Vec<(PathBuf, u64)>,
    usage: Usage,
    /// Processor time of each process at the last measurement, in ticks.
    running: HashMap<ProcessKey, u64>,
    /// Processor time of processes that have ended, in ticks.
    ended: u64,
}

/// What one process uses.
#[derive(Debug, Default, PartialEq, Eq)]
struct Measured {
    memory_bytes: u64,
    threads: u64,
    start: u64,
    /// Its own processor time, in ticks.
    ticks: u64,
    /// Processor time of its children that it has collected, in ticks.
    children_ticks: u64,
}

impl Meter {
    /// Returns a meter for a command that can write in these directories.
    pub fn new(writable: impl Iterator<Item = PathBuf>) -> io::Result<Self> {
        let disks = writable.map(|path| {
            let used = used_bytes(&statvfs(&path)?, DISK_FILE_BYTES);
            Ok((path, used))
        });
        Ok(Self { disks: disks.collect::<io::Result<_>>()?, ..Self::default() })
    }

    /// Measures, and returns the limit that is exceeded.
    pub fn measure(&mut self, limits: &Limits) -> io::Result<Option<Limit>> {
        let ids = process_ids()?;
        // The kernel allows no more processes than this, including the first process. Reading more
        // of them would only give the command time to create others.
        let most = limits.processes + 1;
        if ids.len() as u64 > most {
            self.usage.peak_processes = self.usage.peak_processes.max(ids.len() as u64);
            return Ok(Some(Limit::Processes));
        }
        let processes = running_processes(&ids);
        let memory: u64 = processes.iter().map(|(_, process)| process.memory_bytes).sum();
        let memory = memory + memory_of_files()?;
        let threads = processes.iter().map(|(_, process)| process.threads).sum();
        let time = TICK.saturating_mul(u32::try_from(self.ticks(&processes)).unwrap_or(u32::MAX));
        self.usage.processor_time = self.usage.processor_time.max(time);
        self.usage.peak_memory_bytes = self.usage.peak_memory_bytes.max(memory);
        self.usage.peak_processes = self.usage.peak_processes.max(threads);
        Ok(if memory > limits.memory_bytes {
            Some(Limit::Memory)
        } else if time > limits.processor_time {
            Some(Limit::ProcessorTime)
        } else if self.uses_more_disk(limits.disk_bytes)? {
            Some(Limit::DiskBytes)
        } else {
            (threads > most).then_some(Limit::Processes)
        })
    }

    /// Returns the largest usage that was measured.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Directories may share a disk, so each is compared alone.
    fn uses_more_disk(&self, most: u64) -> io::Result<bool> {
        for (path, before) in &self.disks {
            let used = used_bytes(&statvfs(path)?, DISK_FILE_BYTES);
            if used.saturating_sub(*before) > most {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the processor time until now. A parent that collects its children has their time,
    /// and one that ignores them has not, so both sums are made.
    fn ticks(&mut self, processes: &[(u32, Measured)]) -> u64 {
        let running: HashMap<ProcessKey, u64> =
            processes.iter().map(|(id, process)| ((*id, process.start), process.ticks)).collect();
        let is_ended = |key: &ProcessKey| !running.contains_key(key);
        let ended = self.running.iter().filter(|(key, _)| is_ended(key));
        self.ended += ended.map(|(_, ticks)| ticks).sum::<u64>();
        let observed = self.ended + running.values().sum::<u64>();
        self.running = running;
        let collected: u64 =
            processes.iter().map(|(_, process)| process.ticks + process.children_ticks).sum();
        observed.max(collected)
    }
}

fn process_ids() -> io::Result<Vec<u32>> {
    let listed = fs::read_dir("/proc")?;
    Ok(listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn running_processes(ids: &[u32]) -> Vec<(u32, Measured)> {
    let measured_process = |id: &u32| {
        let stat = read_of_process(&format!("/proc/{id}/stat"))?;
        let status = read_of_process(&format!("/proc/{id}/status"))?;
        Some((*id, measured(&stat, &status)?))
    };
    ids.iter().filter_map(measured_process).collect()
}

/// Parses `/proc/ID/stat` and `/proc/ID/status`.
fn measured(stat: &str, status: &str) -> Option<Measured> {
    // The name of the program may contain blanks and parentheses.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    // As numbered in the manual, where the state is field 3.
    let field = |number: usize| fields.get(number - 3)?.trim().parse::<u64>().ok();
    let value = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    // A process that has ended and is not collected has no memory.
    let kibibytes: u64 = MEMORY_FIELDS.iter().filter_map(|name| value(name)).sum();
    Some(Measured {
        memory_bytes: kibibytes * 1024,
        threads: value("Threads:").unwrap_or(1),
        start: field(22)?,
        ticks: field(14)? + field(15)?,
        children_ticks: field(16)? + field(17)?,
    })
}

/// Returns the memory of the files in file systems in memory.
fn memory_of_files() -> io::Result<u64> {
    let mut bytes = 0;
    for path in MEMORY_FILE_SYSTEMS {
        bytes += used_bytes(&statvfs(path)?, FILE_BYTES);
    }
    Ok(bytes)
}

/// Returns what is used in a file system, with so many bytes for each file.
fn used_bytes(found: &StatVfs, file_bytes: u64) -> u64 {
    let blocks = found.f_blocks.saturating_sub(found.f_bfree) * found.f_frsize;
    blocks + found.f_files.saturating_sub(found.f_ffree) * file_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(start: u64, ticks: u64, children_ticks: u64) -> Measured {
        Measured { start, ticks, children_ticks, ..Measured::default() }
    }

    #[test]
    fn name_of_a_program_does_not_change_its_measures() {
        let fields = "S 1 1 1 0 -1 0 0 0 0 0 7 3 20 5 20 0 2 0 99 0";
        let status = "Name:\tx\nRssAnon:\t    100 kB\nRssFile:\t 7 kB\nRssShmem:\t 8 kB\n\
                      VmSwap:\t 4 kB\nHugetlbPages:\t 2048 kB\nThreads:\t3\n";
        for name in ["sh", "a) S 9 9 9 (b", ") ) "] {
            let found = measured(&format!("12 ({name}) {fields}"), status);
            let expected = Measured {
                memory_bytes: 2160 * 1024,
                threads: 3,
                start: 99,
                ticks: 10,
                children_ticks: 25,
            };
            assert_eq!(found, Some(expected), "{name}");
        }
    }

    #[test]
    fn time_of_ended_processes_counts() {
        let mut meter = Meter::default();
        assert_eq!(meter.ticks(&[(1, process(5, 1, 0)), (2, process(6, 40, 0))]), 41);
        // Process 2 has ended, and its parent ignores it. Its id is used again.
        assert_eq!(meter.ticks(&[(1, process(5, 2, 0)), (2, process(9, 3, 0))]), 45);
        // The parent has collected both, and others that were never observed.
        assert_eq!(meter.ticks(&[(1, process(5, 2, 60))]), 62);
    }

    #[test]
    fn this_process_is_measured() {
        let own = std::process::id();
        let read = |name| read_of_process(&format!("/proc/{own}/{name}")).expect("a file");
        let found = measured(&read("stat"), &read("status")).expect("a process");
        assert!(found.memory_bytes > 0 && found.threads > 0 && found.start > 0, "{found:?}");
    }
}
