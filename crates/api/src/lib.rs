#![doc = include_str!("../README.md")]

mod auth;
mod check;
mod document;
mod extract;
mod limits;
mod middleware;
mod problem;
mod router;
mod routes;
mod server;
mod state;
mod wire;

pub use auth::{Principal, Token};
pub use limits::{BODY_BYTES, DRAIN_TIME};
pub use problem::{PROBLEM_JSON, Problem};
pub use router::{openapi, protect, router};
pub use server::run;
pub use state::{ApiSettings, ApiState};

#[cfg(test)]
mod edge_tests;
