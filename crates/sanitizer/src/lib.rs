#![doc = include_str!("../README.md")]

mod allow;
mod assignment;
mod bare;
mod check;
mod decode;
mod find;
mod mask;
mod personal_data;
mod policy;
mod reading;
mod rules;
mod runs;
mod sanitized;
mod sanitizer;
mod scan;
mod shape;

pub use find::{Class, Find};
pub use mask::Masked;
pub use policy::{Action, Policy};
pub use rules::RuleError;
pub use sanitized::Sanitized;
pub use sanitizer::{Sanitizer, find, mask, mask_with};
