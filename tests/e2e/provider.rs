//! Signing in at a provider that this project did not write, by the real service's own routes.

#[path = "../oidc/browser.rs"]
mod browser;
#[path = "../oidc/server.rs"]
mod server;

mod clocks;
mod flows;
mod refused;
mod sessions;
mod terminal;
mod world;
