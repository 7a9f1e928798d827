#![doc = include_str!("../README.md")]

mod envelope;
mod head;
mod mac_chain;

pub use envelope::{AssociatedData, EncryptionKey, Encryptor, Error, KEY_ID_LEN, KeyId};
pub use head::Head;
pub use mac_chain::{AuditMacKeys, MAC_LEN, Mac};
