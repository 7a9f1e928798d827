#![doc = include_str!("../README.md")]

mod chain;
mod envelope;

pub use chain::{ChainKeys, MAC_LEN, Mac};
pub use envelope::{Error, KEY_ID_LEN, KeyId, Place, Sealer, SealingKey};
