//! The login flows against a provider that this project did not write, on this machine
//! (`scripts/setup oidc-provider` fetches it).

mod browser;
mod code;
mod device;
mod forgeries;
mod github;
mod server;
mod support;
mod tokens;
