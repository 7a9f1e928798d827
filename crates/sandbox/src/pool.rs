//! The service's child processes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::parser::{Parser, Request};
use crate::process::{Process, Program};

/// Maximum number of processes that parse at the same time.
const MAX_PROCESSES: usize = 8;
/// Maximum number of retries to start a process.
const MAX_RETRIES: usize = 50;
/// Interval between two attempts to start a process.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Error of a call of a parser.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No process could be started, so no text can be parsed.
    #[error(
        "no parser process can be started ({0}); check the free memory and the maximum number of \
         processes of the service's user (`ulimit -u`); if the service is root, it needs the \
         capabilities CAP_SETUID and CAP_SETGID"
    )]
    Unavailable(#[source] io::Error),
    /// The process ended, exceeded a limit, or sent an invalid response.
    #[error(
        "the parser \"{parser}\" failed or exceeded its limits of time or memory ({cause}); split \
         the text into smaller parts to have it parsed"
    )]
    Failed {
        /// Name of the parser.
        parser: &'static str,
        /// Error that the service observed.
        cause: io::Error,
    },
    /// The pool was stopped.
    #[error("the service is shutting down; try again after its restart")]
    Stopped,
}

/// Child processes that run parsers: one for each processor, at most eight.
///
/// A call blocks its thread until a process is free, and has that process for itself. A process
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
        let response = self.exchange(P::NAME, &request)?;
        postcard::from_bytes(&response).map_err(invalid)
    }

    /// Stops the processes; running and later calls fail.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.lock().idle.clear();
        self.freed.notify_all();
    }

    fn exchange(&self, parser: &'static str, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let _permit = self.acquire_permit()?;
        // The kernel may have killed an idle process to free memory.
        let idle = self.lock().idle.pop_if(Process::is_running);
        let process = idle.map_or_else(|| self.start_process_with_retries(), Ok)?;
        self.call_and_keep(process, request).map_err(|cause| {
            if self.is_stopped.load(Ordering::Relaxed) {
                CallError::Stopped
            } else {
                CallError::Failed { parser, cause }
            }
        })
    }

    /// Calls a process, and keeps it for the next call if it responds.
    fn call_and_keep(&self, process: Process, request: &[u8]) -> io::Result<Vec<u8>> {
        let response = process.call(request, &self.is_stopped)?;
        let mut state = self.lock();
        if !self.is_stopped.load(Ordering::Relaxed) {
            state.idle.push(process);
        }
        Ok(response)
    }

    /// Starts a process, and tries again while the system has no memory or process left.
    fn start_process_with_retries(&self) -> Result<Process, CallError> {
        let mut attempts = 0;
        loop {
            match self.start_process() {
                Err(CallError::Unavailable(_)) if attempts < MAX_RETRIES => {
                    attempts += 1;
                    thread::sleep(RETRY_INTERVAL);
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

    fn acquire_permit(&self) -> Result<Permit<'_>, CallError> {
        let is_full =
            |state: &mut State| state.used >= self.size && !self.is_stopped.load(Ordering::Relaxed);
        let waiting = self.freed.wait_while(self.lock(), is_full);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(CallError::Stopped);
        }
        state.used += 1;
        Ok(Permit(self))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit for one call, released when dropped.
struct Permit<'a>(&'a ParserPool);

impl Drop for Permit<'_> {
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
        // If another thread has set its pool meanwhile, that one is used.
        let _ = POOL.set(pool);
    }
    Ok(())
}

/// Runs a parser in the program's pool, or in this process if there is no pool. Blocks the thread.
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
