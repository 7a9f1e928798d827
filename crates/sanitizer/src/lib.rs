#![doc = include_str!("../README.md")]

mod allowlist;
mod assignment;
mod byte_set;
mod decode;
mod finding;
mod keyword_scan;
mod keywords;
mod mask;
mod mnemonic;
mod personal_data;
mod policy;
mod randomness;
mod rules;
mod runs;
mod sanitized;
mod sanitizer;
mod scan;
mod unlabeled;
mod validators;
pub mod visible_text;

pub use decode::decode_references;
pub use finding::{Class, Finding};
pub use mask::Masked;
pub use personal_data::country;
pub use policy::Policy;
pub use rules::RuleError;
pub use sanitized::Sanitized;
pub use sanitizer::{Sanitizer, find, identifier, mask, mask_with};
