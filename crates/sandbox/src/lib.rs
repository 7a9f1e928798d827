#![doc = include_str!("../README.md")]

mod bubblewrap;
mod capture;
mod command;
mod docker;
mod error;
mod init;
mod limits;
mod message;
mod outcome;
mod probe;
mod protected_paths;
mod sandbox;
mod settings;
mod system_calls;

pub use capture::CapturedOutput;
pub use command::{Access, Command, DEFAULT_USER, Directory};
pub use error::Error;
pub use init::{InitProgram, PROCESS_ARGUMENT, serve};
pub use limits::Limits;
pub use outcome::{EndedBy, Limit, Outcome, OutputStream, Status, Usage};
pub use probe::{ProbeResult, ProbeStatus, Report};
pub use sandbox::{RunnerKind, Sandbox};
pub use settings::{DockerSettings, RunnerChoice, Settings};
