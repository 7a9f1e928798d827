#![doc = include_str!("../README.md")]

mod detection;
mod encoded;
mod exfiltration;
mod fold;
mod inspect;
mod invisible;
mod lexicon;
mod neutralize;
mod patterns;
#[cfg(feature = "payloads")]
pub mod payloads;
mod quotes;
mod rules;
mod special_tokens;
mod tags;

pub use detection::{Detection, FLAG_THRESHOLD, Family, QUARANTINE_THRESHOLD};
pub use inspect::{inspect, is_clean};
pub use neutralize::{neutralize, original_bracket};
pub use special_tokens::DELIMITER;
