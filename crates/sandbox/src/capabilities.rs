//! Capabilities of a service that is root.

use std::io;

use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
};

/// Capabilities that the service uses.
const USED: CapabilitySet = CapabilitySet::SETUID
    // To run PostgreSQL, git and parsers as other users, and to end them.
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    // To give files to these users, to use them, and to repair their permissions.
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    // To listen on a port below 1024.
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops all capabilities of root that the service does not use, such as those to load kernel
/// modules, to trace other processes and to mount file systems. They are dropped permanently: also
/// a program that the service starts as root does not get them.
///
/// Call it before the process has a second thread: each thread has capabilities of its own. Does
/// nothing if the process is not root.
pub fn drop_unused_capabilities() -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    for unused in CapabilitySet::all().difference(USED) {
        match capability_is_in_bounding_set(unused) {
            Ok(true) => remove_capability_from_bounding_set(unused)?,
            // An older kernel does not know it.
            Ok(false) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    let CapabilitySets { effective, permitted, inheritable: _ } = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: effective & USED,
            permitted: permitted & USED,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}
