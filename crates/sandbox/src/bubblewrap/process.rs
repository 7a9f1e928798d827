//! One command in bubblewrap, as the service sees it.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Bubblewrap;
use super::arguments::Arguments;
use super::spawn::{Process, start_of};
use super::start_error::start_error;
use crate::Error;
use crate::capture::Capture;
use crate::command::Command;
use crate::message::{self, Event, Request};
use crate::outcome::{EndedBy, Limit, Outcome, OutputStream, Status, Usage};

/// Time that the first process has to end the sandbox, in addition to the grace time. Then the
/// service ends it.
const KILL_MARGIN: Duration = Duration::from_secs(5);
/// Time that a message of the first process, or to it, may take.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 * 1024;
/// Kept bytes of bubblewrap's own error message.
const MESSAGE_BYTES: usize = 4096;

/// A command that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub outcome: Outcome,
    pub landlock: Option<i32>,
}

/// Runs a command to its end. `cancelled` is closed to end it earlier.
pub(super) fn run(
    bubblewrap: &Bubblewrap,
    command: &Command,
    mut on_output: impl FnMut(OutputStream, &[u8]),
    cancelled: &UnixStream,
) -> Result<Finished, Error> {
    let mut running = Running::start(bubblewrap, command)?;
    let read = running.read_until_end(cancelled, &mut on_output);
    // In any case: no process may be left.
    running.end()?;
    read.map_err(|error| Error::NotStarted(error.to_string()))?;
    running.finish(command)
}

/// Sandbox with its streams.
struct Running {
    process: Process,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    service: Option<UnixStream>,
    /// Output of the command.
    captured: [Capture; 2],
    /// Error message of bubblewrap, before the command has started.
    message: Capture,
    /// Numbers of the files that are the command's directories.
    directories: Vec<String>,
    started: Instant,
    ended: Option<Instant>,
    events: Events,
    stop: Stop,
}

/// What the first process has reported.
#[derive(Default)]
struct Events {
    is_started: bool,
    landlock: Option<i32>,
    set_up_error: Option<String>,
    program_error: Option<String>,
    ended: Option<(Status, EndedBy, Usage)>,
}

/// When and why the service ends the command.
struct Stop {
    /// When the command reaches its limit.
    at: Instant,
    grace_time: Duration,
    /// Why the service has ended it.
    reason: Option<EndedBy>,
    /// When the service kills it; set with the reason.
    kill_at: Option<Instant>,
    is_killed: bool,
}

impl Running {
    fn start(bubblewrap: &Bubblewrap, command: &Command) -> Result<Self, Error> {
        let started = Instant::now();
        let failed = |error: io::Error| Error::NotStarted(error.to_string());
        let arguments = Arguments::new(&bubblewrap.init, command, &bubblewrap.read_only_paths)
            .map_err(failed)?;
        let (mut service, of_init) = UnixStream::pair().map_err(failed)?;
        service.set_write_timeout(Some(MESSAGE_TIMEOUT)).map_err(failed)?;
        service.set_read_timeout(Some(MESSAGE_TIMEOUT)).map_err(failed)?;
        let directories = arguments.directories.clone();
        let mut process =
            Process::start(bubblewrap, command, arguments, of_init.into()).map_err(failed)?;
        let start = start_of(command, &bubblewrap.read_only_paths);
        let sent = message::write(&mut service, &Request::Start(start));
        let (stdout, stderr) = process.take_output();
        let limits = &command.limits;
        let running = Self {
            process,
            stdout,
            stderr,
            service: Some(service),
            captured: [Capture::new(limits.output_bytes), Capture::new(limits.output_bytes)],
            message: Capture::new(MESSAGE_BYTES),
            directories,
            started,
            ended: None,
            events: Events::default(),
            stop: Stop {
                at: started + limits.wall_time,
                grace_time: limits.grace_time,
                reason: None,
                kill_at: None,
                is_killed: false,
            },
        };
        match sent {
            // It has ended already; its error stream says why.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            _ => Ok(running),
        }
    }

    /// Reads the streams until all are closed: all processes have ended then.
    fn read_until_end(
        &mut self,
        cancelled: &UnixStream,
        on_output: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        while self.stdout.is_some() || self.stderr.is_some() || self.service.is_some() {
            self.end_in_time()?;
            for source in self.wait(cancelled)? {
                match source {
                    Source::Cancelled => self.ask_to_end(EndedBy::Cancelled),
                    Source::Service => self.read_event(),
                    Source::Output(stream) => {
                        self.read_first_event()?;
                        let bytes = self.read_output(stream, &mut buffer)?;
                        if self.events.is_started && !bytes.is_empty() {
                            on_output(stream, bytes);
                        }
                    }
                }
            }
        }
        self.ended = Some(Instant::now());
        Ok(())
    }

