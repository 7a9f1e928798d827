//! Maintenance: hygiene tasks of a project, repairs of derived data, exports and cleanup.

pub mod cleanup;
pub mod consistency;
pub mod exports;
pub mod hygiene;
