//! Sign-in over HTTP: browser pages, device logins and the OAuth token endpoint.

pub mod browser;
mod cookies;
pub mod device;
mod pages;
pub mod token_endpoint;
