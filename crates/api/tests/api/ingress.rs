//! Ingress, over real sockets.

mod connections;
mod deliveries;
mod docs;
mod limits;
mod names;
mod sessions;
mod shared;
mod tls;
mod urls;
mod wire;
