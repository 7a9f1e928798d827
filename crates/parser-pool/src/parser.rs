//! Parsers, and the child process that runs them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::confine::{self, ProcessorTimer};
use crate::frame;

/// First argument of the program in a child process; the program then calls [`serve`].
pub const PROCESS_ARGUMENT: &str = "parser-process";

/// A function on text from outside, which runs in a child process.
pub trait Parser {
    /// Name, unique in the program.
    const NAME: &'static str;
    /// Whether only index runs call it. Such calls leave one process of the pool to others, which
    /// may be part of a request.
    const IS_BULK: bool = false;
    /// Text and options.
    type Input<'a>: Serialize + Deserialize<'a>;
    /// Result. It comes from a process that its input may have taken over, so it is as untrusted as
    /// the text.
    type Output: Serialize + DeserializeOwned;

    /// Returns the maximum length of the serialized result for a serialized input of so many bytes.
    /// A process that was taken over must not fill the memory of the service.
    fn max_output_bytes(_input_bytes: usize) -> usize {
        32 << 20
    }

    /// Returns the processor time that a child process may use for a serialized input of so many
    /// bytes. Then the kernel kills the process.
    fn time_limit(_input_bytes: usize) -> Duration {
        Duration::from_secs(10)
    }

    /// Parses the text.
    fn parse(input: Self::Input<'_>) -> Self::Output;

    /// Parses the text in this process, but serializes and deserializes input and result as a call
    /// of a child process does. For tests.
    fn parse_serialized(input: Self::Input<'_>) -> postcard::Result<Self::Output>
    where
        Self: Sized,
    {
        postcard::from_bytes(&run::<Self>(&postcard::to_allocvec(&input)?)?)
    }
}

/// A parser that a child process can run, by its name.
#[derive(Debug, Clone, Copy)]
pub struct ParserEntry {
    name: &'static str,
    time_limit: fn(usize) -> Duration,
    run: fn(&[u8]) -> postcard::Result<Vec<u8>>,
}

impl ParserEntry {
    /// Returns the entry of a parser.
    pub const fn of<P: Parser>() -> Self {
        Self { name: P::NAME, time_limit: P::time_limit, run: run::<P> }
    }
}

/// A call of a parser, as it is sent to a child process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request<'a> {
    pub parser: &'a str,
    pub input: &'a [u8],
}

fn run<P: Parser>(input: &[u8]) -> postcard::Result<Vec<u8>> {
    postcard::to_allocvec(&P::parse(postcard::from_bytes(input)?))
}

/// Drops the privileges of this process, then runs parsers for the service until the service closes
/// standard input. The first message to the service is empty, or the error of dropping privileges.
pub fn serve(parsers: &[ParserEntry]) -> ExitCode {
    match serve_until_closed(parsers) {
        Ok(()) => ExitCode::SUCCESS,
        // Standard error is not read. The service detects the end of standard output.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_until_closed(parsers: &[ParserEntry]) -> io::Result<()> {
    confine::close_inherited_files();
    // Not `io::stdout()`, which flushes its buffer at each line break.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut timer = match confine::drop_privileges() {
        Ok(timer) => timer,
        Err(error) => {
            frame::write(&mut output, error.as_bytes())?;
            return Err(io::Error::other(error));
        }
    };
    frame::write(&mut output, b"")?;
    while let Some(message) = frame::read(&mut input)? {
        frame::write(&mut output, &respond(parsers, &message, &mut timer)?)?;
    }
    Ok(())
}

fn respond(
    parsers: &[ParserEntry],
    message: &[u8],
    timer: &mut ProcessorTimer,
) -> io::Result<Vec<u8>> {
    let invalid = |error: postcard::Error| io::Error::new(io::ErrorKind::InvalidData, error);
    let Request { parser, input } = postcard::from_bytes(message).map_err(invalid)?;
    let parser = parsers.iter().find(|entry| entry.name == parser);
    let parser = parser.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    timer.start((parser.time_limit)(input.len()))?;
    let result = (parser.run)(input);
    timer.stop()?;
    result.map_err(invalid)
}
