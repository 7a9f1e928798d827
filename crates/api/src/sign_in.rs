//! Sign-in over HTTP: browser pages, device logins and the OAuth token endpoint.

pub mod browser;
mod cookies;
pub mod device;
pub mod invitation;
mod pages;
pub mod token_endpoint;
