//! Login with an independent provider, through the routes of the real service.

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
