//! The machine and the commit of a measurement.

use std::process::Command;

use serde::Serialize;

/// The conditions of a measurement.
#[derive(Debug, Serialize)]
pub struct Circumstances {
    /// Processor, cores and memory.
    machine: String,
    /// Kernel.
    system: String,
    /// Commit of the checkout, with a note if files differ from it.
    commit: String,
    /// The command line of the benchmark.
    command: String,
    /// The date, in UTC.
    date: String,
}

impl Circumstances {
    /// Returns the conditions of this process.
    pub fn here() -> Self {
        let system = rustix::system::uname();
        Self {
            machine: machine(),
            system: format!(
                "{} {}",
                system.sysname().to_string_lossy(),
                system.release().to_string_lossy()
            ),
            commit: commit(),
            command: command(),
            date: chrono::Utc::now().format("%F %R").to_string(),
        }
    }

    /// Returns names and values for a report.
    pub fn lines(&self) -> [(&'static str, &str); 5] {
        [
            ("machine", &self.machine),
            ("system", &self.system),
            ("commit", &self.commit),
            ("command", &self.command),
            ("date", &self.date),
        ]
    }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".to_owned());
    let kib = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kib: f64 = kib.trim_end_matches(" kB").parse().unwrap_or_default();
    format!("{cores} cores, {cpu}, {:.0} GiB", kib / 1_048_576.0)
}

/// Returns the value after `name:` in a file of `/proc`.
pub fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".into() };
    let is_clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    if is_clean { commit } else { format!("{commit} with local changes") }
}

fn command() -> String {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    format!("mc-bench {arguments}")
}
