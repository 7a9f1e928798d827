#![doc = include_str!("../README.md")]

mod envelope;
mod mac_chain;

pub use envelope::{AssociatedData, EncryptionKey, Encryptor, Error, KEY_ID_LEN, KeyId};
pub use mac_chain::{AuditMacKeys, Head, MAC_LEN, Mac};
