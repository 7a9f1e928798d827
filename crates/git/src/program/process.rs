//! A running program that leads a process group.

use std::io::ErrorKind;

use mc_privileges::{Confinement, UnprivilegedUser, raise_privileges, without_capabilities};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use crate::Error;

/// Running program that leads a process group. If it is dropped, it is killed with its child
/// processes.
#[derive(Debug)]
pub(crate) struct Process(pub(super) Child);

impl Process {
    /// Starts a command that runs as `user`. Without a user, it runs as the service's; if that is
    /// root, it has no capabilities.
    pub fn start(command: Command, user: Option<UnprivilegedUser>) -> Result<Self, Error> {
        Self::start_confined(command, user, None, true)
    }

    /// Starts a command as [`Self::start`] does, that opens no other files than those of a
    /// confinement, if there is one, and reaches hosts only if it `has_network`.
    pub fn start_confined(
        mut command: Command,
        user: Option<UnprivilegedUser>,
        confinement: Option<&Confinement>,
        has_network: bool,
    ) -> Result<Self, Error> {
        let runtime = Handle::current();
        let mut spawn = || {
            let _entered = runtime.enter();
            command.spawn()
        };
        let spawn = || match confinement {
            Some(confinement) => confinement.run(has_network, spawn).flatten(),
            None => spawn(),
        };
        let spawned = if user.is_some() {
            let _raised = raise_privileges();
            spawn()
        } else {
            without_capabilities(spawn)
                .map_err(|cause| Error::PrivilegesNotDropped { uid: 0, cause })?
        };
        spawned.map(Self).map_err(|cause| match (user, cause.kind()) {
            // The user namespace of a container may not have this id.
            (Some(user), ErrorKind::PermissionDenied | ErrorKind::InvalidInput) => {
                Error::PrivilegesNotDropped { uid: user.uid, cause }
            }
            _ => Error::GitNotFound(cause),
        })
    }

    /// Returns its process group; `None` after it was waited for.
    pub(super) fn group(&self) -> Option<Pid> {
        self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }

    /// Kills the program with its child processes, unless it has ended and was waited for.
    pub fn kill(&self) -> rustix::io::Result<()> {
        let _raised = raise_privileges();
        self.group().map_or(Ok(()), |group| kill_process_group(group, Signal::KILL))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that may not be killed ends when its streams are closed, or at its limits.
        let _ = self.kill();
    }
}
