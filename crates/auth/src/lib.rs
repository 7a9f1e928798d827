#![doc = include_str!("../README.md")]

pub mod client;
pub mod device;
pub mod jwt;
pub mod keys;
pub mod login;
pub mod refresh;
pub mod secret;
pub mod terminal;
