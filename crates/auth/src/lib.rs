#![doc = include_str!("../README.md")]

pub mod client;
pub mod jwt;
pub mod keys;
pub mod role;
pub mod scope;
pub mod seal;
pub mod secret;
