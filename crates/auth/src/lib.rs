#![doc = include_str!("../README.md")]

pub mod client;
pub mod device_client;
pub mod jwt;
pub mod keys;
pub mod login;
pub mod secret;
mod short_name;
