#![doc = include_str!("../README.md")]

mod authenticate;
mod authorize;
mod client_sessions;
mod extract;
mod ingress;
mod json_limits;
mod limits;
mod metrics;
mod middleware;
mod notifications;
mod openapi;
mod problem;
mod rate_limit;
mod record_diff;
mod router;
mod routes;
mod server;
mod shares;
mod sign_in;
mod state;
#[cfg(feature = "testing")]
pub mod testing;
mod webhook_receiver;
mod workspace_node;

pub use authenticate::{Authenticate, Authenticator, Principal};
pub use ingress::{
    Authority, ConnectInfo, Ingress, IngressConfig, InvalidAuthority, InvalidOrigin, Origin,
};
pub use metrics::MetricsAccess;
pub use notifications::QuarantineNotifier;
pub use problem::{PROBLEM_JSON, Problem};
pub use router::{openapi, public_router, router, with_ingress};
pub use server::{Serving, Tls, TlsError, TlsFiles, run};
pub use state::{ApiSettings, ApiState};
