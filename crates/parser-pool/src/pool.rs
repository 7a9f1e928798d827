//! The service's child processes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::parser::{Parser, Request};
use crate::process::{End, Process, Program};

/// Maximum number of bulk calls at the same time.
const MAX_BULK: usize = 8;
/// Interval between two attempts to start a process.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Interval between two warnings that no process can be started.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of processes that the system may kill while they parse one text. It kills
/// processes to free memory, so the text probably takes too much.
const MAX_KILLS: usize = 3;
/// Largest request after which a process is kept without reading its memory, in bytes.
const SMALL_REQUEST_BYTES: usize = 128 * 1024;
/// Maximum memory that a process which is kept may hold, in bytes. The allocator can't always
/// return that of a large syntax tree to the system. Another process takes some milliseconds to
/// start.
const MAX_KEPT_MEMORY_BYTES: u64 = 64 << 20;

/// Error of a call of a parser.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The first process of a pool could not be started.
    #[error(
        "no parser process can be started: {0}; check the free memory and the maximum number of \
         processes of the service's user (`ulimit -u`)"
    )]
    NotStarted(#[source] io::Error),
    /// The process ended, exceeded a limit, or sent an invalid response. It would probably do so
    /// again with the same text.
    #[error(
        "the parser \"{parser}\" failed or exceeded its limits of time or memory ({cause}); split \
         the text into smaller parts to have it parsed"
    )]
    Failed {
        /// Name of the parser.
        parser: &'static str,
        /// What the service observed.
        cause: String,
    },
    /// The pool was stopped.
    #[error("the service is shutting down; try again after its restart")]
    Stopped,
}

/// Child processes that run parsers: one for each processor, at most eight, for bulk calls
/// ([`Parser::IS_BULK`]), and one that bulk calls do not use.
///
/// A call blocks its thread until a process is free, and has that process for itself. A process
/// that fails is replaced.
#[derive(Debug)]
pub struct ParserPool {
    program: Program,
    /// Maximum number of bulk calls at the same time.
    max_bulk: usize,
    state: Mutex<State>,
    freed: Condvar,
    is_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Process>,
    /// Calls that have a permit.
    running: usize,
    /// Bulk calls among these.
    bulk: usize,
}

impl ParserPool {
    /// Starts a pool and its first process, which proves that processes can be started.
    pub fn start(program: Program) -> Result<Self, CallError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Self {
            program,
            max_bulk: processors.min(MAX_BULK),
            state: Mutex::default(),
            freed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
        };
        let first = Process::start(&pool.program, &pool.is_stopped);
        pool.lock().idle.push(first.map_err(CallError::NotStarted)?);
        Ok(pool)
    }

    /// Runs a parser in a child process.
    #[expect(clippy::needless_pass_by_value, reason = "a parser in this process takes it, too")]
    pub fn call<P: Parser>(&self, input: P::Input<'_>) -> Result<P::Output, CallError> {
        let failed = |cause: String| CallError::Failed { parser: P::NAME, cause };
        let input = postcard::to_allocvec(&input).map_err(|error| failed(error.to_string()))?;
        let request = Request { parser: P::NAME, input: &input };
        let request = postcard::to_allocvec(&request).map_err(|error| failed(error.to_string()))?;
        let max = P::max_output_bytes(input.len());
        let _permit = self.acquire_permit(P::IS_BULK)?;
        for _ in 0..MAX_KILLS {
            let mut process = self.idle_process().map_or_else(|| self.start_process(), Ok)?;
            let response = process.call(&request, max, &self.is_stopped);
            mc_processor_time::add_helper_time(process.new_processor_time());
            let error = match response {
                Ok(response) => {
                    let output = postcard::from_bytes(&response);
                    let output = output.map_err(|error| failed(error.to_string()))?;
                    if request.len() <= SMALL_REQUEST_BYTES
                        || process.memory().is_some_and(|bytes| bytes <= MAX_KEPT_MEMORY_BYTES)
                    {
                        self.keep(process);
                    }
                    return Ok(output);
                }
                Err(error) => error,
            };
            if self.is_stopped() {
                return Err(CallError::Stopped);
            }
            if let End::Failed(cause) = process.end(&error) {
                return Err(failed(cause));
            }
        }
        Err(failed("the system killed its process, probably to free memory".to_owned()))
    }

    /// Stops the processes; running and later calls fail.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let idle = std::mem::take(&mut self.lock().idle);
        self.freed.notify_all();
        drop(idle);
    }

    /// Returns a process that has not ended meanwhile: the system may kill one to free memory.
    fn idle_process(&self) -> Option<Process> {
        loop {
            let mut process = self.lock().idle.pop()?;
            if process.is_running() {
                return Some(process);
            }
        }
    }

    /// Keeps a process for the next call, unless it sent more than its response.
    fn keep(&self, process: Process) {
        let mut state = self.lock();
        if process.is_silent() && !self.is_stopped() {
            state.idle.push(process);
        }
    }

    /// Starts a process. If the system has no memory or no process left, waits until it has.
    fn start_process(&self) -> Result<Process, CallError> {
        let mut next_warning = Instant::now();
        loop {
            let error = match Process::start(&self.program, &self.is_stopped) {
                Ok(process) => return Ok(process),
                Err(error) => error,
            };
            if self.is_stopped() {
                return Err(CallError::Stopped);
            }
            if Instant::now() >= next_warning {
                let error = CallError::NotStarted(error);
                tracing::warn!(%error, "texts wait for a parser process");
                next_warning = Instant::now() + WARNING_INTERVAL;
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Returns whether a call has to wait for another one to end.
    fn is_full(&self, state: &State, is_bulk: bool) -> bool {
        state.running > self.max_bulk || is_bulk && state.bulk >= self.max_bulk
    }

    fn acquire_permit(&self, is_bulk: bool) -> Result<Permit<'_>, CallError> {
        let is_full = |state: &mut State| self.is_full(state, is_bulk) && !self.is_stopped();
        let waiting = self.freed.wait_while(self.lock(), is_full);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if self.is_stopped() {
            return Err(CallError::Stopped);
        }
        state.running += 1;
        state.bulk += usize::from(is_bulk);
        Ok(Permit { pool: self, is_bulk })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit for one call, released when dropped.
struct Permit<'a> {
    pool: &'a ParserPool,
    is_bulk: bool,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.running -= 1;
        state.bulk -= usize::from(self.is_bulk);
        drop(state);
        // A bulk call that is woken may have to wait on.
        self.pool.freed.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_calls_leave_a_permit_to_others() {
        let pool = ParserPool {
            program: Program::new("none", &[]),
            max_bulk: 2,
            state: Mutex::default(),
            freed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
        };
        let permit = |is_bulk| pool.acquire_permit(is_bulk).expect("the pool is not stopped");
        let (bulk, others) = ([permit(true), permit(true)], permit(false));
        assert!(pool.is_full(&pool.lock(), false));
        drop(others);
        assert!(pool.is_full(&pool.lock(), true), "two bulk calls");
        assert!(!pool.is_full(&pool.lock(), false));
        drop(bulk);
        assert!(!pool.is_full(&pool.lock(), true));
    }
}
