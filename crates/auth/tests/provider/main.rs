//! The login flows against an independent provider on this machine (`scripts/setup oidc-provider`
//! fetches it).

#[path = "../../../../tests/oidc/browser.rs"]
mod browser;
#[path = "../../../../tests/cache.rs"]
mod cache;
mod code;
mod device;
mod forgeries;
mod github;
#[path = "../../../../tests/oidc/server.rs"]
mod server;
mod support;
mod tokens;
