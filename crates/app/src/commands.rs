//! The commands, one module each. A command is a client of the running service unless its module
//! says otherwise.

pub mod audit;
pub mod backup;
pub mod config;
pub mod cursor;
pub mod doctor;
pub mod duplicates;
pub mod eval;
pub mod export;
pub mod exports;
pub mod hygiene;
pub mod import;
pub mod ingest;
pub mod integrations;
pub mod jobs;
pub mod login;
pub mod mcp;
pub mod proposals;
pub mod recall;
pub mod restore;
pub mod sanitize;
pub mod save;
pub mod search;
pub mod token;
pub mod tool;
pub mod webhooks;
