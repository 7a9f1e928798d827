//! A child process, as the service sees it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use crate::frame::{self, HEADER_BYTES};

/// Timeout of one request to a process. A process that computes reaches its limit of processor time
/// earlier, so this timeout ends a process that waits.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval at which a waiting call checks whether the pool was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Program that runs parsers, with its arguments.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
}

impl Program {
    /// Creates a program from its path and its arguments.
    pub fn new(path: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        Self { path: path.into(), arguments: arguments.iter().map(Into::into).collect() }
    }

    /// Returns the running program, even if its file on the disk was replaced.
    pub fn current(arguments: &[&str]) -> io::Result<Self> {
        let running = Path::new("/proc/self/exe");
        let path = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
        Ok(Self::new(path, arguments))
    }
}

/// A running child process. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Process {
    /// Starts a process, and waits until it has given up its privileges.
    pub fn start(program: &Program, is_stopped: &AtomicBool) -> io::Result<Self> {
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).env_clear().current_dir("/");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(io::Error::other("the process has no streams"));
        };
        let process = Self { child, input, output };
        ioctl_fionbio(&process.input, true)?;
        ioctl_fionbio(&process.output, true)?;
        let deadline = Deadline { until: Instant::now() + TIMEOUT, is_stopped };
        let error = process.receive(&deadline)?;
        if error.is_empty() {
            return Ok(process);
        }
        Err(io::Error::other(String::from_utf8_lossy(&error).into_owned()))
    }

    /// Returns whether the process has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a request, and returns the response.
    pub fn call(&self, message: &[u8], is_stopped: &AtomicBool) -> io::Result<Vec<u8>> {
        let deadline = Deadline { until: Instant::now() + TIMEOUT, is_stopped };
        self.send(&frame::encode(message)?, &deadline)?;
        self.receive(&deadline)
    }

    fn send(&self, mut bytes: &[u8], deadline: &Deadline<'_>) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(&self.input, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::AGAIN) => deadline.wait(&self.input, PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn receive(&self, deadline: &Deadline<'_>) -> io::Result<Vec<u8>> {
        let header = self.receive_exactly(HEADER_BYTES, deadline)?;
        let header = header.try_into().map_err(|_| io::Error::from(ErrorKind::UnexpectedEof))?;
        self.receive_exactly(frame::length(header)?, deadline)
    }

    /// Receives `length` bytes. The buffer grows with the received bytes, since a process may
    /// announce more than it sends.
    fn receive_exactly(&self, length: usize, deadline: &Deadline<'_>) -> io::Result<Vec<u8>> {
        let mut received = Vec::new();
        while received.len() < length {
            let at = received.len();
            received.resize(length.min(at + BUFFER_BYTES), 0);
            let read = rustix::io::read(&self.output, &mut received[at..]);
            received.truncate(at + read.unwrap_or(0));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(Errno::AGAIN) => deadline.wait(&self.output, PollFlags::IN)?,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(received)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of a wait for a process: a time, or the stop of the pool.
struct Deadline<'a> {
    until: Instant,
    is_stopped: &'a AtomicBool,
}

impl Deadline<'_> {
    /// Waits until the stream is ready or closed. Fails at the timeout, or if the pool is stopped.
    fn wait(&self, stream: &impl AsFd, ready: PollFlags) -> io::Result<()> {
        loop {
            if self.is_stopped.load(Ordering::Relaxed) {
                return Err(ErrorKind::Interrupted.into());
            }
            let left = self.until.saturating_duration_since(Instant::now());
            let left = left.min(STOP_CHECK_INTERVAL);
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(stream, ready)], Some(&left)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
