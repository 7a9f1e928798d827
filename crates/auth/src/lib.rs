#![doc = include_str!("../README.md")]

pub mod client;
pub mod device_client;
pub mod device_grant;
pub mod jwt;
pub mod keys;
pub mod login;
pub mod refresh;
pub mod secret;
