//! A child process, as the service sees it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use crate::frame::{self, HEADER_BYTES};
use mc_privileges::raise_privileges;

/// Timeout of the start of a process, and by default of one request to it. A process that computes
/// reaches its limit of processor time earlier, so this timeout ends a process that waits.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval at which a waiting call checks whether the pool was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Maximum length of the error of a process that could not drop its privileges.
const MAX_ERROR_BYTES: usize = 4096;
/// Time that a process may take to end after it has closed its streams.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of checks whether a process has ended.
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// Environment variables that a process keeps. With one, the system finds shared libraries.
const ENVIRONMENT: [&str; 1] = ["LD_LIBRARY_PATH"];
/// Settings of the allocator of glibc, in bytes: C code allocates a syntax tree by it. By default,
/// it returns freed memory to the system after each text, and page faults then take a part of the
/// time of the next one.
const ALLOCATOR: [(&str, &str); 3] = [
    // Free memory at the end of the heap above which it is returned.
    ("MALLOC_TRIM_THRESHOLD_", "33554432"),
    // Smallest block with a mapping of its own, which is returned when it is freed.
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    // Additional memory at each growth of the heap, kept when the heap shrinks.
    ("MALLOC_TOP_PAD_", "1048576"),
];

/// Program that runs parsers, with its arguments.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    /// Name in lists of processes.
    name: OsString,
    arguments: Vec<OsString>,
    timeout: Duration,
}

impl Program {
    /// Creates a program from its path and its arguments.
    pub fn new(path: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let path = path.into();
        let name = path.file_name().unwrap_or_default().to_owned();
        let arguments = arguments.iter().map(Into::into).collect();
        Self { path, name, arguments, timeout: TIMEOUT }
    }

    /// Sets the timeout of one request to a process; a minute by default.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Returns the running program, even if its file on the disk was replaced.
    pub fn current(arguments: &[&str]) -> io::Result<Self> {
        let running = Path::new("/proc/self/exe");
        let path = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
        let name = std::env::args_os().next().unwrap_or_default();
        Ok(Self { name, ..Self::new(path, arguments) })
    }
}

/// A running child process. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    timeout: Duration,
    /// Processor time that [`Self::new_processor_time`] has returned.
    counted: Duration,
}

impl Process {
    /// Starts a process, and waits until it has given up its privileges.
    pub fn start(program: &Program, is_stopped: &AtomicBool) -> io::Result<Self> {
        let mut command = Command::new(&program.path);
        command.arg0(&program.name).args(&program.arguments).env_clear().current_dir("/");
        for name in ENVIRONMENT {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(ALLOCATOR);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // It becomes another user itself.
        let raised = raise_privileges();
        let spawned = command.spawn();
        drop(raised);
        let mut child = spawned?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(io::Error::other("the process has no streams"));
        };
        let process =
            Self { child, input, output, timeout: program.timeout, counted: Duration::ZERO };
        ioctl_fionbio(&process.input, true)?;
        ioctl_fionbio(&process.output, true)?;
        let deadline = Deadline { until: Instant::now() + TIMEOUT, is_stopped };
        let error = process.receive(MAX_ERROR_BYTES, &deadline)?;
        if !error.is_empty() {
            return Err(io::Error::other(String::from_utf8_lossy(&error).into_owned()));
        }
        process.check_kill()?;
        Ok(process)
    }

    /// Checks that the service may kill the process, which has another user if the service is root.
    fn check_kill(&self) -> io::Result<()> {
        let _raised = raise_privileges();
        kill(self.id(), None).map_err(|error| {
            io::Error::other(format!(
                "the service may not end it ({error}); give the service the capability CAP_KILL, \
                 or run it as another user than root"
            ))
        })
    }

    /// Returns the processor time of the process that this function has not yet returned. The time
    /// of an ended process can be read until [`Self::is_running`] or [`Self::end`] collects its
    /// status.
    pub fn new_processor_time(&mut self) -> Duration {
        let time = clock_getcpuclockid(self.id()).and_then(clock_gettime);
        let time = time.map_or(self.counted, Duration::from);
        let new = time.saturating_sub(self.counted);
        self.counted = time;
        new
    }

    /// Returns the anonymous memory of the process, in RAM and swapped, in bytes; `None` if the
    /// system does not show it.
    pub fn memory(&self) -> Option<u64> {
        let raised = raise_privileges();
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        drop(raised);
        let kibibytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        };
        Some((kibibytes("RssAnon:")? + kibibytes("VmSwap:")?) * 1024)
    }

    fn id(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Returns whether the process has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a request, and returns the response of at most `max` bytes.
    pub fn call(&self, message: &[u8], max: usize, is_stopped: &AtomicBool) -> io::Result<Vec<u8>> {
        let deadline = Deadline { until: Instant::now() + self.timeout, is_stopped };
        self.send(&frame::encode(message)?, &deadline)?;
        self.receive(max, &deadline)
    }

    /// Returns whether the process has sent nothing that was not received.
    pub fn is_silent(&self) -> bool {
        rustix::io::read(&self.output, &mut [0_u8; 1]) == Err(Errno::AGAIN)
    }

    /// Ends the process after the error of a call, and returns why the call failed.
    pub fn end(mut self, error: &io::Error) -> End {
        let has_closed = matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe);
        let until = Instant::now() + EXIT_TIMEOUT;
        while has_closed && self.is_running() && Instant::now() < until {
            thread::sleep(EXIT_CHECK_INTERVAL);
        }
        let signal = match self.child.try_wait() {
            Ok(Some(status)) => status.signal().and_then(|signal| Signal::try_from(signal).ok()),
            _ => None,
        };
        match signal {
            Some(Signal::SIGKILL) => End::Killed,
            Some(Signal::SIGXCPU) => End::Failed("it exceeded its processor time".to_owned()),
            Some(signal) => End::Failed(format!("its process ended by {signal}")),
            None => End::Failed(error.to_string()),
        }
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

    fn receive(&self, max: usize, deadline: &Deadline<'_>) -> io::Result<Vec<u8>> {
        let header = self.receive_exactly(HEADER_BYTES, deadline)?;
        let header = header.try_into().map_err(|_| io::Error::from(ErrorKind::UnexpectedEof))?;
        self.receive_exactly(frame::length(header, max)?, deadline)
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
        // Without the capability CAP_KILL, root can't kill the process. It ends then when its input
        // is closed.
        let raised = raise_privileges();
        let killed = self.child.kill();
        drop(raised);
        if killed.is_ok() {
            let _ = self.child.wait();
        }
    }
}

/// Why a call of a process failed.
pub(crate) enum End {
    /// The system or an operator killed the process.
    Killed,
    /// The text made the parser fail, or exceed a limit.
    Failed(String),
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
