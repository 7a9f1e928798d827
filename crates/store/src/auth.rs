//! Users with their access tokens and sessions, teams, and the roles on projects.

pub mod accounts;
pub mod invitations;
pub mod members;
pub mod sessions;
