//! Ingress, over real sockets.

mod connections;
mod docs;
mod limits;
mod names;
mod sessions;
mod shared;
mod tls;
mod urls;
mod wire;
