#![doc = include_str!("../README.md")]

mod alternatives;
mod auth;
mod check;
mod depth;
mod document;
mod door;
mod entry;
mod extract;
mod limits;
mod middleware;
mod notices;
mod problem;
mod rates;
mod receive;
mod refusals;
mod router;
mod routes;
mod server;
mod shapes;
mod shared_rates;
mod sign_in;
mod state;
mod wire;

pub use auth::{Authenticate, Authenticator, Principal};
pub use door::{Authority, Connection, Door, DoorSettings, NoAuthority, NoOrigin, Origin};
pub use limits::{BODY_BYTES, DRAIN_TIME};
pub use notices::Notifier;
pub use problem::{PROBLEM_JSON, Problem};
pub use router::{at_the_door, openapi, router, served};
pub use server::{Serving, Tls, TlsError, TlsFiles, run};
pub use sign_in::{SignIn, SignInSettings};
pub use state::{ApiSettings, ApiState};

#[cfg(test)]
mod edge_tests;
