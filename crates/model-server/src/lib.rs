#![doc = include_str!("../README.md")]

mod http;
mod key;

pub use http::{LONGEST_WAIT, endpoint, http_client, next_wait, reason, retry_after};
pub use key::{Key, KeyError};
