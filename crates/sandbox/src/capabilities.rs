//! Capabilities of a service that is root.

use std::io;

use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
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
    // To find the processes of a PostgreSQL that survived the service, by their directory.
    .union(CapabilitySet::SYS_PTRACE)
    // To listen on a port below 1024.
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops all capabilities of root that the service does not use, such as those to load kernel
/// modules and to mount file systems. They are dropped permanently: also a program that the service
/// starts as root does not get them, unless the process lacks `CAP_SETPCAP`.
///
/// Call it before the process has a second thread: each thread has capabilities of its own. Does
/// nothing if the process is not root.
pub fn drop_unused_capabilities() -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    // A newer kernel may know more capabilities than this program.
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for unused in all.filter(|capability| !USED.contains(*capability)) {
        if capability_is_in_bounding_set(unused) != Ok(true) {
            continue;
        }
        match remove_capability_from_bounding_set(unused) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // This also removes all from the ambient set.
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
