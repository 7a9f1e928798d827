//! Ingress, over real sockets.

mod connections;
mod docs;
mod limits;
mod names;
mod shared;
mod tls;
mod urls;
mod wire;
