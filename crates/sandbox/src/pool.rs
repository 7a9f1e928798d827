//! The service's child processes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::parser::{Parser, Request};
use crate::process::{Process, Program};

/// Processes that parse at the same time, at most.
const MAX_PROCESSES: usize = 8;
/// Further attempts to start a process, and the time between two.
const RESTARTS: usize = 50;
const RESTART_INTERVAL: Duration = Duration::from_millis(200);

/// Why a text was not parsed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No process could be started. Another text would not be parsed either.
    #[error(
        "no process for parsers can be started ({0}); see that the user of the service may start \
         more processes, and that memory is free"
    )]
    Unavailable(#[source] io::Error),
    /// The process ended, exceeded its limits, or answered something else.
    #[error("the parser \"{parser}\" failed or exceeded its limits of time and memory ({cause})")]
    Failed {
        /// Name of the parser.
        parser: &'static str,
        /// What the service saw of it.
        cause: io::Error,
    },
    /// The service stops.
    #[error("the service stops")]
    Stopped,
}

/// Child processes that run parsers, as many as there are processors.
///
/// A call blocks its thread. It waits for a process, which no other call uses meanwhile; a process
/// that fails is replaced.
#[derive(Debug)]
pub struct ParserPool {
    program: Program,
    size: usize,
    state: Mutex<State>,
    freed: Condvar,
    is_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Process>,
    used: usize,
}

impl ParserPool {
    /// Starts a pool and its first process, which proves that processes can be started.
    pub fn start(program: Program) -> Result<Self, CallError> {
        let size = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_PROCESSES);
        let pool = Self {
            program,
            size,
            state: Mutex::default(),
            freed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
        };
        let first = pool.start_process()?;
        pool.lock().idle.push(first);
        Ok(pool)
    }

    /// Runs a parser in a child process.
    #[expect(clippy::needless_pass_by_value, reason = "a parser in this process takes it, too")]
    pub fn call<P: Parser>(&self, input: P::Input<'_>) -> Result<P::Output, CallError> {
        let invalid = |error: postcard::Error| CallError::Failed {
            parser: P::NAME,
            cause: io::Error::new(io::ErrorKind::InvalidData, error),
        };
        let input = postcard::to_allocvec(&input).map_err(invalid)?;
        let request = Request { parser: P::NAME, input: &input };
        let request = postcard::to_allocvec(&request).map_err(invalid)?;
        let answer = self.exchange(P::NAME, &request)?;
        postcard::from_bytes(&answer).map_err(invalid)
    }

    /// Stops the processes; running and later calls fail.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.lock().idle.clear();
        self.freed.notify_all();
    }

    fn exchange(&self, parser: &'static str, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let _place = self.wait_for_place()?;
        // An idle process may have ended meanwhile: the system ends some when memory is short.
        let idle = self.lock().idle.pop_if(Process::is_running);
        let process = idle.map_or_else(|| self.restart_process(), Ok)?;
        self.call_and_keep(process, request).map_err(|cause| {
            if self.is_stopped.load(Ordering::Relaxed) {
                CallError::Stopped
            } else {
                CallError::Failed { parser, cause }
            }
        })
    }

    /// Calls a process, and keeps it for the next call if it answers.
    fn call_and_keep(&self, process: Process, request: &[u8]) -> io::Result<Vec<u8>> {
        let answer = process.call(request, &self.is_stopped)?;
        let mut state = self.lock();
        if !self.is_stopped.load(Ordering::Relaxed) {
            state.idle.push(process);
        }
        Ok(answer)
    }

    /// Starts a process, and tries again while the system has no memory or process left.
    fn restart_process(&self) -> Result<Process, CallError> {
        let mut attempts = 0;
        loop {
            match self.start_process() {
                Err(CallError::Unavailable(_)) if attempts < RESTARTS => {
                    attempts += 1;
                    thread::sleep(RESTART_INTERVAL);
                }
                started => return started,
            }
        }
    }

    fn start_process(&self) -> Result<Process, CallError> {
        Process::start(&self.program, &self.is_stopped).map_err(|error| {
            if self.is_stopped.load(Ordering::Relaxed) {
                CallError::Stopped
            } else {
                CallError::Unavailable(error)
            }
        })
    }

    fn wait_for_place(&self) -> Result<Place<'_>, CallError> {
        let is_full =
            |state: &mut State| state.used >= self.size && !self.is_stopped.load(Ordering::Relaxed);
        let waiting = self.freed.wait_while(self.lock(), is_full);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(CallError::Stopped);
        }
        state.used += 1;
        Ok(Place(self))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the places for calls, given back when dropped.
struct Place<'a>(&'a ParserPool);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.lock().used -= 1;
        self.0.freed.notify_one();
    }
}

/// The program's pool.
static POOL: OnceLock<ParserPool> = OnceLock::new();

/// Starts the program's pool, unless it has one.
pub fn install(program: Program) -> Result<(), CallError> {
    if POOL.get().is_none() {
        let pool = ParserPool::start(program)?;
        // Another thread may have been faster; its pool serves as well.
        let _ = POOL.set(pool);
    }
    Ok(())
}

/// Runs a parser in the program's pool. Blocks the thread; without a pool, runs it here.
pub fn call<P: Parser>(input: P::Input<'_>) -> Result<P::Output, CallError> {
    match POOL.get() {
        Some(pool) => pool.call::<P>(input),
        None => Ok(P::parse(input)),
    }
}

/// Stops the program's pool, so that no thread waits for a parser.
pub fn stop() {
    if let Some(pool) = POOL.get() {
        pool.stop();
    }
}