    /// Waits until sources are ready, but not beyond the next time limit.
    fn wait(&self, cancelled: &UnixStream) -> io::Result<Vec<Source>> {
        // The cancellation stays readable, and counts once.
        let cancelled = self.stop.reason.is_none().then(|| cancelled.as_fd());
        let sources = [
            (Source::Cancelled, cancelled),
            (Source::Service, self.service.as_ref().map(AsFd::as_fd)),
            (Source::Output(OutputStream::Stdout), self.stdout.as_ref().map(AsFd::as_fd)),
            (Source::Output(OutputStream::Stderr), self.stderr.as_ref().map(AsFd::as_fd)),
        ];
        let open = sources.into_iter().filter_map(|(source, file)| Some((source, file?)));
        let (sources, files): (Vec<Source>, Vec<BorrowedFd<'_>>) = open.unzip();
        let mut files: Vec<PollFd<'_>> =
            files.iter().map(|file| PollFd::new(file, PollFlags::IN)).collect();
        let next = self.stop.kill_at.unwrap_or(self.stop.at);
        let pause = next.saturating_duration_since(Instant::now());
        let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
        match poll(&mut files, Some(&pause)) {
            Err(Errno::INTR) => return Ok(Vec::new()),
            ready => ready?,
        };
        let ready = sources.into_iter().zip(files).filter(|(_, file)| !file.revents().is_empty());
        Ok(ready.map(|(source, _)| source).collect())
    }

    /// Reads the first event if it has arrived. Output that was written before it is
    /// bubblewrap's, and output after it the command's.
    fn read_first_event(&mut self) -> io::Result<()> {
        let is_expected = !self.events.is_started;
        let Some(service) = self.service.as_ref().filter(|_| is_expected) else { return Ok(()) };
        let mut files = [PollFd::new(service, PollFlags::IN)];
        if poll(&mut files, Some(&Timespec::default()))? > 0 {
            self.read_event();
        }
        Ok(())
    }

    fn read_event(&mut self) {
        let event = self.service.as_mut().and_then(|stream| message::read(stream).ok());
        match event.flatten() {
            Some(event) => self.events.add(event),
            None => self.service = None,
        }
    }

    fn read_output<'a>(
        &mut self,
        stream: OutputStream,
        buffer: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        let (read, index) = match stream {
            OutputStream::Stdout => (self.stdout.as_mut().map(|file| file.read(buffer)), 0),
            OutputStream::Stderr => (self.stderr.as_mut().map(|file| file.read(buffer)), 1),
        };
        let bytes = &buffer[..read.unwrap_or(Ok(0))?];
        let is_started = self.events.is_started;
        let capture = if is_started { &mut self.captured[index] } else { &mut self.message };
        capture.add(bytes);
        match stream {
            _ if !bytes.is_empty() => {}
            OutputStream::Stdout => self.stdout = None,
            OutputStream::Stderr => self.stderr = None,
        }
        Ok(bytes)
    }

    /// Asks the command to end if its time is over, and kills it if it has not ended after that.
    fn end_in_time(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.stop.reason.is_none() && now >= self.stop.at {
            self.ask_to_end(EndedBy::Limit(Limit::WallTime));
        }
        if self.stop.kill_at.is_some_and(|at| now >= at) {
            if self.stop.is_killed {
                return Err(io::Error::other("its processes do not end"));
            }
            self.stop.is_killed = true;
            self.stop.kill_at = Some(now + KILL_MARGIN);
            // It fails if it has ended. If it may not be killed, `end` reports it.
            let _ = self.process.kill();
            // The first process also ends when its socket is closed.
            self.service = None;
        }
        Ok(())
    }

    /// Asks the first process to end the command.
    fn ask_to_end(&mut self, reason: EndedBy) {
        self.stop.reason = Some(reason);
        let asked = self.service.as_mut().map(|stream| message::write(stream, &Request::Stop));
        let is_asked = self.events.is_started && asked.is_some_and(|asked| asked.is_ok());
        // Without a command, there is nothing that may end by itself.
        let grace = if is_asked { self.stop.grace_time + KILL_MARGIN } else { Duration::ZERO };
        self.stop.kill_at = Some(Instant::now() + grace);
    }

    /// Ends the sandbox if it has not ended, and waits for it.
    fn end(&mut self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::NotEnded(error.to_string());
        self.service = None;
        // Otherwise, all its processes have closed their streams: they have ended.
        if self.stdout.is_some() || self.stderr.is_some() {
            self.process.kill().map_err(failed)?;
        }
        self.process.wait().map_err(failed)
    }

    fn finish(self, command: &Command) -> Result<Finished, Error> {
        let [stdout, stderr] = self.captured.map(Capture::finish);
        if let Some(cause) = self.events.program_error {
            let program = command.program.to_string_lossy().into_owned();
            return Err(Error::Program { program, cause });
        }
        if !self.events.is_started && self.stop.reason.is_none() {
            if let Some(error) = self.events.set_up_error {
                return Err(Error::NotStarted(error));
            }
            let message = self.message.finish().to_text();
            return Err(start_error(message.trim(), command, &self.directories));
        }
        let (status, ended_by, usage) = match (self.events.ended, self.stop.reason) {
            // The first process does not know why it was asked to end the command.
            (Some((status, EndedBy::Cancelled, usage)), Some(reason)) => (status, reason, usage),
            (Some(ended), _) => ended,
            // It was killed: if not by this service, then by the kernel because memory ran out.
            (None, reason) => {
                let reason = reason.unwrap_or(EndedBy::Limit(Limit::Memory));
                (Status::Signaled(libc::SIGKILL), reason, Usage::default())
            }
        };
        let duration = self.ended.unwrap_or_else(Instant::now).duration_since(self.started);
        let outcome = Outcome { status, ended_by, stdout, stderr, duration, usage };
        Ok(Finished { outcome, landlock: self.events.landlock })
    }
}

/// What a running command waits for.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// The caller has cancelled the command.
    Cancelled,
    /// The first process has sent an event, or has ended.
    Service,
    /// The command has written, or closed its stream.
    Output(OutputStream),
}

impl Events {
    fn add(&mut self, event: Event) {
        match event {
            Event::Started { landlock } => (self.is_started, self.landlock) = (true, landlock),
            Event::SetUpFailed(error) => self.set_up_error = Some(error),
            Event::ProgramFailed(error) => self.program_error = Some(error),
            Event::Ended { status, ended_by, usage } => {
                self.ended = Some((status, ended_by, usage));
            }
        }
    }
}
