//! The first process of a sandbox in bubblewrap.
//!
//! It is process 1 of its namespace. The kernel ends all others when it ends, and protects it from
//! their signals. It can't be traced, either. So it can be trusted with the limits of all processes
//! together, although it runs as the same user.

mod confine;
mod usage;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mc_privileges::raise_privileges;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::limits::Limits;
use crate::message::{self, Event, Request, Start};
use crate::outcome::{EndedBy, Limit, Status};
use usage::Meter;

/// First argument of the program as the first process of a sandbox; the program then calls
/// [`serve`].
pub const PROCESS_ARGUMENT: &str = "sandbox-init";

/// Shortest interval between two measurements of memory and processor time.
const MEASURE_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum share of a processor that measuring takes: one in this many parts.
const MEASURE_SHARE: u32 = 5;

/// Program that is the first process of a sandbox: an open executable file, which the sandbox runs
/// without showing its directory.
#[derive(Debug, Clone)]
pub struct InitProgram(Arc<OwnedFd>);

impl InitProgram {
    /// Returns the running program, even if its file on the disk was replaced.
    pub fn current() -> io::Result<Self> {
        Self::open(Path::new("/proc/self/exe"))
    }

    /// Opens a program. Other users must be able to execute its file, but not to reach it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let _raised = raise_privileges();
        let file = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self(Arc::new(file)))
    }

    pub(crate) fn try_clone(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

/// Runs the command that the service sends on standard input, a socket, and enforces its limits.
/// Call it before the program has a second thread or another open file.
pub fn serve() -> ExitCode {
    confine::close_inherited_files();
    let served = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).and_then(run);
    // The kernel now ends all other processes of the sandbox.
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(mut service: UnixStream) -> io::Result<()> {
    let Some(Request::Start(start)) = message::read(&mut service)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if let Err(error) = confine::protect_this_process(&start.limits) {
        return message::write(&mut service, &Event::SetUpFailed(error.to_string()));
    }
    let meter = match Meter::new(start.writable.iter().map(message::Text::to_path)) {
        Ok(meter) => meter,
        Err(error) => return message::write(&mut service, &Event::SetUpFailed(error.to_string())),
    };
    let started = thread::scope(|scope| scope.spawn(|| spawn(&start, &service)).join());
    let child = match started {
        Ok(Ok(child)) => child,
        Ok(Err(event)) => return message::write(&mut service, &event),
        Err(_) => return Err(io::Error::other("a thread panicked")),
    };
    let ended = Watch::new(child, service.try_clone()?, start.limits, meter)?.until_end()?;
    message::write(&mut service, &ended)
}

/// Restricts this thread, and starts the command in it. The service learns of it before the first
/// output.
fn spawn(start: &Start, mut service: &UnixStream) -> Result<Pid, Event> {
    let failed = |error: &dyn ToString| Event::SetUpFailed(error.to_string());
    let landlock = confine::restrict_files(&start.writable).map_err(|error| failed(&error))?;
    let Some((program, arguments)) = start.arguments.split_first() else {
        return Err(Event::ProgramFailed("there is no program".to_owned()));
    };
    let mut command = Command::new(program.to_os());
    command.args(arguments.iter().map(message::Text::to_os));
    command.env_clear();
    command.envs(start.environment.iter().map(|(name, value)| (name.to_os(), value.to_os())));
    let directory = start.working_directory.to_path();
    if let Err(error) = std::env::set_current_dir(&directory) {
        let directory = directory.display();
        return Err(Event::ProgramFailed(format!("the working directory {directory}: {error}")));
    }
    command.stdin(Stdio::null()).process_group(0);
    message::write(&mut service, &Event::Started { landlock }).map_err(|error| failed(&error))?;
    let child = command.spawn().map_err(|error| Event::ProgramFailed(error.to_string()))?;
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// Waits for the end of a command, and enforces its limits.
struct Watch {
    child: Pid,
    /// Becomes readable when the first process of the command ends.
    child_file: OwnedFd,
    service: UnixStream,
    limits: Limits,
    meter: Meter,
    /// When the command is killed after the service has ended it.
    killed_at: Option<Instant>,
}

impl Watch {
    fn new(child: Pid, service: UnixStream, limits: Limits, meter: Meter) -> io::Result<Self> {
        let process = rustix::process::Pid::from_raw(child.as_raw());
        let process = process.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        let child_file = pidfd_open(process, PidfdFlags::empty())?;
        Ok(Self { child, child_file, service, limits, meter, killed_at: None })
    }

    fn until_end(mut self) -> io::Result<Event> {
        loop {
            let started = Instant::now();
            // Before processes are collected, since their times vanish with them.
            let exceeded = self.meter.measure(&self.limits)?;
            if let Some(status) = self.collect_ended()? {
                // Now this process has the time that the ended ones used since the measurement.
                self.meter.measure(&self.limits)?;
                return Ok(self.ended(status, EndedBy::Exit));
            }
            if let Some(limit) = exceeded {
                return Ok(self.killed(EndedBy::Limit(limit)));
            }
            if self.killed_at.is_some_and(|at| at <= Instant::now()) {
                return Ok(self.killed(EndedBy::Cancelled));
            }
            let pause = MEASURE_INTERVAL.max(started.elapsed() * MEASURE_SHARE);
            self.wait(pause)?;
        }
    }

    /// Waits for the end of the command, or for the service, but not longer than `pause`.
    fn wait(&mut self, pause: Duration) -> io::Result<()> {
        let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
        let mut files = [
            PollFd::new(&self.child_file, PollFlags::IN),
            PollFd::new(&self.service, PollFlags::IN),
        ];
        // After the request to stop, only the end of the service matters. A closed stream is
        // reported in any case.
        let count = if self.killed_at.is_some() { 1 } else { 2 };
        match poll(&mut files[..count], Some(&pause)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_asked = count == 2 && !files[1].revents().is_empty();
        if is_asked {
            let Some(Request::Stop) = message::read(&mut self.service)? else {
                return Err(io::Error::other("the service has ended"));
            };
            self.killed_at = Some(Instant::now() + self.limits.grace_time);
            // All processes of the namespace except this one. There may be none left.
            let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
        }
        Ok(())
    }

    /// Collects ended processes; also those whose parents have ended. Returns the status of the
    /// command's first process if it is among them.
    fn collect_ended(&self) -> io::Result<Option<Status>> {
        loop {
            let (process, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(process, code)) => (process, Status::Exited(code)),
                Ok(WaitStatus::Signaled(process, signal, _)) => {
                    (process, Status::Signaled(signal as i32))
                }
                Ok(WaitStatus::StillAlive) => return Ok(None),
                Ok(_) | Err(nix::Error::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if process == self.child {
                return Ok(Some(status));
            }
        }
    }

    fn killed(&mut self, ended_by: EndedBy) -> Event {
        self.ended(Status::Signaled(Signal::SIGKILL as i32), ended_by)
    }

    fn ended(&mut self, status: Status, ended_by: EndedBy) -> Event {
        let by_signal = |number: Signal| status == Status::Signaled(number as i32);
        let ended_by = match ended_by {
            EndedBy::Exit if self.killed_at.is_some() => EndedBy::Cancelled,
            EndedBy::Exit if by_signal(Signal::SIGXCPU) => EndedBy::Limit(Limit::ProcessorTime),
            EndedBy::Exit if by_signal(Signal::SIGXFSZ) => EndedBy::Limit(Limit::FileBytes),
            other => other,
        };
        Event::Ended { status, ended_by, usage: self.meter.usage() }
    }
}

/// Returns the content of a file of `/proc`; `None` if its process has ended.
fn read_of_process(path: &str) -> Option<String> {
    let mut content = Vec::new();
    io::Read::read_to_end(&mut File::open(path).ok()?, &mut content).ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}
