//! Runs commands in bubblewrap.

mod arguments;
mod process;
mod spawn;
mod start_error;

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::command::Command;
use crate::init::InitProgram;
use crate::outcome::{Outcome, OutputStream};
use crate::settings::Settings;
use process::Finished;

pub(crate) use arguments::SYSTEM_DIRECTORIES;

/// Paths of the program, in directories that only root can change.
const PROGRAMS: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Bubblewrap on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Bubblewrap {
    program: PathBuf,
    init: InitProgram,
    read_only_paths: Vec<PathBuf>,
}

/// A command that was run.
#[derive(Debug)]
pub(crate) struct Run {
    pub outcome: Outcome,
    /// Version of Landlock's interface that was in force; `None` on a kernel without it.
    pub landlock: Option<i32>,
}

impl Bubblewrap {
    /// Finds the program.
    pub fn find(settings: &Settings) -> Option<Self> {
        let of_system = PROGRAMS.iter().map(PathBuf::from);
        let mut programs: Vec<PathBuf> =
            settings.bubblewrap.clone().map_or_else(|| of_system.collect(), |path| vec![path]);
        programs.retain(|path| path.is_file());
        Some(Self {
            program: programs.into_iter().next()?,
            init: settings.init.clone(),
            read_only_paths: settings.read_only_paths.clone(),
        })
    }

    /// Returns the path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the directories outside of `/usr` that commands can read.
    pub fn read_only_paths(&self) -> &[PathBuf] {
        &self.read_only_paths
    }

    /// Runs a command. Dropping the future ends it.
    pub async fn run(
        &self,
        command: Command,
        on_output: impl FnMut(OutputStream, &[u8]) + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<Run, Error> {
        let not_started = |error: std::io::Error| Error::NotStarted(error.to_string());
        let (running, cancelled) = UnixStream::pair().map_err(not_started)?;
        let (sender, mut result) = oneshot::channel();
        let bubblewrap = Arc::new(self.clone());
        // A thread of its own, which lives as long as the command: the kernel ends bubblewrap with
        // the thread that started it.
        let run = move || {
            // Nobody waits if the future was dropped.
            let _ = sender.send(process::run(&bubblewrap, &command, on_output, &cancelled));
        };
        thread::Builder::new().name("sandbox".to_owned()).spawn(run).map_err(not_started)?;
        let finished = tokio::select! {
            finished = &mut result => finished,
            () = cancel.cancelled() => {
                drop(running);
                result.await
            }
        };
        let finished = finished.map_err(|_| Error::NotStarted("its thread has panicked".into()));
        let Finished { outcome, landlock } = finished??;
        Ok(Run { outcome, landlock })
    }
}
