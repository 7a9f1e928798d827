//! The result of a command.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::capture::CapturedOutput;

/// A stream of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How the first process of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It returned this exit code.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
}

/// What ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndedBy {
    /// Its first process ended by itself.
    Exit,
    /// It reached a limit.
    Limit(Limit),
    /// The caller cancelled it.
    Cancelled,
}

/// A limit that ends a command. Other limits make calls of the system fail in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// [`Limits::wall_time`](crate::Limits::wall_time).
    WallTime,
    /// [`Limits::processor_time`](crate::Limits::processor_time).
    ProcessorTime,
    /// [`Limits::memory_bytes`](crate::Limits::memory_bytes).
    Memory,
    /// [`Limits::processes`](crate::Limits::processes).
    Processes,
    /// [`Limits::file_bytes`](crate::Limits::file_bytes).
    FileBytes,
    /// [`Limits::disk_bytes`](crate::Limits::disk_bytes).
    DiskBytes,
}

/// What a command used. Docker does not report it, so it is zero there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time of all processes. That of processes that ran for milliseconds may be missing.
    pub processor_time: Duration,
    /// Largest memory of all processes together that was observed, in bytes.
    pub peak_memory_bytes: u64,
    /// Largest number of processes and threads that was observed.
    pub peak_processes: u64,
}

/// The result of a command that was started.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How its first process ended.
    pub status: Status,
    /// What ended it.
    pub ended_by: EndedBy,
    /// Standard output.
    pub stdout: CapturedOutput,
    /// Standard error.
    pub stderr: CapturedOutput,
    /// Time from the start of the sandbox to the end of its last process.
    pub duration: Duration,
    /// What it used.
    pub usage: Usage,
}

impl Outcome {
    /// Returns whether the command ended by itself with the exit code 0.
    pub fn is_success(&self) -> bool {
        self.ended_by == EndedBy::Exit && self.status == Status::Exited(0)
    }
}
